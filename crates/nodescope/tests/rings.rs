//! What the kernel writes into a ring goes through the reader of names: records are taken out of the ring, understood,
//! and their stacks walked. Here it is cut off at every word and has flipped bytes: each must be read to its end, never
//! panic, and what comes out must be whole records again.

#![cfg(target_os = "linux")]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use capture::{compact, new_processes, own, records, strip};
use formats::perf_data::Live;
use symbols::{Files, Found, Host, ProcessMemory, Sources, Walker, Whereabouts};
use sys::perf::{ATTRIBUTE_BYTES, Attribute};
use trace::{Address, Comm, Context, Cut, Event, Fork, Mmap, Sample, Sink};

const ATTRIBUTE: u32 = 64;
const COMM: u32 = 3;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;

/// di, bp, sp and ip.
const REGISTERS: u64 = 0b1111 << 5;
const STACK: u64 = 0x7ffc_0000_1000;
const CODE: u64 = 0x5555_0000_0000;

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend(2u16.to_ne_bytes());
    bytes.extend(((8 + body.len()) as u16).to_ne_bytes());
    bytes.extend(body);
    bytes
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The event as our recorder opens it.
fn head() -> Vec<u8> {
    let attribute = Attribute {
        kind: 1,
        size: ATTRIBUTE_BYTES,
        frequency: 99,
        sample_type: 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 13 | 1 << 16,
        flags: 1 << 18 | 1 << 10,
        user_registers: REGISTERS,
        user_stack: 256,
        ..Attribute::default()
    };
    record(ATTRIBUTE, &[attribute.to_bytes(), 7u64.to_ne_bytes().to_vec()].concat())
}

/// What stands behind every record that is no sample: thread, time, CPU, number.
fn trailer() -> [u64; 4] {
    [pair(40, 41), 1000, 0, 7]
}

fn named(kind: u32, words: &[u64], name: &[u8]) -> Vec<u8> {
    let mut body = bytes_of(words);
    body.extend(name);
    body.resize(body.len().next_multiple_of(8), 0);
    body.extend(bytes_of(&trailer()));
    record(kind, &body)
}

/// A sample whose stack has frame pointers, and so much room of which so much was filled.
fn sample(room: u64, filled: u64) -> Vec<u8> {
    let mut words = vec![7, CODE + 16, pair(40, 41), 1000, 0, 1];
    words.extend([
        2,
        (-128i64) as u64,
        0xffff_ffff_8100_0000,
        2,
        0,
        STACK + 16,
        STACK,
        CODE + 16,
        room,
    ]);
    let word = |at: u64| if at.is_multiple_of(2) { STACK + at * 8 + 32 } else { CODE + 16 * at };
    words.extend((0..room / 8).map(word));
    words.push(filled);
    record(SAMPLE, &bytes_of(&words))
}

/// What a ring has.
fn ring() -> Vec<u8> {
    let mapping = [pair(40, 40), CODE, 0x10000, 0, 0, 0, 0, pair(5, 2)];
    [
        named(MMAP2, &mapping, b"/usr/bin/a path that is as long as some paths are/node"),
        named(COMM, &[pair(40, 41)], b"node"),
        sample(256, 128),
        named(MMAP2, &mapping, b"//anon"),
        sample(256, 256),
        sample(0, 0),
        sample(256, 0),
    ]
    .concat()
}

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

/// Everything that the reader of names does with a ring, but for the target's memory and files.
fn read(ring: &[u8], middle: usize) -> usize {
    let (first, second) = ring.split_at(middle.min(ring.len()));
    let mut raw = Vec::new();
    compact(first, second, &mut raw);
    let mut out = Vec::new();
    let mut walker = Walker::new(0, &[], &NoMachine, |found| match found {
        Found::Sample(sample) => own::sample(7, &sample, &mut out),
        Found::Frame(frame) => out.extend(own::javascript(&frame)),
        _ => {}
    });
    let mut live = Live::default();
    live.take(&head(), &mut walker);
    live.take(&raw, &mut walker);
    drop(walker);
    for (is_sample, record) in records(&raw) {
        if is_sample {
            let _ = strip(record, &mut out);
        }
    }
    assert!(new_processes(&out).count() <= out.len());
    let whole: usize = records(&out).map(|(_, record)| record.len()).sum();
    assert_eq!(whole, out.len(), "only whole records are written");
    records(&out).count()
}

#[test]
fn a_whole_ring_is_read() {
    let ring = ring();
    for middle in (0..=ring.len()).step_by(8) {
        // Four samples, walked and stripped.
        assert_eq!(read(&ring, middle), 8, "cut at {middle}");
    }
}

/// Keeps the call chains of samples.
#[derive(Default)]
struct Chains(Vec<Vec<Address>>);

impl Sink for Chains {
    fn event(&mut self, _: &Event<'_>) {}
    fn sample(&mut self, sample: &Sample<'_>) {
        self.0.push(sample.chain.to_vec());
    }
    fn mmap(&mut self, _: &Mmap<'_>) {}
    fn comm(&mut self, _: &Comm<'_>) {}
    fn fork(&mut self, _: &Fork) {}
    fn lost(&mut self, _: u64) {}
    fn damage(&mut self, _: String) {}
}

/// A record has 64 KB: a chain that does not fit is marked at its end, and is no reason to lose the sample.
#[test]
fn a_chain_that_is_too_long_for_a_record_is_cut() {
    let user = |value: u64| Address { value, context: Context::User };
    let named = |value: u64| Address { value, context: Context::JavaScript };
    let attribute = Attribute {
        kind: 1,
        size: ATTRIBUTE_BYTES,
        sample_type: 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 16,
        ..Attribute::default()
    };
    let head = record(ATTRIBUTE, &[attribute.to_bytes(), 7u64.to_ne_bytes().to_vec()].concat());
    for (length, is_cut) in [(1, false), (4000, false), (4200, true), (9000, true), (70_000, true)]
    {
        // As long as it can be: whose an address is changes with each.
        let all = (0..length).map(|at| if at % 2 == 0 { user(at) } else { named(at) });
        let chain: Vec<Address> = all.collect();
        let sample = Sample {
            event: 0,
            time_ns: 1,
            pid: Some(1),
            tid: Some(1),
            cpu: None,
            period: 1,
            chain: &chain,
            user_registers: None,
            user_stack: &[],
            user_stack_is_full: false,
            awaits: None,
        };
        let mut out = head.clone();
        own::sample(7, &sample, &mut out);
        let (mut live, mut chains) = (Live::default(), Chains::default());
        live.take(&out, &mut chains);
        let found = &chains.0[0];
        assert_eq!(found.last() == Some(&Cut::DeeperThanCopy.address()), is_cut, "{length}");
        let kept = found.len() - usize::from(is_cut);
        assert!(
            found[..kept] == chain[..kept] && kept >= chain.len().min(4000),
            "{length}: {kept}"
        );
    }
}

#[test]
fn damaged_rings_return() {
    let whole = ring();
    let mut found = 0;
    let mut check = |mutant: &[u8], middle: usize, what: &str| {
        let result = catch_unwind(AssertUnwindSafe(|| read(mutant, middle)));
        found += result.unwrap_or_else(|_| panic!("{what}: it panicked, see above"));
    };
    for cut in 0..whole.len() {
        check(&whole[..cut], cut / 2, &format!("cut off at byte {cut}"));
    }
    for at in 0..whole.len() {
        for byte in [0, 1, 8, 9, 0x7f, 0x80, 0xff] {
            let mut mutant = whole.clone();
            mutant[at] = byte;
            check(&mutant, whole.len() / 16 * 8, &format!("byte {at} is {byte:#04x}"));
        }
    }
    // Whole words: addresses and lengths that are as large as they can be.
    for at in (0..whole.len() - 8).step_by(8) {
        for word in [u64::MAX, u64::MAX - 7, 1 << 63, STACK, 0xfff8, 0x1_0000] {
            let mut mutant = whole.clone();
            mutant[at..at + 8].copy_from_slice(&word.to_ne_bytes());
            check(&mutant, 0, &format!("word {at} is {word:#x}"));
        }
    }
    assert!(found > whole.len(), "{found} samples came out of all mutants");
}
