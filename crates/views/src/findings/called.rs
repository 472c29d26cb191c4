//! One kind of work that event loops do for their callers: synchronous calls, JSON, copies, regular expressions. It
//! stands out when it takes more than its part of the time of the loops, whether or not a single turn is long, or when
//! stalls are mostly that.

use profile::{FunctionId, Profile, StackId, ThreadId};

use super::facts::loops_with_much;
use super::loop_work::{LoopWork, WorkRow};
use super::{Facts, Finding, Found, StallGroup, found, is_worth_reporting, part, sum_ns, surely};
use crate::stalls::{Span, StallKind};
use crate::work::Work;

/// What must not run on an event loop, because there is a call that does not block it.
const AVOIDABLE: f64 = 0.1;
/// A child process: what it costs on the CPU is a small part of what it costs the loop, and only that is sampled.
const STARTS: f64 = 0.05;
/// Modules are loaded when a program starts; a program that serves has no reason to.
const LOADING: f64 = 0.05;
/// What a service has to do in some measure: twice what Clinic and others call much for garbage collection.
const WORK: f64 = 0.2;

/// One kind of work on event loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// The kind of work.
    pub work: Work,
    /// The functions that asked for it, the most costly first.
    pub callers: Vec<Caller>,
    /// The stalls that were mostly that, the most costly group first.
    pub stalls: Vec<StallGroup>,
    /// The loops that it ran on.
    pub threads: Vec<ThreadId>,
    /// The time that it took outside of stalls.
    pub short_ns: u64,
    /// Its part of the time of these loops, from 0 to 1.
    pub share: f64,
    /// The samples of it.
    pub samples: u64,
}

/// A function that asked for such work.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    /// The function.
    pub function: FunctionId,
    /// The line of the call; 0 where that is not known.
    pub line: u32,
    /// A stack of it.
    pub stack: StackId,
    /// What it called, the most costly first.
    pub calls: Vec<String>,
    /// What it cost.
    pub cost_ns: u64,
}

pub(super) fn children(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Child, STARTS)
}

pub(super) fn files(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Files, AVOIDABLE)
}

pub(super) fn crypto(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Crypto, AVOIDABLE)
}

pub(super) fn compression(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Compression, AVOIDABLE)
}

pub(super) fn output(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Output, AVOIDABLE)
}

pub(super) fn regexp(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Regexp, WORK)
}

pub(super) fn json(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Json, WORK)
}

pub(super) fn copies(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Copies, WORK)
}

pub(super) fn modules(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Modules, LOADING)
}

pub(super) fn compiling(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    find(facts, Work::Compiling, WORK)
}

fn find(facts: &Facts<'_>, work: Work, least_share: f64) -> Vec<Found> {
    let rows = || facts.work.rows.iter().filter(|row| row.work == work);
    // ES modules are evaluated behind the first poll: that is a long turn, and still the start.
    let is_start = |group: &StallGroup| {
        let may_start = |span: &Span| span.start_ns < facts.turns.may_start_until_ns(span.thread);
        work.is_of_start(group.asked_by) && group.spans.iter().all(may_start)
    };
    let groups = || facts.groups.iter().filter(|group| group.work == work && !is_start(group));
    let spans = || groups().flat_map(|group| group.spans.iter());
    let lengths: Vec<u64> = spans().map(Span::duration_ns).collect();
    let are_long = is_worth_reporting(&lengths, facts.duration_ns);
    let has_much = |threads: &[ThreadId]| {
        let sum = LoopWork::sum(rows(), threads);
        let its_spans = spans().filter(|span| threads.contains(&span.thread));
        let stalled_ns = sum_ns(its_spans.map(Span::duration_ns));
        let sure_ns = surely(sum.short_weight, sum.short_samples).saturating_add(stalled_ns);
        part(sure_ns, facts.times_ns(threads)) >= least_share
    };
    let stalled = || spans().map(|span| span.thread);
    let all = distinct(LoopWork::threads(rows()).into_iter().chain(stalled()));
    let mut threads = loops_with_much(all, has_much);
    if are_long {
        threads.extend(stalled());
    }
    if threads.is_empty() {
        return Vec::new();
    }
    let is_its = |group: &&StallGroup| group.threads.iter().any(|its| threads.contains(its));
    let stalls: Vec<StallGroup> = groups().filter(is_its).cloned().collect();
    // A group is one cause: it is reported with all of its loops.
    let of_stalls = stalls.iter().flat_map(|group| group.threads.iter().copied());
    let threads = distinct(threads.into_iter().chain(of_stalls));
    let sum = LoopWork::sum(rows(), &threads);
    let stalled_ns = sum_ns(stalls.iter().map(|group| group.total_ns));
    let lost_ns = sum.short_weight.saturating_add(stalled_ns);
    let called = Called {
        work,
        callers: callers(facts, work, &threads, &stalls),
        stalls,
        short_ns: sum.short_weight,
        share: part(lost_ns, facts.times_ns(&threads)).min(1.0),
        samples: sum.samples,
        threads,
    };
    vec![found(lost_ns, Finding::Called(called))]
}

fn distinct(threads: impl Iterator<Item = ThreadId>) -> Vec<ThreadId> {
    let mut threads: Vec<ThreadId> = threads.collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

impl Called {
    /// The samples that show that its long turns were that, and all samples of these turns, where turns that ran have
    /// most of its time.
    pub fn samples_of_stalls(&self) -> Option<(u64, u64)> {
        let ran = || self.stalls.iter().filter(|group| group.kind != StallKind::Blocked);
        let is_most = sum_ns(ran().map(|group| group.total_ns)) > self.short_ns;
        let sum = |value: fn(&StallGroup) -> u64| sum_ns(ran().map(value));
        is_most.then(|| (sum(|group| group.work_samples.0), sum(|group| group.work_samples.1)))
    }
}

/// The functions that asked for it: by samples, and by the time of the stalls that waited.
fn callers(
    facts: &Facts<'_>,
    work: Work,
    threads: &[ThreadId],
    stalls: &[StallGroup],
) -> Vec<Caller> {
    let mut callers: Vec<(Caller, Vec<(String, u64)>)> = Vec::new();
    let mut add = |function: FunctionId, stack: StackId, calls: &[(String, u64)], cost_ns: u64| {
        let line = line_of(facts, stack);
        let known = callers.iter_mut().find(|(known, _)| known.function == function);
        let new = Caller { function, line, stack, calls: Vec::new(), cost_ns };
        match known {
            Some((known, its)) => {
                if cost_ns > known.cost_ns {
                    (known.line, known.stack) = (line, stack);
                }
                known.cost_ns = known.cost_ns.saturating_add(cost_ns);
                its.extend(calls.iter().cloned());
            }
            None => callers.push((new, calls.to_vec())),
        }
    };
    let is_its = |row: &&WorkRow| row.work == work && threads.contains(&row.thread);
    for row in facts.work.rows.iter().filter(is_its) {
        add(row.function, row.stack, &row.calls, row.sum.weight);
    }
    for group in stalls.iter().filter(|group| group.kind == StallKind::Blocked) {
        let call = group.wait.as_ref().and_then(|wait| wait.call.clone());
        let calls: Vec<(String, u64)> =
            call.into_iter().map(|call| (call, group.total_ns)).collect();
        add(group.function, group.stack, &calls, group.total_ns);
    }
    // Stacks that show no function of people's are of no use, unless there are no others.
    callers.sort_by_key(|(caller, _)| {
        (caller.function.some().is_none(), std::cmp::Reverse(caller.cost_ns), caller.function)
    });
    callers.into_iter().map(|(caller, calls)| Caller { calls: largest(calls), ..caller }).collect()
}

/// The line at which the owner of a stack made its call.
fn line_of(facts: &Facts<'_>, stack: StackId) -> u32 {
    let owner = facts.doings.of(stack).owner.some();
    owner.map_or(0, |owner| frame_line(facts.profile, owner))
}

fn frame_line(profile: &Profile, stack: StackId) -> u32 {
    profile.frames().line[profile.stacks().row(stack).frame.index()]
}

/// Calls that have a tenth of the cost, the largest first.
fn largest(calls: Vec<(String, u64)>) -> Vec<String> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for (call, weight) in calls {
        match sums.iter_mut().find(|(known, _)| *known == call) {
            Some((_, sum)) => *sum = sum.saturating_add(weight),
            None => sums.push((call, weight)),
        }
    }
    let all = sum_ns(sums.iter().map(|(_, weight)| *weight));
    sums.retain(|(_, weight)| *weight >= all / 10);
    sums.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    sums.into_iter().map(|(call, _)| call).collect()
}
