//! What the kernel writes into a ring: taken out, understood, walked, and written again, without the memory and the
//! files of a process. The first byte is where the ring begins anew.
#![no_main]

use std::io;

use capture::{compact, own, records, strip};
use formats::perf_data::Live;
use symbols::{Files, Found, Host, ProcessMemory, Sources, Walker, Whereabouts};
use sys::perf::{ATTRIBUTE_BYTES, Attribute};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((middle, ring)) = bytes.split_first() else { return };
    let (first, second) = ring.split_at((usize::from(*middle) * 8).min(ring.len()));
    let mut raw = Vec::new();
    compact(first, second, &mut raw);
    assert!(raw.len() <= ring.len());
    let mut out = Vec::new();
    let mut walker = Walker::new(0, &[], &NoMachine, |found| {
        if let Found::Sample(sample) = found {
            own::sample(7, &sample, &mut out);
        }
    });
    let mut live = Live::default();
    live.take(&head(), &mut walker);
    live.take(&raw, &mut walker);
    drop(walker);
    let samples = records(&raw).filter(|(is_sample, _)| *is_sample);
    for (_, record) in samples {
        let _ = strip(record, &mut out);
    }
    assert_eq!(records(&out).map(|(_, record)| record.len()).sum::<usize>(), out.len());
});

/// Neither memory nor files.
struct NoMachine;

impl Host for NoMachine {
    fn whereabouts(&self, _pid: u32) -> Whereabouts {
        Whereabouts::default()
    }

    fn memory(&self, _pid: u32) -> io::Result<Box<dyn ProcessMemory>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn files(&self) -> Box<dyn Files> {
        Sources::nowhere().files
    }
}

/// The event as our recorder opens it, as a record of the pipe form.
fn head() -> Vec<u8> {
    let attribute = Attribute {
        kind: 1,
        size: ATTRIBUTE_BYTES,
        frequency: 99,
        sample_type: 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 13 | 1 << 16,
        flags: 1 << 18 | 1 << 10,
        user_registers: 0b1111 << 5,
        user_stack: 256,
        ..Attribute::default()
    };
    let body = [attribute.to_bytes(), 7u64.to_ne_bytes().to_vec()].concat();
    let size = (8 + body.len()) as u16;
    [&64u32.to_ne_bytes()[..], &[0, 0], &size.to_ne_bytes(), &body].concat()
}
