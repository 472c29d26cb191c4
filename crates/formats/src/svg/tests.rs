//! Whole pictures: what the parts must guarantee together.

use profile::{
    Builder, Category, Frame, Function, Joining, LaneInfo, NO_ADDRESS, Process, Profile, Sample,
};
use profile::{
    FunctionId, ModuleId, ProcessId, Role, SourceId, StackId, StringId, Thread, Tier, Unit,
};
use roxmltree::Document;
use views::{Lens, Selection, weigh};

use super::{Colors, Options, SvgError, write};

/// A profile in a few words: stacks as `root;leaf`, a name's category behind `@`.
pub(super) struct Spec<'a> {
    pub(super) stacks: &'a [(&'a str, u64)],
    pub(super) unit: Unit,
    pub(super) counted: bool,
    pub(super) lane: &'a str,
    pub(super) thread: &'a str,
}

impl<'a> Spec<'a> {
    pub(super) fn of(stacks: &'a [(&'a str, u64)]) -> Self {
        Self { stacks, unit: Unit::Count, counted: true, lane: "cpu-clock", thread: "node" }
    }
}

pub(super) fn profile(spec: &Spec<'_>) -> Profile {
    let build = |builder: &mut Builder, stack: &str| {
        let names = stack.split(';').filter(|name| !name.is_empty());
        names.fold(StackId::NONE, |parent, name| push(builder, parent, name))
    };
    profile_of(spec, build)
}

fn profile_of(spec: &Spec<'_>, mut stack_of: impl FnMut(&mut Builder, &str) -> StackId) -> Profile {
    let mut builder = Builder::new();
    builder.meta().start_unix_ns = Some("1748747702000000000".into());
    builder.meta().node_version = Some("v22.1.0".into());
    builder.meta().way_in = "perf events".into();
    builder.meta().duration_ns = 20_000_000_000;
    builder.set_origin_ns(0);
    let name = builder.string("node");
    let process = builder.process(Process { pid: Some(4140), name, ..Process::default() });
    let thread = thread(&mut builder, process, spec.thread);
    let lane = builder.lane(LaneInfo {
        name: spec.lane,
        unit: spec.unit,
        timed: true,
        counted: spec.counted,
    });
    for (time, (stack, weight)) in spec.stacks.iter().enumerate() {
        let stack = stack_of(&mut builder, stack);
        let time_ns = 10_000_000_000 + time as u64;
        builder.sample(lane, Sample { time_ns, thread, stack, weight: *weight });
    }
    builder.finish()
}

fn thread(builder: &mut Builder, process: ProcessId, name: &str) -> profile::ThreadId {
    let name = builder.string(name);
    builder.thread(Thread { process, tid: Some(4140), name, role: Role::MainLoop })
}

fn push(builder: &mut Builder, parent: StackId, name: &str) -> StackId {
    let (name, word) = name.rsplit_once('@').unwrap_or((name, "app"));
    let category = Category::from_word(word).unwrap();
    let symbol = builder.string(name);
    let function = function(builder, name);
    let tier = Tier::None;
    let row = Frame {
        function,
        line: 0,
        column: 0,
        category,
        tier,
        inlined: false,
        address: NO_ADDRESS,
        symbol,
    };
    let frame = builder.frame(row);
    builder.stack(parent, frame)
}

fn function(builder: &mut Builder, name: &str) -> FunctionId {
    let (name, module, package) = (builder.string(name), ModuleId::NONE, StringId::NONE);
    let (source, version) = (SourceId::NONE, StringId::NONE);
    builder.function(Function { name, source, line: 0, column: 0, module, package, version })
}

fn draw(profile: &Profile, options: &Options) -> String {
    let selection = Selection::default();
    let mut out = Vec::new();
    write(profile, &weigh(profile, &selection), &selection, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn draw_stacks(stacks: &[(&str, u64)]) -> String {
    draw(&profile(&Spec::of(stacks)), &all_frames())
}

/// Stacks here have no JavaScript, so no other lens would be chosen for them either.
fn all_frames() -> Options {
    Options { lens: Some(Lens::Everything), ..Options::default() }
}

fn parse(svg: &str) -> Document<'_> {
    Document::parse(svg).unwrap()
}

/// Title and colour of each box, in the order of the file.
fn frames(svg: &str) -> Vec<(String, String)> {
    let document = parse(svg);
    let boxes = document.descendants().find(|node| node.attribute("id") == Some("boxes")).unwrap();
    let child = |node: roxmltree::Node<'_, '_>, tag: &str| {
        let found = node
            .children()
            .find(|child| child.has_tag_name(("http://www.w3.org/2000/svg", tag)))
            .unwrap();
        (
            found.text().unwrap_or_default().to_owned(),
            found.attribute("fill").unwrap_or_default().to_owned(),
        )
    };
    let groups = boxes.children().filter(roxmltree::Node::is_element);
    groups.map(|group| (child(group, "title").0, child(group, "rect").1)).collect()
}

fn titles(svg: &str) -> Vec<String> {
    frames(svg).into_iter().map(|frame| frame.0).collect()
}

#[test]
fn a_picture_has_a_frame_for_each_node() {
    let titles = titles(&draw_stacks(&[("main;parse", 3), ("main;send@kernel", 1)]));
    let expected = [
        "parse (3 samples, 75.00%)",
        "send (1 samples, 25.00%)",
        "main (4 samples, 100.00%)",
        "node (4 samples, 100.00%)",
        "all (4 samples, 100%)",
    ];
    for title in expected {
        assert!(titles.contains(&title.to_owned()), "{title} is not in {titles:?}");
    }
    assert_eq!(titles.len(), expected.len());
}

#[test]
fn siblings_are_drawn_once_whatever_their_names() {
    // Sorted as whole lines, `a b` would stand between `a` and `a;x`.
    let titles =
        titles(&draw_stacks(&[("a", 1), ("a;x", 1), ("a b", 1), ("a b;y", 1), ("a:c", 1)]));
    for title in ["a (2 samples, 40.00%)", "a b (2 samples, 40.00%)", "a:c (1 samples, 20.00%)"] {
        assert_eq!(
            titles.iter().filter(|found| *found == title).count(),
            1,
            "{title} in {titles:?}"
        );
    }
}

#[test]
fn one_text_can_have_several_colours() {
    let words = ["system", "gc", "compiler", "regexp", "idle", "kernel", "addon"];
    let stacks: Vec<(String, u64)> =
        words.iter().map(|word| (format!("memset@{word}"), 1)).collect();
    let mut builder = Builder::new();
    builder.append(&profile(&Spec::of(&[("a", 1)])), Joining::default());
    let stacks: Vec<(String, u64)> = stacks
        .into_iter()
        .enumerate()
        .map(|(row, (name, weight))| (format!("f{row};{name}"), weight))
        .collect();
    let stacks: Vec<(&str, u64)> =
        stacks.iter().map(|(stack, weight)| (stack.as_str(), *weight)).collect();
    let svg = draw_stacks(&stacks);
    let mut colors: Vec<String> = frames(&svg)
        .into_iter()
        .filter(|frame| frame.0.starts_with("memset"))
        .map(|frame| frame.1)
        .collect();
    colors.sort();
    colors.dedup();
    assert_eq!(colors.len(), words.len());
    let expected = super::hex(views::palette::color(Category::Gc));
    assert!(colors.contains(&expected), "{colors:?}");
}

#[test]
fn hostile_names_give_valid_xml_and_keep_their_weight() {
    let names = [
        "</text><script>alert(1)</script>",
        "]]>",
        "<!-- -- -->",
        "a&b\"c'd",
        "\0\u{1}\u{1b}[31m\u{7f}\u{85}\u{9b}",
        "\u{fffe}\u{ffff}\u{feff}",
        "line\nbreak\r\ttab\u{2028}\u{2029}",
        "\u{202e}gnp.exe",
        "name 12",
        "name 1 2",
        "name 1.5",
        "-",
        "--",
        "# comment",
        "#",
        "x_[k]",
        "_[j]",
        " ",
        "12",
        "処理する",
        "🤖👩‍👩‍👧",
        "constructor",
        "<text id=\"subtitle\">",
    ];
    for options in options() {
        let mut stacks: Vec<(&str, u64)> = names.iter().map(|name| (*name, 1)).collect();
        let deep: Vec<String> = names.iter().map(|name| format!("top;{name};leaf")).collect();
        stacks.extend(deep.iter().map(|stack| (stack.as_str(), 1)));
        for thread in names {
            let profile =
                profile(&Spec { thread, lane: thread, unit: Unit::Event, ..Spec::of(&stacks) });
            let options = Options { title: Some(thread.into()), ..options.clone() };
            let svg = draw(&profile, &options);
            let all = titles(&svg).into_iter().find(|title| title.starts_with("all (")).unwrap();
            assert!(all.starts_with(&format!("all ({} ", stacks.len())), "{all}");
        }
    }
}

fn options() -> Vec<Options> {
    let with = |colors, width, reverse| Options {
        colors,
        width,
        reverse,
        inverted: reverse,
        ..all_frames()
    };
    vec![
        with(Colors::Category, None, false),
        with(Colors::Js, Some(600), true),
        with(Colors::Java, Some(0), false),
    ]
}

#[test]
fn names_stay_intact() {
    let titles =
        titles(&draw_stacks(&[("処理する", 1), ("🤖👩‍👩‍👧 x", 1), ("a<b> & c", 1), ("x_[k]", 1)]));
    for name in ["処理する (", "🤖👩‍👩‍👧 x (", "a<b> & c (", "x_[k] ("] {
        assert!(titles.iter().any(|title| title.starts_with(name)), "{name} in {titles:?}");
    }
}

#[test]
fn two_runs_give_equal_bytes() {
    let stacks = [("main;parse", 3), ("main;send@kernel", 1), ("main;send@gc;parse@gc", 1)];
    for word in Colors::words() {
        let options = Options { colors: Colors::from_word(word).unwrap(), ..all_frames() };
        assert_eq!(
            draw(&profile(&Spec::of(&stacks)), &options),
            draw(&profile(&Spec::of(&stacks)), &options)
        );
    }
}

#[test]
fn an_empty_selection_is_an_error() {
    let profile = profile(&Spec::of(&[("a", 1)]));
    let selection = Selection { range_ns: Some(0..1), ..Selection::default() };
    let mut out = Vec::new();
    let result =
        write(&profile, &weigh(&profile, &selection), &selection, &Options::default(), &mut out);
    assert!(matches!(result, Err(SvgError::Empty)));
    assert!(out.is_empty());
    let (nothing, everything) = (Builder::new().finish(), Selection::default());
    let result =
        write(&nothing, &weigh(&nothing, &everything), &everything, &Options::default(), &mut out);
    assert!(matches!(result, Err(SvgError::Empty)));
}

#[test]
fn samples_without_a_stack_are_drawn() {
    let svg = draw(&profile(&Spec { thread: "", ..Spec::of(&[("", 2), ("a", 1)]) }), &all_frames());
    assert!(titles(&svg).contains(&"(other) (2 samples, 66.67%)".to_owned()));
}

#[test]
fn huge_weights_keep_their_shares() {
    let stacks = [("a", u64::MAX), ("b", u64::MAX), ("c", u64::MAX / 2)];
    for unit in [Unit::Event, Unit::Ns, Unit::Bytes, Unit::Count] {
        let titles = titles(&draw(&profile(&Spec { unit, ..Spec::of(&stacks) }), &all_frames()));
        assert!(
            titles.iter().any(|title| title.starts_with("a (") && title.contains("40.00%")),
            "{titles:?}"
        );
    }
}

#[test]
fn a_deep_stack_is_drawn_whole() {
    let names: Vec<String> = (0..10_000).map(|row| format!("f{row}")).collect();
    let titles = titles(&draw_stacks(&[(&names.join(";"), 1)]));
    assert_eq!(titles.len(), 10_002);
}

#[test]
fn a_deep_ladder_is_drawn_whole() {
    let names: Vec<String> =
        (0..10_000).map(|row| format!("recursive /app/deep.js:{row}")).collect();
    let stacks: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let mut deepest = StackId::NONE;
    let ladder = profile_of(&Spec::of(&stacks), |builder, name| {
        deepest = push(builder, deepest, name);
        deepest
    });
    let svg = draw(&ladder, &all_frames());
    assert!(svg.contains("boxes below 0.1 % are left out"));
    assert_eq!(titles(&svg).len(), 9_993);
}

#[test]
fn many_nodes_are_drawn_quickly() {
    let stacks: Vec<(String, u64)> =
        (0..50_000).map(|row| (format!("a{};b{};c{row}", row % 7, row % 701), 1)).collect();
    let stacks: Vec<(&str, u64)> =
        stacks.iter().map(|(stack, weight)| (stack.as_str(), *weight)).collect();
    let profile = profile(&Spec::of(&stacks));
    assert!(draw(&profile, &all_frames()).len() < 1 << 20);
    assert_eq!(
        titles(&draw(&profile, &Options { min_width: Some(0.0), ..all_frames() })).len(),
        50_000 + 4907 + 9
    );
}

#[test]
fn merged_from_the_leaves_the_leaf_stands_at_the_root() {
    let options = Options { reverse: true, inverted: true, ..all_frames() };
    let svg = draw(&profile(&Spec::of(&[("a;leaf", 1), ("b;leaf", 2)])), &options);
    let titles = titles(&svg);
    assert!(titles.contains(&"leaf (3 samples, 100.00%)".to_owned()), "{titles:?}");
    assert!(titles.contains(&"b (2 samples, 66.67%)".to_owned()), "{titles:?}");
}

#[test]
fn the_legend_names_the_categories_in_the_picture() {
    let svg = draw_stacks(&[("main;parse", 3), ("main;send@kernel", 1)]);
    let document = parse(&svg);
    let head = document.descendants().find(|node| node.attribute("id") == Some("head")).unwrap();
    let texts: Vec<&str> = head
        .descendants()
        .filter(|node| node.tag_name().name() == "text")
        .filter_map(|node| node.text())
        .collect();
    assert!(texts.contains(&"app 75.0 %") && texts.contains(&"kernel 25.0 %"), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("garbage")));
    let options = Options { colors: Colors::Hot, ..Options::default() };
    assert!(!draw(&profile(&Spec::of(&[("a", 1)])), &options).contains("app 100"));
}

#[test]
fn boxes_stand_inside_of_their_callers() {
    for inverted in [false, true] {
        let svg = draw(
            &profile(&Spec::of(&[("a;b;c", 3), ("a;d", 4), ("e", 5)])),
            &Options { inverted, ..all_frames() },
        );
        let document = parse(&svg);
        let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
            node.attribute(name).unwrap().trim_end_matches('%').parse().unwrap()
        };
        let boxes = document.descendants().find(|node| node.attribute("id") == Some("boxes"));
        let boxes: Vec<(f64, f64, f64)> = boxes
            .unwrap()
            .children()
            .filter(roxmltree::Node::is_element)
            .map(|node| (number(&node, "x"), number(&node, "width"), number(&node, "y")))
            .collect();
        assert_eq!(boxes.len(), 7);
        let (_, _, root_y) = boxes[0];
        for (x, width, y) in &boxes[1..] {
            let step = if inverted { -18.0 } else { 18.0 };
            let is_caller = |other: &&(f64, f64, f64)| {
                let slack = 1e-3;
                other.2 == y + step
                    && other.0 <= x + slack
                    && other.0 + other.1 + slack >= x + width
            };
            assert_eq!(boxes.iter().filter(is_caller).count(), 1, "at {x} {y}");
            assert!(if inverted { *y > root_y } else { *y < root_y });
        }
    }
}

#[test]
fn nothing_in_a_picture_is_foreign_or_no_number() {
    let svg = draw_stacks(&[("main;parse", 3), ("main;send@kernel", 1)]);
    for word in ["NaN", "http://", "https://", "@import", "url("] {
        let rest = svg.replace("http://www.w3.org/2000/svg", "");
        assert!(!rest.contains(word), "{word}");
    }
    assert!(!super::SCRIPT.contains("]]>") && !super::STYLE.contains(['<', '&']));
    assert!(super::SCRIPT.contains(&format!("const LEVEL = {};", super::LEVEL)));
}
