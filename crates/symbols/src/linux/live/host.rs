//! The machine that sampled processes run on, as a walker asks for it: where files are, and what memory holds. A replay
//! answers from what was kept of a recording instead.

use std::io;
use std::path::PathBuf;

use v8::Memory;

use crate::files::Files;

/// What a walker asks beside what it gets from records.
pub trait Host {
    /// Where the files of a process are.
    fn whereabouts(&self, pid: u32) -> Whereabouts;

    /// The memory of a process. Nothing is read yet: what may not be read shows later.
    fn memory(&self, pid: u32) -> io::Result<Box<dyn ProcessMemory>>;

    /// The files that programs were loaded from.
    fn files(&self) -> Box<dyn Files>;
}

/// The memory of one process.
pub trait ProcessMemory: Memory {
    /// The same as [`Memory::read`], where the reason of a failure matters.
    fn try_read(&self, address: u64, out: &mut [u8]) -> io::Result<()>;
}

/// Where the files of a process are.
#[derive(Clone, Debug, Default)]
pub struct Whereabouts {
    /// Its root, where it is not ours.
    pub root: Option<PathBuf>,
    /// Its program, if that was replaced on disk: the path that the kernel reports, and where it still is.
    pub deleted: Option<(Vec<u8>, PathBuf)>,
}
