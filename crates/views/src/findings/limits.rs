//! Time that is not the code's: the CPU limit, other programs that use the CPUs, and too little memory.

use profile::{ProcessId, Profile};

use super::{Facts, Finding, Found, found, part, sum_ns};
use crate::host::HostTimes;
use crate::stalls::{Stall, StallKind, Turns};

/// A CPU limit counts from this part of throttled periods on, if it also cost this part of the time: a limit that is
/// reached now and then is what limits are for.
const THROTTLED_PERIODS: f64 = 0.2;
const THROTTLED_TIME: f64 = 0.02;
/// Waiting for a CPU that is less than this part of the throttled time is a part of that.
const LIMIT_EDGES: u64 = 4;
/// The CPU limit is the cause, and leads, where its stalls took this part of the time of all stalls.
const LIMIT_LEADS: f64 = 0.5;
/// Waiting for a CPU counts from this part of the time on, if it is also this part of the time that ran: threads wait a
/// little on every machine.
const READY_TIME: f64 = 0.2;
const READY_OF_RUN: f64 = 0.5;
/// Below so many CPUs of its own, a process that waits for one waits for others.
const OWN_CORES: f64 = 0.9;
/// Waiting for memory is never normal: a tenth of the time is felt in every reply.
const MEMORY_TIME: f64 = 0.1;

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

/// Where V8's helper threads use this part of the CPU time to collect garbage, they wait for each other: there are more of
/// them than CPUs. Then only waiting that held up a loop counts.
const COLLECTING: f64 = 0.3;

pub(super) fn cpu_limit(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    limited(facts.profile, &facts.turns, &facts.host, facts.duration_ns).into_iter().collect()
}

pub(super) fn cpu_wait(facts: &Facts<'_>, earlier: &[Found]) -> Vec<Found> {
    let limit = earlier.iter().find(|found| matches!(found.finding, Finding::CpuLimit(_)));
    let is_explained = limit.is_some() || facts.gc.helpers >= COLLECTING;
    let wait = waited(&facts.turns, &facts.host, is_explained, facts.duration_ns);
    // The kernel counts a period as throttled when it is over: at its edges the same time looks like another's.
    let is_edge =
        |wait: &Found| limit.is_some_and(|limit| wait.lost_ns < limit.lost_ns / LIMIT_EDGES);
    wait.filter(|wait| !is_edge(wait)).into_iter().collect()
}

pub(super) fn memory_pressure(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    let waited = |times: &HostTimes| times.memory_pressure_ns.unwrap_or(0);
    let worst = facts.host.iter().max_by_key(|(_, times)| waited(times));
    let lost_ns = worst.map_or(0, |(_, times)| waited(times).min(facts.duration_ns));
    let process = worst.map(|(process, _)| *process).filter(|_| facts.host.len() > 1);
    match part(lost_ns, facts.duration_ns) >= MEMORY_TIME {
        true => vec![found(lost_ns, Finding::MemoryPressure(process))],
        false => Vec::new(),
    }
}

/// Threads of a full pool that wait for CPUs because there are more of them say the same as the pool does. Where a loop
/// waited for a CPU, that is more.
pub(super) fn leave_to_pools(list: &mut Vec<Found>) {
    let has_pool = list.iter().any(|found| matches!(found.finding, Finding::Pool(_)));
    let is_told = |found: &Found| match &found.finding {
        Finding::CpuWait(wait) => has_pool && !wait.by_others && wait.stalls == 0,
        _ => false,
    };
    list.retain(|found| !is_told(found));
}

/// Puts the CPU limit first where it is the cause of the stalls.
pub(super) fn lead(list: &mut [Found], stalls: &[Stall]) {
    let place = list.iter().position(|found| matches!(found.finding, Finding::CpuLimit(_)));
    if let Some(place) = place.filter(|_| limit_leads(stalls)) {
        list[..=place].rotate_right(1);
    }
}

/// The stalls of a kind: how many, and the longest.
fn of_kind(stalls: &[Stall], kind: StallKind) -> (usize, u64) {
    let its = || stalls.iter().filter(|stall| stall.kind == kind);
    (its().count(), its().map(Stall::duration_ns).max().unwrap_or(0))
}

fn limited(
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

fn waited(
    turns: &Turns,
    host: &[(ProcessId, HostTimes)],
    is_explained: bool,
    duration_ns: u64,
) -> Option<Found> {
    let worst = host.iter().max_by_key(|(_, times)| times.ready_ns);
    let counted = worst.filter(|(_, HostTimes { ready_ns, run_ns, .. })| {
        let is_much = part(*ready_ns, duration_ns) >= READY_TIME;
        !is_explained && is_much && *ready_ns as f64 >= *run_ns as f64 * READY_OF_RUN
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
