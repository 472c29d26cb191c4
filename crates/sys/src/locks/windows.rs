//! `LockFileEx` of one byte. Windows lets no other handle read or write what is locked, so the byte is one that no file
//! has: a recording opens while it is made.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;

/// `OVERLAPPED`.
#[repr(C)]
struct Overlapped {
    internal: usize,
    internal_high: usize,
    offset: u32,
    offset_high: u32,
    event: *mut c_void,
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LockFileEx(
        file: *mut c_void,
        flags: u32,
        reserved: u32,
        bytes_low: u32,
        bytes_high: u32,
        range: *mut Overlapped,
    ) -> i32;
}

const FAIL_IMMEDIATELY: u32 = 1;
const EXCLUSIVE: u32 = 2;
const ERROR_LOCK_VIOLATION: i32 = 33;
/// The upper half of where the byte is: offsets are positive numbers of 64 bits.
const FAR_BEHIND_THE_END: u32 = 0x7fff_ffff;

/// Takes the lock of a file if no other handle has it; returns whether it is ours now.
pub fn try_lock(file: &File) -> io::Result<bool> {
    let mut range = Overlapped {
        internal: 0,
        internal_high: 0,
        offset: 0,
        offset_high: FAR_BEHIND_THE_END,
        event: std::ptr::null_mut(),
    };
    let flags = EXCLUSIVE | FAIL_IMMEDIATELY;
    // SAFETY: the handle is lent to us for the call, which does not wait and keeps no pointer.
    let done = unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &raw mut range) };
    if done != 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(ERROR_LOCK_VIOLATION) => Ok(false),
        error => Err(error),
    }
}
