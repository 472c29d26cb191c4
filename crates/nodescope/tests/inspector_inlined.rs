//! `nodescope record --via inspector` distinguishes functions that V8 had inlined before the recording began from
//! their callers: by their lines, compared with perf events on the same process. Shares are of the time in which
//! something ran.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::inspected::{Target, lines, newest, record};
use crate::program::running::{cache, can_record};
use crate::program::{Scratch, json, nodescope, stderr, stdout};
use crate::skip::skip;

/// `cook` does three times the work of `wash`, and both are inlined in `serve`, which is inlined in `turn`: V8 is asked
/// to optimise that before the program prints that it runs, however slow the machine is. None of them allocates.
const INLINED: &str = "
function cook(rounds) {
  let sum = 0;
  for (let i = 0; i < 3 * rounds; i++) {
    sum = (sum + i * 7) & 1023;
  }
  return sum;
}
function wash(rounds) {
  let sum = 0;
  for (let i = 0; i < rounds; i++) {
    sum = (sum + i * 7) & 1023;
  }
  return sum;
}
function serve(rounds) {
  return cook(rounds) + wash(rounds);
}
let total = 0;
function turn(rounds) {
  for (let i = 0; i < 10; i++) total = (total + serve(rounds)) & 1023;
}
%PrepareFunctionForOptimization(cook);
%PrepareFunctionForOptimization(wash);
%PrepareFunctionForOptimization(serve);
%PrepareFunctionForOptimization(turn);
for (let i = 0; i < 100; i++) turn(20 + i);
%OptimizeFunctionOnNextCall(turn);
turn(20);
function run() {
  turn(20000);
  setImmediate(run);
}
run();
";

/// What runs [`INLINED`] in a worker.
const IN_WORKER: &str = "
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (isMainThread) {
  new Worker(__filename).on('message', () => console.log('ready'));
} else {
  require('./inlined.js');
  parentPort.postMessage('ready');
}
setInterval(() => {}, 1000);";

/// V8 knows the line of some instructions only, and others are counted with those before them.
const TOLERANCE: f64 = 0.05;
/// A machine that has no CPU to spare samples less: four standard errors are nothing but chance.
const CHANCE: f64 = 4.0;

/// The last release of each line, 25 among them.
fn releases() -> Vec<(&'static str, PathBuf)> {
    let mut releases = lines();
    let odd = cache().join("node-25.9.0/node");
    match odd.exists() && !releases.iter().any(|(release, _)| *release == "25.9.0") {
        true => releases.push(("25.9.0", odd)),
        false => skip("Node 25.9.0: it was not fetched"),
    }
    releases
}

fn row<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    report["functions"].as_array().unwrap().iter().find(|row| row["name"] == name)
}

fn own(report: &Value, name: &str) -> f64 {
    row(report, name).map_or(0.0, |row| row["self"].as_f64().unwrap())
}

/// The share of `cook` in both functions, and the square of its standard error.
fn cooks(report: &Value) -> (f64, f64) {
    let share = own(report, "cook") / (own(report, "cook") + own(report, "wash")).max(1e-9);
    (share, share * (1.0 - share) / report["samples"].as_f64().unwrap().max(1.0))
}

/// Records by perf events; `None` where they are not permitted.
fn by_perf(pid: &str, scratch: &Scratch) -> Option<Value> {
    if !can_record() {
        return None;
    }
    let out = scratch.path("perf.nodescope");
    let words = ["record", pid, "--via", "perf", "-d", "1s", "-F", "999", "-o", &out];
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    Some(json(&["report", "--json", &out]))
}

/// Returns the share that was found by lines.
fn check(release: &str, kind: &str, report: &Value, truth: Option<&Value>) -> f64 {
    let (cook, wash, turn) = (own(report, "cook"), own(report, "wash"), own(report, "turn"));
    let inlined = &report["losses"]["inlined"];
    let by_perf = truth.map(|truth| (own(truth, "cook"), own(truth, "wash"), own(truth, "turn")));
    let list_ms = report["cost"]["list_ns"].as_f64().unwrap() / 1e6;
    let start_ms = report["cost"]["start_ns"].as_f64().unwrap() / 1e6;
    println!(
        "Node {release}, {kind}: cook {cook:.3}, wash {wash:.3}, turn {turn:.3}; by perf {by_perf:.3?}; {inlined}; \
         listing its functions took {list_ms:.1} ms, beginning {start_ms:.1} ms"
    );
    let function = row(report, "cook").unwrap();
    assert_eq!(
        (&function["line"], &function["column"]),
        (&2.into(), &14.into()),
        "{release}, {kind}"
    );
    assert!(cook + wash > 0.9, "{release}, {kind}: {}", report["functions"]);
    let (found, error) = cooks(report);
    let (expected, other_error) = truth.map_or((0.75, 0.0), cooks);
    let tolerance = TOLERANCE + CHANCE * (error + other_error).sqrt();
    assert!((found - expected).abs() < tolerance, "{release}, {kind}: {found}, not {expected}");
    assert!(inlined["uncertain"].as_f64().unwrap() < 0.1, "{release}, {kind}: {inlined}");
    inlined["found"].as_f64().unwrap()
}

fn inlined_main(release: &str, node: &Path) -> f64 {
    let scratch = Scratch::new(&format!("inlined-{release}"));
    let text = format!("{INLINED}console.log('ready');");
    let mut target = Target::start(&scratch, node, &["--allow-natives-syntax"], &text, &[]);
    let truth = by_perf(&target.pid(), &scratch);
    let out = scratch.path("a.nodescope");
    record(&target.pid(), &out, &["-d", "1500ms", "-F", "999"]);
    assert!(target.is_as_before(), "{release}");
    check(release, "main", &json(&["report", "--json", &out]), truth.as_ref())
}

#[test]
fn inlined_functions_have_their_time() {
    let releases = releases();
    let found =
        releases.iter().map(|(release, node)| inlined_main(release, node)).fold(0.0, f64::max);
    assert!(releases.is_empty() || found > 0.5, "nothing was inlined: {found}");
}

#[test]
fn inlined_functions_of_a_worker_have_their_time() {
    for (release, node) in
        lines().iter().filter(|(release, _)| release.starts_with("20") || release.starts_with("24"))
    {
        let scratch = Scratch::new(&format!("inlined-worker-{release}"));
        fs::write(scratch.path("inlined.js"), INLINED).unwrap();
        let target = Target::start(&scratch, node, &["--allow-natives-syntax"], IN_WORKER, &[]);
        let out = scratch.path("a.nodescope");
        record(&target.pid(), &out, &["-d", "2500ms", "-F", "999"]);
        check(release, "worker", &json(&["report", "--json", &out]), None);
    }
}

/// All functions on one line, as a minifier leaves them: nothing shows which one ran.
#[test]
fn what_lines_do_not_show_is_reported_first() {
    let node = lines().into_iter().find(|(release, _)| release.starts_with("20"));
    let Some((release, node)) = node else { return };
    let scratch = Scratch::new("inlined-minified");
    let text = format!("{}console.log('ready');", INLINED.replace('\n', " "));
    let target = Target::start(&scratch, &node, &["--allow-natives-syntax"], &text, &[]);
    let out = scratch.path("a.nodescope");
    record(&target.pid(), &out, &["-d", "1s", "-F", "499"]);
    let report = json(&["report", "--json", &out]);
    let inlined = &report["losses"]["inlined"];
    assert!(inlined["uncertain"].as_f64().unwrap() > 0.9, "{release}: {inlined}");
    let text = stdout(&nodescope(&["report", &out]).output().unwrap());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (doubt, names) = (text.find("may belong to a function"), text.find("frames named"));
    assert!(doubt.is_some() && doubt < names, "{text}");
}

/// Perf has no samples of a thread that waits: shares are of what ran, and cores are CPU time.
#[test]
fn waiting_is_in_no_share() {
    let Some(node) = newest() else { return };
    let scratch = Scratch::new("inspector-idle");
    let text = "
function spin(ms) { const end = performance.now() + ms; let sum = 0; while (performance.now() < end) sum++; return sum; }
setInterval(() => spin(25), 100);
console.log('ready');";
    let target = Target::start(&scratch, &node, &[], text, &[]);
    let out = scratch.path("a.nodescope");
    let before_s = target.cpu_s();
    record(&target.pid(), &out, &["-d", "2s", "-F", "499"]);
    let used_s = target.cpu_s() - before_s;
    let report = json(&["report", "--json", &out]);
    let ran: f64 = report["functions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["self"].as_f64().unwrap())
        .sum();
    assert!(ran > 0.98, "{ran}: {}", report["functions"]);
    let names: Vec<&Value> =
        report["categories"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert!(!names.contains(&&"idle".into()), "{names:?}");
    let cpu_s = report["losses"]["cpu_s"].as_f64().unwrap();
    let busy_s = report["weight"].as_f64().unwrap() / 1e9;
    println!(
        "{cpu_s:.2} s of CPU time, {busy_s:.2} s of samples, {used_s:.2} s by the kernel in a little more time"
    );
    // The main thread's account is of one thread, the report's of all.
    assert!(cpu_s > 0.1 && cpu_s < 2.0 * used_s + 0.2, "{cpu_s} s of {used_s} s");
    let idle = json(&["report", "--json", "--category", "idle", &out]);
    assert!(idle["samples"].as_u64().unwrap() > 100, "they stay in the file");
    let text = stdout(&nodescope(&["report", &out]).output().unwrap());
    let cores = format!("{:.2} cores busy", cpu_s / report["duration_s"].as_f64().unwrap());
    let text: Vec<&str> = text.split_whitespace().collect();
    assert!(text.join(" ").contains(&cores), "{cores}: {text:?}");
}
