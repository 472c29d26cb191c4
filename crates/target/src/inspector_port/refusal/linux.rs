//! What to do on Linux where an inspector stays closed: perf events need none.

use super::{Holder, Refusal};

const BY_PERF: &str = "record it by perf events: --via perf";

/// What to do instead.
pub(super) fn hint(refusal: &Refusal, nodescope: &str) -> Option<String> {
    let or_inspect = |now: &str| format!("{now}; or start it with node --inspect (on 127.0.0.1)");
    let hint = match refusal {
        Refusal::NoProcess(_)
        | Refusal::Ourselves(_)
        | Refusal::Ended(_)
        | Refusal::NotNode(_)
        | Refusal::NoDebugHandler(_) => format!("{nodescope} ps lists the Node processes"),
        Refusal::Hidden(_) | Refusal::NotOurs(_) => {
            "run nodescope as root or, in a container, as the process's own user".to_owned()
        }
        Refusal::NoHandle { .. } => {
            "pidfd_open needs Linux 5.3, and a seccomp filter that permits it; on the host it works"
                .to_owned()
        }
        Refusal::Young(_) => "try again in a second".to_owned(),
        Refusal::Stopped(pid) => format!("kill -CONT {pid} lets it run again"),
        Refusal::Deadly(_) | Refusal::Ignored(_) | Refusal::Blocked(_) | Refusal::OwnListener(_) => {
            or_inspect(BY_PERF)
        }
        Refusal::Primary(_) => "record its workers, one after another".to_owned(),
        Refusal::Confined(_) => {
            format!("{BY_PERF}; or start it with --allow-inspector (Node 24.12, 25.0 and later)")
        }
        Refusal::Unseen { .. } => or_inspect(
            "if you know that the program never listens to SIGUSR1, say so; else record it by perf events",
        ),
        Refusal::PortTaken { holder: Holder::Process { is_related: true, .. }, .. } => {
            "the processes of a cluster share that port: record one after another".to_owned()
        }
        Refusal::PortTaken { port, .. } => {
            format!("free port {port}; or start it with --inspect-port=PORT; or {BY_PERF}")
        }
        Refusal::Unreachable { .. } => {
            format!("run nodescope as root on the host; or {BY_PERF}")
        }
        Refusal::NotAsked { .. } => {
            "start it with node --inspect (on 127.0.0.1), and record it with --connect localhost:9229"
                .to_owned()
        }
        Refusal::TimeLimit { port, .. } => {
            format!(
                "perf events see such a call: --via perf; should port {port} open, {nodescope} ps shows it"
            )
        }
        Refusal::EndedAfterSignal(_) => return None,
    };
    Some(hint)
}
