//! The control groups of a process: which CPU limit holds for it, how often that held it back, how much its tasks
//! waited for CPU and memory, and whether it is frozen. Both versions of groups, and machines that mix them.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel's files are; tests make up a machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    proc: PathBuf,
    /// In front of the paths of mounts.
    root: PathBuf,
}

impl Default for Machine {
    fn default() -> Self {
        Self { proc: "/proc".into(), root: "/".into() }
    }
}

/// The groups of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// The group that limits its CPU time, and all groups around it, the innermost first.
    limiting: Vec<PathBuf>,
    is_first_version: bool,
    /// The files that show how much its tasks waited, or those of the whole machine.
    cpu_pressure: Option<PathBuf>,
    memory_pressure: Option<PathBuf>,
    freezer: Option<Freezer>,
}

#[derive(Clone, Debug)]
enum Freezer {
    First(PathBuf),
    Second(PathBuf),
}

/// What the limit of one group has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Throttling {
    pub(crate) periods: u64,
    pub(crate) throttled_periods: u64,
    pub(crate) throttled_ns: u64,
}

impl Throttling {
    /// What was added since another look.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(before.periods),
            throttled_periods: self.throttled_periods.saturating_sub(before.throttled_periods),
            throttled_ns: self.throttled_ns.saturating_sub(before.throttled_ns),
        }
    }
}

/// Deeper groups are made up.
const MOST_GROUPS: usize = 64;

impl Groups {
    /// The groups of a process.
    pub(crate) fn of(machine: &Machine, pid: u32) -> Self {
        let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        let (own, mounts) = (
            read(machine.proc.join(pid.to_string()).join("cgroup")),
            read(machine.proc.join("self/mountinfo")),
        );
        let folder = |kind: &str| folder(machine, &own, &mounts, kind);
        let (first, second) = (folder("cpu"), folder(""));
        let is_first_version = first.is_some();
        let limiting = first.or_else(|| second.clone()).map(around).unwrap_or_default();
        let pressure = |name: &str| {
            let own = second.as_ref().map(|(folder, _)| folder.join(format!("{name}.pressure")));
            own.filter(|path| path.is_file()).or_else(|| {
                Some(machine.proc.join("pressure").join(name)).filter(|path| path.is_file())
            })
        };
        let freezer = match folder("freezer") {
            Some((folder, _)) => Some(Freezer::First(folder.join("freezer.state"))),
            None => {
                second.as_ref().map(|(folder, _)| Freezer::Second(folder.join("cgroup.events")))
            }
        };
        let (cpu_pressure, memory_pressure) = (pressure("cpu"), pressure("memory"));
        Self { limiting, is_first_version, cpu_pressure, memory_pressure, freezer }
    }

    /// The lowest limit, in thousandths of a CPU.
    pub(crate) fn limit_millis(&self) -> Option<u32> {
        self.limiting.iter().filter_map(|folder| self.limit_of(folder)).min()
    }

    fn limit_of(&self, folder: &Path) -> Option<u32> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let (quota, period) = if self.is_first_version {
            (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)
        } else {
            let text = read("cpu.max")?;
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        };
        // "max" and -1 are no numbers: no limit.
        let (quota, period) =
            (quota.trim().parse::<u64>().ok()?, period.trim().parse::<u64>().ok()?);
        let millis = quota.checked_mul(1000)?.checked_div(period)?;
        u32::try_from(millis).ok()
    }

    /// What the limits have done so far, the innermost group first.
    pub(crate) fn throttling(&self) -> Vec<Throttling> {
        let statistics = |folder: &PathBuf| {
            let text = fs::read_to_string(folder.join("cpu.stat")).unwrap_or_default();
            let number = |name: &str| {
                text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
            };
            let usec = || number("throttled_usec ").map(|usec| usec.saturating_mul(1000));
            Throttling {
                periods: number("nr_periods ").unwrap_or(0),
                throttled_periods: number("nr_throttled ").unwrap_or(0),
                throttled_ns: number("throttled_time ").or_else(usec).unwrap_or(0),
            }
        };
        self.limiting.iter().map(statistics).collect()
    }

    /// For how long some task has waited for a CPU so far.
    pub(crate) fn cpu_pressure_ns(&self) -> Option<u64> {
        pressure(self.cpu_pressure.as_deref()?)
    }

    /// The same for memory.
    pub(crate) fn memory_pressure_ns(&self) -> Option<u64> {
        pressure(self.memory_pressure.as_deref()?)
    }

    /// Whether the group is frozen.
    pub(crate) fn is_frozen(&self) -> bool {
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        match &self.freezer {
            Some(Freezer::First(path)) => read(path).trim() == "FROZEN",
            Some(Freezer::Second(path)) => read(path).lines().any(|line| line == "frozen 1"),
            None => false,
        }
    }
}

/// A group's folder, and where its hierarchy is mounted. The kind is a controller's name, or empty for the second
/// version's hierarchy.
fn folder(machine: &Machine, own: &str, mounts: &str, kind: &str) -> Option<(PathBuf, PathBuf)> {
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, kinds, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = if kind.is_empty() {
            number == "0" && kinds.is_empty()
        } else {
            kinds.split(',').any(|one| one == kind)
        };
        is_it.then_some(path)
    })?;
    let (mounted_root, mount) = mounts.lines().find_map(|line| mount_of(line, kind))?;
    let mount = machine.root.join(mount.strip_prefix('/')?);
    // The mount may show a part of the hierarchy; what lies outside of it, as in a container, is not to be seen.
    let inside = path.strip_prefix(mounted_root.trim_end_matches('/')).unwrap_or(path);
    let found = mount.join(inside.trim_start_matches('/'));
    let is_inside = !inside.split('/').any(|part| part == "..");
    let found = if is_inside && found.is_dir() { found } else { mount.clone() };
    found.is_dir().then_some((found, mount))
}

/// What part of a hierarchy a line of mountinfo mounts, and where.
fn mount_of<'a>(line: &'a str, kind: &str) -> Option<(&'a str, &'a str)> {
    let (mount, system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let (root, place) = (mount.next()?, mount.next()?);
    let mut system = system.split(' ');
    let (name, options) = (system.next()?, system.next_back()?);
    let is_it = match kind {
        "" => name == "cgroup2",
        kind => name == "cgroup" && options.split(',').any(|option| option == kind),
    };
    is_it.then_some((root, place))
}

/// A group's folder and those around it, up to the mount.
fn around((folder, mount): (PathBuf, PathBuf)) -> Vec<PathBuf> {
    let inside = |path: &&Path| path.starts_with(&mount);
    folder.ancestors().take_while(inside).take(MOST_GROUPS).map(Path::to_owned).collect()
}

/// The sum in `some avg10=0.00 avg60=0.00 avg300=0.00 total=123`, which is in microseconds.
fn pressure(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split(' ').find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like a machine; it is removed at the end.
    struct Made(PathBuf);

    impl Made {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir()
                .join(format!("nodescope-groups-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
                fs::write(path, text).expect("it can be written");
            }
            Self(root)
        }

        fn groups(&self) -> Groups {
            Groups::of(&Machine { proc: self.0.join("proc"), root: self.0.clone() }, 7)
        }
    }

    impl Drop for Made {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const SECOND: &str =
        "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn the_second_version() {
        let made = Made::new(
            "second",
            &[
                ("proc/7/cgroup", "0::/pods/one\n"),
                ("proc/self/mountinfo", SECOND),
                (
                    "proc/pressure/memory",
                    "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull total=1\n",
                ),
                ("sys/fs/cgroup/cgroup.procs", ""),
                ("sys/fs/cgroup/pods/cpu.max", "150000 100000\n"),
                (
                    "sys/fs/cgroup/pods/cpu.stat",
                    "usage_usec 9\nnr_periods 95\nnr_throttled 87\nthrottled_usec 8800\n",
                ),
                ("sys/fs/cgroup/pods/one/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/pods/one/cpu.stat", "usage_usec 9\n"),
                (
                    "sys/fs/cgroup/pods/one/cpu.pressure",
                    "some avg10=1.00 avg60=0.00 avg300=0.00 total=77\n",
                ),
                ("sys/fs/cgroup/pods/one/cgroup.events", "populated 1\nfrozen 1\n"),
            ],
        );
        let groups = made.groups();
        assert_eq!(groups.limit_millis(), Some(1500));
        let pods = Throttling { periods: 95, throttled_periods: 87, throttled_ns: 8_800_000 };
        assert_eq!(groups.throttling(), [Throttling::default(), pods, Throttling::default()]);
        assert_eq!(
            (groups.cpu_pressure_ns(), groups.memory_pressure_ns()),
            (Some(77_000), Some(5_000))
        );
        assert!(groups.is_frozen());
    }

    #[test]
    fn the_first_version_beside_the_second() {
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let made = Made::new(
            "first",
            &[
                ("proc/7/cgroup", "6:freezer:/docker/1\n1:cpuacct,cpu:/docker/1\n0::/docker/1\n"),
                ("proc/self/mountinfo", mounts),
                ("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=6\n"),
                ("sys/fs/cgroup/unified/docker/1/cgroup.events", "frozen 0\n"),
                ("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "10000\n"),
                ("sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n"),
                (
                    "sys/fs/cgroup/cpu/docker/1/cpu.stat",
                    "nr_periods 3\nnr_throttled 2\nthrottled_time 123\n",
                ),
                ("sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/freezer/docker/1/freezer.state", "THAWED\n"),
            ],
        );
        let groups = made.groups();
        assert_eq!(groups.limit_millis(), Some(100));
        assert_eq!(groups.throttling().len(), 3);
        let own = Throttling { periods: 3, throttled_periods: 2, throttled_ns: 123 };
        assert_eq!(groups.throttling()[0], own);
        assert_eq!((groups.cpu_pressure_ns(), groups.memory_pressure_ns()), (Some(6_000), None));
        assert!(!groups.is_frozen());
        fs::write(made.0.join("sys/fs/cgroup/freezer/docker/1/freezer.state"), "FROZEN\n")
            .expect("it is there");
        assert!(groups.is_frozen());
    }

    #[test]
    fn inside_of_a_container_its_group_is_the_root() {
        for path in ["/", "/../elsewhere", "/docker/1"] {
            let made = Made::new(
                "inside",
                &[
                    ("proc/7/cgroup", &format!("0::{path}\n")),
                    ("proc/self/mountinfo", SECOND),
                    ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
                ],
            );
            assert_eq!(made.groups().limit_millis(), Some(500), "{path}");
        }
        let part = "31 23 0:28 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let made = Made::new(
            "part",
            &[
                ("proc/7/cgroup", "0::/docker/1/app\n"),
                ("proc/self/mountinfo", part),
                ("sys/fs/cgroup/app/cpu.max", "20000 100000\n"),
            ],
        );
        assert_eq!(made.groups().limit_millis(), Some(200));
    }

    #[test]
    fn a_machine_without_groups_has_no_limit() {
        let made = Made::new(
            "none",
            &[("proc/7/cgroup", "nonsense\n"), ("proc/self/mountinfo", "nonsense\n")],
        );
        let groups = made.groups();
        assert_eq!(
            (groups.limit_millis(), groups.cpu_pressure_ns(), groups.is_frozen()),
            (None, None, false)
        );
        assert!(groups.throttling().is_empty());
    }
}
