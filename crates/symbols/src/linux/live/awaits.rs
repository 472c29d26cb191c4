//! What waits for a stack that V8's queue of microtasks has begun: the suspended callers go with the sample.

use trace::{AwaitEnd, Sample};
use v8::name::Tier;
use v8::{AwaitChain, ChainEnd, Frame, Kind, Stack};

use super::{Walker, place_of};

/// So many of the last 32 samples make reading at once worth its cost.
const MANY_AWAITS: u32 = 8;

impl Walker<'_> {
    /// Whether samples should be read as soon as they are there: many run after an `await`, and what awaits them is known
    /// for a moment only. Names can wait.
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
        // A binary without symbols tells no jobs.
        let tells = |frame: &Frame| {
            frame.kind == Kind::Builtin
                && engines.is_reaction_job(&moment, frame.instruction()).is_some()
        };
        let has_symbols = frames.iter().any(tells);
        let is_job: Option<&dyn Fn(u64) -> bool> = if has_symbols { Some(&is_job) } else { None };
        let stack = Stack::new(sp, sample.user_stack);
        heap.reader.await_chain(&*heap.memory, &stack, frames, is_job)
    }

    /// Gives the suspended callers their rows; why there are no more.
    pub(super) fn tell_awaits(&mut self, pid: u32, chain: &AwaitChain) -> AwaitEnd {
        self.awaiters.clear();
        for awaiter in &chain.awaiters {
            let key = (pid, awaiter.function, Tier::Unmarked, awaiter.line, awaiter.column, false);
            let row = self.row(key);
            self.awaiters.push(row);
        }
        match chain.end {
            ChainEnd::Root => AwaitEnd::Root,
            ChainEnd::Several => AwaitEnd::Several,
            ChainEnd::Settled | ChainEnd::NotSuspended | ChainEnd::Changed => AwaitEnd::Late,
            ChainEnd::Unread(_) => AwaitEnd::Unread,
            ChainEnd::Cycle | ChainEnd::TooLong => AwaitEnd::TooLong,
        }
    }
}
