//! What only Linux has: events, other processes' memory, file descriptors for processes, namespaces.

pub mod clock;
pub mod files;
pub mod network;
pub mod perf;
pub mod pidfd;
pub mod remote;
