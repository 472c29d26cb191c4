//! What is read beside the samples: which processes there are by now, their perf maps, their event loops, the CPU time
//! that they used, and where their files are. All of it is gathered while they live: afterwards nothing knows it any
//! more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use capture::own;
use symbols::{GrowingNamer, Owners, Sources};
use target::{Container, Places};
use trace::Facts;

use super::account::Account;
use super::follow::Follower;
use super::proc;
use super::watching::Watching;
use crate::owners;

/// How soon it is asked what processes are after the start, and how often later.
const FIRST_SCAN: Duration = Duration::from_millis(100);
const SCAN: Duration = Duration::from_secs(1);
/// How often perf maps are looked at, and CPU times.
const PAUSE: Duration = Duration::from_millis(50);
const ACCOUNT_PAUSE: Duration = Duration::from_millis(200);
/// How often it is asked what a process is: it may become Node only after a while. And how often in all.
const MOST_QUESTIONS: u32 = 5;
const MOST_LISTS: u32 = 30;
/// Node runs beside few other programs.
const MOST_FOLLOWED: usize = 1000;

/// Everything that is read beside the samples.
pub(super) struct Beside {
    followers: Vec<Follower>,
    /// The event loops, unless the reader of names looks at them.
    watching: Watching,
    account: Option<Account>,
    kept: Kept,
    pids: BTreeSet<u32>,
    /// The users of the processes, whose perf maps are believed.
    owners: Owners,
    /// Processes that are known to be Node, and how often it was asked of each that is not.
    known: BTreeSet<u32>,
    questions: BTreeMap<u32, u32>,
    lists: u32,
    /// The first process, and what it is where it is not Node.
    first: Option<(u32, Option<String>)>,
    next_scan: Instant,
    next_look: Instant,
    next_account: Instant,
    scans: u32,
}

/// Folders and files that stay open, so that they are found after their process has ended.
#[derive(Default)]
struct Kept {
    /// By the view of files that it is the root of.
    folders: BTreeMap<PathBuf, OwnedFd>,
    files: Vec<File>,
    roots: BTreeMap<u32, PathBuf>,
    programs: BTreeMap<Vec<u8>, PathBuf>,
    inner_pids: BTreeMap<u32, u32>,
}

impl Beside {
    /// Begins. The first process and the account are none for a whole machine; loops are looked at here where nothing
    /// else does.
    pub(super) fn new(
        first: Option<u32>,
        pids: Vec<u32>,
        account: Option<Account>,
        has_loops: bool,
    ) -> Self {
        let now = Instant::now();
        let mut beside = Self {
            followers: Vec::new(),
            watching: if has_loops { Watching::new([], &[], false) } else { Watching::nothing() },
            account,
            kept: Kept::default(),
            pids: BTreeSet::new(),
            owners: owners::default_owners(),
            known: BTreeSet::new(),
            questions: BTreeMap::new(),
            lists: 0,
            first: first.map(|pid| (pid, None)),
            next_scan: now,
            next_look: now,
            next_account: now,
            scans: 0,
        };
        beside.take_in(pids);
        beside
    }

    /// Looks at everything that it is time for; appends what belongs into the recording.
    pub(super) fn look(&mut self, is_last: bool, out: &mut Vec<u8>) {
        let now = Instant::now();
        // First: what is reported below is the sum of it.
        if now >= self.next_account || is_last {
            self.next_account = now + ACCOUNT_PAUSE;
            self.account();
        }
        if now >= self.next_scan || is_last {
            self.scan(is_last, out);
            self.scans += 1;
            self.next_scan = now + if self.scans == 1 { FIRST_SCAN } else { SCAN };
        }
        // Nothing here can name a stack.
        let watched = if is_last { self.watching.finish() } else { self.watching.take() };
        out.extend_from_slice(&watched.records);
    }

    /// Looks at the perf maps, if it is time.
    pub(super) fn follow(&mut self, is_last: bool, namer: &mut GrowingNamer) {
        let now = Instant::now();
        if now < self.next_look && !is_last {
            return;
        }
        self.next_look = now + PAUSE;
        let now_ns = sys::clock::monotonic_ns();
        for follower in &mut self.followers {
            let pid = follower.pid();
            follower.look(now_ns, &mut |code| namer.take_code(pid, code));
            if follower.has_all() {
                namer.follow(pid);
            }
        }
    }

    fn account(&mut self) {
        if let Some(account) = &mut self.account {
            self.pids.iter().for_each(|pid| account.look(*pid));
        }
    }

    /// Notes where names come from, as far as that is known by now.
    pub(super) fn note_places(&self, sources: &mut Sources) {
        let Kept { roots, programs, inner_pids, .. } = &self.kept;
        sources.inner_pids.clone_from(inner_pids);
        sources.roots.clone_from(roots);
        sources.kept.clone_from(programs);
        sources.owners.clone_from(&self.owners);
    }

    /// The roots of processes.
    pub(super) fn roots(&self) -> &BTreeMap<u32, PathBuf> {
        &self.kept.roots
    }

    fn scan(&mut self, is_last: bool, out: &mut Vec<u8>) {
        // A process may change its user, and a command does when it becomes another program.
        for pid in &self.pids {
            self.owners.add(*pid, &owners::of_process(*pid));
        }
        self.write_facts(is_last, out);
        if is_last {
            self.note_not_node(out);
        }
        if let Some(account) = &self.account {
            out.extend(own::cpu_time(&account.total()));
        }
    }

    /// Learns from what was recorded which processes and threads began and ended.
    pub(super) fn learn(&mut self, bytes: &[u8]) {
        self.watching.learn(bytes);
        self.take_in(capture::new_processes(bytes));
    }

    /// Begins with processes that were not there before.
    fn take_in(&mut self, pids: impl IntoIterator<Item = u32>) {
        for pid in pids {
            if self.pids.len() < MOST_FOLLOWED && self.pids.insert(pid) {
                self.watching.add(pid);
                let inner_pid = proc::inner_pid(pid).unwrap_or(pid);
                self.kept.keep(pid, inner_pid);
                self.followers.push(Follower::new(
                    pid,
                    inner_pid,
                    self.kept.roots.get(&pid).cloned(),
                ));
            }
        }
    }

    /// Writes what is known of each process that is Node, and at the end once more: by then it listens on its ports.
    fn write_facts(&mut self, is_last: bool, out: &mut Vec<u8>) {
        let is_open =
            |pid: &u32| self.questions.get(pid).is_none_or(|asked| *asked < MOST_QUESTIONS);
        let open: Vec<u32> = self.pids.difference(&self.known).copied().filter(is_open).collect();
        if !is_last && (open.is_empty() || self.lists >= MOST_LISTS) {
            return;
        }
        self.lists += 1;
        // Asking for ports takes the kernel long where a machine has many connections: not while samples wait.
        let places = Places::of_processes(&self.pids, is_last || self.scans == 0);
        let Ok(list) = target::list(&places, Duration::ZERO) else { return };
        for process in list.processes.iter().filter(|process| self.pids.contains(&process.pid)) {
            if self.known.insert(process.pid) || is_last {
                out.extend(facts_of(process));
            }
        }
        open.iter().for_each(|pid| *self.questions.entry(*pid).or_default() += 1);
        if let Some((pid, program)) = &mut self.first
            && let Some(seen) = target::other_program(*pid)
        {
            *program = Some(seen);
        }
    }

    /// Where nothing was Node, one sentence reports that, and no advice for Node is given.
    fn note_not_node(&self, out: &mut Vec<u8>) {
        let Some((pid, Some(program))) = self.first.as_ref().filter(|_| self.known.is_empty())
        else {
            return;
        };
        let unnamed = format!("{program} is not Node");
        let (command, unnamed) = (program.as_bytes(), unnamed.as_bytes());
        out.extend(own::facts(&Facts { pid: *pid, command, unnamed, ..Facts::default() }));
        out.extend(own::note(&not_node(*pid, program)));
    }
}

/// The sentence about a program that is not Node.
pub fn not_node(pid: u32, program: &str) -> String {
    format!("process {pid} is {program}, not Node: only its native code can have names")
}

fn facts_of(process: &target::Process) -> Vec<u8> {
    let container = process.container.as_ref().map(name_of).unwrap_or_default();
    let ports: Vec<String> = process.ports.iter().map(u16::to_string).collect();
    let bytes = |text: &'_ Option<String>| text.clone().unwrap_or_default().into_bytes();
    let unnamed = match (process.ways.names.open, process.is_known_v8) {
        (true, _) => "",
        (false, true) => &process.ways.names.why,
        (false, false) => "nodescope does not know its V8",
    };
    own::facts(&Facts {
        pid: process.pid,
        inner_pid: process.inner_pid,
        container: container.as_bytes(),
        node_version: &bytes(&process.node_version),
        app: &bytes(&process.app),
        command: process.short_command().as_bytes(),
        folder: &bytes(&process.folder),
        ports: ports.join(",").as_bytes(),
        unnamed: unnamed.as_bytes(),
        parent: process.parent_pid.to_string().as_bytes(),
    })
}

/// What people call a container.
pub fn name_of(container: &Container) -> String {
    let short = container.id.chars().take(12).collect();
    let name = container.name.clone().unwrap_or(short);
    container.pod.as_ref().map_or(name.clone(), |pod| format!("{pod}/{name}"))
}

impl Kept {
    /// Keeps the root of a process where it is not ours, and its program where that was replaced on disk.
    fn keep(&mut self, pid: u32, inner_pid: u32) {
        if inner_pid != pid {
            self.inner_pids.insert(pid, inner_pid);
        }
        if let Some((path, view)) = proc::root(pid) {
            let folder = match self.folders.get(&view) {
                Some(folder) => Some(folder.as_raw_fd()),
                None => sys::files::open_folder(&path).ok().map(|folder| {
                    let number = folder.as_raw_fd();
                    self.folders.insert(view, folder);
                    number
                }),
            };
            self.roots.extend(
                folder.map(|number| (pid, PathBuf::from(format!("/proc/self/fd/{number}")))),
            );
        }
        if let Some(path) = proc::deleted_program(pid)
            && let Ok(file) = File::open(format!("/proc/{pid}/exe"))
        {
            self.programs
                .insert(path, PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())));
            self.files.push(file);
        }
    }
}
