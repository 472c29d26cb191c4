//! Every system call that std lacks, and every unsafe block of nodescope. The rest of the house sees only safe
//! functions and types that own what they opened.

#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod files;
pub mod locks;
pub mod memory;
#[cfg(target_os = "linux")]
pub mod network;
#[cfg(target_os = "linux")]
pub mod perf;
#[cfg(target_os = "linux")]
pub mod pidfd;
#[cfg(target_os = "linux")]
pub mod remote;
pub mod signals;
pub mod users;
