//! The inspector port on Windows: there is no signal, but every Node waits for `process._debugProcess(pid)` of another
//! one, which does nothing to a process that is no Node. So a node on the PATH asks, and netstat shows the port.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::ask::{self, USUAL_PORTS, reachable};
use super::netstat::listeners_in;
use super::{Opening, Refusal};

/// An inspector that listens.
#[derive(Debug)]
pub struct InspectorPort {
    pid: u32,
    listener: SocketAddr,
    is_ours: bool,
}

/// netstat takes its time.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long the port may take to answer that it is one.
const CONNECT: Duration = Duration::from_millis(500);

const ASK: &str = "process._debugProcess(Number(process.argv[1]))";

impl InspectorPort {
    /// A port that is open already, where inspectors listen.
    pub fn find(pid: u32) -> Result<Option<Self>, Refusal> {
        check(pid)?;
        let likely =
            listeners(pid)?.into_iter().filter(|listener| USUAL_PORTS.contains(&listener.port()));
        let found = likely.into_iter().find(|listener| answers(*listener));
        Ok(found.map(|listener| Self { pid, listener, is_ours: false }))
    }

    /// An open port, or one that Node opens when it is asked.
    pub fn open(pid: u32, opening: &Opening) -> Result<Self, Refusal> {
        if let Some(inspector) = Self::find(pid)? {
            return Ok(inspector);
        }
        let mut seen = listeners(pid)?;
        ask_to_open(pid)?;
        let end = Instant::now() + opening.within;
        loop {
            for listener in listeners(pid)? {
                if !seen.contains(&listener) && answers(listener) {
                    return Ok(Self { pid, listener, is_ours: true });
                }
                seen.push(listener);
            }
            if Instant::now() >= end {
                return Err(Refusal::TimeLimit {
                    pid,
                    port: *USUAL_PORTS.start(),
                    within: opening.within,
                });
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Whether there is a node that could ask.
    pub fn could_open(pid: u32, _: &Opening) -> Result<(), Refusal> {
        check(pid)?;
        run_node(pid, &["--version"])
    }

    /// A connection to the inspector.
    pub fn connect(&self) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&self.address(), CONNECT)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        reachable(self.listener)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.listener.port()
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
        listeners(self.pid).is_ok_and(|listeners| !listeners.contains(&self.listener))
    }
}

fn check(pid: u32) -> Result<(), Refusal> {
    match pid {
        0 => Err(Refusal::NoProcess(pid)),
        _ if pid == std::process::id() => Err(Refusal::Ourselves(pid)),
        _ => Ok(()),
    }
}

fn answers(listener: SocketAddr) -> bool {
    let address = reachable(listener);
    TcpStream::connect_timeout(&address, CONNECT)
        .is_ok_and(|stream| ask::is_inspector(stream, address))
}

fn listeners(pid: u32) -> Result<Vec<SocketAddr>, Refusal> {
    let output = Command::new("netstat").args(["-a", "-n", "-o"]).stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| Refusal::NotAsked { pid, why: format!("netstat: {error}") })?;
    Ok(listeners_in(&String::from_utf8_lossy(&output.stdout), pid))
}

fn ask_to_open(pid: u32) -> Result<(), Refusal> {
    run_node(pid, &["-e", ASK, &pid.to_string()])
}

fn run_node(pid: u32, words: &[&str]) -> Result<(), Refusal> {
    let not_asked = |why: String| Refusal::NotAsked { pid, why };
    let output = Command::new("node").args(words).stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| not_asked(format!("no node on the PATH could ask it: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = said.lines().find(|line| line.contains("Error")).unwrap_or("node could not ask it");
    if output.status.success() { Ok(()) } else { Err(not_asked(why.to_owned())) }
}
