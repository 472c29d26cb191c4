//! The demo's service: Node from the PATH, running a script of ours. It ends with us, however we end: its stdin is
//! the other end of a pipe that only we hold.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::failure::Failure;

/// Its files, by their paths in its folder.
const FILES: &[(&str, &str)] = &[
    ("package.json", include_str!("service/package.json")),
    (SCRIPT, include_str!("service/server.js")),
    ("lib/catalogue.js", include_str!("service/lib/catalogue.js")),
    ("lib/orders.js", include_str!("service/lib/orders.js")),
    ("lib/report.js", include_str!("service/lib/report.js")),
    ("lib/sessions.js", include_str!("service/lib/sessions.js")),
];
const SCRIPT: &str = "server.js";
/// The oldest Node that it is written for.
const OLDEST: u32 = 18;
/// Node starts in a tenth of this on a slow machine.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long Node may take to end by itself.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// A service that runs.
pub(super) struct Service {
    child: Child,
    pub(super) ready: ReadyLine,
    /// Dropped when Node has ended.
    _folder: Folder,
}

/// The line that it prints when it is ready.
#[derive(Debug, Deserialize)]
pub(super) struct ReadyLine {
    pub(super) port: u16,
    /// Of Node itself: what is called node may be a script that starts it.
    pub(super) pid: u32,
    /// `v20.1.0`.
    pub(super) node: String,
}

impl Service {
    /// Starts it and waits until it listens.
    pub(super) fn start() -> Result<Self, Failure> {
        let folder = Folder::new()?;
        let mut command = Command::new("node");
        // Some flags let Node write into its folder.
        command.arg(SCRIPT).current_dir(&folder.0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C ends the recording; what is recorded must not be gone before.
        let child = command.process_group(0).spawn();
        let mut child = child.map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::NotFound => "there is no node in the PATH".to_owned(),
                _ => format!("node does not start: {error}"),
            };
            Failure::failed(what).hint(format!(
                "install Node.js {OLDEST} or newer (https://nodejs.org), and run it again"
            ))
        })?;
        let line = first_line(&mut child);
        let ready: Option<ReadyLine> =
            line.as_deref().and_then(|line| serde_json::from_str(line).ok());
        match ready.filter(|ready| !is_too_old(&ready.node)) {
            Some(ready) => Ok(Self { child, ready, _folder: folder }),
            None => Err(explain(child)),
        }
    }

    /// Why it is not there any more, if it is not.
    pub(super) fn failure(&mut self) -> Option<Failure> {
        let status = self.child.try_wait().ok()??;
        let what =
            format!("the demo's service on Node {} ended at once: {status}", self.ready.node);
        Some(Failure::failed(what).hint("node --version shows whether Node works here"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        end(&mut self.child);
        // Node leaves its perf map behind, where NODE_OPTIONS made it write one.
        let _ = fs::remove_file(format!("/tmp/perf-{}.map", self.ready.pid));
    }
}

/// The service's folder, as long as it runs: reports read the application's name and the text of its scripts there.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("nodescope-demo-{}", std::process::id()));
        let failed = |error| Failure::writing(&path.display().to_string(), &error);
        // A folder that exists already may be another user's trap: it is neither used nor removed.
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let folder = Self(path.clone());
        fs::create_dir(path.join("lib")).map_err(failed)?;
        for (file, text) in FILES {
            fs::write(path.join(file), text).map_err(failed)?;
        }
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A file that stays in the folder for temporary files does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The first line that it prints, if it prints one in time.
fn first_line(child: &mut Child) -> Option<String> {
    let out = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(out.take(1 << 16)).read_line(&mut line);
        // The receiver may have given up.
        let _ = sender.send(line);
    });
    receiver.recv_timeout(PATIENCE).ok()
}

/// Lets the process end by itself, and kills it after the grace period.
fn end(child: &mut Child) -> Option<ExitStatus> {
    drop(child.stdin.take());
    let start = Instant::now();
    while start.elapsed() < GRACE_PERIOD {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().ok()
}

/// Why there is no service: Node is too old, or it printed an error.
fn explain(mut child: Child) -> Failure {
    let stderr = child.stderr.take();
    let status = end(&mut child);
    let mut text = String::new();
    if let Some(stderr) = stderr {
        let _ = stderr.take(1 << 16).read_to_string(&mut text);
    }
    let version = Command::new("node").arg("--version").stdin(Stdio::null()).output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let version = version.unwrap_or_default();
    if is_too_old(&version) {
        return Failure::failed(format!("Node {version} is too old for the demo's service")).hint(
            format!("install Node.js {OLDEST} or newer; nodescope itself records older ones, too"),
        );
    }
    let sentence = text.lines().rfind(|line| line.contains("rror")).unwrap_or_default().trim();
    let status = status.map(|status| status.to_string()).unwrap_or_default();
    let why = if sentence.is_empty() { status } else { sentence.to_owned() };
    Failure::failed(format!("node {version} did not start the demo's service: {why}"))
        .hint("node --version shows whether Node works here")
}

fn is_too_old(version: &str) -> bool {
    major(version).is_some_and(|major| major < OLDEST)
}

/// `v20.1.0` → 20.
fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(major("v20.1.0"), Some(20));
        assert_eq!(major("v0.12.18"), Some(0));
        assert_eq!(major(""), None);
        assert_eq!(major("20"), None);
    }
}
