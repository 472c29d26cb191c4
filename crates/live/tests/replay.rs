//! Recordings of every supported release that were kept are read again, without a kernel and without a target, and give
//! the profiles that they gave. NODESCOPE_UPDATE=1 records them anew, or with `texts` writes the expected texts alone:
//! then read what has changed.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[allow(dead_code, reason = "other tests use the rest")]
use std::fs;
use std::path::{Path, PathBuf};

use crate::kept::keep::{Running, keep};
use crate::kept::text::{details, text};
use crate::kept::{Kept, Replay};
use crate::skip::skip;

/// One of each supported line.
const VERSIONS: [&str; 5] = ["18.20.8", "20.20.2", "22.23.3", "24.21.0", "26.10.0"];
/// How many samples are recorded to be kept, and how many to see that it works.
const MANY_SAMPLES: usize = 200;
const FEW_SAMPLES: usize = 25;
/// Larger files do not belong here.
const MOST_BYTES: usize = 300_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The binary of a version, if the cache has it.
fn node(version: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache =
        std::env::var_os("NODESCOPE_CACHE").map_or(home.join(".cache/nodescope"), PathBuf::from);
    let path = cache.join(format!("node-{version}/node"));
    if !path.exists() {
        skip(format_args!("replay of Node {version}: {} is missing", path.display()));
    }
    Some(path).filter(|path| path.exists())
}

fn fixture(version: &str) -> Kept {
    Kept::parse(&fs::read(folder().join(format!("node-{version}.kept"))).unwrap())
}

fn wants(what: &str) -> bool {
    std::env::var("NODESCOPE_UPDATE").is_ok_and(|value| value == what)
}

#[test]
fn kept_recordings_give_the_same_profiles() {
    for version in VERSIONS {
        let Some(node) = node(version) else { continue };
        let kept = fixture(version);
        let profile = kept.profile(&node, &kept.replay(&Replay::new(&node)));
        profile.check().unwrap();
        let (text, path) = (text(&profile), folder().join(format!("node-{version}.txt")));
        if wants("texts") {
            fs::write(&path, &text).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        let different = text.lines().zip(expected.lines()).find(|(now, before)| now != before);
        assert!(text == expected, "Node {version} is different, first here: {different:?}\n{text}");
    }
}

/// What a session hands over bit by bit is what it would have been as a whole.
#[test]
fn parts_make_the_whole() {
    for version in VERSIONS {
        let Some(node) = node(version) else { continue };
        let kept = fixture(version);
        let records = kept.replay(&Replay::new(&node));
        let whole = kept.profile(&node, &records);
        let whole = text(&whole) + &details(&whole);
        for parts in [1, 2, 7, 40] {
            let found = kept.profile_in_parts(&node, &records, parts);
            let found = text(&found) + &details(&found);
            let different = found.lines().zip(whole.lines()).find(|(now, whole)| now != whole);
            assert!(
                found == whole,
                "Node {version} in {parts} parts is different, first here: {different:?}"
            );
        }
    }
}

/// Otherwise the test above would prove little.
#[test]
fn kept_recordings_have_all_that_there_is() {
    for version in VERSIONS {
        let text = fs::read_to_string(folder().join(format!("node-{version}.txt"))).unwrap();
        for words in [
            "fibonacci (service.js:",
            " inlined",
            "(anonymous) (service.js):1:",
            "sortWords (service.js:",
            "matchWords (service.js:",
            "checkOut (service.js:",
            "get total (service.js:",
            "futex (waiting)",
            "uv_run",
            "1 loops, ",
        ] {
            assert!(text.contains(words), "Node {version} has no {words}");
        }
        assert!(!text.contains(", 0 long turns"), "Node {version} has no long turn");
        let bytes = fs::metadata(folder().join(format!("node-{version}.kept"))).unwrap().len();
        assert!(bytes as usize <= MOST_BYTES, "Node {version}: {bytes} bytes");
    }
}

/// Memory that may not be read for a moment, as while a process becomes another program, is read later.
#[test]
fn names_come_back_when_memory_can_be_read_again() {
    let Some(node) = node("24.21.0") else { return };
    let kept = fixture("24.21.0");
    let named = |denied_steps: usize| {
        let records = kept.replay(&Replay::new(&node).denied_for(denied_steps));
        let profile = kept.profile(&node, &records);
        let text = text(&profile);
        (text.contains("fibonacci (service.js:"), profile.meta().losses.notes.len())
    };
    assert_eq!(named(0), (true, 0));
    assert_eq!(named(kept.steps.len()), (false, 1), "never: that is reported once");
    assert_eq!(named(6), (true, 1), "for the first rounds only");
}

/// What a session makes of a running Node, and what a replay makes of the same, are equal.
#[test]
fn a_replay_equals_the_session_that_was_kept() {
    let (versions, samples) =
        if wants("1") { (&VERSIONS[..], MANY_SAMPLES) } else { (&VERSIONS[4..], FEW_SAMPLES) };
    let script =
        std::env::temp_dir().join(format!("nodescope-replay-{}/service.js", std::process::id()));
    fs::create_dir_all(script.parent().unwrap()).unwrap();
    fs::write(&script, include_str!("kept/service.js")).unwrap();
    for version in versions {
        let Some(node) = node(version) else { continue };
        let running = Running::start(&node, &script);
        let Some((kept, records)) = keep(&node, running.pid(), samples) else { break };
        drop(running);
        let lived = text(&kept.profile(&node, &records));
        let compressed = kept.compressed();
        let again = Kept::parse(&compressed);
        assert!(again == kept, "Node {version} is stored whole");
        let replayed = text(&again.profile(&node, &again.replay(&Replay::new(&node))));
        assert!(lived.contains("turn (service.js:"), "Node {version} has names:\n{lived}");
        let different = lived.lines().zip(replayed.lines()).find(|(one, other)| one != other);
        assert!(lived == replayed, "Node {version}, first here: {different:?}");
        println!("Node {version}: {} bytes", compressed.len());
        if wants("1") {
            fs::write(folder().join(format!("node-{version}.kept")), &compressed).unwrap();
            fs::write(folder().join(format!("node-{version}.txt")), &lived).unwrap();
        }
    }
    fs::remove_dir_all(script.parent().unwrap()).unwrap();
}
