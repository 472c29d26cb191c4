//! The Node processes of this machine: which they are, told by their ELF files and never by their names, what
//! they run, where, and by which ways this user gets in. Everything comes from a [`Proc`], so a made-up folder
//! serves as well as the kernel's. What belongs to others is hostile: every read is bounded. Nothing is sent to a
//! process and nothing in one is changed, but for a [`Door`] that somebody asks to be opened.

#[cfg(target_os = "linux")]
mod access;
#[cfg(target_os = "linux")]
mod binary;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod container;
mod door;
#[cfg(target_os = "linux")]
mod identity;
#[cfg(target_os = "linux")]
mod inspector;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod list;
#[cfg(target_os = "linux")]
mod loaded;
#[cfg(target_os = "linux")]
mod perf_map;
#[cfg(target_os = "linux")]
mod proc;
#[cfg(target_os = "linux")]
mod role;
#[cfg(target_os = "linux")]
mod status;
#[cfg(target_os = "linux")]
mod surroundings;

#[cfg(target_os = "linux")]
pub use access::{InspectorWay, Way, Ways};
#[cfg(target_os = "linux")]
pub use container::{Container, engine_version};
pub use door::{Door, Holder, Opening, Refusal};
#[cfg(target_os = "linux")]
pub use identity::app_of_folder;
#[cfg(target_os = "linux")]
pub use limits::{Capability, Inside, Limits};
#[cfg(target_os = "linux")]
pub use list::{List, Places, Process, list, other_program, title};
#[cfg(target_os = "linux")]
pub use loaded::load_bias;
#[cfg(target_os = "linux")]
pub use perf_map::PerfMap;
#[cfg(target_os = "linux")]
pub use proc::Proc;
#[cfg(target_os = "linux")]
pub use role::Role;
#[cfg(target_os = "linux")]
pub use surroundings::Surroundings;
