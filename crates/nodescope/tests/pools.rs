//! Thread pools that are full of one kind of work, and one that is not.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::findings;
use crate::program::running::{Running, can_record, musl_nodes, nodes};
use crate::program::{Scratch, json, nodescope, stderr};

const POOL: &str = include_str!("program/pool.js");

fn node(wanted: &str) -> Option<PathBuf> {
    nodes().into_iter().find(|(release, _)| *release == wanted).map(|(_, node)| node)
}

/// Records a program that uses the pool, and reads the report.
fn record(scratch: &Scratch, running: &Running) -> Value {
    let out = scratch.path("a.nodescope");
    let words = ["record", &running.pid(), "-d", "2s", "-o", &out];
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    println!("{}: {}", scratch.0.display(), report["pools"]);
    report
}

fn is_found(report: &Value) -> bool {
    let rows = report["findings"].as_array().unwrap();
    rows.iter().any(|row| row.to_string().contains("The thread pool (4 threads) was full"))
}

fn check_full(report: &Value, kind: &str) {
    let pool = &report["pools"][0];
    let number = |key: &str| pool[key].as_f64().unwrap_or(f64::NAN);
    assert_eq!(pool["threads"], 4, "{pool}");
    assert!(number("full") > 0.5 && number("queued") > 4.0, "{pool}");
    assert_eq!(pool["work"][0]["kind"], kind, "{pool}");
    assert!(is_found(report), "{}", report["findings"]);
}

#[test]
fn a_pool_that_is_full_of_zlib() {
    let Some(node) = node("24.21.0").filter(|_| can_record()) else { return };
    let scratch = Scratch::new("pool-zlib");
    let script = scratch.file("pool.js", POOL.as_bytes());
    let running = Running::start(Command::new(node).args([&script, "zlib"]));
    check_full(&record(&scratch, &running), "zlib");
}

#[test]
fn pools_of_other_builds() {
    let musl = musl_nodes().into_iter().map(|(release, node)| (format!("musl {release}"), node));
    let others = ["18.20.8", "26.10.0"].into_iter().filter_map(|release| {
        let node = node(release)?;
        Some((release.to_owned(), node))
    });
    for (release, node) in others.chain(musl.take(1)).filter(|_| can_record()) {
        let scratch = Scratch::new(&format!("pool-crypto-{release}"));
        let script = scratch.file("pool.js", POOL.as_bytes());
        let running = Running::start(Command::new(node).args([&script, "crypto"]));
        check_full(&record(&scratch, &running), "crypto");
    }
}

/// Lookups may use half of the threads.
#[test]
fn a_pool_that_is_full_of_lookups() {
    let Some(node) = node("24.21.0").filter(|_| can_record()) else { return };
    let Some(recording) = findings::record(&node, &findings::POOL_DNS) else { return };
    let report = &recording.report;
    check_full(report, "dns");
    assert!(report["pools"][0]["busy_threads"].as_f64().is_some_and(|busy| busy < 2.5));
    assert_eq!(findings::wrong(&findings::POOL_DNS, &recording), None);
}

#[test]
fn a_pool_with_little_to_do_is_no_finding() {
    let Some(node) = node("24.21.0").filter(|_| can_record()) else { return };
    let scratch = Scratch::new("pool-quiet");
    let script = scratch.file("pool.js", POOL.as_bytes());
    let running = Running::start(Command::new(node).args([&script, "quiet"]));
    let report = record(&scratch, &running);
    let pool = &report["pools"][0];
    assert!(pool["busy_threads"].as_f64().is_some_and(|busy| busy < 1.0), "{pool}");
    assert!(pool["full"].as_f64().is_some_and(|full| full < 0.1), "{pool}");
    assert!(!is_found(&report), "{}", report["findings"]);
}
