//! What stands out in a recording, in the order of the time that it cost. Each rule is here, with its threshold; the
//! words are the report's.

mod groups;

use profile::{ProcessId, Profile, ThreadId};

use crate::gc::{Gc, LoopGc, gc};
use crate::host::{HostTimes, host_times, selected_duration_ns};
use crate::selection::Selection;
use crate::stalls::{EventLoop, Stall, StallKind, Turns, turns};
pub use groups::StallGroup;

/// With fewer samples no share is worth telling: one sample more or less changes it.
pub const FEW_SAMPLES: u64 = 30;

/// A CPU limit counts from this part of throttled periods on, if it also cost this part of the time.
const THROTTLED_PERIODS: f64 = 0.2;
const THROTTLED_TIME: f64 = 0.02;
/// Waiting for a CPU that is less than this part of the throttled time is a part of that.
const LIMIT_EDGES: u64 = 4;
/// The CPU limit is the cause, and leads, where its stalls took this part of the time of all stalls.
const LIMIT_LEADS: f64 = 0.5;
/// Waiting for a CPU counts from this part of the time on, if it is also this part of the time that ran.
const READY_TIME: f64 = 0.2;
const READY_OF_RUN: f64 = 0.5;
/// Below so many CPUs of its own, a process that waits for one waits for others.
const OWN_CORES: f64 = 0.9;
/// A loop that loses more than this to garbage collection.
const GC_LOST: f64 = 0.1;
/// A loop is saturated from this busy part on, if short turns have this part of the time.
const SATURATED: f64 = 0.8;
const SHORT_TURNS: f64 = 0.4;
/// A loop that was watched for less says little.
const LONG_ENOUGH_NS: u64 = 1_000_000_000;

/// What is known of loops, host and garbage collection, and what stands out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// What stands out, the most costly first.
    pub list: Vec<Found>,
    /// The event loops and their stalls.
    pub turns: Turns,
    /// What the kernel counted.
    pub host: Vec<(ProcessId, HostTimes)>,
    /// Garbage collection.
    pub gc: Gc,
}

/// Something that stands out, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The time that was lost.
    pub lost_ns: u64,
    /// What it is.
    pub finding: Finding,
}

/// What stands out.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The CPU limit held a process back.
    CpuLimit(CpuLimit),
    /// A process waited for CPUs without a limit.
    CpuWait(CpuWait),
    /// Similar stalls.
    Stalls(StallGroup),
    /// A loop that loses much to garbage collection.
    Gc(LoopGc),
    /// A loop that is busy with short turns.
    Busy(EventLoop),
}

/// A process that its CPU limit held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuLimit {
    /// The process, where several were recorded that differ.
    pub process: Option<ProcessId>,
    /// The limit in thousandths of a CPU.
    pub limit_millis: Option<u32>,
    /// The throttled part of the periods.
    pub throttled_share: Option<f64>,
    /// Stalls that were throttling.
    pub stalls: usize,
    /// All stalls.
    pub all_stalls: usize,
    /// The longest of those that were throttling.
    pub longest_ns: u64,
}

/// Threads that waited for a CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuWait {
    /// The process, where counters of one tell.
    pub process: Option<ProcessId>,
    /// Whether other programs used the CPUs; otherwise its own threads may have.
    pub by_others: bool,
    /// Stalls that were mostly such waiting.
    pub stalls: usize,
    /// All stalls.
    pub all_stalls: usize,
    /// The longest of those.
    pub longest_ns: u64,
}

/// Everything that stands out in the selection.
pub fn findings(profile: &Profile, selection: &Selection) -> Findings {
    let turns = turns(profile, selection);
    let host = host_times(profile, selection);
    let gc = gc(profile, selection, &turns);
    let duration_ns = selected_duration_ns(profile, selection);
    let limit = cpu_limit(profile, &turns, &host, duration_ns);
    let wait = cpu_wait(&turns, &host, limit.is_some(), duration_ns);
    // The kernel counts a period as throttled when it is over: at its edges the same time looks like another's.
    let is_edge = |wait: &Found| {
        limit.as_ref().is_some_and(|limit| wait.lost_ns < limit.lost_ns / LIMIT_EDGES)
    };
    let wait = wait.filter(|wait| !is_edge(wait));
    let mut list: Vec<Found> = limit.iter().cloned().collect();
    list.extend(wait);
    let groups = groups::groups(&turns.stalls);
    list.extend(groups.into_iter().map(|group| found(group.total_ns, Finding::Stalls(group))));
    list.extend(gc_finding(&gc, &turns, duration_ns));
    list.extend(turns.loops.iter().filter_map(|row| busy_loop(row, &turns)));
    list.sort_by_key(|found| std::cmp::Reverse(found.lost_ns));
    if limit.is_some_and(|_| limit_leads(&turns.stalls)) {
        let position = list.iter().position(|found| matches!(found.finding, Finding::CpuLimit(_)));
        list[..=position.unwrap_or(0)].rotate_right(1);
    }
    Findings { list, turns, host, gc }
}

fn found(lost_ns: u64, finding: Finding) -> Found {
    Found { lost_ns, finding }
}

/// The stalls of a kind: how many, and the longest.
fn of_kind(stalls: &[Stall], kind: StallKind) -> (usize, u64) {
    let its = || stalls.iter().filter(|stall| stall.kind == kind);
    (its().count(), its().map(Stall::duration_ns).max().unwrap_or(0))
}

fn sum_ns(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

fn part(value_ns: u64, duration_ns: u64) -> f64 {
    crate::share(value_ns, duration_ns)
}

fn cpu_limit(
    profile: &Profile,
    turns: &Turns,
    host: &[(ProcessId, HostTimes)],
    duration_ns: u64,
) -> Option<Found> {
    let share = |times: &HostTimes| times.throttled_share().unwrap_or(0.0);
    // Processes of one container share its limit and its counters: the worst one tells for all.
    let worst = host.iter().max_by(|a, b| share(&a.1).total_cmp(&share(&b.1)));
    let worst = worst.filter(|(_, times)| {
        let time = times.throttled_ns.map_or(1.0, |ns| part(ns, duration_ns));
        share(times) >= THROTTLED_PERIODS && time >= THROTTLED_TIME
    });
    let (stalls, longest_ns) = of_kind(&turns.stalls, StallKind::Throttled);
    if worst.is_none() && stalls == 0 {
        return None;
    }
    let in_stalls =
        turns.stalls.iter().filter_map(|stall| stall.spent.map(|spent| spent.throttled_ns));
    let counted_ns = worst.and_then(|(_, times)| times.throttled_ns).map(|ns| ns.min(duration_ns));
    let limits: Vec<Option<u32>> =
        profile.processes().iter().map(|row| row.cpu_limit_millis).collect();
    let only_limit = limits.iter().flatten().next().copied();
    let finding = CpuLimit {
        process: worst.map(|(process, _)| *process).filter(|_| host.len() > 1),
        limit_millis: worst
            .map_or(only_limit, |(process, _)| profile.process(*process).cpu_limit_millis),
        throttled_share: worst.and_then(|(_, times)| times.throttled_share()),
        stalls,
        all_stalls: turns.stalls.len(),
        longest_ns,
    };
    Some(found(counted_ns.unwrap_or_else(|| sum_ns(in_stalls)), Finding::CpuLimit(finding)))
}

/// Whether most of the time of all stalls was throttling, or there was none.
fn limit_leads(stalls: &[Stall]) -> bool {
    let throttled = stalls.iter().filter(|stall| stall.kind == StallKind::Throttled);
    let all_ns = sum_ns(stalls.iter().map(Stall::duration_ns));
    all_ns == 0 || part(sum_ns(throttled.map(Stall::duration_ns)), all_ns) >= LIMIT_LEADS
}

fn cpu_wait(
    turns: &Turns,
    host: &[(ProcessId, HostTimes)],
    is_limited: bool,
    duration_ns: u64,
) -> Option<Found> {
    let worst = host.iter().max_by_key(|(_, times)| times.ready_ns);
    let counted = worst.filter(|(_, HostTimes { ready_ns, run_ns, .. })| {
        let is_much = part(*ready_ns, duration_ns) >= READY_TIME;
        !is_limited && is_much && *ready_ns as f64 >= *run_ns as f64 * READY_OF_RUN
    });
    let (stalls, longest_ns) = of_kind(&turns.stalls, StallKind::Starved);
    if counted.is_none() && stalls == 0 {
        return None;
    }
    let in_stalls = turns.stalls.iter().filter(|stall| stall.kind == StallKind::Starved);
    let in_stalls = in_stalls.filter_map(|stall| stall.spent.map(|spent| spent.ready_ns));
    let run_ns = worst.map_or(0, |(_, times)| times.run_ns);
    let finding = CpuWait {
        process: counted.map(|(process, _)| *process).filter(|_| host.len() > 1),
        by_others: worst.is_some() && part(run_ns, duration_ns) < OWN_CORES,
        stalls,
        all_stalls: turns.stalls.len(),
        longest_ns,
    };
    let lost_ns = counted.map_or_else(|| sum_ns(in_stalls), |(_, times)| times.ready_ns);
    Some(found(lost_ns, Finding::CpuWait(finding)))
}

/// The loop that lost most to garbage collection, unless its stalls say so already.
fn gc_finding(gc: &Gc, turns: &Turns, duration_ns: u64) -> Option<Found> {
    let worst = gc.loops.first()?;
    let lost = worst.of_time.unwrap_or(worst.of_cpu);
    let collected = turns.stalls.iter().filter(|stall| stall.kind == StallKind::Collected);
    let told_ns =
        sum_ns(collected.filter(|stall| stall.thread == worst.thread).map(Stall::duration_ns));
    let lost_ns =
        if worst.of_time.is_some() { worst.weight } else { (lost * duration_ns as f64) as u64 };
    let is_news = told_ns < lost_ns / 2;
    let is_much = lost > GC_LOST && worst.samples >= FEW_SAMPLES;
    (is_much && is_news).then(|| found(lost_ns, Finding::Gc(*worst)))
}

/// A loop that is hardly ever free although few of its turns are long.
fn busy_loop(row: &EventLoop, turns: &Turns) -> Option<Found> {
    let polled_ns = row.polled_ns.filter(|_| row.watched_ns >= LONG_ENOUGH_NS)?;
    let its = |thread: ThreadId| thread == row.thread;
    let stalls = turns.stalls.iter().filter(|stall| its(stall.thread)).map(Stall::duration_ns);
    let runs = turns.runs.iter().filter(|run| its(run.thread));
    let runs = runs.map(|run| run.end_ns.saturating_sub(run.start_ns));
    let stops = turns.stops.iter().filter(|stop| its(stop.thread));
    let stops = stops.map(|stop| stop.end_ns.saturating_sub(stop.start_ns));
    let busy_ns = row.watched_ns.saturating_sub(polled_ns);
    let short_ns = busy_ns.saturating_sub(sum_ns(stalls.chain(runs).chain(stops)));
    let is_saturated = part(busy_ns, row.watched_ns) >= SATURATED;
    (is_saturated && part(short_ns, row.watched_ns) >= SHORT_TURNS)
        .then(|| found(short_ns, Finding::Busy(*row)))
}
