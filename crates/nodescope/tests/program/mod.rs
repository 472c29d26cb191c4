//! Runs the built program, and keeps what a test needs for it: corpus inputs, scratch folders.

pub mod inspected;
pub mod running;
pub mod shares;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// The program that is tested: the one that cargo has built, or another that NODESCOPE_BIN names, such as a static one.
pub fn path() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        std::env::var("NODESCOPE_BIN")
            .unwrap_or_else(|_| env!("CARGO_BIN_EXE_nodescope").to_owned())
    });
    &PATH
}

/// Whether the program panics where a test wants it: those that are handed out do not. There is nothing to test then,
/// so nothing is skipped.
pub fn crashes_on_demand() -> bool {
    let real = |path: &str| fs::canonicalize(path).unwrap();
    let does = cfg!(debug_assertions) && real(path()) == real(env!("CARGO_BIN_EXE_nodescope"));
    if !does {
        println!("left out: {} does not crash on demand", path());
    }
    does
}

/// The program with these arguments, in a plain environment.
pub fn nodescope(arguments: &[&str]) -> Command {
    let mut command = Command::new(path());
    command.args(arguments).stdin(Stdio::null());
    for variable in ["COLUMNS", "NO_COLOR", "TERM", "SUDO_UID", "SUDO_GID"] {
        command.env_remove(variable);
    }
    command
}

pub fn run(arguments: &[&str]) -> Output {
    nodescope(arguments).output().unwrap()
}

/// What a command prints that must succeed.
pub fn succeeds(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// A command must fail with that status, nothing on stdout, and on stderr one sentence and perhaps one hint.
pub fn fails(arguments: &[&str], status: i32, sentence: &str, hint: &str) {
    let output = run(arguments);
    let messages = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {messages}");
    assert_eq!(stdout(&output), "", "{arguments:?}: stdout is for data");
    let lines: Vec<&str> = messages.lines().collect();
    // clap's own messages have a form of their own, with the way to learn more.
    if lines[0].starts_with("error: ") {
        assert!(
            messages.contains(sentence) && messages.contains(hint) && messages.contains("--help"),
            "{arguments:?}: {messages}"
        );
        return;
    }
    assert!(
        lines[0].starts_with("nodescope: ") && lines[0].contains(sentence),
        "{arguments:?}: {messages}"
    );
    assert!(lines.len() <= 2, "{arguments:?}: one sentence and one hint: {messages}");
    match lines.get(1) {
        Some(line) => {
            assert!(line.starts_with("hint: ") && line.contains(hint), "{arguments:?}: {messages}");
        }
        None => assert_eq!(hint, "", "{arguments:?} has no hint: {messages}"),
    }
}

pub fn with_stdin(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut command = nodescope(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // It may refuse early and read no further.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

pub fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeds(arguments)).unwrap()
}

/// How many samples a report is about.
pub fn samples(arguments: &[&str]) -> u64 {
    json(&[&["report", "--json"], arguments].concat())["samples"].as_u64().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What was printed on stderr. A program of our own that crashed fails every test but those that want it: these look at
/// the bytes.
pub fn stderr(output: &Output) -> String {
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!messages.contains(CRASHED), "a program of nodescope's own has crashed: {messages}");
    messages
}

/// What every report of a crash of ours has.
pub const CRASHED: &str = "has crashed (";

/// In a scratch folder, means that crashes are wanted.
const WANTS_CRASHES: &str = "wants-crashes";

/// How often a program of our own has crashed in a recording; `None` where that is none, or is damaged.
fn crashes(path: &Path) -> Option<u64> {
    let is_ours = path.extension().is_some_and(|ending| ending == "nodescope");
    let bytes = is_ours.then(|| fs::read(path).ok()).flatten()?;
    Some(profile::file::read(&bytes).ok()?.meta().losses.helper_crashes)
}

pub fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    for (row, part) in text.split('\u{1b}').enumerate() {
        plain.push_str(if row == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    plain
}

/// The input of a corpus case.
pub fn input(case: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(case);
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_input =
        |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("input.");
    let path = files.filter(is_input).min();
    path.unwrap_or_else(|| panic!("corpus/{case} has no input")).display().to_string()
}

/// A recording of our own, of 514 samples.
pub fn recording() -> Vec<u8> {
    run(&["export", &input("node22-gc"), "-o", "-", "--to", "nodescope"]).stdout
}

/// Different in every process and at every call: two tests may choose the same name for their folders.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A folder that goes when the test ends.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("nodescope-test-{}-{name}", unique()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// One whose path is short wherever scratch folders are: the address of a socket has 108 bytes.
    pub fn short(name: &str) -> Self {
        let folder = PathBuf::from(format!("/tmp/nodescope-{}-{name}", unique()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// One that every user may enter and write to, whatever the umask is and wherever scratch folders are.
    pub fn for_all(name: &str) -> Self {
        let scratch = Self::short(name);
        let is_open = Command::new("chmod").arg("777").arg(&scratch.0).status();
        assert!(is_open.unwrap().success());
        scratch
    }

    /// A copy of a program that every user may run. Another process writes it: were it this one, a test that starts a
    /// program at that moment would hold the copy open, and an open file cannot be run.
    pub fn program_for_all(&self, program: &str, name: &str) -> String {
        let copy = self.path(name);
        let is_copied = Command::new("install").args(["-m", "755", program, &copy]).status();
        assert!(is_copied.unwrap().success(), "install {program} {copy}");
        copy
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Scratch {
    /// A test that lets programs of ours crash.
    pub fn want_crashes(&self) {
        self.file(WANTS_CRASHES, b"");
    }
}

impl Drop for Scratch {
    /// Looks at every recording before it goes: one in which a program of ours has crashed fails the test.
    fn drop(&mut self) {
        let paths = fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path());
        let paths: Vec<PathBuf> = paths.collect();
        let wants = paths.iter().any(|path| path.ends_with(WANTS_CRASHES));
        let crashed: Vec<PathBuf> =
            paths.into_iter().filter(|path| crashes(path).is_some_and(|count| count > 0)).collect();
        let _ = fs::remove_dir_all(&self.0);
        if !std::thread::panicking() && !wants {
            assert!(crashed.is_empty(), "a program of nodescope's own has crashed in {crashed:?}");
        }
    }
}
