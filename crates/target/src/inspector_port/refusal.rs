//! Why an inspector port stays closed. One sentence each, and what to do instead.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

use std::io;
use std::time::Duration;

#[cfg(not(target_os = "linux"))]
use elsewhere as here;
#[cfg(target_os = "linux")]
use linux as here;

/// Why the inspector of a process is out of reach. Unless [`Refusal::was_signalled`], the process is as it was.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Zero, or a number that would mean a group or every process.
    #[error("{0} is not the id of a process")]
    NoProcess(u32),
    /// Ourselves.
    #[error("process {0} is nodescope itself")]
    Ourselves(u32),
    /// It is not there any more.
    #[error("process {0} has ended")]
    Ended(u32),
    /// Another program.
    #[error("process {0} is not Node, and SIGUSR1 would kill most other programs")]
    NotNode(u32),
    /// Node on Windows offers a routine that opens its inspector; this process does not.
    #[error(
        "process {0} has no debug handler: it is not Node, or it was started with --disable-sigusr1"
    )]
    NoDebugHandler(u32),
    /// This user may not look.
    #[error(
        "you may not inspect process {0}, so nodescope cannot tell whether the signal that opens its inspector would kill it"
    )]
    Hidden(u32),
    /// This user may not signal it.
    #[error("process {0} belongs to another user and may not be signalled")]
    NotOurs(u32),
    /// The kernel has no way to name a process for certain.
    #[error(
        "the system gives no handle of process {pid}, so a signal could reach another process: {error}"
    )]
    NoHandle {
        /// The process.
        pid: u32,
        /// The kernel's error.
        error: io::Error,
    },
    /// Node does not listen to signals in its first moments.
    #[error("process {0} has only just started, and SIGUSR1 could kill it")]
    Young(u32),
    /// No thread of it runs that could open anything.
    #[error("process {0} is stopped, as by SIGSTOP or a debugger, and cannot open its inspector")]
    Stopped(u32),
    /// Nothing would catch the signal.
    #[error(
        "SIGUSR1 would kill process {0}: it does not catch it, as when a listener was installed and removed"
    )]
    Deadly(u32),
    /// The signal would get lost.
    #[error("process {0} ignores SIGUSR1, so its inspector cannot be opened")]
    Ignored(u32),
    /// The signal would wait for ever.
    #[error(
        "process {0} blocks SIGUSR1, as with --disable-sigusr1, so its inspector cannot be opened"
    )]
    Blocked(u32),
    /// The permission model is in the way.
    #[error(
        "process {0} runs with --permission and without --allow-inspector, so its inspector stays closed"
    )]
    Confined(u32),
    /// The program would take the signal for its own.
    #[error(
        "process {0} has a SIGUSR1 listener of its own: that would run, and no inspector would open"
    )]
    OwnListener(u32),
    /// Node's cluster passes the signal on, to processes that were not looked at.
    #[error(
        "process {0} is the primary of a cluster: it would signal its workers in turn, and could kill them"
    )]
    Primary(u32),
    /// It cannot be seen whether the program listens to the signal.
    #[error("it cannot be seen whether process {pid} has a SIGUSR1 listener of its own: {why}")]
    Unseen {
        /// The process.
        pid: u32,
        /// What is in the way.
        why: String,
    },
    /// Something else listens where the inspector would.
    #[error("port {port}, where the inspector of process {pid} would listen, is taken by {holder}")]
    PortTaken {
        /// The process.
        pid: u32,
        /// The port.
        port: u16,
        /// What has it.
        holder: Holder,
        /// Whether that turned out only after the signal.
        was_signalled: bool,
    },
    /// The port could be opened, but not used.
    #[error("the network of process {pid} cannot be reached: {error}")]
    Unreachable {
        /// The process.
        pid: u32,
        /// The kernel's error.
        error: io::Error,
    },
    /// Nothing here could pass the question on.
    #[error("process {pid} could not be asked to open its inspector: {why}")]
    NotAsked {
        /// The process.
        pid: u32,
        /// What is missing.
        why: String,
    },
    /// The signal was sent, and no port came.
    #[error(
        "process {pid} has not opened its inspector within {:.1} s: it may be deep in one long native call. What was \
         asked of it cannot be taken back, so port {port} may still open later",
        within.as_secs_f64()
    )]
    TimeLimit {
        /// The process.
        pid: u32,
        /// Where it was expected.
        port: u16,
        /// How long we waited.
        within: Duration,
    },
    /// The signal was sent, and then the process was gone.
    #[error("process {0} ended after it was asked to open its inspector")]
    EndedAfterSignal(u32),
}

/// What has a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Holder {
    /// The program itself listens there, and it is no inspector.
    #[error("its own server")]
    Itself,
    /// Another process.
    #[error("process {pid} ({name})")]
    Process {
        /// Its pid.
        pid: u32,
        /// What it is called.
        name: String,
        /// Whether it has the same parent, or is the parent: they are one cluster.
        is_related: bool,
    },
    /// A process that this user may not see.
    #[error("another process")]
    Unknown,
}

impl Refusal {
    /// What to do instead. `nodescope` is what the user types to run it.
    pub fn hint(&self, nodescope: &str) -> Option<String> {
        here::hint(self, nodescope)
    }

    /// Whether the process got a signal before this came about.
    pub fn was_signalled(&self) -> bool {
        match self {
            Self::TimeLimit { .. } | Self::EndedAfterSignal(_) => true,
            Self::PortTaken { was_signalled, .. } => *was_signalled,
            _ => false,
        }
    }
}
