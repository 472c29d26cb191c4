//! Ctrl-C and similar signals, as a flag: a recording ends, and what it has is kept.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
pub use unix::{catch_end, ignore_stop};
#[cfg(windows)]
pub use windows::{catch_end, ignore_stop};

static ENDED: AtomicBool = AtomicBool::new(false);

/// Forgets those that have come: from now on the next one is caught.
pub fn catch_again() -> io::Result<()> {
    ENDED.store(false, Ordering::Relaxed);
    catch_end()
}

/// Whether one of them has come.
pub fn ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}
