//! What the program does on other systems than Linux: nothing of its own.

use std::process::ExitCode;

use crate::cli::SystemCommand;
use crate::failure::Failure;

/// Runs what this program starts itself for: nothing.
pub(crate) fn run_own_program() -> Option<ExitCode> {
    None
}

/// Runs a command, of which there is none.
pub(crate) fn run(command: &SystemCommand) -> Result<(), Failure> {
    match *command {}
}
