//! What stands where in a running process: V8's builtins, the code it makes, everything else. And the perf map that a
//! Node with --perf-basic-prof writes, as the truth about the code it makes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use elf::{Elf, Segments};
use v8::Kind;

/// The executable mappings of a process.
pub struct Maps {
    pid: u32,
    binary: PathBuf,
    segments: Segments,
    builtins: Range<u64>,
    mappings: RefCell<BTreeMap<u64, Mapping>>,
    refreshed: Cell<Instant>,
}

#[derive(Clone)]
struct Mapping {
    end: u64,
    offset: u64,
    content: Content,
}

#[derive(Clone, Copy)]
enum Content {
    Binary,
    Other,
    Anonymous,
}

impl Maps {
    pub fn new(pid: u32, binary: &Path, builtins: Range<u64>, segments: Segments) -> Self {
        let binary = fs::canonicalize(binary).unwrap();
        let maps = Self {
            pid,
            binary,
            segments,
            builtins,
            mappings: RefCell::default(),
            refreshed: Cell::new(Instant::now()),
        };
        maps.refresh();
        maps
    }

    pub fn refresh(&self) {
        self.refreshed.set(Instant::now());
        let text = fs::read_to_string(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        *self.mappings.borrow_mut() = text.lines().filter_map(|line| self.mapping(line)).collect();
    }

    /// Once a tenth of a second: a system that runs has new code seldom.
    pub fn refresh_if_due(&self) {
        if self.refreshed.get().elapsed().as_millis() > 100 {
            self.refresh();
        }
    }

    fn mapping(&self, line: &str) -> Option<(u64, Mapping)> {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let rights = words.next()?;
        let offset = u64::from_str_radix(words.next()?, 16).ok()?;
        let path = words.nth(2).unwrap_or_default();
        let content = if path.is_empty() {
            Content::Anonymous
        } else if Path::new(path) == self.binary {
            Content::Binary
        } else {
            Content::Other
        };
        let end = u64::from_str_radix(end, 16).ok()?;
        let start = u64::from_str_radix(start, 16).ok()?;
        rights.contains('x').then_some((start, Mapping { end, offset, content }))
    }

    pub fn kind_at(&self, address: u64) -> Kind {
        let mappings = self.mappings.borrow();
        let Some((start, mapping)) = mappings.range(..=address).next_back() else {
            return Kind::Unmapped;
        };
        if address >= mapping.end {
            return Kind::Unmapped;
        }
        match mapping.content {
            Content::Anonymous => Kind::Generated,
            Content::Other => Kind::Native,
            Content::Binary => {
                let address = self.segments.address_of(address - start + mapping.offset);
                if address.is_some_and(|at| self.builtins.contains(&at)) {
                    Kind::Builtin
                } else {
                    Kind::Native
                }
            }
        }
    }
}

impl Maps {
    /// The address that code of the binary has in the binary's own tables.
    pub fn own_address(&self, address: u64) -> Option<u64> {
        let mappings = self.mappings.borrow();
        let (start, mapping) = mappings.range(..=address).next_back()?;
        let is_inside = address < mapping.end && matches!(mapping.content, Content::Binary);
        self.segments.address_of(address - start + mapping.offset).filter(|_| is_inside)
    }
}

/// What was read of binaries.
pub type Read<T> = Mutex<BTreeMap<PathBuf, T>>;

/// What a binary has, read the first time that a test asks.
pub fn once<T: Clone>(known: &Read<T>, binary: &Path, read: impl FnOnce(&Path) -> T) -> T {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(binary.to_owned()).or_insert_with(|| read(binary)).clone()
}

/// Where some functions are in a binary.
pub fn ranges_of(binary: &Path, names: &[&str]) -> Vec<Range<u64>> {
    let bytes = fs::read(binary).unwrap();
    let elf = Elf::parse(&bytes[..]).unwrap();
    let symbols = elf.symbols();
    let found = symbols.iter(false).filter(|symbol| names.contains(&&*symbol.name));
    found.map(|symbol| symbol.start..symbol.end).collect()
}

/// Where V8's builtins are in a binary, and its segments. Many tests ask, and a binary has 100 MB: it is read once.
pub fn builtins(binary: &Path) -> (Range<u64>, Segments) {
    static READ: Read<(Range<u64>, Segments)> = Read::new(BTreeMap::new());
    once(&READ, binary, read_builtins)
}

fn read_builtins(binary: &Path) -> (Range<u64>, Segments) {
    let bytes = fs::read(binary).unwrap();
    let elf = Elf::parse(&bytes[..]).unwrap();
    let symbols = elf.symbols();
    let (mut start, mut end) = (u64::MAX, 0);
    for symbol in symbols.iter(false).filter(|symbol| symbol.name.starts_with("Builtins_")) {
        (start, end) = (start.min(symbol.start), end.max(symbol.end));
    }
    (start..end, elf.segments().clone())
}

/// A perf map, followed while it grows. The newest line for an address counts.
pub struct PerfMap {
    path: String,
    read: usize,
    rows: BTreeMap<u64, (u64, String)>,
}

impl PerfMap {
    pub fn new(pid: u32) -> Self {
        Self { path: format!("/tmp/perf-{pid}.map"), read: 0, rows: BTreeMap::new() }
    }

    pub fn follow(&mut self) {
        let text = fs::read(&self.path).unwrap_or_default();
        let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else { return };
        let new =
            String::from_utf8_lossy(text.get(self.read..=end).unwrap_or_default()).into_owned();
        self.read = self.read.max(end + 1);
        for line in new.lines() {
            let mut parts = line.splitn(3, ' ');
            let number = |text: Option<&str>| u64::from_str_radix(text?, 16).ok();
            if let (Some(start), Some(size), Some(name)) =
                (number(parts.next()), number(parts.next()), parts.next())
            {
                self.add(start, start + size, name.to_owned());
            }
        }
    }

    fn add(&mut self, start: u64, end: u64, name: String) {
        let covered: Vec<u64> = self
            .rows
            .range(..end)
            .rev()
            .take_while(|(_, row)| row.0 > start)
            .map(|(start, _)| *start)
            .collect();
        for start in covered {
            self.rows.remove(&start);
        }
        self.rows.insert(start, (end, name));
    }

    pub fn find(&self, address: u64) -> Option<&str> {
        let (_, (end, name)) = self.rows.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }
}
