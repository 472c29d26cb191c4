//! Context switches as they come from the rings. A busy server makes thousands a second, most of them for a few
//! microseconds: those are taken out here, before anything copies, sorts or stores them, and one record for each
//! thread has how many there were and how long they took together.

use std::collections::BTreeMap;

use trace::ShortWaits;

use crate::stream::{HEADER_BYTES, kind, own, whole_records};

/// A thread that is off the CPU for so long is worth a record of its own.
const SHORTEST_NS: u64 = 100_000;

/// The flag of a thread that leaves the CPU, in a record's head.
const MISC_OUT: u16 = 1 << 13;

/// What a record ends with: thread, time, CPU and number. [`crate::Sampler`] asks for these.
const TRAILER_BYTES: usize = 32;

/// A switch, and where it stands among those of the buffer.
struct Switch {
    thread: (u32, u32),
    time_ns: u64,
    out: bool,
    row: usize,
}

/// Takes out of the records from `start` on the switches of threads that left the CPU and came back soon. All rings
/// were read: a thread may come back on another CPU. A time that is not over yet stays.
pub(crate) fn thin(out: &mut Vec<u8>, start: usize) {
    let mut switches = switches_of(&out[start..]);
    if switches.len() < 2 {
        return;
    }
    let (left_out, sums) = short_waits(&mut switches);
    let whole = out.split_off(start);
    let mut row = 0;
    for (kind, record) in whole_records(&whole) {
        if is_switch(kind, record) {
            row += 1;
            if left_out.get(row - 1) == Some(&true) {
                continue;
            }
        }
        out.extend_from_slice(record);
    }
    for sum in sums.values() {
        out.extend(own::short_waits(sum));
    }
}

fn is_switch(kind: u32, record: &[u8]) -> bool {
    matches!(kind, kind::SWITCH | kind::SWITCH_CPU_WIDE)
        && record.len() >= HEADER_BYTES + TRAILER_BYTES
}

fn switches_of(bytes: &[u8]) -> Vec<Switch> {
    let records = whole_records(bytes).filter(|(kind, record)| is_switch(*kind, record));
    let switch = |(row, (_, record)): (usize, (u32, &[u8]))| {
        let trailer = record.last_chunk::<TRAILER_BYTES>()?;
        let word = |at: usize| Some(u32::from_ne_bytes(*trailer.get(at..)?.first_chunk()?));
        let time_ns = u64::from_ne_bytes(*trailer.get(8..)?.first_chunk()?);
        let misc = u16::from_ne_bytes(*record.get(4..)?.first_chunk()?);
        Some(Switch { thread: (word(0)?, word(4)?), time_ns, out: misc & MISC_OUT != 0, row })
    };
    records.enumerate().filter_map(switch).collect()
}

/// Which rows to leave out, and what they come to, by thread.
fn short_waits(switches: &mut [Switch]) -> (Vec<bool>, BTreeMap<(u32, u32), ShortWaits>) {
    let mut left_out = vec![false; switches.len()];
    let mut sums: BTreeMap<(u32, u32), ShortWaits> = BTreeMap::new();
    switches.sort_by_key(|switch| (switch.thread, switch.time_ns));
    for pair in switches.windows(2) {
        let [left, back] = pair else { continue };
        let length_ns = back.time_ns.saturating_sub(left.time_ns);
        if left.thread != back.thread || !left.out || back.out || length_ns >= SHORTEST_NS {
            continue;
        }
        for switch in pair {
            if let Some(left_out) = left_out.get_mut(switch.row) {
                *left_out = true;
            }
        }
        let (pid, tid) = left.thread;
        let none = ShortWaits { time_ns: left.time_ns, pid, tid, count: 0, total_ns: 0 };
        let sum = sums.entry(left.thread).or_insert(none);
        sum.count = sum.count.saturating_add(1);
        sum.total_ns = sum.total_ns.saturating_add(length_ns);
    }
    (left_out, sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{record, records};

    fn switch(tid: u32, time_ns: u64, out: bool) -> Vec<u8> {
        let mut body = [7u32.to_ne_bytes(), tid.to_ne_bytes()].concat();
        body.extend(time_ns.to_ne_bytes());
        body.extend([0; 16]);
        record(kind::SWITCH, if out { MISC_OUT } else { 0 }, &body)
    }

    fn thinned(parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut out = b"before..".to_vec();
        out.extend(parts.concat());
        thin(&mut out, 8);
        assert_eq!(&out[..8], b"before..");
        whole_records(&out[8..]).map(|(_, record)| record.to_vec()).collect()
    }

    #[test]
    fn short_times_become_a_sum() {
        let other = record(kind::COMM, 0, &[5; 24]);
        // Two rings, one behind the other: thread 1 comes back on the other CPU.
        let parts = [
            switch(1, 1_000, true),
            other.clone(),
            switch(2, 1_500, true),
            switch(2, 101_500, false),
            switch(1, 90_000, true),
            switch(1, 70_000, false),
            switch(1, 120_000, false),
            switch(2, 200_000, true),
        ];
        let expected = [
            other,
            switch(2, 1_500, true),
            switch(2, 101_500, false),
            switch(2, 200_000, true),
            own::short_waits(&ShortWaits {
                time_ns: 1_000,
                pid: 7,
                tid: 1,
                count: 2,
                total_ns: 99_000,
            }),
        ];
        assert_eq!(thinned(&parts), expected);
    }

    #[test]
    fn without_a_pair_nothing_changes() {
        let strange = record(kind::SWITCH, MISC_OUT, &[1; 8]);
        for parts in [
            vec![],
            vec![switch(1, 5, true)],
            vec![switch(1, 5, false), switch(1, 6, true)],
            vec![switch(1, 5, true), switch(1, 6, true), switch(2, 7, false)],
            vec![strange.clone(), strange],
        ] {
            assert_eq!(thinned(&parts), parts);
        }
    }

    /// The reader of names sorts records by what stands 24 bytes before their ends: there a sum has its time, too.
    #[test]
    fn a_sum_has_its_time_where_other_records_have_it() {
        let bytes =
            own::short_waits(&ShortWaits { time_ns: 77, pid: 1, tid: 2, count: 3, total_ns: 4 });
        let body = records(&bytes).next().map(|(_, body)| body.to_vec()).unwrap_or_default();
        assert_eq!(body.len(), 32);
        assert_eq!(body.get(8..16), Some(&77u64.to_ne_bytes()[..]));
    }
}
