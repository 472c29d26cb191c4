//! Live sessions: processes that run are sampled, watched and named while they do. Options and targets go in; rounds of
//! records, notes, losses, loop turns, waits and host counters come out. Nothing is printed here.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::*;
