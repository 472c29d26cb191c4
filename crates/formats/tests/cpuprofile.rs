//! .cpuprofile and traces, in and out: what is known of the recorded programs, the round trip, and what other
//! readers of the form need. `--ignored` measures the reader against a bare typed parse of the same file.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use formats::{cpuprofile, folded};
use profile::{Category, Profile, Role, ThreadId, Unit};
use serde::Deserialize;
use views::{Selection, TopBy, TopKey, top, weigh};

use crate::cases::{case, cases, import};

/// The form, as others read it: nothing is optional that V8 always writes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "it is read to be there")]
struct Typed<'a> {
    #[serde(borrow)]
    nodes: Vec<TypedNode<'a>>,
    start_time: u64,
    end_time: u64,
    samples: Vec<u32>,
    time_deltas: Vec<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "it is read to be there")]
struct TypedNode<'a> {
    id: u32,
    #[serde(borrow)]
    call_frame: TypedCallFrame<'a>,
    hit_count: u32,
    #[serde(default)]
    children: Vec<u32>,
    #[serde(default)]
    position_ticks: Vec<TypedTick>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "it is read to be there")]
struct TypedCallFrame<'a> {
    #[serde(borrow)]
    function_name: Cow<'a, str>,
    #[serde(borrow)]
    script_id: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    line_number: i64,
    column_number: i64,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is read to be there")]
struct TypedTick {
    line: u32,
    ticks: u32,
}

/// 50, 30 and 20 % by the program's own clock. The profiler's ticks are uneven: three points are allowed.
#[test]
fn known_shares() {
    let profile = case("cpuprofile-node22-known-shares").import();
    let selves = self_weights(&profile);
    let burners = ["burnA", "burnB", "burnC"].map(|name| selves[name]);
    let all: u64 = burners.iter().sum();
    for (weight, truth) in burners.iter().zip([0.5017, 0.2992, 0.1991]) {
        let share = *weight as f64 / all as f64;
        assert!((share - truth).abs() < 0.03, "{share} is not {truth}");
    }
    assert!(all as f64 > 0.95 * weigh(&profile, &Selection::default()).total as f64);
}

/// Weighed by time, a profile weighs what its clock shows, from the first sample to the end.
#[test]
fn totals_are_times() {
    for name in ["cpuprofile-node18-http", "cpuprofile-node22-known-shares", "cpuprofile-node26-gc"]
    {
        let case = case(name);
        let text = case.text();
        let typed: Typed<'_> = serde_json::from_slice(&text).unwrap();
        let total_ns = weigh(&case.import(), &Selection::default()).total;
        let first_us = u64::try_from(typed.time_deltas[0]).unwrap();
        assert_eq!(total_ns, (typed.end_time - typed.start_time - first_us) * 1000, "{name}");
        assert_eq!(
            case.import().duration_ns(),
            (typed.end_time - typed.start_time) * 1000,
            "{name}"
        );
    }
}

#[test]
fn states_of_the_profiler_are_categories() {
    let profile = case("cpuprofile-node26-gc").import();
    let selection = Selection::default();
    let rows = top(&profile, &weigh(&profile, &selection), &selection, TopBy::Category);
    let own = |category| {
        rows.iter().find(|row| row.key == TopKey::Category(category)).map(|row| row.self_weight)
    };
    assert!(own(Category::Gc).unwrap() > 0);
    assert_eq!(own(Category::Gc), Some(self_weights(&profile)["(garbage collector)"]));
    assert!(!self_weights(&profile).contains_key("(root)"));
}

/// Lines share out what their function weighs.
#[test]
fn lines_have_weight() {
    let profile = case("cpuprofile-head").import();
    let selection = Selection::default();
    let rows = top(&profile, &weigh(&profile, &selection), &selection, TopBy::Line);
    let lines: Vec<(u32, u64)> = rows
        .iter()
        .map(|row| match row.key {
            TopKey::Line(_, line) => (line, row.self_weight),
            _ => unreachable!(),
        })
        .collect();
    assert_eq!(lines, [(4, 2_000_000), (5, 1_000_000)]);
}

#[test]
fn a_trace_has_threads() {
    let profile = case("trace-node22-workers").import();
    let names = |role: Role| -> BTreeSet<&str> {
        let rows = profile.threads().iter().filter(|thread| thread.role == role);
        rows.map(|thread| profile.text(thread.name)).collect()
    };
    assert_eq!(names(Role::MainLoop), BTreeSet::from(["JavaScriptMainThread"]));
    assert_eq!(names(Role::Worker).len(), 3);
    for (row, thread) in profile.threads().iter().enumerate() {
        let only =
            Selection { threads: Some(vec![ThreadId::from_index(row)]), ..Selection::default() };
        let functions = top(&profile, &weigh(&profile, &only), &only, TopBy::Function);
        let runs = |name: &str| {
            let is = |key: TopKey| matches!(key, TopKey::Function(id) if profile.text(profile.functions().row(id).name) == name);
            functions.iter().any(|row| is(row.key))
        };
        assert_eq!(
            (runs("hash"), runs("resizeImage")),
            (thread.role == Role::MainLoop, thread.role == Role::Worker)
        );
    }
    assert_eq!(profile.meta().node_version.as_deref(), Some("22.23.3"));
}

/// Cut anywhere, the nodes and samples before the cut are shown, and the damage has a place.
#[test]
fn a_cut_file_shows_what_it_has() {
    let text = case("cpuprofile-node22-known-shares").text();
    let samples = text.windows(9).position(|word| word == b"\"samples\"").unwrap();
    let profile = import(&text[..samples + 400], 1).unwrap();
    assert_eq!(profile.lanes()[0].unit, Unit::Count);
    let damage = &profile.meta().losses.damage[0];
    assert!(damage.starts_with(&format!("damaged at byte {}", samples + 400)), "{damage}");
    let trace = case("trace-list").text();
    let profile = import(&trace[..trace.len() - 60], 1).unwrap();
    assert_eq!(profile.lanes()[0].samples.len(), 3, "the chunks before the cut");
    let error = import(b"{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":", 1)
        .unwrap_err()
        .to_string();
    assert!(error.contains("not one sample") && error.contains("damaged at byte 46"), "{error}");
}

#[test]
fn other_json_is_left_to_others() {
    for text in [
        r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[],"nodes":[{"functionName":1}]}"#,
        r#"{"snapshot":{"meta":{}},"nodes":[1,2],"strings":["\"functionName\""]}"#,
        r#"{"head":{"callFrame":{"functionName":"(root)"},"selfSize":0,"children":[]},"samples":[]}"#,
        r#"{"code":[],"functions":[],"ticks":[]}"#,
        r#"[{"name":"a"}]"#,
    ] {
        assert!(!cpuprofile::looks_like(text.as_bytes()), "{text}");
        assert!(!formats::trace_events::looks_like(text.as_bytes()), "{text}");
    }
}

/// Import, export, import: stacks, weights and times stay.
#[test]
fn round_trip() {
    for name in [
        "cpuprofile-node18-http",
        "cpuprofile-node22-known-shares",
        "cpuprofile-node26-gc",
        "cpuprofile-head",
        "cpuprofile-negative-deltas",
    ] {
        let before = case(name).import();
        let (bytes, notes) = write(&before, &Selection::default());
        assert_eq!(notes, Vec::<String>::new(), "{name}");
        let after = import(&bytes, 1).unwrap();
        assert_eq!(after.meta().losses.damage, Vec::<String>::new(), "{name}");
        // Old versions of Node wrote paths; we write URLs, as Node does now.
        let folded = |profile| fold(profile).replace("file://", "");
        assert_eq!(folded(&before), folded(&after), "{name}");
        let (one, two) = (&before.lanes()[0].samples, &after.lanes()[0].samples);
        assert_eq!((&one.time_ns, &one.weight), (&two.time_ns, &two.weight), "{name}");
        assert_eq!(before.duration_ns(), after.duration_ns(), "{name}");
        assert_eq!(lines(&before), lines(&after), "{name}");
    }
}

/// What DevTools and VS Code rely on, of every recording that we can read.
#[test]
fn every_export_is_sound() {
    for case in cases() {
        let profile = case.import();
        let (bytes, notes) = write(&profile, &Selection::default());
        let typed: Typed<'_> = serde_json::from_slice(&bytes).unwrap();
        assert_sound(&typed, &case.name);
        let threads = weigh(&profile, &Selection::default())
            .entries
            .iter()
            .map(|entry| entry.thread)
            .collect::<BTreeSet<_>>();
        assert_eq!(
            threads.len() > 1,
            notes.iter().any(|note| note.contains("one thread")),
            "{}",
            case.name
        );
        let again = import(&bytes, 1).unwrap();
        assert_eq!(again.meta().losses.damage, Vec::<String>::new(), "{}", case.name);
    }
}

/// Every loss has a note.
#[test]
fn losses_are_reported() {
    let expect_note = |name: &str, selection: &Selection, words: &str| {
        let (_, notes) = write(&case(name).import(), selection);
        assert!(notes.iter().any(|note| note.contains(words)), "{name}: {notes:?}");
    };
    let all = Selection::default();
    expect_note("node24-workers", &all, "are left out; choose with --thread");
    expect_note("node24-workers", &all, "addresses, modules and V8 tiers are left out");
    expect_note("folded-simple", &all, "the recording has no times");
    let two = Selection { threads: Some(vec![ThreadId(0), ThreadId(1)]), ..Selection::default() };
    expect_note("node24-workers", &two, "laid end to end");
    let nothing = Selection { range_ns: Some(0..0), ..Selection::default() };
    assert!(cpuprofile::write(&case("perf-ns").import(), &nothing, Vec::new()).is_err());
}

/// A thread that perf did not see was off the CPU: its last function does not get that time.
#[test]
fn gaps_become_idle() {
    let before = case("node24-workers").import();
    let main = ThreadId::from_index(
        before.threads().iter().position(|thread| thread.role == Role::MainLoop).unwrap(),
    );
    let selection = Selection { threads: Some(vec![main]), ..Selection::default() };
    let (bytes, _) = write(&before, &selection);
    let after = import(&bytes, 1).unwrap();
    let idle = self_weights(&after)["(idle)"];
    let busy = weigh(&after, &Selection::default()).total - idle;
    let truth = weigh(&before, &selection).total;
    assert!(
        idle > 0 && (busy as f64 / truth as f64 - 1.0).abs() < 0.1,
        "{busy} ns are not {truth}"
    );
}

fn assert_sound(typed: &Typed<'_>, name: &str) {
    assert_eq!(typed.nodes[0].call_frame.function_name, "(root)", "{name}");
    let ids: Vec<u32> = typed.nodes.iter().map(|node| node.id).collect();
    assert!(ids.iter().copied().eq(1..=ids.len() as u32), "{name}: ids from 1");
    let children: Vec<u32> = typed.nodes.iter().flat_map(|node| &node.children).copied().collect();
    let distinct: BTreeSet<u32> = children.iter().copied().collect();
    assert!(
        distinct.len() == children.len() && distinct.iter().copied().eq(2..=ids.len() as u32),
        "{name}: one tree"
    );
    assert_eq!(typed.samples.len(), typed.time_deltas.len(), "{name}");
    assert!(typed.samples.iter().all(|id| (1..=ids.len() as u32).contains(id)), "{name}");
    let hits: usize = typed.nodes.iter().map(|node| node.hit_count as usize).sum();
    assert_eq!(hits, typed.samples.len(), "{name}");
    let end = typed.start_time as i64 + typed.time_deltas.iter().sum::<i64>();
    assert!(
        typed.start_time as i64 <= end && end <= typed.end_time as i64,
        "{name}: it ends after its samples"
    );
    assert!(typed.time_deltas.iter().all(|delta| *delta >= 0), "{name}");
}

fn write(profile: &Profile, selection: &Selection) -> (Vec<u8>, Vec<String>) {
    let mut bytes = Vec::new();
    let notes = cpuprofile::write(profile, selection, &mut bytes).unwrap();
    (bytes, notes)
}

fn fold(profile: &Profile) -> String {
    let selection = Selection::default();
    let mut out = Vec::new();
    folded::write(
        profile,
        &weigh(profile, &selection),
        &selection,
        &folded::Options::default(),
        &mut out,
    )
    .unwrap();
    String::from_utf8(out).unwrap()
}

/// The ticks by function and line.
fn lines(profile: &Profile) -> BTreeMap<(String, u32), u32> {
    let mut lines = BTreeMap::new();
    let ticks = profile.line_ticks();
    for id in ticks.ids() {
        let tick = ticks.row(id);
        let function = profile.function_of(profile.stacks().frame[tick.stack.index()]);
        *lines.entry((profile.text(function.name).to_owned(), tick.line)).or_default() +=
            tick.ticks;
    }
    lines
}

fn self_weights(profile: &Profile) -> BTreeMap<&str, u64> {
    let selection = Selection::default();
    let mut weights = BTreeMap::new();
    for row in top(profile, &weigh(profile, &selection), &selection, TopBy::Function) {
        if let TopKey::Function(id) = row.key {
            *weights.entry(profile.text(profile.functions().row(id).name)).or_default() +=
                row.self_weight;
        }
    }
    weights
}

/// BIG=FILE cargo test --release -p nodescope-formats --test all cpuprofile:: -- --ignored --nocapture
#[test]
#[ignore = "it measures a large file that has to be made first"]
fn speed_against_a_bare_parse() {
    let text = std::fs::read(std::env::var("BIG").unwrap()).unwrap();
    let best = |run: &dyn Fn()| -> Duration {
        let once = || {
            let start = Instant::now();
            run();
            start.elapsed()
        };
        (0..5).map(|_| once()).min().unwrap()
    };
    let bare = best(&|| drop(serde_json::from_slice::<Typed<'_>>(&text).unwrap()));
    let ours = best(&|| drop(import(&text, 1).unwrap()));
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    assert!(ratio < 2.0, "{} MB: bare {bare:?}, ours {ours:?}: {ratio:.2} times", text.len() >> 20);
    let mut out = std::io::stderr();
    let _ = std::io::Write::write_fmt(
        &mut out,
        format_args!("{} MB: bare {bare:?}, ours {ours:?}: {ratio:.2} times\n", text.len() >> 20),
    );
}
