//! Samples of real Nodes with the memory that naming them reads, as crates/nodescope/tests/live/recorder.rs writes
//! them; that file describes the format.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use v8::layout::CONSTANT_PREFIX;
use v8::{
    Fault, Frame, JsFrame, Kind, Layout, Memory, Reader, Reason, Registers, Stack, Start, Version,
};

/// A fixture.
#[derive(Clone)]
pub struct Recorded {
    numbers: BTreeMap<String, i64>,
    sizes: Vec<u8>,
    code: BTreeMap<u64, Kind>,
    pub memory: Sparse,
    pub samples: Vec<Sample>,
}

/// Memory of which only some ranges are there.
#[derive(Clone, Default)]
pub struct Sparse(pub BTreeMap<u64, Vec<u8>>);

/// One sample, its stack filled up with zeros.
#[derive(Clone)]
pub struct Sample {
    pub start: Start,
    pub rdi: u64,
    pub stack: Vec<u8>,
}

impl Memory for Sparse {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        let (start, bytes) = self.0.range(..=address).next_back().ok_or(Fault)?;
        let at = (address - start) as usize;
        let found = at.checked_add(out.len()).and_then(|end| bytes.get(at..end)).ok_or(Fault)?;
        out.copy_from_slice(found);
        Ok(())
    }
}

/// All fixtures, with the versions that they are of.
pub fn all() -> Vec<(String, Recorded)> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "bin")).collect();
    files.sort();
    assert!(files.len() >= 5, "a fixture for each version");
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), Recorded::parse(&fs::read(path).unwrap()))).collect()
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

impl Recorded {
    fn parse(bytes: &[u8]) -> Self {
        let mut input = Input(bytes.strip_prefix(b"nodescope v8 1\n").unwrap());
        let numbers = (0..input.count())
            .map(|_| (String::from_utf8(input.bytes().to_vec()).unwrap(), input.word() as i64))
            .collect();
        let sizes = input.bytes().to_vec();
        let code = (0..input.count()).map(|_| {
            let (start, _end) = (input.word(), input.word());
            let kinds = [Kind::Generated, Kind::Builtin, Kind::Native, Kind::Unmapped];
            (start, kinds[usize::from(input.byte())])
        });
        let code = code.collect();
        let memory = (0..input.count()).map(|_| (input.word(), input.bytes().to_vec())).collect();
        let samples = (0..input.count()).map(|_| input.sample()).collect();
        assert!(input.0.is_empty());
        Self { numbers, sizes, code, memory: Sparse(memory), samples }
    }

    pub fn layout(&self) -> Layout {
        let number = |name: &str| self.numbers.get(name).copied();
        let version = Version::new(number).unwrap();
        let constant = |name: &str| number(&format!("{CONSTANT_PREFIX}{name}"));
        Layout::new(version, &constant).unwrap().with_bytecode_sizes(&self.sizes)
    }

    pub fn reader(&self) -> Reader {
        Reader::new(self.layout())
    }

    pub fn kind_at(&self, address: u64) -> Kind {
        self.code.get(&address).copied().unwrap_or(Kind::Unmapped)
    }

    /// Walks and names one sample with some memory.
    pub fn name(
        &self,
        reader: &mut Reader,
        memory: &dyn Memory,
        sample: &Sample,
    ) -> Vec<(Frame, Result<JsFrame, Reason>)> {
        let stack = Stack::new(sample.start.sp, &sample.stack);
        let frames = reader.walk(memory, sample.start, &stack, &|address| self.kind_at(address));
        let names = reader.frames(memory, &stack, &frames, Registers { callee: sample.rdi });
        frames.into_iter().zip(names).collect()
    }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (first, rest) = self.0.split_at(count);
        self.0 = rest;
        first
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn count(&mut self) -> usize {
        u32::from_le_bytes(self.take(4).try_into().unwrap()) as usize
    }

    fn bytes(&mut self) -> &'a [u8] {
        let count = self.count();
        self.take(count)
    }

    fn sample(&mut self) -> Sample {
        let (pc, sp, fp, rdi) = (self.word(), self.word(), self.word(), self.word());
        let mut stack = Vec::new();
        for _ in 0..self.count() {
            let at = self.count();
            stack.resize(stack.len().max(at + 8), 0);
            stack[at..at + 8].copy_from_slice(&self.word().to_le_bytes());
        }
        Sample { start: Start { pc, sp, fp, is_return_address: false }, rdi, stack }
    }
}
