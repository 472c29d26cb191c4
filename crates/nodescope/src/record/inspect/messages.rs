//! The messages about a recording by the inspector: before a port is opened, before a long stop, and why it failed.

use std::time::Duration;

use inspector::Address;
use live::inspected::{Error, Start};
use target::Refusal;

use crate::cli::Rate;
use crate::failure::{Failure, alert, warn};
use crate::invoked;
use crate::text::duration;

/// What an open inspector means.
pub(crate) const WHO_CAN_ATTACH: &str =
    "every user who reaches its loopback interface can attach and run code as that process";

/// A stop that is felt.
const LONG_STOP_MS: f64 = 100.0;

/// Before a signal is sent.
pub(super) fn print_opening(pid: u32, time: Option<Duration>) {
    let time =
        time.map_or_else(|| "until it ends".to_owned(), |time| format!("for {}", written(time)));
    warn(&format!(
        "opening the inspector of process {pid} {time}: Node writes “Debugger listening …” into the application's \
         log, and meanwhile {WHO_CAN_ATTACH}"
    ));
}

/// Why a cluster's primary is not recorded.
#[cfg(target_os = "linux")]
pub(crate) fn print_primary(pid: u32, workers: usize) {
    let workers =
        if workers == 1 { "its worker".to_owned() } else { format!("its {workers} workers") };
    warn(&format!(
        "process {pid} is the primary of a cluster: recording {workers}, and not the primary itself, because opening \
         its inspector would open theirs, too"
    ));
}

/// What is recorded, and how; before that, that it will take long to begin.
pub(super) fn print_start(start: &Start<'_>, rate: Rate, calls: bool) {
    let Start { name, pid, time, heap_bytes, stop_ms } = *start;
    if stop_ms >= LONG_STOP_MS {
        warn(&format!(
            "its heap has {:.0} MB: when profiling begins, it will stand still for up to {stop_ms:.0} ms",
            heap_bytes / 1e6
        ));
    }
    let time =
        time.map_or_else(|| "until it ends".to_owned(), |time| format!("for {}", written(time)));
    let calls = if calls { ", counting calls, for which V8 optimises nothing" } else { "" };
    warn(&format!(
        "recording {name} (pid {pid}) {time}, {}, by the inspector{calls}",
        rate.words(false)
    ));
}

/// A port that is waited for, to close it.
pub(super) fn print_opens_late(pid: u32) {
    warn(&format!(
        "process {pid} has not opened its inspector yet; waiting for it, to close it again (Ctrl-C leaves that to the background)"
    ));
}

/// The end of a process while it was recorded.
pub(super) fn print_ended(name: &str, pid: u32) {
    warn(&format!("{name} (pid {pid}) has ended, or its inspector was closed"));
}

/// A port that could not be closed.
pub(super) fn print_still_open(pid: u32, port: u16) {
    alert(&format!(
        "port {port} of process {pid} is still open, and {WHO_CAN_ATTACH}. It closes by itself 15 s after the \
         process runs again; if it is stopped: kill -CONT {pid}"
    ));
}

fn written(time: Duration) -> String {
    duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Why something could not be recorded, and what to type next.
pub(super) fn failure(error: &Error) -> Failure {
    match error {
        Error::Refused(refusal) => refused(refusal),
        Error::Process { pid, error } => in_process(*pid, error),
        Error::Address { address, error } => at_address(address, error),
        Error::ProfilesItself { pid } => Failure::failed(format!(
            "process {pid} profiles itself (--cpu-prof, or NODE_V8_COVERAGE): Node would write all that nodescope asks for into its log"
        ))
        .hint("--via perf, or --force"),
        Error::Chunk(error) => Failure::failed(error.to_string()),
    }
}

fn refused(refusal: &Refusal) -> Failure {
    let failure = Failure::failed(refusal.to_string());
    match (refusal, refusal.hint(&invoked::name())) {
        (Refusal::Unseen { .. }, Some(hint)) => {
            failure.hint(format!("--no-sigusr1-listener; {hint}"))
        }
        (_, Some(hint)) => failure.hint(hint),
        (_, None) => failure,
    }
}

fn in_process(pid: u32, error: &inspector::Error) -> Failure {
    let failure = Failure::failed(error.to_string());
    match error {
        inspector::Error::NoAnswer(_) => failure.hint(format!(
            "if it is stopped: kill -CONT {pid}; if it computes, perf events see it: --via perf"
        )),
        _ => failure,
    }
}

fn at_address(address: &Address, error: &inspector::Error) -> Failure {
    let failure = Failure::failed(format!("{address}: {error}"));
    match error {
        inspector::Error::NoAnswer(_) => failure.hint("is it stopped, or at a breakpoint?"),
        inspector::Error::NotInspector(_) | inspector::Error::Io(_) => {
            failure.hint("node --inspect prints its address: --connect HOST:PORT")
        }
        _ => failure,
    }
}
