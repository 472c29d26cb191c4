//! What is recorded: processes that run, or a command that is started for it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use live::{Job, proc};

use super::choose::{self, Wanted};
use crate::advice::Subject;
use crate::failure::{Failure, warn};
use crate::{cli, invoked};

/// So many pids are printed.
const MOST_PIDS: usize = 5;

/// Processes, and the command that was started, if one was.
pub(crate) struct Target {
    pids: Vec<u32>,
    /// When each of them began: a pid may be used again.
    born: BTreeMap<u32, u64>,
    name: String,
    children: bool,
    is_system: bool,
    command: Option<Started>,
    /// The command of nodescope that was typed.
    verb: &'static str,
    /// When it was asked whether they run.
    asked: Instant,
}

/// How often that is asked: the kernel takes some 60 µs for the answer.
const PAUSE: Duration = Duration::from_millis(200);

/// How often it is asked whether a command has ended.
const WAIT: Duration = Duration::from_millis(20);
/// How long a command has to end by itself after Ctrl-C.
const OWN_END: Duration = Duration::from_secs(2);

/// A command that waits to begin.
struct Started {
    child: Child,
    gate: PathBuf,
    status: Option<i32>,
}

impl Target {
    pub(super) fn find(arguments: &cli::Record) -> Result<Self, Failure> {
        let is_named = arguments.processes.target.is_some()
            || !arguments.processes.pid.is_empty()
            || arguments.processes.container.is_some()
            || arguments.processes.matching.is_some()
            || arguments.processes.all;
        if !arguments.command.is_empty() {
            return match is_named {
                true => Err(Failure::usage(
                    "a command is started, so no process can be named beside it",
                )),
                false => Self::start(arguments),
            };
        }
        if arguments.system {
            return match is_named {
                true => Err(Failure::usage(
                    "--system means everything, so no process can be named beside it",
                )),
                false => Ok(Self::system()),
            };
        }
        Self::running((&arguments.processes).into(), !arguments.processes.no_children, "record")
    }

    /// The processes that were meant, and those that they have started where `children` are wanted; `verb` is the
    /// command that was typed.
    pub(crate) fn running(
        wanted: Wanted<'_>,
        children: bool,
        verb: &'static str,
    ) -> Result<Self, Failure> {
        let mut pids = choose::pids(wanted)?;
        let name = name_of(pids[0])?;
        if children {
            proc::add_children(&mut pids);
        }
        let mut target = Self::of(pids, name, children);
        target.verb = verb;
        Ok(target)
    }

    /// Processes that run.
    fn of(pids: Vec<u32>, name: String, children: bool) -> Self {
        let (born, asked) = (births(&pids), Instant::now());
        Self { pids, born, name, children, is_system: false, command: None, verb: "record", asked }
    }

    fn system() -> Self {
        let mut target = Self::of(proc::all_pids(), "everything".into(), false);
        target.is_system = true;
        target
    }

    /// Starts ourselves in the command's place: the events must be there before its first instruction.
    fn start(arguments: &cli::Record) -> Result<Self, Failure> {
        let gate = std::env::temp_dir().join(format!("nodescope-{}.gate", std::process::id()));
        let failed = |what: &str| {
            Failure::failed(format!("cannot start {}: {what}", arguments.command[0].display()))
        };
        fs::write(&gate, "").map_err(|error| {
            Failure::writing(&gate.display().to_string(), &error)
                .hint("TMPDIR=/a/folder/that/can/be/written")
        })?;
        let stand_in = Job::StandIn(gate.clone()).command();
        let child = stand_in.and_then(|mut stand_in| stand_in.args(&arguments.command).spawn());
        let child = child.map_err(|error| failed(&error.to_string()))?;
        let name = title_of_command(&arguments.command);
        let mut target = Self::of(vec![child.id()], name, !arguments.processes.no_children);
        target.command = Some(Started { child, gate, status: None });
        Ok(target)
    }

    pub(crate) fn pids(&self) -> &[u32] {
        &self.pids
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_command(&self) -> bool {
        self.command.is_some()
    }

    /// `node (pid 4140)`.
    pub(crate) fn describe(&self) -> String {
        if self.is_system {
            return "everything that runs here".into();
        }
        let mut pids: Vec<String> =
            self.pids.iter().take(MOST_PIDS).map(ToString::to_string).collect();
        if self.pids.len() > MOST_PIDS {
            pids.push(format!("{} more", self.pids.len() - MOST_PIDS));
        }
        format!("{} (pid {})", self.name, pids.join(", "))
    }

    /// The target as `advice` needs it.
    pub(super) fn subject(&self) -> Subject<'_> {
        let again = match (self.is_command(), self.pids.first()) {
            (false, Some(pid)) => format!("{} {pid}", self.verb),
            _ => "record -- COMMAND".to_owned(),
        };
        Subject { name: &self.name, again, is_anothers: self.is_of_another_user() }
    }

    fn is_of_another_user(&self) -> bool {
        self.pids.iter().any(|pid| proc::is_of_another_user(*pid))
    }

    /// Whether everything that runs here is meant.
    pub(super) fn is_system(&self) -> bool {
        self.is_system
    }

    /// The processes and those that they have started by now.
    pub(crate) fn all_pids(&self) -> Vec<u32> {
        let mut pids: Vec<u32> =
            self.pids.iter().copied().filter(|pid| !self.is_another(*pid)).collect();
        if self.children {
            proc::add_children(&mut pids);
        }
        pids
    }

    /// Whether a pid that was meant is that of another process by now.
    pub(super) fn is_another(&self, pid: u32) -> bool {
        let born = self.born.get(&pid);
        born.is_some_and(|born| proc::times(pid).is_some_and(|times| times.born != *born))
    }

    /// Lets the command begin.
    pub(super) fn let_go(&self) -> Result<(), Failure> {
        let Some(started) = &self.command else { return Ok(()) };
        fs::remove_file(&started.gate).map_err(|error| Failure::failed(error.to_string()))
    }

    /// Whether nothing is left to sample.
    pub(crate) fn has_ended(&mut self) -> bool {
        if let Some(started) = &mut self.command {
            return started.has_ended();
        }
        if self.is_system || self.asked.elapsed() < PAUSE {
            return false;
        }
        self.asked = Instant::now();
        self.born.iter().all(|(pid, born)| proc::is_over(*pid, *born))
    }

    /// The recording is over. From now on Ctrl-C is meant for a command that runs on.
    pub(super) fn end_of_recording(&self, by_signal: bool) {
        if self.is_command() {
            // Where it cannot be caught, it ends us at once.
            let _ = if by_signal { sys::signals::catch_again() } else { sys::signals::catch_end() };
        }
    }

    /// What `record` returns: what went wrong with the recording, else a command's own status. A command that still
    /// runs is waited for: it was started to run.
    pub(super) fn status(mut self, recorded: Result<(), Failure>) -> Result<(), Failure> {
        let is_running = self.is_command() && !self.has_ended();
        let described = self.describe();
        let Some(started) = &mut self.command else { return recorded };
        let recorded = match recorded {
            // The user should not wait for the command to hear of it.
            Err(failure) if is_running => {
                failure.report();
                Err(Failure::Ended(1))
            }
            recorded => recorded,
        };
        if is_running {
            warn(&format!("{described} still runs: waiting for its end, Ctrl-C ends it"));
            started.wait();
        }
        let status = started.status.unwrap_or(1);
        recorded?;
        if status == 0 { Ok(()) } else { Err(Failure::Ended(u8::try_from(status).unwrap_or(1))) }
    }
}

impl Started {
    fn has_ended(&mut self) -> bool {
        if let Ok(Some(status)) = self.child.try_wait() {
            self.status = Some(status.code().unwrap_or(128 + status.signal().unwrap_or(0)));
        }
        self.status.is_some()
    }

    /// Waits for its end. A terminal sends Ctrl-C to both of us; one that was sent to us alone is passed on.
    fn wait(&mut self) {
        let mut is_asked = None;
        while !self.has_ended() {
            std::thread::sleep(WAIT);
            let asked = sys::signals::ended().then(|| *is_asked.get_or_insert_with(Instant::now));
            if asked.is_some_and(|asked: Instant| asked.elapsed() >= OWN_END) {
                break;
            }
        }
        if !self.has_ended() {
            let _ =
                sys::pidfd::Pidfd::open(self.child.id()).and_then(|process| process.send_term());
            let _ = self.child.wait();
            self.has_ended();
        }
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

fn births(pids: &[u32]) -> BTreeMap<u32, u64> {
    pids.iter().filter_map(|pid| Some((*pid, proc::times(*pid)?.born))).collect()
}

fn name_of(pid: u32) -> Result<String, Failure> {
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).map_err(|_| {
        Failure::failed(format!("there is no process {pid}"))
            .hint(format!("{} ps lists Node's processes", invoked::name()))
    })?;
    Ok(::target::title(pid).unwrap_or_else(|| comm.trim_end().to_owned()))
}

/// What people call what they start: the package of this folder for Node and its launchers, else the tool that a
/// launcher starts, the script, or the program.
fn title_of_command(command: &[OsString]) -> String {
    let words: Vec<String> =
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let base = |word: &String| {
        Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned()
    };
    let program = words.first().map(base).unwrap_or_default();
    let is_launcher = profile::classify::is_launcher(&words.join(" "));
    if !is_launcher && program != "node" {
        return program;
    }
    let package = std::env::current_dir().ok().and_then(|folder| ::target::app_of_folder(&folder));
    let is_name =
        |word: &&String| !word.starts_with('-') && !LAUNCHER_VERBS.contains(&word.as_str());
    let script = || words.iter().skip(1).find(is_name).map(Path::new);
    let stem =
        || script().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    package.or_else(stem).unwrap_or(program)
}

/// What stands between a launcher and what it starts.
const LAUNCHER_VERBS: &[&str] = &["exec", "run", "run-script", "x", "dlx"];

/// Stands in for a command until the gate opens, then becomes it. Returns only when it cannot.
pub(crate) fn stand_in(gate: &Path) -> Failure {
    let mut words = std::env::args_os().skip(1);
    let Some(program) = words.next() else {
        return Failure::failed("there is no command to start");
    };
    let recorder = parent_id();
    while let Ok(text) = fs::read(gate) {
        if !text.is_empty() || parent_id() != recorder {
            // It will not open any more: the recorder has ended.
            let _ = fs::remove_file(gate);
            std::process::exit(1);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut command = Command::new(&program);
    Job::forget(&mut command);
    let error = command.args(words).exec();
    Failure::failed(format!("cannot start {}: {error}", program.display()))
        .hint("is it in the PATH?")
}
