//! What must hold before a process is sent SIGUSR1: it kills a program that does not expect it, runs code of one that
//! listens to it, and opens a port that we must be able to close. Slow questions come first; what can
//! change is asked right before the signal.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use sys::pidfd::Pidfd;

use super::listeners::SignalTree;
use super::network::Network;
use super::{hold, own_listeners, unseen};
use crate::command::Command;
use crate::inspector_port::{Holder, Opening, Refusal, USUAL_PORTS};
use crate::linux::access::{SIGUSR1, YOUNGEST_S};
use crate::linux::binary::{Binaries, Program};

use crate::linux::inspector::{Listener, listeners_beside, sockets_of};
use crate::linux::proc::Proc;
use crate::linux::role::Environment;
use crate::linux::status::{Stat, Status, TICKS_A_SECOND};

/// A process that is Node, held so that it cannot become another.
#[derive(Debug)]
pub(super) struct Gate {
    proc: Proc,
    pid: u32,
    process: Pidfd,
    /// Device and inode of the program that was looked at: exec(2) changes them.
    program: (u64, u64),
    command: Command,
    tree: Result<SignalTree, String>,
}

/// Node blocks all signals for an instant now and then, as when it starts a child.
const BLOCKED_FOR: [Duration; 5] = [Duration::from_millis(10); 5];

impl Gate {
    /// Looks at what the process runs.
    pub(super) fn new(proc: &Proc, pid: u32) -> Result<Self, Refusal> {
        let process = hold(pid)?;
        let gone = |error: io::Error| unseen(pid, &process, &error);
        let status = proc.text_of(pid, "status").map_err(gone)?;
        if Status::parse(&status).is_none_or(|status| has_ended(&status)) {
            return Err(Refusal::Ended(pid));
        }
        match Binaries::default().look(proc, pid) {
            Ok(Program::Node { .. }) => (),
            // An error means that there is no file: the kernel's own processes have none.
            Ok(Program::Other) | Err(_) => return Err(Refusal::NotNode(pid)),
            Ok(Program::Hidden) => return Err(Refusal::Hidden(pid)),
        }
        let program = program(proc, pid).map_err(gone)?;
        let command = Command::of(proc, pid).map_err(gone)?;
        let tree = SignalTree::find(proc, pid);
        Ok(Self { proc: proc.clone(), pid, process, program, command, tree })
    }

    pub(super) fn process(&self) -> &Pidfd {
        &self.process
    }

    /// Whether the port that it would open is free, and could be reached.
    pub(super) fn look_around(&self) -> Result<Network, Refusal> {
        let own = own_listeners(&self.proc, self.pid).map_err(|_| Refusal::Hidden(self.pid))?;
        if self.has_workers() {
            return Err(Refusal::Primary(self.pid));
        }
        let again =
            self.process.try_clone().map_err(|error| Refusal::NoHandle { pid: self.pid, error })?;
        let network = Network::of(&self.proc, self.pid, again)?;
        network.check(self.port().max(1))?;
        let at_home = |listener: &Listener| match listener.address.ip() {
            IpAddr::V4(ip) => ip == Ipv4Addr::LOCALHOST || ip.is_unspecified(),
            // It may be for both kinds of addresses, or not: Node will see.
            IpAddr::V6(_) => false,
        };
        match self.holder(&own, at_home) {
            Some(holder) => Err(self.taken_by(holder, false)),
            None => Ok(network),
        }
    }

    /// Everything that can change. The last thing before a signal.
    pub(super) fn check(&self, opening: &Opening) -> Result<(), Refusal> {
        let pid = self.pid;
        if self.command.forbids_inspector() {
            return Err(Refusal::Confined(pid));
        }
        self.process.may_signal().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Refusal::NotOurs(pid),
            _ => Refusal::Ended(pid),
        })?;
        if program(&self.proc, pid).ok() != Some(self.program) {
            return Err(if self.process.has_ended() {
                Refusal::Ended(pid)
            } else {
                Refusal::NotNode(pid)
            });
        }
        self.check_age()?;
        self.check_signals()?;
        self.check_listeners(opening)
    }

    /// Checks once more, and sends the signal.
    pub(super) fn signal(&self, opening: &Opening) -> Result<(), Refusal> {
        self.check(opening)?;
        self.process.send_usr1().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Refusal::NotOurs(self.pid),
            _ => Refusal::Ended(self.pid),
        })
    }

    /// Why no port came.
    pub(super) fn no_port(&self, within: Duration) -> Refusal {
        let own = own_listeners(&self.proc, self.pid).unwrap_or_default();
        match self.holder(&own, |_| true) {
            Some(holder) => self.taken_by(holder, true),
            None => Refusal::TimeLimit { pid: self.pid, port: self.port(), within },
        }
    }

    fn taken_by(&self, holder: Holder, was_signalled: bool) -> Refusal {
        Refusal::PortTaken { pid: self.pid, port: self.port(), holder, was_signalled }
    }

    /// Where it would listen, as far as its command line shows.
    pub(super) fn port(&self) -> u16 {
        self.command.wanted_port().unwrap_or(*USUAL_PORTS.start())
    }

    /// What has its port already.
    fn holder(&self, own: &[Listener], counts: impl Fn(&Listener) -> bool) -> Option<Holder> {
        let port = self.port();
        if port == 0 {
            return None;
        }
        let mut beside = listeners_beside(&self.proc, self.pid).into_iter();
        let listener =
            beside.find(|listener| listener.address.port() == port && counts(listener))?;
        if own.contains(&listener) {
            return Some(Holder::Itself);
        }
        let pids = self.proc.pids().unwrap_or_default();
        let has_it = |pid: &u32| {
            sockets_of(&self.proc, *pid).is_ok_and(|sockets| sockets.contains(&listener.inode))
        };
        Some(pids.into_iter().find(has_it).map_or(Holder::Unknown, |pid| self.describe(pid)))
    }

    /// Whether it is the primary of a cluster: when its inspector opens, it signals all its workers.
    fn has_workers(&self) -> bool {
        let is_worker = |pid: &u32| {
            let environ = self.proc.bytes_of(*pid, "environ").unwrap_or_default();
            Environment::parse(&environ).unique_id.is_some()
        };
        let pids = self.proc.pids().unwrap_or_default();
        pids.into_iter().filter(|pid| self.parent_of(*pid) == self.pid).any(|pid| is_worker(&pid))
    }

    fn parent_of(&self, pid: u32) -> u32 {
        let status = self.proc.text_of(pid, "status").ok();
        status.and_then(|text| Status::parse(&text)).map_or(0, |status| status.parent)
    }

    fn describe(&self, pid: u32) -> Holder {
        let name = self.proc.text_of(pid, "comm").unwrap_or_default().trim().to_owned();
        let (ours, theirs) = (self.parent_of(self.pid), self.parent_of(pid));
        let is_related = ours == pid
            || theirs == self.pid
            || ours == theirs && ours > 1 && self.runs_the_same(pid);
        Holder::Process { pid, name, is_related }
    }

    fn runs_the_same(&self, pid: u32) -> bool {
        program(&self.proc, pid).is_ok_and(|program| program == self.program)
    }

    fn check_age(&self) -> Result<(), Refusal> {
        let stat = self.proc.text_of(self.pid, "stat").ok().and_then(|text| Stat::parse(&text));
        let stat = stat.ok_or(Refusal::Ended(self.pid))?;
        let started_s = stat.start_ticks as f64 / TICKS_A_SECOND;
        let now_s = sys::clock::boot_ns() as f64 / 1e9;
        if now_s - started_s < YOUNGEST_S { Err(Refusal::Young(self.pid)) } else { Ok(()) }
    }

    fn check_signals(&self) -> Result<(), Refusal> {
        let mut status = self.status()?;
        for pause in BLOCKED_FOR {
            if status.blocked & SIGUSR1 == 0 {
                break;
            }
            thread::sleep(pause);
            status = self.status()?;
        }
        let pid = self.pid;
        if has_ended(&status) {
            Err(Refusal::Ended(pid))
        } else if matches!(status.state, 'T' | 't') {
            Err(Refusal::Stopped(pid))
        } else if status.blocked & SIGUSR1 != 0 {
            Err(Refusal::Blocked(pid))
        } else if status.ignored & SIGUSR1 != 0 {
            Err(Refusal::Ignored(pid))
        } else if status.caught & SIGUSR1 == 0 {
            Err(Refusal::Deadly(pid))
        } else {
            Ok(())
        }
    }

    fn check_listeners(&self, opening: &Opening) -> Result<(), Refusal> {
        let pid = self.pid;
        match self.tree.clone().and_then(SignalTree::has_usr1) {
            Ok(true) => Err(Refusal::OwnListener(pid)),
            Ok(false) => Ok(()),
            Err(_) if opening.has_no_listener => Ok(()),
            Err(why) => Err(Refusal::Unseen { pid, why }),
        }
    }

    fn status(&self) -> Result<Status, Refusal> {
        let text = self.proc.text_of(self.pid, "status").ok();
        text.and_then(|text| Status::parse(&text)).ok_or(Refusal::Ended(self.pid))
    }
}

fn has_ended(status: &Status) -> bool {
    matches!(status.state, 'Z' | 'X')
}

fn program(proc: &Proc, pid: u32) -> io::Result<(u64, u64)> {
    let meta = fs::metadata(proc.path(pid, "exe"))?;
    Ok((meta.dev(), meta.ino()))
}
