//! A log of `node --prof`, recorded here, against `node --prof-process`: how often each C++ function was at work.

#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use profile::{Profile, file};

use crate::program::{Scratch, succeeds};
use crate::skip::skip;

const PROGRAM: &str = "
const zlib = require('zlib'), crypto = require('crypto');
const bytes = Buffer.from(Array.from({ length: 200000 }, (_, i) => (i * i) % 251));
const objects = Array.from({ length: 3000 }, (_, i) => ({ i, name: 'name' + i, list: [i, String(i)] }));
let kept = [];
for (const end = Date.now() + 1500; Date.now() < end;) {
  zlib.deflateSync(bytes);
  crypto.createHash('sha256').update(bytes).digest();
  kept.push(JSON.parse(JSON.stringify(objects)));
  if (kept.length > 20) kept = [];
}";

/// How many of the functions with the most ticks must agree.
const MOST: usize = 10;

#[test]
fn functions_of_libraries_are_those_of_prof_process() {
    let scratch = Scratch::new("prof-log");
    for (program, argument) in [("node", "--version"), ("nm", "--version")] {
        if let Err(error) = Command::new(program).arg(argument).output() {
            skip(format_args!("{program}: it cannot run here: {error}"));
            return;
        }
    }
    let script = scratch.path("busy.js");
    fs::write(&script, PROGRAM).unwrap();
    let log = scratch.path("v8.log");
    let words = ["--prof", "--no-logfile-per-isolate", &format!("--logfile={log}"), &script];
    let recorded = Command::new("node").args(words).output().unwrap();
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let ours = our_ticks(&log, &scratch);
    let theirs = their_ticks(&log, &scratch);
    let mut most: Vec<(&String, &u64)> =
        theirs.iter().filter(|(name, _)| is_function(name)).collect();
    most.sort_by_key(|(name, ticks)| (std::cmp::Reverse(**ticks), (*name).clone()));
    assert!(most.len() >= MOST, "only {} functions: {theirs:#?}", most.len());
    let aliases = aliases(&libraries(&fs::read_to_string(&log).unwrap()));
    let mut compared = 0;
    for (name, ticks) in &most[..MOST] {
        let names =
            aliases.get(*name).cloned().unwrap_or_else(|| BTreeSet::from([(*name).clone()]));
        let found: u64 = names.iter().filter_map(|name| ours.get(name)).sum();
        println!("{found:>6} of {ticks:>6} ticks  {name}");
        assert_eq!(found, **ticks, "{name}, also called {names:?}; ours: {ours:#?}");
        compared += found;
    }
    println!("{compared} ticks in {MOST} of {} functions compared", most.len());
}

/// V8's builtins are code of the log to us and functions of the binary to V8's tick processor.
fn is_function(name: &str) -> bool {
    !name.starts_with("Builtins_")
}

/// A name without the version that nm appends.
fn plain(name: &str) -> String {
    name.split('@').next().unwrap_or(name).to_owned()
}

/// The ticks of each symbol of a library by name, as we read the log.
fn our_ticks(log: &str, scratch: &Scratch) -> BTreeMap<String, u64> {
    let out = scratch.path("ours.nodescope");
    succeeds(&["export", log, "-o", &out]);
    let profile: Profile = file::read(&fs::read(&out).unwrap()).unwrap();
    let mut ticks = BTreeMap::new();
    for stack in &profile.lanes()[0].samples.stack {
        let frame = profile.frames().row(profile.stacks().row(*stack).frame);
        *ticks.entry(plain(profile.text(frame.symbol))).or_default() += 1;
    }
    ticks
}

/// A library as the log has it.
struct Library {
    path: String,
    start: u64,
    end: u64,
}

/// Each once, with all its parts.
fn libraries(log: &str) -> Vec<Library> {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let mut all: BTreeMap<u64, Library> = BTreeMap::new();
    for line in log.lines().filter(|line| line.starts_with("shared-library,/")) {
        let fields: Vec<&str> = line.split(',').collect();
        let (start, end) = (number(fields[2]), number(fields[3]));
        let library = all.entry(start).or_insert(Library { path: fields[1].into(), start, end });
        library.end = library.end.max(end);
    }
    all.into_values().collect()
}

/// What `node --prof-process` prints under `[C++]`. It needs help, or it names nothing of node itself: of nm's answer
/// it reads only the first megabyte, of the lines of a library only the first, and what objdump prints of a binary that
/// is not position-independent misleads it.
fn their_ticks(log: &str, scratch: &Scratch) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(log).unwrap();
    let libraries = libraries(&text);
    let tools = scratch.path("tools");
    fs::create_dir(&tools).unwrap();
    for library in &libraries {
        let ticks = ticks_in(&text, library);
        for (flags, ending) in
            [(&["-C", "-n", "-S"][..], "full"), (&["-C", "-n", "-S", "-D"], "dynamic")]
        {
            let path = format!("{tools}/{}.{ending}", library.path.replace('/', "_"));
            fs::write(path, functions_with_ticks(&nm(flags, &library.path), &ticks)).unwrap();
        }
    }
    let nm = "case \"$*\" in *' -D '*) ending=dynamic;; *) ending=full;; esac\n\
        for path; do :; done\ncat \"${0%/*}/$(echo \"$path\" | tr / _).$ending\" 2>/dev/null\n";
    for (name, script) in [("nm", nm), ("objdump", "")] {
        let path = format!("{tools}/{name}");
        fs::write(&path, format!("#!/bin/sh\n{script}exit 0\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.starts_with("shared-library,"))
        .map(str::to_owned)
        .collect();
    let line = |library: &Library| {
        format!("shared-library,{},{:#x},{:#x},0", library.path, library.start, library.end)
    };
    lines.splice(1..1, libraries.iter().map(line));
    let helped = scratch.path("helped.log");
    fs::write(&helped, lines.join("\n") + "\n").unwrap();
    let path = format!("{tools}:{}", std::env::var("PATH").unwrap_or_default());
    let output =
        Command::new("node").args(["--prof-process", &helped]).env("PATH", path).output().unwrap();
    section(&String::from_utf8_lossy(&output.stdout), " [C++]:")
}

fn section(text: &str, title: &str) -> BTreeMap<String, u64> {
    let lines =
        text.lines().skip_while(|line| *line != title).skip(2).take_while(|line| !line.is_empty());
    let mut ticks = BTreeMap::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        let name = line.split_once(words[2]).unwrap().1.trim();
        *ticks.entry(plain(name)).or_default() += words[0].parse::<u64>().unwrap();
    }
    ticks
}

/// The addresses of ticks in a library as nm may count them: from its start, or as they are. In a callback the
/// fourth number is what counts.
fn ticks_in(log: &str, library: &Library) -> BTreeSet<u64> {
    let ticks = log.lines().filter_map(|line| line.strip_prefix("tick,"));
    let addresses = ticks.flat_map(|fields| {
        let fields: Vec<&str> = fields.split(',').collect();
        [0, 3].map(|at| {
            fields.get(at).and_then(|text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok())
        })
    });
    let inside =
        addresses.flatten().filter(|address| (library.start..library.end).contains(address));
    inside.flat_map(|address| [address, address - library.start]).collect()
}

fn nm(flags: &[&str], path: &str) -> String {
    let output = Command::new("nm").args(flags).arg(path).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn address_of(line: &str) -> Option<u64> {
    u64::from_str_radix(line.split(' ').next()?, 16).ok()
}

/// Where Debian has the debug information of a library.
fn debug_file(path: &str) -> Option<String> {
    let output = Command::new("readelf").args(["--notes", path]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (start, rest) = text.split_once("Build ID: ")?.1.split_whitespace().next()?.split_at(2);
    let apart = format!("/usr/lib/debug/.build-id/{start}/{rest}.debug");
    fs::exists(&apart).unwrap().then_some(apart)
}

/// Those lines of nm's whose functions have ticks, and the lines behind them, where the former end.
fn functions_with_ticks(text: &str, ticks: &BTreeSet<u64>) -> String {
    let lines: Vec<(u64, &str)> =
        text.lines().filter_map(|line| Some((address_of(line)?, line))).collect();
    let mut kept = String::new();
    let mut was_kept = false;
    for functions in lines.chunk_by(|a, b| a.0 == b.0) {
        let start = functions[0].0;
        let behind = lines.partition_point(|(address, _)| *address <= start);
        let end = lines.get(behind).map_or(u64::MAX, |(address, _)| *address);
        let has_ticks = ticks.range(start..end).next().is_some();
        if has_ticks || was_kept {
            kept.extend(functions.iter().flat_map(|(_, line)| [*line, "\n"]));
        }
        was_kept = has_ticks;
    }
    kept
}

/// For each name all names at its addresses.
fn aliases(libraries: &[Library]) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for library in libraries {
        let mut at: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        let flags = ["-C", "--defined-only"];
        let mut listed =
            nm(&flags, &library.path) + &nm(&[&flags[..], &["-D"]].concat(), &library.path);
        // Names of debug information that is installed, which we read and V8's tick processor does not.
        if let Some(apart) = debug_file(&library.path) {
            listed += &nm(&flags, &apart);
        }
        for line in listed.lines() {
            if let (Some(address), Some(name)) = (address_of(line), line.splitn(3, ' ').nth(2)) {
                at.entry(address).or_default().insert(plain(name));
            }
        }
        for names in at.values().filter(|names| names.len() > 1) {
            for name in names {
                all.entry(name.clone()).or_default().extend(names.iter().cloned());
            }
        }
    }
    all
}
