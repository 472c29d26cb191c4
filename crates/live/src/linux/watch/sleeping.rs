//! The stack of a thread that sleeps, and the system call that it sleeps in: read as a whole while it does not run, or
//! not at all.

use v8::Memory;

use super::thread::ThreadFiles;
use crate::linux::asleep::SleepingStack;
use crate::linux::threads::{self, Whereabouts};

/// What is read of a stack at most.
const MOST_BYTES: u64 = 256 << 10;
/// A stack whose end is further away than this is another one.
const LARGEST_STACK: u64 = 1 << 30;

/// Reads the stack of a thread; none where it runs meanwhile. `end` is where its stack was known to end.
pub(super) fn read(
    memory: &dyn Memory,
    (pid, tid): (u32, u32),
    files: &ThreadFiles,
    end: &mut Option<u64>,
) -> Option<SleepingStack> {
    let slices = files.scheduled()?.slices;
    let Whereabouts::Asleep { syscall, sp, pc } = threads::whereabouts(pid, tid) else {
        return None;
    };
    if end.is_none_or(|end| sp >= end || end - sp > LARGEST_STACK) {
        let mappings = threads::mappings(pid).ok()?;
        *end =
            mappings.iter().find(|(start, end)| (*start..*end).contains(&sp)).map(|(_, end)| *end);
    }
    let mut bytes = vec![0; usize::try_from((*end)?.checked_sub(sp)?.min(MOST_BYTES)).ok()?];
    memory.read(sp, &mut bytes).ok()?;
    // It may have run on meanwhile: then this is a mixture of two moments.
    (files.scheduled()?.slices == slices).then_some(SleepingStack { syscall, sp, pc, bytes })
}
