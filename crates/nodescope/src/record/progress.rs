//! A line that shows how far a recording is, on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crate::failure::is_quiet;
use crate::text::{duration, plural};

/// A line that shows how far it is, on a terminal.
pub(super) struct Progress {
    limit: Option<Duration>,
    shown: Option<u64>,
    is_terminal: bool,
}

impl Progress {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self { limit, shown: None, is_terminal: io::stderr().is_terminal() && !is_quiet() }
    }

    pub(super) fn show(&mut self, elapsed: Duration, samples: u64) {
        let seconds = elapsed.as_secs();
        if !self.is_terminal || self.shown == Some(seconds) {
            return;
        }
        self.shown = Some(seconds);
        let of = self
            .limit
            .map(|limit| format!(" of {}", duration(limit.as_nanos() as u64)))
            .unwrap_or_default();
        let _ = write!(
            io::stderr().lock(),
            "\r\u{1b}[K{seconds} s{of} · {} · Ctrl-C ends and keeps them",
            plural(samples, "sample")
        );
    }

    pub(super) fn clear(&self) {
        if self.is_terminal {
            clear_line();
        }
    }
}

/// Makes room for a sentence that is printed while a recording is made.
pub(super) fn clear_line() {
    if io::stderr().is_terminal() && !is_quiet() {
        let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
    }
}
