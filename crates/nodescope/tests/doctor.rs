//! `nodescope doctor`: true answers, each with the next step.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::inspected::free_port;
use crate::program::running::PATIENCE;
use crate::program::{self, Scratch, fails, json, succeeds};
use crate::skip::skip;

/// Everything of the machine that is looked at.
const WHAT: [&str; 14] = [
    "perf events",
    "perf_event_paranoid",
    "kernel names",
    "other processes",
    "seccomp",
    "capabilities",
    "user namespace",
    "container",
    "lockdown",
    "perf_event_mlock_kb",
    "open files",
    "kernel",
    "container names",
    "Node",
];

const WAITS: &str = "setInterval(() => {}, 1000)";

/// A Node that waits, and ends with the test.
struct Waiting(Child, #[expect(dead_code, reason = "goes with it")] Scratch);

impl Waiting {
    fn start(flags: &[&str]) -> Self {
        Self::start_as(Command::new("node"), flags)
    }

    fn start_as(command: Command, flags: &[&str]) -> Self {
        Self::start_program(command, flags, WAITS)
    }

    fn start_program(mut command: Command, flags: &[&str], program: &str) -> Self {
        command
            .args(flags)
            .args(["-e", &format!("{program}; console.log('ready')")])
            .stdout(Stdio::piped());
        // With --perf-basic-prof V8 leaves a log in the current folder.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let scratch = Scratch::new(&format!("doctor-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let mut child = command.current_dir(&scratch.0).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{command:?}");
        Self(child, scratch)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_file(format!("/tmp/perf-{}.map", self.0.id()));
    }
}

fn check<'a>(checks: &'a Value, what: &str) -> &'a Value {
    checks
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["what"] == what)
        .unwrap_or_else(|| panic!("no {what} in {checks}"))
}

#[test]
fn the_machine_is_described() {
    let checks = json(&["doctor", "--json"]);
    for what in WHAT {
        let check = check(&checks, what);
        assert!(!check["found"].as_str().unwrap().is_empty(), "{check}");
        // Whatever is in the way has a reason and a command.
        assert!(
            check["ok"] == true
                || !check["why"].as_str().unwrap().is_empty() && check["fix"].is_string(),
            "{check}"
        );
    }
    let text = succeeds(&["doctor", "--color", "never"]);
    assert_eq!(
        text.lines().filter(|line| line.starts_with('✓') || line.starts_with('✗')).count(),
        WHAT.len(),
        "{text}"
    );
}

/// What it reports about sampling is what record then does.
#[test]
fn it_agrees_with_record() {
    let claims = check(&json(&["doctor", "--json"]), "perf events")["ok"] == true;
    let words =
        ["record", "-F", "999", "-o", "-", "--", "node", "-e", "for (let i = 0; i < 3e8; i++);"];
    let output = program::nodescope(&words).output().unwrap();
    assert_eq!(output.status.success(), claims, "{}", program::stderr(&output));
}

#[test]
fn a_process_is_described() {
    let plain = Waiting::start(&[]);
    let mapped = Waiting::start(&["--perf-basic-prof", "--interpreted-frames-native-stack"]);
    let names = |waiting: &Waiting| {
        let checks = json(&["doctor", "--json", &waiting.0.id().to_string()]);
        assert!(
            check(&checks, "process")["found"].as_str().unwrap().contains("is Node v"),
            "{checks}"
        );
        check(&checks, "JavaScript names").clone()
    };
    let (without, with) = (names(&plain), names(&mapped));
    // From memory, where this Node is known, or else with flags.
    let found = without["found"].as_str().unwrap();
    assert!(
        found.contains("its memory") || without["fix"].to_string().contains("--perf-basic-prof"),
        "{without}"
    );
    assert_eq!(with["ok"], true, "{with}");
    fails(&["doctor", "nobody runs this"], 1, "no Node process here matches", "nodescope ps");
}

/// The inspector's port is looked at from outside: nothing is sent.
#[test]
fn the_inspector_is_described() {
    let inspector = |flags: &[&str], program: &str| {
        let waiting = Waiting::start_program(Command::new("node"), flags, program);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let checks = json(&["doctor", "--json", &waiting.0.id().to_string()]);
            let found = check(&checks, "inspector").clone();
            // A young process is left alone.
            if !found["found"].to_string().contains("only just started") {
                return found;
            }
            assert!(Instant::now() < deadline, "{found}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let port = format!("--inspect-port={}", free_port());
    let plain = inspector(&[&port], WAITS);
    assert!(plain["ok"] == true && plain["found"] == "closed; SIGUSR1 would open it", "{plain}");
    let open = inspector(&["--inspect=0"], WAITS);
    assert!(
        open["ok"] == true && open["found"].as_str().unwrap().starts_with("listens on port "),
        "{open}"
    );
    let listens = inspector(&[&port], &format!("process.on('SIGUSR1', process.exit); {WAITS}"));
    assert!(
        listens["ok"] == false && listens["found"].to_string().contains("listener of its own"),
        "{listens}"
    );
    assert!(listens["fix"].as_str().unwrap().contains("perf events"), "{listens}");
}

/// What doctor reports when it is started by another program, such as unshare; `None` where that is not possible.
fn checks_by(words: &[&str]) -> Option<Value> {
    let program = program::path();
    let output =
        Command::new(words[0]).args(&words[1..]).args([program, "doctor", "--json"]).output();
    let Ok(output) = output else {
        skip(format_args!("{words:?}: {} is missing", words[0]));
        return None;
    };
    if !output.status.success() {
        skip(format_args!("{words:?}: {}", program::stderr(&output)));
    }
    output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
}

/// Namespaces and limits that are really there.
#[test]
fn a_narrow_place_is_noticed() {
    if let Some(checks) = checks_by(&["unshare", "--user", "--map-root-user"]) {
        assert_eq!(check(&checks, "user namespace")["ok"], false, "{checks}");
        // Root of such a namespace is not root to the kernel.
        assert_ne!(
            check(&checks, "perf_event_paranoid")["found"],
            "2, which does not restrict you"
        );
    }
    if let Some(checks) = checks_by(&["unshare", "--pid", "--fork", "--mount-proc"]) {
        let container = check(&checks, "container");
        assert!(
            container["found"].as_str().unwrap().contains("sees its processes only"),
            "{container}"
        );
        assert!(container["fix"].as_str().unwrap().contains("on the host"), "{container}");
    }
    if let Some(checks) = checks_by(&["prlimit", "--nofile=200:200"]) {
        let files = check(&checks, "open files");
        assert!(
            files["ok"] == false && files["fix"].as_str().unwrap().contains("prlimit"),
            "{files}"
        );
    }
    let nobody = ["setpriv", "--reuid=65534", "--clear-groups"];
    let scratch = Scratch::for_all("doctor-nobody");
    let program = scratch.program_for_all(program::path(), "nodescope");
    let output = Command::new(nobody[0])
        .args(&nobody[1..])
        .arg(&program)
        .args(["doctor", "--json"])
        .output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return skip("another user: this is not root");
    };
    let checks: Value = serde_json::from_slice(&output.stdout).unwrap();
    let capabilities = check(&checks, "capabilities");
    assert!(capabilities["found"].as_str().unwrap().starts_with("none"), "{capabilities}");
    let fix = capabilities["fix"].as_str().unwrap();
    assert!(fix.starts_with("sudo setcap cap_perfmon,") && fix.contains(&program), "{fix}");
}

/// A stripped binary, and one with capabilities, which the kernel hides from its own user.
#[test]
fn a_changed_binary_is_noticed() {
    let scratch = Scratch::for_all("doctor-binary");
    let node = Command::new("node").args(["-p", "process.execPath"]).output().unwrap();
    let node = String::from_utf8(node.stdout).unwrap();
    let copy = scratch.program_for_all(node.trim(), "node");
    let seen = |command: Command| {
        let waiting = Waiting::start_as(command, &[]);
        json(&["doctor", "--json", &waiting.0.id().to_string()])
    };
    let before = seen(Command::new(&copy));
    assert_eq!(check(&before, "dumpable")["ok"], true, "{before}");
    assert_eq!(check(&before, "its PID namespace")["found"], "ours");
    if Command::new("strip").arg(&copy).status().is_ok_and(|status| status.success()) {
        let stripped = seen(Command::new(&copy));
        assert_eq!(check(&stripped, "native names")["ok"], false, "{stripped}");
    } else {
        skip("a stripped program: strip is missing");
    }
    let capable = Command::new("setcap").args(["cap_net_bind_service=ep", &copy]).status();
    let opened = Command::new("chmod").args(["-R", "a+rX", &scratch.path("")]).status();
    if !capable.is_ok_and(|status| status.success()) || opened.is_err() {
        return skip("capabilities of a file: setcap is missing, or not permitted");
    }
    let mut command = Command::new("setpriv");
    // Through a shell that has no capabilities any more: the kernel hides only a process that gains some.
    command.args(["--reuid=65534", "--clear-groups", "sh", "-c", "exec \"$0\" \"$@\"", &copy]);
    let hidden = seen(command);
    let dumpable = check(&hidden, "dumpable");
    assert!(
        dumpable["ok"] == false && dumpable["fix"].as_str().unwrap().contains("setcap -r"),
        "{dumpable}"
    );
}
