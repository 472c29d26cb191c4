//! What must hold on macOS before a process is sent SIGUSR1. The system reports what the signal would do; whether a
//! handler is Node's or the program's own it does not report, so that has to come from the user.

use std::io;
use std::time::Duration;

use sys::processes::{Process, SignalFate};

use crate::elsewhere::is_node;
use crate::inspector_port::{Opening, Refusal};

/// A process whose program is called node.
#[derive(Debug)]
pub(super) struct Gate;

/// Node does not listen to signals in its first moments.
const YOUNGEST: Duration = Duration::from_secs(1);

impl Gate {
    /// Looks at the name of the program.
    pub(super) fn new(process: &Process) -> Result<Self, Refusal> {
        let pid = process.pid();
        match process.program() {
            Ok(program) if is_node(&program) => Ok(Self),
            Ok(_) => Err(Refusal::NotNode(pid)),
            Err(error) => Err(unseen(pid, &error)),
        }
    }

    /// Everything that can change. The last thing before the signal.
    pub(super) fn check(&self, process: &Process, opening: &Opening) -> Result<(), Refusal> {
        let pid = process.pid();
        let gone = |error: io::Error| unseen(pid, &error);
        process.may_signal().map_err(gone)?;
        if process.age().map_err(gone)? < YOUNGEST {
            return Err(Refusal::Young(pid));
        }
        if process.is_stopped().map_err(gone)? {
            return Err(Refusal::Stopped(pid));
        }
        match process.fate_of_usr1().map_err(gone)? {
            SignalFate::Deadly => Err(Refusal::Deadly(pid)),
            SignalFate::Ignored => Err(Refusal::Ignored(pid)),
            SignalFate::Caught if opening.has_no_listener => Ok(()),
            SignalFate::Caught => Err(Refusal::Unseen {
                pid,
                why: "macOS shows that a handler is there, not whose".to_owned(),
            }),
        }
    }

    /// Sends the signal.
    pub(super) fn ask(&self, process: &Process) -> Result<(), Refusal> {
        process.send_usr1().map_err(|error| unseen(process.pid(), &error))
    }
}

fn unseen(pid: u32, error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Refusal::NotOurs(pid),
        _ => Refusal::Ended(pid),
    }
}
