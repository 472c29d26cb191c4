//! What runs after an `await` stands under the functions that await it, in reports and exports of a recording.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::Command;
use std::time::{Duration, Instant};

use crate::program::running::{Folded, Running, can_record, is_function, nodes};
use crate::program::{Scratch, json, nodescope, stderr, succeeds};

/// Two routes, of which one costs three times as much. Each awaits a function that works after an await of its own.
const ROUTES: &str = "
const now = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
const soon = () => new Promise((resolve) => setImmediate(resolve));
function spin(ms) { const end = now() + ms; let sum = 0; while (now() < end) for (let i = 0; i < 2e4; i++) sum += Math.sqrt(i); return sum; }
function workCheap() { return spin(15) + 1; }
function workCostly() { return spin(45) + 2; }
async function loadCheap() { await soon(); return workCheap() + 1; }
async function loadCostly() { await soon(); return workCostly() + 2; }
async function routeCheap() { return 1 + await loadCheap(); }
async function routeCostly() { const all = await Promise.all([loadCostly(), soon()]); return all[0]; }
(async function serve() { while (now() < 1000) await Promise.all([routeCheap(), routeCostly()]); })();
";

/// What works, what awaits it, and what must never seem to.
const SHAPES: [[&str; 3]; 2] =
    [["workCheap", "routeCheap", "routeCostly"], ["workCostly", "routeCostly", "routeCheap"]];

#[test]
fn routes_are_the_callers_of_what_they_await() {
    if !can_record() {
        return;
    }
    for (release, node) in nodes() {
        let scratch = Scratch::new(&format!("awaits-{release}"));
        let script = scratch.file("routes.js", ROUTES.as_bytes());
        let (out, text) = (scratch.path("a.nodescope"), scratch.path("a.folded"));
        let (with_awaits, picture) = (scratch.path("b.folded"), scratch.path("a.svg"));
        let node = node.display().to_string();
        let words = ["record", "-F", "199", "-o", &out, "--", &node, &script];
        let output = nodescope(&words).current_dir(&scratch.0).output().unwrap();
        assert!(output.status.success(), "Node {release}: {}", stderr(&output));
        succeeds(&["export", &out, "-o", &text]);
        succeeds(&["export", &out, "--async", "-o", &with_awaits]);
        succeeds(&["export", &out, "-o", &picture]);
        let losses = &json(&["report", "--json", &out])["losses"]["awaits"];
        println!("Node {release}: {losses}");
        assert!(losses["read"].as_u64().unwrap() > 20, "Node {release}: {losses}");
        for [work, route, other] in SHAPES {
            check_shape(release, (&text, &with_awaits), [work, route, other]);
        }
        let picture = std::fs::read_to_string(&picture).unwrap();
        assert!(picture.contains("▸ await loadCostly"), "Node {release}");
        let found =
            json(&["report", "--json", &out, "--search", "^routeCostly$"])["samples"].clone();
        assert!(found.as_u64().unwrap() > 20, "Node {release}: {found}");
        check_physical(release, &out, found.as_u64().unwrap());
    }
}

/// Stacks as they were have no route after its await; the others have the right one.
fn check_shape(release: &str, (text, with_awaits): (&str, &str), [work, route, other]: [&str; 3]) {
    let has = |stack: &[String], name: &str| stack.iter().any(|frame| is_function(frame, name));
    let both =
        |folded: &Folded, one: &str| folded.count(|stack| has(stack, work) && has(stack, one));
    let (as_it_was, logical) = (Folded::read(text), Folded::read(with_awaits));
    let all = as_it_was.total(work);
    assert_eq!(logical.total(work), all, "Node {release}: no sample is lost");
    assert_eq!(both(&as_it_was, route), 0.0, "Node {release}: {work} runs after an await");
    assert_eq!(both(&logical, other), 0.0, "Node {release}: {other} does not await {work}");
    let share = both(&logical, route) / all;
    println!("Node {release}: {share:.2} of {all} samples of {work} have their route");
    assert!(share > 0.5, "Node {release}: {share:.2} of {work}");
}

/// Without the functions that await, few samples have the route on their stacks: those before its await.
fn check_physical(release: &str, out: &str, found: u64) {
    let arguments = ["report", "--json", out, "--physical", "--search", "^routeCostly$"];
    let output = nodescope(&arguments).output().unwrap();
    let samples = serde_json::from_slice::<serde_json::Value>(&output.stdout)
        .map_or(0, |report| report["samples"].as_u64().unwrap());
    assert!(samples * 4 < found, "Node {release}: {samples} and {found}");
}

/// A loop that does not end, after an await.
const HANGS: &str = "
function inner() { for (let i = 0; ; i++) Math.sqrt(i); }
async function load() { await null; inner(); }
async function handle() { await load(); }
console.log('ready');
handle();
";

#[test]
fn a_dump_says_what_awaits_a_loop_that_hangs() {
    if !can_record() {
        return;
    }
    for (release, node) in nodes() {
        let scratch = Scratch::new(&format!("awaits-dump-{release}"));
        let script = scratch.file("hangs.js", HANGS.as_bytes());
        let running = Running::start(Command::new(node).arg(script));
        let deadline = Instant::now() + Duration::from_secs(60);
        // It may not have come far enough.
        let main = loop {
            let dump = json(&["dump", &running.pid(), "--json"]);
            let main = &dump["threads"].as_array().unwrap()[0];
            if main["awaited_by"][0]["function"] == "handle" {
                break main.clone();
            }
            assert!(Instant::now() < deadline, "Node {release}: {dump:#}");
            std::thread::sleep(Duration::from_millis(100));
        };
        assert_eq!(main["awaited_by"].as_array().unwrap().len(), 1, "Node {release}: {main:#}");
        assert_eq!(main["awaited_by"][0]["line"], 4, "Node {release}: {main:#}");
        let text = succeeds(&["dump", &running.pid()]);
        assert!(text.contains("▸ awaited by handle"), "Node {release}: {text}");
    }
}
