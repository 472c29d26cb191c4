//! `flock`, which other programs that read or write the file do not notice.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Takes the lock of a file if no other program has it; returns whether it is ours now.
pub fn try_lock(file: &File) -> io::Result<bool> {
    // SAFETY: the descriptor is lent to us for the call, which does not wait.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        error => Err(error),
    }
}
