//! The inspector port on Linux: SIGUSR1 by pidfd, after the checks in `gate`; the port found among the listening
//! sockets of the process; a connection through its network, whichever that is.

mod gate;
mod listeners;
mod network;

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use sys::pidfd::Pidfd;

use super::ask::{self, reachable};
use super::{Opening, Refusal};
use crate::command::Command;
use crate::linux::inspector::{Listener, likely_inspectors, listeners_beside, sockets_of};
use crate::linux::proc::Proc;
use gate::Gate;
use network::Network;

/// An inspector that listens.
#[derive(Debug)]
pub struct InspectorPort {
    pid: u32,
    listener: Listener,
    network: Network,
    is_ours: bool,
}

/// How often to look for the port: Node needs 16 to 67 ms.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A server of the program may happen to open now: it is not asked more often than this. An inspector on a busy machine
/// may need more than one question.
const MOST_QUESTIONS: u32 = 3;

/// How long the port may take to answer that it is one.
const CONNECT: Duration = Duration::from_millis(500);

impl InspectorPort {
    /// A port that is open already: by --inspect, or since an earlier SIGUSR1. Nothing is sent to the process, and only
    /// ports that are likely its inspector are asked.
    pub fn find(pid: u32) -> Result<Option<Self>, Refusal> {
        let proc = Proc::default();
        let process = hold(pid)?;
        let command = Command::of(&proc, pid).map_err(|error| unseen(pid, &process, &error))?;
        let own = own_listeners(&proc, pid).map_err(|error| unseen(pid, &process, &error))?;
        let likely = likely_inspectors(own, &command);
        if likely.is_empty() {
            return Ok(None);
        }
        let network = Network::of(&proc, pid, process)?;
        let found = likely.into_iter().find(|listener| answers(&network, *listener));
        Ok(found.map(|listener| Self { pid, listener, network, is_ours: false }))
    }

    /// An open port, or one that SIGUSR1 opens: sent only where that neither kills the process nor runs code of its
    /// own, and where we can reach the port afterwards.
    pub fn open(pid: u32, opening: &Opening) -> Result<Self, Refusal> {
        if let Some(inspector) = Self::find(pid)? {
            return Ok(inspector);
        }
        let proc = Proc::default();
        let gate = Gate::new(&proc, pid)?;
        let network = gate.look_around()?;
        let before = own_listeners(&proc, pid).map_err(|_| Refusal::Hidden(pid))?;
        let mut newcomers =
            Newcomers { proc: &proc, pid, expected: gate.port(), known: HashMap::new() };
        newcomers.known.extend(before.iter().map(|listener| (listener.inode, MOST_QUESTIONS)));
        gate.signal(opening)?;
        let end = Instant::now() + opening.within;
        loop {
            let is_over = Instant::now() >= end;
            // The reason is looked for first: the port may open in this very moment.
            let why = is_over.then(|| gate.no_port(opening.within));
            if let Some(listener) = newcomers.inspector(&network) {
                return Ok(Self { pid, listener, network, is_ours: true });
            }
            if gate.process().has_ended() {
                return Err(Refusal::EndedAfterSignal(pid));
            }
            if let Some(why) = why {
                return Err(why);
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Whether SIGUSR1 would open the inspector of a process, as far as can be known without sending it.
    pub fn could_open(pid: u32, opening: &Opening) -> Result<(), Refusal> {
        let gate = Gate::new(&Proc::default(), pid)?;
        gate.look_around()?;
        gate.check(opening)
    }

    /// A connection to the inspector, through the network of the process.
    pub fn connect(&self) -> io::Result<TcpStream> {
        self.network.connect(self.address(), CONNECT)
    }

    /// Where it listens, as seen from its own network.
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

    /// Whether that socket does not listen any more.
    pub fn is_closed(&self) -> bool {
        let beside = listeners_beside(&Proc::default(), self.pid);
        !beside.iter().any(|listener| listener.inode == self.listener.inode)
    }
}

/// Takes hold of a process that is not ourselves.
fn hold(pid: u32) -> Result<Pidfd, Refusal> {
    if pid == std::process::id() {
        return Err(Refusal::Ourselves(pid));
    }
    Pidfd::open(pid).map_err(|error| match error.kind() {
        // A thread's number is no process's.
        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound => Refusal::NoProcess(pid),
        _ if error.raw_os_error() == Some(NO_SUCH_PROCESS) => Refusal::Ended(pid),
        _ => Refusal::NoHandle { pid, error },
    })
}

/// ESRCH, for which std has no name.
const NO_SUCH_PROCESS: i32 = 3;

/// Why its files cannot be read.
fn unseen(pid: u32, process: &Pidfd, error: &io::Error) -> Refusal {
    if process.has_ended() || error.kind() == io::ErrorKind::NotFound {
        return Refusal::Ended(pid);
    }
    Refusal::Hidden(pid)
}

fn own_listeners(proc: &Proc, pid: u32) -> io::Result<Vec<Listener>> {
    let sockets = sockets_of(proc, pid)?;
    let mut own = listeners_beside(proc, pid);
    own.retain(|listener| sockets.contains(&listener.inode));
    Ok(own)
}

/// The sockets that a process opens after it was asked to.
struct Newcomers<'a> {
    proc: &'a Proc,
    pid: u32,
    /// The port where its inspector should be.
    expected: u16,
    /// How often each was asked, by inode.
    known: HashMap<u64, u32>,
}

impl Newcomers<'_> {
    /// The inspector among them: it is where it was expected, or it answers. Whose they are is asked only when there is
    /// one, because a busy server has thousands of files open.
    fn inspector(&mut self, network: &Network) -> Option<Listener> {
        let mut new = listeners_beside(self.proc, self.pid);
        new.retain(|listener| {
            self.known.get(&listener.inode).is_none_or(|asked| *asked < MOST_QUESTIONS)
        });
        if new.is_empty() {
            return None;
        }
        let own = sockets_of(self.proc, self.pid).ok()?;
        new.into_iter().filter(|listener| own.contains(&listener.inode)).find(|listener| {
            *self.known.entry(listener.inode).or_default() += 1;
            listener.address.port() == self.expected || answers(network, *listener)
        })
    }
}

fn answers(network: &Network, listener: Listener) -> bool {
    let address = reachable(listener.address);
    network.connect(address, CONNECT).is_ok_and(|stream| ask::is_inspector(stream, address))
}
