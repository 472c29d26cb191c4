//! What is said of a recording by the inspector: before a port is opened, before a long stop, and what it cost.

use std::time::Duration;

use crate::failure::{alert, warn};
use crate::text::duration;

/// What an open inspector means.
pub(crate) const WHO_CAN_ATTACH: &str =
    "every user who reaches its loopback interface can attach and run code as that process";

/// What V8 needs when profiling begins: it looks through its whole heap for code. Measured with small programs, 20,000
/// functions and TypeScript's compiler: 12 ms at 4 MB, 50 ms at 29 MB, 110 ms at 80 MB. Then it looks for functions: 3 ms at
/// 4 MB, 8 ms at 30 MB, 24 to 36 ms at 120 MB.
const START_MS: f64 = 12.0;
const START_MS_PER_MB: f64 = 1.6;
/// A stop that is felt.
const LONG_STOP_MS: f64 = 100.0;

/// Before a signal is sent.
pub(super) fn opening(pid: u32, time: Option<Duration>) {
    let time = time.map_or_else(|| "until it ends".to_owned(), |time| format!("for {}", written(time)));
    warn(&format!(
        "opening the inspector of process {pid} {time}: Node writes “Debugger listening …” into the application's log, and meanwhile {WHO_CAN_ATTACH}"
    ));
}

/// Why a cluster's primary is not recorded.
#[cfg(target_os = "linux")]
pub(crate) fn primary(pid: u32, workers: usize) {
    let workers = if workers == 1 { "its worker".to_owned() } else { format!("its {workers} workers") };
    warn(&format!(
        "process {pid} is the primary of a cluster: recording {workers}, and not the primary itself, because opening its inspector would open theirs, too"
    ));
}

/// Before profiling begins, where that will take long.
pub(super) fn long_start(heap_bytes: f64) {
    let stop_ms = START_MS + START_MS_PER_MB * heap_bytes / 1e6;
    if stop_ms >= LONG_STOP_MS {
        warn(&format!(
            "its heap has {:.0} MB: when profiling begins, it will stand still for up to {stop_ms:.0} ms",
            heap_bytes / 1e6
        ));
    }
}

/// What is recorded, and how.
pub(super) fn start(whom: &str, frequency: u32, time: Option<Duration>, calls: bool) {
    let time = time.map_or_else(|| "until it ends".to_owned(), |time| format!("for {}", written(time)));
    let calls = if calls { ", counting calls, for which V8 optimises nothing" } else { "" };
    warn(&format!("recording {whom} {time}, {frequency} times a second, by the inspector{calls}"));
}

/// A port that could not be closed.
pub(super) fn still_open(pid: u32, port: u16) {
    alert(&format!(
        "port {port} of process {pid} is still open, and {WHO_CAN_ATTACH}. It closes by itself 15 s after the process runs again; if it is stopped: kill -CONT {pid}"
    ));
}

fn written(time: Duration) -> String {
    duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
