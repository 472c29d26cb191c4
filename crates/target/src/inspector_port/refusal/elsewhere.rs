//! What to do where an inspector stays closed, and there are no perf events.

use super::{Holder, Refusal};

/// The way that needs nothing of the system.
const AT_START: &str = "start it with node --inspect (on 127.0.0.1)";

/// What to do instead.
pub(super) fn hint(refusal: &Refusal, nodescope: &str) -> Option<String> {
    let hint = match refusal {
        Refusal::NoProcess(_)
        | Refusal::Ourselves(_)
        | Refusal::Ended(_)
        | Refusal::NotNode(_)
        | Refusal::NoDebugHandler(_) => format!(
            "{nodescope} record WORDS finds a Node by words of its command line; an inspector that is open is reached with \
             --connect localhost:9229"
        ),
        Refusal::Hidden(_) | Refusal::NotOurs(_) => {
            format!(
                "run nodescope as the process's own user, or as an administrator; or {AT_START}"
            )
        }
        Refusal::Young(_) => "try again in a second".to_owned(),
        Refusal::Stopped(pid) => format!("kill -CONT {pid} lets it run again"),
        Refusal::Deadly(_)
        | Refusal::Ignored(_)
        | Refusal::Blocked(_)
        | Refusal::OwnListener(_)
        | Refusal::NoHandle { .. }
        | Refusal::Unreachable { .. } => AT_START.to_owned(),
        Refusal::NotAsked { .. } => {
            format!("{AT_START}, and record it with --connect localhost:9229")
        }
        Refusal::Primary(_) => "record its workers, one after another".to_owned(),
        Refusal::Confined(_) => {
            "start it with --allow-inspector (Node 24.12, 25.0 and later)".to_owned()
        }
        Refusal::Unseen { .. } => {
            format!(
                "if you know that the program never listens to SIGUSR1, say so; else {AT_START}"
            )
        }
        Refusal::PortTaken { holder: Holder::Process { is_related: true, .. }, .. } => {
            "the processes of a cluster share that port: record one after another".to_owned()
        }
        Refusal::PortTaken { port, .. } => {
            format!("free port {port}; or start it with --inspect-port=PORT")
        }
        Refusal::TimeLimit { .. } | Refusal::EndedAfterSignal(_) => return None,
    };
    Some(hint)
}
