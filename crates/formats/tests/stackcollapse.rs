//! Our folded output against that of its peers, for the texts of perf script in our corpus: what stackcollapse-perf.pl
//! printed, which is kept beside the input, and what inferno-collapse-perf makes of it now. FlameGraph's own 13 test
//! inputs are compared, too, where they are at hand: their licence does not let us ship them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use formats::ImportOptions;
use formats::folded::{self, Options};
use inferno::collapse::Collapse;
use inferno::collapse::perf::Folder;
use symbols::Sources;
use views::{Selection, weigh};

use crate::skip::skip;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fold(input: impl Read + Send, options: &Options) -> String {
    let profile = formats::import(input, import_options()).unwrap();
    profile.check().unwrap();
    let selection = Selection::default();
    let mut out = Vec::new();
    folded::write(&profile, &weigh(&profile, &selection), &selection, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn import_options() -> ImportOptions {
    ImportOptions { threads: NonZero::<usize>::MIN, namer: Box::new(Sources::nowhere()) }
}

fn options(word: &str) -> Options {
    let all = word == "all";
    Options {
        pid: word == "pid",
        tid: word == "tid",
        kernel: all || word == "kernel",
        jit: all || word == "jit",
        addresses: word == "addrs",
    }
}

/// The first line that differs, for a message that a person can read.
fn first_difference(ours: &str, theirs: &str) -> String {
    let mut lines = ours.lines().zip(theirs.lines());
    match lines.find(|(ours, theirs)| ours != theirs) {
        Some((ours, theirs)) => format!("ours:   {ours}\ntheirs: {theirs}"),
        None => format!("{} lines against {}", ours.lines().count(), theirs.lines().count()),
    }
}

#[test]
fn public_test_suite() {
    let folder = root().join("../shared/conformance/stackcollapse");
    let Ok(expected) = folder.join("expected").read_dir() else {
        // No machine can install them, so this is no skipped test.
        return println!("left out: FlameGraph's test inputs: {} is not here", folder.display());
    };
    let mut failures = Vec::new();
    let mut count = 0;
    for file in expected {
        let path = file.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let (name, word) = stem.rsplit_once("-collapsed-").unwrap();
        let input = File::open(folder.join(name).with_extension("txt")).unwrap();
        let theirs = text_of(File::open(&path).unwrap());
        let ours = fold(input, &options(word));
        count += 1;
        if ours != theirs {
            failures.push(format!("{stem}\n{}", first_difference(&ours, &theirs)));
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(count, 70);
}

/// A corpus file, behind gzip or zstd or not.
fn corpus_file(folder: &Path, name: &str) -> Option<File> {
    ["", ".gz", ".zst"]
        .iter()
        .find_map(|ending| File::open(folder.join(format!("{name}{ending}"))).ok())
}

/// perf cuts names in the middle of a character; the model's texts are UTF-8.
fn text_of(mut file: File) -> String {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut text).unwrap();
        bytes = text;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// stackcollapse-bpftrace.pl neither sorts nor adds up equal stacks; the others do.
fn summed(folded: &str) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for line in folded.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        *sums.entry(stack).or_default() += count.parse::<u64>().unwrap();
    }
    sums.iter().map(|(stack, count)| format!("{stack} {count}\n")).collect()
}

#[test]
fn our_corpus() {
    let mut count = 0;
    let mut failures = Vec::new();
    let mut folders: Vec<PathBuf> =
        root().join("corpus").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for folder in folders {
        for (name, word) in [("expected.folded", "all"), ("expected-plain.folded", "")] {
            let Some(theirs) = corpus_file(&folder, name) else { continue };
            let input = corpus_file(&folder, "input.txt").expect("a case has an input");
            let (ours, theirs) = (fold(input, &options(word)), summed(&text_of(theirs)));
            count += 1;
            if ours != theirs {
                failures.push(format!(
                    "{}/{name}\n{}",
                    folder.display(),
                    first_difference(&ours, &theirs)
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(count >= 40, "only {count} expected files in corpus/");
}

/// Cases in which inferno may read other stacks than we do, and why. In all others the stacks are the same.
const DIFFER: &[(&str, &str)] = &[
    (
        "node22-hostile-names",
        "it writes the semicolon and the escape of a thread's name as they are",
    ),
    ("node22-unicode", "it panics at a name that is not ASCII"),
    ("node24-workers", "it takes a number at the end of a thread's name for the pid"),
    ("perf-6.12-dsoff", "it takes an offset for a part of the module's name"),
    ("perf-comm-digits", "it takes a number at the end of a thread's name for the pid"),
    ("perf-deleted", "it does not name the module of a frame where the file was deleted"),
    ("perf-tod", "it does not know a line that begins with the time of day"),
    ("perf-tracepoint", "it does not know an event line that goes on after the event's name"),
    ("perf-vm", "it does not know a line that begins with the guest's pid"),
];

const ANONYMOUS: &str = "(anonymous namespace)";

/// How inferno may write a name that stackcollapse-perf.pl, whose output ours is, writes otherwise.
fn normal(frame: &str) -> String {
    let marks = ["_[k]", "_[j]", "_[i]"];
    let mark = marks.into_iter().find(|mark| frame.ends_with(mark)).unwrap_or_default();
    // A name ends at its first parenthesis; inferno's ends later, where one is among template arguments.
    let name = frame.strip_suffix(mark).unwrap_or(frame).replace(ANONYMOUS, "{anonymous}");
    let name = name.split('(').next().unwrap_or_default();
    // Quotes are left out; inferno keeps them.
    format!("{}{mark}", name.replace(['\'', '"'], "").trim_end())
}

fn normal_stacks(folded: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in folded.lines() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        let frames: Vec<String> = stack.split(';').map(normal).collect();
        *sums.entry(frames.join(";")).or_default() += weight.parse::<u64>().unwrap();
    }
    sums
}

/// What inferno-collapse-perf prints: its program is this call. Nothing where it fails or panics.
fn inferno(text: &str, word: &str) -> String {
    let all = word == "all";
    let mut options = inferno::collapse::perf::Options::default();
    (options.annotate_kernel, options.annotate_jit) = (all, all);
    options.nthreads = 1;
    let mut out = Vec::new();
    let collapse = || Folder::from(options).collapse(text.as_bytes(), &mut out).is_ok();
    match catch_unwind(AssertUnwindSafe(collapse)) {
        Ok(true) => String::from_utf8(out).unwrap(),
        _ => String::new(),
    }
}

/// The stacks that only one of the two has, in words; nothing where they are equal.
fn difference(ours: &BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) -> Option<String> {
    let only = |some: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>| {
        let row = some.iter().find(|(stack, weight)| other.get(*stack) != Some(*weight));
        row.map(|(stack, weight)| format!("{stack} {weight}"))
    };
    let (ours, theirs) = (only(ours, theirs), only(theirs, ours));
    (ours.is_some() || theirs.is_some()).then(|| format!("ours {ours:?}\ntheirs {theirs:?}"))
}

/// The same for what perf of this machine writes now.
#[test]
fn a_peer_folds_a_new_recording_the_same() {
    let data = std::env::temp_dir().join(format!("nodescope-peer-{}.data", std::process::id()));
    let text = perf_script(&data);
    let _ = fs::remove_file(&data);
    let Some(text) = text else {
        return skip("folding against a peer: perf cannot record node here");
    };
    let (ours, theirs) = (fold(text.as_bytes(), &options("")), inferno(&text, ""));
    let (ours, theirs) = (normal_stacks(&ours), normal_stacks(&theirs));
    assert!(ours.values().sum::<u64>() > 0 && ours.len() > 10, "{} stacks", ours.len());
    assert_eq!(difference(&ours, &theirs), None);
}

fn perf_script(data: &Path) -> Option<String> {
    const PROGRAM: &str = "const end = Date.now() + 700, fs = require('fs');
        while (Date.now() < end) { JSON.stringify(fs.readdirSync('/')); }";
    let record = ["record", "-q", "-g", "-F", "499", "-e", "cpu-clock", "-o"];
    let record =
        Command::new("perf").args(record).arg(data).args(["--", "node", "-e", PROGRAM]).output();
    record.ok().filter(|output| output.status.success())?;
    let script = Command::new("perf").arg("script").arg("-i").arg(data).output().ok()?;
    script.status.success().then(|| String::from_utf8_lossy(&script.stdout).into_owned())
}

#[test]
fn a_peer_folds_the_same() {
    let (mut equal, mut differing) = (0, Vec::new());
    let mut folders: Vec<PathBuf> =
        root().join("corpus").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for folder in folders {
        let case = folder.file_name().unwrap().to_string_lossy().into_owned();
        let Some(text) = corpus_file(&folder, "input.txt").map(text_of) else { continue };
        if Folder::default().is_applicable(&text) != Some(true) {
            continue;
        }
        let found = ["", "all"].iter().find_map(|word| {
            let ours = normal_stacks(&fold(text.as_bytes(), &options(word)));
            difference(&ours, &normal_stacks(&inferno(&text, word)))
        });
        match found {
            None => equal += 1,
            Some(found) => {
                println!("{case}: {found}");
                differing.push(case);
            }
        }
    }
    println!("{equal} cases are equal");
    let allowed: Vec<&str> = DIFFER.iter().map(|(case, _)| *case).collect();
    assert_eq!(differing, allowed, "what differs is not what is listed; see above");
    assert!(equal >= 20, "only {equal} cases were equal");
}
