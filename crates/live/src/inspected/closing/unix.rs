//! Groups of processes on Unix.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Keeps Ctrl-C from the program that the command starts.
pub(super) fn start_in_own_group(command: &mut Command) {
    command.process_group(0);
}
