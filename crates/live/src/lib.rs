//! Live sessions: processes that run are sampled, watched and named while they do. Options and targets go in. By perf
//! events, rounds of records, notes, losses, loop turns, waits and host counters come out; by Node's own profiler
//! ([`inspected`]), chunks of our file. Nothing is printed here.

pub mod inspected;
mod job;
#[cfg(target_os = "linux")]
mod linux;
mod message;
pub mod owners;

pub use job::Job;
#[cfg(target_os = "linux")]
pub use linux::*;
pub use message::{Batch, Depth, Hint, Incoming, LookOrder, Message, NamedFrame, RanScript, ReadOrder, Seen};
