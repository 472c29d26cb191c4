//! The memory of a process that runs, for what reads V8's and libuv's objects.

use std::io;

use v8::{Fault, Memory, Piece};

use crate::live::ProcessMemory;

/// The memory of another process.
#[derive(Debug)]
pub struct RemoteMemory(sys::remote::Process);

impl RemoteMemory {
    /// That of a process. Nothing is read yet: what may not be read shows later.
    pub fn of(pid: u32) -> io::Result<Self> {
        sys::remote::Process::new(pid).map(Self)
    }
}

impl ProcessMemory for RemoteMemory {
    fn try_read(&self, address: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(address, out)
    }
}

impl Memory for RemoteMemory {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.0.read(address, out).map_err(|_| Fault)
    }

    fn read_many(&self, pieces: &mut [Piece<'_>]) -> Vec<bool> {
        let mut wanted: Vec<sys::remote::Piece<'_>> = pieces
            .iter_mut()
            .map(|piece| sys::remote::Piece { address: piece.address, out: &mut *piece.out })
            .collect();
        self.0.read_many(&mut wanted)
    }
}
