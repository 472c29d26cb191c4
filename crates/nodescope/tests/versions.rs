//! `nodescope record` on every version of Node: each writes its code and its map differently. The truth is the
//! program's own CPU clock.

#![cfg(target_os = "linux")]

use std::path::PathBuf;

use crate::program::running::{
    NAMES, can_record, function, is_without_kernel, nodes, record_command_with, some_nodes,
};
use crate::program::shares::shares_are_right;
use crate::program::{Scratch, json, succeeds};
use crate::skip::skip;

/// JavaScript, C++ below it, and the kernel.
const MIXED: &str = "
const fs = require('fs');
const text = JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ id: i, name: 'row ' + i })));
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
while (spent() < 1000) { spin(5e5); JSON.parse(text); for (let i = 0; i < 300; i++) fs.statSync('/'); }
";

#[test]
fn names_and_shares_are_right() {
    if can_record() {
        for (release, node) in some_nodes() {
            shares_are_right(release, &node, NAMES);
        }
    }
}

/// The oldest and the newest: V8 writes this map as it writes the whole one, which every release is tested with.
fn first_and_last_node() -> Vec<(&'static str, PathBuf)> {
    let mut all = nodes();
    let last = all.split_off(all.len().saturating_sub(1));
    all.truncate(1);
    all.into_iter().chain(last).collect()
}

#[test]
fn names_of_functions_are_enough() {
    if can_record() {
        for (release, node) in first_and_last_node() {
            shares_are_right(release, &node, &["--perf-basic-prof-only-functions"]);
        }
    }
}

/// No option at all: names come from the heap, of interpreted functions, too.
#[test]
fn plain_processes_have_names_and_shares() {
    if can_record() {
        for (release, node) in nodes() {
            shares_are_right(release, &node, &[]);
        }
    }
}

/// Where its memory is not read, the engine, its own functions and the kernel have names; JavaScript is shown as what
/// it is.
#[test]
fn without_the_heap_only_javascript_lacks_names() {
    if !can_record() {
        return;
    }
    for (release, node) in first_and_last_node() {
        let scratch = Scratch::new(&format!("versions-plain-{release}"));
        let (script, out) =
            (scratch.file("mixed.js", MIXED.as_bytes()), scratch.path("a.nodescope"));
        let output = record_command_with(&["--no-heap"], &node, &[], &[&script], &out);
        let report = json(&["report", "--json", "-n", "0", &out]);
        let losses = &report["losses"];
        let unnamed = &losses["unnamed"]["generated code without a perf map"];
        let generated = function(&report, "[JIT]");
        let share = generated["self"].as_f64().unwrap();
        println!(
            "Node {release}: [JIT] is {share:.3} of the time; without names: {}",
            losses["unnamed"]
        );
        assert!(
            unnamed.as_u64().unwrap() >= generated["self_samples"].as_u64().unwrap(),
            "{release}: {losses}"
        );
        assert!(share > 0.2 && generated["category"] == "unknown", "{release}: {generated}");
        let all = losses["unnamed_frames"].as_u64().unwrap() - unnamed.as_u64().unwrap();
        assert!(
            all * 50 < losses["frames"].as_u64().unwrap(),
            "{release}: other frames lack names: {losses}"
        );
        let has = |part: &str| {
            let mut rows = report["functions"].as_array().unwrap().iter();
            assert!(
                rows.any(|row| row["name"].as_str().unwrap().contains(part)),
                "{release}: no {part}"
            );
        };
        for part in ["v8::internal::JsonParser", "node::fs::Stat", "node::Start", "uv_fs_stat"] {
            has(part);
        }
        if is_without_kernel(&output) {
            skip(format_args!("Node {release}: the kernel's time may not be seen here"));
        } else {
            has("statx");
        }
        let text = succeeds(&["report", &out]);
        assert!(
            text.contains("[JIT] is JavaScript without names: start Node with --perf-basic-prof"),
            "{text}"
        );
    }
}
