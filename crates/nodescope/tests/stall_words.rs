//! What people read of a process whose loops wait inside their turns, from a real recording.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::Command;

use serde_json::Value;

use crate::program::running::{Running, can_record, nodes};
use crate::program::{Scratch, json, nodescope, stderr, stdout, succeeds};

/// The main loop waits for a child, the worker's loop for nothing; neither uses the CPU.
const WAITS: &str = "const { Worker, isMainThread } = require('worker_threads');
const { execSync } = require('child_process');
const cell = new Int32Array(new SharedArrayBuffer(4));
function deployStatus() { execSync('sleep 0.3'); }
function poll() { deployStatus(); }
function pause() { Atomics.wait(cell, 0, 0, 200); }
if (isMainThread) { new Worker(__filename); setInterval(poll, 1000); console.log('ready'); }
else setInterval(() => pause(), 400);
";

/// `loops.rs` has all of them.
const RELEASES: [&str; 2] = ["20.20.2", "24.21.0"];

#[test]
fn a_loop_that_waits_is_shown_with_what_it_waits_for() {
    if !can_record() {
        return;
    }
    for (release, node) in nodes().into_iter().filter(|(release, _)| RELEASES.contains(release)) {
        let scratch = Scratch::new(&format!("stall-words-{release}"));
        let (script, out) =
            (scratch.file("waits.js", WAITS.as_bytes()), scratch.path("a.nodescope"));
        let running = Running::start(Command::new(&node).arg(&script));
        let output =
            nodescope(&["record", &running.pid(), "-d", "3s", "-o", &out]).output().unwrap();
        assert!(output.status.success(), "{release}: {}", stderr(&output));
        check(release, &stdout(&output), &json(&["report", "--json", &out]));
        // Also where there may be no sample of what ran.
        assert!(succeeds(&["report", &out]).contains("Stalls of the event loop"), "{release}");
    }
}

fn check(release: &str, text: &str, report: &Value) {
    let loops = report["loops"].as_array().unwrap();
    assert!(
        loops.len() == 2 && loops.iter().all(|row| row["watched"] == true),
        "{release}: {loops:#?}"
    );
    let stalls = report["stalls"].as_array().unwrap();
    for (call, function, line) in
        [("a child process: execSync", "deployStatus", 4), ("Atomics.wait", "pause", 6)]
    {
        let is_it = |row: &&Value| row["waited_for"] == call && row["function"] == function;
        let its = stalls
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{release}: no {call}: {stalls:#?}"));
        assert!(its["kind"] == "blocked" && its["line"] == line, "{release}: {its}");
        assert!(its["file"].as_str().unwrap().ends_with("waits.js"), "{release}: {its}");
        assert!(its["blocked_s"].as_f64().unwrap() > 0.1, "{release}: {its}");
    }
    assert!(!text.contains("Nothing stands out"), "{release}: {text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "The main loop stood still",
        "Waiting for a child process, not on the CPU: execSync in deployStatus (",
        "The loop of worker",
        "Waiting, not on the CPU: Atomics.wait in pause (",
    ] {
        assert!(words.contains(part), "{release}: {part}: {text}");
    }
}
