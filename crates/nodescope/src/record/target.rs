//! What is recorded: processes that run, or a command that is started for it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use super::choose;
use crate::advice::Subject;
use crate::cli;
use crate::failure::Failure;

/// Says to the program that stands in for a command what it waits for: this file's end.
const GATE: &str = "NODESCOPE_GATE";

/// The unit of times in /proc/PID/stat, on every Linux that Node runs on.
const TICK_NS: u64 = 10_000_000;

/// Processes, and the command that was started, if one was.
pub(super) struct Target {
    pids: Vec<u32>,
    name: String,
    children: bool,
    command: Option<Started>,
}

/// A command that waits to begin.
struct Started {
    child: Child,
    gate: PathBuf,
    status: Option<i32>,
}

impl Target {
    pub(super) fn find(arguments: &cli::Record) -> Result<Self, Failure> {
        let is_named = arguments.target.is_some()
            || !arguments.pid.is_empty()
            || arguments.container.is_some()
            || arguments.matching.is_some()
            || arguments.all;
        if !arguments.command.is_empty() {
            return match is_named {
                true => Err(Failure::usage("a command is started, so no process can be named beside it")),
                false => Self::start(arguments),
            };
        }
        let mut pids = choose::pids(arguments)?;
        let name = name_of(pids[0])?;
        if !arguments.no_children {
            add_children(&mut pids);
        }
        Ok(Self { pids, name, children: !arguments.no_children, command: None })
    }

    /// Starts ourselves in the command's place: the events must be there before its first instruction.
    fn start(arguments: &cli::Record) -> Result<Self, Failure> {
        let gate = std::env::temp_dir().join(format!("nodescope-{}.gate", std::process::id()));
        let failed =
            |what: &str| Failure::failed(format!("cannot start {}: {what}", arguments.command[0].display()));
        fs::write(&gate, "").map_err(|error| failed(&error.to_string()))?;
        let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
        let child = Command::new(program).args(&arguments.command).env(GATE, &gate).spawn();
        let child = child.map_err(|error| failed(&error.to_string()))?;
        let name = Path::new(&arguments.command[0]).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let pids = vec![child.id()];
        let command = Some(Started { child, gate, status: None });
        Ok(Self { pids, name, children: !arguments.no_children, command })
    }

    pub(super) fn pids(&self) -> &[u32] {
        &self.pids
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_command(&self) -> bool {
        self.command.is_some()
    }

    /// `node (pid 4140)`.
    pub(super) fn describe(&self) -> String {
        let pids: Vec<String> = self.pids.iter().map(ToString::to_string).collect();
        format!("{} (pid {})", self.name, pids.join(", "))
    }

    /// As advice speaks of it.
    pub(super) fn subject(&self) -> Subject<'_> {
        let again = match (self.is_command(), self.pids.first()) {
            (false, Some(pid)) => format!("record {pid}"),
            _ => "record -- COMMAND".to_owned(),
        };
        Subject { name: &self.name, again, is_anothers: self.is_of_another_user() }
    }

    fn is_of_another_user(&self) -> bool {
        let user = |process: &str| fs::metadata(format!("/proc/{process}")).map(|meta| meta.uid()).ok();
        self.pids.iter().any(|pid| user(&pid.to_string()) != user("self"))
    }

    /// Where the files of the process are, if it sees others than we do.
    pub(super) fn root(&self) -> Option<PathBuf> {
        let pid = self.pids.first()?;
        let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        let is_elsewhere =
            mounts(&pid.to_string())? != mounts("self")? || fs::read_link(&root).ok()? != Path::new("/");
        is_elsewhere.then_some(root)
    }

    /// The CPU time that the processes have spent in the kernel, as far as it can be seen.
    pub(super) fn kernel_ns(&self) -> u64 {
        let ticks = |pid: &u32| stat_fields(*pid).and_then(|fields| fields.get(12)?.parse::<u64>().ok());
        self.pids.iter().filter_map(ticks).sum::<u64>().saturating_mul(TICK_NS)
    }

    /// The processes and those that they have started by now, each with the pid that it calls itself.
    pub(super) fn all_pids(&mut self) -> Vec<(u32, u32)> {
        let mut pids = self.pids.clone();
        if self.children {
            add_children(&mut pids);
        }
        pids.into_iter().map(|pid| (pid, inner_pid(pid).unwrap_or(pid))).collect()
    }

    /// What the processes call themselves, where that is not what we call them.
    pub(super) fn inner_pids(&self) -> BTreeMap<u32, u32> {
        let other = |pid: &u32| inner_pid(*pid).filter(|inner| inner != pid).map(|inner| (*pid, inner));
        self.pids.iter().filter_map(other).collect()
    }

    /// Lets the command begin.
    pub(super) fn let_go(&self) -> Result<(), Failure> {
        let Some(started) = &self.command else { return Ok(()) };
        fs::remove_file(&started.gate).map_err(|error| Failure::failed(error.to_string()))
    }

    /// Whether nothing is left to sample.
    pub(super) fn has_ended(&mut self) -> bool {
        if let Some(started) = &mut self.command {
            if let Ok(Some(status)) = started.child.try_wait() {
                started.status = Some(status.code().unwrap_or(128 + status.signal().unwrap_or(0)));
            }
            return started.status.is_some();
        }
        self.pids.iter().all(|pid| is_over(*pid))
    }

    /// A command's status is ours. One that still runs is waited for: it was started to run.
    pub(super) fn status(mut self) -> Result<(), Failure> {
        let Some(started) = &mut self.command else { return Ok(()) };
        let status = match started.status {
            Some(status) => status,
            None => started.child.wait().ok().and_then(|status| status.code()).unwrap_or(1),
        };
        if status == 0 { Ok(()) } else { Err(Failure::Ended(u8::try_from(status).unwrap_or(1))) }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(started) = &self.command {
            // If it is still there, the command must not begin any more.
            if started.gate.exists() {
                let _ = fs::write(&started.gate, "end");
            }
        }
    }
}

/// The processes that they have started, and those that these have started: a cluster's workers.
fn add_children(pids: &mut Vec<u32>) {
    let number = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<u32>().ok();
    let all: Vec<u32> = fs::read_dir("/proc").into_iter().flatten().filter_map(number).collect();
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all {
        if let Some(parent) = stat_fields(pid).and_then(|fields| fields.get(1)?.parse().ok()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut at = 0;
    while let Some(pid) = pids.get(at) {
        for child in children.remove(pid).unwrap_or_default() {
            if !pids.contains(&child) {
                pids.push(child);
            }
        }
        at += 1;
    }
}

/// What stands behind the name in /proc/PID/stat: state, parent, …
fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.split(' ').map(str::to_owned).collect())
}

/// What a process calls itself: the last of its pids, from the outermost namespace to its own.
fn inner_pid(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

fn name_of(pid: u32) -> Result<String, Failure> {
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).map_err(|_| {
        Failure::failed(format!("there is no process {pid}")).hint("nodescope ps lists Node's processes")
    })?;
    Ok(comm.trim_end().to_owned())
}

/// Ended, or ended and not yet fetched by its parent.
fn is_over(pid: u32) -> bool {
    let state = stat_fields(pid).and_then(|fields| fields.first()?.chars().next());
    matches!(state, None | Some('Z' | 'X'))
}

/// Stands in for a command until the gate opens, then becomes it. Returns only when it cannot.
pub(crate) fn stand_in() -> Option<Failure> {
    let gate = PathBuf::from(std::env::var_os(GATE)?);
    let mut words = std::env::args_os().skip(1);
    let program = words.next()?;
    while let Ok(text) = fs::read(&gate) {
        if !text.is_empty() {
            // Nobody will open it: whoever started us has ended.
            let _ = fs::remove_file(&gate);
            std::process::exit(1);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let error = Command::new(&program).args(words).env_remove(GATE).exec();
    Some(Failure::failed(format!("cannot start {}: {error}", program.display())).hint("is it in the PATH?"))
}
