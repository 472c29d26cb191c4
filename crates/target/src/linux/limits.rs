//! What the settings of this machine, and our own rights on it, allow. Everything is read from files, and nothing
//! is tried, so a made-up folder serves as well as a real machine.

use std::path::Path;

use crate::linux::proc::{Proc, read};
use crate::linux::status::Status;

/// The capabilities that matter to a profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Signals to processes of other users.
    Kill,
    /// Looking into processes of other users.
    SysPtrace,
    /// Nearly everything.
    SysAdmin,
    /// The kernel's addresses.
    Syslog,
    /// perf events; since Linux 5.8.
    Perfmon,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Perfmon, Self::SysAdmin, Self::SysPtrace, Self::Syslog, Self::Kill];

    /// As Docker and Kubernetes spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "KILL",
            Self::SysPtrace => "SYS_PTRACE",
            Self::SysAdmin => "SYS_ADMIN",
            Self::Syslog => "SYSLOG",
            Self::Perfmon => "PERFMON",
        }
    }

    pub(crate) const fn bit(self) -> u32 {
        match self {
            Self::Kill => 5,
            Self::SysPtrace => 19,
            Self::SysAdmin => 21,
            Self::Syslog => 34,
            Self::Perfmon => 38,
        }
    }
}

/// The kind of container that we are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Docker.
    Docker,
    /// Podman.
    Podman,
    /// A pod.
    Kubernetes,
    /// Namespaces of which nothing else is known.
    Other,
}

/// What is allowed, and what is in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `6.1.0-13-amd64`.
    pub kernel: String,
    /// In a container, usually its id or the name of its pod.
    pub hostname: String,
    /// A kernel in user space, which has no perf events.
    pub is_gvisor: bool,
    /// Our effective user.
    pub uid: u32,
    /// Whether a filter decides about our system calls.
    pub is_filtered: bool,
    /// The container that we are in.
    pub inside: Option<Inside>,
    /// Whether Docker's AppArmor profile holds, which lets us read processes under the same profile alone.
    pub is_confined_by_docker: bool,
    /// Whether we are in a pid namespace of our own, and see only its processes.
    pub has_own_pids: bool,
    /// Whether root here is only root of a user namespace.
    pub has_own_users: bool,
    /// kernel.perf_event_paranoid; `None` where the kernel has no perf events.
    pub paranoid: Option<i64>,
    /// kernel.kptr_restrict.
    pub kptr_restrict: Option<i64>,
    /// kernel.yama.ptrace_scope; `None` without Yama.
    pub ptrace_scope: Option<i64>,
    /// kernel.perf_event_mlock_kb.
    pub mlock_kb: Option<i64>,
    /// `none`, `integrity` or `confidentiality`.
    pub lockdown: Option<String>,
    /// Files that we may have open: as set, and as far as we may raise it.
    pub open_files: Option<(u64, u64)>,
    /// Our effective capabilities, a bit for each.
    pub capabilities: u64,
    /// The version of the container engine, where it was asked and answered.
    pub engine: Option<(u32, u32)>,
}

/// The namespaces that the machine started with have these numbers on every Linux.
const FIRST_PIDS: &str = "pid:[4026531836]";
pub(crate) const FIRST_USERS: &str = "user:[4026531837]";
const FIRST_CGROUPS: &str = "cgroup:[4026531835]";

impl Limits {
    /// What files below `proc` and `root` contain.
    pub fn read(proc: &Proc, root: &Path) -> Self {
        let setting = |name: &str| proc.text(name).ok().map(|text| text.trim().to_owned());
        let number = |name: &str| setting(name).and_then(|text| text.parse().ok());
        let status =
            proc.text("self/status").ok().and_then(|text| Status::parse(&text)).unwrap_or_default();
        let is_other = |name: &str, first: &str| {
            proc.own_link(name).is_ok_and(|link| link != Path::new(first))
        };
        let has_own_pids = is_other("ns/pid", FIRST_PIDS);
        let is_apart = has_own_pids || status.is_filtered || is_other("ns/cgroup", FIRST_CGROUPS);
        let profile = setting("self/attr/current").unwrap_or_default();
        let lockdown = read(&root.join("sys/kernel/security/lockdown"), 1 << 10).ok();
        Self {
            kernel: setting("sys/kernel/osrelease").unwrap_or_default(),
            hostname: setting("sys/kernel/hostname").unwrap_or_default(),
            is_gvisor: setting("version").is_some_and(|text| text.contains("gVisor")),
            uid: status.uids[1],
            is_filtered: status.is_filtered,
            inside: inside(root).filter(|_| is_apart).or(has_own_pids.then_some(Inside::Other)),
            is_confined_by_docker: profile.starts_with("docker-default"),
            has_own_pids,
            has_own_users: is_other("ns/user", FIRST_USERS),
            paranoid: number("sys/kernel/perf_event_paranoid"),
            kptr_restrict: number("sys/kernel/kptr_restrict"),
            ptrace_scope: number("sys/kernel/yama/ptrace_scope"),
            mlock_kb: number("sys/kernel/perf_event_mlock_kb"),
            lockdown: lockdown.and_then(|text| chosen(&String::from_utf8_lossy(&text))),
            open_files: setting("self/limits").and_then(|text| open_files(&text)),
            capabilities: status.capabilities,
            engine: None,
        }
    }

    /// Whether we have it.
    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities & (1 << capability.bit()) != 0
    }

    /// Whether perf events are open to us whatever the settings are.
    pub fn may_sample_all(&self) -> bool {
        // Those of a user namespace do not count.
        !self.has_own_users && (self.has(Capability::Perfmon) || self.has(Capability::SysAdmin))
    }

    /// Major and minor number of the kernel.
    pub fn kernel_version(&self) -> Option<(u32, u32)> {
        let mut parts = self.kernel.split(|letter: char| !letter.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }
}

/// What container engines leave in a container's root folder.
fn inside(root: &Path) -> Option<Inside> {
    let marks = [
        ("var/run/secrets/kubernetes.io", Inside::Kubernetes),
        ("run/.containerenv", Inside::Podman),
        (".dockerenv", Inside::Docker),
    ];
    marks.into_iter().find(|(mark, _)| root.join(mark).exists()).map(|(_, inside)| inside)
}

/// `none [integrity] confidentiality` → `integrity`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

/// From /proc/self/limits.
fn open_files(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let number = |word: &str| if word == "unlimited" { Some(u64::MAX) } else { word.parse().ok() };
    let mut words = line.split_whitespace();
    Some((number(words.next()?)?, number(words.next()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// A machine, made of some files.
    fn machine(name: &str, files: &[(&str, &str)], pids: &str) -> (PathBuf, Limits) {
        let root =
            std::env::temp_dir().join(format!("nodescope-limits-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("proc/self/ns")).unwrap();
        symlink(pids, root.join("proc/self/ns/pid")).unwrap();
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        let limits = Limits::read(&Proc::new(root.join("proc")), &root);
        fs::remove_dir_all(&root).unwrap();
        (root, limits)
    }

    const STATUS: &str =
        "Pid:\t9\nPPid:\t1\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000004000080000\nSeccomp:\t2\n";

    #[test]
    fn a_machine_is_read_from_files() {
        let (_, limits) = machine(
            "all",
            &[
                ("proc/self/status", STATUS),
                (
                    "proc/self/limits",
                    "Max open files            1024                 524288               files\n",
                ),
                ("proc/self/attr/current", "docker-default (enforce)\n"),
                ("proc/sys/kernel/osrelease", "5.4.0-150-generic\n"),
                ("proc/sys/kernel/perf_event_paranoid", "4\n"),
                ("proc/sys/kernel/kptr_restrict", "1\n"),
                ("proc/sys/kernel/yama/ptrace_scope", "1\n"),
                ("proc/sys/kernel/perf_event_mlock_kb", "516\n"),
                ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
                (".dockerenv", ""),
            ],
            "pid:[4026532200]",
        );
        assert_eq!(
            (
                limits.uid,
                limits.paranoid,
                limits.kptr_restrict,
                limits.ptrace_scope,
                limits.mlock_kb
            ),
            (1000, Some(4), Some(1), Some(1), Some(516))
        );
        assert_eq!(limits.kernel_version(), Some((5, 4)));
        assert_eq!(limits.lockdown.as_deref(), Some("integrity"));
        assert_eq!(limits.open_files, Some((1024, 524_288)));
        assert!(limits.is_confined_by_docker);
        assert!(limits.is_filtered && limits.has_own_pids && limits.inside == Some(Inside::Docker));
        assert!(limits.has(Capability::Perfmon) && limits.has(Capability::SysPtrace));
        assert!(!limits.has(Capability::SysAdmin) && limits.may_sample_all());
    }

    /// A virtual machine may have been made from an image of Docker's: the mark alone means nothing.
    #[test]
    fn a_mark_alone_is_no_container() {
        let status = STATUS.replace("Seccomp:\t2", "Seccomp:\t0");
        let files = [("proc/self/status", &*status), (".dockerenv", "")];
        assert_eq!(machine("mark", &files, FIRST_PIDS).1.inside, None);
        assert_eq!(machine("apart", &files, "pid:[1]").1.inside, Some(Inside::Docker));
        assert_eq!(machine("other", &files[..1], "pid:[1]").1.inside, Some(Inside::Other));
    }

    #[test]
    fn nothing_is_an_answer_too() {
        let (_, limits) = machine("empty", &[], FIRST_PIDS);
        assert_eq!(limits, Limits::default());
        assert_eq!(limits.kernel_version(), None);
    }
}
