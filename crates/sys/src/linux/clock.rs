//! Clocks that std hides.

/// Nanoseconds of CLOCK_MONOTONIC, on which the samples' times are.
pub fn monotonic_ns() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds since the machine started, sleep included: on this clock the kernel reports when a process started.
/// /proc/uptime has the same, but some containers have one of their own there.
pub fn boot_ns() -> u64 {
    nanoseconds(libc::CLOCK_BOOTTIME)
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure that it is given.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
