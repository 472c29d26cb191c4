//! A disk that becomes full while `record` writes to it: the recording goes on in memory, is summarised, and the user
//! learns what is kept, and where.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::program::inspected::{BUSY, Target, newest};
use crate::program::running::can_record;
use crate::program::{Scratch, json, stderr, stdout};
use crate::skip::skip;

/// The exit status where there is no tmpfs.
const NO_DISK: i32 = 99;

/// Mounts a tmpfs that only this script sees, records to it, fills it once something is recorded, and ends the
/// recording a second after the recorder has noticed. What is on it then is copied to where the test sees it.
const SCRIPT: &str = r#"
disk=$1 size=$2 kept=$3 frees=$4 program=$5
shift 5
mount -t tmpfs -o "size=$size" none "$disk" || exit 99
"$program" record "$@" -o "$disk/a.nodescope" 2> "$kept/messages" > "$kept/shown" &
recorder=$!
is_full() { grep -q 'the disk is full' "$kept/messages"; }
runs() { kill -0 $recorder 2> /dev/null; }
while runs && ! is_full && ! "$program" report "$disk/a.nodescope.part" > /dev/null 2>&1; do sleep 0.1; done
dd if=/dev/zero of="$disk/filler" bs=4096 2> /dev/null
while runs && ! is_full; do sleep 0.05; done
sleep 1
cp "$disk/a.nodescope.part" "$kept/when-full"
if [ "$frees" = yes ]; then rm "$disk/filler"; fi
kill -INT $recorder
wait $recorder
status=$?
cat "$kept/shown"
cat "$kept/messages" >&2
cp "$disk"/a.nodescope* "$kept"
exit $status
"#;

/// What came of a recording to a disk of that size, and the folder with what was on it.
fn record(size: &str, frees: &str, words: &[&str]) -> Option<(Output, Scratch)> {
    let scratch =
        Scratch::new(&format!("full-disk-{size}-{frees}-{}", words.concat().replace('-', "")));
    let (disk, kept) = (scratch.path("disk"), scratch.path("kept"));
    fs::create_dir_all(&disk).unwrap();
    fs::create_dir_all(&kept).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", SCRIPT, "sh", &disk, size, &kept, frees]);
    let output = command.arg(crate::program::path()).args(words).output();
    match output {
        Ok(output)
            if output.status.code() != Some(NO_DISK) && !stderr(&output).contains("unshare:") =>
        {
            Some((output, scratch))
        }
        _ => {
            skip("a full disk: a tmpfs cannot be mounted here");
            None
        }
    }
}

/// The recording is lost in part or whole: it is shown, and what is left is named.
fn check_messages(size: &str, words: &[&str]) {
    let Some((output, scratch)) = record(size, "no", words) else { return };
    let (shown, messages) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(messages.contains("the recording goes on in memory, for 128 MB at most"), "{messages}");
    assert!(messages.contains("cannot write ") && !messages.contains("wrote "), "{messages}");
    assert!(shown.contains("sample") && shown.contains("app.js"), "{shown}{messages}");
    assert!(!Path::new(&scratch.path("kept/a.nodescope")).exists());
    let part = scratch.path("kept/a.nodescope.part");
    if messages.contains("nothing of it is kept") {
        return assert!(!Path::new(&part).exists() && size == "16k", "{messages}");
    }
    assert!(
        messages.contains("are kept in ") && messages.contains("hint: make room"),
        "{messages}"
    );
    assert!(messages.contains("disk/a.nodescope.part, and the rest is lost"), "{messages}");
    let report = json(&["report", "--json", &part]);
    assert!(report["samples"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["losses"]["damage"], serde_json::json!([]), "{report}");
}

/// The disk has room again before the recording ends: everything is written.
fn is_whole_when_there_is_room_again(words: &[&str]) {
    let Some((output, scratch)) = record("20m", "yes", words) else { return };
    let messages = stderr(&output);
    assert!(output.status.success() && messages.contains("the disk is full"), "{messages}");
    assert!(!Path::new(&scratch.path("kept/a.nodescope.part")).exists(), "{messages}");
    let samples = |name: &str| {
        json(&["report", "--json", &scratch.path(&format!("kept/{name}"))])["samples"]
            .as_u64()
            .unwrap()
    };
    let (before, all) = (samples("when-full"), samples("a.nodescope"));
    assert!(before > 0 && all > before, "{before} samples on the disk, {all} in all: {messages}");
}

fn start(scratch: &Scratch) -> Option<Target> {
    let node = newest()?;
    Some(Target::start(scratch, &node, &[], BUSY, &[]))
}

#[test]
fn by_perf_events() {
    let scratch = Scratch::new("full-disk-perf");
    let Some(target) = start(&scratch).filter(|_| can_record()) else { return };
    let pid = target.pid();
    let words = ["-p", &pid, "--via", "perf", "-F", "499", "-d", "1h"];
    for size in ["16k", "20m"] {
        check_messages(size, &words);
    }
    is_whole_when_there_is_room_again(&words);
}

#[test]
fn by_the_inspector() {
    let scratch = Scratch::new("full-disk-inspector");
    let Some(mut target) = start(&scratch) else { return };
    let pid = target.pid();
    let words = ["-p", &pid, "--via", "inspector", "-F", "499", "-d", "1h"];
    for size in ["16k", "20m"] {
        check_messages(size, &words);
    }
    is_whole_when_there_is_room_again(&words);
    assert!(target.is_as_before(), "its port is closed");
}
