//! Inputs of up to 16 MB that grow while they are read: each stays within the memory that a small file may take, shows
//! what came before, and reports that something was left out. Each is opened by a program of its own, so that its
//! memory is measured alone.

#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use profile::file::{self, Growing};
use profile::{LaneInfo, Process, Role, Sample, StackId, Thread, Unit};

use crate::cases::import;

const MOST_MEMORY_KB: u64 = 512 << 10;
const SIZE: usize = 16 << 20;

/// Passes the input's path to the program of its own.
const INPUT: &str = "NODESCOPE_MEMORY_INPUT";

/// A file that is gone with the test.
struct Input(PathBuf);

impl Input {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path =
            std::env::temp_dir().join(format!("nodescope-memory-{}-{name}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Opens the input, where there is one, and prints what came of it and the most memory that it took.
#[test]
fn opened_by_itself() {
    let Some(path) = std::env::var_os(INPUT) else { return };
    let bytes = fs::read(path).unwrap();
    let profile = import(&bytes, 1).unwrap();
    assert_eq!(profile.check(), Ok(()));
    let rows: usize = profile.lanes().iter().map(|lane| lane.samples.len()).sum();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak:{}", peak.split_whitespace().next().unwrap());
    println!("rows:{rows}");
    println!("damage:{}", profile.meta().losses.damage.join(" | "));
}

/// Opens an input; returns what is wrong with it.
fn damage_of(name: &str, bytes: &[u8]) -> String {
    let input = Input::new(name, bytes);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::opened_by_itself", "--nocapture"])
        .env(INPUT, &input.0)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{name}: {printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let value =
        |key: &str| printed.lines().find_map(|line| line.strip_prefix(key)).unwrap().to_owned();
    let (peak, rows, damage) = (value("peak:"), value("rows:"), value("damage:"));
    println!(
        "{name}: {} MB on disk, {} MB of memory, {rows} rows; {damage}",
        bytes.len() >> 20,
        peak.parse::<u64>().unwrap() >> 10
    );
    assert!(peak.parse::<u64>().unwrap() < MOST_MEMORY_KB, "{name}: {peak} KB");
    assert!(rows.parse::<u64>().unwrap() > 0, "{name}: nothing is shown");
    damage
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A start, then the same text so often that it is `length` bytes: a gzip file may have many parts.
fn swollen(start: &str, filler: &str, length: usize) -> Vec<u8> {
    let part = filler.repeat((4 << 20) / filler.len());
    let mut bytes = gzip(start.as_bytes());
    bytes.extend(gzip(part.as_bytes()).repeat(length.div_ceil(part.len())));
    bytes
}

/// Lines until there are at least `SIZE` bytes.
fn lines(start: &str, mut line: impl FnMut(usize, &mut String)) -> String {
    let mut text = start.to_owned();
    for number in 0.. {
        if text.len() >= SIZE {
            break;
        }
        line(number, &mut text);
    }
    text
}

const NODES: &str = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"a","url":"/a.js"}}],"startTime":0,"endTime":9,"samples":[1,1,1],"timeDeltas":[1,1,1],"#;

#[test]
fn a_string_of_three_gigabytes() {
    let damage =
        damage_of("string.cpuprofile.gz", &swollen(&format!("{NODES}\"title\":\""), "a", 3 << 30));
    assert!(
        damage.contains("damaged") && damage.contains("a text has more than 64 MB"),
        "{damage}"
    );
}

#[test]
fn lists_without_an_end() {
    let start = NODES.replace(
        "\"samples\":[1,1,1],\"timeDeltas\":[1,1,1],",
        "\"timeDeltas\":[1],\"samples\":[1",
    );
    for (name, bytes) in [
        ("blanks.cpuprofile.gz", swollen(NODES, " ", 640 << 20)),
        ("samples.cpuprofile.gz", swollen(&start, ",1", 640 << 20)),
        (
            "nodes.cpuprofile.gz",
            swollen(
                &NODES.replace("\"nodes\":[", "\"samples\":[1],\"timeDeltas\":[1],\"nodes\":[").replace(
                    "}],\"startTime\":0,\"endTime\":9,\"samples\":[1,1,1],\"timeDeltas\":[1,1,1],",
                    "}",
                ),
                r#",{"id":7}"#,
                1 << 30,
            ),
        ),
        (
            "events.trace.gz",
            swollen(
                r#"{"traceEvents":[{"name":"ProfileChunk","ph":"P","pid":1,"tid":2,"ts":5,"id":"0x1","args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"samples":[1]},"timeDeltas":[1]}}}"#,
                r#",{"name":"thread_name","args":{"name":"x"}}"#,
                1 << 30,
            ),
        ),
        (
            "samples.speedscope.gz",
            swollen(
                r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","unit":"none","weights":[1],"samples":[[0]"#,
                ",[0]",
                1 << 30,
            ),
        ),
    ] {
        let damage = damage_of(name, &bytes);
        assert!(damage.contains("was left out"), "{name}: {damage}");
    }
}

#[test]
fn names_that_never_repeat() {
    let folded = lines("", |number, text| {
        writeln!(text, "{:x};{:x} 1", 2 * number, 2 * number + 1).unwrap();
    });
    let deep = lines("a;b 1\n", |number, text| write!(text, "{number:x};").unwrap()) + "z 1\n";
    let script =
        lines("", |number, text| write!(text, "a 1 1.000000: c:\n\t1 {number:x} (b)\n\n").unwrap());
    let log = lines("v8-version,12,4,254,21,-node.22,0\n", |number, text| {
        let start = 0x10000 + 16 * number;
        write!(
            text,
            "code-creation,JS,10,1,{start:#x},16,{number:x} /a.js:1:1,0x1,*\ntick,{start:#x},1,0,0x0,0\n"
        )
        .unwrap();
    });
    for (name, text) in [
        ("names.folded", folded),
        ("line.folded", deep),
        ("names.perf", script),
        ("names.log", log),
    ] {
        damage_of(name, text.as_bytes());
    }
}

/// The same, compressed: what a small file becomes is not limited by its size.
#[test]
fn names_that_never_repeat_in_a_small_file() {
    let mut number = 0;
    let mut texts = Vec::new();
    for _ in 0..6 {
        texts.extend(gzip(
            lines("", |_, text| {
                number += 1;
                writeln!(text, "a;{:x} 1", number).unwrap();
            })
            .as_bytes(),
        ));
    }
    let damage = damage_of("names.folded.gz", &texts);
    assert!(damage.contains("damaged at line") && damage.contains("was left out"), "{damage}");
}

/// A recording that was cut off, with that many samples.
fn growing(samples: u64) -> Vec<u8> {
    const A_CHUNK: u64 = 100_000;
    let mut growing = Growing::new();
    let rows = growing.rows();
    let name = rows.string("node");
    let process = rows.process(Process { pid: Some(7), name, ..Process::default() });
    let thread = rows.thread(Thread { process, tid: Some(7), name, role: Role::MainLoop });
    let lane = rows.lane(LaneInfo { name: "cpu", unit: Unit::Ns, timed: true, counted: true });
    rows.set_origin_ns(0);
    let mut bytes = file::file_header().to_vec();
    for sample in 0..samples {
        let row = Sample { time_ns: sample * 1000, thread, stack: StackId::NONE, weight: 1000 };
        growing.rows().sample(lane, row);
        if sample % A_CHUNK == A_CHUNK - 1 {
            growing.rows().meta().losses.frames = sample;
            bytes.extend(growing.chunk().unwrap());
        }
    }
    bytes
}

/// An hour and a half of a thousand samples a second opens; what has no end stops.
#[test]
fn a_long_recording_that_was_cut_off() {
    assert_eq!(damage_of("growing", &growing(6_000_000)), "");
    let damage = damage_of("endless", &growing(20_000_000));
    assert!(damage.contains("it grows to more than"), "{damage}");
}
