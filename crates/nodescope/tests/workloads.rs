//! `nodescope record` on the kinds of work that services do: worker threads, clusters, libuv's pool, the engine's own
//! C++, the kernel; and on what is not Node, or not ours.

#![cfg(target_os = "linux")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::program::inspected::wait_until;
use crate::program::running::{
    Folded, NAMES, PATIENCE, Running, SHARES, can_record, function, installed_node,
    is_without_kernel, some_nodes, wait_for_begin,
};
use crate::program::{Scratch, fails, json, nodescope, stderr};
use crate::skip::skip;

/// Each worker has a function of its own. It is called through a builtin, so that it stays a function.
const WORKERS: &str = "
const { Worker, isMainThread, workerData } = require('worker_threads');
function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += i % 7; return sum; }
function alpha() { return spin(3e4) + 'alpha'; }
function beta() { return spin(3e4) + 'beta'; }
if (isMainThread) {
  let started = 0;
  const start = (workerData) => new Worker(__filename, { workerData }).on('message', () => { if (++started === 2) console.log('ready'); });
  start('alpha'); start('beta');
} else {
  const work = { alpha, beta }[workerData];
  const stop = Date.now() + 60000;
  for (let i = 0; Date.now() < stop; i++) {
    'a'.replace('a', work);
    if (i === 3000) require('worker_threads').parentPort.postMessage('compiled');
  }
}";

const POOL: &str = "
const { pbkdf2 } = require('crypto'), zlib = require('zlib');
const data = Buffer.alloc(1 << 20, 'The quick brown fox jumps over the lazy dog. ');
(function hash() { pbkdf2('a', 'b', 20000, 32, 'sha512', hash); })();
(function pack() { zlib.gzip(data, pack); })();
setTimeout(() => process.exit(), 60000);
setTimeout(() => console.log('ready'), 100);
";

const ENGINE: &str = "
const zlib = require('zlib'), fs = require('fs');
const text = JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ id: i, name: 'row ' + i })));
const data = Buffer.from(text);
function parse() { return JSON.parse(text).length; }
function pack() { return zlib.gzipSync(data).length; }
function stat() { for (let i = 0; i < 300; i++) fs.statSync('/tmp'); return ''; }
const stop = Date.now() + 60000;
for (let i = 0; Date.now() < stop; i++) {
  for (const work of [parse, pack, stat]) 'a'.replace('a', work);
  if (i === 20) console.log('ready');
}";

/// Every worker process has a function of its own.
const CLUSTER: &str = "
const cluster = require('cluster');
if (cluster.isPrimary) {
  let started = 0;
  for (let n = 1; n <= 4; n++) cluster.fork({ PART: String(n) }).on('message', () => { if (++started === 4) console.log('ready'); });
  setTimeout(() => process.exit(), 60000);
} else {
  const work = new Function(`return function part${process.env.PART}() { let sum = 0; for (let i = 0; i < 3e4; i++) sum += i % 7; return sum + ''; }`)();
  const stop = Date.now() + 60000;
  const parent = process.ppid;
  // In a loop no message of the primary's end arrives.
  for (let i = 0; Date.now() < stop && process.ppid === parent; i++) {
    'a'.replace('a', work);
    if (i === 1000) process.send('compiled');
  }
  process.exit();
}";

/// So many samples that every part of a program has its share.
const ENOUGH: u64 = 500;

/// A user who owns nothing.
const NOBODY: u32 = 65534;

fn start(scratch: &Scratch, node: &Path, text: &str) -> Running {
    let script = scratch.file("program.js", text.as_bytes());
    Running::start(Command::new(node).args(NAMES).arg(script).current_dir(&scratch.0))
}

/// Records a process for a second, or for longer where others want the CPU.
fn record(running: &Running, out: &str) -> Output {
    let record = |time: &str| {
        let words = ["record", &running.pid(), "-d", time, "-F", "999", "--overwrite", "-o", out];
        let output = nodescope(&words).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        output
    };
    let output = record("1s");
    if samples_in(&stderr(&output)) >= ENOUGH {
        return output;
    }
    println!("others want the CPU: recorded for longer");
    record("6s")
}

/// From `wrote a.folded (1,132 samples)`.
fn samples_in(messages: &str) -> u64 {
    let words = messages.rsplit_once(" samples)").and_then(|(start, _)| start.rsplit_once('('));
    words.and_then(|(_, count)| count.replace(',', "").parse().ok()).unwrap_or(0)
}

fn rows<'a>(report: &'a Value, table: &str) -> impl Iterator<Item = &'a Value> {
    report[table].as_array().unwrap().iter()
}

#[test]
fn worker_threads_have_their_own_functions() {
    if !can_record() {
        return;
    }
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("workers-{release}"));
        let out = scratch.path("a.nodescope");
        record(&start(&scratch, &node, WORKERS), &out);
        let report = json(&["report", "--json", &out]);
        let workers: Vec<&Value> =
            rows(&report, "threads").filter(|row| row["role"] == "worker").collect();
        assert_eq!(workers.len(), 2, "{release}: {}", report["threads"]);
        // There every isolate opens the map anew, and they write over each other.
        if release.starts_with("18.") {
            println!("Node {release}: two workers; its map has not all of their names");
            continue;
        }
        let own = |worker: &Value| {
            let report = json(&[
                "report",
                "--json",
                &out,
                "--thread",
                &worker["tid"].to_string(),
                "-n",
                "0",
            ]);
            let share = |name: &str| {
                let row = rows(&report, "functions").find(|row| row["name"] == name);
                row.map_or(0.0, |row| row["total"].as_f64().unwrap())
            };
            (share("alpha"), share("beta"))
        };
        let mut shares = [own(workers[0]), own(workers[1])];
        if shares[0].0 < shares[0].1 {
            shares.reverse();
        }
        println!("Node {release}: alpha and beta have {shares:.2?} of their threads");
        assert!(shares[0].0 > 0.9 && shares[0].1 < 0.01, "{release}: {shares:?}");
        assert!(shares[1].1 > 0.9 && shares[1].0 < 0.01, "{release}: {shares:?}");
    }
}

#[test]
fn the_pool_shows_what_it_computes() {
    if !can_record() {
        return;
    }
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("pool-{release}"));
        let out = scratch.path("a.nodescope");
        record(&start(&scratch, &node, POOL), &out);
        let report = json(&["report", "--json", &out, "-n", "0", "--thread", "pool"]);
        let all = json(&["report", "--json", &out]);
        let share = report["samples"].as_f64().unwrap() / all["samples"].as_f64().unwrap();
        let threads = rows(&report, "threads").count();
        println!("Node {release}: {threads} threads of the pool have {share:.2} of the time");
        assert!((2..=4).contains(&threads) && share > 0.7, "{release}: {}", all["threads"]);
        let time = |part: &str, column: &str| {
            let parts = rows(&report, "functions")
                .filter(|row| row["name"].as_str().unwrap().contains(part));
            parts.map(|row| row[column].as_f64().unwrap()).fold(0.0, f64::max)
        };
        assert!(
            time("sha512_block", "self") > 0.1,
            "{release}: no hash in {}",
            report["functions"]
        );
        for part in ["deflate", "PBKDF2"] {
            assert!(time(part, "total") > 0.05, "{release}: no {part} in {}", report["functions"]);
        }
    }
}

#[test]
fn native_and_kernel_frames_stand_below_their_callers() {
    if !can_record() {
        return;
    }
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("engine-{release}"));
        let out = scratch.path("a.folded");
        let output = record(&start(&scratch, &node, ENGINE), &out);
        let folded = Folded::read(&out);
        let mut calls = vec![
            ("parse", "v8::internal::JsonParser"),
            ("pack", "deflate_"),
            ("pack", "longest_match"),
            ("stat", "uv_fs_stat"),
            ("stat", "node::fs::Stat"),
        ];
        if is_without_kernel(&output) {
            skip(format_args!("Node {release}: the kernel's time may not be seen here"));
        } else {
            calls.push(("stat", "sys_statx"));
        }
        for (caller, called) in calls {
            let (below, all) = (folded.under(caller, called), folded.with(called));
            println!("Node {release}: {called} is below {caller} in {below} of {all} samples");
            assert!(
                all >= 20.0 && below > all * 0.95,
                "{release}: {called} below {caller}: {below} of {all}"
            );
        }
    }
}

#[test]
fn a_cluster_of_four_is_four_processes() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("cluster");
    let primary = start(&scratch, Path::new("node"), CLUSTER);
    let out = scratch.path("a.nodescope");
    let output = nodescope(&["record", &primary.pid(), "-d", "2s", "-F", "999", "-o", &out])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    let mut pids: Vec<u64> =
        rows(&report, "threads").filter_map(|row| row["pid"].as_u64()).collect();
    pids.sort_unstable();
    pids.dedup();
    pids.retain(|pid| pid.to_string() != primary.pid());
    assert_eq!(pids.len(), 4, "{}", report["threads"]);
    let mut parts = BTreeMap::new();
    for pid in pids {
        let report = json(&["report", "--json", &out, "--pid", &pid.to_string()]);
        let hottest = &report["functions"][0];
        assert!(hottest["total"].as_f64().unwrap() > 0.9, "{hottest}");
        parts.insert(hottest["name"].as_str().unwrap().to_owned(), pid);
        let main = rows(&report, "threads").find(|row| row["tid"] == pid).unwrap();
        assert_eq!(main["role"], "main", "{main}");
        let _ = fs::remove_file(format!("/tmp/perf-{pid}.map"));
    }
    let names: Vec<&String> = parts.keys().collect();
    assert_eq!(names, ["part1", "part2", "part3", "part4"]);
}

/// Afterwards its map, its files and its memory are gone.
#[test]
fn a_target_that_ends_half_way_keeps_its_names() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("half-way");
    let node = Running::node(&scratch, NAMES, SHARES, &["1500"]);
    let out = scratch.path("a.nodescope");
    let output =
        nodescope(&["record", &node.pid(), "-d", "1h", "-F", "999", "-o", &out]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    let share = |name: &str| function(&report, name)["total"].as_f64().unwrap();
    assert!(share("heavy") > 0.5 && share("light") > 0.1, "{}", report["functions"]);
    let losses = &report["losses"];
    let (unnamed, frames) = (&losses["unnamed_frames"], &losses["frames"]);
    assert!(unnamed.as_f64().unwrap() < frames.as_f64().unwrap() * 0.05, "{losses}");
}

/// It is sampled as any other; of one that does nothing, a message says so.
#[test]
fn what_is_not_node_is_recorded_all_the_same() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("not-node");
    let busy = Running::start(Command::new("sh").args(["-c", "echo ready; while :; do :; done"]));
    let out = scratch.path("a.nodescope");
    let output = record(&busy, &out);
    assert!(stderr(&output).contains(&format!("(pid {})", busy.pid())), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    assert!(report["samples"].as_u64().unwrap() > 50, "{}", report["samples"]);
    let categories: Vec<&str> =
        rows(&report, "categories").filter_map(|row| row["category"].as_str()).collect();
    assert!(!categories.contains(&"app"), "none of it is JavaScript: {categories:?}");
    drop(busy);
    let idle = Running::start(Command::new("sh").args(["-c", "echo ready; exec sleep 60"]));
    let pid = idle.pid();
    // The shell has become it, and it has begun to wait.
    let is_asleep = || {
        fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| stat.contains("(sleep) S "))
    };
    wait_until("it sleeps", PATIENCE, is_asleep);
    let output =
        nodescope(&["record", &pid, "-d", "300ms", "-o", &scratch.path("b.svg")]).output().unwrap();
    let messages = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(
        messages.contains("used no CPU meanwhile") && messages.contains("hint: put load on it"),
        "{messages}"
    );
    // By words only Node is found: the others are too many.
    fails(
        &["record", "sleep 60", "-d", "300ms"],
        1,
        "no Node process here matches",
        "nodescope ps",
    );
    let left = scratch.0.read_dir().unwrap().count();
    assert_eq!(left, 1, "nothing is left of what failed");
}

/// A Node of the user nobody: that user sees it without the kernel, root sees all of it, and both see its names.
#[test]
fn a_process_of_another_user_has_its_names() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::for_all("nobody");
    let Some(node) = installed_node() else { return skip("an installed Node: node is missing") };
    let script = scratch.file("shares.js", SHARES.as_bytes());
    let binary = scratch.program_for_all(crate::program::path(), "nodescope");
    let node = scratch.program_for_all(&node, "node");
    Command::new("chmod").args(["-R", "a+rwX", &scratch.path("")]).status().unwrap();
    let mut command = Command::new(node);
    command.args(NAMES).args([&script, "30000"]).current_dir(&scratch.0).uid(NOBODY).gid(NOBODY);
    let Ok(child) = command.spawn() else {
        return skip("another user: only root can become one");
    };
    let node = Running(child);
    wait_for_begin(node.0.id());
    let theirs = scratch.path("theirs.nodescope");
    let words = ["record", &node.pid(), "-d", "1s", "-F", "999", "-o", &theirs];
    let output = Command::new(&binary).args(words).uid(NOBODY).gid(NOBODY).output().unwrap();
    if stderr(&output).contains("you may not sample") {
        skip(format_args!("another user: nobody may not sample here: {}", stderr(&output)));
    } else {
        assert!(output.status.success() && is_without_kernel(&output), "{}", stderr(&output));
        let report = json(&["report", "--json", &theirs]);
        assert!(
            function(&report, "heavy")["total"].as_f64().unwrap() > 0.5,
            "{}",
            report["functions"]
        );
        assert!(rows(&report, "categories").all(|row| row["category"] != "kernel"));
    }
    let ours = scratch.path("ours.nodescope");
    record(&node, &ours);
    let report = json(&["report", "--json", &ours]);
    assert!(function(&report, "heavy")["total"].as_f64().unwrap() > 0.5, "{}", report["functions"]);
}

/// Changes its title while it works.
const TITLES: &str = "
const spent = () => process.cpuUsage().user / 1000;
for (const title of ['shop-begins', 'shop-works', 'shop-ends']) {
  const end = spent() + 150;
  process.title = title;
  for (let sum = 0; spent() < end;) for (let i = 0; i < 1e5; i++) sum += i % 7;
}";

#[test]
fn a_title_that_changes_splits_no_thread() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("titles");
    let (out, script) =
        (scratch.path("out.nodescope"), scratch.file("titles.js", TITLES.as_bytes()));
    // The shell's own work is that of another program.
    let shell = format!("i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exec node {script}");
    let output =
        nodescope(&["record", "-F", "999", "-o", &out, "--", "sh", "-c", &shell]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", "-n", "0", &out]);
    let threads = report["threads"].as_array().unwrap();
    let first: Vec<&Value> = threads.iter().filter(|row| row["pid"] == row["tid"]).collect();
    let mut names: Vec<&str> = first.iter().map(|row| row["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["sh", "shop-ends"], "{threads:?}");
    let main = first.iter().find(|row| row["name"] == "shop-ends").unwrap();
    assert_eq!(main["role"], "main", "{threads:?}");
    // 450 ms of CPU time, and what Node itself takes.
    assert!(main["samples"].as_u64().unwrap() > 300, "{threads:?}");
    // All samples of a thread have its name.
    let folded = scratch.path("out.folded");
    assert!(nodescope(&["export", &out, "-o", &folded]).status().unwrap().success());
    let folded = fs::read_to_string(folded).unwrap();
    assert!(!folded.contains("shop-works") && folded.contains("shop-ends;"), "{folded}");
}
