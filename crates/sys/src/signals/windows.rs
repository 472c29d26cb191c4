//! What a console of Windows has for signals.

use std::io;
use std::sync::atomic::Ordering;

use super::ENDED;

/// Called on a thread of its own. True means that it was taken care of.
type Handler = unsafe extern "system" fn(u32) -> i32;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetConsoleCtrlHandler(handler: Option<Handler>, add: i32) -> i32;
}

extern "system" fn note(_: u32) -> i32 {
    // The second one ends the program as usual.
    let is_first = !ENDED.swap(true, Ordering::Relaxed);
    i32::from(is_first)
}

/// From now on Ctrl-C and Ctrl-Break only set a flag. A second one ends the program as usual.
pub fn catch_end() -> io::Result<()> {
    // SAFETY: the handler stores an atomic and returns, and stays for as long as the program runs.
    let done = unsafe { SetConsoleCtrlHandler(Some(note), 1) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// No key of a console of Windows stops a program.
pub fn ignore_stop() {}
