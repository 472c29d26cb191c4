//! What stands in the way of sampling, and what to type about it: the one source of these words, for `record`, `demo`
//! and `doctor`. Which obstacle it is follows from the kernel's answer and from the limits of the machine.

use std::io;
use std::path::Path;

use capture::AttachError;
use target::{Capability, Inside, Limits, Places, Proc};

use crate::failure::Failure;
use crate::invoked;

const EPERM: i32 = 1;
const EACCES: i32 = 13;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
const ENOSYS: i32 = 38;

/// What keeps us from sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The kernel was built without perf events.
    NoPerfEvents,
    /// gVisor has no perf events.
    Gvisor,
    /// A seccomp filter forbids the system call.
    Seccomp,
    /// The process belongs to another user.
    AnotherUser,
    /// kernel.perf_event_paranoid forbids it.
    Paranoid,
    /// The kernel is locked down.
    Lockdown,
    /// Root of a user namespace is not root of the machine.
    UserNamespace,
    /// There are more threads and CPUs than files that we may open.
    OpenFiles,
    /// None of these.
    Unknown,
}

/// A process that the user wants to sample.
#[derive(Clone, Debug)]
pub(crate) struct Subject<'a> {
    /// `node`; in the demo, what it would be.
    pub(crate) name: &'a str,
    /// What was wanted, without the program's name: `record 4140`.
    pub(crate) again: String,
    pub(crate) is_anothers: bool,
}

/// What is wrong, and what to type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    pub(crate) what: String,
    pub(crate) fix: String,
}

/// The limits of this machine.
pub(crate) fn limits() -> Limits {
    let mut limits = Limits::read(&Proc::default(), Path::new("/"));
    // Its words depend on the engine's version; mostly its socket is not to be seen from inside.
    if matches!(limits.inside, Some(Inside::Docker | Inside::Other)) {
        limits.engine = target::engine_version(&Places::default().sockets);
    }
    limits
}

/// Why a process could not be sampled, as the failure of a command.
pub(crate) fn explain(error: &AttachError, subject: &Subject<'_>) -> Failure {
    let error = match error {
        AttachError::Gone(pid) => {
            return Failure::failed(format!("there is no process {pid}"))
                .hint(format!("{} ps lists what runs here", invoked::name()));
        }
        AttachError::Hidden(event) => {
            return Failure::failed(format!(
                "{event} happen in the kernel, which you may not sample"
            ))
            .hint(format!("with sudo: {} {}", invoked::with_sudo(), subject.again));
        }
        AttachError::Missing(event) => {
            return Failure::failed(format!("this machine has no event {event}"))
                .hint("virtual machines rarely have hardware counters; the clock, which is always sampled, works everywhere");
        }
        AttachError::Denied(error) | AttachError::Failed(error) => error,
    };
    let limits = limits();
    let advice = advise(obstacle(error, &limits, subject.is_anothers), error, &limits, subject);
    Failure::failed(format!("you may not sample {}: {}", subject.name, advice.what))
        .hint(advice.fix)
}

/// Why the names of a process cannot be read, and what to do about it, in one sentence.
pub(crate) fn unreadable(pid: u32, limits: &Limits) -> String {
    let scope = limits.ptrace_scope.unwrap_or(0);
    let (why, remedy) = match scope {
        _ if limits.is_confined_by_docker && limits.has(Capability::SysPtrace) => (
            "Docker's AppArmor profile permits that among its own containers only",
            "docker run --security-opt apparmor=unconfined …".into(),
        ),
        0 if limits.is_filtered => {
            ("a seccomp filter forbids it", "allow process_vm_readv and CAP_SYS_PTRACE".into())
        }
        0 => ("that takes its user or CAP_SYS_PTRACE", format!("{} does it", invoked::with_sudo())),
        3 => ("Yama's ptrace_scope is 3", "only a restart of the machine changes that".into()),
        _ => (
            "Yama's ptrace_scope forbids it to all but root and parents",
            format!("{}, or sudo", set(limits, "kernel.yama.ptrace_scope=0")),
        ),
    };
    format!(
        "the memory of process {pid} may not be read ({why}: {remedy}); JavaScript has names only from a perf map"
    )
}

/// Which obstacle the kernel's answer means.
pub(crate) fn obstacle(error: &io::Error, limits: &Limits, is_anothers: bool) -> Obstacle {
    let refused = matches!(error.raw_os_error(), Some(EPERM | EACCES));
    match error.raw_os_error() {
        Some(ENOSYS) if limits.is_gvisor => Obstacle::Gvisor,
        Some(ENOSYS) if limits.is_filtered && limits.paranoid.is_some() => Obstacle::Seccomp,
        Some(ENOSYS) => Obstacle::NoPerfEvents,
        Some(EMFILE | ENFILE) => Obstacle::OpenFiles,
        _ if !refused => Obstacle::Unknown,
        _ => refusal(limits, is_anothers),
    }
}

/// Which obstacle a refusal means, where we would be refused.
pub(crate) fn refusal(limits: &Limits, is_anothers: bool) -> Obstacle {
    let may_all = limits.may_sample_all();
    if limits.is_filtered && limits.inside.is_some() {
        Obstacle::Seccomp
    } else if is_anothers && !may_all && !limits.has(Capability::SysPtrace) {
        Obstacle::AnotherUser
    } else if limits.paranoid.is_some_and(|level| level > 2) && !may_all {
        Obstacle::Paranoid
    } else if limits.is_filtered {
        Obstacle::Seccomp
    } else if limits.lockdown.as_deref() == Some("confidentiality") {
        Obstacle::Lockdown
    } else if limits.has_own_users {
        Obstacle::UserNamespace
    } else {
        Obstacle::Unknown
    }
}

/// The words for an obstacle.
pub(crate) fn advise(
    obstacle: Obstacle,
    error: &io::Error,
    limits: &Limits,
    subject: &Subject<'_>,
) -> Advice {
    let again = format!("{} {}", invoked::with_sudo(), subject.again);
    let advice = |what: &str, fix: String| Advice { what: what.to_owned(), fix };
    let profiler = "Node's own profiler works: node --cpu-prof server.js, then nodescope report CPU.….cpuprofile";
    match obstacle {
        Obstacle::NoPerfEvents => advice("this kernel has no perf events", profiler.to_owned()),
        Obstacle::Gvisor => advice("gVisor has no perf events", profiler.to_owned()),
        Obstacle::Seccomp => advice("a seccomp filter forbids perf events", let_through(limits)),
        Obstacle::AnotherUser => advice(
            "it belongs to another user",
            format!("run nodescope as that user, or with sudo: {again}"),
        ),
        Obstacle::Paranoid => {
            let level = limits.paranoid.unwrap_or_default();
            let fix = format!(
                "{} or, only this once, {again}",
                set(limits, "kernel.perf_event_paranoid=2")
            );
            advice(&format!("kernel.perf_event_paranoid is {level}"), fix)
        }
        Obstacle::Lockdown => advice(
            "the kernel is locked down (confidentiality)",
            "boot with lockdown=integrity on the kernel's command line".to_owned(),
        ),
        Obstacle::UserNamespace => advice(
            "nodescope runs in a user namespace, where root has no rights on the machine",
            format!("outside of it: {again}"),
        ),
        Obstacle::OpenFiles => {
            let most = limits.open_files.map_or(0, |(_, most)| most);
            advice(
                &format!("it takes more than the {most} files that nodescope may open"),
                more_files(limits),
            )
        }
        Obstacle::Unknown => {
            let fix = if limits.uid == 0 {
                format!("{} doctor tells more", invoked::name())
            } else {
                again
            };
            advice(&format!("the kernel says: {error}"), fix)
        }
    }
}

/// How to set something that only root of the machine may set.
pub(crate) fn set(limits: &Limits, setting: &str) -> String {
    as_root(limits, &format!("sysctl {setting}"))
}

/// How this user runs something as root of the machine.
pub(crate) fn as_root(limits: &Limits, command: &str) -> String {
    match (limits.inside, limits.uid) {
        (Some(_), _) => format!("on the host: sudo {command}"),
        _ if limits.has_own_users => format!("outside of this user namespace: sudo {command}"),
        (None, 0) => command.to_owned(),
        (None, _) => format!("sudo {command}"),
    }
}

/// How to start what we are in, so that perf events work; or how to do without.
pub(crate) fn let_through(limits: &Limits) -> String {
    let name = if limits.hostname.is_empty() { "NAME" } else { &limits.hostname };
    match limits.inside {
        Some(inside @ (Inside::Docker | Inside::Podman | Inside::Other)) => {
            let engine = if inside == Inside::Podman { "podman" } else { "docker" };
            let (capability, or) = capability_for(limits, inside);
            format!(
                "on the host: sudo nodescope record -c {name}; or inside, after {engine} run --cap-add {capability} \
                 --cap-add SYS_PTRACE --security-opt seccomp=unconfined …{or}"
            )
        }
        Some(Inside::Kubernetes) => format!(
            "on the pod's node: sudo nodescope record -c {name}; or inside, with securityContext: {{capabilities: \
             {{add: [PERFMON, SYS_PTRACE]}}, seccompProfile: {{type: Unconfined}}}}"
        ),
        None => "run nodescope from another shell: this one was started with a filter (systemd: SystemCallFilter=)".to_owned(),
    }
}

/// The first version of Docker that takes `--cap-add PERFMON`, and the first kernel that has it.
const DOCKER_WITH_PERFMON: (u32, u32) = (23, 0);
const KERNEL_WITH_PERFMON: (u32, u32) = (5, 8);

/// The capability that opens perf events with the engine at hand, and what to add where its version is not known.
fn capability_for(limits: &Limits, inside: Inside) -> (&'static str, &'static str) {
    if limits.kernel_version().is_some_and(|version| version < KERNEL_WITH_PERFMON) {
        return ("SYS_ADMIN", "");
    }
    match limits.engine {
        _ if inside == Inside::Podman => ("PERFMON", ""),
        Some(version) if version < DOCKER_WITH_PERFMON => ("SYS_ADMIN", ""),
        Some(_) => ("PERFMON", ""),
        None => {
            ("PERFMON", " (Docker before 23.0 does not know PERFMON: --cap-add SYS_ADMIN there)")
        }
    }
}

/// How to be allowed more open files.
pub(crate) fn more_files(limits: &Limits) -> String {
    as_root(limits, "prlimit --pid $$ --nofile=65536")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal_and_advice(limits: &Limits, errno: i32, is_anothers: bool) -> (Obstacle, Advice) {
        let error = io::Error::from_raw_os_error(errno);
        let found = obstacle(&error, limits, is_anothers);
        let subject = Subject { name: "node", again: "record 4140".into(), is_anothers };
        (found, advise(found, &error, limits, &subject))
    }

    fn user() -> Limits {
        Limits { uid: 1000, paranoid: Some(2), ..Limits::default() }
    }

    #[test]
    fn memory_that_may_not_be_read_has_a_remedy() {
        let yama = Limits { ptrace_scope: Some(1), ..user() };
        for (limits, remedy) in [
            (user(), "CAP_SYS_PTRACE"),
            (yama, "sysctl kernel.yama.ptrace_scope=0"),
            (Limits { ptrace_scope: Some(3), ..user() }, "restart"),
            (Limits { is_filtered: true, ..user() }, "process_vm_readv"),
            (
                Limits { is_confined_by_docker: true, capabilities: 1 << 19, ..user() },
                "apparmor=unconfined",
            ),
            // First things first.
            (Limits { is_confined_by_docker: true, ..user() }, "CAP_SYS_PTRACE"),
        ] {
            let sentence = unreadable(4140, &limits);
            assert!(sentence.contains("process 4140") && sentence.contains(remedy), "{sentence}");
        }
    }

    #[test]
    fn every_refusal_has_its_reason() {
        let docker = Limits { inside: Some(Inside::Docker), is_filtered: true, ..user() };
        let perfmon = 1 << 38;
        for (limits, errno, is_anothers, expected) in [
            (user(), EACCES, true, Obstacle::AnotherUser),
            (Limits { paranoid: Some(4), ..user() }, EACCES, false, Obstacle::Paranoid),
            (
                Limits { paranoid: Some(4), capabilities: perfmon, ..user() },
                EACCES,
                false,
                Obstacle::Unknown,
            ),
            (docker.clone(), EPERM, false, Obstacle::Seccomp),
            (docker.clone(), EPERM, true, Obstacle::Seccomp),
            (docker, ENOSYS, false, Obstacle::Seccomp),
            (Limits { is_filtered: true, ..user() }, EPERM, false, Obstacle::Seccomp),
            (
                Limits { lockdown: Some("confidentiality".into()), ..user() },
                EPERM,
                false,
                Obstacle::Lockdown,
            ),
            (Limits { has_own_users: true, ..user() }, EACCES, false, Obstacle::UserNamespace),
            (Limits { is_gvisor: true, ..user() }, ENOSYS, false, Obstacle::Gvisor),
            (Limits { paranoid: None, ..user() }, ENOSYS, false, Obstacle::NoPerfEvents),
            (user(), EMFILE, false, Obstacle::OpenFiles),
            (user(), EPERM, false, Obstacle::Unknown),
        ] {
            let (found, advice) = refusal_and_advice(&limits, errno, is_anothers);
            assert_eq!(found, expected, "{limits:?}");
            assert!(!advice.what.is_empty() && !advice.fix.is_empty(), "{advice:?}");
        }
    }

    #[test]
    fn commands_fit_who_reads_them() {
        let paranoid = Limits { paranoid: Some(3), ..user() };
        let fix = refusal_and_advice(&paranoid, EACCES, false).1.fix;
        assert!(fix.starts_with("sudo sysctl kernel.perf_event_paranoid=2 or"), "{fix}");
        assert!(fix.ends_with("record 4140"), "{fix}");
        assert_eq!(set(&Limits::default(), "a=1"), "sysctl a=1");
        let pod = Limits {
            inside: Some(Inside::Kubernetes),
            is_filtered: true,
            hostname: "web-7d9".into(),
            ..user()
        };
        assert_eq!(set(&pod, "a=1"), "on the host: sudo sysctl a=1");
        let fix = refusal_and_advice(&pod, EPERM, false).1.fix;
        assert!(
            fix.contains("record -c web-7d9") && fix.contains("add: [PERFMON, SYS_PTRACE]"),
            "{fix}"
        );
        let podman = Limits { inside: Some(Inside::Podman), ..pod };
        assert!(
            refusal_and_advice(&podman, EPERM, false)
                .1
                .fix
                .contains("podman run --cap-add PERFMON")
        );
    }

    #[test]
    fn the_capability_is_one_that_the_engine_knows() {
        let docker = |engine, kernel: &str| {
            let inside = Some(Inside::Docker);
            let_through(&Limits { inside, engine, kernel: kernel.into(), ..user() })
        };
        let (old, new) = (docker(Some((20, 10)), "6.1.0"), docker(Some((27, 5)), "6.1.0"));
        assert!(
            old.contains("docker run --cap-add SYS_ADMIN") && !old.contains("PERFMON"),
            "{old}"
        );
        assert!(
            new.contains("docker run --cap-add PERFMON") && !new.contains("SYS_ADMIN"),
            "{new}"
        );
        let unknown = docker(None, "6.1.0");
        assert!(
            unknown.contains("--cap-add PERFMON") && unknown.contains("before 23.0"),
            "{unknown}"
        );
        assert!(docker(Some((27, 5)), "5.4.0").contains("--cap-add SYS_ADMIN"));
    }
}
