//! What the program does on other systems than Linux: nothing of its own.

use live::Job;

use crate::cli::SystemCommand;
use crate::failure::Failure;

/// Does the job that this program was started for: none is done here.
pub(crate) fn run_job(_: &Job) -> Result<(), Failure> {
    Err(Failure::failed("this job is for Linux"))
}

/// Runs a command, of which there is none.
pub(crate) fn run(command: &SystemCommand) -> Result<(), Failure> {
    match *command {}
}
