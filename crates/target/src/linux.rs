//! What Linux reports of its processes, in /proc and beside it: a file for each thing to find out.

pub(crate) mod access;
pub(crate) mod binary;
pub(crate) mod command;
mod container;
mod identity;
pub(crate) mod inspector;
mod limits;
mod list;
pub(crate) mod loaded;
mod perf_map;
pub(crate) mod proc;
pub(crate) mod role;
pub(crate) mod status;
mod surroundings;

pub use access::{InspectorWay, Way, Ways};
pub use container::{Container, engine_version};
pub use identity::app_of_folder;
pub use limits::{Capability, Inside, Limits};
pub use list::{List, Places, Process, list, other_program, title};
pub use loaded::load_bias;
pub use perf_map::PerfMap;
pub use proc::Proc;
pub use role::Role;
pub use surroundings::Surroundings;
