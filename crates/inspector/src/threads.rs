//! What a recording gives: threads, windows of samples, counts of calls, and what all that cost the target.

use crate::pace::memory_of;

/// A thread of the target that runs JavaScript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadInfo {
    /// The inspector's number of a worker; `None` is the main thread.
    pub worker: Option<u32>,
    /// `main`, or the worker's title.
    pub name: String,
}

/// Something that a recording gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Samples of a while.
    Window(Window),
    /// Where functions stand in their scripts.
    Functions(Functions),
    /// How often functions were called.
    Calls(Calls),
    /// What a change of windows took.
    Stall(Stall),
    /// A sentence about something that is missing.
    Loss(String),
}

/// Samples of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Whose.
    pub thread: ThreadInfo,
    /// V8's profile, as JSON.
    pub profile: String,
    /// What V8 had to keep for it in the target, estimated.
    pub memory_bytes: usize,
}

impl Window {
    pub(crate) fn new(thread: ThreadInfo, profile: &str) -> Self {
        Self { thread, profile: profile.to_owned(), memory_bytes: memory_of(profile) }
    }
}

/// The functions that one thread has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Functions {
    /// Whose.
    pub thread: ThreadInfo,
    /// V8's best-effort coverage, as JSON: the list of scripts.
    pub coverage: String,
}

/// Exact counts of calls in one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Whose.
    pub thread: ThreadInfo,
    /// V8's precise coverage, as JSON: the list of scripts.
    pub coverage: String,
}

/// When a thread stood still because of us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// Profiling began: V8 noted all code that there was.
    Start,
    /// V8 listed the functions that have run.
    List,
    /// A window ended after the next one had begun.
    #[default]
    Change,
    /// Profiling ended: V8 forgot all code again.
    End,
}

/// For how long a thread stood still because of us.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    /// When.
    pub moment: Moment,
    /// Until the new window was there.
    pub begin_ms: f64,
    /// The same in CPU time.
    pub begin_cpu_ms: f64,
    /// Until the old window was delivered.
    pub end_ms: f64,
    /// The same in CPU time.
    pub end_cpu_ms: f64,
    /// The CPU time that the whole process has used so far, where it was asked.
    pub process_cpu_ms: Option<f64>,
}

impl Stall {
    /// From what the target reports: three points in time, each also as CPU time, and the CPU time of the process. The
    /// kernel may count a thread's CPU time by its ticks of some milliseconds: no thread uses more than the time that
    /// passes.
    pub(crate) fn parse(text: &str, moment: Moment) -> Option<Self> {
        let times: Vec<f64> = text.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        let &[start, start_cpu, begun, begun_cpu, ended, ended_cpu, ..] = &times[..] else {
            return None;
        };
        let since = |later: f64, earlier: f64| (later - earlier).max(0.0);
        let (begin_ms, end_ms) = (since(begun, start), since(ended, begun));
        Some(Self {
            moment,
            begin_ms,
            begin_cpu_ms: since(begun_cpu, start_cpu).min(begin_ms),
            end_ms,
            end_cpu_ms: since(ended_cpu, begun_cpu).min(end_ms),
            process_cpu_ms: times.get(6).copied(),
        })
    }

    /// From the clocks before V8 listed functions and after it, each time and CPU time.
    pub(crate) fn of_list(before: &str, after: &str) -> Option<Self> {
        Self::parse(&format!("{before},{after},{after}"), Moment::List)
    }
}
