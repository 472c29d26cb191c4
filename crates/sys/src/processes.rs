//! Other processes, on systems that show them by calls and not by files: which there are, what started them, and where
//! they listen. Linux has /proc.

#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

use std::net::SocketAddr;

#[cfg(target_os = "macos")]
pub use macos::{Process, SignalFate, list, listeners, listeners_for};
#[cfg(windows)]
pub use windows::{DebugHandler, Process, list, listeners, listeners_for};

/// A process, as the system lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its pid.
    pub pid: u32,
    /// The pid of the process that started it, which may have ended.
    pub parent_pid: u32,
    /// The file name of its program.
    pub program: String,
}

/// A socket that waits for connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Whose it is. Wine does not report it.
    pub pid: Option<u32>,
    /// Where it listens.
    pub address: SocketAddr,
}
