//! A loop that is hardly ever free although few of its turns are long: what arrives has to queue. Or a loop whose turns
//! are so long and so many that half of all requests wait for the rest of one.

use std::collections::BTreeMap;

use profile::{FunctionId, ThreadId};

use super::{CpuLimit, CpuWait, Facts, Finding, Found, found, part, sum_ns};
use crate::stalls::{EventLoop, Stall};

/// Above this, queues grow faster than the load: what waits in front of a server that is busy for a part r of its time is
/// r / (1 − r), which is 1 at a half and 4 here.
const SATURATED: f64 = 0.8;
/// A loop with more room makes people wait, too, where its turns are long: a request waits for the rest of one. Half of
/// all requests wait so long that it is felt in every reply.
const LONG_MEDIAN_NS: u64 = 10_000_000;
/// A loop that is free for this part of the time takes half of all requests at once.
const FREE_FOR_HALF: f64 = 0.5;
/// If short turns have this part of the time, which is half of what makes a loop saturated: where long ones have more of
/// it, these are reported, and are what to mend.
const SHORT_TURNS: f64 = 0.4;
/// What costs at least this part of the other short turns can be the reason that the loop is saturated: less would be
/// lost in what else there is to mend.
const MUCH_OF_THE_REST: f64 = 0.5;
/// A loop that was watched for less shows little: a service that starts, or one large request, is busy for so long.
const LONG_ENOUGH_NS: u64 = 1_000_000_000;

/// A loop that is busy with short turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Busy {
    /// The loop.
    pub row: EventLoop,
    /// The functions that its short turns were for, with their weight and samples, the largest first.
    pub functions: Vec<(FunctionId, u64, u64)>,
    /// The weight and the samples of its short turns.
    pub sampled: (u64, u64),
    /// What half of all requests waited at least, where that makes it a finding: the loop itself has room.
    pub median_ns: Option<u64>,
    /// For how long it was in turns and did not wait for a CPU.
    pub worked_ns: u64,
}

pub(super) fn find(facts: &Facts<'_>, earlier: &[Found]) -> Vec<Found> {
    facts.turns.loops.iter().filter_map(|row| busy_loop(facts, row, earlier)).collect()
}

fn busy_loop(facts: &Facts<'_>, row: &EventLoop, earlier: &[Found]) -> Option<Found> {
    let polled_ns = row.polled_ns.filter(|_| row.watched_ns >= LONG_ENOUGH_NS)?;
    let its = |thread: ThreadId| thread == row.thread;
    let turns = &facts.turns;
    let stalls = || turns.stalls.iter().filter(|stall| its(stall.thread));
    let stalls_ns = sum_ns(stalls().map(Stall::duration_ns));
    let waited_in_stalls_ns = sum_ns(stalls().filter_map(|stall| Some(stall.spent?.ready_ns)));
    let waited_ns = facts.waited_ns(row.thread);
    let busy_ns = row.watched_ns.saturating_sub(polled_ns);
    // A turn that waits for a CPU is no work: with a CPU of its own the loop would have been free for so long.
    let short_ns = busy_ns
        .saturating_sub(stalls_ns)
        .saturating_sub(facts.not_served_ns(row.thread))
        .saturating_sub(waited_ns.saturating_sub(waited_in_stalls_ns));
    let worked_ns = busy_ns.saturating_sub(waited_ns);
    let busy = Busy { worked_ns, ..causes(facts, row) };
    // As a part of what was sampled: a thread that loses samples has less than it was busy.
    let reported_ns = sum_ns(earlier.iter().map(|found| found.finding.short_turns_ns(row.thread)));
    let left = 1.0 - part(reported_ns, busy.sampled.0).min(1.0);
    let lost_ns = (short_ns as f64 * left) as u64;
    let is_saturated = part(worked_ns, row.watched_ns) >= SATURATED;
    let median_ns = long_median_ns(facts, row, earlier).filter(|_| !is_saturated);
    let is_felt = is_saturated || median_ns.is_some();
    (is_felt && part(lost_ns, row.watched_ns) >= SHORT_TURNS)
        .then(|| found(lost_ns, Finding::Busy(Busy { median_ns, ..busy })))
}

/// The median delay, where it is long. Turns that are long because the process waits for a CPU are reported as that.
fn long_median_ns(facts: &Facts<'_>, row: &EventLoop, earlier: &[Found]) -> Option<u64> {
    let process = facts.profile.thread(row.thread).process;
    let waits = |found: &Found| match found.finding {
        Finding::CpuLimit(CpuLimit { process: whose, .. })
        | Finding::CpuWait(CpuWait { process: whose, .. }) => whose.is_none_or(|id| id == process),
        _ => false,
    };
    let delay = facts.delays.iter().find(|delay| delay.thread == row.thread)?;
    delay.median_ns.filter(|ns| *ns >= LONG_MEDIAN_NS && !earlier.iter().any(waits))
}

/// A loop that would have room without something else that is reported comes behind that, unless much more is left.
pub(super) fn follow_causes(list: &mut [Found]) {
    for place in 0..list.len() {
        let Finding::Busy(busy) = &list[place].finding else { continue };
        let is_cause = |found: &Found| busy.is_due_to(list[place].lost_ns, found);
        let cause = (place + 1..list.len()).find(|row| is_cause(&list[*row]));
        if let Some(cause) = cause {
            list[place..=cause].rotate_left(1);
        }
    }
}

impl Busy {
    /// The function that had most of it.
    pub(super) fn function(&self) -> FunctionId {
        self.functions.first().map_or(FunctionId::NONE, |(function, ..)| *function)
    }

    /// Whether something else is the reason that the loop is so busy; `lost_ns` is what is left of its short turns.
    fn is_due_to(&self, lost_ns: u64, other: &Found) -> bool {
        let threads = other.finding.threads();
        if !threads.contains(&self.row.thread) {
            return false;
        }
        let other_ns = other.lost_ns / threads.len().max(1) as u64;
        let without = part(self.worked_ns.saturating_sub(other_ns), self.row.watched_ns);
        let room = if self.median_ns.is_some() { FREE_FOR_HALF } else { SATURATED };
        without < room && part(other_ns, lost_ns) >= MUCH_OF_THE_REST
    }
}

/// What the short turns of a loop were for.
pub(super) fn causes(facts: &Facts<'_>, row: &EventLoop) -> Busy {
    let mut by_function: BTreeMap<FunctionId, (u64, u64)> = BTreeMap::new();
    let mut sampled = (0u64, 0u64);
    for its in facts.work.rows.iter().filter(|its| its.thread == row.thread) {
        let (weight, samples) = (its.sum.short_weight, its.sum.short_samples);
        sampled = (sampled.0.saturating_add(weight), sampled.1.saturating_add(samples));
        if its.is_app {
            let sum = by_function.entry(its.function).or_default();
            *sum = (sum.0.saturating_add(weight), sum.1.saturating_add(samples));
        }
    }
    let mut functions: Vec<(FunctionId, u64, u64)> = by_function
        .into_iter()
        .map(|(function, (weight, samples))| (function, weight, samples))
        .collect();
    functions.sort_by_key(|(function, weight, _)| (std::cmp::Reverse(*weight), *function));
    Busy { row: *row, functions, sampled, median_ns: None, worked_ns: 0 }
}
