//! Our folded output against what stackcollapse-perf.pl printed for the same input: its 13 public test inputs
//! where they are at hand, and our own corpus always.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use formats::ImportOptions;
use formats::folded::{self, Options};
use symbols::Sources;
use views::{Selection, weigh};

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
        println!("skipped: {} is not here", folder.display());
        return;
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
