//! Where a recording comes from and how good it is. Every importer fills what its input has and leaves the rest empty:
//! an empty field means "not known", never "none".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{StackId, ThreadId};

/// What is known of a recording as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// The format it was read from, as people call it: `perf script`, `folded stacks`.
    pub format: String,
    /// How the samples were taken: `perf events`, `inspector`; empty when the input does not have it.
    pub way_in: String,
    /// Start of the recording in nanoseconds since 1970, as decimal text because it does not fit a
    /// JavaScript number.
    pub start_unix_ns: Option<String>,
    /// The recording's own clock at time 0, in seconds: what `perf script` prints beside a sample.
    pub start_clock_s: Option<f64>,
    /// Which clock that is: `CLOCK_MONOTONIC`, `perf`, …
    pub clock: Option<String>,
    /// The time that the recording covers, where it is known better than from the first and last sample.
    pub duration_ns: u64,
    /// The time between two samples of a busy thread; the longest, where the rate changed.
    pub interval_ns: Option<u64>,
    /// The machine's name.
    pub host: Option<String>,
    /// Operating system and release.
    pub system: Option<String>,
    /// Node's version, where all processes share it; else see the processes.
    pub node_version: Option<String>,
    /// V8's version, likewise.
    pub v8_version: Option<String>,
    /// The command that was recorded, with the values of its arguments redacted.
    pub command: Option<String>,
    /// Whether lines were held against the files that they are shown with, where those were: a machine without these
    /// files knows no better.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lines_are_checked: bool,
    /// What could not be seen.
    pub losses: Losses,
    /// What recording cost the recorded processes, where that was measured.
    pub cost: Option<Cost>,
}

/// For how long recorded threads stood still because of the recorder: once when it began, a little whenever it fetched
/// what it had seen, and once when it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// The longest beginning, of all threads.
    pub start_ns: u64,
    /// The same in CPU time.
    pub start_cpu_ns: u64,
    /// The longest time that it took to list the functions of a thread.
    pub list_ns: u64,
    /// The same in CPU time.
    pub list_cpu_ns: u64,
    /// How often samples were handed over.
    pub windows: u64,
    /// The longest time that this took.
    pub window_ns: u64,
    /// The same in CPU time.
    pub window_cpu_ns: u64,
    /// The longest end, of all threads.
    pub end_ns: u64,
    /// The same in CPU time.
    pub end_cpu_ns: u64,
    /// The CPU time of all that together.
    pub total_cpu_ns: u64,
    /// The most memory that the samples of one thread took in its process before they were handed over, estimated.
    pub memory_bytes: u64,
}

impl Cost {
    /// Adds what another part of the recording cost.
    pub fn add(&mut self, other: &Self) {
        self.start_ns = self.start_ns.max(other.start_ns);
        self.start_cpu_ns = self.start_cpu_ns.max(other.start_cpu_ns);
        self.list_ns = self.list_ns.max(other.list_ns);
        self.list_cpu_ns = self.list_cpu_ns.max(other.list_cpu_ns);
        self.windows = self.windows.saturating_add(other.windows);
        self.window_ns = self.window_ns.max(other.window_ns);
        self.window_cpu_ns = self.window_cpu_ns.max(other.window_cpu_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.end_cpu_ns = self.end_cpu_ns.max(other.end_cpu_ns);
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
        self.total_cpu_ns = self.total_cpu_ns.saturating_add(other.total_cpu_ns);
    }
}

/// Why JavaScript has no name when perf found no map: a reason of [`Losses::unnamed`].
pub const WITHOUT_MAP: &str = "generated code without a perf map";

/// What a recording misses. A profile always shows how good it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Losses {
    /// Samples that the kernel had no room for.
    pub lost: u64,
    /// Times that the kernel throttled the sampling.
    pub throttled: u64,
    /// The CPU time that the processes used meanwhile, by the kernel's own account; `None` if unknown.
    pub cpu_ns: Option<u64>,
    /// CPU time spent in the kernel that this user may not sample.
    pub hidden_kernel_ns: u64,
    /// Frames in samples that have no name, by reason.
    pub unnamed: BTreeMap<String, u64>,
    /// Frames in samples, named or not.
    pub frames: u64,
    /// Lines or records of the input that were not understood.
    pub skipped: u64,
    /// Addresses of generated code that had several names in the course of time, where only the last is known.
    pub ambiguous: u64,
    /// Samples whose function may be another one, because the compiler had inlined it.
    pub inlined: Inlined,
    /// What is wrong with the input, a sentence each.
    pub damage: Vec<String>,
    /// What else people should know of it: why there are no names, a sentence each.
    pub notes: Vec<String>,
    /// Programs of the recorder's own that ended before they should: for a moment, samples had no names.
    pub helper_crashes: u64,
    /// Stacks that were deeper than the copy that was taken of them, and end in a frame that marks that.
    pub stacks_cut: u64,
    /// Samples of functions that run after an `await`, by how what awaits them is known.
    pub awaits: AwaitCounts,
    /// The last sample of the main lane, where the input ended inside it.
    pub unclosed: Option<Unclosed>,
}

/// Samples of functions that were inlined, where the profiler names the caller: V8's does, and gives the right line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inlined {
    /// Their function was found by its lines. How many there are is certain, when they ran is estimated.
    pub found: u64,
    /// The line is not the caller's own, or not its alone: the sample counts as the caller's.
    pub uncertain: u64,
    /// The script's text or its functions are not known: the sample counts as the caller's.
    pub unchecked: u64,
}

impl Inlined {
    /// Adds what another part of the recording has.
    pub fn add(&mut self, other: &Self) {
        self.found = self.found.saturating_add(other.found);
        self.uncertain = self.uncertain.saturating_add(other.uncertain);
        self.unchecked = self.unchecked.saturating_add(other.unchecked);
    }
}

/// Samples of functions that run after an `await`, by how what awaits them is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AwaitCounts {
    /// It was read from V8's memory.
    pub read: u64,
    /// It is what awaited the same function in other samples.
    pub inferred: u64,
    /// Not known: the function had ended before its memory was read.
    pub late: u64,
    /// Not known: what V8's memory held was not understood.
    pub unread: u64,
    /// Read, but there may be more callers than were followed.
    pub cut: u64,
}

impl AwaitCounts {
    /// Adds what another part of the recording has.
    pub fn add(&mut self, other: &Self) {
        self.read = self.read.saturating_add(other.read);
        self.inferred = self.inferred.saturating_add(other.inferred);
        self.late = self.late.saturating_add(other.late);
        self.unread = self.unread.saturating_add(other.unread);
        self.cut = self.cut.saturating_add(other.cut);
    }

    /// All samples after an `await`.
    pub fn total(&self) -> u64 {
        let parts = [self.read, self.inferred, self.late, self.unread, self.cut];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

/// A sample that nothing closes: it may lack callers. stackcollapse-perf.pl leaves it out, so folded output
/// has to know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unclosed {
    /// Its thread.
    pub thread: ThreadId,
    /// Its stack.
    pub stack: StackId,
    /// Its weight.
    pub weight: u64,
}

impl Losses {
    /// Frames without a name, whatever the reason.
    pub fn unnamed_total(&self) -> u64 {
        self.unnamed.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}
