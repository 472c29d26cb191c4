//! One thread whose times are broken must not stretch a recording of seconds to days, in any format that has times:
//! its samples stay, with their weights, and what was done to their times is reported.

use std::fmt::Write;

use profile::Profile;

use crate::cases::import;

/// When the machine of these recordings was started, in seconds before the recording.
const UPTIME_S: u64 = 428_550;

fn weight_of(profile: &Profile, name: &str) -> u64 {
    let samples = &profile.lanes()[0].samples;
    let is_named = |row: &usize| {
        let frame = profile.stacks().frame[samples.stack[*row].index()];
        profile.text(profile.function_of(frame).name) == name
    };
    (0..samples.len()).filter(is_named).map(|row| samples.weight[row]).sum()
}

/// Thirty seconds, and a sentence about what was moved.
fn assert_clipped(what: &str, text: &str, moved: usize) -> Profile {
    let profile = import(text.as_bytes(), 1).unwrap_or_else(|error| panic!("{what}: {error}"));
    let seconds = profile.duration_ns() / 1_000_000_000;
    assert!((29..=31).contains(&seconds), "{what}: {seconds} s");
    let damage = profile.meta().losses.damage.join("\n");
    let sentence = format!("the times of {moved} of ");
    assert_eq!(damage.matches(&sentence).count(), usize::from(moved > 0), "{what}: {damage}");
    assert_eq!(profile.check(), Ok(()));
    profile
}

#[test]
fn perf_script() {
    let mut text = String::new();
    let mut sample = |tid: u64, seconds: u64, name: &str| {
        write!(
            text,
            "node 1/{tid} {seconds}.000000: 10101010 cpu-clock:\n\t7f00 {name} (/usr/bin/node)\n\n"
        )
        .unwrap();
    };
    (0..=30).for_each(|second| sample(1, UPTIME_S + second, "main"));
    (0..5).for_each(|second| sample(2, second, "worker"));
    let profile = assert_clipped("perf script", &text, 5);
    assert_eq!(weight_of(&profile, "worker"), 5 * 10_101_010);
    assert_eq!(profile.meta().start_clock_s, Some(UPTIME_S as f64));
}

/// The event that begins a profile has its start. A ring buffer that was full has lost the one of the worker.
#[test]
fn a_trace_without_the_start_of_one_thread() {
    let chunk = |id: &str, tid: u32, name: &str| {
        let samples = vec!["1"; 31].join(",");
        let deltas = vec!["1000000"; 31].join(",");
        format!(
            r#"{{"name":"ProfileChunk","ph":"P","pid":1,"tid":{tid},"ts":5,"id":"{id}","args":{{"data":{{"cpuProfile":{{"nodes":[{{"id":1,"callFrame":{{"functionName":"{name}","url":"/a.js"}}}}],"samples":[{samples}]}},"timeDeltas":[{deltas}]}}}}}}"#
        )
    };
    let begin = |id: &str, tid: u32| {
        let start = UPTIME_S * 1_000_000;
        format!(
            r#"{{"name":"Profile","ph":"P","pid":1,"tid":{tid},"ts":{start},"id":"{id}","args":{{"data":{{"startTime":{start}}}}}}}"#
        )
    };
    let events = [
        begin("0x1", 1),
        chunk("0x1", 1, "one"),
        begin("0x2", 2),
        chunk("0x2", 2, "two"),
        chunk("0x3", 3, "lost"),
    ];
    let profile = assert_clipped("a trace", &format!("[{}]", events.join(",")), 31);
    for name in ["one", "two", "lost"] {
        assert_eq!(weight_of(&profile, name) / 1_000_000_000, 31, "{name}");
    }
}

/// Times between samples, in microseconds: the first one counts from a start that is on another clock.
#[test]
fn a_cpuprofile_whose_start_is_far_away() {
    let text = |deltas: &[u64]| {
        let deltas: Vec<String> = deltas.iter().map(u64::to_string).collect();
        let samples = vec!["2"; deltas.len() - 1].join(",");
        format!(
            r#"{{"nodes":[{{"id":1,"callFrame":{{"functionName":"early","url":"/a.js"}}}},{{"id":2,"callFrame":{{"functionName":"late","url":"/a.js"}}}}],"startTime":0,"endTime":1,"samples":[1,{samples}],"timeDeltas":[{}]}}"#,
            deltas.join(",")
        )
    };
    let days = UPTIME_S * 1_000_000;
    let mut deltas = vec![1_000_000; 31];
    deltas[0] = days;
    let profile = assert_clipped("the first time", &text(&deltas), 0);
    assert_eq!(weight_of(&profile, "early") / 1_000_000_000, 1);
}

/// Where a sample lasts until the next one, a long gap is a long sample: a file that was made of sums has such.
#[test]
fn a_long_sample_is_no_damage() {
    let days = UPTIME_S * 1_000_000;
    let text = format!(
        r#"{{"nodes":[{{"id":1,"callFrame":{{"functionName":"early","url":"/a.js"}}}}],"startTime":0,"endTime":{},"samples":[1,1,1,1],"timeDeltas":[0,{days},1,1]}}"#,
        days + 3
    );
    let profile = import(text.as_bytes(), 1).unwrap();
    assert!(profile.meta().losses.damage.is_empty(), "{:?}", profile.meta().losses.damage);
    assert_eq!(weight_of(&profile, "early") / 1_000_000_000, UPTIME_S);
}

#[test]
fn speedscope_with_a_thread_on_another_clock() {
    let profile = |name: &str, start: u64, samples: usize| {
        format!(
            r#"{{"type":"sampled","name":"{name}","unit":"seconds","startValue":{start},"endValue":{},"samples":[{}],"weights":[{}]}}"#,
            start + samples as u64,
            vec!["[0]"; samples].join(","),
            vec!["1"; samples].join(",")
        )
    };
    let text = format!(
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":[{{"name":"a"}}]}},"profiles":[{},{}]}}"#,
        profile("one", UPTIME_S, 31),
        profile("two", 0, 10)
    );
    assert_clipped("speedscope", &text, 10);
}

#[test]
fn a_log_with_a_broken_tick() {
    let mut text =
        "v8-version,12,4,254,21,-node.22,0\ncode-creation,JS,10,1,0x10000,100,f /a.js:1:1,0x1,*\n"
            .to_owned();
    for second in 0..=30 {
        let time = if second == 15 { UPTIME_S * 1_000_000 } else { second * 1_000_000 };
        writeln!(text, "tick,0x10010,{time},0,0x0,0").unwrap();
    }
    assert_clipped("a log", &text, 1);
}

/// A program that was busy before and after a night has no broken times.
#[test]
fn a_night_is_no_damage() {
    let mut text = String::new();
    for second in (0..600).chain(30_000..30_600) {
        write!(
            text,
            "node 1/1 {second}.000000: 10101010 cpu-clock:\n\t7f00 main (/usr/bin/node)\n\n"
        )
        .unwrap();
    }
    let profile = import(text.as_bytes(), 1).unwrap();
    assert_eq!(profile.duration_ns() / 1_000_000_000, 30_599);
    assert!(profile.meta().losses.damage.is_empty());
}
