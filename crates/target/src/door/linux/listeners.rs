//! Whether a program listens to SIGUSR1 itself: libuv keeps its listeners for all signals in one tree, ordered by
//! signal, whose root is a variable of its own. Read from outside, word by word, and never for long: memory that we
//! may not read, or that makes us wait, gives no answer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use elf::{Elf, Parts};

use crate::linux::loaded::load_bias;
use crate::linux::proc::{Proc, open_regular};

/// Where libuv's tree is in a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignalTree {
    pid: u32,
    address: u64,
}

/// The root of the tree, local to libuv. A compiler may write `.0` behind it.
const ROOT: &[u8] = b"uv__signal_tree";

/// libuv may be in a library.
const LIBRARIES: [&str; 2] = ["libnode.so", "libuv.so"];

// A uv_signal_t of libuv 1.x, on machines of 64 bits (seen on 1.44 to 1.52, Node 18 to 26).
const TYPE: usize = 16;
const SIGNAL: usize = 104;
const LEFT: usize = 112;
const RIGHT: usize = 120;
const SIZE: usize = 128;

/// `UV_SIGNAL` among the kinds of handles.
const UV_SIGNAL: u32 = 16;

const SIGUSR1: i32 = 10;
const MOST_SIGNALS: i32 = 64;

/// A balanced tree of a billion listeners is not that deep: one that is goes round in circles.
const DEEPEST: usize = 64;

/// A page can be made to block whoever reads it.
const PATIENCE: Duration = Duration::from_millis(250);

impl SignalTree {
    /// Looks for the tree in the program, or in the library that has libuv. The error says what is missing.
    pub(super) fn find(proc: &Proc, pid: u32) -> Result<Self, String> {
        let maps = proc.table_of(pid, "maps").map_err(|error| format!("its mappings: {error}"))?;
        let exe = proc.link_of(pid, "exe").map_err(|error| format!("its binary: {error}"))?;
        let mut files = vec![exe];
        for path in maps.lines().filter_map(|line| line.find('/').map(|start| Path::new(&line[start..]))) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if LIBRARIES.iter().any(|library| name.starts_with(library))
                && !files.iter().any(|known| known == path)
            {
                files.push(path.to_owned());
            }
        }
        let found =
            files.iter().enumerate().find_map(|(row, path)| tree_in(proc, pid, &maps, path, row == 0));
        let address = found.ok_or("its binary is stripped, or has no libuv that is known")?;
        Ok(Self { pid, address })
    }

    /// Whether SIGUSR1 is in the tree.
    pub(super) fn has_usr1(self) -> Result<bool, String> {
        let (send, receive) = mpsc::channel();
        // A thread that is never heard of again ends with the program.
        thread::spawn(move || {
            let read = sys::remote::Process::new(self.pid)
                .and_then(|memory| search(self.address, |address, out| memory.read(address, out)));
            let _ = send.send(read);
        });
        match receive.recv_timeout(PATIENCE) {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(format!("its memory cannot be read: {error}")),
            Err(_) => Err("its memory makes whoever reads it wait".to_owned()),
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
    let is_root =
        |name: &[u8]| name.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest[0] == b'.');
    let address = image.address_of_variable_like(is_root)?;
    Some(address.wrapping_add(load_bias(maps, path, image.segments())?))
}

/// Goes down from the root to where SIGUSR1 would be.
fn search(root: u64, read: impl Fn(u64, &mut [u8]) -> io::Result<()>) -> io::Result<bool> {
    let mut word = [0; 8];
    read(root, &mut word)?;
    let mut at = u64::from_ne_bytes(word);
    for _ in 0..DEEPEST {
        if at == 0 {
            return Ok(false);
        }
        let mut handle = [0; SIZE];
        read(at, &mut handle)?;
        let signal = number(&handle, SIGNAL).cast_signed();
        if number(&handle, TYPE) != UV_SIGNAL || !(1..=MOST_SIGNALS).contains(&signal) {
            return Err(io::Error::other("what should be a listener is something else"));
        }
        if signal == SIGUSR1 {
            return Ok(true);
        }
        let next = if signal > SIGUSR1 { LEFT } else { RIGHT };
        at = u64::from(number(&handle, next + LOW)) | u64::from(number(&handle, next + HIGH)) << 32;
    }
    Err(io::Error::other("its listeners have no end"))
}

/// The halves of a pointer, on machines whose low half comes first: all that Node is built for.
const LOW: usize = 0;
const HIGH: usize = 4;

fn number(handle: &[u8; SIZE], at: usize) -> u32 {
    handle[at..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// A memory of handles: where, which signal, left, right.
    fn found(root: u64, handles: &[(u64, i32, u64, u64)]) -> io::Result<bool> {
        let handles: HashMap<u64, Vec<u8>> = handles
            .iter()
            .map(|(at, signal, left, right)| {
                let mut bytes = vec![0; SIZE];
                bytes[TYPE..TYPE + 4].copy_from_slice(&UV_SIGNAL.to_ne_bytes());
                bytes[SIGNAL..SIGNAL + 4].copy_from_slice(&signal.to_ne_bytes());
                bytes[LEFT..LEFT + 8].copy_from_slice(&left.to_ne_bytes());
                bytes[RIGHT..RIGHT + 8].copy_from_slice(&right.to_ne_bytes());
                (*at, bytes)
            })
            .collect();
        search(8, |address, out| {
            let root = root.to_ne_bytes().to_vec();
            let bytes = if address == 8 { Some(&root) } else { handles.get(&address) };
            out.copy_from_slice(bytes.ok_or(io::ErrorKind::NotFound)?);
            Ok(())
        })
    }

    #[test]
    fn the_tree_is_searched_by_signal() {
        assert!(!found(0, &[]).unwrap());
        assert!(found(16, &[(16, 10, 0, 0)]).unwrap());
        let tree = [(16, 15, 32, 48), (32, 1, 0, 64), (48, 17, 0, 0), (64, 10, 0, 0)];
        assert!(found(16, &tree).unwrap());
        assert!(!found(16, &tree.map(|(at, signal, left, right)| (at, signal, left, right & !64))).unwrap());
    }

    #[test]
    fn nonsense_is_no_answer() {
        assert!(found(16, &[]).is_err(), "a pointer to nowhere");
        assert!(found(16, &[(16, 15, 16, 16)]).is_err(), "a circle");
        assert!(found(16, &[(16, 99, 0, 0)]).is_err() && found(16, &[(16, 0, 0, 0)]).is_err(), "no signal");
    }
}
