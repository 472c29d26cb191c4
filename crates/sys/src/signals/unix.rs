//! Signals of unix.

use std::io;
use std::sync::atomic::Ordering;

use super::ENDED;

extern "C" fn note(_: libc::c_int) {
    ENDED.store(true, Ordering::Relaxed);
}

/// From now on SIGINT, SIGTERM and SIGHUP only set a flag. A second one ends the program as usual.
pub fn catch_end() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler stores an atomic, which a signal may do at any time; the structure is whole.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESETHAND;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// From now on Ctrl-Z does nothing: a process waits for us, and would wait for as long as we are stopped.
pub fn ignore_stop() {
    // SAFETY: no handler is installed; the call cannot fail for a signal that may be ignored.
    unsafe { libc::signal(libc::SIGTSTP, libc::SIG_IGN) };
}
