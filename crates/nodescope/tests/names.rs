//! The names of all kinds of functions, in the main thread and in workers, as `nodescope record` writes them: no option
//! of Node is needed, and each function of the program has exactly its own name and place.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::program::running::{can_record, nodes, record_command, some_nodes};
use crate::program::{Scratch, json};

/// Each kind of function burns CPU by itself: a call of a common loop could be inlined or not.
const BODY: &str =
    "let sum = 0; for (let i = 0; i < 2e5; i++) sum += Math.sqrt(i ^ 3); return sum;";

/// The functions of [`kinds`], by the names that a report must have, and the line where they begin.
const KINDS: [(&str, u32); 18] = [
    ("plain", 1),
    ("arrow", 2),
    ("method", 3),
    ("get value", 4),
    ("set value", 5),
    ("Shape", 6),
    ("area", 7),
    ("#secret", 8),
    ("of", 9),
    ("asynchronous", 10),
    ("generated", 11),
    ("asyncGenerated", 12),
    ("bindable", 13),
    ("计算总和", 14),
    ("compter_été", 15),
    // `new Function` and `eval` make scripts of their own.
    ("(anonymous)", 1),
    ("evaluated", 1),
    ("😀 smile", 19),
];

/// A program with a function of each kind on a line of its own; `{{BODY}}` is what each does.
const PROGRAM: &str = "function plain() { BODY }
const arrow = () => { BODY };
const object = { method() { BODY },
  get value() { BODY },
  set value(_) { BODY } };
class Shape { constructor() { BODY_OF_CONSTRUCTOR }
  area() { BODY }
  #secret() { BODY } secret() { return this.#secret() + 1; }
  static of() { BODY } }
async function asynchronous() { await null; BODY }
function* generated() { BODY }
async function* asyncGenerated() { BODY }
function bindable() { BODY }
function 计算总和() { BODY }
function compter_été() { BODY }
const made = new Function('BODY');

const evaluated = eval('(function evaluated() { BODY })');
const names = { '😀 smile': function () { BODY } };
const bound = bindable.bind(null);
const spent = () => process.cpuUsage().user / 1000;
async function round() {
  plain(); arrow(); object.method(); object.value; object.value = 1; const shape = new Shape(); shape.area(); shape.secret(); Shape.of();
  await asynchronous(); [...generated()]; for await (const _ of asyncGenerated()); bound(); 计算总和(); compter_été(); made(); evaluated(); names['😀 smile']();
}
(async () => { while (spent() < LIMIT) await round(); })();
";

fn program(limit_ms: u32) -> String {
    let constructor = BODY.replace("return sum;", "this.sum = sum;");
    let text = PROGRAM.replace("BODY_OF_CONSTRUCTOR", &constructor);
    text.replace("BODY", BODY).replace("LIMIT", &limit_ms.to_string())
}

/// The names of a report with enough samples, with the lines of their functions, in a thread or in all.
fn seen(out: &str, script: &str, thread: Option<&str>) -> BTreeSet<(String, u32)> {
    let mut words = vec!["report", "--json", "-n", "0", out];
    words.extend(thread.into_iter().flat_map(|tid| ["--thread", tid]));
    let report = json(&words);
    let rows = report["functions"].as_array().unwrap().iter();
    let is_ours = |row: &&serde_json::Value| {
        let source = row["source"].as_str().or(row["file"].as_str()).unwrap_or_default();
        source.is_empty() && row["category"] == "app" || source.contains(script)
    };
    rows.filter(is_ours)
        .filter(|row| row["self_samples"].as_u64().unwrap() > 0)
        .map(|row| {
            (row["name"].as_str().unwrap().to_owned(), row["line"].as_u64().unwrap_or(0) as u32)
        })
        .collect()
}

fn check(what: &str, seen: &BTreeSet<(String, u32)>) {
    println!("{what}: {seen:?}");
    for (name, line) in KINDS {
        assert!(seen.contains(&(name.to_owned(), line)), "{what}: no {name} in {seen:?}");
    }
}

#[test]
fn every_kind_of_function_has_its_name() {
    if !can_record() {
        return;
    }
    let check_all = |script: &str, nodes: Vec<(&str, PathBuf)>| {
        for (release, node) in nodes {
            let scratch = Scratch::new(&format!("names-{release}"));
            let path = scratch.file(script, program(1200).as_bytes());
            let out = scratch.path("a.nodescope");
            record_command(&node, &[], &[&path], &out);
            check(&format!("Node {release} {script}"), &seen(&out, script, None));
        }
    };
    check_all("kinds.cjs", nodes());
    check_all("kinds.mjs", some_nodes());
}

/// Two patterns; the first works for three times as long by the program's own clock. Texts of many lengths: a program
/// whose rounds take as long as the time between samples would be sampled in the same place of each.
const PATTERNS: &str = r"
const spent = () => process.cpuUsage().user;
const nested = /^(\w+\s?)*$/, bracket = /[/]?(x+x+)+é/u;
const random = (least) => least + Math.floor(5 * Math.random());
let [first, second] = [0, 0];
while (first + second < 800000) {
  const start = spent(), isFirst = first < 3 * second;
  if (isFirst) nested.test('a'.repeat(random(15)) + '!'); else bracket.test('x'.repeat(random(13)));
  if (isFirst) first += spent() - start; else second += spent() - start;
}
";

#[test]
fn regular_expressions_have_their_patterns() {
    if !can_record() {
        return;
    }
    for (release, node) in nodes() {
        let scratch = Scratch::new(&format!("patterns-{release}"));
        let path = scratch.file("patterns.js", PATTERNS.as_bytes());
        let out = scratch.path("a.nodescope");
        record_command(&node, &[], &[&path], &out);
        let report = json(&["report", "--json", "-n", "0", &out]);
        let share = |name: &str| {
            let rows = report["functions"].as_array().unwrap().iter();
            let row = rows.filter(|row| row["name"] == name && row["category"] == "regexp");
            row.map(|row| row["self"].as_f64().unwrap()).sum::<f64>()
        };
        let [first, second] = [r"/^(\w+\s?)*$/", "/[/]?(x+x+)+é/"].map(share);
        println!("Node {release}: {first:.3} and {second:.3}");
        let part = first / (first + second);
        assert!(first + second > 0.5, "Node {release}: {:#}", report["functions"]);
        assert!((0.65..0.85).contains(&part), "Node {release}: {part}");
    }
}

/// Each worker has a heap of its own.
#[test]
fn workers_have_the_names_of_their_own_functions() {
    if !can_record() {
        return;
    }
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("worker-names-{release}"));
        scratch.file("kinds.cjs", program(2000).as_bytes());
        let other =
            "function other() { BODY }\nwhile (process.cpuUsage().user / 1000 < 2000) other();";
        scratch.file("other.mjs", other.replace("BODY", BODY).as_bytes());
        let main = "const { Worker } = require('worker_threads');
new Worker(__dirname + '/kinds.cjs'); new Worker(__dirname + '/other.mjs');
function own() { BODY }
const timer = setInterval(() => { if (process.cpuUsage().user / 1000 > 2000) clearInterval(timer); else own(); }, 1);";
        let path = scratch.file("main.cjs", main.replace("BODY", BODY).as_bytes());
        let out = scratch.path("a.nodescope");
        record_command(&node, &[], &[&path], &out);
        let report = json(&["report", "--json", &out]);
        let threads = report["threads"].as_array().unwrap().iter();
        let tids: BTreeSet<String> = threads.map(|row| row["tid"].to_string()).collect();
        let mut found = Vec::new();
        for tid in &tids {
            let names = |script: &str| seen(&out, script, Some(tid));
            let [kinds, other, own] = ["kinds.cjs", "other.mjs", "main.cjs"].map(names);
            let has =
                |rows: &BTreeSet<(String, u32)>, name: &str| rows.iter().any(|row| row.0 == name);
            let is = [has(&kinds, "plain"), has(&other, "other"), has(&own, "own")];
            assert!(
                is.iter().filter(|is| **is).count() <= 1,
                "{release}: one isolate, one program: {is:?}"
            );
            found.extend(is.iter().position(|is| *is));
            if is[0] {
                println!("Node {release}: thread {tid} of {}", tids.len());
                check(&format!("Node {release} worker"), &kinds);
            }
        }
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, [0, 1, 2], "{release}: {}", report["threads"]);
    }
}
