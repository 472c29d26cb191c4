//! The list of Node processes: everything that the other files know of each, put together.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::command::Command;
use crate::linux::access::{Facts, Machine, Ways, ways};
use crate::linux::binary::{Binaries, Program};
use crate::linux::container::{Container, Containers};
use crate::linux::identity::{Identity, identify};
use crate::linux::inspector::{Hidden, Listeners};
use crate::linux::limits::{Capability, FIRST_USERS};
use crate::linux::perf_map::{PerfMap, perf_map};
use crate::linux::proc::{Proc, read};
use crate::linux::role::{Environment, Role, Traits, pm2, pm2_name, roles};
use crate::linux::status::{Stat, Status, TICKS_A_SECOND};

/// A Node process.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// Its pid here.
    pub pid: u32,
    /// Its pid as it knows itself.
    pub inner_pid: u32,
    /// Its parent.
    pub parent_pid: u32,
    /// Whether its ELF file was seen to be Node; else this user may not look, and only its command line shows that.
    pub is_certain: bool,
    /// `v22.1.0`.
    pub node_version: Option<String>,
    /// Whose it is.
    pub uid: u32,
    /// That user's name.
    pub user: Option<String>,
    /// The container that it is in.
    pub container: Option<Container>,
    /// How long it runs.
    pub uptime_s: f64,
    /// How many cores it kept busy while we looked.
    pub cpu_cores: f64,
    /// How many threads it has.
    pub threads: u32,
    /// What it is for.
    pub role: Role,
    /// The number that pm2 gave to it; empty where pm2 runs it under no number that can be seen.
    pub pm2_id: Option<String>,
    /// What the application is called: by pm2, or by the package.json of its working folder or script.
    pub app: Option<String>,
    /// Its working folder, as it sees it.
    pub folder: Option<String>,
    /// The whole path of its script.
    pub script: Option<String>,
    /// The TCP ports that it listens on, without its inspector's; empty with [`Places::without_ports`].
    pub ports: Vec<u16>,
    /// Its command line without the values of arguments.
    pub command: String,
    /// The options that matter to a profiler.
    pub flags: Vec<String>,
    /// Whether the objects of its V8 can be read for names; false where its program may not be looked at.
    pub is_known_v8: bool,
    /// Its perf map.
    pub perf_map: Option<PerfMap>,
    /// How this user gets in.
    pub ways: Ways,
}

/// The Node processes, and what could not be looked at.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The busiest first, tools last.
    pub processes: Vec<Process>,
    /// How many processes of other users this user may not look at, and nothing shows what they are.
    pub hidden: usize,
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct Places {
    /// The kernel's view of processes.
    pub proc: Proc,
    /// The names of users.
    pub passwd: PathBuf,
    /// Where container engines listen.
    pub sockets: Vec<PathBuf>,
    /// Where logs of pods are.
    pub pod_logs: PathBuf,
    /// Where containerd and CRI-O keep the configuration of what they run.
    pub bundles: Vec<PathBuf>,
    /// Whether open inspectors are looked for: the kernel goes through all connections of the machine for that.
    pub ports: bool,
    /// The processes that are looked at, where they are known; otherwise all of them.
    pub only: Option<BTreeSet<u32>>,
}

/// A process as it was found.
struct Found {
    status: Status,
    stat: Stat,
    /// When `stat` was read.
    seen: Instant,
    program: Program,
    traits: Traits,
    cpu_cores: f64,
}

/// What is asked once for all processes.
struct Machinery<'a> {
    places: &'a Places,
    machine: Machine,
    uptime_s: f64,
    users: HashMap<u32, String>,
    containers: Containers,
    listeners: Listeners,
    own_network: Option<PathBuf>,
}

/// Large machines have thousands of users.
const MOST_PASSWD: u64 = 4 << 20;

/// How far we go up from ourselves.
const MOST_ANCESTORS: usize = 64;

/// Why there are no names where the program may not be looked at.
const UNSEEN: &str = "its program may not be read (needs root)";

/// What a program is called that may be Node when its file cannot be seen.
const LIKELY_NAMES: [&str; 2] = ["node", "nodejs"];

/// The usual folders of containerd (k3s has its own) and of CRI-O, where root may look.
const BUNDLES: [&str; 3] = [
    "/run/containerd/io.containerd.runtime.v2.task",
    "/run/k3s/containerd/io.containerd.runtime.v2.task",
    "/run/containers/storage/overlay-containers",
];

impl Default for Places {
    fn default() -> Self {
        let usual = ["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"];
        let typed = std::env::var("DOCKER_HOST").ok();
        let typed =
            typed.as_deref().and_then(|host| host.strip_prefix("unix://")).map(PathBuf::from);
        let rootless = std::env::var_os("XDG_RUNTIME_DIR")
            .map(|folder| Path::new(&folder).join("podman/podman.sock"));
        Self {
            proc: Proc::default(),
            passwd: "/etc/passwd".into(),
            sockets: typed.into_iter().chain(usual.map(PathBuf::from)).chain(rootless).collect(),
            pod_logs: "/var/log/containers".into(),
            bundles: BUNDLES.map(PathBuf::from).to_vec(),
            ports: true,
            only: None,
        }
    }
}

impl Places {
    /// The usual ones, without asking which inspectors are open.
    pub fn without_ports() -> Self {
        Self { ports: false, ..Self::default() }
    }

    /// The usual ones, for some processes alone. Whether their inspectors are open may be left out.
    pub fn of_processes(pids: &BTreeSet<u32>, ports: bool) -> Self {
        Self { ports, only: Some(pids.clone()), ..Self::default() }
    }
}

impl Process {
    /// The command line with the program's name alone: where Node is installed matters less than what it runs.
    pub fn short_command(&self) -> String {
        let (program, rest) = self.command.split_once(' ').unwrap_or((&self.command, ""));
        let program = program.rsplit('/').next().unwrap_or(program);
        format!("{program} {rest}").trim_end().to_owned()
    }
}

/// What people call a process: its application, else its script; `None` where it is not Node, or may not be seen.
pub fn title(pid: u32) -> Option<String> {
    let proc = Proc::default();
    if !matches!(Binaries::default().look(&proc, pid), Ok(Program::Node { .. })) {
        return None;
    }
    let found = look(&proc, pid, Program::Hidden, false)?;
    let Identity { script, app, .. } = identify(&proc, pid, found.traits.command.script.as_deref());
    let stem = || Some(Path::new(&script?).file_stem()?.to_string_lossy().into_owned());
    pm2_name(&found.traits).or(app).or_else(stem)
}

/// The file name of the program that a process runs, where that was seen not to be Node.
pub fn other_program(pid: u32) -> Option<String> {
    let proc = Proc::default();
    let program = Binaries::default().look(&proc, pid).ok()?;
    let path = proc.link_of(pid, "exe").ok().filter(|_| program == Program::Other)?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(name.strip_suffix(" (deleted)").map(str::to_owned).unwrap_or(name))
}

/// Every Node process. Looks twice, `pause` apart, to see which are busy. A process that ends meanwhile is left out.
pub fn list(places: &Places, pause: Duration) -> io::Result<List> {
    let proc = &places.proc;
    let own = Status::parse(&proc.text("self/status")?)
        .ok_or_else(|| io::Error::other("no /proc/self/status"))?;
    let ancestors = ancestors(proc, &own);
    let pids = match &places.only {
        Some(pids) => pids.iter().copied().collect(),
        None => proc.pids()?,
    };
    let (mut found, hidden) = find(proc, &pids, own.pid, &ancestors);
    if !found.is_empty() {
        thread::sleep(pause);
    }
    found.retain_mut(|process| measure(proc, process));
    let traits: Vec<Traits> = found.iter().map(|process| process.traits.clone()).collect();
    let mut machinery = Machinery::new(places, own)?;
    let roles = roles(&traits);
    let mut processes: Vec<Process> = found
        .into_iter()
        .zip(roles)
        .map(|(process, role)| machinery.describe(process, role))
        .collect();
    processes.sort_by(|a, b| {
        let is_tool = |process: &Process| matches!(process.role, Role::Tool { .. });
        is_tool(a)
            .cmp(&is_tool(b))
            .then(b.cpu_cores.total_cmp(&a.cpu_cores))
            .then(a.pid.cmp(&b.pid))
    });
    Ok(List { processes, hidden })
}

fn ancestors(proc: &Proc, own: &Status) -> HashSet<u32> {
    let mut ancestors = HashSet::new();
    let mut pid = own.parent;
    while pid > 1 && ancestors.len() < MOST_ANCESTORS && ancestors.insert(pid) {
        let parent = proc.text_of(pid, "status").ok().and_then(|text| Status::parse(&text));
        pid = parent.map_or(0, |status| status.parent);
    }
    ancestors
}

/// The processes that are Node, and how many may be and cannot be looked at.
fn find(proc: &Proc, pids: &[u32], own_pid: u32, ancestors: &HashSet<u32>) -> (Vec<Found>, usize) {
    let mut binaries = Binaries::default();
    let (mut found, mut hidden) = (Vec::new(), 0);
    for pid in pids.iter().copied().filter(|pid| *pid != own_pid) {
        // An error means that the process has ended, or that it is the kernel's own and has no file.
        let Ok(program) = binaries.look(proc, pid) else { continue };
        if program == Program::Other {
            continue;
        }
        let Some(process) = look(proc, pid, program, ancestors.contains(&pid)) else { continue };
        let base = process.traits.command.program.rsplit('/').next().unwrap_or_default().to_owned();
        if process.program != Program::Hidden || LIKELY_NAMES.contains(&base.as_str()) {
            found.push(process);
        } else if !process.traits.command.program.is_empty() {
            hidden += 1;
        }
    }
    (found, hidden)
}

fn look(proc: &Proc, pid: u32, program: Program, is_ancestor: bool) -> Option<Found> {
    let status = Status::parse(&proc.text_of(pid, "status").ok()?)?;
    let (stat, seen) = (Stat::parse(&proc.text_of(pid, "stat").ok()?)?, Instant::now());
    let environment = proc.bytes_of(pid, "environ").ok().map(|bytes| Environment::parse(&bytes));
    let node_options =
        environment.as_ref().and_then(|environment| environment.node_options.as_deref());
    let command = Command::parse(&proc.bytes_of(pid, "cmdline").ok()?, node_options);
    let traits = Traits { pid, parent: status.parent, command, environment, is_ancestor };
    Some(Found { status, stat, seen, program, traits, cpu_cores: 0.0 })
}

/// Looks again. A pid that means another process by now has ended, too.
fn measure(proc: &Proc, process: &mut Found) -> bool {
    let text = proc.text_of(process.status.pid, "stat").ok();
    let Some(now) = text.and_then(|text| Stat::parse(&text)) else { return false };
    let elapsed_s = process.seen.elapsed().as_secs_f64();
    let used_s = now.ticks.saturating_sub(process.stat.ticks) as f64 / TICKS_A_SECOND;
    process.cpu_cores = if elapsed_s > 0.0 { used_s / elapsed_s } else { 0.0 };
    now.start_ticks == process.stat.start_ticks
}

impl<'a> Machinery<'a> {
    fn new(places: &'a Places, mut own: Status) -> io::Result<Self> {
        let proc = &places.proc;
        if proc.own_link("ns/user").is_ok_and(|users| users != Path::new(FIRST_USERS)) {
            // They count inside only, and what they are asked for here is outside.
            own.drop_capabilities(&[Capability::Perfmon, Capability::SysAdmin]);
        }
        let number = |path: &str| proc.text(path).ok()?.trim().parse().ok();
        let uptime = proc.text("uptime")?;
        let uptime_s = uptime.split_whitespace().next().and_then(|seconds| seconds.parse().ok());
        Ok(Self {
            places,
            uptime_s: uptime_s.unwrap_or_default(),
            users: users(places),
            containers: Containers::new(&places.sockets, &places.pod_logs, &places.bundles),
            listeners: Listeners::default(),
            own_network: proc.link_of(own.pid, "ns/net").ok(),
            machine: Machine {
                own,
                perf_event_paranoid: number("sys/kernel/perf_event_paranoid"),
                ptrace_scope: number("sys/kernel/yama/ptrace_scope"),
            },
        })
    }

    fn describe(&mut self, found: Found, role: Role) -> Process {
        let proc = &self.places.proc;
        let Found { status, stat, program, traits, cpu_cores, .. } = found;
        let pid = status.pid;
        let uptime_s = (self.uptime_s - stat.start_ticks as f64 / TICKS_A_SECOND).max(0.0);
        let map = perf_map(proc, pid, &status, uptime_s).map_err(|_| Hidden);
        let network = proc.link_of(pid, "ns/net").ok();
        let (is_certain, node_version, unreadable) = match program {
            Program::Node { version, unreadable } => (true, version, unreadable),
            Program::Other | Program::Hidden => (false, None, UNSEEN.to_owned()),
        };
        let (inspector_port, ports) = match self.places.ports {
            true => self.listeners.ports(proc, pid, &traits.command),
            false => (Ok(None), Vec::new()),
        };
        let Identity { folder, script, app } =
            identify(proc, pid, traits.command.script.as_deref());
        let facts = Facts {
            machine: &self.machine,
            status: &status,
            command: &traits.command,
            perf_map: map.as_ref().map(Option::as_ref).map_err(|hidden| *hidden),
            inspector_port,
            shares_network: network.map(|network| Some(network) == self.own_network),
            uptime_s,
            unreadable: &unreadable,
        };
        let ways = ways(&facts);
        let cgroup = proc.text_of(pid, "cgroup").unwrap_or_default();
        let uid = status.uids[1];
        Process {
            pid,
            inner_pid: status.inner_pid,
            parent_pid: status.parent,
            is_certain,
            node_version,
            uid,
            user: self.users.get(&uid).cloned(),
            container: self.containers.find(&cgroup),
            uptime_s: rounded(uptime_s),
            cpu_cores: rounded(cpu_cores),
            threads: status.threads,
            role,
            pm2_id: pm2(&traits),
            app: pm2_name(&traits).or(app),
            folder,
            script,
            ports,
            command: traits.command.redacted,
            flags: traits.command.flags,
            is_known_v8: unreadable.is_empty(),
            perf_map: map.unwrap_or_default(),
            ways,
        }
    }
}

/// To the resolution of the kernel's clock: a hundredth.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Names by uid; the first line for a uid counts.
fn users(places: &Places) -> HashMap<u32, String> {
    let text = read(&places.passwd, MOST_PASSWD).unwrap_or_default();
    let mut users = HashMap::new();
    for line in String::from_utf8_lossy(&text).lines() {
        let mut fields = line.split(':');
        let (name, uid) = (fields.next(), fields.nth(1).and_then(|uid| uid.parse().ok()));
        if let (Some(name), Some(uid)) = (name, uid) {
            users.entry(uid).or_insert_with(|| name.to_owned());
        }
    }
    users
}
