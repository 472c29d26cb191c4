//! The finished recording: who ran, which stacks were seen when, and how good the data is. One model for
//! every input and every output. Tables of columns, ids instead of pointers, immutable after
//! [`Builder::finish`]. Nothing here knows a foreign format; the only file that it reads and writes is our
//! own ([`file`]).

pub mod address;
mod budget;
mod builder;
pub mod category;
mod check;
pub mod classify;
pub mod file;
mod ids;
mod meta;
mod model;
mod originals;
mod packages;
mod redact;
mod strings;
mod tables;
mod texts;

pub use budget::Budget;
pub use builder::{Builder, DEEPEST_STACK, Joining, LaneInfo, is_far};
pub use category::{CallKind, Category, Role, Tier};
pub use check::CheckError;
pub use ids::{
    FrameId, FunctionId, LaneId, ModuleId, PackageId, ProcessId, RowId, SourceId, StackId,
    StringId, ThreadId,
};
pub use meta::{AwaitCounts, Cost, Inlined, Losses, Meta, Unclosed, WITHOUT_MAP};
pub use model::Profile;
pub use originals::{OriginalFrame, OriginalFunction, Originals};
pub use packages::{FoundPackage, FoundPackages, OwnNames};
pub use strings::Strings;
pub use tables::{
    CALLS_LANE, Delay, Delays, Frame, Frames, Function, Functions, Lane, LineTick, LineTicks,
    LongTurn, LongTurns, Loop, Loops, Marker, MarkerKind, Markers, Module, NO_ADDRESS, OffCpuTime,
    OffCpuTimes, Package, PackageUse, Pool, Pools, Process, Sample, Samples, Second, Seconds,
    Source, Stack, Stacks, Thread, TurnKind, UNKNOWN, Unit, WAITS_LANE,
};
