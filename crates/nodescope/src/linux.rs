//! What the program does on Linux alone.

use std::io;

use live::Job;

use crate::cli::SystemCommand;
use crate::failure::Failure;
use crate::{advice, doctor, dump, ps, record, top};

/// Does a job that this program was started for by itself.
pub(crate) fn run_job(job: &Job) -> Result<(), Failure> {
    let done = |what: &str, result: io::Result<()>| {
        result.map_err(|error| Failure::failed(format!("{what}: {error}")))
    };
    match job {
        Job::ReadNames => done(
            "cannot read names",
            live::read_names(|pid| advice::unreadable(pid, &advice::limits())),
        ),
        Job::LookAtThreads => done("cannot look at threads", live::look_at_threads(dump::explain)),
        Job::StandIn(gate) => Err(record::stand_in(gate)),
        Job::CloseInspector => Ok(()),
    }
}

/// Runs a command.
pub(crate) fn run(command: &SystemCommand) -> Result<(), Failure> {
    match command {
        SystemCommand::Ps(arguments) => ps::run(arguments),
        SystemCommand::Top(arguments) => top::run(arguments),
        SystemCommand::Dump(arguments) => dump::run(arguments),
        SystemCommand::Doctor(arguments) => doctor::run(arguments),
    }
}
