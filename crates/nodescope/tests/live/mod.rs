//! A running Node, its samples and its memory: what a test needs to name JavaScript frames from outside.

pub mod maps;
pub mod recorder;
pub mod samples;
pub mod session;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use elf::{Elf, Parts};
use maps::{Read, once};
use v8::layout::{BYTECODE_SIZES_SYMBOL, CONSTANT_PREFIX, VERSION_SYMBOLS};
use v8::{Fault, Layout, Memory, Piece, Version};

/// The versions of Node that a test may find.
pub const VERSIONS: [&str; 9] =
    ["18.0.0", "18.20.8", "20.20.2", "22.0.0", "22.23.3", "24.0.0", "24.21.0", "25.9.0", "26.10.0"];

/// The binary of a version, if the cache has it. Set NODESCOPE_CACHE to have the cache elsewhere.
pub fn node(version: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache =
        std::env::var_os("NODESCOPE_CACHE").map_or(home.join(".cache/nodescope"), PathBuf::from);
    Some(cache.join(format!("node-{version}/node"))).filter(|path| path.exists())
}

/// What a binary contains about its V8: the numbers that a layout needs, and the sizes of bytecodes.
#[derive(Clone)]
pub struct Constants {
    pub numbers: Vec<(String, i64)>,
    pub sizes: Vec<u8>,
}

impl Constants {
    pub fn read(binary: &Path) -> Self {
        static READ: Read<Constants> = Read::new(BTreeMap::new());
        once(&READ, binary, Self::read_once)
    }

    fn read_once(binary: &Path) -> Self {
        let parts = Parts::new(fs::File::open(binary).unwrap()).unwrap();
        let elf = Elf::parse(&parts).unwrap();
        let is_wanted = |name: &[u8]| {
            name.starts_with(CONSTANT_PREFIX.as_bytes())
                || VERSION_SYMBOLS.iter().any(|symbol| symbol.as_bytes() == name)
        };
        let found = elf.variables(is_wanted);
        let mut numbers: Vec<(String, i64)> = found
            .names()
            .filter_map(|name| Some((name.to_owned(), found.number(name)?.into())))
            .collect();
        numbers.sort();
        let sizes = elf
            .variable(BYTECODE_SIZES_SYMBOL)
            .bytes(BYTECODE_SIZES_SYMBOL)
            .unwrap_or_default()
            .to_vec();
        Self { numbers, sizes }
    }

    /// Only what a layout asks for.
    pub fn used(self) -> Self {
        let asked = RefCell::new(BTreeSet::new());
        self.layout_asking(&|name| asked.borrow_mut().extend([name.to_owned()]));
        let asked = asked.into_inner();
        let numbers = self.numbers.into_iter().filter(|(name, _)| asked.contains(name)).collect();
        Self { numbers, sizes: self.sizes }
    }

    pub fn layout(&self) -> Layout {
        self.layout_asking(&|_| {})
    }

    fn layout_asking(&self, ask: &dyn Fn(&str)) -> Layout {
        let number = |name: &str| {
            ask(name);
            let row = self.numbers.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
            Some(self.numbers[row].1)
        };
        let version = Version::new(number).unwrap();
        let constant = |name: &str| number(&format!("{CONSTANT_PREFIX}{name}"));
        Layout::new(version, &constant).unwrap().with_bytecode_sizes(&self.sizes)
    }
}

/// The memory of a running process, and how often it was asked.
pub struct Live(sys::remote::Process, pub std::cell::Cell<u64>);

impl Live {
    pub fn new(pid: u32) -> Self {
        Self(sys::remote::Process::new(pid).unwrap(), std::cell::Cell::new(0))
    }
}

impl Memory for Live {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.1.set(self.1.get() + 1);
        self.0.read(address, out).map_err(|_| Fault)
    }

    fn read_many(&self, pieces: &mut [Piece<'_>]) -> Vec<bool> {
        let pieces = pieces.iter_mut();
        let mut pieces: Vec<sys::remote::Piece<'_>> = pieces
            .map(|piece| sys::remote::Piece { address: piece.address, out: piece.out })
            .collect();
        self.1.set(self.1.get() + 1);
        self.0.read_many(&mut pieces)
    }
}

/// A Node that ends with the test, and the folder that it writes its logs into.
pub struct Running {
    child: Child,
    folder: PathBuf,
}

impl Running {
    /// What ends by itself after a while outlives the test: a process that is gone has no samples, and is waited for.
    pub fn start(binary: &Path, flags: &[&str], program: &Path) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("nodescope-live-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(binary);
        command
            .args(flags)
            .arg(program)
            .current_dir(&folder)
            .env("SECONDS", "600")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Self { child: command.spawn().unwrap(), folder }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(format!("/tmp/perf-{}.map", self.pid()));
        let _ = fs::remove_dir_all(&self.folder);
    }
}
