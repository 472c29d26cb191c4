//! Whether a program listens to SIGUSR1 itself: libuv's tree of listeners shows it ([`v8::libuv`] knows how). Read from
//! outside, word by word, and never for long: memory that we may not read, or that makes us wait, gives no answer.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use elf::{Elf, Parts};
use v8::libuv::{self, SignalFault};
use v8::{Fault, Memory};

use crate::linux::loaded::load_bias;
use crate::linux::proc::{Proc, open_regular};

/// Where libuv's tree is in a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignalTree {
    pid: u32,
    address: u64,
}

/// libuv may be in a library.
const LIBRARIES: [&str; 2] = ["libnode.so", "libuv.so"];

const SIGUSR1: i32 = 10;
/// A page can be made to block the thread that reads it. On a loaded machine, that thread may wait for a CPU for most
/// of a second.
const PATIENCE: Duration = Duration::from_secs(2);

impl SignalTree {
    /// Looks for the tree in the program, or in the library that has libuv. The error names what is missing.
    pub(super) fn find(proc: &Proc, pid: u32) -> Result<Self, String> {
        let maps = proc.table_of(pid, "maps").map_err(|error| format!("its mappings: {error}"))?;
        let exe = proc.link_of(pid, "exe").map_err(|error| format!("its binary: {error}"))?;
        let mut files = vec![exe];
        for path in
            maps.lines().filter_map(|line| line.find('/').map(|start| Path::new(&line[start..])))
        {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if LIBRARIES.iter().any(|library| name.starts_with(library))
                && !files.iter().any(|known| known == path)
            {
                files.push(path.to_owned());
            }
        }
        let found = files
            .iter()
            .enumerate()
            .find_map(|(row, path)| tree_in(proc, pid, &maps, path, row == 0));
        let address = found.ok_or("its binary is stripped, or has no libuv that is known")?;
        Ok(Self { pid, address })
    }

    /// Whether SIGUSR1 is in the tree.
    pub(super) fn has_usr1(self) -> Result<bool, String> {
        let (send, receive) = mpsc::channel();
        // A thread that never answers ends with the program.
        thread::spawn(move || {
            let _ = send.send(listens(self.pid, self.address));
        });
        match receive.recv_timeout(PATIENCE) {
            Ok(found) => found.map_err(|error| format!("its memory cannot be read: {error}")),
            Err(_) => Err("its memory blocks every reader".to_owned()),
        }
    }
}

/// The address of the tree's root in the process, if this file has it.
fn tree_in(proc: &Proc, pid: u32, maps: &str, path: &Path, is_program: bool) -> Option<u64> {
    let file = if is_program {
        open_regular(&proc.path(pid, "exe")).ok()?
    } else {
        let inside: PathBuf = path.strip_prefix("/").ok()?.to_owned();
        let file = sys::files::open_in(&proc.path(pid, "root"), &inside).ok()?;
        file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        file
    };
    let parts = Parts::new(file).ok()?;
    let image = Elf::parse(&parts).ok()?;
    let address = image.address_of_variable_like(libuv::is_signal_tree)?;
    Some(address.wrapping_add(load_bias(maps, path, image.segments())?))
}

/// Whether a process listens to SIGUSR1, by the tree whose root is at an address.
fn listens(pid: u32, root: u64) -> io::Result<bool> {
    let memory = ProcessMemory { process: sys::remote::Process::new(pid)?, error: Cell::default() };
    libuv::listens_to(&memory, root, SIGUSR1).map_err(|fault| match fault {
        SignalFault::Unreadable => {
            memory.error.take().unwrap_or_else(|| io::ErrorKind::NotFound.into())
        }
        SignalFault::NoListener => io::Error::other("what should be a listener is something else"),
        SignalFault::Endless => io::Error::other("its list of listeners does not end"),
    })
}

/// The memory of a process, and why it could not be read.
struct ProcessMemory {
    process: sys::remote::Process,
    error: Cell<Option<io::Error>>,
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.process.read(address, out).map_err(|error| {
            self.error.set(Some(error));
            Fault
        })
    }
}
