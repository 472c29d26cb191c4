//! A recorder that runs for an hour takes no more memory than one that runs for a minute.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kept::{Kept, Replay};
use crate::skip::skip;

const VERSION: &str = "24.21.0";
/// What tables may still grow by, with the allocator's own leftovers.
const MOST_GROWTH_KB: u64 = 16_000;
/// Set in the process that is measured: other tests must not use memory beside it.
const BY_ITSELF: &str = "NODESCOPE_HOUR_BY_ITSELF";

/// An hour of samples, replayed quickly: a recorder keeps tables, and no samples.
#[test]
fn an_hour_takes_no_more_memory_than_a_minute() {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache =
        std::env::var_os("NODESCOPE_CACHE").map_or(home.join(".cache/nodescope"), PathBuf::from);
    let node = cache.join(format!("node-{VERSION}/node"));
    if !node.exists() {
        skip(format_args!("an hour of samples: {} is missing", node.display()));
        return;
    }
    if std::env::var_os(BY_ITSELF).is_some() {
        return measure(&node);
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hour::an_hour_takes_no_more_memory_than_a_minute", "--nocapture"])
        .env(BY_ITSELF, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("samples of an hour"), "it was not measured");
}

fn measure(node: &Path) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let kept = Kept::parse(&fs::read(folder.join(format!("node-{VERSION}.kept"))).unwrap());
    let records = kept.replay(&Replay::new(node));
    let mut by_minute_kb = Vec::new();
    let samples = kept.for_an_hour(node, &records, |_| by_minute_kb.push(memory_kb()));
    let (first_kb, last_kb) = (by_minute_kb[0], memory_kb());
    println!("{samples} samples of an hour: {first_kb} kB after a minute, {last_kb} kB at the end");
    assert!(by_minute_kb.len() == 60 && samples > 50_000, "{samples} samples");
    assert!(last_kb < first_kb + MOST_GROWTH_KB, "it grows: {by_minute_kb:?}");
}

/// What this process has in memory now.
fn memory_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
