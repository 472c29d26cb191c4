//! Ctrl-C and its relatives, as a flag: a recording ends, and what it has is kept.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
pub use unix::{catch_end, ignore_stop};
#[cfg(windows)]
pub use windows::{catch_end, ignore_stop};

static ENDED: AtomicBool = AtomicBool::new(false);

/// Whether one of them has come.
pub fn ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}
