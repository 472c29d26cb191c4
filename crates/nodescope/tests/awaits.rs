//! What runs after an `await` stands under the functions that await it, in reports and exports of a recording.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::program::running::{
    Folded, Running, cache, can_record, is_function, musl_nodes, nodes, some_nodes,
};
use crate::program::{Scratch, json, nodescope, stderr, succeeds};
use crate::skip::skip;

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
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("awaits-{release}"));
        let script = scratch.file("routes.js", ROUTES.as_bytes());
        let target = ["--", &*node.display().to_string(), &script];
        check_routes(&format!("Node {release}"), &scratch, &target);
    }
}

/// Programs for musl, Debian's, stripped ones, and workers, which have a heap of their own.
#[test]
fn other_builds_and_workers_have_callers_across_await() {
    if !can_record() {
        return;
    }
    let check = |what: &str, node: &Path, main: &str| {
        let scratch = Scratch::new(&format!("awaits-{}", what.replace(' ', "-")));
        scratch.file("routes.js", ROUTES.as_bytes());
        let script = scratch.file("main.js", main.as_bytes());
        check_routes(what, &scratch, &["--", &node.display().to_string(), &script]);
    };
    let plain = "require('./routes.js');";
    for (release, node) in musl_nodes() {
        check(&format!("Node {release} for musl"), &node, plain);
    }
    check_debian();
    let Some((release, node)) = nodes().pop() else { return };
    let worker = "new (require('worker_threads').Worker)(__dirname + '/routes.js');";
    check(&format!("a worker of Node {release}"), &node, worker);
    let scratch = Scratch::new("awaits-to-strip");
    let stripped = scratch.path("node");
    let strip = Command::new("strip").args(["--strip-all", "-o", &stripped]).arg(&node).status();
    if !strip.is_ok_and(|status| status.success()) {
        return skip("a stripped program: there is no strip here");
    }
    check(&format!("Node {release} stripped"), Path::new(&stripped), plain);
}

/// Debian's Node is a shared library, and lives in a root of its own.
fn check_debian() {
    let root = cache().join("node-debian");
    let name = format!("tmp/routes-{}.js", std::process::id());
    let endless = format!("console.log('ready');{}", ROUTES.replace("now() < 1000", "true"));
    if std::fs::write(root.join(&name), endless).is_err() {
        return skip("Debian's Node: scripts/install-test-tools.sh takes it out of its packages");
    }
    let mut command = Command::new("chroot");
    let running = Running::start(command.arg(&root).args(["/usr/bin/node", &format!("/{name}")]));
    let scratch = Scratch::new("awaits-debian");
    check_routes("Debian's Node", &scratch, &["-d", "2s", &running.pid()]);
    let _ = std::fs::remove_file(root.join(&name));
}

/// Records the routes, and checks what each command shows of them.
fn check_routes(what: &str, scratch: &Scratch, target: &[&str]) {
    let (out, text) = (scratch.path("a.nodescope"), scratch.path("a.folded"));
    let (with_awaits, picture) = (scratch.path("b.folded"), scratch.path("a.svg"));
    let words = [&["record", "-F", "199", "-o", &out], target].concat();
    let output = nodescope(&words).current_dir(&scratch.0).output().unwrap();
    assert!(output.status.success(), "{what}: {}", stderr(&output));
    succeeds(&["export", &out, "-o", &text]);
    succeeds(&["export", &out, "--async", "-o", &with_awaits]);
    succeeds(&["export", &out, "-o", &picture]);
    let losses = &json(&["report", "--json", &out])["losses"]["awaits"];
    println!("{what}: {losses}");
    assert!(losses["read"].as_u64().unwrap() > 20, "{what}: {losses}");
    for [work, route, other] in SHAPES {
        check_shape(what, (&text, &with_awaits), [work, route, other]);
    }
    let picture = std::fs::read_to_string(&picture).unwrap();
    assert!(picture.contains("▸ await loadCostly"), "{what}");
    let found = json(&["report", "--json", &out, "--search", "^routeCostly$"])["samples"].clone();
    assert!(found.as_u64().unwrap() > 20, "{what}: {found}");
    check_physical(what, &out, found.as_u64().unwrap());
}

/// Stacks as they were have no route after its await; the others have the right one.
fn check_shape(what: &str, (text, with_awaits): (&str, &str), [work, route, other]: [&str; 3]) {
    let has = |stack: &[String], name: &str| stack.iter().any(|frame| is_function(frame, name));
    let both =
        |folded: &Folded, one: &str| folded.count(|stack| has(stack, work) && has(stack, one));
    let (as_it_was, logical) = (Folded::read(text), Folded::read(with_awaits));
    let all = as_it_was.total(work);
    assert_eq!(logical.total(work), all, "{what}: no sample is lost");
    assert_eq!(both(&as_it_was, route), 0.0, "{what}: {work} runs after an await");
    assert_eq!(both(&logical, other), 0.0, "{what}: {other} does not await {work}");
    let share = both(&logical, route) / all;
    println!("{what}: {share:.2} of {all} samples of {work} have their route");
    assert!(share > 0.5, "{what}: {share:.2} of {work}");
}

/// Without the functions that await, few samples have the route on their stacks: those before its await.
fn check_physical(what: &str, out: &str, found: u64) {
    let arguments = ["report", "--json", out, "--physical", "--search", "^routeCostly$"];
    let output = nodescope(&arguments).output().unwrap();
    let samples = serde_json::from_slice::<serde_json::Value>(&output.stdout)
        .map_or(0, |report| report["samples"].as_u64().unwrap());
    assert!(samples * 4 < found, "{what}: {samples} and {found}");
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
fn a_dump_shows_what_awaits_a_loop_that_hangs() {
    if !can_record() {
        return;
    }
    for (release, node) in some_nodes() {
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
