//! The rows of a report, with the names that programs read.

use profile::{Category, FunctionId};
use serde::Serialize;

use super::{
    CallsRow, FindingRow, HostRow, InlinedRow, LoopRow, PoolRow, RunRow, StallRow, StopRow, Whose,
};
use crate::entries::EntryGroup;
use crate::identity::ProcessRow;
use crate::shorten::Folders;
use crate::stalls::Turns;
use crate::work::Doings;

/// Everything that a report says. Shares are from 0 to 1.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The version of docs/report.schema.json.
    pub schema_version: u32,
    /// Which format the recording has.
    pub format: String,
    /// Selected samples.
    pub samples: u64,
    /// Whether they are too few for a share to mean anything.
    pub too_few_samples: bool,
    /// How many CPUs were busy on average.
    pub cores_busy: Option<f64>,
    /// Whether the kernel counted that; otherwise it comes from the samples.
    pub cores_busy_counted: bool,
    /// The time that the recording covers, or the selected range.
    pub duration_s: f64,
    /// The selected weight, in `unit`.
    pub weight: u64,
    /// What weights are in.
    pub unit: &'static str,
    /// The event that is shown.
    pub event: String,
    /// All events.
    pub events: Vec<EventRow>,
    /// The time from one sample of a busy thread to the next; the longest, where the rate changed.
    pub interval_s: Option<f64>,
    /// The shortest.
    pub shortest_interval_s: Option<f64>,
    /// The start, by the recorder's own clock.
    pub start_clock_s: Option<f64>,
    /// The machine.
    pub host: Option<String>,
    /// The command line.
    pub command: Option<String>,
    /// The processes: what the recording is about first, launchers such as npm last.
    pub processes: Vec<ProcessRow>,
    /// The version of its Node.
    pub node_version: Option<String>,
    /// The containers and pods of the processes.
    pub containers: Vec<String>,
    /// What stands out, the most costly first.
    pub findings: Vec<FindingRow>,
    /// Garbage collection.
    pub gc: GcRow,
    /// What the kernel counted for each process.
    pub host_times: Vec<HostRow>,
    /// How the thread pools were used.
    pub pools: Vec<PoolRow>,
    /// What is missing.
    pub losses: LossesRow,
    /// What recording cost the recorded processes, where that was measured.
    pub cost: Option<profile::Cost>,
    /// Functions by their own time.
    pub functions: Vec<FunctionRow>,
    /// The application's functions by what they caused: their own time and that of all they called.
    pub own_functions: Vec<FunctionRow>,
    /// npm packages by what they caused.
    pub packages: Vec<PackageRow>,
    /// Kinds of code.
    pub categories: Vec<NamedRow>,
    /// Scripts and binaries.
    pub files: Vec<NamedRow>,
    /// Lines of scripts.
    pub lines: Vec<LineRow>,
    /// Threads.
    pub threads: Vec<ThreadRow>,
    /// Whether the turns of any event loop were watched: without that, no stall means nothing.
    pub loops_watched: bool,
    /// What asked for the work: the kinds, and of each its functions.
    pub entries: Vec<EntryGroup>,
    /// Event loops, watched or not.
    pub loops: Vec<LoopRow>,
    /// All long turns, the longest first.
    pub stalls: Vec<StallRow>,
    /// Synchronous runs before a loop began.
    pub sync_runs: Vec<RunRow>,
    /// Gaps: the time for which a process was stopped.
    pub stops: Vec<StopRow>,
    /// Exact counts, where calls were counted.
    pub calls: Vec<CallsRow>,
    /// Whether samples were really counted; folded stacks may hold anything.
    #[serde(skip)]
    pub counted: bool,
    /// Which process it is about, and when, in parts.
    #[serde(skip)]
    pub headline: Vec<String>,
    /// Its process, or how many there are: a part of the headline.
    #[serde(skip)]
    pub which_processes: Option<String>,
    /// Sentences about loops before the findings.
    #[serde(skip)]
    pub loop_notes: Vec<String>,
    /// Sentences behind the findings.
    #[serde(skip)]
    pub closing: Vec<String>,
    /// The functions that the sentences name, and how.
    #[serde(skip)]
    pub mentions: Vec<Mention>,
    /// The loops and their long turns.
    #[serde(skip)]
    pub turns: Turns,
    /// What each stack does, and its entry.
    #[serde(skip)]
    pub(crate) doings: Doings,
    /// The folders whose paths are shortened to start there.
    #[serde(skip)]
    pub folders: Folders,
    /// Whether nodescope recorded it.
    #[serde(skip)]
    pub is_ours: bool,
    /// Whether it was sampled at a high rate already.
    #[serde(skip)]
    pub is_fast: bool,
    /// Whether this is a part of the recording.
    #[serde(skip)]
    pub is_part: bool,
}

/// Garbage collection, as shares from 0 to 1.
#[derive(Debug, Default, Serialize)]
pub struct GcRow {
    /// Event loops, watched or not.
    pub loops: Vec<LoopGcRow>,
    /// The part of all CPU time that other threads spent on it.
    pub helpers: f64,
    /// The part of all CPU time that any thread spent on it.
    pub all: f64,
}

/// Garbage collection on the thread of a loop.
#[derive(Debug, Serialize)]
pub struct LoopGcRow {
    /// The thread.
    #[serde(flatten)]
    pub whose: Whose,
    /// The part of the time that went by: what the loop lost.
    pub of_time: Option<f64>,
    /// The part of the thread's CPU time.
    pub of_cpu: f64,
    /// All samples of the thread.
    #[serde(skip)]
    pub samples: u64,
}

/// An event, and how often it was sampled.
#[derive(Debug, Serialize)]
pub struct EventRow {
    /// The name.
    pub name: String,
    /// Samples.
    pub samples: u64,
}

/// What is missing in the recording.
#[derive(Debug, Default, Serialize)]
pub struct LossesRow {
    /// Samples that were lost.
    pub lost: u64,
    /// How often the kernel throttled sampling.
    pub throttled: u64,
    /// The CPU time that was used, by the kernel's own account.
    pub cpu_s: Option<f64>,
    /// The part of it that no sample stands for, though it could have been sampled.
    pub unsampled_s: f64,
    /// Time in the kernel that the recorder was not allowed to sample.
    pub hidden_kernel_s: f64,
    /// Frames of all samples.
    pub frames: u64,
    /// Those without a name.
    pub unnamed_frames: u64,
    /// The same, by reason.
    pub unnamed: std::collections::BTreeMap<String, u64>,
    /// Lines that were not understood.
    pub skipped_lines: u64,
    /// Addresses with more than one name.
    pub ambiguous_addresses: u64,
    /// Programs of nodescope's own that crashed while it recorded.
    pub helper_crashes: u64,
    /// Stacks that were deeper than the copy that was taken of them, and end in a frame that marks that.
    pub stacks_cut: u64,
    /// Samples of functions that run after an await, by how what awaits them is known.
    pub awaits: profile::AwaitCounts,
    /// What V8 had inlined.
    pub inlined: InlinedRow,
    /// What is wrong with the file.
    pub damage: Vec<String>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

/// Self and total, as shares and as numbers of samples.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Times {
    /// Of samples that ended there.
    #[serde(rename = "self")]
    pub self_share: f64,
    /// Of samples that have it anywhere on the stack.
    #[serde(rename = "total")]
    pub total_share: f64,
    /// Its own and that of all it called, up to the next frame of the same kind.
    #[serde(rename = "caused", skip_serializing_if = "Option::is_none")]
    pub caused_share: Option<f64>,
    /// Samples that ended there.
    pub self_samples: u64,
    /// Samples that have it on the stack.
    pub total_samples: u64,
}

/// A function and its shares.
#[derive(Debug, Serialize)]
pub struct FunctionRow {
    /// The function.
    #[serde(skip)]
    pub id: FunctionId,
    /// The name.
    pub name: String,
    /// The script or, for native code, the binary.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The column.
    pub column: Option<u32>,
    /// The npm package.
    pub package: Option<String>,
    /// The kind of code.
    pub category: Category,
    /// Its shares.
    #[serde(flatten)]
    pub times: Times,
}

/// An npm package in one version and its shares.
#[derive(Debug, Serialize)]
pub struct PackageRow {
    /// The name.
    pub name: String,
    /// The version, where it is known.
    pub version: Option<String>,
    /// Whether the user wrote it.
    pub own: bool,
    /// The packages that depend on it, each with its version, as far as they are in the recording.
    pub pulled_in_by: Vec<String>,
    /// The kind of code.
    pub category: Category,
    /// Its shares.
    #[serde(flatten)]
    pub times: Times,
}

/// A category or file and its shares.
#[derive(Debug, Serialize)]
pub struct NamedRow {
    /// The name.
    pub name: String,
    /// The kind of code.
    pub category: Category,
    /// Its shares.
    #[serde(flatten)]
    pub times: Times,
}

/// A line of a script and its shares.
#[derive(Debug, Serialize)]
pub struct LineRow {
    /// The script or binary.
    pub file: String,
    /// The line.
    pub line: u32,
    /// Its shares.
    #[serde(flatten)]
    pub times: Times,
}

/// A thread and its share.
#[derive(Debug, Serialize)]
pub struct ThreadRow {
    /// The name.
    pub name: String,
    /// Its process id.
    pub pid: Option<u32>,
    /// The thread id.
    pub tid: Option<u32>,
    /// What the thread is for.
    pub role: profile::Role,
    /// Its part of the weight.
    #[serde(rename = "self")]
    pub share: f64,
    /// Samples.
    pub samples: u64,
}

/// A sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// Its words.
    pub text: String,
    /// Whether it says that something is wrong or missing.
    pub is_caution: bool,
}

/// A function, in the words that sentences have for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mention {
    /// `deployStatus (server.js:2)`
    pub words: String,
    /// The function.
    pub function: FunctionId,
}
