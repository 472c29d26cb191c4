//! A program of nodescope's own that crashes while it records: it is reported as our own crash, and no sample is lost.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::cell::Cell;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::inspected::{send, wait_until};
use crate::program::running::{Running, SHARES, can_record, children_of, nodes, wait_for_samples};
use crate::program::{self, CRASHED, Scratch, crashes_on_demand, json, nodescope};

const RATE: f64 = 499.0;
const LONG: Duration = Duration::from_secs(60);

/// A program that computes until it is ended.
fn start(scratch: &Scratch) -> Running {
    scratch.want_crashes();
    let script = scratch.file("shares.js", format!("console.log('ready');{SHARES}").as_bytes());
    let (_, node) = nodes().pop().unwrap();
    Running::start(Command::new(node).args([&script, "600000"]))
}

fn record(node: &Running, seconds: &str, out: &str, variables: &[(&str, &str)]) -> Child {
    let words = ["record", &node.pid(), "-d", seconds, "-F", "499", "-o", out];
    let mut command = nodescope(&words);
    command
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The program that reads names for a recorder.
fn reader_of(recorder: &Child) -> Option<u32> {
    children_of(recorder.id()).first().copied()
}

/// No sample was lost, and none is there twice: they add up to the CPU time that the kernel has counted.
fn all_samples_are_there(report: &Value) {
    let losses = &report["losses"];
    let (cpu_s, sampled_s) =
        (losses["cpu_s"].as_f64().unwrap(), report["weight"].as_f64().unwrap() / 1e9);
    let samples = report["samples"].as_f64().unwrap();
    println!("{samples} samples of {sampled_s:.3} s, the kernel counts {cpu_s:.3} s");
    assert_eq!((&losses["lost"], &losses["unsampled_s"]), (&0.into(), &0.0.into()), "{losses}");
    // The kernel counts in ticks, and the recorder begins and ends between two looks.
    assert!(
        (sampled_s - cpu_s).abs() <= 0.02 * cpu_s + 0.1,
        "{sampled_s} s of {cpu_s} s: {losses}"
    );
    assert!(
        (samples - sampled_s * RATE).abs() <= 0.02 * samples + 5.0,
        "{samples} in {sampled_s} s"
    );
}

fn notes(report: &Value) -> String {
    report["losses"]["notes"].to_string()
}

fn end(recorder: Child) -> Output {
    let output = recorder.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The share of the main thread's samples that are in functions of the program.
fn named(report: &Value) -> f64 {
    let rows = report["functions"].as_array().unwrap().iter();
    let count = |row: &Value| row["total_samples"].as_f64().unwrap();
    rows.filter(|row| ["heavy", "light"].contains(&row["name"].as_str().unwrap()))
        .map(count)
        .sum::<f64>()
        / report["samples"].as_f64().unwrap()
}

#[test]
fn a_reader_that_is_killed_costs_no_sample() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("own-crashes-killed");
    let (node, out) = (start(&scratch), scratch.path("a.nodescope"));
    let part = format!("{out}.part");
    let recorder = record(&node, "1h", &out, &[]);
    let mut samples = 0;
    for signal in ["KILL", "ABRT"] {
        samples = wait_for_samples(&part, samples + 300);
        let before = reader_of(&recorder).unwrap();
        send(signal, &before.to_string());
        wait_until("another reader", LONG, || {
            reader_of(&recorder).is_some_and(|pid| pid != before)
        });
    }
    wait_for_samples(&part, samples + 600);
    send("INT", &recorder.id().to_string());
    let messages = String::from_utf8_lossy(&end(recorder).stderr).into_owned();
    let report = json(&["report", "--json", "-n", "0", &out]);
    all_samples_are_there(&report);
    let notes = notes(&report);
    for wanted in ["has crashed (SIGKILL", "has crashed (SIGABRT", "please report it"] {
        assert!(
            notes.contains(wanted) && messages.contains(wanted),
            "{wanted}: {notes}, {messages}"
        );
    }
    assert!(!notes.contains("blocks every reader"), "it is not the target's fault: {notes}");
    assert_eq!(report["losses"]["helper_crashes"], 2);
    let named = named(&report);
    println!("{named:.3} of the samples have names");
    assert!(named > 0.6, "names come back: {named}");
    let text = program::succeeds(&["report", &out]);
    assert!(text.contains("crashed 2 times while it recorded"), "{text}");
}

/// Readers that crash again and again are given up, one after the other: at last no process reads names.
#[test]
fn a_reader_that_panics_is_reported_with_its_message() {
    if !can_record() || !crashes_on_demand() {
        return;
    }
    let scratch = Scratch::new("own-crashes-panics");
    let (node, out) = (start(&scratch), scratch.path("a.nodescope"));
    let recorder = record(&node, "1h", &out, &[("NODESCOPE_TEST_PANIC_AFTER", "20")]);
    let part = format!("{out}.part");
    wait_until("a recording begins", LONG, || reader_of(&recorder).is_some());
    // Between two of them there is none for a moment.
    let seen = Cell::new(Instant::now());
    wait_until("there is no reader any more", LONG, || {
        if reader_of(&recorder).is_some() {
            seen.set(Instant::now());
        }
        seen.get().elapsed() > Duration::from_secs(1)
    });
    wait_for_samples(&part, wait_for_samples(&part, 0) + 100);
    send("INT", &recorder.id().to_string());
    let messages = String::from_utf8_lossy(&end(recorder).stderr).into_owned();
    let report = json(&["report", "--json", "-n", "0", &out]);
    all_samples_are_there(&report);
    let notes = notes(&report);
    for wanted in ["has crashed (a test wants it at crates/live/src/", "has crashed too often"] {
        assert!(
            notes.contains(wanted) && messages.contains(wanted),
            "{wanted}: {notes}, {messages}"
        );
    }
    assert!(!notes.contains("blocks every reader"), "it is not the target's fault: {notes}");
    // Five that read names, and one that does not.
    assert_eq!(report["losses"]["helper_crashes"], 6, "{}", report["losses"]);
    let unwalked =
        report["functions"].as_array().unwrap().iter().find(|row| row["name"] == "… not walked");
    assert!(unwalked.is_some(), "samples that no reader has walked have no root");
}

/// The one that `dump` starts.
#[test]
fn a_dump_reports_its_own_crash() {
    if !can_record() || !crashes_on_demand() {
        return;
    }
    let scratch = Scratch::new("own-crashes-dump");
    let node = start(&scratch);
    let begin = Instant::now();
    // All of it has 2.5 s: on a busy machine that may not be enough for the second one.
    let (dump, hints) = loop {
        let mut command = nodescope(&["dump", &node.pid(), "--json"]);
        let output = command.env("NODESCOPE_TEST_PANIC_IN_DUMP", "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let dump: Value = serde_json::from_slice(&output.stdout).unwrap();
        if dump["took_s"].as_f64().unwrap() < 2.4 || begin.elapsed() > LONG {
            break (dump.clone(), dump["hints"].to_string());
        }
    };
    assert!(hints.contains(&format!("{CRASHED}a test wants it at crates/live/src/")), "{hints}");
    if dump["took_s"].as_f64().unwrap() < 2.4 {
        assert!(!hints.contains("took too long"), "it is not the target's fault: {hints}");
        assert!(!dump["threads"].as_array().unwrap().is_empty(), "{dump}");
    }
    println!("the dump took {:.2} s", begin.elapsed().as_secs_f64());
}
