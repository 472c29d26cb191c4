//! What asked for the work, in a recording of a server: shares by the program's own clock, `--entry`, and the sentence.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;

use serde_json::Value;

use crate::program::running::{cache, can_record, nodes, some_nodes};
use crate::program::{Scratch, fails, input, json, nodescope, stderr, succeeds};
use crate::skip::skip;

/// A server that asks itself: a handler that works before and after an await, a timer, an immediate. Each counts the
/// CPU time that it used.
const SERVER: &str = "
const http = require('node:http');
const used = { http: 0, timer: 0, immediate: 0 };
const now = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
function spin(kind, ms) { const start = now(); let sum = 0; while (now() < start + ms) for (let i = 0; i < 2e4; i++) sum += Math.sqrt(i); used[kind] += now() - start; return sum; }
function workStart() { return spin('http', 4) + 1; }
function workLater() { return spin('http', 8) + 2; }
async function query() { await new Promise((resolve) => setImmediate(resolve)); return workLater() + 1; }
const server = http.createServer(async function list(_, response) { workStart(); await query(); response.end(); });
function later() { spin('immediate', 4); }
function poll() { spin('timer', 6); setImmediate(later); }
server.listen(0, () => {
  const timer = setInterval(poll, 5);
  const ask = () => http.get({ port: server.address().port }, (answer) => answer.resume().on('end', again));
  const again = () => {
    if (now() < 2000) return ask();
    clearInterval(timer);
    server.close();
    server.closeAllConnections();
    require('node:fs').writeFileSync(process.argv[2], JSON.stringify(used));
  };
  ask();
});
";

/// The kinds that worked, and the function of each.
const KINDS: [(&str, &str); 3] = [("http", "list"), ("timer", "poll"), ("immediate", "later")];

#[test]
fn shares_are_those_of_the_programs_own_clock() {
    let newest = nodes().into_iter().find(|(release, _)| release.starts_with("24."));
    let Some((_, node)) = newest.filter(|_| can_record()) else { return };
    let scratch = Scratch::new("entries");
    let (script, out) = (scratch.file("server.js", SERVER.as_bytes()), scratch.path("a.nodescope"));
    let (clock, node) = (scratch.path("used.json"), node.display().to_string());
    let words = ["record", "-F", "199", "-o", &out, "--", &node, &script, &clock];
    let output = nodescope(&words).current_dir(&scratch.0).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let used: Value = serde_json::from_slice(&fs::read(&clock).unwrap()).unwrap();
    let report = json(&["report", "--json", &out]);
    let found = KINDS.map(|(kind, function)| share_of(&report, kind, function));
    let used_ms = KINDS.map(|(kind, _)| used[kind].as_f64().unwrap());
    for (row, (kind, _)) in KINDS.iter().enumerate() {
        let share = found[row] / found.iter().sum::<f64>();
        let truth = used_ms[row] / used_ms.iter().sum::<f64>();
        println!("{kind}: {share:.3} of the samples, {truth:.3} by its own clock");
        assert!(
            (share - truth).abs() < 0.05,
            "{kind}: {share:.3}, not {truth:.3}: {}",
            report["entries"]
        );
    }
    check_narrowed(&out, &report);
    let text = succeeds(&["report", &out]);
    let did = text.split("It did: ").nth(1).unwrap_or_default();
    assert!(did.contains("HTTP requests ") && did.contains("timers "), "{text}");
    assert!(text.contains("HTTP request ▸ list"), "{text}");
}

/// A handler that works only after it has awaited something, and a job of a timer that does the same. A sample never
/// sees them start.
const LATE: &str = "
const used = { list: 0, job: 0 };
const now = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
function spin(kind, ms) { const start = now(); let sum = 0; while (now() < start + ms) for (let i = 0; i < 2e4; i++) sum += Math.sqrt(i); used[kind] += now() - start; return sum; }
const rows = () => new Promise((resolve) => setTimeout(resolve, 1));
async function list() { await rows(); return spin('list', 12) + 1; }
async function job() { await rows(); return spin('job', 8) + 1; }
function serve(server, close) {
  const timer = setInterval(job, 10);
  const ask = () => require('node:http').get({ port: server.address().port, agent: false }, (answer) => answer.resume().on('end', again));
  const again = () => {
    if (now() < 1200) return ask();
    clearInterval(timer);
    close();
    require('node:fs').writeFileSync(process.argv[2], JSON.stringify(used));
  };
  ask();
}
";

/// The same server by Node alone and by frameworks; each calls its handlers in another way.
const SERVERS: [(&str, &str); 3] = [
    (
        "http",
        "const server = require('node:http').createServer(async function handler(_, response) { await list(); response.end(); });
server.listen(0, () => serve(server, () => server.close()));",
    ),
    (
        "express",
        "const app = require('express')();
app.get('/', async function handler(_, response) { await list(); response.end(); });
const server = app.listen(0, () => serve(server, () => server.close()));",
    ),
    (
        "fastify",
        "const app = require('fastify')();
app.get('/', async function handler() { await list(); return 'done'; });
app.listen({ port: 0 }).then(() => serve(app.server, () => app.close()));",
    ),
];

/// Of one recording: the part of the list's work that is a request's, and no work of the job's may be.
fn requests_are_known(node: &std::path::Path, (name, server): (&str, &str), scratch: &Scratch) {
    let script = scratch.file(&format!("{name}.js"), format!("{LATE}{server}").as_bytes());
    let (out, clock) = (scratch.path("a.nodescope"), scratch.path("used.json"));
    let node = node.display().to_string();
    let words = ["record", "-F", "499", "-o", &out, "--", &node, &script, &clock];
    let mut command = nodescope(&words);
    command.current_dir(&scratch.0).env("NODE_PATH", cache().join("packages/node_modules"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{name}: {}", stderr(&output));
    let used: Value = serde_json::from_slice(&fs::read(&clock).unwrap()).unwrap();
    let [list, job] = ["list", "job"].map(|part| used[part].as_f64().unwrap());
    let report = json(&["report", "--json", &out]);
    let [known, unknown] = ["http", "await"].map(|kind| share_of(&report, kind, "handler"));
    let jobs = ["http", "await"].map(|kind| share_of(&report, kind, "job"));
    let share = known / (known + jobs[1]);
    println!("{name}: {share:.3} of the samples, {:.3} by its own clock", list / (list + job));
    assert_eq!(jobs[0], 0.0, "{name}: a job is no request: {}", report["entries"]);
    // What was read too late is shown as unknown. On a machine with much other work, what was known was 66 to 91 % of
    // what the program counted, because samples are also of other work of Node's, and nothing was unknown.
    let part = known / (list / (list + job));
    assert!(part > 0.5 && unknown < 0.1 * known, "{name}: {part:.3}: {}", report["entries"]);
    assert!(share < list / (list + job) + 0.1, "{name}: {share}");
}

#[test]
fn a_handler_that_works_after_an_await_is_a_request() {
    if !can_record() {
        return;
    }
    let (plain, frameworks) = SERVERS.split_at(1);
    for (release, node) in some_nodes() {
        requests_are_known(&node, plain[0], &Scratch::new(&format!("entries-late-{release}")));
    }
    let newest = nodes().into_iter().find(|(release, _)| release.starts_with("24."));
    let Some((_, node)) = newest else { return };
    if !cache().join("packages/node_modules/fastify").exists() {
        return skip("requests of frameworks: their packages are not installed");
    }
    for server in frameworks {
        requests_are_known(&node, *server, &Scratch::new(&format!("entries-late-{}", server.0)));
    }
}

fn share_of(report: &Value, kind: &str, function: &str) -> f64 {
    let groups = report["entries"].as_array().unwrap();
    let rows = groups.iter().filter(|group| group["kind"] == kind);
    let rows = rows.flat_map(|group| group["functions"].as_array().unwrap());
    rows.filter(|row| row["function"] == function).map(|row| row["share"].as_f64().unwrap()).sum()
}

/// `--entry` keeps what the table counted, by its kind and by a pattern.
fn check_narrowed(out: &str, report: &Value) {
    let samples = |words: &[&str]| {
        let all: Vec<&str> = ["report", "--json", out].iter().chain(words).copied().collect();
        json(&all)["samples"].as_u64().unwrap()
    };
    let groups = report["entries"].as_array().unwrap();
    let timers = groups.iter().find(|group| group["kind"] == "timer").unwrap();
    assert_eq!(samples(&["--entry", "timer"]), timers["samples"].as_u64().unwrap());
    let poll = timers["functions"][0]["samples"].as_u64().unwrap();
    assert_eq!(samples(&["--entry", "timer.*poll.*server"]), poll);
    let physical = samples(&["--entry", "http", "--physical"]);
    assert_eq!(physical, samples(&["--entry", "http"]), "the same with stacks as they were");
}

#[test]
fn an_entry_that_is_not_there_is_answered_with_those_that_are() {
    let file = format!("{}/../../corpus/entries-koa/input.nodescope", env!("CARGO_MANIFEST_DIR"));
    let hint = "this recording has the entries http, ";
    fails(&["report", &file, "--entry", "grpc"], 1, "no sample is left with these options", hint);
    fails(&["report", &file, "--entry", "("], 2, "--entry ( is not a regular expression", "put \\");
    let whole = "the page holds the whole recording";
    fails(&["export", &file, "--entry", "http", "-o", "a.html"], 2, whole, "narrow it in the page");
    let picture = succeeds(&["export", &file, "--entry", "http", "--to", "svg", "-o", "-"]);
    assert!(picture.contains("asked for by HTTP requests"));
    // Text of perf has entries, too.
    let of_perf = json(&["report", "--json", &input("node22-http")]);
    assert_eq!(of_perf["entries"][0]["kind"], "http", "{}", of_perf["entries"]);
}
