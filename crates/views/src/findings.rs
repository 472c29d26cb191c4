//! What stands out in a recording, in the order of the time that it cost. Each kind of finding is a row of `RULES` and
//! a file of its own with its rule, its thresholds and why; the words are the report's.
//!
//! The same time is reported once. A row sees what the rows before it found, so the more specific ones come first.

mod busy;
mod called;
mod collected;
mod facts;
mod groups;
mod limits;
mod loop_work;
mod packages;
mod pool;
mod workers;

use profile::{FunctionId, ProcessId, Profile, ThreadId};

use crate::delay::LoopDelay;
use crate::gc::Gc;
use crate::host::HostTimes;
use crate::pool::PoolUse;
use crate::selection::Selection;
use crate::stalls::{Span, Stall, StallKind, Turns};
use crate::work::Doings;
pub use busy::Busy;
pub use called::{Called, Caller};
pub use collected::Collected;
pub(crate) use facts::Facts;
pub use groups::{Rhythm, StallGroup};
pub use limits::{CpuLimit, CpuWait};
pub use packages::HotPackage;
pub use workers::BadWorker;

/// With fewer samples no share is worth reporting: one sample more or less changes it.
pub const FEW_SAMPLES: u64 = 30;

/// A kind of finding.
struct Rule {
    /// Its name for programs; never changed.
    id: &'static str,
    /// What of it stands out, given the facts and what the rows before it found.
    find: fn(&Facts<'_>, &[Found]) -> Vec<Found>,
}

/// Every kind of finding, the more specific first.
const RULES: &[Rule] = &[
    Rule { id: "cpu-limit", find: limits::cpu_limit },
    Rule { id: "cpu-wait", find: limits::cpu_wait },
    Rule { id: "memory-pressure", find: limits::memory_pressure },
    Rule { id: "gc", find: collected::find },
    Rule { id: "sync-child-process", find: called::children },
    Rule { id: "sync-files", find: called::files },
    Rule { id: "sync-crypto", find: called::crypto },
    Rule { id: "sync-compression", find: called::compression },
    Rule { id: "console-output", find: called::output },
    Rule { id: "regexp", find: called::regexp },
    Rule { id: "json", find: called::json },
    Rule { id: "deep-copy", find: called::copies },
    Rule { id: "module-loading", find: called::modules },
    Rule { id: "compiling", find: called::compiling },
    Rule { id: "stalls", find: groups::find },
    Rule { id: "hot-package", find: packages::find },
    Rule { id: "busy-loop", find: busy::find },
    Rule { id: "thread-pool", find: pool::find },
    Rule { id: "bad-worker", find: workers::find },
];

/// The names of all kinds of findings.
pub fn finding_ids() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.id)
}

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
    /// What requests paid at each loop, the worst first.
    pub delays: Vec<LoopDelay>,
    /// The thread pools.
    pub pools: Vec<PoolUse>,
}

/// Something that stands out, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The kind of finding.
    pub id: &'static str,
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
    /// A process waited for memory.
    MemoryPressure(Option<ProcessId>),
    /// Loops that stood still for garbage collection, or lost much to it.
    Gc(Collected),
    /// One kind of work on event loops.
    Called(Called),
    /// Similar stalls.
    Stalls(StallGroup),
    /// A package that costs much.
    Package(HotPackage),
    /// A loop that is busy with short turns.
    Busy(Busy),
    /// A thread pool in which requests wait.
    Pool(PoolUse),
    /// One of several processes that is much busier than the others.
    BadWorker(BadWorker),
}

impl Finding {
    /// The function that caused most of it.
    pub fn function(&self) -> FunctionId {
        match self {
            Self::Gc(gc) => gc.began.map_or(gc.allocator, |(function, _)| function),
            Self::Called(called) => {
                called.callers.first().map_or(FunctionId::NONE, |caller| caller.function)
            }
            Self::Stalls(group) => group.function,
            Self::Package(package) => package.function,
            Self::Busy(busy) => busy.function(),
            Self::BadWorker(worker) => worker
                .cause
                .as_ref()
                .map_or_else(|| worker.busy_with.function(), |cause| cause.finding.function()),
            Self::CpuLimit(_) | Self::CpuWait(_) | Self::MemoryPressure(_) | Self::Pool(_) => {
                FunctionId::NONE
            }
        }
    }

    /// The loops that it is about; empty where it is about processes.
    pub fn threads(&self) -> Vec<ThreadId> {
        match self {
            Self::Gc(gc) => gc.threads.clone(),
            Self::Called(called) => called.threads.clone(),
            Self::Stalls(group) => group.threads.clone(),
            Self::Package(package) => package.threads.clone(),
            Self::Busy(busy) => vec![busy.row.thread],
            Self::BadWorker(worker) => vec![worker.thread],
            Self::CpuLimit(_) | Self::CpuWait(_) | Self::MemoryPressure(_) | Self::Pool(_) => {
                Vec::new()
            }
        }
    }

    /// When loops stood still for it, the longest first; empty where no single time stands out.
    pub fn spans(&self, turns: &Turns) -> Vec<Span> {
        let of_kind = |kind: StallKind| {
            turns.stalls.iter().filter(|stall| stall.kind == kind).map(Stall::span).collect()
        };
        match self {
            Self::CpuLimit(_) => of_kind(StallKind::Throttled),
            Self::CpuWait(_) => of_kind(StallKind::Starved),
            Self::Gc(gc) => gc.spans.clone(),
            Self::Called(called) => {
                let mut spans: Vec<Span> =
                    called.stalls.iter().flat_map(|group| group.spans.iter().copied()).collect();
                Span::sort(&mut spans);
                spans
            }
            Self::Stalls(group) => group.spans.clone(),
            Self::BadWorker(worker) => {
                worker.cause.as_ref().map_or(Vec::new(), |cause| cause.finding.spans(turns))
            }
            Self::MemoryPressure(_) | Self::Package(_) | Self::Busy(_) | Self::Pool(_) => {
                Vec::new()
            }
        }
    }

    /// The process that it is about, where it is about one and not about its loops.
    pub fn process(&self) -> Option<ProcessId> {
        match self {
            Self::CpuLimit(limit) => limit.process,
            Self::CpuWait(wait) => wait.process,
            Self::MemoryPressure(process) => *process,
            Self::Pool(pool) => Some(pool.process),
            _ => None,
        }
    }

    /// The time of short turns that it covers on one loop: another finding must not report it again.
    fn short_turns_ns(&self, thread: ThreadId) -> u64 {
        let part = |threads: &[ThreadId], short_ns: u64| match threads.contains(&thread) {
            true => short_ns / threads.len().max(1) as u64,
            false => 0,
        };
        match self {
            Self::Gc(gc) => part(&gc.threads, gc.short_ns),
            Self::Called(called) => part(&called.threads, called.short_ns),
            Self::Package(package) => part(&package.threads, package.weight),
            _ => 0,
        }
    }
}

/// Everything that stands out in the selection.
pub fn findings(profile: &Profile, selection: &Selection) -> Findings {
    findings_of(profile, selection, &Doings::new(profile))
}

/// The same, where it is known what each stack does.
pub(crate) fn findings_of(profile: &Profile, selection: &Selection, doings: &Doings) -> Findings {
    let facts = Facts::new(profile, selection, doings);
    let mut list: Vec<Found> = Vec::new();
    for rule in RULES {
        let new = (rule.find)(&facts, &list);
        list.extend(new.into_iter().map(|found| Found { id: rule.id, ..found }));
    }
    list.sort_by_key(|found| std::cmp::Reverse(found.lost_ns));
    busy::follow_causes(&mut list);
    workers::take_causes(&mut list);
    limits::leave_to_pools(&mut list);
    limits::lead(&mut list, &facts);
    let Facts { turns, host, gc, delays, pools, .. } = facts;
    Findings { list, turns, host, gc, delays, pools }
}

/// A finding of the row that is being asked.
fn found(lost_ns: u64, finding: Finding) -> Found {
    Found { id: "", lost_ns, finding }
}

fn sum_ns(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

fn part(value_ns: u64, duration_ns: u64) -> f64 {
    crate::share(value_ns, duration_ns)
}

/// Delays of 100 ms are what people notice; three that are shorter are no accident, if they cost a hundredth of the
/// time. One turn of 60 ms in a minute is nothing to look at.
const LONG_NS: u64 = 100_000_000;
const SEVERAL: usize = 3;
const MUCH_TIME: f64 = 0.01;

/// Whether standing still so often and for so long stands out.
fn is_worth_reporting(lengths_ns: &[u64], duration_ns: u64) -> bool {
    let total_ns = sum_ns(lengths_ns.iter().copied());
    lengths_ns.iter().any(|length| *length >= LONG_NS)
        || lengths_ns.len() >= SEVERAL && part(total_ns, duration_ns) >= MUCH_TIME
}

/// The weight that so many samples surely stand for: it is larger with a chance of 95 %.
fn surely(weight: u64, samples: u64) -> u64 {
    const DEVIATIONS: f64 = 1.645;
    if samples < FEW_SAMPLES {
        return 0;
    }
    (weight as f64 * (1.0 - DEVIATIONS / (samples as f64).sqrt())) as u64
}
