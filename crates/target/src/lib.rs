//! The Node processes of this machine: which they are, told by their ELF files and never by their names, what
//! they run, where, and by which ways this user gets in. Everything comes from a [`Proc`], so a made-up folder
//! serves as well as the kernel's. What belongs to others is hostile: every read is bounded. Nothing is sent to a
//! process and nothing in one is changed, but for a [`Door`] that somebody asks to be opened.

mod access;
mod binary;
mod command;
mod container;
mod door;
mod inspector;
mod limits;
mod list;
mod perf_map;
mod proc;
mod role;
mod status;
mod surroundings;

pub use access::{InspectorWay, READABLE, Way, Ways};
pub use container::Container;
pub use door::{Door, Holder, Opening, Refusal};
pub use limits::{Capability, Inside, Limits};
pub use list::{List, Places, Process, list};
pub use perf_map::PerfMap;
pub use proc::Proc;
pub use role::Role;
pub use surroundings::Surroundings;
