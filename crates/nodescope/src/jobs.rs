//! What this program does when it was started by itself: each job has its words here, and its work elsewhere.

use std::process::ExitCode;

use live::Job;

use crate::failure::Failure;
use crate::record;

/// Does the job that this program was started for, if it is one; how that ended.
pub(crate) fn run() -> Option<ExitCode> {
    let done = match Job::own()? {
        Job::CloseInspector => {
            record::close_inspector();
            Ok(())
        }
        job => on_linux(&job),
    };
    Some(done.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS))
}

#[cfg(target_os = "linux")]
fn on_linux(job: &Job) -> Result<(), Failure> {
    use crate::{advice, dump};
    let done = |what: &str, result: std::io::Result<()>| {
        result.map_err(|error| Failure::failed(format!("{what}: {error}")))
    };
    match job {
        Job::ReadNames => {
            done("cannot read names", live::read_names(|pid| advice::unreadable(pid, &advice::limits())))
        }
        Job::LookAtThreads => done("cannot look at threads", live::look_at_threads(dump::explain)),
        Job::StandIn(gate) => Err(record::stand_in(gate)),
        Job::CloseInspector => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn on_linux(_: &Job) -> Result<(), Failure> {
    Err(Failure::failed("this job is for Linux"))
}
