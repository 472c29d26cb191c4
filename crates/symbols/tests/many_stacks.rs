//! A recording whose every sample has another stack: it reports that it is full while it still fits into its memory.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

use symbols::{GrowingNamer, Sources};
use trace::{Address, Context, Event, Measure, Sample};

/// Set in the process that fills its memory: other tests have none of it.
const FILLS: &str = "NODESCOPE_TEST_FILLS";
/// What a recorder may take, and what its other parts take of that: files that names come from, maps, scripts.
const MOST_KB: u64 = (256 << 10) - MOST_OTHERS_KB;
const MOST_OTHERS_KB: u64 = 112 << 10;
/// No recording has so many samples before it is full.
const MOST_SAMPLES: u64 = 5_000_000;
const SAMPLES_A_CHUNK: u64 = 500;
const DEPTH: u64 = 12;

#[test]
fn a_recording_reports_that_it_is_full_in_time() {
    if std::env::var_os(FILLS).is_some() {
        return fill();
    }
    let thread = std::thread::current();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([thread.name().unwrap(), "--exact", "--nocapture"])
        .env(FILLS, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let number = |word: &str| -> u64 {
        let text = printed.split_once(word).unwrap().0.trim_end().rsplit(' ').next().unwrap();
        text.parse().unwrap()
    };
    println!("{} samples, all different, take {} kB", number("samples"), number("kB"));
    assert!(number("samples") > 10_000, "it gives up early: {printed}");
    assert!(number("kB") < MOST_KB, "it takes too much: {printed}");
}

/// Takes samples until there is no room for more.
fn fill() {
    let mut namer = GrowingNamer::new(Sources::default(), "recorded by perf events");
    let (name, measure) = (&b"cpu-clock"[..], Measure::Ns);
    namer.sink().event(&Event {
        row: 0,
        name,
        measure,
        timed: true,
        has_period: true,
        interval_ns: Some(1_000_000),
    });
    let mut samples = 0;
    while !namer.is_full() && samples < MOST_SAMPLES {
        for _ in 0..SAMPLES_A_CHUNK {
            samples += 1;
            take_sample(&mut namer, samples);
        }
        namer.chunk(Some(samples * 1_000_000)).unwrap();
    }
    assert!(namer.is_full(), "{samples} samples fit");
    println!("\n {samples} samples, {} kB", peak_kb());
}

/// A stack that no other sample has, from its second frame on.
fn take_sample(namer: &mut GrowingNamer, number: u64) {
    let address = |depth: u64| Address {
        value: 0x10_0000 + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 0x7fff_0000 + depth * 16,
        context: Context::User,
    };
    let chain: Vec<Address> = (0..DEPTH).map(address).collect();
    namer.sink().sample(&Sample {
        event: 0,
        time_ns: number * 1_000_000,
        pid: Some(7),
        tid: Some(7),
        cpu: Some(0),
        period: 1_000_000,
        chain: &chain,
        user_registers: None,
        user_stack: &[],
        user_stack_is_full: false,
        awaits: None,
    });
}

/// The most that this process has had in memory.
fn peak_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
