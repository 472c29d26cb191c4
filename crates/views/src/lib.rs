//! Profile and Selection in; call trees and top lists out. Pure functions: nothing here reads, writes or
//! changes a profile.
//!
//! Said once, for every view: a share is weight over the selected weight, with the count beside it. Trees
//! merge by function, not by frame. Selecting a category keeps samples by their stack's category; hiding one
//! removes its frames and gives their weight to the caller. Ranges are half-open.

pub mod palette;
mod recursion;
mod selection;
mod stalls;
mod top;
mod tree;
mod weights;

pub use selection::Selection;
pub use stalls::{Stall, Turns, turns};
pub use top::{TopBy, TopKey, TopRow, top};
pub use tree::{CallTree, Direction, Grouping, Label, Node, NodeId, call_tree};
pub use weights::{Entry, Weights, selected_rows, share, weigh};
