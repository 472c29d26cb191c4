//! Programs whose truth is known: functions that count their own CPU time, and stacks that must reach their root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::running::{Folded, RATE, is_function, record_command};
use super::{Scratch, json, succeeds};

/// Three functions that count their own CPU time: two share a loop, one has its own. They are called through a
/// builtin, so that the optimising compiler does not make one function of them and their caller; and often, so that
/// they are soon compiled: only then have they a name without --interpreted-frames-native-stack.
const HOT: &str = "
const used = { heavy: 0, light: 0, alone: 0 };
function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
function heavy() { return spin(9e3) + 'heavy'; }
function light() { return spin(3e3) + 'light'; }
function alone() { let sum = 0; for (let i = 0; i < 6e3; i++) sum += Math.sqrt(i ^ 5); return sum + 'alone'; }
// Longer and shorter, so that it does not march in step with the clock that samples it.
function timed(work) { const start = process.cpuUsage(); const times = 50 + Math.random() * 100;
  for (let i = 0; i < times; i++) 'a'.replace('a', work);
  const end = process.cpuUsage(start); used[work.name] += end.user + end.system; }
// CPU time, not time: other programs may want the CPU, too.
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
while (spent() < 2600) { timed(heavy); timed(light); timed(alone); }
require('fs').writeFileSync(process.argv[2], JSON.stringify(used));
";

const FUNCTIONS: [&str; 3] = ["heavy", "light", "alone"];

/// What the counts of samples must be to be trusted.
const FEWEST_SAMPLES: f64 = 2000.0;

/// Records a Node from its first instruction to its end, and compares the shares of its functions with its own clock.
pub fn shares_are_right(release: &str, node: &Path, flags: &[&str]) {
    let what = format!("Node {release} {}", flags.join(" "));
    let (scratch, out) = record_shares(release, node, flags);
    let folded = scratch.path("a.folded");
    succeeds(&["export", &out, "-o", &folded]);
    check_shares(&what, &scratch, &Folded::read(&folded));
}

/// Records the program; the recording, and the folder that it and the program's own counts are in.
pub fn record_shares(release: &str, node: &Path, flags: &[&str]) -> (Scratch, String) {
    let scratch = Scratch::new(&format!("shares-{release}{}", flags.concat()));
    let (script, out) = (scratch.file("hot.js", HOT.as_bytes()), scratch.path("a.nodescope"));
    record_command(node, flags, &[&script, &scratch.path("used")], &out);
    (scratch, out)
}

/// Compares the program's own counts with its stacks.
pub fn check_shares(what: &str, scratch: &Scratch, folded: &Folded) {
    let used = fs::read_to_string(scratch.path("used")).unwrap();
    let used: Value = serde_json::from_str(&used).unwrap();
    let clock = FUNCTIONS.map(|name| used[name].as_f64().unwrap());
    let counts = FUNCTIONS.map(|name| folded.total(name));
    let n: f64 = counts.iter().sum();
    assert!(n >= FEWEST_SAMPLES, "{what}: {n} samples; {:#?}", folded.names());
    for ((name, used), count) in FUNCTIONS.iter().zip(clock).zip(counts) {
        let (p, found) = (used / clock.iter().sum::<f64>(), count / n);
        println!("{what}: {name} is {p:.4} by its own clock, {found:.4} of {n} samples");
        assert!(
            (found - p).abs() <= 4.0 * (p * (1.0 - p) / n).sqrt(),
            "{what}: {name}: {found}, not {p}"
        );
    }
    let leaf = folded.count(|stack| stack.last().is_some_and(|frame| is_function(frame, "alone")))
        / counts[2];
    assert!(leaf > 0.9, "{what}: the loop is the leaf of {leaf} of its function");
}

/// What a busy server does: timers, promises, streams, zlib, JSON, files, regular expressions, hashes, garbage.
const BUSY: &str = "
const fs = require('fs'), zlib = require('zlib'), crypto = require('crypto');
const { Readable, Transform } = require('stream');
const { pipeline } = require('stream/promises');
const rows = Array.from({ length: 400 }, (_, i) => ({ id: i, name: 'row ' + i, tags: ['a' + i, 'b'], 名: '値' }));
const text = JSON.stringify(rows), data = Buffer.from(text.repeat(4));
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
const parts = {
  json() { return JSON.stringify(JSON.parse(text)).length; },
  pack() { return zlib.gunzipSync(zlib.gzipSync(data, { level: 1 })).length; },
  files() { for (let i = 0; i < 20; i++) { fs.statSync('/'); fs.readFileSync(__filename); fs.readdirSync('/'); } },
  match() { return text.replace(/([a-z]+) (\\d+)/g, '$2 $1').split(/\"\\w+\":/).length; },
  garbage() { let list = null; for (let i = 0; i < 2e4; i++) list = { next: i % 100 ? list : null, pad: [i, i + 1] }; return list; },
  hash() { return crypto.createHash('sha512').update(data).digest('hex') + crypto.createHash('sha256').update(data).digest('hex'); },
  sort() { return rows.map((row) => row.name).sort((a, b) => (a < b ? 1 : -1)).join().length; },
  buffers() { const all = []; for (let i = 0; i < 50; i++) all.push(Buffer.from('héllo wörld ' + i).toString('base64')); return Buffer.concat(all.map((part) => Buffer.from(part))).indexOf('zz'); },
};
async function stream() {
  const upper = new Transform({ transform(chunk, _, done) { done(null, chunk.toString().toUpperCase()); } });
  let length = 0;
  await pipeline(Readable.from(Array.from({ length: 50 }, (_, i) => 'chunk ' + i)), upper, async (source) => { for await (const chunk of source) length += chunk.length; });
  return length;
}
async function turn() {
  for (const part of Object.values(parts)) { part(); await null; }
  await stream();
  crypto.pbkdf2('a', 'b', 300, 32, 'sha512', () => {});
  zlib.deflate(data, () => {});
  if (spent() < 4500) setTimeout(turn, 0);
}
turn();
";

/// The outermost functions of programs and threads. Those of a stripped musl have no names.
const ROOTS: [&str; 8] = [
    "_start",
    "__libc_start_call_main",
    "__libc_start_main",
    "main",
    "__clone",
    "__clone3",
    "clone3",
    "start_thread",
];
const MUSL: &str = "[libc.so]";

/// Runs a busy program, and returns which share of the main thread's stacks reach the root, and of all others'.
pub fn root_reach(what: &str, node: &Path) -> (f64, f64) {
    let scratch = Scratch::new(&format!("roots-{}", what.replace(' ', "-")));
    let (script, out) = (scratch.file("busy.js", BUSY.as_bytes()), scratch.path("a.nodescope"));
    record_command(node, &[], &[&script], &out);
    let losses = &json(&["report", "--json", &out])["losses"];
    let (unnamed, frames) = (&losses["unnamed"], losses["frames"].as_f64().unwrap());
    let nowhere = unnamed["nothing is mapped at the address"].as_f64().unwrap_or(0.0);
    assert!(nowhere <= frames * 0.0005, "{what}: {losses}");
    let (main, others) = (stacks_of(&scratch, &out, true), stacks_of(&scratch, &out, false));
    println!("{what}: main thread {}; others {}", main.text(), others.text());
    let samples = main.all * RATE / 1e9;
    assert!(samples >= FEWEST_SAMPLES, "{what}: {samples} samples of the main thread");
    (main.share(), others.share())
}

/// The stacks of the main thread, or of all others.
fn stacks_of(scratch: &Scratch, out: &str, is_main: bool) -> Reach {
    let report = json(&["report", "--json", out]);
    let threads = report["threads"].as_array().unwrap().iter();
    let wanted = threads.filter(|row| (row["role"] == "main") == is_main);
    // A thread that got another name is there twice.
    let tids: BTreeSet<String> = wanted.map(|row| row["tid"].to_string()).collect();
    let tids: Vec<String> = tids.into_iter().collect();
    let folded = scratch.path(&format!("{is_main}.folded"));
    succeeds(&["export", out, "--thread", &tids.join(","), "-o", &folded]);
    let mut reach = Reach::default();
    Folded::read(&folded).each(|stack, weight_ns| reach.add(stack, weight_ns));
    reach
}

/// The stacks of a thread that reach its root, and what the others ran.
#[derive(Default)]
struct Reach {
    all: f64,
    there: f64,
    losers: BTreeMap<String, f64>,
}

impl Reach {
    /// The first name of a stack is its thread's.
    fn add(&mut self, stack: &[String], weight_ns: f64) {
        let is_kernel = |name: &String| name.starts_with("entry_") || name.starts_with("asm_");
        let is_musl = || stack[1] == MUSL && stack.len() > 2 && !is_kernel(&stack[2]);
        self.all += weight_ns;
        if ROOTS.contains(&stack[1].as_str()) || is_musl() {
            self.there += weight_ns;
        } else {
            let loser = format!("{} … {}", stack[1], stack[stack.len() - 1]);
            *self.losers.entry(loser).or_default() += weight_ns;
        }
    }

    fn share(&self) -> f64 {
        self.there / self.all.max(1.0)
    }

    fn text(&self) -> String {
        let mut losers: Vec<(&String, &f64)> = self.losers.iter().collect();
        losers.sort_by(|one, other| other.1.total_cmp(one.1));
        let losers = losers
            .iter()
            .take(8)
            .map(|(name, weight)| format!("{:.2} % {name}", *weight * 100.0 / self.all));
        let losers: Vec<String> = losers.collect();
        format!(
            "{:.2} % of {:.0} [{}]",
            self.share() * 100.0,
            self.all * RATE / 1e9,
            losers.join(", ")
        )
    }
}
