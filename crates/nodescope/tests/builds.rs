//! `nodescope record` on builds of Node that are not the official ones: stripped, a distribution's own, of a future V8,
//! and one whose memory may not be read.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::running::{
    Folded, Running, SHARES, cache, can_record, function, nodes, record_command,
    record_command_with, some_nodes,
};
use crate::program::shares::{check_shares, record_shares};
use crate::program::{Scratch, json, nodescope, stderr, succeeds};
use crate::skip::skip;

/// A user who owns nothing.
const NOBODY: u32 = 65534;

const MAJOR: &str = "_ZN2v88internal7Version6major_E";

fn runs(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// How many frames have a name that only the heap knows.
fn named(report: &Value) -> usize {
    let rows = report["functions"].as_array().unwrap().iter();
    rows.filter(|row| ["heavy", "light", "spin"].iter().any(|name| row["name"] == *name)).count()
}

#[test]
fn stripped_binaries_have_names_and_shares() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("stripped");
    for (release, node) in some_nodes() {
        let stripped = scratch.path("node");
        let mut strip = Command::new("strip");
        if !runs(strip.args(["--strip-all", "-o", &stripped]).arg(&node)) {
            return skip("a stripped program: there is no strip here");
        }
        let (scratch, out) = record_shares(release, Path::new(&stripped), &[]);
        let folded = scratch.path("a.folded");
        succeeds(&["export", &out, "-o", &folded]);
        check_shares(&format!("Node {release} stripped"), &scratch, &Folded::read(&folded));
        builtins_are_counted(release, &json(&["report", "--json", "-n", "0", &out]));
    }
}

/// What has no symbol any more is not called by its neighbour's.
fn builtins_are_counted(release: &str, report: &Value) {
    let builtins = report["functions"].as_array().unwrap().iter();
    let builtins =
        builtins.filter(|row| row["name"].as_str().unwrap().starts_with("Builtins_")).count();
    let unnamed = &report["losses"]["unnamed"];
    println!("Node {release} stripped: {builtins} builtins with a name; without: {unnamed}");
    assert_eq!(builtins, 0, "{release}");
    let unnamed = unnamed.as_object().unwrap().iter();
    assert!(
        unnamed.into_iter().any(|(reason, _)| reason.starts_with("no symbol in ")),
        "{release}"
    );
}

/// Debian's Node is a shared library; its libuv keeps no frame pointers.
#[test]
fn a_distribution_has_names() {
    let root = cache().join("node-debian");
    let inside = |arguments: &[&str]| {
        let mut command = Command::new("chroot");
        command.arg(&root).arg("/usr/bin/node").args(arguments);
        command
    };
    if !can_record() || !runs(&mut inside(&["--version"])) {
        return skip(
            "Debian's Node: it does not run here; scripts/install-test-tools.sh fetches it",
        );
    }
    let scratch = Scratch::new("debian");
    let script = format!("nodescope-{}.js", std::process::id());
    fs::write(root.join("tmp").join(&script), format!("console.log('ready');{SHARES}")).unwrap();
    let node = Running::start(&mut inside(&[&format!("/tmp/{script}"), "20000"]));
    let out = scratch.path("a.nodescope");
    let output =
        nodescope(&["record", &node.pid(), "-d", "2s", "-F", "999", "-o", &out]).output().unwrap();
    let _ = fs::remove_file(root.join("tmp").join(&script));
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", "-n", "0", &out]);
    let share = |name: &str| function(&report, name)["total"].as_f64().unwrap();
    let (heavy, light) = (share("heavy"), share("light"));
    println!("Debian's Node: heavy {heavy:.3}, light {light:.3}; {}", report["losses"]["unnamed"]);
    assert!(heavy > 0.6 && (2.0..4.5).contains(&(heavy / light)), "{heavy} and {light}");
}

/// There is no layout for that V8: wrong names are worse than none.
#[test]
fn a_future_engine_has_no_names_and_a_message() {
    if !can_record() {
        return;
    }
    // The oldest and the newest: one table has all that are known.
    let nodes = nodes();
    let ends = [nodes.first(), nodes.last()];
    for (release, node) in ends.into_iter().flatten() {
        let scratch = Scratch::new(&format!("future-{release}"));
        let future = scratch.path("node");
        // A stripped one has each symbol once.
        if !runs(Command::new("strip").args(["--strip-all", "-o", &future]).arg(node)) {
            return skip("a stripped program: there is no strip here");
        }
        let mut bytes = fs::read(&future).unwrap();
        if make_future(&mut bytes, Path::new(&future)).is_none() {
            return skip(format_args!("a moved variable: readelf does not show where {MAJOR} is"));
        }
        fs::write(&future, &bytes).unwrap();
        assert!(runs(Command::new("chmod").args(["+x", &future])));
        let (script, out) =
            (scratch.file("shares.js", SHARES.as_bytes()), scratch.path("a.nodescope"));
        let words = ["record", "-F", "999", "-o", &out, "--", &future, &script, "1000"];
        let output = nodescope(&words).output().unwrap();
        let messages = stderr(&output);
        let lines: Vec<&str> = messages.lines().filter(|line| line.contains("V8 99.")).collect();
        println!("Node {release}: {lines:?}");
        assert_eq!(lines.len(), 1, "{release}: {messages}");
        assert!(
            lines[0].contains("does not know") && lines[0].contains("only from a perf map"),
            "{messages}"
        );
        let report = json(&["report", "--json", "-n", "0", &out]);
        assert_eq!(named(&report), 0, "{release}: {}", report["functions"]);
        assert!(report["samples"].as_u64().unwrap() > 500, "{release}: {}", report["samples"]);
        assert!(report["losses"]["notes"].to_string().contains("V8 99."), "{}", report["losses"]);
        let text = nodescope(&["report", &out]).output().unwrap();
        assert!(stderr(&text).contains("V8 99."), "{}", stderr(&text));
    }
}

/// Lets the symbol of V8's version lead to one of its constants for debuggers, and makes that 99. The version itself
/// must stay: V8 compares it with that of its snapshot.
fn make_future(bytes: &mut [u8], file: &Path) -> Option<()> {
    const SYMBOL_BYTES: usize = 24;
    /// Section and value.
    const PLACE: std::ops::Range<usize> = 6..16;
    let readelf = |option: &str| {
        let output = Command::new("readelf").args([option, "-W"]).arg(file).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let hex = |text: &str| usize::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let (symbols, sections, segments) = (readelf("--dyn-syms")?, readelf("-S")?, readelf("-l")?);
    let table =
        sections.lines().find_map(|line| line.split_once(" .dynsym ").map(|(_, rest)| rest))?;
    let table = hex(table.split_whitespace().nth(2)?)?;
    let offset_of = |address: usize| {
        segments.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["LOAD", offset, start, _, size, ..] = words[..] else { return None };
            let (offset, start, size) = (hex(offset)?, hex(start)?, hex(size)?);
            (start..start + size).contains(&address).then(|| address - start + offset)
        })
    };
    let symbol = |is_wanted: &dyn Fn(&str) -> bool| {
        symbols.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let row: usize = words.first()?.trim_end_matches(':').parse().ok()?;
            let offset = offset_of(hex(words.get(1)?)?)?;
            is_wanted(words.last()?).then_some((table + row * SYMBOL_BYTES, offset))
        })
    };
    let (version, _) = symbol(&|name| name == MAJOR)?;
    let (constant, at) = symbol(&|name| name.starts_with("v8dbg_"))?;
    bytes.get_mut(at..at + 4)?.copy_from_slice(&99u32.to_le_bytes());
    bytes.copy_within(constant + PLACE.start..constant + PLACE.end, version + PLACE.start);
    Some(())
}

/// A user who has only CAP_PERFMON may sample the processes of others, and not read their memory.
#[test]
fn memory_that_may_not_be_read_is_reported_once() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::for_all("denied");
    let binary = scratch.program_for_all(crate::program::path(), "nodescope");
    let script = scratch.file("shares.js", format!("console.log('ready');{SHARES}").as_bytes());
    assert!(runs(Command::new("chmod").args(["-R", "a+rwX", &scratch.path("")])));
    let node = Running::start(Command::new("node").args([&script, "30000"]));
    let out = scratch.path("a.nodescope");
    let caps = ["--inh-caps=+perfmon", "--ambient-caps=+perfmon", "--clear-groups"];
    let user = NOBODY.to_string();
    let output = Command::new("setpriv")
        .args(["--reuid", &user, "--regid", &user])
        .args(caps)
        .args([&binary, "record", &node.pid(), "-d", "1s", "-F", "999", "-o", &out])
        .output();
    let Ok(output) = output else { return skip("another user: there is no setpriv here") };
    let messages = stderr(&output);
    if messages.contains("setpriv") || messages.contains("you may not sample") {
        return skip(format_args!("another user: {messages}"));
    }
    println!("{messages}");
    assert!(output.status.success(), "{messages}");
    let count = messages.lines().filter(|line| line.contains("may not be read")).count();
    assert_eq!(count, 1, "{messages}");
    assert!(
        messages.contains("CAP_SYS_PTRACE") && messages.contains("only from a perf map"),
        "{messages}"
    );
    assert_eq!(named(&json(&["report", "--json", "-n", "0", &out])), 0);
}

/// Generated code is not counted as lacking a perf map where the heap shows what it is.
#[test]
fn the_reasons_of_the_reader_are_reported() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("reasons");
    let text = "
const line = 'the quick brown fox jumps over the lazy dog '.repeat(200);
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
let count = 0;
while (spent() < 700) count += line.match(/(\\w+) (\\w+)$/g)?.length ?? 0;
";
    let script = scratch.file("match.js", text.as_bytes());
    for (release, node) in some_nodes() {
        let out = scratch.path(&format!("{release}.nodescope"));
        record_command(&node, &[], &[&script], &out);
        let losses = &json(&["report", "--json", &out])["losses"];
        println!("Node {release}: {}", losses["unnamed"]);
        let count = |reason: &str| losses["unnamed"][reason].as_u64().unwrap_or(0);
        let unknown = count("generated code that is no function");
        let without = count("generated code without a perf map");
        let all = losses["frames"].as_u64().unwrap();
        assert!((unknown + without) * 100 <= all, "{release}: {losses}");
        let plain = scratch.path(&format!("{release}.plain.nodescope"));
        record_command_with(&["--no-heap"], &node, &[], &[&script], &plain);
        let losses = &json(&["report", "--json", &plain])["losses"];
        assert!(
            losses["unnamed"]["generated code without a perf map"].as_u64() > Some(300),
            "{losses}"
        );
        assert!(succeeds(&["report", &out]).contains("frames named"));
    }
}
