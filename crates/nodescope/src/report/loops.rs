//! Event loops and their stalls, as rows for programs and for the table.

use profile::{FunctionId, Profile, ThreadId};
use serde::Serialize;
use views::{EventLoop, HostTimes, Stall, Stop, SyncRun};

use super::file_of;

/// An event loop, watched or not.
#[derive(Debug, Serialize)]
pub(crate) struct LoopRow {
    #[serde(flatten)]
    pub(crate) whose: Whose,
    pub(crate) watched: bool,
    /// For how long its turns were watched.
    pub(crate) watched_s: f64,
    /// The part of that in which it was free to take work: it waited in its own poll.
    pub(crate) free: Option<f64>,
    /// Why it was not watched.
    pub(crate) problem: Option<String>,
}

/// The thread of a loop.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Whose {
    pub(crate) pid: Option<u32>,
    pub(crate) tid: Option<u32>,
    pub(crate) thread: String,
}

/// A function and where it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PlaceRow {
    pub(crate) function: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

/// One long turn of an event loop.
#[derive(Debug, Serialize)]
pub(crate) struct StallRow {
    pub(crate) start_s: f64,
    pub(crate) end_s: f64,
    pub(crate) duration_s: f64,
    #[serde(flatten)]
    pub(crate) whose: Whose,
    /// What most of it was: ran, gc, blocked, throttled, cpu-wait or unknown.
    pub(crate) kind: &'static str,
    pub(crate) run_s: Option<f64>,
    /// Waiting for a CPU.
    pub(crate) ready_s: Option<f64>,
    /// The part of that which the CPU limit caused.
    pub(crate) throttled_s: Option<f64>,
    pub(crate) blocked_s: Option<f64>,
    /// What it waited for, where it was mostly blocked.
    pub(crate) waited_for: Option<String>,
    /// The function of the application that caused most of it, or else of a package.
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// The function at the root of most of its stacks, where that is another one.
    pub(crate) entry: Option<PlaceRow>,
    /// How much of it the function caused, from 0 to 1.
    pub(crate) share: Option<f64>,
    /// The samples in it.
    pub(crate) samples: u64,
}

/// One synchronous run before a loop began.
#[derive(Debug, Serialize)]
pub(crate) struct RunRow {
    pub(crate) start_s: f64,
    pub(crate) duration_s: f64,
    #[serde(flatten)]
    pub(crate) whose: Whose,
    /// Whether the loop never began.
    pub(crate) whole: bool,
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

/// A time for which a process was stopped.
#[derive(Debug, Serialize)]
pub(crate) struct StopRow {
    pub(crate) start_s: f64,
    pub(crate) duration_s: f64,
    pub(crate) pid: Option<u32>,
}

/// What the kernel counted for a process.
#[derive(Debug, Serialize)]
pub(crate) struct HostRow {
    pub(crate) pid: Option<u32>,
    pub(crate) run_s: f64,
    /// All its threads together waited so long for a CPU.
    pub(crate) ready_s: f64,
    pub(crate) periods: Option<u64>,
    pub(crate) throttled_periods: Option<u64>,
    pub(crate) throttled_s: Option<f64>,
    pub(crate) cpu_pressure_s: Option<f64>,
    pub(crate) memory_pressure_s: Option<f64>,
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

pub(super) fn loop_row(profile: &Profile, row: &EventLoop) -> LoopRow {
    LoopRow {
        whose: whose(profile, row.thread),
        watched: row.is_watched,
        watched_s: seconds(row.watched_ns),
        free: row
            .polled_ns
            .filter(|_| row.watched_ns > 0)
            .map(|ns| views::share(ns, row.watched_ns)),
        problem: row.problem.some().map(|id| profile.text(id).to_owned()),
    }
}

pub(super) fn stall_row(profile: &Profile, stall: &Stall) -> StallRow {
    let spent =
        |value: fn(&views::Spent) -> u64| stall.spent.as_ref().map(|spent| seconds(value(spent)));
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
        waited_for: stall.wait.as_ref().map(views::Wait::text).filter(|text| !text.is_empty()),
        file: its.as_ref().and_then(|place| place.file.clone()),
        line: its.as_ref().and_then(|place| place.line),
        function: its.map(|place| place.function),
        entry: place_of(stall.culprit.map(|culprit| culprit.entry)),
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

pub(super) fn stop_row(profile: &Profile, stop: &Stop) -> StopRow {
    StopRow {
        start_s: seconds(stop.start_ns),
        duration_s: seconds(stop.end_ns.saturating_sub(stop.start_ns)),
        pid: whose(profile, stop.thread).pid,
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
