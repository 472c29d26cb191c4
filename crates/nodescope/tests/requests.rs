//! What a request pays at a loop, compared with pings that another process sent to it at random moments.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::process::Command;

use profile::file;
use serde_json::Value;

use crate::program::running::{Running, can_record, nodes};
use crate::program::{Scratch, json, nodescope, stderr};

const PINGS: &str = include_str!("program/pings.js");
const RELEASE: &str = "24.21.0";

/// How long pings waited, in seconds: half of them no longer, 99 of 100, and the worst.
struct Truth {
    pings: usize,
    median_s: f64,
    p99_s: f64,
    worst_s: f64,
}

/// Records a loop of a kind that is pinged: its report, and what the pings measured.
fn record(kind: &str) -> Option<(Value, Truth)> {
    let (_, node) = nodes().into_iter().find(|(release, _)| *release == RELEASE)?;
    let scratch = Scratch::new(&format!("requests-{kind}"));
    let (script, log) = (scratch.file("pings.js", PINGS.as_bytes()), scratch.path("log"));
    let running = Running::start(Command::new(node).args([&script, kind, &log]));
    let out = scratch.path("a.nodescope");
    let words = ["record", &running.pid(), "-d", "4s", "-o", &out];
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    drop(running);
    let report = json(&["report", "--json", &out]);
    let profile = file::read(&fs::read(&out).unwrap()).unwrap();
    let start_ms = profile.meta().start_clock_s.unwrap() * 1e3;
    let end_ms = start_ms + profile.duration_ns() as f64 / 1e6;
    let text = fs::read_to_string(&log).unwrap();
    let pings = text.lines().filter_map(|line| line.split_once(' '));
    let pings = pings.map(|(sent, took)| (sent.parse().unwrap(), took.parse().unwrap()));
    let pings = pings.filter(|(sent, _): &(f64, f64)| (start_ms..end_ms).contains(sent));
    let mut took_s: Vec<f64> = pings.map(|(_, took)| took / 1e3).collect();
    took_s.sort_by(f64::total_cmp);
    let at = |part: f64| took_s[((took_s.len() - 1) as f64 * part) as usize];
    let truth = Truth { pings: took_s.len(), median_s: at(0.5), p99_s: at(0.99), worst_s: at(1.0) };
    let row = report["loops"][0].clone();
    println!(
        "{kind}: {} pings waited {:.4}, {:.4}, {:.4} s; the report: {row}",
        truth.pings, truth.median_s, truth.p99_s, truth.worst_s
    );
    Some((row, truth))
}

/// Whether two times are a quarter of each other apart, or as much as a busy machine makes of any ping.
fn are_near(one_s: f64, two_s: f64) -> bool {
    (one_s - two_s).abs() <= one_s.max(two_s) / 4.0 + 0.02
}

#[test]
fn what_pings_wait_for_long_turns() {
    if !can_record() {
        return;
    }
    let Some((row, truth)) = record("stalls") else { return };
    let figure = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    assert!(truth.pings > 50);
    assert!(are_near(figure("delay_p99_s"), truth.p99_s), "{row}: {}", truth.p99_s);
    assert!(are_near(figure("delay_worst_s"), truth.worst_s), "{row}: {}", truth.worst_s);
    // A ping that wakes the loop also waits for a CPU.
    assert!(figure("delay_median_s") <= truth.median_s + 0.02, "{row}: {}", truth.median_s);
    assert!((0.3..0.9).contains(&figure("utilisation")), "{row}");
}

#[test]
fn what_pings_wait_for_a_loop_that_never_is_idle() {
    if !can_record() {
        return;
    }
    let Some((row, truth)) = record("saturated") else { return };
    let figure = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    assert!(figure("utilisation") > 0.9, "{row}");
    let median_s = figure("delay_median_s");
    assert!(median_s > 0.0005 && are_near(median_s, truth.median_s), "{row}: {}", truth.median_s);
}
