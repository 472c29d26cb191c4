//! What the program does on Linux alone.

use std::process::ExitCode;

use crate::cli::SystemCommand;
use crate::failure::Failure;
use crate::{doctor, dump, ps, record};

/// Runs what this program starts itself for, if it was started so.
pub(crate) fn run_own_program() -> Option<ExitCode> {
    if let Some(failure) = record::stand_in() {
        return Some(failure.report());
    }
    let result = record::read_names().or_else(dump::look_for_dump)?;
    Some(result.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS))
}

/// Runs a command.
pub(crate) fn run(command: &SystemCommand) -> Result<(), Failure> {
    match command {
        SystemCommand::Ps(arguments) => ps::run(arguments),
        SystemCommand::Dump(arguments) => dump::run(arguments),
        SystemCommand::Doctor(arguments) => doctor::run(arguments),
    }
}
