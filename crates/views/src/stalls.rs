//! How event loops turned. A stall is one turn of 50 ms or more: nothing else on that loop was served meanwhile. Each
//! says how it was spent and which function caused it, or why none is named. Work before a loop's first poll is no
//! stall, because nothing waits yet, and neither is the time for which a process was stopped.

mod busy;
mod culprit;
pub(crate) mod tables;
mod wait;

use profile::{FunctionId, MarkerKind, Profile, RowId, StringId, ThreadId};
use serde::Serialize;

use crate::Selection;
use crate::work::{Doings, Work};
pub(crate) use busy::busy_stretches;
pub use culprit::Culprit;
pub(crate) use culprit::{Culprits, path_of};
pub use wait::Wait;

/// A shorter turn delays nothing that people notice.
pub const SHORTEST_STALL_NS: u64 = 50_000_000;

/// One long turn of an event loop, as far as it is selected.
#[derive(Clone, Debug, PartialEq)]
pub struct Stall {
    /// The loop's thread.
    pub thread: ThreadId,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What most of it was.
    pub kind: StallKind,
    /// How it was spent, where that is known.
    pub spent: Option<Spent>,
    /// The function that caused it; none where the thread mostly waited for a CPU.
    pub culprit: Option<Culprit>,
    /// What it waited for, where it was mostly blocked.
    pub wait: Option<Wait>,
    /// The kind of work that most of it was.
    pub work: Work,
    /// The samples that show that, and all of those that were asked.
    pub work_samples: (u64, u64),
}

impl Stall {
    /// How long it took.
    pub fn duration_ns(&self) -> u64 {
        self.span().duration_ns()
    }

    /// When, and on which thread.
    pub fn span(&self) -> Span {
        Span { thread: self.thread, start_ns: self.start_ns, end_ns: self.end_ns }
    }
}

/// What most of a stall was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StallKind {
    /// It ran on a CPU.
    Ran,
    /// It ran, and more than half of its samples are of garbage collection.
    Collected,
    /// It was blocked in a call.
    Blocked,
    /// The CPU limit held it back.
    Throttled,
    /// It waited for a CPU, without a limit.
    Starved,
    /// The recording does not show it.
    Unknown,
}

impl StallKind {
    /// The word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Collected => "gc",
            Self::Blocked => "blocked",
            Self::Throttled => "throttled",
            Self::Starved => "cpu-wait",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a function can be the cause.
    fn accuses(self) -> bool {
        !matches!(self, Self::Throttled | Self::Starved)
    }
}

/// How the time of a turn was spent: run, ready and blocked add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// On a CPU.
    pub run_ns: u64,
    /// Ready to run, waiting for a CPU.
    pub ready_ns: u64,
    /// The part of `ready_ns` that the CPU limit caused.
    pub throttled_ns: u64,
    /// Neither.
    pub blocked_ns: u64,
}

impl Spent {
    /// The largest part decides; where the CPU limit caused at least half of the waiting, it caused the stall.
    fn kind(self) -> StallKind {
        let is_throttled = self.throttled_ns >= self.ready_ns.div_ceil(2);
        match self {
            Self { run_ns, ready_ns, blocked_ns, .. }
                if run_ns >= ready_ns && run_ns >= blocked_ns =>
            {
                StallKind::Ran
            }
            Self { ready_ns, blocked_ns, .. } if blocked_ns > ready_ns => StallKind::Blocked,
            _ if is_throttled => StallKind::Throttled,
            _ => StallKind::Starved,
        }
    }
}

/// A stretch of time on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The thread.
    pub thread: ThreadId,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

impl Span {
    /// How long it took.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// The longest first.
    pub(crate) fn sort(spans: &mut [Self]) {
        spans.sort_by_key(|span| (std::cmp::Reverse(span.duration_ns()), span.start_ns));
    }
}

/// An event loop of the recorded processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLoop {
    /// The thread that runs it.
    pub thread: ThreadId,
    /// Whether its turns were watched.
    pub is_watched: bool,
    /// For how long, as far as it is selected; 0 where that is not known.
    pub watched_ns: u64,
    /// For how long of that it waited in its own poll, where that is known: free to take work.
    pub polled_ns: Option<u64>,
    /// Why it was not watched; none where it was, or where the recording does not give it.
    pub problem: StringId,
    /// Whether the recording has the run before its first poll.
    pub is_from_start: bool,
    /// Whether it waits for work in its turns, too, as the workers of pools do: nothing shows for how long it was free.
    pub waits_in_turns: bool,
}

/// Modules that the first ones import, and what they await, are there after this long.
const START_NS: u64 = 10_000_000_000;

/// One synchronous run before a loop's first poll: modules are loaded, top-level code runs.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncRun {
    /// The loop's thread.
    pub thread: ThreadId,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Whether the loop never polled: a script that ran from its start to its end.
    pub is_all: bool,
    /// The function that caused most of it.
    pub culprit: Option<Culprit>,
}

/// What is known of the event loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turns {
    /// The loops, watched or not; empty where the recording knows none.
    pub loops: Vec<EventLoop>,
    /// The long turns, the longest first.
    pub stalls: Vec<Stall>,
    /// Synchronous runs before a loop began.
    pub runs: Vec<SyncRun>,
    /// Gaps in the recording, one for each time that a process was stopped, with one of its threads.
    pub stops: Vec<Span>,
}

impl Turns {
    /// The loops whose turns were watched: only of these does it mean anything that there is no stall.
    pub fn watched(&self) -> impl Iterator<Item = &EventLoop> {
        self.loops.iter().filter(|row| row.is_watched)
    }

    /// Until when samples of a loop may be of its start without being in a run of `runs`: other recorders do not record
    /// when a loop began, and ES modules are evaluated behind the first poll. What loads minutes later serves.
    pub(crate) fn may_start_until_ns(&self, thread: ThreadId) -> u64 {
        let Some(row) = self.watched().find(|row| row.thread == thread) else { return u64::MAX };
        let its = self.runs.iter().filter(|run| run.thread == thread);
        let run_end_ns = its.map(|run| run.end_ns).max().unwrap_or(0);
        if row.is_from_start { run_end_ns.saturating_add(START_NS) } else { 0 }
    }
}

/// The loops and long turns that the selection's range and threads show, clipped to them.
pub fn turns(profile: &Profile, selection: &Selection) -> Turns {
    turns_of(profile, selection, &Doings::new(profile))
}

/// The same, where it is known what each stack does.
pub(crate) fn turns_of(profile: &Profile, selection: &Selection, doings: &Doings) -> Turns {
    let clip = Clip::new(profile, selection);
    let culprits = Culprits::new(profile, doings, selection.logical);
    let is_old = profile.loops().is_empty() && profile.long_turns().is_empty();
    let mut turns = match is_old {
        true => of_markers(profile, &clip, &culprits),
        false => tables::turns(profile, &clip, &culprits),
    };
    turns.stalls.sort_by_key(|stall| (std::cmp::Reverse(stall.duration_ns()), stall.start_ns));
    turns
}

/// Which part of a recording is selected.
struct Clip {
    range: std::ops::Range<u64>,
    threads: Vec<bool>,
}

impl Clip {
    fn new(profile: &Profile, selection: &Selection) -> Self {
        let range = selection.range_ns.clone().unwrap_or(0..u64::MAX);
        Self { range, threads: selection.selected_threads(profile) }
    }

    /// The selected part of a span on a thread.
    fn span(&self, thread: ThreadId, start_ns: u64, end_ns: u64) -> Option<(u64, u64)> {
        let (start, end) = (start_ns.max(self.range.start), end_ns.min(self.range.end));
        (self.threads[thread.index()] && start < end).then_some((start, end))
    }
}

/// Recordings of before the tables were invented: the loop's counter stood still while it did not wait. Nothing is
/// known of how a turn was spent, and other loops than those with markers were not watched.
fn of_markers(profile: &Profile, clip: &Clip, culprits: &Culprits<'_>) -> Turns {
    let markers = profile.markers();
    let mut turns = Turns::default();
    for row in markers.ids().map(|id: RowId| markers.row(id)) {
        let span = clip.span(row.thread, row.start_ns, row.end_ns);
        let Some((start_ns, end_ns)) = span.filter(|_| row.kind == MarkerKind::LoopTurn) else {
            continue;
        };
        if turns.loops.iter().all(|known| known.thread != row.thread) {
            turns.loops.push(watched_by_markers(row.thread));
        }
        if row.text.some().is_none() && row.end_ns - row.start_ns >= SHORTEST_STALL_NS {
            turns.stalls.extend(culprits.stall(row.thread, start_ns, end_ns, None));
        }
    }
    if !turns.loops.is_empty() {
        tables::add_forgotten_loops(profile, clip, &mut turns.loops);
    }
    turns
}

fn watched_by_markers(thread: ThreadId) -> EventLoop {
    let (is_watched, is_from_start, waits_in_turns) = (true, false, false);
    let (watched_ns, polled_ns, problem) = (0, None, StringId::NONE);
    EventLoop { thread, is_watched, watched_ns, polled_ns, problem, is_from_start, waits_in_turns }
}

/// A function's id or none, for the keys of groups.
pub(crate) fn function_of(stall: &Stall) -> FunctionId {
    stall.culprit.as_ref().map_or(FunctionId::NONE, |culprit| culprit.function)
}
