//! Every system call that std lacks, and every unsafe block of nodescope. The other crates see only safe
//! functions and types that own what they opened.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
pub mod locks;
pub mod memory;
#[cfg(not(target_os = "linux"))]
pub mod processes;
pub mod signals;
pub mod users;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::files;
#[cfg(target_os = "linux")]
pub use linux::{clock, files, network, perf, pidfd, remote};
