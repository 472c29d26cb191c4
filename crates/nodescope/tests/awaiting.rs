//! `nodescope dump --awaiting`: the async functions that are suspended are listed by place, as many as there are, and
//! no others: none that have ended, none that wait for nothing.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::program::running::{PATIENCE, Running, cache, musl_nodes, nodes};
use crate::program::{Scratch, json, succeeds};
use crate::skip::skip;

/// Functions that wait for ever, in the main thread and in a worker; some that have ended, and some that wait to be
/// asked.
const WAITS: &str = "const { Worker, isMainThread, parentPort } = require('worker_threads');
const never = new Promise(() => {});
async function repository() { await never; }
async function service() {
  await repository();
}
async function handler() { return 1 + await service(); }
async function poll() { for (;;) await never; }
async function leaf() { await never; }
async function gather() { await Promise.all([leaf(), leaf()]); }
async function* numbers() { yield 1; await never; }
async function consume() { for await (const number of numbers()) number; }
async function* asked() { yield 1; yield 2; }
async function ended() { await null; }
async function shared() { await never; }
async function both(promise) { await promise; }
let close;
const circle = new Promise((resolve) => { close = resolve; });
async function round() { await circle; }

const kept = [];
async function begin() {
  for (let i = 0; i < (isMainThread ? 3 : 2); i++) handler();
  if (!isMainThread) return;
  poll(); poll(); gather(); consume(); close(round());
  const promise = shared(); both(promise); both(promise);
  kept.push(asked()); await kept[0].next();
  for (let i = 0; i < 1000; i++) await ended();
}
begin().then(() => setTimeout(() => {
  gc(); gc();
  setInterval(() => {}, 1e6);
  if (!isMainThread) return parentPort.postMessage('ready');
  new Worker(__filename).on('message', () => console.log('ready'));
}, 50));
";

/// Where how many wait: function, line, count.
const PLACES: [(&str, u64, u64); 11] = [
    ("both", 16, 2),
    ("consume", 12, 1),
    ("gather", 10, 1),
    ("handler", 7, 5),
    ("leaf", 9, 2),
    ("numbers", 11, 1),
    ("poll", 8, 2),
    ("repository", 3, 5),
    ("round", 19, 1),
    ("service", 5, 5),
    ("shared", 15, 1),
];

/// What awaits what: functions, the innermost first, what is above the last, count.
const CHAINS: [(&[&str], &str, u64); 7] = [
    (&["both"], "nothing", 2),
    (&["leaf", "gather"], "nothing", 2),
    (&["numbers", "consume"], "nothing", 1),
    (&["poll"], "nothing", 2),
    (&["repository", "service", "handler"], "nothing", 5),
    (&["round"], "more", 1),
    (&["shared"], "several", 1),
];

fn places(awaiting: &Value) -> Vec<(String, u64, u64)> {
    let mut counts = BTreeMap::new();
    for place in awaiting["places"].as_array().unwrap() {
        assert!(place["source"].as_str().unwrap().ends_with("waits.js"), "{place}");
        let key = (place["function"].as_str().unwrap().to_owned(), place["line"].as_u64().unwrap());
        *counts.entry(key).or_insert(0) += place["count"].as_u64().unwrap();
    }
    counts.into_iter().map(|((function, line), count)| (function, line, count)).collect()
}

fn chains(awaiting: &Value) -> Vec<(Vec<String>, String, u64)> {
    let name = |frame: &Value| frame["function"].as_str().unwrap().to_owned();
    let chain = |chain: &Value| {
        let names = chain["frames"].as_array().unwrap().iter().map(name).collect();
        (names, chain["above"].as_str().unwrap().to_owned(), chain["count"].as_u64().unwrap())
    };
    let mut chains: Vec<_> = awaiting["chains"].as_array().unwrap().iter().map(chain).collect();
    chains.sort();
    chains
}

/// All places and chains of a Node that runs the program, which has printed that it is ready.
fn check(what: &str, running: &Running) {
    let expected = PLACES.map(|(function, line, count)| (function.to_owned(), line, count));
    let deadline = Instant::now() + PATIENCE;
    let awaiting = loop {
        let dump = json(&["dump", &running.pid(), "--awaiting", "--json"]);
        let awaiting = dump["awaiting"].clone();
        // A search that is cut off says so; on a busy machine another one may get further.
        if awaiting["is_cut"] == false || Instant::now() > deadline {
            break awaiting;
        }
    };
    println!("{what}: {} bytes searched", awaiting["searched_bytes"]);
    assert_eq!(places(&awaiting), expected, "{what}: {awaiting:#}");
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected = CHAINS.map(|(frames, above, count)| (names(frames), above.to_owned(), count));
    assert_eq!(chains(&awaiting), expected, "{what}: {awaiting:#}");
    assert_eq!((&awaiting["functions"], &awaiting["innermost"]), (&26.into(), &14.into()));
}

fn start(node: &Path, scratch: &Scratch) -> Running {
    let script = scratch.file("waits.js", WAITS.as_bytes());
    Running::start(Command::new(node).arg("--expose-gc").arg(script))
}

#[test]
fn suspended_functions_are_listed_by_place() {
    for (release, node) in nodes() {
        let scratch = Scratch::new(&format!("awaiting-{release}"));
        let running = start(&node, &scratch);
        check(&format!("Node {release}"), &running);
        let text = succeeds(&["dump", &running.pid(), "--awaiting"]);
        assert!(text.contains("26 async functions are suspended"), "{release}: {text}");
        assert!(text.contains("5 × repository ("), "{release}: {text}");
        assert!(text.contains("▸ awaited by handler ("), "{release}: {text}");
        // Without the option, the dump mentions it.
        let text = succeeds(&["dump", &running.pid()]);
        assert!(text.contains(&format!("dump {} --awaiting", running.pid())), "{release}: {text}");
    }
}

#[test]
fn other_builds_list_theirs_too() {
    for (release, node) in musl_nodes() {
        let scratch = Scratch::new(&format!("awaiting-musl-{release}"));
        check(&format!("Node {release} for musl"), &start(&node, &scratch));
    }
    let Some((release, node)) = nodes().into_iter().next_back() else { return };
    let scratch = Scratch::new("awaiting-stripped");
    let stripped = scratch.path("node");
    let strip = Command::new("strip").args(["--strip-all", "-o", &stripped]).arg(&node).status();
    if !strip.is_ok_and(|status| status.success()) {
        return skip("a stripped program: there is no strip here");
    }
    let running = start(Path::new(&stripped), &scratch);
    check(&format!("Node {release} stripped"), &running);
    check_debian();
}

/// Debian's Node is a shared library, and lives in a root of its own.
fn check_debian() {
    let root = cache().join("node-debian");
    let script = format!("tmp/waits-{}", std::process::id());
    let folder = root.join(&script);
    if std::fs::create_dir(&folder).is_err() {
        return skip("Debian's Node: scripts/install-test-tools.sh fetches it");
    }
    std::fs::write(folder.join("waits.js"), WAITS).unwrap();
    let mut command = Command::new("chroot");
    command.arg(&root).args(["/usr/bin/node", "--expose-gc"]).arg(format!("/{script}/waits.js"));
    let running = Running::start(&mut command);
    if running_is_over(&running) {
        skip("Debian's Node: it does not run here");
    } else {
        check("Debian's Node", &running);
    }
    let _ = std::fs::remove_dir_all(folder);
}

fn running_is_over(running: &Running) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.pid()));
    stat.map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}
