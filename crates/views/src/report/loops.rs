//! Event loops and their stalls, as rows for programs and for the table.

use profile::{FunctionId, Profile, ThreadId};
use serde::Serialize;

use super::file_of;
use super::findings::delay::figure;
use crate::{EntryKind, EventLoop, HostTimes, LoopDelay, PoolUse, PoolWork, Span, Stall, SyncRun};

/// An event loop, watched or not.
#[derive(Debug, Serialize)]
pub struct LoopRow {
    /// The thread.
    #[serde(flatten)]
    pub whose: Whose,
    /// Whether its turns were watched.
    pub watched: bool,
    /// For how long its turns were watched.
    pub watched_s: f64,
    /// The part of that in which it was free to take work: it waited in its own poll.
    pub free: Option<f64>,
    /// The other part: it was in a turn.
    pub utilisation: Option<f64>,
    /// Half of all requests that arrive at any moment wait no longer; null where it is only known that this is below 50 ms.
    pub delay_median_s: Option<f64>,
    /// 99 of 100 wait no longer; null as above.
    pub delay_p99_s: Option<f64>,
    /// The longest turn of 50 ms or more.
    pub delay_worst_s: Option<f64>,
    /// Why it was not watched.
    pub problem: Option<String>,
    /// Whether anything is known of what a request to it waited.
    #[serde(skip)]
    pub has_delays: bool,
}

impl LoopRow {
    /// What a request paid, in words: the median, at p99, and at worst. Nothing where that is not known.
    pub fn delays(&self) -> [String; 3] {
        let words = |seconds: Option<f64>| match self.has_delays {
            true => figure(seconds.map(|seconds| (seconds * 1e9).round() as u64)),
            false => String::new(),
        };
        [self.delay_median_s, self.delay_p99_s, self.delay_worst_s].map(words)
    }
}

/// The thread of a loop.
#[derive(Clone, Debug, Serialize)]
pub struct Whose {
    /// Its process id.
    pub pid: Option<u32>,
    /// The thread id.
    pub tid: Option<u32>,
    /// The thread's name.
    pub thread: String,
}

/// A function and where it is.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceRow {
    /// The function.
    pub function: String,
    /// The script or binary.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
}

/// One long turn of an event loop.
#[derive(Debug, Serialize)]
pub struct StallRow {
    /// When it began.
    pub start_s: f64,
    /// When it ended.
    pub end_s: f64,
    /// How long it took.
    pub duration_s: f64,
    /// The thread.
    #[serde(flatten)]
    pub whose: Whose,
    /// What most of it was: ran, gc, blocked, throttled, cpu-wait or unknown.
    pub kind: &'static str,
    /// The time on a CPU.
    pub run_s: Option<f64>,
    /// Waiting for a CPU.
    pub ready_s: Option<f64>,
    /// The part of that which the CPU limit caused.
    pub throttled_s: Option<f64>,
    /// The time blocked in a call.
    pub blocked_s: Option<f64>,
    /// What it waited for, where it was mostly blocked.
    pub waited_for: Option<String>,
    /// The function of the application that caused most of it, or else of a package.
    pub function: Option<String>,
    /// The script or binary.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The function at the root of most of its stacks, where that is another one.
    pub entry: Option<PlaceRow>,
    /// What called that: the kind of its entry.
    pub asked_by: Option<EntryKind>,
    /// How much of it the function caused, from 0 to 1.
    pub share: Option<f64>,
    /// The samples in it.
    pub samples: u64,
}

/// One synchronous run before a loop began.
#[derive(Debug, Serialize)]
pub struct RunRow {
    /// When it began.
    pub start_s: f64,
    /// How long it took.
    pub duration_s: f64,
    /// The thread.
    #[serde(flatten)]
    pub whose: Whose,
    /// Whether the loop never began.
    pub whole: bool,
    /// The function.
    pub function: Option<String>,
    /// The script or binary.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
}

/// A time for which a process was stopped.
#[derive(Debug, Serialize)]
pub struct StopRow {
    /// When it began.
    pub start_s: f64,
    /// How long it took.
    pub duration_s: f64,
    /// Its process id.
    pub pid: Option<u32>,
}

/// What the kernel counted for a process.
#[derive(Debug, Serialize)]
pub struct HostRow {
    /// Its process id.
    pub pid: Option<u32>,
    /// The time on a CPU.
    pub run_s: f64,
    /// All its threads together waited so long for a CPU.
    pub ready_s: f64,
    /// Periods of the CPU limit.
    pub periods: Option<u64>,
    /// Those that were throttled.
    pub throttled_periods: Option<u64>,
    /// For how long the limit held it back.
    pub throttled_s: Option<f64>,
    /// For how long some task waited for a CPU.
    pub cpu_pressure_s: Option<f64>,
    /// For how long some task waited for memory.
    pub memory_pressure_s: Option<f64>,
}

/// How libuv's thread pool of a process was used.
#[derive(Debug, Serialize)]
pub struct PoolRow {
    /// Its process id.
    pub pid: Option<u32>,
    /// The threads of the pool; 0 where nothing has used it.
    pub threads: u32,
    /// Those that had a request, on average.
    pub busy_threads: f64,
    /// The part of the time in which a request waited because no thread was free for it.
    pub full: f64,
    /// Requests that waited, on average.
    pub queued: f64,
    /// The most that waited at once; no more than 256 are counted.
    pub most_queued: u32,
    /// What waited, most first.
    pub work: Vec<PoolWorkRow>,
}

/// One kind of requests to a thread pool.
#[derive(Debug, Serialize)]
pub struct PoolWorkRow {
    /// fs, dns, crypto, zlib, addon or other.
    pub kind: &'static str,
    /// How many waited, on average.
    pub queued: f64,
}

impl StallRow {
    /// What most of it was, in words; empty where that is not known.
    pub fn mostly(&self) -> &str {
        match (self.kind, &self.waited_for) {
            ("ran", _) => "on the CPU",
            ("gc", _) => "garbage collection",
            ("blocked", Some(call)) => call,
            ("blocked", None) => "blocked",
            ("throttled", _) => "held back by the CPU limit",
            ("cpu-wait", _) => "waiting for a CPU",
            _ => "",
        }
    }
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

pub(super) fn whose(profile: &Profile, thread: ThreadId) -> Whose {
    let row = profile.thread(thread);
    let pid = profile.process(row.process).pid;
    Whose { pid, tid: row.tid, thread: profile.text(row.name).to_owned() }
}

pub(super) fn place(profile: &Profile, function: FunctionId) -> Option<PlaceRow> {
    let id = function.some()?;
    let row = profile.functions().row(id);
    Some(PlaceRow {
        function: profile.text(row.name).to_owned(),
        file: file_of(profile, id).map(str::to_owned),
        line: Some(row.line).filter(|line| *line > 0),
    })
}

pub(super) fn loop_row(profile: &Profile, row: &EventLoop, delay: Option<&LoopDelay>) -> LoopRow {
    let figure = |value: fn(&LoopDelay) -> Option<u64>| delay.and_then(value).map(seconds);
    LoopRow {
        utilisation: delay.and_then(|delay| delay.utilisation),
        delay_median_s: figure(|delay| delay.median_ns),
        delay_p99_s: figure(|delay| delay.p99_ns),
        delay_worst_s: figure(|delay| delay.worst_ns),
        whose: whose(profile, row.thread),
        watched: row.is_watched,
        watched_s: seconds(row.watched_ns),
        free: row
            .polled_ns
            .filter(|_| row.watched_ns > 0)
            .map(|ns| crate::share(ns, row.watched_ns)),
        problem: row.problem.some().map(|id| profile.text(id).to_owned()),
        has_delays: delay.is_some(),
    }
}

pub(super) fn stall_row(profile: &Profile, stall: &Stall) -> StallRow {
    let spent =
        |value: fn(&crate::Spent) -> u64| stall.spent.as_ref().map(|spent| seconds(value(spent)));
    let place_of = |id: Option<FunctionId>| id.and_then(|id| place(profile, id));
    let its = place_of(stall.culprit.map(|culprit| culprit.function));
    StallRow {
        start_s: seconds(stall.start_ns),
        end_s: seconds(stall.end_ns),
        duration_s: seconds(stall.duration_ns()),
        whose: whose(profile, stall.thread),
        kind: stall.kind.word(),
        run_s: spent(|spent| spent.run_ns),
        ready_s: spent(|spent| spent.ready_ns),
        throttled_s: spent(|spent| spent.throttled_ns),
        blocked_s: spent(|spent| spent.blocked_ns),
        waited_for: stall.wait.as_ref().map(crate::Wait::text).filter(|text| !text.is_empty()),
        file: its.as_ref().and_then(|place| place.file.clone()),
        line: its.as_ref().and_then(|place| place.line),
        function: its.map(|place| place.function),
        entry: place_of(stall.culprit.map(|culprit| culprit.entry)),
        asked_by: stall.culprit.map(|culprit| culprit.asked_by),
        share: stall.culprit.map(|culprit| culprit.share),
        samples: stall.culprit.map_or(0, |culprit| culprit.of_samples),
    }
}

pub(super) fn run_row(profile: &Profile, run: &SyncRun) -> RunRow {
    let its = run.culprit.and_then(|culprit| place(profile, culprit.function));
    RunRow {
        start_s: seconds(run.start_ns),
        duration_s: seconds(run.end_ns.saturating_sub(run.start_ns)),
        whose: whose(profile, run.thread),
        whole: run.is_all,
        file: its.as_ref().and_then(|place| place.file.clone()),
        line: its.as_ref().and_then(|place| place.line),
        function: its.map(|place| place.function),
    }
}

pub(super) fn stop_row(profile: &Profile, stop: &Span) -> StopRow {
    StopRow {
        start_s: seconds(stop.start_ns),
        duration_s: seconds(stop.end_ns.saturating_sub(stop.start_ns)),
        pid: whose(profile, stop.thread).pid,
    }
}

pub(super) fn pool_row(profile: &Profile, pool: &PoolUse) -> PoolRow {
    let work =
        |(work, queued): &(PoolWork, f64)| PoolWorkRow { kind: work.word(), queued: *queued };
    PoolRow {
        pid: profile.process(pool.process).pid,
        threads: pool.threads,
        busy_threads: pool.busy,
        full: pool.full,
        queued: pool.queued,
        most_queued: pool.most_queued,
        work: pool.work.iter().map(work).collect(),
    }
}

pub(super) fn host_row(
    profile: &Profile,
    process: profile::ProcessId,
    times: &HostTimes,
) -> HostRow {
    HostRow {
        pid: profile.process(process).pid,
        run_s: seconds(times.run_ns),
        ready_s: seconds(times.ready_ns),
        periods: times.periods,
        throttled_periods: times.throttled_periods,
        throttled_s: times.throttled_ns.map(seconds),
        cpu_pressure_s: times.cpu_pressure_ns.map(seconds),
        memory_pressure_s: times.memory_pressure_ns.map(seconds),
    }
}
