//! What this program does when it was started by itself: each job has its words here, and its work elsewhere.

use std::process::ExitCode;

use live::Job;

use crate::system;

/// Does the job that this program was started for, if it is one; how that ended.
pub(crate) fn run() -> Option<ExitCode> {
    let done = match Job::own()? {
        Job::CloseInspector => {
            live::inspected::close_inspector();
            Ok(())
        }
        job => system::run_job(&job),
    };
    Some(done.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS))
}
