//! The tables of a profile, as columns. Rows refer to each other by the ids of [`crate::ids`].

use serde::{Deserialize, Serialize};

use crate::category::{Category, Role, Tier};
use crate::ids::{FrameId, FunctionId, ModuleId, ProcessId, RowId, SourceId, StackId, StringId, ThreadId};

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

/// A process that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The stacks: a forest in which a parent always stands before its children.
    Stacks of
    /// A frame and the stack that called it.
    Stack by StackId {
        /// The caller's stack, or none at the root.
        parent: StackId,
        /// The frame on top.
        frame: FrameId,
        /// The category of time spent here: GC, compiler, regexp and idle are inherited from the caller.
        category: Category,
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
    /// Whether a row is a sample that was really taken, so that noise can be told.
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
    /// A sample: who was where, when, and how much it stands for.
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
    /// The thread left the CPU; the span lasts until it came back.
    OffCpu,
    /// The kernel throttled the sampling.
    Throttled,
}

impl MarkerKind {
    /// The kind of a byte column's entry.
    pub fn from_u8(byte: u8) -> Option<Self> {
        [Self::LoopTurn, Self::GcPause, Self::OffCpu, Self::Throttled].get(usize::from(byte)).copied()
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
        /// Anything more to say of it.
        text: StringId,
    }
}
