//! `-F auto`: a quiet target is sampled more often, a busy one is not, and each sample weighs what it stands for.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Command, Stdio};

use profile::Profile;
use serde_json::Value;

use crate::program::running::{Running, can_record, function};
use crate::program::{Scratch, crashes_on_demand, json, nodescope, stderr};

/// Uses 6 % of a CPU, by its own CPU clock, until it is ended.
const QUIET: &str = "
function work() {
  const start = process.cpuUsage();
  let sum = 0, used = 0;
  while (used < 3000) {
    for (let i = 0; i < 3000; i++) sum += Math.sqrt(i);
    const { user, system } = process.cpuUsage(start);
    used = user + system;
  }
  return sum;
}
setInterval(work, 50);
console.log('ready');
";

/// One function while it is quiet, another while it is busy, and the CPU time of each.
const PHASES: &str = "
const used = { quiet: 0, busy: 0 };
function spin() { let sum = 0; for (let i = 0; i < 3000; i++) sum += Math.sqrt(i); return sum; }
function quiet(microseconds) { return until('quiet', microseconds) + 1; }
function busy(microseconds) { return until('busy', microseconds) + 2; }
function until(phase, most) {
  const start = process.cpuUsage();
  let sum = 0, own = 0;
  while (own < most) { sum += spin(); const { user, system } = process.cpuUsage(start); own = user + system; }
  used[phase] += own;
  return sum;
}
let rounds = 0;
const timer = setInterval(() => {
  quiet(3000);
  if (++rounds < 80) return;
  clearInterval(timer);
  for (let i = 0; i < 15; i++) busy(100_000);
  require('fs').writeFileSync(process.argv[2], JSON.stringify(used));
}, 50);
";

/// What a sample stands for at 99 and at 999 a second.
const BASE_NS: u64 = 10_101_010;
const FAST_NS: u64 = 1_001_001;

fn record(pid: &str, rate: &[&str], out: &str) -> Child {
    let words = [&["record", "-p", pid, "-d", "5s", "-o", out], rate].concat();
    nodescope(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn read(out: &str) -> Profile {
    profile::file::read(&fs::read(out).unwrap()).unwrap()
}

fn weights(profile: &Profile) -> &[u64] {
    &profile.lanes()[0].samples.weight
}

/// The CPU time by the samples, as a part of what the kernel counted while they were taken and let us see. The kernel
/// counts in ticks: a target that uses a third of a second is known to 6 %.
fn sampled_part(out: &str) -> f64 {
    let report = json(&["report", "--json", out]);
    let losses = &report["losses"];
    let seen_s = losses["cpu_s"].as_f64().unwrap() - losses["hidden_kernel_s"].as_f64().unwrap();
    report["weight"].as_f64().unwrap() / 1e9 / seen_s
}

#[test]
fn a_quiet_target_gives_more_samples_and_the_same_time() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("rate-quiet");
    let script = scratch.file("quiet.js", QUIET.as_bytes());
    let target = Running::start(Command::new("node").arg(script));
    let (fixed, auto) = (scratch.path("fixed.nodescope"), scratch.path("auto.nodescope"));
    // At the same time: both see the same work.
    let pid = target.pid();
    for recorder in [record(&pid, &["-F", "99"], &fixed), record(&pid, &[], &auto)] {
        let output = recorder.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let (fixed_profile, auto_profile) = (read(&fixed), read(&auto));
    let (few, many) = (weights(&fixed_profile), weights(&auto_profile));
    let part = sampled_part(&auto);
    println!("{} samples at 99, {} at auto, {part:.3} of the CPU time", few.len(), many.len());
    assert!(few.iter().all(|weight| *weight == BASE_NS), "{few:?}");
    assert!(many.iter().all(|weight| [BASE_NS, FAST_NS].contains(weight)), "{many:?}");
    assert!(many.len() >= 5 * few.len(), "{} against {}", many.len(), few.len());
    assert!((0.9..1.1).contains(&part), "{part}");
    assert_eq!(auto_profile.meta().interval_ns, Some(BASE_NS));
}

/// The longest time for which samples at the higher rate followed one another without a pause.
fn longest_burst_ns(profile: &Profile) -> u64 {
    let samples = &profile.lanes()[0].samples;
    let rows = samples.time_ns.iter().zip(&samples.weight);
    let fast: Vec<u64> = rows.filter(|row| *row.1 == FAST_NS).map(|row| *row.0).collect();
    let bursts = fast.chunk_by(|one, next| next - one < 5 * FAST_NS);
    bursts.map(|burst| burst.last().unwrap() - burst.first().unwrap()).max().unwrap_or(0)
}

#[test]
fn a_target_that_becomes_busy_is_sampled_less_and_its_shares_are_right() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("rate-phases");
    let script = scratch.file("phases.js", PHASES.as_bytes());
    let (out, used) = (scratch.path("a.nodescope"), scratch.path("used"));
    let words = ["record", "-q", "-o", &out, "--", "node", &script, &used];
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let used: Value = serde_json::from_str(&fs::read_to_string(used).unwrap()).unwrap();
    let truth = used["quiet"].as_f64().unwrap()
        / (used["quiet"].as_f64().unwrap() + used["busy"].as_f64().unwrap());
    let report = json(&["report", "--json", "-n", "0", &out]);
    let share = |name: &str| function(&report, name)["total"].as_f64().unwrap();
    let found = share("quiet") / (share("quiet") + share("busy"));
    let profile = read(&out);
    let (count, burst_ns) = (weights(&profile).len() as f64, longest_burst_ns(&profile));
    let seconds = report["duration_s"].as_f64().unwrap();
    println!(
        "quiet is {truth:.3} by its own clock, {found:.3} by weight; {count} samples in {seconds:.1} s, at most {} ms at 999 a second",
        burst_ns / 1_000_000
    );
    assert!((found - truth).abs() <= 0.05, "{found}, not {truth}");
    assert!(weights(&profile).contains(&FAST_NS) && weights(&profile).contains(&BASE_NS));
    assert!(burst_ns < 1_000_000_000, "{burst_ns}");
    assert!(count <= 99.0 * seconds + 999.0, "{count} samples in {seconds} s");
    let sampled_us = (share("quiet") + share("busy")) * report["weight"].as_f64().unwrap() / 1e3;
    let part = sampled_us / (used["quiet"].as_f64().unwrap() + used["busy"].as_f64().unwrap());
    assert!((0.9..1.1).contains(&part), "{part}");
}

/// The next reader of names takes over at the rate of now, and every sample keeps its weight.
#[test]
fn the_rate_outlives_a_reader_of_names() {
    if !can_record() || !crashes_on_demand() {
        return;
    }
    let scratch = Scratch::new("rate-crash");
    scratch.want_crashes();
    let script = scratch.file("quiet.js", QUIET.as_bytes());
    let target = Running::start(Command::new("node").arg(script));
    let out = scratch.path("a.nodescope");
    let output = nodescope(&["record", "-q", "-p", &target.pid(), "-d", "5s", "-o", &out])
        .env("NODESCOPE_TEST_PANIC_AFTER", "400")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (profile, part) = (read(&out), sampled_part(&out));
    let crashes = profile.meta().losses.helper_crashes;
    println!("{crashes} crashes, {} samples, {part:.3} of the time", weights(&profile).len());
    assert!(crashes > 0 && weights(&profile).contains(&FAST_NS), "{crashes}");
    assert!((0.85..1.1).contains(&part), "{part}");
}
