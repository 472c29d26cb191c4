//! Memory that lies: nothing may panic, hang or take memory without bound, and a read that fails never makes a name.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use v8::{Fault, FunctionId, FunctionKind, JsFrame, Layout, Memory, Reader, Reason, Version};

use crate::recorded::{Recorded, Sample, Sparse, all};

/// Much more than a sample takes, also on a loaded machine.
const LONGEST: Duration = Duration::from_secs(60);

/// Numbers that look random and are always the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Changes some words of a memory: to others of the same memory, to huge numbers, to anything.
fn spoil(memory: &mut Sparse, random: &mut Random, changes: usize) {
    let words: Vec<u64> = memory
        .0
        .values()
        .flat_map(|bytes| bytes.chunks_exact(8))
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let starts: Vec<u64> = memory.0.keys().copied().collect();
    for _ in 0..changes {
        let start = starts[random.below(starts.len())];
        let bytes = memory.0.get_mut(&start).unwrap();
        let at = random.below(bytes.len() / 8) * 8;
        let word = match random.below(6) {
            0 | 1 => words[random.below(words.len())],
            2 => (start + at as u64) | 1,
            3 => u64::from(random.next() as u32) << 32,
            4 => starts[random.below(starts.len())] | 1,
            _ => random.next(),
        };
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
}

fn name_all(
    recorded: &Recorded,
    reader: &mut Reader,
    memory: &dyn Memory,
    samples: &[Sample],
) -> usize {
    let names = samples.iter().map(|sample| recorded.name(reader, memory, sample).len());
    names.sum()
}

#[test]
fn spoilt_memory_does_no_harm() {
    for (version, recorded) in all() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let start = Instant::now();
        for round in 0..60 {
            let mut memory = recorded.memory.clone();
            spoil(&mut memory, &mut random, 1 << (round % 12));
            let mut reader = recorded.reader();
            name_all(&recorded, &mut reader, &memory, &recorded.samples);
        }
        assert!(start.elapsed() < LONGEST, "{version}: {:?}", start.elapsed());
    }
}

#[test]
fn spoilt_stacks_and_registers_do_no_harm() {
    for (_, recorded) in all() {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let mut reader = recorded.reader();
        for _ in 0..30 {
            let mut samples = recorded.samples.clone();
            for sample in &mut samples {
                for _ in 0..random.below(20) {
                    let at = random.below(sample.stack.len() / 8) * 8;
                    let from = random.below(sample.stack.len() / 8) * 8;
                    let word: [u8; 8] = sample.stack[from..from + 8].try_into().unwrap();
                    sample.stack[at..at + 8].copy_from_slice(&word);
                }
                sample.rdi = random.next();
            }
            reader.begin_batch();
            name_all(&recorded, &mut reader, &recorded.memory, &samples);
        }
    }
}

/// Every word leads to where it stands: each object is its own map, string, array and script.
struct Mirror;

impl Memory for Mirror {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        for (at, byte) in (address..).zip(out) {
            let word = (at - at % 8) | 1;
            *byte = word.to_le_bytes()[(at % 8) as usize];
        }
        Ok(())
    }
}

/// The same byte everywhere.
struct Plain(u8);

impl Memory for Plain {
    fn read(&self, _: u64, out: &mut [u8]) -> Result<(), Fault> {
        out.fill(self.0);
        Ok(())
    }
}

#[test]
fn memory_without_sense_gives_no_names() {
    for (version, recorded) in all() {
        let start = Instant::now();
        let memories: [&dyn Memory; 5] =
            [&Mirror, &Plain(0), &Plain(1), &Plain(0x7f), &Plain(0xff)];
        for memory in memories {
            let mut reader = recorded.reader();
            for sample in &recorded.samples {
                let names = recorded.name(&mut reader, memory, sample);
                let is_nameless = |name: &Result<JsFrame, Reason>| {
                    name.as_ref()
                        .ok()
                        .is_none_or(|name| is_known_from_the_stack(&reader, name.function))
                };
                assert!(names.iter().all(|(_, name)| is_nameless(name)), "{version}");
            }
        }
        assert!(start.elapsed() < LONGEST, "{version}: {:?}", start.elapsed());
    }
}

/// Fails one read in `each`, from the one called `first` on.
struct Failing<'a> {
    memory: &'a Sparse,
    reads: Cell<usize>,
    each: usize,
    first: usize,
}

impl Memory for Failing<'_> {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        let read = self.reads.replace(self.reads.get() + 1);
        if read % self.each == self.first { Err(Fault) } else { self.memory.read(address, out) }
    }
}

#[test]
fn a_failed_read_is_never_a_name() {
    for (version, recorded) in all() {
        let mut reader = recorded.reader();
        name_all(&recorded, &mut reader, &recorded.memory, &recorded.samples);
        let known = names(&reader);
        for (each, first) in
            (2..40).flat_map(|each| (0..each).step_by(3).map(move |first| (each, first)))
        {
            let memory = Failing { memory: &recorded.memory, reads: Cell::new(0), each, first };
            let mut reader = recorded.reader();
            name_all(&recorded, &mut reader, &memory, &recorded.samples);
            let strange: Vec<_> = names(&reader).difference(&known).cloned().collect();
            assert!(strange.is_empty(), "{version}: {strange:?}");
        }
    }
}

/// The mark of a frame is on the stack: that it is WebAssembly's needs no memory, which function it is does.
fn is_known_from_the_stack(reader: &Reader, id: FunctionId) -> bool {
    reader.function(id).is_some_and(is_marked)
}

fn is_marked(function: &v8::Function) -> bool {
    matches!(function.kind, FunctionKind::Wasm { index: None } | FunctionKind::WasmToJs)
}

/// Names with their scripts: a line may be missing, a name may not be wrong.
fn names(reader: &Reader) -> BTreeSet<(String, String, Option<String>)> {
    let functions = reader.functions().iter();
    let text = |function: &v8::Function| {
        let script = function.script.as_deref().map(str::to_owned);
        (function.name.to_string(), function.inferred_name.to_string(), script)
    };
    functions.filter(|function| !is_marked(function)).map(text).collect()
}

#[test]
fn a_version_that_nobody_knows_is_refused() {
    for (_, recorded) in all() {
        let known = recorded.layout().version();
        let newer = Version { major: known.major + 5, ..known };
        assert!(Layout::new(newer, &|_| Some(8)).is_err());
    }
}
