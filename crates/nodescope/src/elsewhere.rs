//! What the program does on other systems than Linux: nothing of its own.

use live::Job;

use crate::cli::SystemCommand;
use crate::failure::Failure;

/// Refuses a job that this program started itself for: all of them are for Linux.
pub(crate) fn run_job(_: &Job) -> Result<(), Failure> {
    Err(Failure::failed("this job is for Linux"))
}

/// Runs a command of this system: there is none.
pub(crate) fn run(command: &SystemCommand) -> Result<(), Failure> {
    match *command {}
}
