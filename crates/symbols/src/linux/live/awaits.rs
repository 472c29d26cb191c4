//! What waits for a stack that V8's queue of microtasks has begun: the suspended callers go with the sample. And what
//! waits in the whole process, for those who ask.

use std::ops::Range;

use trace::{AwaitEnd, Sample};
use v8::name::Tier;
use v8::{AwaitChain, Awaiter, ChainEnd, Frame, Kind, Stack};

use super::{Walker, place_of};

/// When this many of the last 32 samples ran after an `await`, reading at once is worth its cost.
const MANY_AWAITS: u32 = 8;

/// A sample stands for at most this many others, in thousandths: where more are lost, chance has a large part in it.
const MOST_STANDS_FOR: u32 = 20_000;

/// The async functions of a process that are suspended, as rows of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspended {
    /// How many there are.
    pub functions: u32,
    /// How many of them await no other one.
    pub waiting: u32,
    /// Where they wait, and how many there.
    pub places: Vec<(u32, u32)>,
    /// What awaits what: how many such chains there are, their rows, the innermost first, and why there are no more.
    pub chains: Vec<(u32, Vec<u32>, AwaitEnd)>,
    /// So much memory was read.
    pub bytes: u64,
    /// Whether the search ended before all was read.
    pub is_cut: bool,
}

impl Walker<'_> {
    /// Whether samples should be read as soon as they are there: many run after an `await`, and what awaits them is
    /// known for a moment only. Names can wait.
    pub fn wants_fresh_samples(&self) -> bool {
        self.recent_awaits.count_ones() >= MANY_AWAITS
    }

    /// Reads what waits for a stack.
    pub(super) fn await_chain(
        &mut self,
        sample: &Sample<'_>,
        (row, pid): (u32, u32),
        frames: &[Frame],
        may_read: bool,
    ) -> Option<AwaitChain> {
        let heap = self.readers.get_mut(&pid).filter(|_| may_read)?;
        let (_, sp) = place_of(sample)?;
        let moment = self.world.moment(row, Some(std::env::consts::ARCH));
        let engines = &self.engines;
        let is_job = |address: u64| engines.is_reaction_job(&moment, address).unwrap_or(false);
        // A binary without symbols does not show which frames are jobs.
        let has_symbol = |frame: &Frame| {
            frame.kind == Kind::Builtin
                && engines.is_reaction_job(&moment, frame.instruction()).is_some()
        };
        let has_symbols = frames.iter().any(has_symbol);
        let is_job: Option<&dyn Fn(u64) -> bool> = if has_symbols { Some(&is_job) } else { None };
        let stack = Stack::new(sp, sample.user_stack);
        heap.reader.await_chain(&*heap.memory, &stack, frames, is_job)
    }

    /// How many samples whose callers were read too late one stands for whose callers were read in time, in
    /// thousandths.
    ///
    /// A sample hits any moment of a run. So of runs of one length as many end in the time from the sample to the first
    /// read, where their callers are lost, as in any later time of that length: those that are gone when they are
    /// looked at again show how many were lost of their kind. Long runs are read more often than short ones, and lost
    /// less.
    pub(super) fn stands_for(
        &self,
        pid: u32,
        chain: &AwaitChain,
        (sampled_ns, read_ns): (u64, u64),
    ) -> Option<u32> {
        let (address, was) = chain.runs.filter(|_| !chain.end.is_loss())?;
        let mut word = [0; 8];
        self.readers.get(&pid)?.memory.read(address, &mut word).ok()?;
        let again_ns = sys::clock::monotonic_ns();
        if u64::from_le_bytes(word) == was {
            return Some(0);
        }
        let (before, after) = (read_ns.checked_sub(sampled_ns)?, again_ns.checked_sub(read_ns)?);
        let thousandths = before.saturating_mul(1000) / after.max(1);
        Some(u32::try_from(thousandths).unwrap_or(u32::MAX).clamp(1, MOST_STANDS_FOR))
    }

    /// Gives the suspended callers their rows. Returns why there are no more.
    pub(super) fn add_awaits(&mut self, pid: u32, chain: &AwaitChain) -> AwaitEnd {
        self.awaiters.clear();
        for awaiter in &chain.awaiters {
            let row = self.row_of_awaiter(pid, awaiter);
            self.awaiters.push(row);
        }
        recorded_end(chain.end)
    }

    fn row_of_awaiter(&mut self, pid: u32, awaiter: &Awaiter) -> u32 {
        self.row((pid, awaiter.function, Tier::Unmarked, awaiter.line, awaiter.column, false))
    }

    /// Searches some ranges of a process's memory for async functions that are suspended. `None` where its V8 is not
    /// known or may not be read. `may_go_on` gets now and then how much was read.
    pub fn suspended(
        &mut self,
        pid: u32,
        ranges: &[Range<u64>],
        may_go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Option<Suspended> {
        let heap = self.readers.get_mut(&pid).filter(|_| !self.leaves_heap)?;
        let found = heap.reader.suspended(&*heap.memory, ranges, may_go_on);
        let places = found.places.iter();
        let places = places.map(|(place, count)| (self.row_of_awaiter(pid, place), *count));
        let places = places.collect();
        let mut chains = Vec::with_capacity(found.chains.len());
        for chain in &found.chains {
            let rows = chain.awaiters.iter().map(|awaiter| self.row_of_awaiter(pid, awaiter));
            chains.push((chain.count, rows.collect(), recorded_end(chain.end)));
        }
        Some(Suspended {
            functions: found.functions,
            waiting: found.waiting,
            places,
            chains,
            bytes: found.bytes,
            is_cut: found.is_cut,
        })
    }
}

/// Why there are no more callers, as a recording has it.
fn recorded_end(end: ChainEnd) -> AwaitEnd {
    match end {
        ChainEnd::Root => AwaitEnd::Root,
        ChainEnd::Several => AwaitEnd::Several,
        ChainEnd::Settled | ChainEnd::NotSuspended | ChainEnd::Changed => AwaitEnd::Late,
        ChainEnd::Unread(_) => AwaitEnd::Unread,
        ChainEnd::Cycle | ChainEnd::TooLong => AwaitEnd::TooLong,
    }
}
