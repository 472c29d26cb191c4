//! Profile and Selection in; call trees, top lists, stalls, findings and the sentences of a report out. Pure functions:
//! nothing here reads, writes or changes a profile.
//!
//! Said once, for every view: a share is weight over the selected weight, with the count beside it. Trees
//! merge by function, not by frame. Selecting a category keeps samples by their stack's category; hiding one
//! removes its frames and gives their weight to the caller. Ranges are half-open.

mod compare;
mod findings;
mod gc;
mod host;
pub mod identity;
pub mod palette;
mod recursion;
pub mod report;
mod said;
mod selection;
mod stalls;
pub mod text;
mod top;
mod tree;
mod weights;

pub use compare::{Change, Compared, Comparison, compare};
pub use findings::{
    CpuLimit, CpuWait, FEW_SAMPLES, Finding, Findings, Found, StallGroup, findings,
};
pub use gc::{Gc, LoopGc, gc};
pub use host::{CoresBusy, HostTimes, busy, cores_busy, host_times, selected_duration_ns};
pub use report::Report;
pub use said::{Said, SaidStall, said};
pub use selection::Selection;
pub use stalls::{
    Culprit, EventLoop, SHORTEST_STALL_NS, Spent, Stall, StallKind, Stop, SyncRun, Turns, Wait,
    busy_stretches, turns,
};
pub use top::{TopBy, TopKey, TopRow, top};
pub use tree::{CallTree, Direction, Grouping, Label, Node, NodeId, call_tree};
pub use weights::{Entry, Weights, selected_rows, share, weigh, weigh_busy};
