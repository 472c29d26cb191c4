//! What must hold on Windows. There is no signal: Node offers a routine to other programs, its debug handler, which
//! opens the inspector and does nothing else. A process without it is not Node, and nothing is done to it.

use std::io;

use sys::processes::{DebugHandler, Process};

use crate::inspector_port::{Opening, Refusal};

/// A process that offers the routine.
#[derive(Debug)]
pub(super) struct Gate {
    handler: DebugHandler,
}

impl Gate {
    /// Looks for the routine.
    pub(super) fn new(process: &Process) -> Result<Self, Refusal> {
        let pid = process.pid();
        let found = DebugHandler::of(process).map_err(|error| refused(process, &error))?;
        let handler = found.ok_or(Refusal::NoDebugHandler(pid))?;
        Ok(Self { handler })
    }

    /// Node offers the routine once it can be run, at any time after that. Programs cannot listen to it.
    pub(super) fn check(&self, process: &Process, _: &Opening) -> Result<(), Refusal> {
        if process.has_ended() { Err(Refusal::Ended(process.pid())) } else { Ok(()) }
    }

    /// Runs the routine.
    pub(super) fn ask(&self, process: &Process) -> Result<(), Refusal> {
        self.handler.run().map_err(|error| refused(process, &error))
    }
}

fn refused(process: &Process, error: &io::Error) -> Refusal {
    let pid = process.pid();
    match error.kind() {
        _ if process.has_ended() => Refusal::Ended(pid),
        io::ErrorKind::PermissionDenied => Refusal::NotOurs(pid),
        _ => Refusal::NotAsked { pid, why: error.to_string() },
    }
}
