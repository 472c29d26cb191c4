//! Who we are.

/// The user that this program acts as; `None` where users have no numbers.
#[cfg(unix)]
pub fn effective() -> Option<u32> {
    // SAFETY: takes nothing, changes nothing and cannot fail.
    Some(unsafe { libc::geteuid() })
}

/// The user that this program acts as; `None` where users have no numbers.
#[cfg(not(unix))]
pub fn effective() -> Option<u32> {
    None
}
