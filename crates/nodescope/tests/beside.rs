//! What `nodescope record` reads beside the samples of a clock: turns of event loops, other events, everything that
//! runs, programs that were replaced on disk, and the CPU time that samples must add up to.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::running::{
    Running, can_record, function, has_function, is_without_kernel, nodes, some_nodes,
};
use crate::program::{Scratch, fails, json, nodescope, stderr};
use crate::skip::skip;

/// Turns of a millisecond, and one of 300 ms every second. What is counted is CPU time: the program itself
/// reports the real time of the long turns. A turn is at least as long as its function, and at most from the end of
/// what ran before it to the end of what ran after it: on a busy machine it may wait for a CPU there.
const STALLS: &str = "
const fs = require('fs');
const stalls = [];
const now = () => Number(process.hrtime.bigint()) / 1e9;
let before = now(), open;
function spin(ms) { const start = process.cpuUsage(); let sum = 0;
  for (;;) { for (let i = 0; i < 1e4; i++) sum += Math.sqrt(i);
    const { user, system } = process.cpuUsage(start); if ((user + system) / 1000 >= ms) return sum; } }
function healthy() { spin(1); if (open) done(); before = now(); if (process.argv[2] === 'busy') setImmediate(healthy); }
function stalled() { const [earliest, start] = [before, now()]; spin(300); open = [now() - start, earliest]; }
function done() { stalls.push([open[0], now() - open[1]]); open = undefined;
  // Not within the turn: a disk may be slow.
  const [file, half] = [process.argv[3], process.argv[3] + '.half'];
  fs.writeFile(half, JSON.stringify(stalls), () => fs.rename(half, file, () => {})); }
process.argv[2] === 'busy' ? healthy() : setInterval(healthy, 20);
setInterval(stalled, 1000);
console.log('ready');
";

/// A long turn is seen as long as it was, and nothing else is taken for one, however busy the loop is.
#[test]
fn long_turns_are_distinguished_from_a_busy_loop() {
    if !can_record() {
        return;
    }
    for (release, node) in some_nodes() {
        // An idle loop is the same everywhere, and each takes its time.
        let loads = if release.starts_with("26.") { &["busy", "idle"][..] } else { &["busy"] };
        for load in loads {
            let scratch = Scratch::new(&format!("stalls-{release}-{load}"));
            let (script, truth) =
                (scratch.file("stalls.js", STALLS.as_bytes()), scratch.path("truth"));
            let out = scratch.path("a.nodescope");
            let running = Running::start(Command::new(&node).args([&script, *load, &truth]));
            let record = |time: &str| {
                let words = ["record", &running.pid(), "-d", time, "--overwrite", "-o", &out];
                let output = nodescope(&words).output().unwrap();
                assert!(output.status.success(), "{}", stderr(&output));
                json(&["report", "--json", &out])
            };
            let mut report = record("3500ms");
            // Where others want the CPU, too, long turns take longer and there are fewer of them.
            if long_turns(&report).len() < 2 {
                report = record("12s");
            }
            check_stalls(&format!("Node {release}, {load}"), &report, &truth);
        }
    }
}

/// How long the program may take to write down what it knows of its turns.
const PATIENCE: Duration = Duration::from_secs(20);

/// The shortest and the longest that each long turn can have been, by the program's own clock.
fn truth_so_far(path: &str) -> Vec<(f64, f64)> {
    // It may be half written.
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn check_stalls(what: &str, report: &Value, truth: &str) {
    assert_eq!(report["loops_watched"], true, "{what}");
    let long = long_turns(report);
    // One begins every second.
    let most = report["duration_s"].as_f64().unwrap() as usize + 2;
    assert!((2..=most).contains(&long.len()), "{what}: {}", report["stalls"]);
    let stranger = |truth: &[(f64, f64)]| {
        long.iter().find(|stall| !is_cut(stall, report) && !is_known(stall, truth)).copied()
    };
    let deadline = Instant::now() + PATIENCE;
    while stranger(&truth_so_far(truth)).is_some() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    let truth = truth_so_far(truth);
    let lengths: Vec<f64> = long.iter().map(|stall| length(stall)).collect();
    println!("{what}: long turns {lengths:.3?}, by the program's own clock {truth:.3?}");
    if let Some(stall) = stranger(&truth) {
        panic!("{what}: {stall} is not in {truth:?}");
    }
    for stall in &long {
        // A turn that mostly waited for a CPU is blamed on no function.
        let had_no_cpu = stall["kind"] == "cpu-wait" && stall["function"].is_null();
        assert!(had_no_cpu || stall["function"] == "spin", "{what}: {stall}");
    }
}

fn long_turns(report: &Value) -> Vec<&Value> {
    let stalls = report["stalls"].as_array().unwrap();
    stalls.iter().filter(|stall| length(stall) > 0.2).collect()
}

fn length(stall: &Value) -> f64 {
    stall["duration_s"].as_f64().unwrap()
}

/// Whether the recording may have begun or ended within a turn.
fn is_cut(stall: &Value, report: &Value) -> bool {
    let (start, end) = (stall["start_s"].as_f64().unwrap(), stall["end_s"].as_f64().unwrap());
    start < 0.3 || end > report["duration_s"].as_f64().unwrap() - 0.05
}

/// Whether the program knows of a turn that was as long.
fn is_known(stall: &Value, truth: &[(f64, f64)]) -> bool {
    let tolerance = |true_s: f64| 0.03 + 0.05 * true_s;
    truth.iter().any(|(least_s, most_s)| {
        (least_s - tolerance(*least_s)..most_s + tolerance(*most_s)).contains(&length(stall))
    })
}

/// Each event has a lane of its own.
#[test]
fn other_events_are_lanes() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("events");
    let text = "const fs = require('fs'); console.log('ready');
        function touch() { return Buffer.alloc(8 << 20, 1).length; }
        setInterval(() => { for (let i = 0; i < 5; i++) touch(); fs.readFileSync('/etc/passwd'); }, 5);";
    let (script, out) = (scratch.file("faults.js", text.as_bytes()), scratch.path("a.nodescope"));
    let running = Running::start(Command::new("node").arg(script));
    let events = "page-faults,context-switches,sched:sched_switch";
    let words = ["record", &running.pid(), "-d", "1500ms", "-F", "499", "-e", events, "-o", &out];
    let output = nodescope(&words).output().unwrap();
    if stderr(&output).contains("run nodescope with sudo") {
        return skip(format_args!("without the kernel: {}", stderr(&output)));
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    let mut names: Vec<&str> = report["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    // A turn may have waited for long.
    names.retain(|name| *name != profile::WAITS_LANE);
    assert_eq!(names, ["cpu-clock", "page-faults", "context-switches", "sched:sched_switch"]);
    let faults = json(&["report", "--json", "-n", "0", "--event", "page-faults", &out]);
    assert!(
        faults["samples"].as_u64().unwrap() > 4 && faults["unit"] == "events",
        "{}",
        faults["unit"]
    );
    assert!(has_function(&faults, "touch"), "{}: {}", faults["losses"], faults["functions"]);
    assert!(function(&faults, "touch")["total"].as_f64().unwrap() > 0.3, "{}", faults["functions"]);
    let switches = json(&["report", "--json", "--event", "sched:sched_switch", &out]);
    assert!(switches["samples"].as_u64().unwrap() > 50, "{}", switches["samples"]);
    fails(
        &["record", &running.pid(), "-e", "page-fault"],
        2,
        "there is no event page-fault",
        "page-faults",
    );
    // A machine has hardware counters, or says that it has none.
    let cycles = nodescope(&[
        "record",
        &running.pid(),
        "-e",
        "cycles",
        "-d",
        "1s",
        "--overwrite",
        "-o",
        &out,
    ])
    .output()
    .unwrap();
    match cycles.status.success() {
        true => {
            assert_eq!(json(&["report", "--json", "--event", "cycles", &out])["event"], "cycles");
        }
        false => assert!(stderr(&cycles).contains("no event cycles"), "{}", stderr(&cycles)),
    }
}

/// Every process of the machine, ours among them.
#[test]
fn everything_is_recorded() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("system");
    let text = "console.log('ready'); for (;;) Math.sqrt(2);";
    let (script, out) = (scratch.file("busy.js", text.as_bytes()), scratch.path("a.nodescope"));
    let running = Running::start(Command::new("node").arg(&script));
    let mut shell = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let output =
        nodescope(&["record", "-a", "-d", "2s", "-F", "199", "-o", &out]).output().unwrap();
    let _ = shell.kill();
    let _ = shell.wait();
    if stderr(&output).contains("you may not sample the whole machine") {
        return skip(format_args!("without the kernel: {}", stderr(&output)));
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    let samples = |pid: u32| {
        let threads = report["threads"].as_array().unwrap().iter();
        threads
            .filter(|row| row["pid"] == pid)
            .map(|row| row["samples"].as_u64().unwrap())
            .sum::<u64>()
    };
    let (node, shell) = (samples(running.0.id()), samples(shell.id()));
    println!("-a: {node} samples of node, {shell} of sh, of {}", report["samples"]);
    assert!(node > 20 && shell > 20, "{}", report["threads"]);
    fails(&["record", "-a", "12"], 2, "--system means everything", "");
}

/// An update replaced the binary while the service went on.
#[test]
fn a_deleted_program_has_its_names() {
    if !can_record() {
        return;
    }
    let Some((_, node)) = nodes().into_iter().find(|(release, _)| release.starts_with("22."))
    else {
        return;
    };
    let scratch = Scratch::new("deleted");
    let copy = scratch.path("node");
    fs::copy(node, &copy).unwrap();
    let text = "console.log('ready'); const text = JSON.stringify(Array(5000).fill({ a: 1 }));
        function parse() { return JSON.parse(text); } for (;;) parse();";
    let (script, out) = (scratch.file("parse.js", text.as_bytes()), scratch.path("a.nodescope"));
    let running = Running::start(Command::new(&copy).arg(&script));
    fs::remove_file(&copy).unwrap();
    let output = nodescope(&["record", &running.pid(), "-F", "499", "-d", "1s", "-o", &out])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!Path::new(&copy).exists());
    let report = json(&["report", "--json", "-n", "0", &out]);
    let has = |part: &str| {
        let mut rows = report["functions"].as_array().unwrap().iter();
        assert!(
            rows.any(|row| row["name"].as_str().unwrap().contains(part)),
            "no {part}: {}",
            report["functions"]
        );
    };
    ["JsonParser", "node::Start", "parse"].into_iter().for_each(has);
}

/// Samples add up to the CPU time that the kernel counted, on all threads; what may not be seen is counted apart.
#[test]
fn samples_add_up_to_the_cpu_time() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("adds-up");
    let text = "const { pbkdf2 } = require('crypto'); console.log('ready');
        const again = () => pbkdf2('a', 'b', 3e4, 64, 'sha512', again); again(); again();
        setInterval(() => { const end = Date.now() + 10; while (Date.now() < end); }, 20);";
    let (script, out) = (scratch.file("mixed.js", text.as_bytes()), scratch.path("a.nodescope"));
    let running = Running::start(Command::new("node").arg(script));
    let output = nodescope(&["record", &running.pid(), "-d", "4s", "-o", &out]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    let (used, sampled) =
        (report["losses"]["cpu_s"].as_f64().unwrap(), report["weight"].as_f64().unwrap() / 1e9);
    println!("{used:.2} s of CPU were used, {sampled:.2} s were sampled");
    let hidden = report["losses"]["hidden_kernel_s"].as_f64().unwrap();
    assert!((used - hidden - sampled).abs() < 0.05 * used + 0.1, "{}", report["losses"]);
    assert!(hidden == 0.0 || is_without_kernel(&output));
    assert_eq!(report["losses"]["unsampled_s"], 0.0);
}
