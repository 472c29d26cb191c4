//! Why an inspector port stays closed. One sentence each, and what to do instead.

use std::io;
use std::time::Duration;

/// Why the inspector of a process is out of reach. Where [`Refusal::was_signalled`] does not say otherwise, the process
/// is as it was.
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
    /// This user may not look.
    #[error(
        "process {0} cannot be looked at by this user, so it is not known whether SIGUSR1 would kill it"
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
        /// What the kernel said.
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
        /// What the kernel said.
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
    /// This system does not tell what a signal would do.
    #[error(
        "the inspector of process {0} is not opened on this system, where SIGUSR1 could kill it unseen"
    )]
    NotHere(u32),
    /// The signal was sent, and no port came.
    #[error(
        "process {pid} has not opened its inspector within {:.1} s: it may be deep in one long native call. SIGUSR1 \
         cannot be taken back, so port {port} may still open later",
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
        is_kin: bool,
    },
    /// A process that this user may not see.
    #[error("another process")]
    Unknown,
}

const BY_PERF: &str = "record it by perf events: --via perf";

impl Refusal {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        let or_inspect =
            |now: &str| format!("{now}; or start it with node --inspect (on 127.0.0.1)");
        let hint = match self {
            Self::NoProcess(_) | Self::Ourselves(_) | Self::Ended(_) | Self::NotNode(_) => {
                "nodescope ps lists the Node processes".to_owned()
            }
            Self::Hidden(_) | Self::NotOurs(_) => {
                "run nodescope as root or, in a container, as the process's own user".to_owned()
            }
            Self::NoHandle { .. } => {
                "pidfd_open needs Linux 5.3, and a seccomp filter that permits it; on the host it works"
                    .to_owned()
            }
            Self::Young(_) => "try again in a second".to_owned(),
            Self::Stopped(pid) => format!("kill -CONT {pid} lets it run again"),
            Self::Deadly(_) | Self::Ignored(_) | Self::Blocked(_) | Self::OwnListener(_) => {
                or_inspect(BY_PERF)
            }
            Self::Primary(_) => "record its workers, one after another".to_owned(),
            Self::Confined(_) => {
                format!("{BY_PERF}; or start it with --allow-inspector (Node 24.12, 25.0 and later)")
            }
            Self::Unseen { .. } => or_inspect(
                "if you know that the program never listens to SIGUSR1, say so; else record it by perf events",
            ),
            Self::PortTaken { holder: Holder::Process { is_kin: true, .. }, .. } => {
                "the processes of a cluster share that port: record one after another".to_owned()
            }
            Self::PortTaken { port, .. } => {
                format!("free port {port}; or start it with --inspect-port=PORT; or {BY_PERF}")
            }
            Self::Unreachable { .. } => {
                format!("run nodescope as root on the host; or {BY_PERF}")
            }
            Self::NotAsked { .. } => {
                "start it with node --inspect (on 127.0.0.1), and record it with --connect localhost:9229"
                    .to_owned()
            }
            Self::NotHere(pid) => format!(
                "if it is an ordinary Node, kill -USR1 {pid} opens it: record it with --connect localhost:9229"
            ),
            Self::TimeLimit { port, .. } => {
                format!(
                    "perf events see such a call: --via perf; should port {port} open, nodescope ps shows it"
                )
            }
            Self::EndedAfterSignal(_) => return None,
        };
        Some(hint)
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
