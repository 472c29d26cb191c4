//! What is said of a recording by the inspector: before a port is opened, before a long stop, and what it cost.

use std::time::Duration;

use crate::failure::warn;
use crate::text::duration;

/// What an open inspector means.
pub(crate) const WHO_CAN_ATTACH: &str =
    "every user who reaches its loopback interface can attach and run code as that process";

/// Nanoseconds of bytecode's bytes: what V8 needs to note all code when profiling begins (`make bench` measures it).
const NS_PER_BYTE: f64 = 40.0;
/// A stop that is felt.
const LONG_STOP_MS: f64 = 100.0;

/// Before a signal is sent.
pub(super) fn opening(pid: u32, time: Option<Duration>) {
    let time = time.map_or_else(|| "until it ends".to_owned(), |time| format!("for {}", written(time)));
    warn(&format!(
        "opening the inspector of process {pid} {time}: Node writes “Debugger listening …” into the application's log, and meanwhile {WHO_CAN_ATTACH}"
    ));
}

/// Before profiling begins, where that will take long.
pub(super) fn long_start(bytecode: f64) {
    let stop_ms = bytecode * NS_PER_BYTE / 1e6;
    if stop_ms >= LONG_STOP_MS {
        warn(&format!(
            "it has {:.1} MB of bytecode: when profiling begins, it will stand still for about {stop_ms:.0} ms",
            bytecode / 1e6
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
    warn(&format!(
        "port {port} of process {pid} is still open, and {WHO_CAN_ATTACH}. It closes by itself 15 s after the process runs again; if it is stopped: kill -CONT {pid}"
    ));
}

fn written(time: Duration) -> String {
    duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
