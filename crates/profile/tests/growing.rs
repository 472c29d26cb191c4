//! A recording that is written while it grows: it reads back as if it had been finished at once, and so does every part of it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and prints what it measured")]

mod replay;
mod sample;

use profile::file::{self, Growing};
use profile::{Builder, Profile};
use replay::Replay;

const SECOND_NS: u64 = 1_000_000_000;

/// A real recording of a service, by perf events: with loops, long turns, waits and counters of the kernel.
fn service() -> Profile {
    file::read(include_bytes!("../../nodescope/src/demo/recording.nodescope")).unwrap()
}

/// A recording told again, in chunks of a second; `times` of it, one behind another.
struct Told {
    bytes: Vec<u8>,
    /// Where each chunk ends.
    ends: Vec<usize>,
}

fn tell(from: &Profile, times: u64) -> Told {
    let mut growing = Growing::new();
    let mut replay = Replay::new(from, growing.rows());
    let mut told = Told { bytes: file::file_header().to_vec(), ends: Vec::new() };
    for round in 0..times {
        for second in 0..=from.duration_ns() / SECOND_NS {
            let (start_ns, end_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
            replay.tell(growing.rows(), start_ns, end_ns, round * from.duration_ns());
            told.bytes.extend(growing.chunk().unwrap());
            told.ends.push(told.bytes.len());
        }
    }
    told
}

fn tell_at_once(from: &Profile, times: u64) -> Profile {
    let mut builder = Builder::new();
    let mut replay = Replay::new(from, &mut builder);
    for round in 0..times {
        for second in 0..=from.duration_ns() / SECOND_NS {
            let (start_ns, end_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
            replay.tell(&mut builder, start_ns, end_ns, round * from.duration_ns());
        }
    }
    builder.finish()
}

fn finished(profile: &Profile) -> usize {
    let mut bytes = Vec::new();
    file::write(profile, &mut bytes).unwrap();
    bytes.len()
}

#[test]
fn what_grew_is_what_was_finished_at_once() {
    for from in [service(), sample::profile()] {
        let told = tell(&from, 2);
        let read = file::read(&told.bytes).unwrap();
        assert_eq!(read.check(), Ok(()));
        assert!(read == tell_at_once(&from, 2), "what was read differs from what was told");
    }
}

#[test]
fn sizes() {
    let from = service();
    println!("{} s, {} samples", from.duration_ns() / SECOND_NS, from.lanes()[0].samples.len());
    for times in [1, 30 * SECOND_NS / from.duration_ns(), 3600 * SECOND_NS / from.duration_ns()] {
        let told = tell(&from, times);
        let today = finished(&tell_at_once(&from, times));
        println!(
            "{times} times: {} bytes in {} chunks, finished {today}: {:.2}",
            told.bytes.len(),
            told.ends.len(),
            told.bytes.len() as f64 / today as f64
        );
    }
}
