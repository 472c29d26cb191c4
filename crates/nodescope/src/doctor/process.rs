//! What stands in the way of one process, or what there is to record at all.

use std::time::Duration;

use target::{InspectorPort, Limits, Opening, Proc, Process, Role, Surroundings};

use super::Check;
use crate::advice::{self, Subject};
use crate::invoked;
use crate::text::plural;

/// How many Node processes there are.
pub(super) fn summary(list: &[Process]) -> Check {
    let apps =
        list.iter().filter(|process| !matches!(process.role, Role::Tool { .. })).count() as u64;
    let count = plural(apps, "Node process").replace("processs", "processes");
    let found = format!("{count} here; {} ps lists them", invoked::name());
    Check::good("Node", found)
}

/// All checks of one process.
pub(super) fn checks(limits: &Limits, process: &Process) -> Vec<Check> {
    let around = Surroundings::read(&Proc::default(), process.pid);
    let sudo = format!("{} doctor {}", invoked::with_sudo(), process.pid);
    let mut checks = vec![
        identity(process, &sudo),
        sampling(limits, process),
        names(process, &sudo),
        inspector(process),
    ];
    checks.extend(surroundings(&around, (process.pid, process.inner_pid), &sudo));
    checks
}

fn identity(process: &Process, sudo: &str) -> Check {
    let version = process.node_version.as_deref().unwrap_or("of an unknown version");
    let found = format!("{} is Node {version}: {}", process.pid, process.command);
    if process.is_certain {
        return Check::good("process", found);
    }
    Check::bad("process", found, "Its binary cannot be read, so it may be something else.", sudo)
}

fn sampling(limits: &Limits, process: &Process) -> Check {
    const WHAT: &str = "sampling it";
    let way = &process.ways.perf;
    if way.open {
        return Check::good(WHAT, way.why.clone());
    }
    let is_anothers = process.uid != limits.uid;
    let subject = Subject { name: "", again: format!("record {}", process.pid), is_anothers };
    let refused = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let advice = advice::advise(advice::refusal(limits, is_anothers), &refused, limits, &subject);
    Check::bad(WHAT, way.why.clone(), "nodescope record needs it.", advice.fix)
}

fn names(process: &Process, sudo: &str) -> Check {
    const WHAT: &str = "JavaScript names";
    let way = &process.ways.names;
    if way.open {
        return Check::good(WHAT, way.why.clone());
    }
    let flags = "start it with node --perf-basic-prof --interpreted-frames-native-stack";
    let fix = match process.is_known_v8 {
        true => format!("{sudo}; or {flags}"),
        false => format!("{} record {} --via inspector; or {flags}", invoked::name(), process.pid),
    };
    Check::bad(
        WHAT,
        way.why.clone(),
        "Your functions are one block called [JIT] without them.",
        fix,
    )
}

/// An open port is asked whether it is one; a closed one is looked at as if it were to be opened, and stays closed.
fn inspector(process: &Process) -> Check {
    const WHAT: &str = "inspector";
    let closed = || InspectorPort::could_open(process.pid, &Opening::within(Duration::ZERO));
    let found = InspectorPort::find(process.pid).and_then(|inspector| match inspector {
        Some(inspector) => Ok(format!("listens on port {}", inspector.port())),
        None => closed().map(|()| "closed; SIGUSR1 would open it".to_owned()),
    });
    match found {
        Ok(found) => Check::good(WHAT, found),
        Err(refusal) => Check::bad(
            WHAT,
            refusal.to_string(),
            "Node's own profiler cannot be reached; perf events do not need it.",
            refusal.hint(&invoked::name()).unwrap_or_default(),
        ),
    }
}

/// How the process is built, and where it runs. Earlier checks have listed what may not be seen.
fn surroundings(around: &Surroundings, (pid, inner_pid): (u32, u32), sudo: &str) -> Vec<Check> {
    let mut checks = Vec::new();
    match around.has_symbols {
        Some(true) => checks.push(Check::good("native names", "its binary has a full table of symbols")),
        Some(false) => checks.push(Check::bad(
            "native names",
            "its binary is stripped",
            "Inner functions of V8 and Node have no names then, and their time goes to a neighbouring function or to none.",
            "use the Node of nodejs.org, which is not stripped",
        )),
        None => {}
    }
    if let Some(is_musl) = around.is_musl {
        let found = if is_musl { "musl, as on Alpine: supported" } else { "not musl" };
        checks.push(Check::good("C library", found));
    }
    match around.shares_pids {
        Some(true) => checks.push(Check::good("its PID namespace", "ours")),
        Some(false) => checks.push(Check::good(
            "its PID namespace",
            format!(
                "another: its pid there is {inner_pid}, and nodescope looks for its perf map inside"
            ),
        )),
        None => {}
    }
    match around.shares_users {
        Some(true) => checks.push(Check::good("its user namespace", "ours")),
        Some(false) => {
            checks.push(Check::good("its user namespace", "another, as in rootless containers"));
        }
        None => {}
    }
    if around.is_hidden_from_owner == Some(true) {
        checks.push(Check::bad(
            "dumpable",
            "no: the kernel hides it even from its own user",
            "Its binary has capabilities, or it has changed its user: only root may look into it.",
            format!("{sudo}; or start it anew after taking them away: sudo setcap -r \"$(sudo readlink /proc/{pid}/exe)\""),
        ));
    } else if around.is_hidden_from_owner == Some(false) {
        checks.push(Check::good("dumpable", "yes: its own user may look into it"));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_has_a_command() {
        let around = Surroundings {
            has_symbols: Some(false),
            is_musl: Some(true),
            shares_pids: Some(false),
            shares_users: Some(false),
            is_hidden_from_owner: Some(true),
        };
        let checks = surroundings(&around, (7, 1), "sudo nodescope doctor 7");
        let found = |what: &str| checks.iter().find(|check| check.what == what).unwrap();
        assert!(!found("native names").ok && found("native names").fix.is_some());
        assert!(
            !found("dumpable").ok
                && found("dumpable").fix.as_deref().unwrap().contains("setcap -r")
        );
        assert!(found("C library").found.contains("musl"));
        assert!(found("its PID namespace").found.contains("its pid there is 1"));
        assert!(
            surroundings(&Surroundings::default(), (7, 1), "").is_empty(),
            "what may not be seen is not guessed"
        );
    }
}
