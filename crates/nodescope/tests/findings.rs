//! Programs with a known cause, recorded under load: the first finding of the report is that cause, and names the
//! function and its place; healthy programs get none. `corpus/programs/findings` has the programs.
//!
//! NODESCOPE_FINDINGS_ROUNDS records each so often, on the releases that NODESCOPE_FINDINGS_NODES lists, with the
//! second set of programs, and prints how often each was right instead of failing: scripts/proof.sh does that.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::program::running::{Limited, cache, can_record, nodes};
use crate::program::{Scratch, json, nodescope, stderr};
use crate::skip::skip;

/// The release that `make test` records.
const RELEASE: &str = "22.23.3";

/// A program, its load, and what the report has to say first.
struct Known {
    name: &'static str,
    flags: &'static [&'static str],
    /// Requests a second, and the paths that they ask for.
    load: (u32, &'static str),
    /// The id of the finding, the function and the line of it; no function where none is accused, and nothing for a
    /// healthy program.
    expected: Option<(&'static str, &'static str, u32)>,
}

const fn known(
    name: &'static str,
    load: (u32, &'static str),
    expected: Option<(&'static str, &'static str, u32)>,
) -> Known {
    Known { name, flags: &[], load, expected }
}

/// V8's helper threads would do what the event loop waits for, as long as there are CPUs for them.
const ONE_CPU: &[&str] = &["--single-threaded-gc"];
const SMALL_HEAP: &[&str] = &["--max-old-space-size=420"];

/// Those of a row are recorded side by side: together they leave the machine some time.
const FIRST: &[&[Known]] = &[
    &[
        known("exec-sync", (4, "/"), Some(("sync-child-process", "diskStatus", 5))),
        known("healthy-http", (200, "/"), None),
        known("healthy-express", (150, "/items,/items/7"), None),
        known("healthy-fastify", (150, "/items,/items/7"), None),
    ],
    &[
        known("async-route", (3, "/"), Some(("stalls", "summarise", 5))),
        known("sync-crypto", (25, "/"), Some(("sync-crypto", "checkPassword", 5))),
    ],
    &[
        known("json-copy", (40, "/"), Some(("json", "copySettings", 6))),
        known("read-file", (60, "/"), Some(("sync-files", "template", 11))),
    ],
    &[
        known("regexp", (20, "/ok,/ok,/bad"), Some(("regexp", "isName", 5))),
        known("console-log", (30, "/"), Some(("console-output", "audit", 5))),
    ],
    &[known("hot-dependency", (60, "/"), Some(("hot-package", "orderTable", 10)))],
    &[
        Known { flags: ONE_CPU, ..known("growing-cache", (60, "/"), Some(("gc", "remember", 5))) },
        known("bad-worker", (120, "/"), Some(("bad-worker", "scanRows", 13))),
    ],
    &[known("metrics-primary", (0, "/"), Some(("stalls", "percentile", 8)))],
    &[Known {
        flags: SMALL_HEAP,
        ..known("collections", (60, "/"), Some(("gc", "priceTable", 9)))
    }],
    &[known("pool-zlib", (40, "/"), Some(("thread-pool", "", 0)))],
];

/// Recorded by the proof alone. None was looked at before the thresholds were fixed.
const SECOND: &[&[Known]] = &[
    &[
        known("second/invoices", (0, "/"), Some(("stalls", "invoiceTotals", 4))),
        known("second/spawn-sync", (0, "/"), Some(("sync-child-process", "machineLoad", 4))),
        known("second/healthy-timers", (100, "/"), None),
        known("second/healthy-api", (200, "/page/1,/page/2"), None),
    ],
    &[
        known("second/scrypt", (15, "/"), Some(("sync-crypto", "hashPassword", 5))),
        known("second/addresses", (10, "/"), Some(("regexp", "isAddress", 4))),
    ],
    &[
        known("second/structured-clone", (40, "/"), Some(("deep-copy", "snapshot", 7))),
        known("second/save-state", (30, "/"), Some(("sync-files", "saveState", 11))),
    ],
    &[
        known("second/gzip-reply", (30, "/"), Some(("sync-compression", "pack", 8))),
        known("second/reload-module", (20, "/"), Some(("module-loading", "loadPlugin", 12))),
    ],
    &[
        known("second/sessions", (30, "/"), Some(("gc", "openSessions", 6))),
        known("second/bad-shard", (160, "/"), Some(("bad-worker", "sortKeys", 14))),
    ],
    &[
        known("second/lodash-groups", (60, "/"), Some(("hot-package", "(anonymous)", 9))),
        known("second/make-code", (30, "/"), Some(("compiling", "compileRules", 5))),
    ],
];

/// A process that is asked to end with the test: some remove what they wrote.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn node(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.env("NODE_PATH", cache().join("packages/node_modules"));
    command
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../corpus/programs/findings")
        .canonicalize()
        .unwrap()
}

/// Starts a program, and waits until it serves: its port.
fn start(binary: &Path, known: &Known) -> (Ended, String) {
    let script = folder().join(format!("{}.js", known.name));
    let mut command = node(binary);
    command.args(known.flags).arg(script).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    // One that prints prints before, too.
    while !line.starts_with("ready ") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "{} does not serve", known.name);
    }
    // It may print on, and must not be stopped by a pipe that nothing reads.
    std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    (Ended(child), line["ready ".len()..].trim().to_owned())
}

/// The report of a program under load.
fn record(binary: &Path, known: &Known, limit: Option<&Limited>) -> Value {
    let scratch = Scratch::new(&known.name.replace('/', "-"));
    let (program, port) = start(binary, known);
    if let Some(limit) = limit {
        limit.take(&program.0.id().to_string());
    }
    let (rate, paths) = known.load;
    let load = folder().join("load.js");
    let _load = (port != "0").then(|| {
        let mut command = node(binary);
        command.arg(load).args([&port, &rate.to_string(), paths]).stdout(Stdio::null());
        Ended(command.spawn().unwrap())
    });
    let (pid, out) = (program.0.id().to_string(), scratch.path("a.nodescope"));
    let output = nodescope(&["record", &pid, "-d", "4s", "-o", &out]).output().unwrap();
    assert!(output.status.success(), "{}: {}", known.name, stderr(&output));
    json(&["report", "--json", &out])
}

/// What is wrong with a report, in a sentence.
fn wrong(known: &Known, report: &Value) -> Option<String> {
    // That other programs use the CPUs is true on a machine that tests other things, too.
    let rows = report["findings"].as_array().unwrap().iter();
    let rows: Vec<&Value> = rows.filter(|row| row["id"] != "cpu-wait").collect();
    let first = rows.first();
    let fits = match (first, known.expected) {
        (None, None) => true,
        (Some(row), Some((id, "", _))) => row["id"] == id,
        (Some(row), Some((id, function, line))) => {
            let place = format!("{function} (");
            let text = row["text"].to_string();
            let named = row["function"] == function && row["line"] == line;
            let file = row["file"].as_str().unwrap_or_default();
            let is_its = file.ends_with(&format!("{}.js", known.name));
            row["id"] == id && named && is_its && text.contains(&place)
        }
        _ => false,
    };
    let expected = known.expected;
    (!fits).then(|| format!("{}: {expected:?} expected: {:#?}", known.name, report["findings"]))
}

/// Records the programs of a row side by side.
fn record_row(binary: &Path, row: &[Known]) -> Vec<Option<String>> {
    std::thread::scope(|scope| {
        let one = |known| scope.spawn(move || wrong(known, &record(binary, known, None)));
        let running: Vec<_> = row.iter().map(one).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Whether the packages that some programs need are there.
fn has_packages() -> bool {
    let found = ["ejs", "express", "fastify", "lodash"]
        .iter()
        .all(|name| cache().join("packages/node_modules").join(name).is_dir());
    if !found {
        skip("programs with a known cause: scripts/install-test-tools.sh fetches their packages");
    }
    found
}

fn binaries(wanted: &str) -> Vec<PathBuf> {
    let is_wanted =
        |release: &str| wanted.split_whitespace().any(|start| release.starts_with(start));
    nodes().into_iter().filter(|(release, _)| is_wanted(release)).map(|(_, path)| path).collect()
}

#[test]
fn the_first_finding_is_the_planted_cause() {
    if !can_record() || !has_packages() {
        return;
    }
    if std::env::var_os("NODESCOPE_FINDINGS_ROUNDS").is_some() {
        return;
    }
    for binary in binaries(RELEASE) {
        for row in FIRST {
            let wrong = record_row(&binary, row);
            for (known, _) in row.iter().zip(wrong).filter(|(_, wrong)| wrong.is_some()) {
                // Its neighbours may have taken the CPU that it needs to be slow: once more, without them.
                println!("{} is recorded once more, alone", known.name);
                let wrong = record_row(&binary, std::slice::from_ref(known)).remove(0);
                assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
            }
        }
    }
}

/// The CPU limit accuses no function.
#[test]
fn a_cpu_quota_is_told_first() {
    if !can_record() {
        return;
    }
    let Some(limit) = Limited::new(30_000) else {
        return skip(
            "a CPU limit: control groups can only be made by root, where they are mounted",
        );
    };
    let quota = known("cpu-quota", (60, "/"), Some(("cpu-limit", "", 0)));
    for binary in binaries(RELEASE) {
        let report = record(&binary, &quota, Some(&limit));
        let rows = report["findings"].as_array().unwrap().iter();
        let mut rows = rows.filter(|row| row["id"] != "cpu-wait");
        let first = rows.next().unwrap_or(&Value::Null);
        assert!(first["id"] == "cpu-limit" && first["function"].is_null(), "{first:#?}");
        assert!(first["text"].to_string().contains("render ("), "{first:#?}");
    }
}

/// How often each program was right, in many rounds; `figures: ` is the line that scripts/proof.sh keeps.
#[test]
fn findings_are_right_again_and_again() {
    let rounds = std::env::var("NODESCOPE_FINDINGS_ROUNDS").ok();
    let Some(rounds) = rounds.and_then(|text| text.parse::<usize>().ok()) else { return };
    if !can_record() || !has_packages() {
        return;
    }
    let wanted = std::env::var("NODESCOPE_FINDINGS_NODES").unwrap_or_else(|_| RELEASE.to_owned());
    let binaries = binaries(&wanted);
    let (mut right, mut all) = (0, 0);
    for row in FIRST.iter().chain(SECOND) {
        let mut counts = vec![0; row.len()];
        for binary in (0..rounds).flat_map(|_| &binaries) {
            for (count, wrong) in counts.iter_mut().zip(record_row(binary, row)) {
                *count += usize::from(wrong.is_none());
                wrong.iter().for_each(|wrong| println!("wrong: {wrong}"));
            }
        }
        let times = rounds * binaries.len();
        for (known, count) in row.iter().zip(counts) {
            println!("finding: {} | {count} of {times}", known.name);
            (right, all) = (right + count, all + times);
        }
    }
    println!("figures: {right} of {all} recordings right, {rounds} rounds on Node {wanted}");
}
