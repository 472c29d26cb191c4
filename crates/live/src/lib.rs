//! Live sessions: running processes are sampled, watched and named while they run. Options and targets go in, chunks of
//! our file come out: by perf events (`Session`, on Linux) and by Node's own profiler ([`inspected`]). Every prefix of
//! the chunks is a recording. Nothing is printed here.

pub mod inspected;
mod job;
#[cfg(target_os = "linux")]
mod linux;
mod message;
pub mod owners;
mod rate;
#[cfg(all(test, target_os = "linux"))]
#[path = "../../../tests/skip.rs"]
mod skip;

pub use job::Job;
#[cfg(target_os = "linux")]
pub use linux::*;
pub use message::{
    Batch, Depth, Hint, Incoming, LookOrder, Message, NamedFrame, RanScript, ReadOrder, Seen,
    SuspendedFunctions, WaitingChain,
};
pub use rate::{BASE_RATE, FAST_RATE};
