//! Time that is not the code's: the CPU limit, other programs that use the CPUs, and too little memory.

use profile::ProcessId;

use super::{Facts, Finding, Found, found, is_worth_reporting, part, sum_ns};
use crate::host::HostTimes;
use crate::stalls::{EventLoop, Stall, StallKind};

/// A CPU limit counts from this part of throttled periods on, if it also cost this part of the time: a limit that is
/// reached now and then is what limits are for. A period is a tenth of a second: with one in five, most requests of a page
/// meet one.
const THROTTLED_PERIODS: f64 = 0.2;
const THROTTLED_TIME: f64 = 0.02;
/// Waiting for a CPU that is less than this part of the throttled time is a part of that.
const LIMIT_EDGES: u64 = 4;
/// The CPU limit is the cause, and leads, where its stalls took this part of the time of all stalls.
const LIMIT_LEADS: f64 = 0.5;
/// Waiting for a CPU counts from this part of the time on, if it is also this part of the time that ran: threads wait a
/// little on every machine. The first is what `WORK` asks of JSON and others; and where it waits for less than half of what
/// it runs, no request takes one and a half times as long.
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
    /// The process, where counters of one show it.
    pub process: Option<ProcessId>,
    /// For how long all threads together waited, where that stands out; otherwise only stalls do.
    pub waited_ns: Option<u64>,
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
/// them than CPUs. Then only waiting that held up a loop counts. With a third of all CPU time they wait for as long as is
/// asked of others here.
const COLLECTING: f64 = 0.3;

pub(super) fn cpu_limit(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    limited(facts).into_iter().collect()
}

pub(super) fn cpu_wait(facts: &Facts<'_>, earlier: &[Found]) -> Vec<Found> {
    let limit = earlier.iter().find(|found| matches!(found.finding, Finding::CpuLimit(_)));
    let is_explained = limit.is_some() || facts.gc.helpers >= COLLECTING;
    let wait = waited(facts, is_explained);
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

/// Threads of a full pool that wait for CPUs because there are more of them mean the same as the pool does. Where a
/// loop waited for a CPU, that is more. Where other programs have the CPUs, that is why the pool is full, and comes
/// before it.
pub(super) fn leave_to_pools(list: &mut Vec<Found>) {
    let has_pool = list.iter().any(|found| matches!(found.finding, Finding::Pool(_)));
    let is_covered_by_pool = |found: &Found| match &found.finding {
        Finding::CpuWait(wait) => has_pool && !wait.by_others && wait.stalls == 0,
        _ => false,
    };
    list.retain(|found| !is_covered_by_pool(found));
    let place = |is_it: fn(&Finding) -> bool| list.iter().position(|found| is_it(&found.finding));
    let pool = place(|finding| matches!(finding, Finding::Pool(_)));
    let wait = place(|finding| matches!(finding, Finding::CpuWait(wait) if wait.by_others));
    if let (Some(pool), Some(wait)) = (pool, wait)
        && pool < wait
    {
        list[pool..=wait].rotate_right(1);
    }
}

/// Puts the CPU limit first where it is the cause of the stalls.
pub(super) fn lead(list: &mut [Found], facts: &Facts<'_>) {
    let place = list.iter().position(|found| matches!(found.finding, Finding::CpuLimit(_)));
    if let Some(place) = place.filter(|_| limit_leads(facts)) {
        list[..=place].rotate_right(1);
    }
}

/// Whether stalls that were throttling stand out, and most of the time of all stalls was that.
fn limit_leads(facts: &Facts<'_>) -> bool {
    let lengths = lengths_ns(facts, StallKind::Throttled, |_| true);
    let all_ns = sum_ns(facts.turns.stalls.iter().map(Stall::duration_ns));
    is_worth_reporting(&lengths, facts.duration_ns)
        && part(sum_ns(lengths.into_iter()), all_ns) >= LIMIT_LEADS
}

/// How long the stalls of a kind were on the loops of some processes.
fn lengths_ns(facts: &Facts<'_>, kind: StallKind, is_of: impl Fn(ProcessId) -> bool) -> Vec<u64> {
    let is_its = |stall: &&Stall| stall.kind == kind && is_of(process_of(facts, stall));
    facts.turns.stalls.iter().filter(is_its).map(Stall::duration_ns).collect()
}

fn process_of(facts: &Facts<'_>, stall: &Stall) -> ProcessId {
    facts.profile.thread(stall.thread).process
}

fn limited(facts: &Facts<'_>) -> Option<Found> {
    let share = |times: &HostTimes| times.throttled_share().unwrap_or(0.0);
    let is_held = |(_, times): &&(ProcessId, HostTimes)| {
        let time = times.throttled_ns.map_or(1.0, |ns| part(ns, facts.duration_ns));
        share(times) >= THROTTLED_PERIODS && time >= THROTTLED_TIME
    };
    // Processes of one container share its limit and its counters: the worst one stands for all.
    let held = facts.host.iter().filter(is_held);
    let worst = held.max_by(|a, b| share(&a.1).total_cmp(&share(&b.1)));
    let lengths = lengths_ns(facts, StallKind::Throttled, |_| true);
    if worst.is_none() && !is_worth_reporting(&lengths, facts.duration_ns) {
        return None;
    }
    let stalls = &facts.turns.stalls;
    let in_stalls = stalls.iter().filter_map(|stall| stall.spent.map(|spent| spent.throttled_ns));
    let counted_ns = worst.and_then(|(_, times)| times.throttled_ns);
    let limits = facts.profile.processes().iter().map(|row| row.cpu_limit_millis);
    let only_limit = limits.flatten().next();
    let finding = CpuLimit {
        process: worst.map(|(process, _)| *process).filter(|_| facts.host.len() > 1),
        limit_millis: worst
            .map_or(only_limit, |(process, _)| facts.profile.process(*process).cpu_limit_millis),
        throttled_share: worst.and_then(|(_, times)| times.throttled_share()),
        stalls: lengths.len(),
        all_stalls: stalls.len(),
        longest_ns: lengths.into_iter().max().unwrap_or(0),
    };
    let lost_ns = counted_ns.map(|ns| ns.min(facts.duration_ns));
    Some(found(lost_ns.unwrap_or_else(|| sum_ns(in_stalls)), Finding::CpuLimit(finding)))
}

/// A process that waited for CPUs.
struct Waiting {
    process: ProcessId,
    /// The waiting of all its threads, where the kernel counted so much that it stands out.
    counted_ns: Option<u64>,
    /// What its loops lost.
    lost_ns: u64,
}

impl Waiting {
    /// None where it does not stand out, neither in all nor by its stalls.
    fn new(facts: &Facts<'_>, process: ProcessId, is_explained: bool) -> Option<Self> {
        let is_much = |times: &&HostTimes| {
            !is_explained
                && part(times.ready_ns, facts.duration_ns) >= READY_TIME
                && times.ready_ns as f64 >= times.run_ns as f64 * READY_OF_RUN
        };
        let times = facts.host.iter().find(|(id, _)| *id == process).map(|(_, times)| times);
        let counted_ns = times.filter(is_much).map(|times| times.ready_ns);
        let lengths = lengths_ns(facts, StallKind::Starved, |its| its == process);
        if counted_ns.is_none() && !is_worth_reporting(&lengths, facts.duration_ns) {
            return None;
        }
        let lost_ns = match counted_ns {
            Some(ns) => lost_by_loops(facts, process, ns),
            None => starved_ns(facts, process),
        };
        Some(Self { process, counted_ns, lost_ns })
    }
}

/// What the loops of a process lost while its threads together waited for so long: those of a pool wait without holding
/// up a loop.
fn lost_by_loops(facts: &Facts<'_>, process: ProcessId, counted_ns: u64) -> u64 {
    let is_its = |row: &&EventLoop| facts.profile.thread(row.thread).process == process;
    let loops = facts.turns.watched().filter(is_its);
    let waited: Vec<u64> = loops.map(|row| facts.waited_from_start_ns(row.thread)).collect();
    match waited.is_empty() {
        true => counted_ns.min(facts.duration_ns),
        false => sum_ns(waited.into_iter()),
    }
}

/// The waiting in stalls that were mostly that.
fn starved_ns(facts: &Facts<'_>, process: ProcessId) -> u64 {
    let is_its =
        |stall: &&Stall| stall.kind == StallKind::Starved && process_of(facts, stall) == process;
    let its = facts.turns.stalls.iter().filter(is_its);
    sum_ns(its.filter_map(|stall| stall.spent.map(|spent| spent.ready_ns)))
}

fn waited(facts: &Facts<'_>, is_explained: bool) -> Option<Found> {
    let ids = (0..facts.profile.processes().len()).map(ProcessId::from_index);
    let waiting: Vec<Waiting> =
        ids.filter_map(|id| Waiting::new(facts, id, is_explained)).collect();
    let counted_ns = waiting.iter().filter_map(|its| its.counted_ns).reduce(u64::saturating_add);
    let process = match waiting[..] {
        [] => return None,
        [ref only] => Some(only.process).filter(|_| facts.host.len() > 1),
        _ => None,
    };
    let is_its = |id: ProcessId| process.is_none_or(|process| process == id);
    let lengths = lengths_ns(facts, StallKind::Starved, is_its);
    let stalls = facts.turns.stalls.iter();
    // What was recorded waits for itself, too.
    let run_ns = sum_ns(facts.host.iter().map(|(_, times)| times.run_ns));
    let finding = CpuWait {
        process,
        waited_ns: counted_ns,
        by_others: !facts.host.is_empty() && part(run_ns, facts.duration_ns) < OWN_CORES,
        stalls: lengths.len(),
        all_stalls: stalls.filter(|stall| is_its(process_of(facts, stall))).count(),
        longest_ns: lengths.into_iter().max().unwrap_or(0),
    };
    Some(found(sum_ns(waiting.iter().map(|its| its.lost_ns)), Finding::CpuWait(finding)))
}
