//! The machine that a session is on. A replay has another one, which answers from what was kept.

use std::io;

use symbols::{Disk, Files, Host, ProcessMemory, RemoteMemory, Whereabouts};

use super::proc;

/// What a session asks beside what it gets from records.
pub trait Machine: Host {
    /// All code that a process has mapped now, as records; nothing where it has ended.
    fn mappings(&self, pid: u32) -> Vec<u8>;
}

/// The machine that we run on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Host for ThisMachine {
    fn whereabouts(&self, pid: u32) -> Whereabouts {
        proc::whereabouts(pid)
    }

    fn memory(&self, pid: u32) -> io::Result<Box<dyn ProcessMemory>> {
        Ok(Box::new(RemoteMemory::of(pid)?))
    }

    fn files(&self) -> Box<dyn Files> {
        Box::new(Disk)
    }
}

impl Machine for ThisMachine {
    fn mappings(&self, pid: u32) -> Vec<u8> {
        capture::mappings(pid).unwrap_or_default()
    }
}
