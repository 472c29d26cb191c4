//! The tables of a profile, as columns. Rows refer to each other by the ids of [`crate::ids`].

use serde::{Deserialize, Serialize};

use crate::category::{CallKind, Category, Role, Tier};
use crate::ids::{
    FrameId, FunctionId, ModuleId, PackageId, ProcessId, RowId, SourceId, StackId, StringId,
    ThreadId,
};

/// A script or source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    /// Path or URL.
    pub path: StringId,
    /// The generated file that a source map led here from.
    pub generated: SourceId,
    /// The text, where it was kept.
    pub text: StringId,
}

/// A binary, a shared library, a perf map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Module {
    /// The name as the recording gives it, mostly a path.
    pub name: StringId,
    /// The build id in hexadecimal.
    pub build_id: StringId,
}

/// A copy of an npm package: a folder that has a package.json. The same package may be there in several versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Package {
    /// Its name, scope included.
    pub name: StringId,
    /// Its version, where its package.json or its folder has it.
    pub version: StringId,
    /// Its folder.
    pub folder: StringId,
    /// Whether the user wrote it: its JavaScript is the application's.
    pub own: bool,
}

/// One package depends on another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct PackageUse {
    /// The package that depends on the other.
    pub by: PackageId,
    /// The package that is found where `by` looks for it.
    pub package: PackageId,
}

/// A process that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// The pid on the host; `None` where the recording has only thread ids.
    pub pid: Option<u32>,
    /// The pid inside its own namespace.
    pub inner_pid: Option<u32>,
    /// The name of its main thread, or a better one.
    pub name: StringId,
    /// The container or pod.
    pub container: StringId,
    /// Node's version in this process.
    pub node_version: StringId,
    /// The application's name: that of the package.json in its working folder.
    pub app: StringId,
    /// The command line, with the values of its arguments redacted.
    pub command: StringId,
    /// The working folder.
    pub folder: StringId,
    /// The TCP ports that it listens on.
    pub ports: Vec<u16>,
    /// The CPU limit of its cgroup or of the nearest ancestor that has the lowest one, in thousandths of a CPU.
    pub cpu_limit_millis: Option<u32>,
    /// The pid of the process that started it, on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_pid: Option<u32>,
}

/// A thread under one name: a changed name opens a new row in perf's recordings, and changes the row in our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Thread {
    /// The process it belongs to.
    pub process: ProcessId,
    /// The thread id.
    pub tid: Option<u32>,
    /// The thread's name (comm).
    pub name: StringId,
    /// What it is for.
    pub role: Role,
}

/// Declares a table as a struct of columns together with the struct of one row.
macro_rules! table {
    ($(#[$meta:meta])* $table:ident of $(#[$row_meta:meta])* $row:ident by $id:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$row_meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $row { $($(#[$field_meta])* pub $field: $type,)* }

        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $table { $($(#[$field_meta])* pub $field: Vec<$type>,)* }

        impl $table {
            /// How many rows there are.
            pub fn len(&self) -> usize {
                table!(@first self $($field)*)
            }

            /// Whether there is none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// One row.
            pub fn row(&self, id: $id) -> $row {
                $row { $($field: self.$field[id.index()],)* }
            }

            /// The id of each row.
            pub fn ids(&self) -> impl DoubleEndedIterator<Item = $id> + use<> {
                (0..self.len()).map($id::from_index)
            }

            pub(crate) fn push(&mut self, row: $row) -> $id {
                let id = $id::from_index(self.len());
                $(self.$field.push(row.$field);)*
                id
            }

            #[allow(dead_code, reason = "small tables grow by themselves")]
            pub(crate) fn reserve(&mut self, rows: usize) {
                $(self.$field.reserve(rows);)*
            }

            /// Adds all rows of another table.
            #[allow(dead_code, reason = "not every table is written in pieces")]
            pub(crate) fn append(&mut self, mut other: Self) {
                $(self.$field.append(&mut other.$field);)*
            }

            /// The rows from that one on.
            #[allow(dead_code, reason = "not every table is written in pieces")]
            pub(crate) fn tail(&self, from: usize) -> Self {
                Self { $($field: self.$field.get(from..).unwrap_or_default().to_vec(),)* }
            }

            /// Changes a row; one that does not exist stays so.
            #[allow(dead_code, reason = "few tables have rows that change")]
            pub(crate) fn set(&mut self, id: $id, row: $row) {
                $(if let Some(value) = self.$field.get_mut(id.index()) {
                    *value = row.$field;
                })*
            }

            pub(crate) fn columns_are_equally_long(&self) -> bool {
                $(self.$field.len() == self.len())&&*
            }
        }
    };
    (@first $self:ident $first:ident $($rest:ident)*) => { $self.$first.len() };
}

/// Stands for "no address": 0 and all ones do occur on broken stacks, a non-canonical address does not.
pub const NO_ADDRESS: u64 = 1 << 63;

table! {
    /// The functions.
    Functions of
    /// A function: what trees and top lists merge by.
    Function by FunctionId {
        /// Its name as people know it.
        name: StringId,
        /// The script or file that defines it.
        source: SourceId,
        /// The line of its definition, from 1; 0 when not known.
        line: u32,
        /// The column of its definition, from 1; 0 when not known.
        column: u32,
        /// The binary that holds it.
        module: ModuleId,
        /// The npm package it belongs to.
        package: StringId,
        /// The version of that package, where it is known.
        version: StringId,
    }
}

table! {
    /// The frames.
    Frames of
    /// A place in a function that was seen on a stack.
    Frame by FrameId {
        /// The function.
        function: FunctionId,
        /// The line that ran, from 1; 0 when not known.
        line: u32,
        /// The column that ran, from 1; 0 when not known.
        column: u32,
        /// The category of the code itself; a stack's category may differ, see [`Stack::category`].
        category: Category,
        /// How V8 ran it.
        tier: Tier,
        /// Whether the compiler put it inside its caller.
        inlined: bool,
        /// The address that was seen, or [`NO_ADDRESS`].
        address: u64,
        /// The text as the recording wrote it, so that folded output is equal to the letter.
        symbol: StringId,
    }
}

table! {
    /// The stacks: a forest in which a parent always stands before its children. Samples have stacks as they were.
    Stacks of
    /// A frame and the stack that called it.
    Stack by StackId {
        /// The caller's stack, or none at the root.
        parent: StackId,
        /// The frame on top.
        frame: FrameId,
        /// The category of time spent here: GC, compiler, regexp and idle are inherited from the caller.
        category: Category,
        /// How it came to be under its parent. Stacks as they were have calls only.
        call: CallKind,
        /// Of a stack that V8's queue of microtasks has begun: the same with the functions that wait for it as callers,
        /// where that is known. It stands before this row.
        logical: StackId,
    }
}

/// What the weights of a lane count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Samples: a weight of 3 is three samples.
    Count,
    /// Bytes.
    Bytes,
    /// Occurrences of the lane's event, such as cycles.
    Event,
}

/// One kind of measurement, with its samples sorted by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The event: `cpu-clock`, `page-faults`.
    pub name: StringId,
    /// What the weights count.
    pub unit: Unit,
    /// Whether the times mean anything.
    pub timed: bool,
    /// Whether a row is a sample that was really taken, so that noise can be recognised.
    pub counted: bool,
    /// The samples.
    pub samples: Samples,
}

impl Lane {
    /// How many samples a row stands for.
    pub fn samples_in_row(&self, row: usize) -> u64 {
        if self.unit == Unit::Count { self.samples.weight[row] } else { 1 }
    }
}

table! {
    /// The samples of a lane.
    Samples of
    /// A sample: which thread was where, when, and how much it stands for.
    Sample by RowId {
        /// Nanoseconds since the start of the recording.
        time_ns: u64,
        /// The thread.
        thread: ThreadId,
        /// The stack; [`StackId::NONE`] when it was empty.
        stack: StackId,
        /// How much the sample stands for, in the lane's unit.
        weight: u64,
    }
}

table! {
    /// Ticks on lines, without times (`positionTicks` of a .cpuprofile).
    LineTicks of
    /// Ticks on one line of the topmost function of a stack.
    LineTick by RowId {
        /// The stack.
        stack: StackId,
        /// The line, from 1.
        line: u32,
        /// How often it was seen.
        ticks: u32,
    }
}

/// What a marker marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
#[serde(rename_all = "kebab-case")]
pub enum MarkerKind {
    /// One turn of an event loop.
    LoopTurn,
    /// A pause for garbage collection.
    GcPause,
    /// The thread was off the CPU. Older files have such markers; reading moves them to [`OffCpuTimes`].
    OffCpu,
    /// The kernel throttled the sampling.
    Throttled,
}

impl MarkerKind {
    /// The kind of a byte column's entry.
    pub fn from_u8(byte: u8) -> Option<Self> {
        [Self::LoopTurn, Self::GcPause, Self::OffCpu, Self::Throttled]
            .get(usize::from(byte))
            .copied()
    }
}

table! {
    /// Spans and points on threads.
    Markers of
    /// A span, or a point when start and end are equal.
    Marker by RowId {
        /// What it marks.
        kind: MarkerKind,
        /// On which thread.
        thread: ThreadId,
        /// Its start, nanoseconds since the start of the recording.
        start_ns: u64,
        /// Its end.
        end_ns: u64,
        /// Anything more about it.
        text: StringId,
    }
}

/// Stands for "not known" in the columns of [`Loops`], [`LongTurns`] and [`Seconds`].
pub const UNKNOWN: u64 = u64::MAX;

/// The lane of sleeping stacks: what a thread waited in while a long turn of its event loop went on. The weight of a
/// sample is the time off the CPU that it stands for, in nanoseconds.
pub const WAITS_LANE: &str = "waits";

/// The lane of exact call counts.
pub const CALLS_LANE: &str = "calls";

table! {
    /// The event loops of the recorded processes, watched or not.
    Loops of
    /// An event loop, and for how long it was watched.
    Loop by RowId {
        /// The thread that runs it.
        thread: ThreadId,
        /// When the watch began.
        start_ns: u64,
        /// When it ended.
        end_ns: u64,
        /// For how long in that span the loop waited in its own poll, or [`UNKNOWN`].
        polled_ns: u64,
        /// How many turns it made in that span, or [`UNKNOWN`].
        turns: u64,
        /// Why it was not watched, a part of a sentence; [`StringId::NONE`] where it was.
        problem: StringId,
    }
}

/// What a row of [`LongTurns`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
#[serde(rename_all = "kebab-case")]
pub enum TurnKind {
    /// One turn of a loop that polls: a stall.
    Turn,
    /// Work before the loop's first poll: modules are loaded, top-level code runs. Not a stall: nothing waits yet.
    Startup,
    /// The process was stopped (SIGSTOP, a debugger, the cgroup's freezer): a gap in the recording.
    Stopped,
}

impl TurnKind {
    /// The kind of a byte column's entry.
    pub fn from_u8(byte: u8) -> Option<Self> {
        [Self::Turn, Self::Startup, Self::Stopped].get(usize::from(byte)).copied()
    }
}

table! {
    /// The turns of event loops that took 50 ms or more, and how that time was spent.
    LongTurns of
    /// A long turn. What was neither run nor ready was blocked, in what the samples of [`WAITS_LANE`] show.
    LongTurn by RowId {
        /// What it is.
        kind: TurnKind,
        /// The loop's thread.
        thread: ThreadId,
        /// Its start.
        start_ns: u64,
        /// Its end.
        end_ns: u64,
        /// The time that the thread ran, or [`UNKNOWN`].
        run_ns: u64,
        /// The time that it was ready to run and waited for a CPU (run delay), or [`UNKNOWN`].
        ready_ns: u64,
        /// The part of `ready_ns` in which the CPU limit held the thread back, or [`UNKNOWN`].
        throttled_ns: u64,
    }
}

table! {
    /// What the kernel counted for each process, about a second at a time.
    Seconds of
    /// One such piece of time. Every value is the difference to the piece before.
    Second by RowId {
        /// The process.
        process: ProcessId,
        /// Its start.
        start_ns: u64,
        /// Its end.
        end_ns: u64,
        /// The CPU time of all threads.
        run_ns: u64,
        /// The time that the threads were ready to run and waited for a CPU, added up.
        ready_ns: u64,
        /// Periods of the CPU limit that came to pass, in the cgroup that was throttled most, or [`UNKNOWN`].
        periods: u64,
        /// Those of them that were throttled, or [`UNKNOWN`].
        throttled_periods: u64,
        /// The time for which the limit held the cgroup back, or [`UNKNOWN`].
        throttled_ns: u64,
        /// The time in which some task of the cgroup (or of the machine) waited for a CPU, or [`UNKNOWN`].
        cpu_pressure_ns: u64,
        /// The time in which some task waited for memory, or [`UNKNOWN`].
        memory_pressure_ns: u64,
    }
}

table! {
    /// How long a request would have waited for an event loop, at moments that the recorder chose without looking at
    /// the loop first: about 30 in a second. Moments inside of [`LongTurns`] are left out, because those are known
    /// exactly.
    Delays of
    /// Moments of about a second that had the same delay.
    Delay by RowId {
        /// The loop's thread.
        thread: ThreadId,
        /// Start of the piece of time.
        start_ns: u64,
        /// Its end.
        end_ns: u64,
        /// How long the loop's turn still went on, in microseconds rounded to three binary digits; 0 where it polled.
        delay_us: u64,
        /// How many moments.
        moments: u32,
    }
}

table! {
    /// libuv's thread pools, about a second at a time. Every value is a sum over the looks.
    Pools of
    /// One such piece of time.
    Pool by RowId {
        /// The process.
        process: ProcessId,
        /// Its start.
        start_ns: u64,
        /// Its end.
        end_ns: u64,
        /// How many threads the pool has; 0 as long as nothing has used it.
        threads: u32,
        /// How often it was looked at.
        looks: u32,
        /// Threads that had a request.
        busy: u32,
        /// Looks at which a request waited because no thread was free for it.
        full: u32,
        /// The most requests that waited at one look.
        most_queued: u32,
        /// Requests that waited: file system calls.
        queued_fs: u32,
        /// Lookups of names and addresses, which may use half of the threads.
        queued_dns: u32,
        /// Work of node:crypto.
        queued_crypto: u32,
        /// Work of node:zlib.
        queued_zlib: u32,
        /// Work of native addons.
        queued_addon: u32,
        /// Anything else.
        queued_other: u32,
    }
}

table! {
    /// When threads were off the CPU, by their starts; whole microseconds, as files keep them.
    OffCpuTimes of
    /// One time off the CPU, or several short ones of one thread within a second.
    OffCpuTime by RowId {
        /// The thread.
        thread: ThreadId,
        /// Its start, nanoseconds since the start of the recording; of several the first one's.
        start_ns: u64,
        /// How long it took; of several the sum.
        length_ns: u64,
        /// How many times this row stands for.
        times: u32,
    }
}
