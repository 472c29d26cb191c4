//! `nodescope record` on every version of Node: each writes its code and its map differently. The truth is the
//! program's own CPU clock.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it skips")]

mod program;

use std::fs;
use std::path::Path;

use program::running::{
    Folded, NAMES, can_record, function, is_function, is_without_kernel, nodes, record_command,
    record_command_with,
};
use program::{Scratch, json, succeeds};
use serde_json::Value;

/// Three functions that count their own CPU time: two share a loop, one has its own. They are called through a
/// builtin, so that the optimising compiler does not make one function of them and their caller; and often, so that
/// they are soon compiled: only then have they a name without --interpreted-frames-native-stack.
const HOT: &str = "
const used = { heavy: 0, light: 0, alone: 0 };
function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
function heavy() { return spin(9e3) + 'heavy'; }
function light() { return spin(3e3) + 'light'; }
function alone() { let sum = 0; for (let i = 0; i < 6e3; i++) sum += Math.sqrt(i ^ 5); return sum + 'alone'; }
function timed(work) { const start = process.cpuUsage(); for (let i = 0; i < 100; i++) 'a'.replace('a', work);
  const end = process.cpuUsage(start); used[work.name] += end.user + end.system; }
// CPU time, not time: other programs may want the CPU, too.
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
while (spent() < 2600) { timed(heavy); timed(light); timed(alone); }
require('fs').writeFileSync(process.argv[2], JSON.stringify(used));
";

/// JavaScript, C++ below it, and the kernel.
const MIXED: &str = "
const fs = require('fs');
const text = JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ id: i, name: 'row ' + i })));
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
while (spent() < 1000) { spin(5e5); JSON.parse(text); for (let i = 0; i < 300; i++) fs.statSync('/'); }
";

const FUNCTIONS: [&str; 3] = ["heavy", "light", "alone"];

/// What the counts of samples must be to be trusted.
const FEWEST_SAMPLES: f64 = 2000.0;

#[test]
fn names_and_shares_are_right() {
    if can_record() {
        for (release, node) in nodes() {
            shares_are_right(release, &node, NAMES);
        }
    }
}

#[test]
fn names_of_functions_are_enough() {
    if can_record() {
        for (release, node) in nodes() {
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

fn shares_are_right(release: &str, node: &Path, flags: &[&str]) {
    let what = format!("Node {release} {}", flags.join(" "));
    let scratch = Scratch::new(&format!("versions-{release}{}", flags.concat()));
    let (script, out, used) =
        (scratch.file("hot.js", HOT.as_bytes()), scratch.path("a.folded"), scratch.path("used"));
    record_command(node, flags, &[&script, &used], &out);
    let used: Value = serde_json::from_str(&fs::read_to_string(used).unwrap()).unwrap();
    let clock = FUNCTIONS.map(|name| used[name].as_f64().unwrap());
    let folded = Folded::read(&out);
    let counts = FUNCTIONS.map(|name| folded.total(name));
    let n: f64 = counts.iter().sum();
    assert!(n >= FEWEST_SAMPLES, "{what}: {n} samples; {:#?}", folded.names());
    for ((name, used), count) in FUNCTIONS.iter().zip(clock).zip(counts) {
        let (p, found) = (used / clock.iter().sum::<f64>(), count / n);
        println!("{what}: {name} is {p:.4} by its own clock, {found:.4} of {n} samples");
        assert!((found - p).abs() <= 4.0 * (p * (1.0 - p) / n).sqrt(), "{what}: {name}: {found}, not {p}");
    }
    let leaf =
        folded.count(|stack| stack.last().is_some_and(|frame| is_function(frame, "alone"))) / counts[2];
    assert!(leaf > 0.9, "{what}: the loop is the leaf of {leaf} of its function");
}

/// Where its memory is not read, the engine, its own functions and the kernel have names; JavaScript is shown as what it
/// is.
#[test]
fn without_the_heap_only_javascript_lacks_names() {
    if !can_record() {
        return;
    }
    for (release, node) in nodes() {
        let scratch = Scratch::new(&format!("versions-plain-{release}"));
        let (script, out) = (scratch.file("mixed.js", MIXED.as_bytes()), scratch.path("a.nodescope"));
        let output = record_command_with(&["--no-heap"], &node, &[], &[&script], &out);
        let report = json(&["report", "--json", "-n", "0", &out]);
        let losses = &report["losses"];
        let unnamed = &losses["unnamed"]["generated code without a perf map"];
        let generated = function(&report, "[JIT]");
        let share = generated["self"].as_f64().unwrap();
        println!("Node {release}: [JIT] is {share:.3} of the time; without names: {}", losses["unnamed"]);
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
            assert!(rows.any(|row| row["name"].as_str().unwrap().contains(part)), "{release}: no {part}");
        };
        for part in ["v8::internal::JsonParser", "node::fs::Stat", "node::Start", "uv_fs_stat"] {
            has(part);
        }
        if is_without_kernel(&output) {
            println!("skipped: Node {release}: the kernel's time may not be seen here");
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
