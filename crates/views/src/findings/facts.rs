//! What the rules of findings start from, computed once.

use profile::{ProcessId, Profile, ThreadId};

use super::groups::{StallGroup, groups};
use super::loop_work::LoopWork;
use crate::delay::{LoopDelay, delays};
use crate::gc::{Gc, gc_of};
use crate::host::{HostTimes, host_times, selected_duration_ns};
use crate::pool::{PoolUse, pools};
use crate::selection::Selection;
use crate::stalls::{Span, Spent, Turns, turns_of};
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

    /// For how long a loop waited for a CPU in its turns since it serves, be it for the limit or for other threads: it was
    /// busy and was not sampled, and no longer than its part of what the kernel counted for its process. Long turns have
    /// counters of their own.
    pub(crate) fn waited_ns(&self, thread: ThreadId) -> u64 {
        let sampled_ns =
            self.work.sampled_ns(thread).map(|(all, before)| all.saturating_sub(before));
        let served_ns = self.busy_ns(thread).saturating_sub(self.not_served_ns(thread));
        self.missing_ns(thread, served_ns, sampled_ns)
    }

    /// The same with the run before it served.
    pub(crate) fn waited_from_start_ns(&self, thread: ThreadId) -> u64 {
        let stopped_ns = self.stopped_ns(thread);
        let sampled_ns = self.work.sampled_ns(thread).map(|(all, _)| all);
        self.missing_ns(thread, self.busy_ns(thread).saturating_sub(stopped_ns), sampled_ns)
    }

    fn missing_ns(&self, thread: ThreadId, busy_ns: u64, sampled_ns: Option<u64>) -> u64 {
        let its_stalls = || self.turns.stalls.iter().filter(move |stall| stall.thread == thread);
        let spent = |value: fn(&Spent) -> u64| {
            super::sum_ns(its_stalls().filter_map(|stall| stall.spent.as_ref().map(value)))
        };
        let in_stalls_ns = spent(|spent| spent.ready_ns);
        let process = self.profile.thread(thread).process;
        let counted = self.host.iter().find(|(id, _)| *id == process);
        let Some(((_, HostTimes { ready_ns, run_ns, .. }), sampled_ns)) = counted.zip(sampled_ns)
        else {
            return in_stalls_ns;
        };
        let known_ns = sampled_ns.saturating_add(spent(|spent| spent.blocked_ns));
        // Other threads of the process waited, too: the loop's part is as large as its part of what ran.
        let its_part = match (sampled_ns, *run_ns) {
            (0, _) | (_, 0) => 1.0,
            (sampled_ns, run_ns) => super::part(sampled_ns, run_ns).min(1.0),
        };
        let its_ready_ns = (*ready_ns as f64 * its_part) as u64;
        busy_ns.saturating_sub(known_ns).min(its_ready_ns).max(in_stalls_ns)
    }

    /// For how long a loop was in turns; 0 where that is not known.
    fn busy_ns(&self, thread: ThreadId) -> u64 {
        let row = self.turns.watched().find(|row| row.thread == thread);
        let busy = row.and_then(|row| Some(row.watched_ns.saturating_sub(row.polled_ns?)));
        busy.unwrap_or(0)
    }

    fn stopped_ns(&self, thread: ThreadId) -> u64 {
        let stops = self.turns.stops.iter().filter(|stop| stop.thread == thread);
        super::sum_ns(stops.map(Span::duration_ns))
    }

    /// For how long a loop did not serve yet, or was stopped.
    pub(crate) fn not_served_ns(&self, thread: ThreadId) -> u64 {
        let runs = self.turns.runs.iter().filter(|run| run.thread == thread);
        let runs = runs.map(|run| run.end_ns.saturating_sub(run.start_ns));
        super::sum_ns(runs).saturating_add(self.stopped_ns(thread))
    }

    /// The same as `time_ns` for several loops together.
    pub(crate) fn times_ns(&self, threads: &[ThreadId]) -> u64 {
        super::sum_ns(threads.iter().map(|thread| self.time_ns(*thread)))
    }
}

/// The loops that have much of something: each by itself. Only where none has are they asked together: each may have too
/// few samples.
pub(super) fn loops_with_much(
    all: Vec<ThreadId>,
    has_much: impl Fn(&[ThreadId]) -> bool,
) -> Vec<ThreadId> {
    let alone: Vec<ThreadId> = all.iter().copied().filter(|thread| has_much(&[*thread])).collect();
    if alone.is_empty() && has_much(&all) { all } else { alone }
}
