//! What the rules of findings start from, computed once.

use profile::{ProcessId, Profile, ThreadId};

use super::groups::{StallGroup, groups};
use super::loop_work::LoopWork;
use crate::delay::{LoopDelay, delays};
use crate::gc::{Gc, gc_of};
use crate::host::{HostTimes, host_times, selected_duration_ns};
use crate::pool::{PoolUse, pools};
use crate::selection::Selection;
use crate::stalls::{Turns, turns_of};
use crate::work::Doings;

/// The facts of a selection.
pub(crate) struct Facts<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) duration_ns: u64,
    /// What each stack does.
    pub(crate) doings: &'a Doings,
    /// The event loops and their long turns.
    pub(crate) turns: Turns,
    /// Similar stalls.
    pub(crate) groups: Vec<StallGroup>,
    /// What the kernel counted.
    pub(crate) host: Vec<(ProcessId, HostTimes)>,
    /// Garbage collection.
    pub(crate) gc: Gc,
    /// What requests paid at each loop, the worst first.
    pub(crate) delays: Vec<LoopDelay>,
    /// The thread pools.
    pub(crate) pools: Vec<PoolUse>,
    /// What the samples of the loops did.
    pub(crate) work: LoopWork,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(profile: &'a Profile, selection: &Selection, doings: &'a Doings) -> Self {
        let turns = turns_of(profile, selection, doings);
        let gc = gc_of(profile, selection, &turns, doings);
        Self {
            profile,
            duration_ns: selected_duration_ns(profile, selection),
            groups: groups(profile, &turns.stalls),
            host: host_times(profile, selection),
            delays: delays(profile, selection, &turns),
            pools: pools(profile, selection),
            work: LoopWork::new(profile, selection, &turns, doings),
            doings,
            turns,
            gc,
        }
    }

    /// For how long a loop was watched, or else the whole time.
    pub(crate) fn time_ns(&self, thread: ThreadId) -> u64 {
        let watched = self.turns.watched().find(|row| row.thread == thread);
        watched.map(|row| row.watched_ns).filter(|ns| *ns > 0).unwrap_or(self.duration_ns)
    }

    /// The same for several loops together.
    pub(crate) fn times_ns(&self, threads: &[ThreadId]) -> u64 {
        super::sum_ns(threads.iter().map(|thread| self.time_ns(*thread)))
    }
}
