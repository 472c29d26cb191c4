//! TypeScript that is transpiled while it is loaded: by tsx, vitest and jest its functions stand where people wrote
//! them, because V8 has the map; where nothing has one, their lines are marked as generated. Node's own stripping of
//! types keeps every line.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::program::inspected::lines;
use crate::program::running::{Running, cache, can_record};
use crate::program::{Scratch, json, nodescope, stderr, succeeds};
use crate::skip::skip;

/// What stands above the functions has no trace in JavaScript, so every line moves.
const HOT: &str = "\
interface Basket {
  prices: number[];
}

type Total = { sum: number };

export function sumPrices(basket: Basket): Total {
  let sum = 0;
  for (let round = 0; round < 20_000; round++) {
    for (const price of basket.prices) sum = (sum * 31 + price) % 1_000_003;
  }
  return { sum };
}

function spent(): number {
  return process.cpuUsage().user / 1000;
}

export function burnCpu(milliseconds: number): number {
  const end = spent() + milliseconds;
  let total = 0;
  while (spent() < end) total += sumPrices({ prices: [1, 2, 3, 4] }).sum;
  return total;
}
";

const MAIN: &str = "\
import { burnCpu } from './hot.ts';

interface Unused {
  left: string;
}

const total: number = burnCpu(Number(process.argv[2] ?? 300));
console.log(total);
";

const TEST: &str = "\
import { burnCpu } from './hot.ts';

interface Unused { left: string }

test('burns', () => {
  expect(burnCpu(300)).toBeGreaterThan(0);
});
";

const JEST: &str = "\
module.exports = {
  testMatch: ['**/*.test.ts'],
  testTimeout: 120000,
  cacheDirectory: __dirname + '/jest-cache',
  transform: { '\\\\.ts$': ['babel-jest', {
    presets: ['@babel/preset-typescript'], plugins: ['@babel/plugin-transform-modules-commonjs'] }] },
};
";

const VITEST: &str =
    "export default { test: { globals: true, include: ['*.test.ts'], testTimeout: 120000 } };\n";

/// A small project with the tools that scripts/install-test-tools.sh has installed; `None` without them.
fn project(name: &str) -> Option<Scratch> {
    let tools = cache().join("transpilers");
    if !tools.join("installed").exists() {
        skip("tsx, vitest and jest: scripts/install-test-tools.sh installs them");
        return None;
    }
    let scratch = Scratch::new(name);
    let files = [
        ("package.json", "{ \"name\": \"basket\", \"private\": true }"),
        ("hot.ts", HOT),
        ("main.ts", MAIN),
        ("hot.test.ts", TEST),
        ("jest.config.cjs", JEST),
        ("vitest.config.mjs", VITEST),
    ];
    files.iter().for_each(|(name, text)| drop(scratch.file(name, text.as_bytes())));
    // Some tools put the whole file into its map: one record must not be enough for that.
    let long = format!("{HOT}{}", "// Everything is in the basket.\n".repeat(5000));
    scratch.file("hot.ts", long.as_bytes());
    std::os::unix::fs::symlink(tools.join("node_modules"), scratch.path("node_modules")).unwrap();
    Some(scratch)
}

/// The line of a function in the file, from 1.
fn line_of(text: &str, start: &str) -> u64 {
    text.lines().position(|line| line.contains(start)).unwrap() as u64 + 1
}

/// A function's name, file and line.
type Place = (String, String, u64);

/// The functions of the project's own files.
fn places(arguments: &[&str], scratch: &Scratch) -> Vec<Place> {
    let report = json(&[&["report", "--json", "-n", "0"], arguments].concat());
    let place = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        (text("name"), text("file"), row["line"].as_u64().unwrap_or(0))
    };
    let is_own = |place: &Place| {
        place.1.starts_with(&scratch.path("")) && !place.1.contains("/node_modules/")
    };
    report["functions"].as_array().unwrap().iter().map(place).filter(is_own).collect()
}

/// Every function is where it was written.
fn assert_originals(places: &[Place], scratch: &Scratch, what: &str) {
    let hot = scratch.path("hot.ts");
    let expected = [
        ("sumPrices", line_of(HOT, "function sumPrices")),
        ("burnCpu", line_of(HOT, "function burnCpu")),
        ("spent", line_of(HOT, "function spent")),
        ("(top level)", 1),
    ];
    let sum_prices = ("sumPrices".to_owned(), hot.clone(), expected[0].1);
    assert!(places.contains(&sum_prices), "{what}: {places:?}");
    for (name, _, line) in places.iter().filter(|place| place.1 == hot) {
        let known = expected.iter().find(|(known, _)| known == name);
        assert_eq!(known.map(|(_, line)| line), Some(line), "{what}: {name}: {places:?}");
    }
    // What a transpiler adds has no place in any file, and must not be given one.
    let longest = HOT.lines().count().max(MAIN.lines().count()) as u64;
    let is_there = |place: &Place| place.1.ends_with(" (generated)") || place.2 <= longest;
    assert!(places.iter().all(is_there), "{what}: {places:?}");
}

/// No line is shown as if it were the file's.
fn assert_marked(places: &[Place], scratch: &Scratch, what: &str) {
    let marked = format!("{} (generated)", scratch.path("hot.ts"));
    assert!(
        places.iter().any(|(name, file, _)| name == "sumPrices" && *file == marked),
        "{what}: {places:?}"
    );
    assert!(places.iter().all(|(_, file, _)| file.ends_with(" (generated)")), "{what}: {places:?}");
}

fn record(scratch: &Scratch, options: &[&str], node: &Path, words: &[&str]) -> String {
    let (out, node) = (scratch.path("out.nodescope"), node.display().to_string());
    let words = [&["record", "-F", "499", "-o", &out], options, &["--", &node], words].concat();
    let _ = fs::remove_file(&out);
    let output = nodescope(&words).current_dir(&scratch.0).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    out
}

/// Records a tool on some releases of Node, and compares each with the files.
fn assert_tool(name: &str, releases: impl Fn(&str) -> bool, words: &[&str]) {
    let Some(scratch) = project(name).filter(|_| can_record()) else { return };
    let nodes: Vec<(&str, PathBuf)> =
        lines().into_iter().filter(|(release, _)| releases(release)).collect();
    assert!(!nodes.is_empty());
    for (release, node) in nodes {
        let out = record(&scratch, &[], &node, words);
        assert_originals(&places(&[&out], &scratch), &scratch, release);
    }
}

/// Lines of Node that today's tools support; they take long to begin.
fn is_supported(release: &str) -> bool {
    ["20.", "22.", "24."].iter().any(|start| release.starts_with(start))
}

#[test]
fn tsx_has_its_lines() {
    assert_tool("tsx", |_| true, &["--import", "tsx", "main.ts"]);
}

#[test]
fn vitest_has_its_lines() {
    assert_tool("vitest", is_supported, &["node_modules/vitest/vitest.mjs", "run"]);
}

#[test]
fn jest_has_its_lines() {
    assert_tool("jest", is_supported, &["node_modules/jest/bin/jest.js", "--runInBand"]);
}

#[test]
fn stripped_types_keep_their_lines() {
    let strips =
        |release: &str| ["22.2", "24.2", "26."].iter().any(|start| release.starts_with(start));
    let words = ["--experimental-strip-types", "--disable-warning=ExperimentalWarning", "main.ts"];
    assert_tool("strip-types", strips, &words);
}

#[test]
fn without_maps_lines_are_marked() {
    let Some(scratch) = project("tsx-marked").filter(|_| can_record()) else { return };
    let Some((_, node)) = lines().pop() else { return };
    let words = ["--import", "tsx", "main.ts"];
    let out = record(&scratch, &["--no-source-maps"], &node, &words);
    assert_marked(
        &places(&[&out, "--no-source-maps"], &scratch),
        &scratch,
        "recorded without maps",
    );
    // What was mapped stays so, and a message says that.
    let out = record(&scratch, &[], &node, &words);
    let output = nodescope(&["report", "--no-source-maps", &out]).output().unwrap();
    let messages = stderr(&output);
    assert!(
        messages.contains("--no-source-maps cannot undo that") && messages.lines().count() == 1,
        "{messages}"
    );
    assert_eq!(stderr(&nodescope(&["report", &out]).output().unwrap()), "");
    // A file that was mapped is read anywhere.
    fs::remove_file(scratch.path("hot.ts")).unwrap();
    assert_originals(&places(&[&out], &scratch), &scratch, "without its files");
}

/// V8's own profiles have no texts: the file on disk must do.
#[test]
fn profiles_of_v8_are_held_against_the_file() {
    let Some(scratch) = project("tsx-cpuprofile") else { return };
    let Some((_, node)) = lines().pop() else { return };
    let profile_of = |words: &[&str]| {
        let arguments = ["--cpu-prof", "--cpu-prof-name=out.cpuprofile"];
        let output = Command::new(&node)
            .args(arguments)
            .args(words)
            .current_dir(&scratch.0)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        scratch.path("out.cpuprofile")
    };
    let stripped = profile_of(&["--disable-warning=ExperimentalWarning", "main.ts"]);
    assert_originals(&places(&[&stripped], &scratch), &scratch, "stripped");
    let kept = scratch.path("kept.nodescope");
    succeeds(&["export", &stripped, "-o", &kept]);
    let transpiled = profile_of(&["--import", "tsx", "main.ts"]);
    assert_marked(&places(&[&transpiled], &scratch), &scratch, "transpiled");
    assert_marked(&places(&[&transpiled, "--no-source-maps"], &scratch), &scratch, "without maps");
    // Elsewhere the file is missing; what was compared with it stays right.
    fs::remove_file(scratch.path("hot.ts")).unwrap();
    fs::remove_file(scratch.path("main.ts")).unwrap();
    assert_marked(&places(&[&transpiled], &scratch), &scratch, "elsewhere");
    assert_originals(&places(&[&kept], &scratch), &scratch, "kept");
}

#[test]
fn the_inspector_marks_what_it_cannot_know() {
    let Some(scratch) = project("tsx-inspector") else { return };
    let Some((_, node)) = lines().pop() else { return };
    let mut command = Command::new(&node);
    let turns = "
import { burnCpu } from './hot.ts';
setInterval(() => burnCpu(20), 25);
console.log('ready');
";
    scratch.file("turns.ts", turns.as_bytes());
    let log = fs::File::create(scratch.path("log")).unwrap();
    let words = ["--inspect=127.0.0.1:0", "--import", "tsx", "turns.ts"];
    command.args(words).current_dir(&scratch.0).stderr(log);
    let running = Running::start(&mut command);
    let out = scratch.path("out.nodescope");
    succeeds(&["record", "--via", "inspector", "-d", "3", "-o", &out, &running.pid()]);
    assert_marked(&places(&[&out], &scratch), &scratch, "by the inspector");
}
