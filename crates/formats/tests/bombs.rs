//! Small files that claim or become something huge: each ends with a clear sentence, and all of them together
//! stay within the memory that a small file may take.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cases;

use std::io::Write;

use cases::import;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use profile::file;

/// What opening a small file may take, whatever it claims.
const MOST_MEMORY_KB: u64 = 512 << 10;

const SAMPLE: &str = "node 1 1.000000: cpu-clock:\n\t7f00 main (/usr/bin/node)\n\n";

#[test]
fn a_zstd_file_of_nothing_but_one_byte() {
    for byte in [b'\0', b'a', b'\n'] {
        let bomb = zstd(b"", byte, 10 << 30);
        assert!(bomb.len() < 400 << 10);
        let error = import(&bomb, 1).unwrap_err().to_string();
        let expected = if byte == b'\n' { "it is empty" } else { "it does not look like any recording" };
        assert!(error.starts_with(expected), "{error}");
    }
    stays_within_memory();
}

#[test]
fn a_zstd_file_that_swells_behind_a_good_start() {
    for byte in [b'\0', b'a', b'\n', b' '] {
        let bomb = zstd(SAMPLE.as_bytes(), byte, 10 << 30);
        let damage = damage(&bomb);
        assert!(damage.contains("it swells more than 1000 times near byte"), "{damage}");
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
    assert!(damage.contains("it swells more than 1000 times"), "{damage}");
    let line = damage.strip_prefix("damaged after line ").and_then(|rest| rest.split(':').next()).unwrap();
    assert!(line.parse::<u64>().unwrap() < 80 << 20, "{damage}: more than 64 MB and 1000 times the file");
    let error = import(&gzip(&gzip(&gzip(&gzip(&gzip(SAMPLE.as_bytes()))))), 1).unwrap_err().to_string();
    assert!(error.contains("compression inside compression"), "{error}");
    assert!(import(&gzip(&gzip(&gzip(SAMPLE.as_bytes()))), 1).is_ok());
    stays_within_memory();
}

#[test]
fn a_window_larger_than_any_memory() {
    let mut bomb = zstd(SAMPLE.as_bytes(), b'\n', 1 << 20);
    bomb[5] = 0xff;
    let error = import(&bomb, 1).unwrap_err().to_string();
    assert!(error.starts_with("cannot read it: the compressed data is broken near byte"), "{error}");
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
    assert!(error.starts_with("damaged at byte 16: it swells to more than"), "{error}");
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

/// The first sentence that says what is wrong with what opened.
fn damage(bytes: &[u8]) -> String {
    let profile = import(bytes, 1).unwrap();
    assert_eq!(profile.check(), Ok(()));
    assert_eq!(profile.lanes()[0].samples.len(), 1, "the sample before the damage");
    profile.meta().losses.damage.iter().find(|sentence| sentence.contains("swells")).unwrap().clone()
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

/// The most that this process ever took, where the system tells.
fn stays_within_memory() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let peak: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < MOST_MEMORY_KB, "{peak} KB were taken");
}
