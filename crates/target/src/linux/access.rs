//! Which ways this user has into a process, and why not. Nothing is tried: the answer comes from what the kernel
//! reports of us, of the process and of its own settings.

use serde::Serialize;

use crate::command::Command;
use crate::linux::inspector::Hidden;
use crate::linux::limits::Capability;
use crate::linux::perf_map::PerfMap;
use crate::linux::status::Status;

/// The ways into a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ways {
    /// Samples by perf_events.
    pub perf: Way,
    /// Names for JavaScript in those samples.
    pub names: Way,
    /// Node's own profiler.
    pub inspector: InspectorWay,
}

/// A way in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// Whether this user can take it.
    pub open: bool,
    /// Why, or why not.
    pub why: String,
}

/// The way through the inspector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum InspectorWay {
    /// The port is open.
    Open {
        /// That port.
        port: u16,
    },
    /// SIGUSR1 would open the port.
    CanBeOpened,
    /// This user cannot take it.
    Closed {
        /// Why not.
        why: String,
    },
}

/// What the answers are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) status: &'a Status,
    pub(crate) command: &'a Command,
    pub(crate) perf_map: Result<Option<&'a PerfMap>, Hidden>,
    pub(crate) inspector_port: Result<Option<u16>, Hidden>,
    /// Whether it is in our own network; `None` where that may not be seen.
    pub(crate) shares_network: Option<bool>,
    pub(crate) uptime_s: f64,
    /// Why the objects of its V8 cannot be read for names; empty where they can.
    pub(crate) unreadable: &'a str,
}

/// What is the same for all processes.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// Ourselves.
    pub(crate) own: Status,
    /// `None` where the kernel has no perf_events.
    pub(crate) perf_event_paranoid: Option<i64>,
    /// Yama's; `None` where the kernel has none.
    pub(crate) ptrace_scope: Option<i64>,
}

const CAP_KILL: u32 = Capability::Kill.bit();
const CAP_SYS_PTRACE: u32 = Capability::SysPtrace.bit();
const CAP_SYS_ADMIN: u32 = Capability::SysAdmin.bit();
const CAP_PERFMON: u32 = Capability::Perfmon.bit();

/// The bit of signal 10.
pub(crate) const SIGUSR1: u64 = 1 << 9;

/// Node does not listen to signals in its first moments.
pub(crate) const YOUNGEST_S: f64 = 1.0;

/// The reason why a way into another user's process is closed.
const NOT_OURS: &str = "another user's process (needs root)";

/// All ways into a process.
pub(crate) fn ways(facts: &Facts<'_>) -> Ways {
    Ways { perf: perf(facts), names: names(facts), inspector: inspector(facts) }
}

fn perf(facts: &Facts<'_>) -> Way {
    let closed = |why: &str| Way { open: false, why: why.to_owned() };
    let open = |why: &str| Way { open: true, why: why.to_owned() };
    let own = &facts.machine.own;
    let Some(paranoid) = facts.machine.perf_event_paranoid else {
        return closed("this kernel has no perf_events");
    };
    if own.has_capability(CAP_PERFMON) || own.has_capability(CAP_SYS_ADMIN) {
        return open("user code and kernel");
    }
    if own.is_filtered {
        return closed(
            "a seccomp filter blocks perf events, as in most containers (needs CAP_PERFMON)",
        );
    }
    if paranoid > 2 {
        return closed(&format!(
            "kernel.perf_event_paranoid is {paranoid} (needs root or CAP_PERFMON)"
        ));
    }
    let is_ours = facts.status.uids.iter().all(|uid| *uid == own.uids[0]);
    if !is_ours && !own.has_capability(CAP_SYS_PTRACE) {
        return closed(NOT_OURS);
    }
    open(if paranoid > 1 {
        "user code only: kernel.perf_event_paranoid is 2"
    } else {
        "user code and kernel"
    })
}

fn names(facts: &Facts<'_>) -> Way {
    let is_known = facts.unreadable.is_empty();
    let (open, why) = match facts.perf_map {
        Err(Hidden) => (false, NOT_OURS.to_owned()),
        Ok(_) if is_known && facts.may_read() => (true, "read from its memory".to_owned()),
        Ok(Some(map)) if map.is_fresh => (true, "a perf map".to_owned()),
        Ok(_) if !is_known => (false, facts.unreadable.to_owned()),
        Ok(_) => {
            let scope = facts.machine.ptrace_scope.unwrap_or_default();
            let why = format!(
                "its memory may not be read: kernel.yama.ptrace_scope is {scope} (needs root)"
            );
            (false, why)
        }
    };
    Way { open, why }
}

impl Facts<'_> {
    /// Whether the kernel lets us read its memory: a user who sees its files may, unless Yama is stricter.
    fn may_read(&self) -> bool {
        let scope = self.machine.ptrace_scope.unwrap_or_default();
        scope == 0 || scope < 3 && self.machine.own.has_capability(CAP_SYS_PTRACE)
    }
}

fn inspector(facts: &Facts<'_>) -> InspectorWay {
    if let Some(why) = inspector_obstacle(facts) {
        return InspectorWay::Closed { why: why.to_owned() };
    }
    match facts.inspector_port {
        Ok(Some(port)) => InspectorWay::Open { port },
        _ => InspectorWay::CanBeOpened,
    }
}

/// What keeps this user from the inspector. A signal that the process does not expect would kill it.
fn inspector_obstacle(facts: &Facts<'_>) -> Option<&'static str> {
    let Facts { status, command, .. } = facts;
    let own = &facts.machine.own;
    let is_open = matches!(facts.inspector_port, Ok(Some(_)));
    let may_signal = own.has_capability(CAP_KILL)
        || own.uids[..2].iter().any(|uid| *uid == status.uids[0] || *uid == status.uids[2]);
    if facts.shares_network == Some(false) && !own.has_capability(CAP_SYS_ADMIN) {
        Some("it has a network of its own (needs root)")
    } else if is_open {
        None
    } else if !may_signal {
        Some(NOT_OURS)
    } else if command.forbids_inspector() {
        Some("its port is closed, and --permission keeps it so")
    } else if command.flag("--disable-sigusr1").is_some() || status.blocked & SIGUSR1 != 0 {
        Some("its port is closed, and it was told to ignore SIGUSR1")
    } else if matches!(status.state, 'T' | 't') {
        Some("its port is closed, and it is stopped")
    } else if status.ignored & SIGUSR1 != 0 {
        Some("its port is closed, and it ignores SIGUSR1")
    } else if facts.uptime_s < YOUNGEST_S {
        Some("it has only just started: SIGUSR1 could kill it")
    } else if status.caught & SIGUSR1 == 0 {
        Some("its port is closed, and SIGUSR1 would kill it")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTENING: Status = Status {
        pid: 10,
        parent: 1,
        state: 'S',
        uids: [1000; 3],
        inner_pid: 10,
        threads: 11,
        caught: SIGUSR1,
        blocked: 0,
        ignored: 0,
        capabilities: 0,
        is_filtered: false,
    };

    fn machine(uid: u32, capabilities: &[u32], paranoid: i64) -> Machine {
        let capabilities = capabilities.iter().fold(0, |mask, bit| mask | 1 << bit);
        let own = Status { uids: [uid; 3], capabilities, ..LISTENING };
        Machine { own, perf_event_paranoid: Some(paranoid), ptrace_scope: None }
    }

    fn with<T>(
        machine: &Machine,
        flags: &str,
        status: &Status,
        ask: impl Fn(&Facts<'_>) -> T,
    ) -> T {
        let command =
            Command::parse(format!("node {flags} a.js").replace(' ', "\0").as_bytes(), None);
        ask(&Facts {
            machine,
            status,
            command: &command,
            perf_map: Ok(None),
            inspector_port: Ok(None),
            shares_network: Some(true),
            uptime_s: 60.0,
            unreadable: "",
        })
    }

    #[test]
    fn names_come_from_memory_that_may_be_read() {
        let way = |machine: &Machine| with(machine, "", &LISTENING, names);
        let mut ours = machine(1000, &[], 2);
        assert!(way(&ours).open);
        ours.ptrace_scope = Some(1);
        assert!(!way(&ours).open && way(&ours).why.contains("ptrace_scope is 1"));
        ours.own.capabilities = 1 << CAP_SYS_PTRACE;
        assert!(way(&ours).open);
        let unknown =
            |facts: &Facts<'_>| names(&Facts { unreadable: "V8 99 is not known", ..*facts });
        let way = with(&ours, "", &LISTENING, unknown);
        assert!(!way.open && way.why == "V8 99 is not known", "{way:?}");
    }

    /// The rows of the table "who may sample which process".
    #[test]
    fn perf_depends_on_who_asks() {
        for (uid, capabilities, paranoid, open) in [
            (0, &[CAP_PERFMON, CAP_SYS_ADMIN][..], 4, true),
            (1000, &[], 2, true),
            (1000, &[], 3, false),
            (1000, &[], 4, false),
            (1001, &[], -1, false),
            (1001, &[CAP_PERFMON], 2, true),
            (1001, &[CAP_SYS_PTRACE], 2, true),
            (1001, &[CAP_KILL], 2, false),
        ] {
            let way = with(&machine(uid, capabilities, paranoid), "", &LISTENING, perf);
            assert_eq!(way.open, open, "{uid} {capabilities:?} {paranoid}: {way:?}");
        }
        let mut filtered = machine(1000, &[], 2);
        filtered.own.is_filtered = true;
        assert!(!with(&filtered, "", &LISTENING, perf).open);
        let none = Machine { perf_event_paranoid: None, ..machine(0, &[CAP_PERFMON], 0) };
        assert!(!with(&none, "", &LISTENING, perf).open);
    }

    #[test]
    fn a_signal_that_kills_is_no_way_in() {
        let ours = machine(1000, &[], 2);
        let opens = |flags: &str, status: &Status| {
            with(&ours, flags, status, inspector) == InspectorWay::CanBeOpened
        };
        assert!(opens("", &LISTENING));
        assert!(opens("--permission --allow-inspector", &LISTENING));
        assert!(!opens("--permission", &LISTENING));
        assert!(!opens("--disable_sigusr1", &LISTENING));
        assert!(!opens("", &Status { caught: 0, ..LISTENING }));
        assert!(!opens("", &Status { blocked: SIGUSR1, ..LISTENING }));
        assert!(!opens("", &Status { ignored: SIGUSR1, caught: 0, ..LISTENING }));
        assert!(!opens("", &Status { state: 'T', ..LISTENING }));
        assert!(!opens("", &Status { uids: [1001; 3], ..LISTENING }));
        let young =
            with(&ours, "", &LISTENING, |facts| inspector(&Facts { uptime_s: 0.2, ..*facts }));
        assert!(matches!(young, InspectorWay::Closed { .. }));
        let killer = machine(7, &[CAP_KILL], 2);
        assert_eq!(with(&killer, "", &LISTENING, inspector), InspectorWay::CanBeOpened);
    }

    #[test]
    fn an_open_port_must_be_reachable() {
        let ours = machine(1000, &[], 2);
        let port = |shares_network| {
            with(&ours, "", &Status { caught: 0, ..LISTENING }, |facts| {
                inspector(&Facts { inspector_port: Ok(Some(9230)), shares_network, ..*facts })
            })
        };
        assert_eq!(port(Some(true)), InspectorWay::Open { port: 9230 });
        assert!(matches!(port(Some(false)), InspectorWay::Closed { .. }));
    }
}
