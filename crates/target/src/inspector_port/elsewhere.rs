//! The inspector port on macOS and Windows: the system reports whose a listening socket is. What must hold before a
//! process is asked to open one, and how it is asked, is the `gate` of each system.

#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use sys::processes::{self, Listener, Process};

use super::ask::{self, USUAL_PORTS, reachable};
use super::{Holder, Opening, Refusal};
use crate::command::Command;
use crate::elsewhere::{command_of, is_node};
#[cfg(target_os = "macos")]
use macos::Gate;
#[cfg(windows)]
use windows::Gate;

/// An inspector that listens.
#[derive(Debug)]
pub struct InspectorPort {
    pid: u32,
    listener: Listener,
    is_ours: bool,
}

/// How often to look for the port: Node needs 16 to 67 ms.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long the port may take to answer that it is one.
const CONNECT: Duration = Duration::from_millis(500);

/// A server of the program may happen to open now: it is not asked more often than this.
const MOST_QUESTIONS: usize = 3;

impl InspectorPort {
    /// A port that is open already: by --inspect, or because it was opened before. Nothing is sent to the process, and
    /// only ports that are likely its inspector are asked.
    pub fn find(pid: u32) -> Result<Option<Self>, Refusal> {
        let process = hold(pid)?;
        let wanted = command_of(&process).wanted_port();
        // One whose owner is not known may be the inspector of another process.
        let is_likely = |listener: &Listener| match wanted {
            _ if listener.pid.is_none() => false,
            // Any free port.
            Some(0) => true,
            Some(port) => listener.address.port() == port,
            None => USUAL_PORTS.contains(&listener.address.port()),
        };
        let found = listeners_for(&process)?.into_iter().filter(is_likely).find(answers);
        Ok(found.map(|listener| Self { pid, listener, is_ours: false }))
    }

    /// An open port, or one that Node opens when it is asked: only where that does no harm, and where the port is free.
    pub fn open(pid: u32, opening: &Opening) -> Result<Self, Refusal> {
        if let Some(inspector) = Self::find(pid)? {
            return Ok(inspector);
        }
        let (process, gate, command) = prepare(pid)?;
        let mut newcomers = Newcomers { before: listeners_for(&process)?, asked: Vec::new() };
        gate.check(&process, opening)?;
        gate.ask(&process)?;
        let end = Instant::now() + opening.within;
        loop {
            let is_over = Instant::now() >= end;
            if let Some(listener) = newcomers.inspector(&process) {
                return Ok(Self { pid, listener, is_ours: true });
            }
            if process.has_ended() {
                return Err(Refusal::EndedAfterSignal(pid));
            }
            if is_over {
                return Err(no_port(&process, &command, opening.within));
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Whether a process would open its inspector, as far as can be known without asking it.
    pub fn could_open(pid: u32, opening: &Opening) -> Result<(), Refusal> {
        let (process, gate, _) = prepare(pid)?;
        gate.check(&process, opening)
    }

    /// A connection to the inspector.
    pub fn connect(&self) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&self.address(), CONNECT)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        reachable(self.listener.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.listener.address.port()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the port was closed before, and we have to close it.
    pub fn opened_by_us(&self) -> bool {
        self.is_ours
    }

    /// Whether that process does not listen there any more.
    pub fn is_closed(&self) -> bool {
        match processes::listeners_for(self.pid) {
            Ok(listeners) => !listeners.contains(&self.listener),
            // What has ended does not listen.
            Err(_) => Process::open(self.pid).is_err(),
        }
    }
}

/// The sockets that appear after a process was asked to open one.
struct Newcomers {
    before: Vec<Listener>,
    /// Each as often as it was asked.
    asked: Vec<Listener>,
}

impl Newcomers {
    /// The inspector among them.
    fn inspector(&mut self, process: &Process) -> Option<Listener> {
        let found = listeners_for(process).unwrap_or_default();
        for listener in found {
            if !self.is_worth_asking(&listener) {
                continue;
            }
            if answers(&listener) {
                return Some(listener);
            }
            self.asked.push(listener);
        }
        None
    }

    /// Where no owner is known, only what is new on a usual port is: the session makes sure that it is this process.
    fn is_worth_asking(&self, listener: &Listener) -> bool {
        let questions = self.asked.iter().filter(|asked| *asked == listener).count();
        let is_usual = USUAL_PORTS.contains(&listener.address.port());
        !self.before.contains(listener)
            && questions < MOST_QUESTIONS
            && (listener.pid.is_some() || is_usual)
    }
}

/// What is asked once, before anything that can change: what the process is, and whether its port is free.
fn prepare(pid: u32) -> Result<(Process, Gate, Command), Refusal> {
    let process = hold(pid)?;
    let gate = Gate::new(&process)?;
    let command = command_of(&process);
    if command.forbids_inspector() {
        return Err(Refusal::Confined(pid));
    }
    if has_workers(pid, &command) {
        return Err(Refusal::Primary(pid));
    }
    let is_at_home = |address: &SocketAddr| match address.ip() {
        IpAddr::V4(ip) => ip == Ipv4Addr::LOCALHOST || ip.is_unspecified(),
        IpAddr::V6(_) => false,
    };
    match holder(pid, &command, is_at_home) {
        Some(holder) => Err(taken(pid, &command, holder, false)),
        None => Ok((process, gate, command)),
    }
}

/// Takes hold of a process that is not ourselves.
fn hold(pid: u32) -> Result<Process, Refusal> {
    match pid {
        0 => return Err(Refusal::NoProcess(pid)),
        _ if pid == std::process::id() => return Err(Refusal::Ourselves(pid)),
        _ => (),
    }
    let process = Process::open(pid).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Refusal::Hidden(pid),
        _ => Refusal::Ended(pid),
    })?;
    if process.has_ended() { Err(Refusal::Ended(pid)) } else { Ok(process) }
}

fn listeners_for(process: &Process) -> Result<Vec<Listener>, Refusal> {
    let pid = process.pid();
    processes::listeners_for(pid).map_err(|_| match process.has_ended() {
        true => Refusal::Ended(pid),
        false => Refusal::Hidden(pid),
    })
}

fn answers(listener: &Listener) -> bool {
    let address = reachable(listener.address);
    TcpStream::connect_timeout(&address, CONNECT)
        .is_ok_and(|stream| ask::is_inspector(stream, address))
}

/// Why no port came.
fn no_port(process: &Process, command: &Command, within: Duration) -> Refusal {
    let pid = process.pid();
    match holder(pid, command, |_| true) {
        Some(holder) => taken(pid, command, holder, true),
        None => Refusal::TimeLimit { pid, port: port_of(command), within },
    }
}

fn taken(pid: u32, command: &Command, holder: Holder, was_signalled: bool) -> Refusal {
    Refusal::PortTaken { pid, port: port_of(command), holder, was_signalled }
}

/// Where it would listen, as far as its command line shows.
fn port_of(command: &Command) -> u16 {
    command.wanted_port().unwrap_or(*USUAL_PORTS.start())
}

/// What has its port already, among the processes that this user may look at.
fn holder(pid: u32, command: &Command, counts: impl Fn(&SocketAddr) -> bool) -> Option<Holder> {
    let port = port_of(command);
    // A process whose command line cannot be seen may want any port.
    if port == 0 || command.program.is_empty() {
        return None;
    }
    let all = processes::listeners().unwrap_or_default();
    let found = all.iter().find(|one| one.address.port() == port && counts(&one.address))?;
    if found.pid == Some(pid) {
        return Some(Holder::Itself);
    }
    let listed = processes::list().unwrap_or_default();
    let of = |pid: u32| listed.iter().find(|one| one.pid == pid);
    let Some((ours, theirs)) = of(pid).zip(found.pid.and_then(of)) else {
        return Some(Holder::Unknown);
    };
    let is_related = ours.parent_pid == theirs.pid
        || theirs.parent_pid == ours.pid
        || ours.parent_pid == theirs.parent_pid
            && ours.program == theirs.program
            && of(ours.parent_pid).is_some_and(|parent| is_node(&parent.program));
    Some(Holder::Process { pid: theirs.pid, name: theirs.program.clone(), is_related })
}

/// Whether it may be the primary of a cluster: a Node that it has started runs the same script. When the inspector of a
/// primary opens, Node opens those of all its workers.
fn has_workers(pid: u32, command: &Command) -> bool {
    let runs_the_same = |pid: u32| {
        let worker = Process::open(pid).map(|process| command_of(&process));
        worker.is_ok_and(|worker| worker.script.is_some() && worker.script == command.script)
    };
    let listed = processes::list().unwrap_or_default();
    let children = listed.iter().filter(|one| one.parent_pid == pid && is_node(&one.program));
    children.into_iter().any(|child| runs_the_same(child.pid))
}
