//! Groups of processes on Windows.

use std::os::windows::process::CommandExt;
use std::process::Command;

const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;

/// Keeps Ctrl-C from the program that the command starts.
pub(super) fn start_in_own_group(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}
