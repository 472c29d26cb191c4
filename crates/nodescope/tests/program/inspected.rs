//! Processes that are recorded through their inspector, and whether they are as before.

use std::fs;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::running::{Running, function, nodes};
use super::{Scratch, nodescope, stderr};

/// Two functions of known work, in turns of an event loop. They are called through a builtin, so that V8 does not
/// inline them: whether it does depends on how fast the machine is.
pub const BUSY: &str = "
function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
const about = (rounds) => rounds * (0.5 + Math.random());
function heavy() { return spin(about(9e5)) + 1; }
function light() { return spin(about(3e5)) + 2; }
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
const limit = Number(process.argv[2] ?? Infinity);
(function turn() { 'a'.replace('a', heavy); 'a'.replace('a', light); if (spent() < limit) setImmediate(turn); })();
console.log('ready');
";

/// The same, for tests that need no busy CPU: it rests after every turn.
pub fn part_time() -> String {
    BUSY.replace("setImmediate(turn)", "setTimeout(turn, 10)")
}

/// The last release of each line of Node.
pub fn lines() -> Vec<(&'static str, PathBuf)> {
    let is_last = |(release, _): &(&str, PathBuf)| !release.ends_with(".0.0");
    nodes().into_iter().filter(is_last).collect()
}

/// The newest of them.
pub fn newest() -> Option<PathBuf> {
    lines().pop().map(|(_, path)| path)
}

/// A process that can be recorded: it has printed that it runs, and is old enough to be signalled.
pub struct Target {
    pub running: Running,
    pub port: u16,
}

impl Target {
    pub fn start(
        scratch: &Scratch,
        node: &Path,
        flags: &[&str],
        text: &str,
        arguments: &[&str],
    ) -> Self {
        let script = scratch.file("app.js", text.as_bytes());
        let port = free_port();
        let mut command = Command::new(node);
        command.arg(format!("--inspect-port={port}")).args(flags).arg(script).args(arguments);
        let log = fs::File::create(scratch.path("log")).unwrap();
        let start = Instant::now();
        let running = Running::start(command.current_dir(&scratch.0).stderr(log));
        std::thread::sleep(Duration::from_millis(1200).saturating_sub(start.elapsed()));
        Self { running, port }
    }

    pub fn pid(&self) -> String {
        self.running.pid()
    }

    pub fn signal(&self, signal: &str) {
        send(signal, &self.pid());
    }

    /// The CPU time of its main thread.
    pub fn cpu_s(&self) -> f64 {
        let pid = self.pid();
        let account = fs::read_to_string(format!("/proc/{pid}/task/{pid}/schedstat")).unwrap();
        account.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
    }

    /// It runs, and its port is closed.
    pub fn is_as_before(&mut self) -> bool {
        self.running.0.try_wait().unwrap().is_none() && !is_open(self.port)
    }
}

pub fn send(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([&format!("-{signal}"), pid]).status().unwrap().success());
}

/// A port that no process has; none of those that connections get by themselves, or one would be in the way. A UDP
/// socket reserves it until this process ends: targets open theirs only when they are recorded.
pub fn free_port() -> u16 {
    static RESERVED: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let reserve = |port: &u16| UdpSocket::bind(("127.0.0.1", *port));
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut ports = (20_000..32_000).filter(is_free);
    ports.find(|port| reserve(port).map(|socket| reserved.push(socket)).is_ok()).unwrap()
}

pub fn is_open(port: u16) -> bool {
    is_listening(port) && TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// The same without a connection, which would keep it open.
pub fn is_listening(port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .any(|words| words.len() > 3 && words[1].ends_with(&wanted) && words[3] == "0A")
}

pub fn wait_until(what: &str, limit: Duration, is_so: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < limit, "{what} did not happen in {limit:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    start.elapsed()
}

pub fn has(scratch: &Scratch, file: &str, text: &str) -> bool {
    fs::read_to_string(scratch.path(file)).unwrap().contains(text)
}

pub fn words<'a>(pid: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["record", pid, "--via", "inspector", "--overwrite", "-o", out], more].concat()
}

/// Records, and expects that it works.
pub fn record(pid: &str, out: &str, more: &[&str]) -> Output {
    let output = nodescope(&words(pid, out, more)).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    output
}

/// The share of `heavy` in both functions of [`BUSY`], and the samples that show it.
pub fn share(report: &Value) -> (f64, f64) {
    let total = |name: &str| function(report, name)["total"].as_f64().unwrap();
    let samples = |name: &str| function(report, name)["total_samples"].as_f64().unwrap();
    (total("heavy") / (total("heavy") + total("light")), samples("heavy") + samples("light"))
}
