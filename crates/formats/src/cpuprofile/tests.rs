//! Every form of a .cpuprofile, and every way in which one can be wrong.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use profile::{Category, StackId};

use super::*;

const NODES: &str = r#""nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[2]},{"id":2,"callFrame":{"functionName":"main","scriptId":"1","url":"/srv/a.js","lineNumber":4,"columnNumber":0}}]"#;

fn read_text(text: &str) -> Profile {
    let profile = read(text.as_bytes());
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
    assert_eq!(weights(&profile), [1, 1, 1]);
    assert!(!profile.lanes()[0].timed);
}

#[test]
fn what_follows_the_profile_is_said() {
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
    let node =
        |id: u32| format!(r#"{{"id":{id},"callFrame":{{"functionName":"f{id}"}},"children":[{}]}}"#, id + 1);
    let nodes: Vec<String> = (1..=depth).map(node).collect();
    let text = format!(r#"{{"nodes":[{}],"samples":[{depth}],"timeDeltas":[1]}}"#, nodes.join(","));
    let profile = read_text(&text);
    assert_eq!(profile.ancestry(profile.lanes()[0].samples.stack[0]).count(), depth as usize);
    let mut out = Vec::new();
    write(&profile, &views::Selection::default(), &mut out).unwrap();
    assert!(read(&*out) == profile || read(&*out).stacks().len() == depth as usize);
}

#[test]
fn a_head_deeper_than_any_stack() {
    let depth = 20_000;
    let open = |id: u32| format!(r#"{{"functionName":"f{id}","x":{{"children":[1]}},"children" : ["#);
    let close = |id: u32| format!(r#"],"id":{id},"positionTicks":[{{"line":1,"ticks":1}}]}}"#);
    let mut text = format!(r#"{{"samples":[{depth}],"timestamps":[1],"head":"#);
    text.extend((1..=depth).map(open));
    assert!(read_text(&text).stacks().is_empty(), "a head that does not end is no tree");
    text.extend((1..=depth).rev().map(close));
    text += "}";
    let profile = read_text(&text);
    assert_eq!(profile.meta().losses.damage, Vec::<String>::new());
    assert_eq!(profile.ancestry(profile.lanes()[0].samples.stack[0]).count(), depth as usize);
    assert_eq!(profile.line_ticks().len(), depth as usize);
}

#[test]
fn ids_of_every_size() {
    let text = NODES.replace("\"id\":2", "\"id\":4000000000").replace("[2]", "[4000000000]");
    let profile = read_text(&format!(r#"{{{text},"samples":[4000000000,5000000000],"timeDeltas":[1,1]}}"#));
    assert_eq!(profile.lanes()[0].samples.stack, [StackId(0), StackId::NONE]);
    assert_eq!(profile.meta().losses.damage, ["1 samples name nodes that are not there"]);
}
