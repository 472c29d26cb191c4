//! Writes what naming some samples has read into a file that crates/v8/tests can name them from again.
//!
//! All numbers are little-endian. Names and bytes have their length in front (u32), lists their count (u32).
//!
//! ```text
//! "nodescope v8 1\n"
//! numbers     (name, i64)…           what the binary contains about its V8
//! sizes       bytes                  of bytecodes
//! code        (start u64, end u64, kind u8)…
//! memory      (address u64, bytes)…  sorted, apart from each other
//! samples     (pc, sp, fp, rdi: u64; words (distance from sp u32, word u64)…)…
//! ```

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use v8::{Fault, Frame, JsFrame, Kind, Memory, Reader, Reason};

use super::Constants;
use super::samples::Sample;
use super::session::name;

/// A memory that remembers what was read.
pub struct Recording<'a> {
    inner: &'a dyn Memory,
    read: RefCell<BTreeMap<u64, Vec<u8>>>,
}

impl Memory for Recording<'_> {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.inner.read(address, out)?;
        self.read.borrow_mut().insert(address, out.to_vec());
        Ok(())
    }
}

/// A file in the making.
pub struct Fixture {
    constants: Constants,
    memory: Blocks,
    code: BTreeSet<(u64, u64, u8)>,
    samples: Vec<Vec<u8>>,
    names: BTreeSet<String>,
}

/// Memory in blocks of this size, each byte as far as it is known.
const BLOCK: usize = 64;
type Blocks = BTreeMap<u64, [Option<u8>; BLOCK]>;

/// A fixture has at most so many bytes of memory, and a sample that adds more than its share is left out.
const MOST_BYTES: usize = 130_000;
const MOST_NEW_BYTES: usize = 90_000;
const MOST_SAMPLES: usize = 40;

impl Fixture {
    pub fn new(constants: Constants) -> Self {
        let (memory, code, samples, names) = Default::default();
        Self { constants, memory, code, samples, names }
    }

    /// Takes a sample if it has something new and is not too large.
    pub fn offer(&mut self, memory: &dyn Memory, sample: &Sample, kind_at: &dyn Fn(u64) -> Kind) {
        if self.samples.len() >= MOST_SAMPLES {
            return;
        }
        let recording = Recording { inner: memory, read: RefCell::default() };
        let kinds = RefCell::new(BTreeSet::new());
        let remember = |address: u64| {
            let kind = kind_at(address);
            if kind != Kind::Unmapped {
                kinds.borrow_mut().insert((address, address + 1, kind as u8));
            }
            kind
        };
        let mut reader = Reader::new(self.constants.layout());
        let (frames, found) = name(&mut reader, &recording, sample, &remember);
        let names: BTreeSet<String> =
            found.iter().flatten().map(|frame| key(&reader, frame)).collect();
        let is_whole =
            found.iter().all(|name| !name.as_ref().is_err_and(|reason| reason.is_loss()));
        if !is_whole || names.is_subset(&self.names) {
            return;
        }
        let blocks = blocks(&recording.read.borrow());
        let new = blocks.keys().filter(|block| !self.memory.contains_key(block)).count() * BLOCK;
        if new <= MOST_NEW_BYTES && self.memory.len() * BLOCK + new <= MOST_BYTES {
            for (at, bytes) in blocks {
                let known = self.memory.entry(at).or_insert([None; BLOCK]);
                known.iter_mut().zip(bytes).for_each(|(known, byte)| *known = known.or(byte));
            }
            self.names.extend(names);
            self.code.extend(kinds.take());
            self.samples.push(sample_bytes(sample, &frames, &found));
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = b"nodescope v8 1\n".to_vec();
        put_count(&mut out, self.constants.numbers.len());
        for (name, number) in &self.constants.numbers {
            put_bytes(&mut out, name.as_bytes());
            out.extend(number.to_le_bytes());
        }
        put_bytes(&mut out, &self.constants.sizes);
        put_count(&mut out, self.code.len());
        for (start, end, kind) in &self.code {
            out.extend(start.to_le_bytes());
            out.extend(end.to_le_bytes());
            out.push(*kind);
        }
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (at, bytes) in &self.memory {
            let bytes = bytes.map(|byte| byte.unwrap_or(0));
            match runs.last_mut() {
                Some((start, run)) if *start + run.len() as u64 == *at => run.extend(bytes),
                _ => runs.push((*at, bytes.to_vec())),
            }
        }
        put_count(&mut out, runs.len());
        for (at, bytes) in runs {
            out.extend(at.to_le_bytes());
            put_bytes(&mut out, &bytes);
        }
        put_count(&mut out, self.samples.len());
        out.extend(self.samples.concat());
        out
    }
}

fn key(reader: &Reader, frame: &JsFrame) -> String {
    let function = reader.function(frame.function).unwrap();
    format!(
        "{}{:?}{:?}{}",
        function.display_name(),
        function.script,
        frame.tier,
        frame.inlined.len()
    )
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend((count as u32).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend(bytes);
}

/// What was read, in blocks.
fn blocks(read: &BTreeMap<u64, Vec<u8>>) -> Blocks {
    let mut blocks = Blocks::new();
    for (address, bytes) in read {
        for (at, byte) in (*address..).zip(bytes) {
            let start = at - at % BLOCK as u64;
            blocks.entry(start).or_insert([None; BLOCK])[(at - start) as usize] = Some(*byte);
        }
    }
    blocks
}

/// The registers, and the words around each frame pointer that a reader may look at.
fn sample_bytes(sample: &Sample, frames: &[Frame], names: &[Result<JsFrame, Reason>]) -> Vec<u8> {
    let last = names.iter().rposition(Result::is_ok).unwrap_or(0);
    let around = |fp: u64| (-6i64..2).map(move |word| fp.wrapping_add_signed(word * 8));
    let fps = frames.iter().take(last + 1).filter_map(|frame| frame.fp);
    let addresses: BTreeSet<u64> =
        fps.flat_map(around).chain([sample.rsp, sample.rsp + 8]).collect();
    let stack = v8::Stack::new(sample.rsp, &sample.stack);
    let words: Vec<(u32, u64)> = addresses
        .into_iter()
        .filter_map(|address| {
            Some(((address.checked_sub(sample.rsp)?) as u32, stack.word(address)?))
        })
        .collect();
    let mut out = Vec::new();
    for register in [sample.rip, sample.rsp, sample.rbp, sample.rdi] {
        out.extend(register.to_le_bytes());
    }
    put_count(&mut out, words.len());
    for (distance, word) in words {
        out.extend(distance.to_le_bytes());
        out.extend(word.to_le_bytes());
    }
    out
}
