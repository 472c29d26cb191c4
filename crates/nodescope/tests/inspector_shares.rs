//! What `nodescope record --via inspector` records agrees with what Node writes by itself with --cpu-prof. Nothing else
//! runs beside this test.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use crate::program::inspected::{BUSY, Target, record, share};
use crate::program::running::some_nodes;
use crate::program::{Scratch, json};

#[test]
fn shares_agree_with_cpu_prof() {
    let nodes = Mutex::new(some_nodes());
    let next = || nodes.lock().unwrap().pop();
    // A CPU for each program that is measured.
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((release, node)) = next() {
                    agrees_with_cpu_prof(release, &node);
                }
            });
        }
    });
}

/// The same program, the same interval, the same profiler: once by Node itself, once from outside, in windows.
fn agrees_with_cpu_prof(release: &str, node: &Path) {
    let scratch = Scratch::new(&format!("inspector-shares-{release}"));
    let script = scratch.file("busy.js", BUSY.as_bytes());
    let own_cpu = undisturbed(|| {
        let start = Instant::now();
        let own = Command::new(node)
            .args([
                "--cpu-prof",
                "--cpu-prof-interval",
                "1000",
                "--cpu-prof-name",
                "own.cpuprofile",
            ])
            .args([&script, "5000"])
            .current_dir(&scratch.0)
            .output()
            .unwrap();
        assert!(own.status.success());
        5.0 / start.elapsed().as_secs_f64()
    });
    let (expected, n_own) = share(&json(&["report", "--json", &scratch.path("own.cpuprofile")]));
    let out = scratch.path("a.nodescope");
    let cpu = undisturbed(|| {
        let _ = fs::remove_file(&out);
        let mut target = Target::start(&scratch, node, &[], BUSY, &[]);
        let (start, before_s) = (Instant::now(), target.cpu_s());
        record(&target.pid(), &out, &["-d", "5s", "-F", "1000"]);
        let cpu_share = (target.cpu_s() - before_s) / start.elapsed().as_secs_f64();
        assert!(target.is_as_before(), "{release}");
        cpu_share
    });
    let log = fs::read_to_string(scratch.path("log")).unwrap();
    assert_eq!(log.matches("Debugger attached").count(), 1, "closed without another talk: {log}");
    let report = json(&["report", "--json", &out]);
    let (found, n) = share(&report);
    println!(
        "Node {release}: heavy is {expected:.4} of {n_own} by --cpu-prof, {found:.4} of {n} samples"
    );
    assert!(n >= 1000.0, "{release}: {n} samples");
    // Both are samples of one truth.
    let variance = expected * (1.0 - expected);
    let noise = (variance * (repetition(cpu) / n + repetition(own_cpu) / n_own)).sqrt();
    assert!((found - expected).abs() <= 4.0 * noise, "{release}: {found}, not {expected}");
    let cost = &report["cost"];
    for part in ["start_ns", "windows", "window_ns", "end_ns", "memory_bytes"] {
        assert!(cost[part].as_u64().unwrap() >= 1, "{release}, {part}: {cost}");
    }
    let ours =
        report["functions"].as_array().unwrap().iter().filter(|row| row["name"] == "nodescope");
    assert_eq!(ours.count(), 0, "{release}: our own code is no sample");
    assert_eq!(report["losses"]["damage"], serde_json::json!([]), "{release}");
}

/// Does something until the program that is measured had a CPU for most of the time, which it reports; at most three
/// times. The share of the time in which it had one.
fn undisturbed(attempt: impl Fn() -> f64) -> f64 {
    let mut cpu_share = 0.0;
    for _ in 0..3 {
        cpu_share = f64::min(attempt(), 1.0);
        if cpu_share > 0.9 {
            break;
        }
        println!("it had a CPU for {cpu_share:.2} of the time");
    }
    cpu_share
}

/// How many samples show the same thing, on average, so that n of them are worth n / repetition independent ones. V8
/// samples by the clock: while the program waits for a CPU, all samples are of the place where it stopped. A wait takes
/// as long as the scheduler lets another program run, some milliseconds, and waits of different lengths count by the
/// square of their length: twice the mean.
fn repetition(cpu_share: f64) -> f64 {
    const WAIT_SAMPLES: f64 = 10.0;
    cpu_share + (1.0 - cpu_share) * 2.0 * WAIT_SAMPLES
}
