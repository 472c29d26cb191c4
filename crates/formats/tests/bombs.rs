//! Small files that claim or become something huge: each ends with a clear sentence, and all of them together
//! stay within the memory that a small file may take.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "the other tests use the rest")]
mod cases;

use std::io::Write;
use std::time::{Duration, Instant};

use cases::import;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use profile::{DEEPEST_STACK, Profile, file};
use views::{Selection, TopBy, top, weigh};

/// What opening a small file may take, whatever it claims.
const MOST_MEMORY_KB: u64 = 512 << 10;

const SAMPLE: &str = "node 1 1.000000: cpu-clock:\n\t7f00 main (/usr/bin/node)\n\n";

#[test]
fn a_zstd_file_of_nothing_but_one_byte() {
    for byte in [b'\0', b'a', b'\n'] {
        let bomb = zstd(b"", byte, 10 << 30);
        assert!(bomb.len() < 400 << 10);
        let error = import(&bomb, 1).unwrap_err().to_string();
        let expected =
            if byte == b'\n' { "it is empty" } else { "it does not look like any recording" };
        assert!(error.starts_with(expected), "{error}");
    }
    stays_within_memory();
}

#[test]
fn a_zstd_file_that_grows_behind_a_good_start() {
    for byte in [b'\0', b'a', b'\n', b' '] {
        let bomb = zstd(SAMPLE.as_bytes(), byte, 10 << 30);
        let damage = damage(&bomb);
        assert!(damage.contains("it grows more than 1000 times near byte"), "{damage}");
        assert!(damage.starts_with("damaged after line"), "{damage}");
    }
    stays_within_memory();
}

/// The text that one compression gives is measured against the file, not against what the other gave.
#[test]
fn compression_inside_compression() {
    let bomb = gzip(&zstd(SAMPLE.as_bytes(), b'\n', 10 << 30));
    assert!(bomb.len() < 4 << 10, "{} bytes", bomb.len());
    let damage = damage(&bomb);
    assert!(damage.contains("it grows more than 1000 times"), "{damage}");
    let line =
        damage.strip_prefix("damaged after line ").and_then(|rest| rest.split(':').next()).unwrap();
    assert!(
        line.parse::<u64>().unwrap() < 80 << 20,
        "{damage}: more than 64 MB and 1000 times the file"
    );
    let error =
        import(&gzip(&gzip(&gzip(&gzip(&gzip(SAMPLE.as_bytes()))))), 1).unwrap_err().to_string();
    assert!(error.contains("compressed too many times"), "{error}");
    assert!(import(&gzip(&gzip(&gzip(SAMPLE.as_bytes()))), 1).is_ok());
    stays_within_memory();
}

#[test]
fn a_window_larger_than_any_memory() {
    let mut bomb = zstd(SAMPLE.as_bytes(), b'\n', 1 << 20);
    bomb[5] = 0xff;
    let error = import(&bomb, 1).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read it: the compressed data is broken near byte"),
        "{error}"
    );
    stays_within_memory();
}

/// A recording of our own in gzip: its length proves nothing.
#[test]
fn a_recording_that_claims_more_than_its_file_can_hold() {
    let stored = vec![0; 1 << 20];
    let mut checksum = Crc::new();
    checksum.update(&stored);
    let mut recording = file::file_header().to_vec();
    recording.extend_from_slice(b"PROF");
    recording.extend_from_slice(&checksum.sum().to_le_bytes());
    recording.extend_from_slice(&(stored.len() as u64).to_le_bytes());
    recording.extend_from_slice(&(1u64 << 40).to_le_bytes());
    recording.extend_from_slice(&stored);
    let error = import(&gzip(&recording), 1).unwrap_err().to_string();
    assert!(error.starts_with("damaged at byte 16: it grows to more than"), "{error}");
    stays_within_memory();
}

/// A line without an end, a sample without an end, and nothing but what is passed over.
#[test]
fn texts_of_one_thing_only() {
    let start = "node;main 1\n".repeat(100);
    for filler in ["a", "a;", " ", "("] {
        let text = start.clone() + &filler.repeat((40 << 20) / filler.len());
        let profile = import(&gzip(text.as_bytes()), 1).unwrap();
        assert_eq!(profile.check(), Ok(()));
        assert!(profile.lanes()[0].samples.len() >= 100);
    }
    for filler in ["a", "\t7f00 a (b)\n", "#\n", "\n", "x\n"] {
        let text = SAMPLE.trim_end().to_owned() + "\n" + &filler.repeat((40 << 20) / filler.len());
        let profile = import(&gzip(text.as_bytes()), 1).unwrap();
        assert_eq!(profile.check(), Ok(()));
    }
    stays_within_memory();
}

/// What a text of `FILLED` bytes may take here; in a release build it is a tenth of it.
const MOST_TIME: Duration = Duration::from_secs(60);
const FILLED: usize = 12 << 20;

/// Start, what is repeated, end.
type Filled = (&'static str, &'static str, &'static str);

const SPEEDSCOPE: &str = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"}]},"profiles":["#;
const NODE: &str = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"a","url":"/a.js"}"#;
const LOG: &str =
    "v8-version,12,4,254,21,-node.22,0\ncode-creation,JS,10,1,0x10000,100,f /a.js:1:1,0x1,*\n";

/// JSON and logs of nothing but one thing: linear in time, and in memory not many times the text.
#[test]
fn lists_of_one_thing_only() {
    let speedscope: &[Filled] = &[
        (r#"{"type":"sampled","unit":"none","weights":[],"samples":["#, "[],", "[0]]}]}"),
        (r#"{"type":"sampled","unit":"none","weights":[],"samples":["#, "[0],", "[0]]}]}"),
        (r#"{"type":"sampled","unit":"none","weights":[1],"samples":[["#, "0,", "1]]}]}"),
        (r#"{"type":"sampled","unit":"none","weights":[1],"samples":[["#, "7,", "1]]}]}"),
        (r#"{"type":"sampled","samples":[[0]]},"#, "{},", "{}]}"),
        (r#"{"type":"sampled","samples":[[0]]},"#, "7,", "7]}"),
        (r#"{"type":"sampled","samples":[[0]]},"#, r#"{"name":7},"#, "7]}"),
        (
            r#"{"type":"evented","endValue":9,"events":["#,
            r#"{"type":"O","at":1,"frame":0},{"type":"C","at":2,"frame":1},"#,
            r#"{"type":"O","at":3,"frame":0}]}]}"#,
        ),
        (r#"{"type":"sampled","samples":[[0]]}],"shared":{"frames":["#, "{},", "{}]}}"),
    ];
    let others: &[Filled] = &[
        (r#"}],"startTime":0,"endTime":9,"samples":["#, "1,", r#"1],"timeDeltas":[1]}"#),
        (r#"}],"startTime":0,"endTime":9,"samples":["#, "1,", ""),
        (r#"}],"samples":[1],"timeDeltas":["#, "1,", "1]}"),
        ("},", "{},", r#"{}],"samples":[1],"timeDeltas":[1]}"#),
        (r#","children":["#, "1,", r#"1]}],"samples":[1],"timeDeltas":[1]}"#),
        (r#","positionTicks":["#, "{},", r#"{}]}],"samples":[1],"timeDeltas":[1]}"#),
    ];
    let logs: &[Filled] = &[
        ("tick,0x10010,1,0,0x0,0\n", "tick,0x10010,1,0,0x0,0\n", ""),
        ("tick,0x10010,1,0,0x0,0", ",0x10010", "\ntick,0x10010,1,0,0x0,0\n"),
        ("", "code-move,0x10000,0x20000\ncode-move,0x20000,0x10000\n", "tick,0x10010,1,0,0x0,0\n"),
        ("tick,0x10010,1,0,0x0,0\n", "x\n", ""),
        ("tick,0x10010,1,0,0x0,0\n", "v8-version,1\n", ""),
    ];
    for (format, rows) in [(SPEEDSCOPE, speedscope), (NODE, others), (LOG, logs)] {
        for (start, filler, end) in rows {
            let text = format.to_owned() + start + &filler.repeat(FILLED / filler.len()) + end;
            opens_in_time(text.as_bytes(), &format!("{start}{filler}"));
        }
    }
    let events = r#"{"traceEvents":["#.to_owned() + &"{},".repeat(FILLED / 3) + "{}]}";
    assert!(import(&gzip(events.as_bytes()), 1).is_err(), "a trace without a profile");
    stays_within_memory();
}

/// Events that open and never close, a tree that is one long chain: every stack is one deeper than the last.
#[test]
fn stacks_of_every_depth() {
    let events: String =
        (0..200_000).map(|at| format!(r#"{{"type":"O","at":{at},"frame":0}},"#)).collect();
    let events = format!(
        r#"{SPEEDSCOPE}{{"type":"evented","endValue":9,"events":[{}]}}]}}"#,
        &events[..events.len() - 1]
    );
    opens_in_time(events.as_bytes(), "events that open");
    let node = |id: u32| {
        format!(r#"{{"id":{id},"callFrame":{{"functionName":"a"}},"children":[{}]}}"#, id + 1)
    };
    let nodes: Vec<String> = (1..100_000).map(node).collect();
    let samples: Vec<String> = (1..100_000).map(|id: u32| id.to_string()).collect();
    let chain = format!(r#"{{"nodes":[{}],"samples":[{}]}}"#, nodes.join(","), samples.join(","));
    let profile = opens_in_time(chain.as_bytes(), "a chain of nodes");
    assert_eq!(profile.stacks().len(), usize::from(DEEPEST_STACK));
    stays_within_memory();
}

/// pprof of nothing but one field.
#[test]
fn messages_of_one_thing_only() {
    let base = [
        field(1, &[8, 1, 16, 2]),
        [&b""[..], b"cpu", b"nanoseconds"].iter().flat_map(|text| field(6, text)).collect(),
        field(4, &[8, 1, 34, 4, 8, 1, 16, 3]),
        field(5, &[8, 1, 16, 1]),
        field(2, &[10, 1, 1, 18, 1, 5]),
    ]
    .concat();
    for number in 1..=6 {
        // The first sample type is the default one.
        let many = [base.clone(), field(number, b"").repeat(FILLED / 2), vec![14 << 3, 1]].concat();
        opens_in_time(&many, &format!("field {number}"));
    }
    let half = FILLED / 2;
    let rows = [
        field(2, &[field(1, &vec![1; FILLED]), vec![18, 1, 5]].concat()),
        field(2, &[field(1, &vec![9; FILLED]), vec![18, 1, 5]].concat()),
        field(2, &[[8, 1].repeat(half), vec![18, 1, 5]].concat()),
        field(2, &[vec![10, 1, 1], field(2, &vec![5; FILLED])].concat()),
        field(2, &[vec![10, 1, 1, 18, 1, 5], field(3, b"").repeat(half)].concat()),
        [
            field(4, &[vec![8, 2], field(4, b"").repeat(half)].concat()),
            field(2, &[10, 1, 2, 18, 1, 5]),
        ]
        .concat(),
    ];
    for (number, row) in rows.iter().enumerate() {
        opens_in_time(&[&*base, row].concat(), &format!("message {number}"));
    }
    stays_within_memory();
}

/// A field with bytes, as protobuf writes it.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend_from_slice(bytes);
    field
}

fn opens_in_time(bytes: &[u8], what: &str) -> Profile {
    let start = Instant::now();
    let profile = import(&gzip(bytes), 1).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(profile.check(), Ok(()), "{what}");
    let selection = Selection::default();
    let rows = top(&profile, &weigh(&profile, &selection), &selection, TopBy::Function);
    assert!(!rows.is_empty(), "{what}: nothing is shown");
    assert!(profile.meta().losses.damage.len() < 20, "{what}: too many sentences");
    assert!(start.elapsed() < MOST_TIME, "{what}: it took {:?}", start.elapsed());
    profile
}

/// The first sentence that says what is wrong with what opened.
fn damage(bytes: &[u8]) -> String {
    let profile = import(bytes, 1).unwrap();
    assert_eq!(profile.check(), Ok(()));
    assert_eq!(profile.lanes()[0].samples.len(), 1, "the sample before the damage");
    profile.meta().losses.damage.iter().find(|sentence| sentence.contains("grows")).unwrap().clone()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zstd frame with `start` as it is, then one byte, again and again: four bytes become 128 KB.
fn zstd(start: &[u8], byte: u8, length: u64) -> Vec<u8> {
    const BLOCK: u32 = 128 << 10;
    const WINDOW_OF_128_KB: u8 = 7 << 3;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, WINDOW_OF_128_KB];
    if !start.is_empty() {
        frame.extend_from_slice(&(u32::try_from(start.len()).unwrap() << 3).to_le_bytes()[..3]);
        frame.extend_from_slice(start);
    }
    let repeated = (BLOCK << 3) | (1 << 1);
    let blocks = length / u64::from(BLOCK);
    for block in 1..=blocks {
        let is_last = u32::from(block == blocks);
        frame.extend_from_slice(&(repeated | is_last).to_le_bytes()[..3]);
        frame.push(byte);
    }
    frame
}

/// The most that this process ever took, where the system reports it.
fn stays_within_memory() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let peak: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < MOST_MEMORY_KB, "{peak} KB were taken");
}
