//! Profile and Selection in; call trees, top lists, stalls, findings and the sentences of a report out. Pure functions:
//! nothing here reads, writes or changes a profile.
//!
//! For every view: a share is weight over the selected weight, with the count beside it. Trees
//! merge by function, not by frame. Selecting a category keeps samples by their stack's category; hiding one
//! removes its frames and gives their weight to the caller. Ranges are half-open.

mod compare;
mod delay;
mod entries;
mod findings;
mod gc;
mod gist;
mod host;
pub mod identity;
mod lens;
mod packages;
mod page_report;
pub mod palette;
mod pool;
mod recursion;
pub mod report;
mod selection;
pub mod shorten;
mod stalls;
pub mod text;
mod top;
mod tree;
mod weights;
mod work;

pub use compare::{Change, Compared, Comparison, Comparisons, Measure, compare, compare_all};
pub use delay::{LoopDelay, delays};
pub use entries::{
    ChosenEntries, Entries, EntryGroup, EntryKind, EntryPoint, EntryRow, entries, entry_rows,
};
pub use findings::{
    BadWorker, Busy, Called, Caller, Collected, CpuLimit, CpuWait, FEW_SAMPLES, Finding, Findings,
    Found, HotPackage, Rhythm, StallGroup, finding_ids, findings,
};
pub use gc::{Collection, Gc, LoopGc, Pause, gc};
pub use gist::{Figure, Gist, gist};
pub use host::{
    CoresBusy, HostTimes, busy, cores_busy, host_times, is_fast, selected_duration_ns,
    shortest_interval_ns,
};
pub use lens::{Beside, BoxName, Lens, box_name, lens_tree, opening_lens};
pub use packages::package_words;
pub use page_report::{PageEntries, PageEntry, PageReport, PageStall, page_report};
pub use pool::{PoolUse, PoolWork, pools};
pub use report::Report;
pub use selection::Selection;
pub use stalls::{
    Culprit, EventLoop, SHORTEST_STALL_NS, Span, Spent, Stall, StallKind, SyncRun, Turns, Wait,
    turns,
};
pub use top::{TopBy, TopKey, TopRow, lines_of, top};
pub use tree::{CallTree, Direction, Grouping, Label, Node, NodeId, call_tree};
pub use weights::{Entry, Weights, selected_rows, share, weigh, weigh_busy};
pub use work::Work;
