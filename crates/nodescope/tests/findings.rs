//! Programs with a known cause, recorded under load: the first finding of the report is that cause, and names the
//! function and its place; healthy programs get none. `corpus/programs/findings` has the programs.
//!
//! NODESCOPE_FINDINGS_ROUNDS records each so often, on the releases that NODESCOPE_FINDINGS_NODES lists, with the second
//! set of programs, prints how often each was right, and judges that at the end: scripts/proof.sh does that.
//! NODESCOPE_FINDINGS_ONLY names the programs that are then recorded, where it should not be all, and
//! NODESCOPE_FINDINGS_SECOND how often those of the second set are.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json as object};

use crate::program::running::{Limited, cache, can_record, nodes};
use crate::program::{Scratch, json, nodescope, stderr};
use crate::skip::skip;

/// An address of this machine that nothing else uses.
const NAME_SERVER: &str = "127.77.53.53";
/// The release that `make test` records.
const RELEASE: &str = "22.23.3";

/// A program, its load, and what the report has to name first.
pub struct Known {
    name: &'static str,
    flags: &'static [&'static str],
    place: Place,
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
    Known { name, flags: &[], place: Place::Here, load, expected }
}

/// Where a program runs.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Here,
    /// In a control group that may use 0.3 CPUs.
    Limited,
    /// Where no name server answers.
    Nameless,
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

/// Needs 0.3 CPUs and more. The limit accuses no function.
const CPU_QUOTA: Known =
    Known { place: Place::Limited, ..known("cpu-quota", (60, "/"), Some(("cpu-limit", "", 0))) };
/// Its lookups wait for a name server that never answers.
pub const POOL_DNS: Known =
    Known { place: Place::Nameless, ..known("pool-dns", (40, "/"), Some(("thread-pool", "", 0))) };

/// Recorded by tests of their own, because not every machine lets them run in their place.
const PLACED: &[&[Known]] = &[&[CPU_QUOTA], &[POOL_DNS]];

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

/// The command that starts a program in its place; `None` where this machine has no such place.
fn command(binary: &Path, known: &Known, scratch: &Scratch) -> Option<Command> {
    let script = folder().join(format!("{}.js", known.name));
    if known.place != Place::Nameless {
        let mut command = node(binary);
        command.args(known.flags).arg(script);
        return Some(command);
    }
    let servers = scratch.file("resolv.conf", format!("nameserver {NAME_SERVER}\n").as_bytes());
    let program = "mount --bind \"$1\" /etc/resolv.conf && exec \"$2\" \"$3\" \"$4\"";
    let words = |then: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", then, "sh", &servers]).stdin(Stdio::null());
        command
    };
    let mut command = words("mount --bind \"$1\" /etc/resolv.conf");
    if !command.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        skip("a name server that never answers: unshare or mount is not permitted");
        return None;
    }
    let mut command = words(program);
    command.arg(binary).arg(script).arg(NAME_SERVER);
    Some(command)
}

/// Starts a program, and waits until it serves: its port.
fn start(mut command: Command, known: &Known) -> (Ended, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
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

fn limit() -> Option<Limited> {
    let limit = Limited::new(30_000);
    if limit.is_none() {
        skip("a CPU limit: control groups can only be made by root, where they are mounted");
    }
    limit
}

/// The report of a program under load, and what the machine did to it meanwhile.
pub struct Recording {
    pub report: Value,
    /// For how long its threads waited for a CPU, as a part of the time of the recording, by the kernel's own account.
    waited: f64,
}

/// A recording of a program under load; `None` where this machine has no place for it.
pub fn record(binary: &Path, known: &Known) -> Option<Recording> {
    let scratch = Scratch::new(&known.name.replace('/', "-"));
    let limit = match known.place {
        Place::Limited => Some(limit()?),
        Place::Here | Place::Nameless => None,
    };
    let (program, port) = start(command(binary, known, &scratch)?, known);
    if let Some(limit) = &limit {
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
    let (start, before_ns) = (Instant::now(), run_delay_ns(program.0.id()));
    let output = nodescope(&["record", &pid, "-d", "4s", "-o", &out]).output().unwrap();
    let waited_ns = run_delay_ns(program.0.id()).saturating_sub(before_ns);
    let waited = waited_ns as f64 / start.elapsed().as_nanos() as f64;
    assert!(output.status.success(), "{}: {}", known.name, stderr(&output));
    Some(Recording { report: json(&["report", "--json", &out]), waited })
}

/// For how long the threads of a process and of those that it started were ready and waited for a CPU.
fn run_delay_ns(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.map(|task| task_delay_ns(&task.path())).sum()
}

/// The same of one thread, and of the processes that it started.
fn task_delay_ns(task: &Path) -> u64 {
    let text = |name: &str| fs::read_to_string(task.join(name)).unwrap_or_default();
    let own = text("schedstat").split(' ').nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0);
    let children = text("children");
    let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    own + children.map(run_delay_ns).sum::<u64>()
}

/// What the report may blame on waiting for CPUs must be in the kernel's own account, too: this part of the time.
const CONSIDERABLE: f64 = 0.1;

impl Recording {
    /// Whether other programs had the CPUs, which is true on a machine that tests other things, too.
    fn is_disturbed(&self) -> bool {
        self.waited >= CONSIDERABLE
    }
}

/// What is wrong with a report, in a sentence.
pub fn wrong(known: &Known, recording: &Recording) -> Option<String> {
    let report = &recording.report;
    let rows = report["findings"].as_array().unwrap().iter();
    let is_excused = |row: &&Value| row["id"] == "cpu-wait" && recording.is_disturbed();
    let rows: Vec<&Value> = rows.filter(|row| !is_excused(row)).collect();
    let first = rows.first();
    let fits = match (first, known.expected) {
        (None, None) => true,
        (Some(row), Some((id, "", _))) => row["id"] == id && row["function"].is_null(),
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
    let (expected, findings) = (known.expected, &report["findings"]);
    let waited = recording.waited * 100.0;
    (!fits).then(|| {
        let name = known.name;
        format!("{name}: {expected:?} expected; waited for a CPU {waited:.1} %: {findings:#?}")
    })
}

/// How a recording was judged.
enum Recorded {
    Right,
    Wrong(String),
    /// Wrong, and led by waiting for a CPU, and the kernel's own account agrees: the planted cause was not what was slow.
    Disturbed(String),
    /// There is no place for it on this machine.
    Not,
}

fn judge(known: &Known, recording: &Recording) -> Recorded {
    let Some(wrong) = wrong(known, recording) else { return Recorded::Right };
    // A function of a healthy program that is accused is a fault of a rule, whatever the machine did.
    let can_be_slow = known.expected.is_some();
    let is_first = recording.report["findings"][0]["id"] == "cpu-wait";
    match can_be_slow && is_first && recording.is_disturbed() {
        true => Recorded::Disturbed(wrong),
        false => Recorded::Wrong(wrong),
    }
}

/// Records the programs of a row side by side.
fn record_row(binary: &Path, row: &[&Known]) -> Vec<Recorded> {
    std::thread::scope(|scope| {
        let one = |known| {
            scope.spawn(move || match record(binary, known) {
                Some(recording) => judge(known, &recording),
                None => Recorded::Not,
            })
        };
        let running: Vec<_> = row.iter().copied().map(one).collect();
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
            let row: Vec<&Known> = row.iter().collect();
            for (known, judged) in row.iter().zip(record_row(&binary, &row)) {
                if matches!(judged, Recorded::Right) {
                    continue;
                }
                // Its neighbours may have taken the CPU that it needs to be slow: once more, without them.
                println!("{} is recorded once more, alone", known.name);
                let again = record_row(&binary, &[*known]).remove(0);
                if let Recorded::Wrong(wrong) | Recorded::Disturbed(wrong) = again {
                    panic!("{wrong}");
                }
            }
        }
    }
}

#[test]
fn a_cpu_quota_comes_first() {
    if !can_record() {
        return;
    }
    for binary in binaries(RELEASE) {
        let Some(recording) = record(&binary, &CPU_QUOTA) else { return };
        assert_eq!(wrong(&CPU_QUOTA, &recording), None);
        // The largest user of the limit is named, and neither that finding nor another one accuses it.
        let rows = recording.report["findings"].as_array().unwrap();
        let limit = rows.iter().find(|row| row["id"] == "cpu-limit").unwrap();
        assert!(limit["text"].to_string().contains("render ("), "{limit:#?}");
        // What collections took of the CPU is so with and without a limit.
        let accuses = |row: &&Value| !row["function"].is_null() && row["id"] != "gc";
        let accusing: Vec<&Value> = rows.iter().filter(accuses).collect();
        assert!(accusing.is_empty(), "{accusing:#?}");
    }
}

/// A machine that does other work, too, spoils a round now and then: it takes the CPU that a program needs to be slow,
/// or makes another part of it slower. That is no fault of a rule. A healthy program that is accused is, always.
const MOSTLY: f64 = 0.9;
/// Where more of all rounds were disturbed, the rest proves little.
const DISTURBED: f64 = 0.2;

/// How often one program was right.
#[derive(Clone, Copy, Default)]
struct Count {
    right: usize,
    all: usize,
    /// Beside these.
    disturbed: usize,
}

impl Count {
    fn add(&mut self, judged: &Recorded) {
        self.right += usize::from(matches!(judged, Recorded::Right));
        self.all += usize::from(matches!(judged, Recorded::Right | Recorded::Wrong(_)));
        self.disturbed += usize::from(matches!(judged, Recorded::Disturbed(_)));
    }

    fn is_enough(self, known: &Known) -> bool {
        let least = if known.expected.is_none() { 1.0 } else { MOSTLY };
        let rounds = (self.all + self.disturbed) as f64;
        self.right as f64 >= self.all as f64 * least && self.disturbed as f64 <= rounds * DISTURBED
    }
}

impl fmt::Display for Count {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.right, self.all)?;
        match self.disturbed {
            0 => Ok(()),
            disturbed => write!(out, " ({disturbed} more while other programs had the CPUs)"),
        }
    }
}

/// A report with these findings: id, function.
fn reported(findings: &[(&str, Option<&str>)], waited: f64) -> Recording {
    let row = |(id, function): &(&str, Option<&str>)| {
        let place = function.map(|name| format!("in {name} (x.js:5)"));
        object!({ "id": id, "function": function, "line": 5, "file": "/srv/x.js", "text": [place] })
    };
    let rows: Vec<Value> = findings.iter().map(row).collect();
    Recording { report: object!({ "findings": rows }), waited }
}

/// What the report states about waiting for CPUs is believed only where the kernel's own account of the target agrees.
#[test]
fn waiting_for_a_cpu_excuses_nothing_without_evidence() {
    let (healthy, slow) =
        (known("x", (1, "/"), None), known("x", (1, "/"), Some(("json", "f", 5))));
    let judged = |known: &Known, findings: &[(&str, Option<&str>)], waited: f64| match judge(
        known,
        &reported(findings, waited),
    ) {
        Recorded::Right => "right",
        Recorded::Wrong(_) => "wrong",
        Recorded::Disturbed(_) => "disturbed",
        Recorded::Not => "not",
    };
    let (wait, busy, json) = (("cpu-wait", None), ("busy-loop", Some("g")), ("json", Some("f")));
    assert_eq!(judged(&healthy, &[], 0.0), "right");
    assert_eq!(judged(&healthy, &[wait], 0.01), "wrong", "the report invents it");
    assert_eq!(judged(&healthy, &[wait], 0.5), "right", "it is true");
    assert_eq!(judged(&healthy, &[wait, busy], 0.5), "wrong", "nothing excuses the accusation");
    assert_eq!(judged(&slow, &[wait, json], 0.5), "right");
    assert_eq!(judged(&slow, &[wait, json], 0.01), "wrong");
    assert_eq!(judged(&slow, &[wait, busy], 0.5), "disturbed");
    assert_eq!(judged(&slow, &[wait, busy], 0.01), "wrong");
    assert_eq!(judged(&slow, &[busy, wait], 0.5), "wrong");
}

#[test]
fn few_rounds_may_be_disturbed() {
    let slow = known("x", (1, "/"), Some(("json", "f", 5)));
    let enough = |right, all, disturbed| Count { right, all, disturbed }.is_enough(&slow);
    assert!(enough(16, 16, 4) && enough(15, 16, 0));
    assert!(!enough(15, 15, 5), "a quarter");
    assert!(!enough(14, 16, 0), "wrong too often");
    assert!(!enough(0, 0, 1), "nothing is left");
}

/// How often each program was right, in many rounds; `figures: ` is the line that scripts/proof.sh keeps.
#[test]
fn findings_are_right_again_and_again() {
    let count = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<usize>().ok());
    let Some(rounds) = count("NODESCOPE_FINDINGS_ROUNDS") else { return };
    let rounds_of_second = count("NODESCOPE_FINDINGS_SECOND").unwrap_or(rounds);
    if !can_record() || !has_packages() {
        return;
    }
    let wanted = std::env::var("NODESCOPE_FINDINGS_NODES").unwrap_or_else(|_| RELEASE.to_owned());
    let only = std::env::var("NODESCOPE_FINDINGS_ONLY").unwrap_or_default();
    let is_meant =
        |known: &&Known| only.is_empty() || only.split_whitespace().any(|name| name == known.name);
    let binaries = binaries(&wanted);
    let (mut all, mut too_few) = (Count::default(), Vec::new());
    let first = FIRST.iter().chain(PLACED).map(|row| (row, rounds));
    for (row, rounds) in first.chain(SECOND.iter().map(|row| (row, rounds_of_second))) {
        let row: Vec<&Known> = row.iter().filter(is_meant).collect();
        let mut counts = vec![Count::default(); row.len()];
        for binary in (0..rounds).flat_map(|_| &binaries) {
            for (count, judged) in counts.iter_mut().zip(record_row(binary, &row)) {
                count.add(&judged);
                if let Recorded::Wrong(wrong) | Recorded::Disturbed(wrong) = judged {
                    println!("wrong: {}: {wrong}", binary.display());
                }
            }
        }
        for (known, count) in row.iter().zip(counts) {
            println!("finding: {} | {count}", known.name);
            all.right += count.right;
            all.all += count.all;
            all.disturbed += count.disturbed;
            too_few.extend((!count.is_enough(known)).then_some(known.name));
        }
    }
    println!(
        "figures: recordings right: {all}; {rounds} rounds on Node {wanted}, {rounds_of_second} of the second set"
    );
    assert!(all.all > 0, "nothing was recorded");
    assert!(too_few.is_empty(), "not right often enough: {too_few:?}");
}
