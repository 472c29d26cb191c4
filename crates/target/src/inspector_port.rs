//! The port of a process's inspector: finding one that is open, and opening one without harm. The caller speaks to
//! the inspector and closes it again.

#[cfg(any(target_os = "linux", windows))]
mod ask;
#[cfg(not(any(target_os = "linux", windows)))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(windows, test))]
mod netstat;
mod refusal;
#[cfg(windows)]
mod windows;

use std::time::Duration;

#[cfg(not(any(target_os = "linux", windows)))]
pub use elsewhere::InspectorPort;
#[cfg(target_os = "linux")]
pub use linux::InspectorPort;
pub use refusal::{Holder, Refusal};
#[cfg(windows)]
pub use windows::InspectorPort;

#[cfg(target_os = "linux")]
pub(crate) use ask::USUAL_PORTS;

/// How an inspector port is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// How long to wait for the port.
    pub within: Duration,
    /// The user knows that the program has no SIGUSR1 listener of its own. Without this, a process whose memory does
    /// not tell is left alone.
    pub has_no_listener: bool,
}

impl Opening {
    /// With a time limit, and nothing known of the program.
    pub fn within(within: Duration) -> Self {
        Self { within, has_no_listener: false }
    }
}
