//! Locks of whole files: they end with the file's last descriptor, so a program that was killed leaves none.

use std::fs::File;
use std::io;

/// Takes the lock of a file if no other program has it; says whether it is ours now.
#[cfg(unix)]
pub fn try_lock(file: &File) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is lent to us for the call, which does not wait.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        error => Err(error),
    }
}

/// Files have no such locks here.
#[cfg(not(unix))]
pub fn try_lock(_: &File) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}
