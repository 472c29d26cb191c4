//! `nodescope doctor`: true answers, each with a way on.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it skips")]

mod program;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use program::{Scratch, fails, json, succeeds};
use serde_json::Value;

/// A Node that waits, and ends with the test.
struct Waiting(Child, #[expect(dead_code, reason = "goes with it")] Scratch);

impl Waiting {
    fn start(flags: &[&str]) -> Self {
        let mut command = Command::new("node");
        command.args(flags).args(["-e", "setTimeout(() => {}, 30000)"]).stdout(Stdio::null());
        // With --perf-basic-prof V8 leaves a log in the current folder.
        let scratch = Scratch::new(&format!("doctor{}", flags.join("")));
        let waiting = Self(command.current_dir(&scratch.0).spawn().unwrap(), scratch);
        std::thread::sleep(Duration::from_millis(500));
        waiting
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
    for what in ["perf events", "kernel names", "other processes", "container names", "Node"] {
        let check = check(&checks, what);
        assert!(!check["found"].as_str().unwrap().is_empty(), "{check}");
        // Whatever is in the way has a reason and a command.
        assert!(
            check["ok"] == true || !check["why"].as_str().unwrap().is_empty() && check["fix"].is_string(),
            "{check}"
        );
    }
    let text = succeeds(&["doctor", "--color", "never"]);
    assert_eq!(
        text.lines().filter(|line| line.starts_with('✓') || line.starts_with('✗')).count(),
        5,
        "{text}"
    );
}

/// What it says of sampling is what record then does.
#[test]
fn it_agrees_with_record() {
    let claims = check(&json(&["doctor", "--json"]), "perf events")["ok"] == true;
    let words = ["record", "-F", "999", "-o", "-", "--", "node", "-e", "for (let i = 0; i < 3e8; i++);"];
    let output = program::nodescope(&words).output().unwrap();
    assert_eq!(output.status.success(), claims, "{}", program::stderr(&output));
}

#[test]
fn a_process_is_described() {
    let plain = Waiting::start(&[]);
    let mapped = Waiting::start(&["--perf-basic-prof", "--interpreted-frames-native-stack"]);
    let names = |waiting: &Waiting| {
        let checks = json(&["doctor", "--json", &waiting.0.id().to_string()]);
        assert!(check(&checks, "process")["found"].as_str().unwrap().contains("is Node v"), "{checks}");
        check(&checks, "JavaScript names").clone()
    };
    let (without, with) = (names(&plain), names(&mapped));
    assert!(
        without["ok"] == false && without["fix"].as_str().unwrap().contains("--perf-basic-prof"),
        "{without}"
    );
    assert_eq!(with["ok"], true, "{with}");
    fails(&["doctor", "nobody runs this"], 1, "no Node process here is like that", "nodescope ps");
}
