//! `nodescope top`: what a process does now, not what it did; on a terminal, in a pipe and as JSON.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::running::{PATIENCE, Running, can_record, installed_node};
use crate::program::{Scratch, crashes_on_demand, fails, nodescope, stderr, stdout, succeeds};
use crate::skip::skip;

/// Calls `before` until a file appears, then `after`: through a builtin, so that V8 inlines neither.
const CHANGES: &str = "
const fs = require('fs');
function before() { let sum = 0; for (let i = 0; i < 2e6; i++) sum += Math.sqrt(i); return sum; }
function after() { let sum = 1; for (let i = 0; i < 2e6; i++) sum += Math.sqrt(i); return sum; }
setInterval(() => 'a'.replace('a', fs.existsSync('changed') ? after : before), 8);
console.log('ready');
";

fn start(scratch: &Scratch) -> Option<Running> {
    let Some(node) = installed_node() else {
        skip("top: node is missing");
        return None;
    };
    let script = scratch.file("changes.js", CHANGES.as_bytes());
    Some(Running::start(Command::new(node).arg(script).current_dir(&scratch.0)))
}

/// What part of the time a function caused; 0 where it is not listed.
fn caused(report: &Value, name: &str) -> f64 {
    let mut rows = report["own_functions"].as_array().unwrap().iter();
    let row = rows.find(|row| row["name"] == name);
    row.map_or(0.0, |row| row["caused"].as_f64().unwrap())
}

/// Reads reports until one fits.
fn wait_for(reports: &mut dyn Iterator<Item = Value>, fits: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + PATIENCE;
    let mut latest = Value::Null;
    for report in reports {
        if fits(&report) {
            return report;
        }
        assert!(Instant::now() < end, "no report fits, the last one: {latest:#}");
        latest = report;
    }
    panic!("top has ended after {latest:#}");
}

#[test]
fn reports_are_about_the_last_seconds() {
    let scratch = Scratch::new("top-changes");
    let Some(target) = start(&scratch).filter(|_| can_record()) else { return };
    let words = ["top", &target.pid(), "--every", "500ms", "--last", "2s", "--json"];
    let mut top = nodescope(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(top.stdout.take().unwrap()).lines();
    let mut reports = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let full = |report: &Value| report["samples"].as_u64().unwrap() >= 50;
    let first = wait_for(&mut reports, |report| full(report) && caused(report, "before") > 0.5);
    assert_eq!(caused(&first, "after"), 0.0, "{first:#}");
    assert!(!first["functions"].as_array().unwrap().is_empty(), "JSON has the lists");
    fs::write(scratch.path("changed"), "").unwrap();
    let now = |report: &Value| caused(report, "after") > 0.5 && caused(report, "before") == 0.0;
    let last = wait_for(&mut reports, now);
    // Two seconds are no more than that.
    assert!(last["duration_s"].as_f64().is_none_or(|seconds| seconds <= 2.1), "{last:#}");
    // Ctrl-C ends it, with one more report.
    assert!(Command::new("kill").args(["-INT", &top.id().to_string()]).status().unwrap().success());
    assert!(reports.count() >= 1);
    assert!(top.wait().unwrap().success());
}

/// A recording that has become large makes room for the next one.
#[test]
fn it_goes_on_for_ever() {
    let scratch = Scratch::new("top-sessions");
    if !crashes_on_demand() {
        return;
    }
    let Some(target) = start(&scratch).filter(|_| can_record()) else { return };
    let words = ["top", &target.pid(), "--every", "300ms", "--last", "1s", "--json", "-d", "5s"];
    let output = nodescope(&words).env("NODESCOPE_TOP_BYTES", "3000").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let reports: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Each session counts its time from its own start.
    let starts = |report: &Value| report["start_clock_s"].as_f64().unwrap();
    let mut sessions: Vec<f64> = reports.iter().map(starts).collect();
    sessions.dedup();
    assert!(sessions.len() >= 2, "{sessions:?}");
    let busy = reports.iter().filter(|report| caused(report, "before") > 0.5).count();
    assert!(busy * 2 > reports.len(), "{busy} of {} reports show what runs", reports.len());
}

#[test]
fn in_a_pipe_one_report_follows_the_other() {
    let scratch = Scratch::new("top-pipe");
    let Some(target) = start(&scratch).filter(|_| can_record()) else { return };
    let text = succeeds(&["top", &target.pid(), "-d", "3s", "--every", "500ms", "-n", "2"]);
    let heads = text.matches(&format!("pid {}", target.pid())).count();
    assert!((2..=6).contains(&heads), "{text}");
    assert!(text.contains("before") && text.contains("caused"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// The screen of before comes back, with the last report on it.
#[test]
fn a_terminal_has_one_screen() {
    let scratch = Scratch::new("top-terminal");
    let Some(target) = start(&scratch).filter(|_| can_record()) else { return };
    let program = crate::program::path();
    let command =
        format!("stty cols 90 rows 20; {program} top {} -d 3s --every 500ms", target.pid());
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("SHELL", "/bin/sh").env_remove("COLUMNS");
    let Ok(output) = script.env("TERM", "xterm").stdin(Stdio::null()).output() else {
        return skip("a terminal: script is missing");
    };
    let shown = stdout(&output);
    assert!(output.status.success(), "{shown}");
    let (before, rest) = shown.split_once("\u{1b}[?1049h").unwrap();
    let (screens, after) = rest.split_once("\u{1b}[?1049l").unwrap();
    assert!(!before.contains("cores busy"), "{before}");
    let screens: Vec<&str> = screens.split("\u{1b}[H").skip(1).collect();
    assert!(screens.len() >= 3, "{screens:?}");
    for screen in &screens {
        assert!(screen.matches('\n').count() < 20, "{screen}");
        assert!(screen.contains("the last 10.0 s, every 500.0 ms · Ctrl-C ends"), "{screen}");
    }
    assert!(after.contains("cores busy") && after.contains("before"), "{after}");
}

/// What cannot be shown has a sentence and a hint; a process that ends, ends it.
#[test]
fn what_cannot_be_shown_is_explained() {
    fails(&["top", "4194999"], 1, "there is no process 4194999", "ps");
    fails(&["top", "no such words in any command"], 1, "no Node process here", "ps");
    fails(&["top", "1", "--every", "soon"], 2, "--every soon is not a time", "--every 30s");
    fails(&["top", "1", "--last", "0s"], 2, "must be longer than 0", "--last 30s");
    let scratch = Scratch::new("top-end");
    let Some(mut target) = start(&scratch).filter(|_| can_record()) else { return };
    let words = ["top", &target.pid(), "--every", "300ms"];
    let mut top = nodescope(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    target.0.kill().unwrap();
    target.0.wait().unwrap();
    assert!(lines.count() >= 1, "the last report");
    let end = Instant::now() + PATIENCE;
    while top.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "it runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
}
