//! Records as perf writes them, in this machine's byte order.

use sys::perf::Attribute;

/// What a record is; the kernel's numbers below 64, perf's own above.
pub(crate) mod kind {
    pub(crate) const COMM: u32 = 3;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const ATTRIBUTE: u32 = 64;
    pub(crate) const FINISHED_ROUND: u32 = 68;
    pub(crate) const FEATURE: u32 = 80;
}

/// User code, in a record's flags.
pub(crate) const MISC_USER: u16 = 2;

/// A record's header.
const HEADER_BYTES: usize = 8;

/// The first sixteen bytes of the pipe form.
pub(crate) fn magic() -> Vec<u8> {
    let mut bytes = 0x3245_4c49_4652_4550u64.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&16u64.to_ne_bytes());
    bytes
}

/// A record, filled up to eight bytes.
pub(crate) fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + body.len()).next_multiple_of(8);
    // What does not fit a record is a path of 64 KB.
    let size = u16::try_from(length).unwrap_or(0);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&misc.to_ne_bytes());
    bytes.extend_from_slice(&size.to_ne_bytes());
    bytes.extend_from_slice(body);
    bytes.resize(length, 0);
    if size == 0 { Vec::new() } else { bytes }
}

/// The event, and the numbers that its samples carry.
pub(crate) fn attribute(attribute: &Attribute, ids: &[u64]) -> Vec<u8> {
    let mut body = attribute.to_bytes();
    // A record has 64 KB: more ids than fit are not needed, since there is only one event.
    for id in ids.iter().take(4000) {
        body.extend_from_slice(&id.to_ne_bytes());
    }
    record(kind::ATTRIBUTE, 0, &body)
}

/// A text of the machine: its name, its release, its architecture.
pub(crate) fn feature_text(number: u64, text: &str) -> Vec<u8> {
    let length = (text.len() + 1).next_multiple_of(8);
    let mut body = number.to_ne_bytes().to_vec();
    body.extend_from_slice(&(length as u32).to_ne_bytes());
    body.extend_from_slice(text.as_bytes());
    body.resize(8 + 4 + length, 0);
    record(kind::FEATURE, 0, &body)
}

/// Wall clock and CLOCK_MONOTONIC at one moment.
pub(crate) fn feature_clock(wall_ns: u64, monotonic_ns: u64) -> Vec<u8> {
    let mut body = 29u64.to_ne_bytes().to_vec();
    for number in [1u32, 1u32] {
        body.extend_from_slice(&number.to_ne_bytes());
    }
    for number in [wall_ns, monotonic_ns] {
        body.extend_from_slice(&number.to_ne_bytes());
    }
    record(kind::FEATURE, 0, &body)
}

/// The end of a round: all rings were read.
pub(crate) fn finished_round() -> Vec<u8> {
    record(kind::FINISHED_ROUND, 0, &[])
}

/// The kinds and sizes of the whole records in a buffer.
pub(crate) fn kinds(mut bytes: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let (header, _) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        bytes = bytes.get(size.max(HEADER_BYTES)..)?;
        Some(kind)
    })
}
