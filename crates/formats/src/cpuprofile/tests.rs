//! Every form of a .cpuprofile, and every way in which one can be wrong.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use profile::{Category, StackId};

use super::*;

const NODES: &str = r#""nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[2]},{"id":2,"callFrame":{"functionName":"main","scriptId":"1","url":"/srv/a.js","lineNumber":4,"columnNumber":0}}]"#;

fn read_text(text: &str) -> Profile {
    let profile = read(text.as_bytes(), &Budget::default());
    assert_eq!(profile.check(), Ok(()));
    profile
}

fn weights(profile: &Profile) -> Vec<u64> {
    profile.lanes().first().map(|lane| lane.samples.weight.clone()).unwrap_or_default()
}

#[test]
fn the_root_is_no_frame_and_positions_count_from_one() {
    let profile = read_text(&format!(
        r#"{{{NODES},"startTime":0,"endTime":3000,"samples":[2,1],"timeDeltas":[1000,1000]}}"#
    ));
    assert_eq!(profile.stacks().len(), 1);
    let function = profile.function_of(profile.stacks().frame[0]);
    assert_eq!((profile.text(function.name), function.line, function.column), ("main", 5, 1));
    assert_eq!(profile.lanes()[0].samples.stack, [StackId(0), StackId::NONE]);
    assert_eq!(weights(&profile), [1_000_000, 1_000_000]);
    assert_eq!(profile.stacks().category, [Category::App]);
}

#[test]
fn samples_without_times_count() {
    let profile = read_text(&format!(r#"{{{NODES},"samples":[2,2,2]}}"#));
    assert_eq!(weights(&profile), [3]);
    assert!(!profile.lanes()[0].timed);
}

#[test]
fn what_follows_the_profile_is_reported() {
    let profile = read_text(&format!(r#"{{{NODES},"samples":[2],"timeDeltas":[5]}} and more"#));
    assert_eq!(weights(&profile).len(), 1);
    assert!(profile.meta().losses.damage[0].contains("trailing characters"));
}

#[test]
fn unknown_keys_nulls_and_a_byte_order_mark() {
    let text = format!(
        "\u{feff}{{\"$x\":{{\"a\":[[1]]}},{NODES},\"samples\":[2],\"timeDeltas\":null,\"timestamps\":[7]}}"
    );
    assert!(looks_like(text.as_bytes()));
    assert_eq!(read_text(&text).meta().losses.damage, Vec::<String>::new());
}

#[test]
fn trees_deeper_than_any_stack() {
    let depth = 50_000;
    let node = |id: u32| {
        format!(r#"{{"id":{id},"callFrame":{{"functionName":"f{id}"}},"children":[{}]}}"#, id + 1)
    };
    let nodes: Vec<String> = (1..=depth).map(node).collect();
    let text = format!(r#"{{"nodes":[{}],"samples":[{depth}],"timeDeltas":[1]}}"#, nodes.join(","));
    let profile = read_text(&text);
    assert_eq!(
        profile.ancestry(profile.lanes()[0].samples.stack[0]).count(),
        usize::from(profile::DEEPEST_STACK)
    );
    let mut out = Vec::new();
    write(&profile, &views::Selection::default(), &mut out).unwrap();
    assert_eq!(read(&*out, &Budget::default()).stacks().len(), usize::from(profile::DEEPEST_STACK));
}

#[test]
fn a_head_deeper_than_any_stack() {
    let depth = 20_000;
    let open =
        |id: u32| format!(r#"{{"functionName":"f{id}","x":{{"children":[1]}},"children" : ["#);
    let close = |id: u32| format!(r#"],"id":{id},"positionTicks":[{{"line":1,"ticks":1}}]}}"#);
    let mut text = format!(r#"{{"samples":[{depth}],"timestamps":[1],"head":"#);
    text.extend((1..=depth).map(open));
    assert!(read_text(&text).stacks().is_empty(), "a head that does not end is no tree");
    text.extend((1..=depth).rev().map(close));
    text += "}";
    let profile = read_text(&text);
    assert_eq!(
        profile.meta().losses.damage,
        ["stacks have more than 16384 frames: 3616 are left out"]
    );
    assert_eq!(profile.stacks().len(), usize::from(profile::DEEPEST_STACK));
    assert_eq!(profile.line_ticks().len(), depth as usize);
}

#[test]
fn ids_of_every_size() {
    let text = NODES.replace("\"id\":2", "\"id\":4000000000").replace("[2]", "[4000000000]");
    let profile =
        read_text(&format!(r#"{{{text},"samples":[4000000000,5000000000],"timeDeltas":[1,1]}}"#));
    assert_eq!(profile.lanes()[0].samples.stack, [StackId(0), StackId::NONE]);
    assert_eq!(profile.meta().losses.damage, ["1 samples name nodes that are not there"]);
}

fn whose() -> Whose {
    Whose {
        pid: Some(41),
        inner_pid: None,
        process: "node".into(),
        container: None,
        node_version: None,
        app: None,
        command: None,
        folder: None,
        ports: Vec::new(),
        thread: "main".into(),
        tid: Some(41),
        role: Role::MainLoop,
    }
}

/// A window with the functions main (2), and one of the recorder's own called by it (3).
fn window(start: u64, end: u64, samples: &[(u32, i64)]) -> String {
    let ours = r#"{"id":3,"callFrame":{"functionName":"nodescope","scriptId":"7","url":"nodescope:window","lineNumber":0,"columnNumber":0}}"#;
    let nodes = NODES.replace(
        r#""columnNumber":0}}]"#,
        &format!(r#""columnNumber":0}},"children":[3]}},{ours}]"#),
    );
    let ids: Vec<u32> = samples.iter().map(|sample| sample.0).collect();
    let deltas: Vec<i64> = samples.iter().map(|sample| sample.1).collect();
    format!(
        r#"{{{nodes},"startTime":{start},"endTime":{end},"samples":{ids:?},"timeDeltas":{deltas:?}}}"#
    )
}

/// The chunks of a recording, read.
fn joined(chunks: &[&[u8]]) -> Profile {
    let bytes = [&profile::file::file_header()[..], &chunks.concat()].concat();
    let profile = profile::file::read(&bytes).unwrap();
    assert_eq!(profile.check(), Ok(()));
    profile
}

#[test]
fn windows_join_without_a_seam() {
    let mut joiner = Joiner::new(10_000_000);
    let first = window(5000, 36_000, &[(3, 10), (2, 10_000), (2, 10_000)]);
    let first = joiner.window(&first, &whose(), |_| None).unwrap();
    // Begins before the first has ended; what both saw counts once, and our own code not at all.
    let second = window(35_000, 60_000, &[(3, 10), (2, 500), (1, 4490), (3, 1000), (2, 9000)]);
    let second = joiner.window(&second, &whose(), |_| None).unwrap();
    assert_eq!(joiner.samples(), 3);
    let last = joiner.finish(Vec::new(), profile::Cost::default(), None).unwrap();
    assert_eq!(joined(&[&first]).lanes()[0].samples.len(), 1, "the last one waits for its end");
    let joined = joined(&[&first, &second, &last]);
    let samples = &joined.lanes()[0].samples;
    // The last one of the first window goes on until something else was seen in the second.
    assert_eq!(samples.time_ns, [10_010_000, 20_010_000, 35_000_000, 45_000_000]);
    assert_eq!(samples.weight, [10_000_000, 14_990_000, 10_000_000, 10_000_000]);
    let main = samples.stack[0];
    assert_eq!(samples.stack, [main, main, StackId::NONE, main]);
    assert_eq!((joined.threads().len(), joined.processes().len()), (1, 1));
    assert_eq!(joined.meta().duration_ns, 55_000_000);
    assert_eq!(joined.meta().losses.lost, 0);
}

/// Calls that are counted before the first window is over do not move the start to the start of the machine.
#[test]
fn calls_may_come_first() {
    let mut joiner = Joiner::new(10_000_000);
    joiner.set_clock(4_000_000, 0);
    let calls = joiner.calls(r#"{"result":[]}"#, &whose(), |_| None).unwrap();
    let window = joiner
        .window(&window(5000, 36_000, &[(2, 10_000), (2, 10_000)]), &whose(), |_| None)
        .unwrap();
    let last = joiner.finish(Vec::new(), profile::Cost::default(), None).unwrap();
    let joined = joined(&[&calls, &window, &last]);
    assert_eq!(joined.lanes()[0].samples.time_ns, [11_000_000, 21_000_000]);
    assert_eq!((joined.meta().start_clock_s, joined.meta().duration_ns), (Some(0.004), 32_000_000));
}

/// What V8 reports of scripts and functions is not taken for words of ours, or of its own.
#[test]
fn strange_names_stay_what_they_are() {
    let rows = [
        ("my handler:1:2", "my tenant script.js:1:2", Category::App),
        ("fib-1-liftoff", "(generated by ejs)", Category::App),
        ("RegExp: x", "", Category::Unknown),
        ("(root)", "", Category::Unknown),
        ("(idle)", "", Category::Unknown),
    ];
    for (name, url, category) in rows {
        let root = r#"{"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1,"columnNumber":-1},"children":[2]}"#;
        let node = format!(
            r#"{{"id":2,"callFrame":{{"functionName":"{name}","url":"{url}","lineNumber":6,"columnNumber":3}}}}"#
        );
        let text = format!(
            r#"{{"nodes":[{root},{node}],"startTime":0,"endTime":30000,"samples":[2,2],"timeDeltas":[10000,10000]}}"#
        );
        let mut joiner = Joiner::new(10_000_000);
        let window = joiner.window(&text, &whose(), |_| None).unwrap();
        let last = joiner.finish(Vec::new(), profile::Cost::default(), None).unwrap();
        let profile = joined(&[&window, &last]);
        assert_eq!(
            (profile.functions().len(), profile.text(profile.functions().name[0])),
            (1, name)
        );
        let source = profile.source_path(profile.functions().source[0]);
        assert_eq!(source, Some(if url.is_empty() { "(generated code)" } else { url }));
        assert_eq!(profile.frames().category[0], category, "{name}");
    }
}

#[test]
fn gaps_between_samples_are_losses() {
    let mut joiner = Joiner::new(10_000_000);
    let first = window(0, 90_000, &[(2, 10_000), (2, 10_400), (2, 41_000)]);
    let first = joiner.window(&first, &whose(), |_| None).unwrap();
    assert_eq!(joined(&[&first]).meta().losses.lost, 3);
    let empty = joiner.window(&window(80_000, 90_000, &[]), &whose(), |_| None).unwrap();
    assert_eq!(weights(&joined(&[&first, &empty])), [10_400_000, 41_000_000]);
    let last =
        joiner.finish(vec!["a part is missing".into()], profile::Cost::default(), None).unwrap();
    let all = joined(&[&first, &empty, &last]);
    assert_eq!(weights(&all), [10_400_000, 41_000_000, 28_600_000]);
    assert_eq!((all.meta().losses.frames, all.meta().losses.lost), (3, 3));
    assert_eq!(all.meta().losses.damage, ["a part is missing"]);
}

/// A window of serve (2), which stands in lines 5 to 9, with samples every 10 ms and ticks on lines.
fn inlined_window(start: u64, samples: u64, ticks: &[(u32, u64)]) -> String {
    let ticks: Vec<String> =
        ticks.iter().map(|(line, ticks)| format!(r#"{{"line":{line},"ticks":{ticks}}}"#)).collect();
    let nodes = format!(
        r#""nodes":[{{"id":1,"callFrame":{{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1}},"children":[2]}},{{"id":2,"callFrame":{{"functionName":"serve","scriptId":"1","url":"file:///srv/a.js","lineNumber":4,"columnNumber":14}},"hitCount":{samples},"positionTicks":[{}]}}]"#,
        ticks.join(",")
    );
    let ids: Vec<u64> = (0..samples).map(|_| 2).collect();
    let deltas: Vec<u64> = (0..samples).map(|_| 10_000).collect();
    let end = start + 10_000 * (samples + 1);
    format!(
        r#"{{{nodes},"startTime":{start},"endTime":{end},"samples":{ids:?},"timeDeltas":{deltas:?}}}"#
    )
}

const SCRIPT: &str =
    "\nfunction cook(n) { return n; }\n\n\nfunction serve(n) {\n  return cook(n);\n}\n";

fn coverage_of_script() -> String {
    let function = |name: &str, start: usize, end: usize| {
        format!(
            r#"{{"functionName":"{name}","ranges":[{{"startOffset":{start},"endOffset":{end},"count":1}}],"isBlockCoverage":false}}"#
        )
    };
    let functions = [function("cook", 1, 31), function("serve", 34, 73)];
    format!(
        r#"[{{"scriptId":"1","url":"file:///srv/a.js","functions":[{}]}}]"#,
        functions.join(",")
    )
}

#[test]
fn samples_on_the_lines_of_another_function_are_its_own() {
    let mut joiner = Joiner::new(10_000_000);
    assert_eq!(joiner.functions(&coverage_of_script(), &whose()), None);
    let text_of = |_: &str| Some(SCRIPT.to_owned());
    let first = inlined_window(0, 8, &[(6, 2), (2, 6)]);
    let second = inlined_window(90_000, 4, &[(2, 1), (6, 1), (900, 2)]);
    let first = joiner.window(&first, &whose(), text_of).unwrap();
    let second = joiner.window(&second, &whose(), text_of).unwrap();
    let last = joiner.finish(Vec::new(), profile::Cost::default(), None).unwrap();
    let joined = joined(&[&first, &second, &last]);
    let name = |stack: &StackId| {
        let frame = joined.stacks().frame[stack.index()];
        let function = joined.function_of(frame);
        let inlined = joined.frames().inlined[frame.index()];
        (joined.text(function.name).to_owned(), function.line, function.column, inlined)
    };
    let samples = &joined.lanes()[0].samples;
    let names: Vec<(String, u32, u32, bool)> = samples.stack.iter().map(name).collect();
    let cooks =
        |names: &[(String, u32, u32, bool)]| names.iter().filter(|name| name.0 == "cook").count();
    assert_eq!(
        (cooks(&names[..8]), cooks(&names[..4]), cooks(&names[8..])),
        (6, 3, 1),
        "{names:?}"
    );
    assert!(
        names.contains(&("cook".into(), 2, 14, true))
            && names.contains(&("serve".into(), 5, 15, false))
    );
    let inlined = profile::Inlined { found: 7, uncertain: 2, unchecked: 0 };
    assert_eq!(joined.meta().losses.inlined, inlined);
    let ticks = joined.line_ticks();
    let of_cook = ticks.ids().map(|id| ticks.row(id)).filter(|row| name(&row.stack).0 == "cook");
    assert_eq!(of_cook.map(|row| (row.line, row.ticks)).collect::<Vec<_>>(), [(2, 6), (2, 1)]);
}

#[test]
fn a_file_shows_lines_before_their_function() {
    let profile = read_text(&inlined_window(0, 8, &[(6, 2), (2, 5), (900, 1)]));
    assert_eq!(profile.meta().losses.inlined.uncertain, 5, "where it ends is not known");
}
