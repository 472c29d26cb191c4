//! The port of a process's inspector: finding one that is open, and opening one without harm. The caller connects to
//! the inspector and closes it again.

mod ask;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
mod refusal;

use std::time::Duration;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::InspectorPort;
#[cfg(target_os = "linux")]
pub use linux::InspectorPort;
pub use refusal::{Holder, Refusal};

#[cfg(target_os = "linux")]
pub(crate) use ask::USUAL_PORTS;

/// How an inspector port is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// How long to wait for the port.
    pub within: Duration,
    /// The user knows that the program has no SIGUSR1 listener of its own. Without this, a process of which that cannot
    /// be seen is left alone.
    pub has_no_listener: bool,
}

impl Opening {
    /// With a time limit, and nothing known of the program.
    pub fn within(within: Duration) -> Self {
        Self { within, has_no_listener: false }
    }
}
