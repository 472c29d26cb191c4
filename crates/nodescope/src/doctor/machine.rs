//! What the machine, its settings and our own rights allow. What has to be tried is tried in [`Tried::here`]; the
//! checks themselves only look at what came of it, so that a test can make up a machine.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use capture::{AttachError, Options, Sampler, Scope};
use target::{Capability, Inside, Limits, Places};

use super::Check;
use crate::advice::{self, Subject};

/// What the default setting gives to each CPU.
const USUAL_RING_KB: i64 = 516;
/// Enough for fifty threads on eighty CPUs.
const ENOUGH_FILES: u64 = 4096;
/// The first kernel on which everything works.
const FULL_KERNEL: (u32, u32) = (5, 8);

/// What only an attempt can show.
pub(super) struct Tried {
    /// Whether our own process can be sampled, and with the kernel's part.
    pub(super) sampling: Result<bool, AttachError>,
    /// Whether /proc/kallsyms shows addresses.
    pub(super) kernel_names: io::Result<bool>,
    /// The sockets of container engines, and whether they answer.
    pub(super) engines: Vec<(PathBuf, io::Result<()>)>,
}

impl Tried {
    pub(super) fn here(places: &Places) -> Self {
        let options = Options {
            frequency: 99,
            fast_frequency: None,
            on_exec: false,
            children: false,
            events: Vec::new(),
            stack_bytes: 0,
        };
        let sampling = Sampler::attach(Scope::Processes(&[std::process::id()]), &options)
            .map(|sampler| sampler.sees_kernel());
        let mut engines: Vec<(PathBuf, io::Result<()>)> = Vec::new();
        for socket in places.sockets.iter().filter_map(|socket| fs::canonicalize(socket).ok()) {
            if engines.iter().all(|(known, _)| *known != socket) {
                let answer = UnixStream::connect(&socket).map(drop);
                engines.push((socket, answer));
            }
        }
        Self { sampling, kernel_names: kernel_names(), engines }
    }
}

/// Whether the kernel shows us an address that is not zero.
fn kernel_names() -> io::Result<bool> {
    let mut start = [0u8; 16];
    fs::File::open("/proc/kallsyms")?.read_exact(&mut start)?;
    Ok(start.iter().any(|byte| byte.is_ascii_hexdigit() && *byte != b'0'))
}

/// All checks, what matters most first.
pub(super) fn checks(limits: &Limits, tried: &Tried) -> Vec<Check> {
    vec![
        sampling(limits, &tried.sampling),
        paranoid(limits),
        kernel_symbols(limits, &tried.kernel_names),
        memory(limits),
        seccomp(limits, tried.sampling.is_ok()),
        capabilities(limits),
        users(limits),
        container(limits),
        lockdown(limits),
        rings(limits),
        files(limits),
        kernel(limits),
        engines(limits, &tried.engines),
    ]
}

/// Sampling our own process shows what settings, capabilities, filters and the like allow together.
fn sampling(limits: &Limits, tried: &Result<bool, AttachError>) -> Check {
    const WHAT: &str = "perf events";
    let error = match tried {
        Ok(true) => return Check::good(WHAT, "user code and the kernel can be sampled"),
        Ok(false) => {
            return Check::good(
                WHAT,
                "your own processes can be sampled, but not the kernel's part of their time",
            );
        }
        Err(AttachError::Gone(_) | AttachError::Hidden(_) | AttachError::Missing(_)) => {
            &io::Error::from(io::ErrorKind::NotFound)
        }
        Err(AttachError::Denied(error) | AttachError::Failed(error)) => error,
    };
    let subject = Subject { name: "", again: "record TARGET".to_owned(), is_anothers: false };
    let advice = advice::advise(advice::obstacle(error, limits, false), error, limits, &subject);
    Check::bad(
        WHAT,
        format!("not possible: {}", advice.what),
        "nodescope record samples with them.",
        advice.fix,
    )
}

fn paranoid(limits: &Limits) -> Check {
    const WHAT: &str = "perf_event_paranoid";
    let set = |level: u8| advice::set(limits, &format!("kernel.perf_event_paranoid={level}"));
    match limits.paranoid {
        None => Check::bad(
            WHAT,
            "not there: this kernel has no perf events",
            "nodescope record samples with them.",
            "use a kernel with CONFIG_PERF_EVENTS; gVisor has none",
        ),
        Some(level) if limits.may_sample_all() => {
            Check::good(WHAT, format!("{level}, which does not restrict you"))
        }
        Some(level) if level > 2 => Check::bad(
            WHAT,
            level.to_string(),
            "Above 2, only root and CAP_PERFMON may sample anything.",
            set(2),
        ),
        Some(2) => {
            Check::good(WHAT, "2: your own processes, without the kernel's part").or_more(set(1))
        }
        Some(level) => {
            Check::good(WHAT, format!("{level}: your own processes, with the kernel's part"))
        }
    }
}

fn kernel_symbols(limits: &Limits, names: &io::Result<bool>) -> Check {
    const WHAT: &str = "kernel names";
    let restrict = limits.kptr_restrict.unwrap_or_default();
    let found = match names {
        Ok(true) => return Check::good(WHAT, "the kernel's functions have names"),
        Ok(false) => {
            format!("the kernel hides the addresses of its functions (kptr_restrict is {restrict})")
        }
        Err(error) => format!("/proc/kallsyms cannot be read: {error}"),
    };
    let sudo = format!("{} record TARGET", crate::invoked::with_sudo());
    // The kernel asks kptr_restrict first, then CAP_SYSLOG; below 1 perf_event_paranoid opens them, too.
    let fix = match restrict {
        2.. => advice::set(limits, "kernel.kptr_restrict=1"),
        1 => format!(
            "{}; or {sudo}",
            advice::set(limits, "kernel.kptr_restrict=0 kernel.perf_event_paranoid=1")
        ),
        _ => format!("{}; or {sudo}", advice::set(limits, "kernel.perf_event_paranoid=1")),
    };
    Check::bad(WHAT, found, "Without them the kernel is one block in every picture.", fix)
}

fn memory(limits: &Limits) -> Check {
    const WHAT: &str = "other processes";
    let scope = limits.ptrace_scope.unwrap_or(0);
    match scope {
        0 => Check::good(WHAT, "you may read the memory of your own processes"),
        1 | 2 if limits.has(Capability::SysPtrace) => Check::good(
            WHAT,
            format!(
                "you may read their memory (Yama's ptrace_scope is {scope}, but you have SYS_PTRACE)"
            ),
        ),
        _ => Check::bad(
            WHAT,
            format!("Yama's ptrace_scope is {scope}: their memory may not be read"),
            "Names for JavaScript are read from there, unless Node was started with --perf-basic-prof.",
            match scope {
                3 => "nothing but a restart of the machine lowers 3".to_owned(),
                _ => advice::set(limits, "kernel.yama.ptrace_scope=0"),
            },
        ),
    }
}

fn seccomp(limits: &Limits, can_sample: bool) -> Check {
    const WHAT: &str = "seccomp";
    match (limits.is_filtered, can_sample) {
        (false, _) => Check::good(WHAT, "no filter"),
        (true, true) => Check::good(WHAT, "a filter, which lets perf events through"),
        (true, false) => Check::bad(
            WHAT,
            "a filter restricts nodescope's system calls",
            "Most containers' filters forbid perf_event_open.",
            advice::let_through(limits),
        ),
    }
}

fn capabilities(limits: &Limits) -> Check {
    const WHAT: &str = "capabilities";
    let names = |wanted: bool| {
        let all = Capability::ALL.into_iter().filter(|one| limits.has(*one) == wanted);
        all.map(Capability::name).collect::<Vec<_>>().join(", ")
    };
    let (present, missing) = (names(true), names(false));
    if limits.has_own_users {
        return Check::good(WHAT, "they count in this user namespace only");
    }
    if missing.is_empty() || limits.has(Capability::SysAdmin) && limits.has(Capability::SysPtrace) {
        return Check::good(WHAT, present);
    }
    if limits.uid == 0 && !limits.may_sample_all() {
        return Check::bad(
            WHAT,
            format!("root, but without {missing}"),
            "Without PERFMON, root may sample no more than any user; without SYS_PTRACE, it may not read processes of other users.",
            advice::let_through(limits),
        );
    }
    let found =
        if present.is_empty() { "none: your own processes only".to_owned() } else { present };
    Check::good(WHAT, found).or_more(grant(limits))
}

/// Capabilities on our own file: every user who may run it then has them.
fn grant(limits: &Limits) -> String {
    let knows_perfmon = limits.kernel_version().is_none_or(|version| version >= FULL_KERNEL);
    let perf = if knows_perfmon { "cap_perfmon" } else { "cap_sys_admin" };
    let program = std::env::current_exe().unwrap_or_else(|_| "nodescope".into());
    let program = crate::invoked::quoted(&program);
    advice::as_root(
        limits,
        &format!(
            "setcap {perf},cap_sys_ptrace,cap_syslog,cap_kill=ep {program} (for every user who may run it)"
        ),
    )
}

fn users(limits: &Limits) -> Check {
    const WHAT: &str = "user namespace";
    if !limits.has_own_users {
        return Check::good(WHAT, "the machine's own");
    }
    Check::bad(
        WHAT,
        "nodescope runs in one of its own",
        "Root and capabilities count only inside: other processes and the kernel stay closed.",
        "run nodescope outside of it (rootless containers: in a shell of the host)",
    )
}

fn container(limits: &Limits) -> Check {
    const WHAT: &str = "container";
    let Some(inside) = limits.inside else {
        return Check::good(WHAT, "none: nodescope sees all processes of the machine");
    };
    let name = match inside {
        Inside::Docker => "a Docker",
        Inside::Podman => "a Podman",
        Inside::Kubernetes => "a pod's",
        Inside::Other => "a",
    };
    let what = if inside == Inside::Other { "PID namespace" } else { "container" };
    let seen =
        if limits.has_own_pids { "sees its processes only" } else { "sees the host's processes" };
    Check::good(WHAT, format!("nodescope runs in {name} {what}, and {seen}"))
        .or_more("on the host: sudo nodescope ps shows all of them")
}

fn lockdown(limits: &Limits) -> Check {
    const WHAT: &str = "lockdown";
    match limits.lockdown.as_deref() {
        Some("confidentiality") => Check::bad(
            WHAT,
            "confidentiality",
            "The kernel then hides its symbols, and refuses some perf events.",
            "boot with lockdown=integrity on the kernel's command line",
        ),
        Some(mode) => Check::good(WHAT, mode),
        None => Check::good(WHAT, "none"),
    }
}

fn rings(limits: &Limits) -> Check {
    const WHAT: &str = "perf_event_mlock_kb";
    match limits.mlock_kb {
        Some(kb) if kb < USUAL_RING_KB && limits.uid != 0 => Check::bad(
            WHAT,
            format!("{kb} KiB a CPU for samples that wait to be read"),
            "When that is full, samples are lost.",
            advice::set(limits, &format!("kernel.perf_event_mlock_kb={USUAL_RING_KB}")),
        ),
        Some(kb) => Check::good(WHAT, format!("{kb} KiB a CPU for samples that wait to be read")),
        None => Check::good(WHAT, "not there"),
    }
}

fn files(limits: &Limits) -> Check {
    const WHAT: &str = "open files";
    let Some((_, most)) = limits.open_files else { return Check::good(WHAT, "no limit is known") };
    if most >= ENOUGH_FILES {
        return Check::good(
            WHAT,
            format!("up to {most}; a recording takes one for each thread and CPU"),
        );
    }
    Check::bad(
        WHAT,
        format!("at most {most}"),
        "A recording takes one for each thread and CPU.",
        advice::more_files(limits),
    )
}

fn kernel(limits: &Limits) -> Check {
    const WHAT: &str = "kernel";
    match limits.kernel_version() {
        Some(version) if version < FULL_KERNEL => Check::bad(
            WHAT,
            format!("Linux {}", limits.kernel),
            "Before 5.8 there is no CAP_PERFMON: SYS_ADMIN is needed in its place.",
            "run nodescope with sudo, or with CAP_SYS_ADMIN",
        ),
        _ => Check::good(WHAT, format!("Linux {}", limits.kernel)),
    }
}

fn engines(limits: &Limits, engines: &[(PathBuf, io::Result<()>)]) -> Check {
    const WHAT: &str = "container names";
    if engines.is_empty() {
        return Check::good(WHAT, "no Docker or Podman here");
    }
    let name = |path: &Path| path.display().to_string();
    let Some((socket, error)) =
        engines.iter().find_map(|(socket, answer)| Some((socket, answer.as_ref().err()?)))
    else {
        let answering: Vec<String> = engines.iter().map(|(socket, _)| name(socket)).collect();
        return Check::good(WHAT, format!("{} can be asked", answering.join(" and ")));
    };
    let engine = if name(socket).contains("podman") { "podman" } else { "docker" };
    let fix = match error.kind() {
        io::ErrorKind::PermissionDenied if engine == "docker" => {
            "sudo usermod -aG docker \"$USER\", then log in again; or run nodescope with sudo"
                .to_owned()
        }
        io::ErrorKind::PermissionDenied => "run nodescope with sudo".to_owned(),
        _ => advice::as_root(limits, &format!("systemctl start {engine}")),
    };
    Check::bad(
        WHAT,
        format!("{} cannot be asked: {error}", name(socket)),
        "Containers are then known by their ids only.",
        fix,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> Limits {
        Limits {
            kernel: "6.1.0-13-amd64".into(),
            uid: 1000,
            paranoid: Some(2),
            mlock_kb: Some(516),
            open_files: Some((1024, 524_288)),
            ..Limits::default()
        }
    }

    fn tried() -> Tried {
        Tried { sampling: Ok(false), kernel_names: Ok(true), engines: Vec::new() }
    }

    fn refused() -> Tried {
        let error = io::Error::from_raw_os_error(13);
        Tried { sampling: Err(AttachError::Denied(error)), ..tried() }
    }

    /// What is in the way on a machine that has one thing in the way.
    fn bad(limits: &Limits, tried: &Tried) -> Vec<(&'static str, String)> {
        let all = checks(limits, tried);
        assert!(
            all.iter().all(|check| check.ok || check.fix.is_some() && !check.why.is_empty()),
            "{all:#?}"
        );
        let bad = all.into_iter().filter(|check| !check.ok);
        bad.map(|check| (check.what, check.fix.unwrap_or_default())).collect()
    }

    #[test]
    fn a_plain_user_on_a_plain_machine_can_begin() {
        assert_eq!(bad(&fine(), &tried()), []);
    }

    #[test]
    fn each_obstacle_is_seen_alone() {
        let confidential = Some("confidentiality".to_owned());
        for (limits, what, fix) in [
            (
                Limits { paranoid: Some(3), ..fine() },
                "perf_event_paranoid",
                "sudo sysctl kernel.perf_event_paranoid=2",
            ),
            (Limits { paranoid: None, ..fine() }, "perf_event_paranoid", "CONFIG_PERF_EVENTS"),
            (
                Limits { ptrace_scope: Some(1), ..fine() },
                "other processes",
                "sudo sysctl kernel.yama.ptrace_scope=0",
            ),
            (Limits { ptrace_scope: Some(3), ..fine() }, "other processes", "restart"),
            (Limits { uid: 0, ..fine() }, "capabilities", ""),
            (Limits { has_own_users: true, ..fine() }, "user namespace", "outside"),
            (Limits { lockdown: confidential, ..fine() }, "lockdown", "lockdown=integrity"),
            (
                Limits { mlock_kb: Some(64), ..fine() },
                "perf_event_mlock_kb",
                "sudo sysctl kernel.perf_event_mlock_kb=516",
            ),
            (
                Limits { open_files: Some((256, 1024)), ..fine() },
                "open files",
                "sudo prlimit --pid $$",
            ),
            (Limits { kernel: "4.15.0".into(), ..fine() }, "kernel", "with sudo"),
        ] {
            let found = bad(&limits, &tried());
            assert!(
                found.len() == 1 && found[0].0 == what && found[0].1.contains(fix),
                "{what}: {found:?}"
            );
        }
    }

    #[test]
    fn a_container_gets_its_own_advice() {
        let docker = Limits {
            inside: Some(Inside::Docker),
            is_filtered: true,
            has_own_pids: true,
            hostname: "0123456789ab".into(),
            ..fine()
        };
        let found = bad(&docker, &refused());
        let names: Vec<&str> = found.iter().map(|(what, _)| *what).collect();
        assert_eq!(names, ["perf events", "seccomp"]);
        let is_exact = |fix: &str| {
            fix.contains("sudo nodescope record -c 0123456789ab")
                && fix.contains("--security-opt seccomp=unconfined")
        };
        assert!(found.iter().all(|(_, fix)| is_exact(fix)), "{found:?}");
    }

    #[test]
    fn kernel_names_and_engines() {
        let hidden = Tried { kernel_names: Ok(false), ..tried() };
        assert!(
            bad(&fine(), &hidden)[0]
                .1
                .contains("sudo sysctl kernel.perf_event_paranoid=1; or sudo ")
        );
        let root = Limits { uid: 0, capabilities: u64::MAX, kptr_restrict: Some(2), ..fine() };
        assert_eq!(bad(&root, &hidden)[0].1, "sysctl kernel.kptr_restrict=1");
        for (kind, fix) in [
            (io::ErrorKind::PermissionDenied, "usermod -aG docker"),
            (io::ErrorKind::ConnectionRefused, "sudo systemctl start docker"),
        ] {
            let engines = vec![("/run/docker.sock".into(), Err(kind.into()))];
            let found = bad(&fine(), &Tried { engines, ..tried() });
            assert!(
                found.len() == 1 && found[0].0 == "container names" && found[0].1.contains(fix),
                "{found:?}"
            );
        }
    }
}
