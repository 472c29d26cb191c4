//! The lens: what has a box, what stands at the root, and that no sample is lost.
//!
//! A stack is written from its root: `runMicrotasks:node > handle:express > list`. Behind `:` stands a category, or the
//! package of a dependency; what has neither is a function of the application. `~` awaits.

use std::fs;
use std::path::Path;

use profile::{
    Builder, CallKind, Category, Frame, FrameId, Function, LaneInfo, ModuleId, NO_ADDRESS, Process,
    Profile, Role, Sample, SourceId, StackId, StringId, Thread, Tier, Unit,
};
use views::{
    CallTree, Direction, Label, Lens, NodeId, Selection, box_name, entries, lens_tree,
    opening_lens, weigh,
};

/// So many samples on a thread of that role, and their stack.
type Row = (u64, Role, &'static str);

const MAIN: Role = Role::MainLoop;

fn recording(rows: &[Row]) -> Profile {
    let mut builder = Builder::new();
    let process = builder.process(Process { pid: Some(1), ..Process::default() });
    let lane = LaneInfo { name: "cpu-clock", unit: Unit::Ns, timed: true, counted: true };
    let lane = builder.lane(lane);
    let name = builder.string("node");
    for (tid, (samples, role, text)) in rows.iter().enumerate() {
        let tid = Some(u32::try_from(tid).unwrap());
        let thread = builder.thread(Thread { process, tid, name, role: *role });
        let stack = stack(&mut builder, text);
        for time_ns in 0..*samples {
            builder.sample(lane, Sample { time_ns, thread, stack, weight: 10 });
        }
    }
    builder.finish()
}

fn stack(builder: &mut Builder, text: &str) -> StackId {
    let mut words = text.split_whitespace();
    let (mut parent, mut call) = (StackId::NONE, CallKind::Call);
    while let Some(word) = words.next() {
        let frame = frame(builder, word);
        parent = builder.stack_of(parent, frame, call, StackId::NONE);
        call = if words.next() == Some("~") { CallKind::Await } else { CallKind::Call };
    }
    parent
}

fn frame(builder: &mut Builder, word: &str) -> FrameId {
    let (name, kind) = word.split_once(':').unwrap_or((word, "app"));
    let (kind, of_package) = kind.split_once('/').unwrap_or((kind, ""));
    let category = Category::from_word(kind);
    let package = if category.is_some() { of_package } else { kind };
    let category = category.unwrap_or(Category::Dependency);
    let script = match category {
        Category::App => Some("/srv/app.js"),
        Category::Dependency => Some("/srv/node_modules/some.js"),
        Category::NodeCore if name == "listOnTimeout" => Some("node:internal/timers"),
        Category::NodeCore => Some("node:some"),
        _ => None,
    };
    let function = Function {
        name: builder.string(name),
        source: script.map_or(SourceId::NONE, |script| builder.source(script)),
        line: 1,
        column: 0,
        module: ModuleId::NONE,
        package: builder.optional_string(Some(package).filter(|name| !name.is_empty())),
        version: StringId::NONE,
    };
    let (function, symbol) = (builder.function(function), builder.string(name));
    builder.frame(Frame {
        function,
        line: 0,
        column: 0,
        category,
        tier: if script.is_some() { Tier::Ignition } else { Tier::None },
        inlined: false,
        address: NO_ADDRESS,
        symbol,
    })
}

fn tree(profile: &Profile, selection: &Selection, lens: Lens, direction: Direction) -> CallTree {
    let weights = weigh(profile, selection);
    lens_tree(profile, &weights, selection, &entries(profile), lens, direction)
}

/// Each path that has weight of its own, with its samples.
fn folded(profile: &Profile, tree: &CallTree) -> Vec<String> {
    let mut paths: Vec<String> = vec![String::new()];
    for node in &tree.nodes[1..] {
        let name = box_name(profile, node).name;
        let outside = &paths[node.parent.index()];
        paths.push(if outside.is_empty() { name } else { format!("{outside};{name}") });
    }
    let with_weight = paths.iter().zip(&tree.nodes).filter(|(_, node)| node.self_samples > 0);
    let mut lines: Vec<String> =
        with_weight.map(|(path, node)| format!("{path} {}", node.self_samples)).collect();
    lines.sort();
    lines
}

fn through(lens: Lens, rows: &[Row]) -> Vec<String> {
    let profile = recording(rows);
    let tree = tree(&profile, &Selection::of_logical(), lens, Direction::FromRoots);
    folded(&profile, &tree)
}

const TIMER: Row = (
    3,
    MAIN,
    "uv_run:libuv > RunTimers:node > listOnTimeout:node > poll > a:express > map:builtin > b:ejs > c:node > draw > \
     Scavenge:gc > memset:system > fault:kernel",
);

#[test]
fn each_lens_shows_what_it_promises() {
    let rows = [
        (Lens::Code, "timer ▸ poll;express ▸ 2 frames;draw;garbage collection 3"),
        (Lens::Packages, "timer ▸ poll;a;b;draw;garbage collection 3"),
        (Lens::Node, "timer ▸ poll;a;b;c;draw;garbage collection 3"),
        (
            Lens::Everything,
            "node;uv_run;RunTimers;listOnTimeout;poll;a;map;b;c;draw;Scavenge;memset;fault 3",
        ),
    ];
    for (lens, expected) in rows {
        assert_eq!(through(lens, &[TIMER]), [expected]);
    }
}

#[test]
fn the_root_stands_for_its_function_once() {
    let rows = [
        (1, MAIN, "listOnTimeout:node > poll > poll"),
        (2, MAIN, "listOnTimeout:node > run:queue > poll"),
        (4, MAIN, "listOnTimeout:node > poll"),
    ];
    let expected = ["timer ▸ poll 4", "timer ▸ poll;poll 1", "timer ▸ poll;queue ▸ 1 frame;poll 2"];
    assert_eq!(through(Lens::Code, &rows), expected);
}

#[test]
fn a_run_counts_the_most_frames_of_one_stack() {
    let rows = [
        (1, MAIN, "listOnTimeout:node > poll > a:express > b:express > c:ejs"),
        (1, MAIN, "listOnTimeout:node > poll > a:express > read:kernel"),
        (1, MAIN, "listOnTimeout:node > poll > d:express > draw > e:ejs"),
    ];
    let expected = [
        "timer ▸ poll;express ▸ 3 frames 1",
        "timer ▸ poll;express ▸ 3 frames;draw;ejs ▸ 1 frame 1",
        "timer ▸ poll;express ▸ 3 frames;kernel 1",
    ];
    assert_eq!(through(Lens::Code, &rows), expected);
}

#[test]
fn what_nobody_asked_for_stands_beside() {
    let rows = [
        (1, Role::LibuvPool, "start:system > worker:libuv > hash:addon/bcrypt > memset:system"),
        (1, Role::LibuvPool, "start:system > worker:libuv > read:node > vfs_read:kernel"),
        (1, Role::V8Platform, "start:system > Mark:gc > memset:system"),
        (1, MAIN, "uv_run:libuv > Mark:gc > memset:system"),
        (1, MAIN, "uv_run:libuv > epoll:kernel"),
        (1, MAIN, "Compile:compiler > memset:system"),
        (1, MAIN, "swapper:idle"),
        (1, MAIN, "x:unknown"),
        (1, MAIN, "uv_run:libuv > listOnTimeout:node > call:builtin"),
        (1, MAIN, ""),
        (1, Role::Other, "start:system > work:addon"),
    ];
    let expected = [
        "Node.js 1",
        "Node.js;work 1",
        "V8's threads;garbage collection 1",
        "compiler 1",
        "garbage collection 1",
        "idle 1",
        "kernel 1",
        "thread pool;worker;hash 1",
        "thread pool;worker;read;kernel 1",
        "unknown 2",
    ];
    assert_eq!(through(Lens::Code, &rows), expected);
    let at_node = through(Lens::Node, &rows[4..5]);
    assert_eq!(at_node, ["kernel;uv_run;kernel 1"]);
}

/// Addons and WebAssembly belong to their packages, and else to the user.
#[test]
fn native_code_without_a_package_is_the_users() {
    let rows = [
        (1, MAIN, "listOnTimeout:node > poll > hash:addon/bcrypt"),
        (1, MAIN, "listOnTimeout:node > poll > mix:wasm > inner:wasm"),
    ];
    let expected = ["timer ▸ poll;bcrypt ▸ 1 frame 1", "timer ▸ poll;mix;inner 1"];
    assert_eq!(through(Lens::Code, &rows), expected);
}

#[test]
fn awaits_keep_their_mark_and_hidden_frames_leave() {
    let profile = recording(&[(1, MAIN, "listOnTimeout:node > poll ~ load > a:express")]);
    let hidden = Selection { hidden: vec![Category::Dependency], ..Selection::of_logical() };
    let tree = tree(&profile, &hidden, Lens::Code, Direction::FromRoots);
    assert_eq!(folded(&profile, &tree), ["timer ▸ poll;load 1"]);
    assert!(matches!(tree.nodes[2].label, Label::Awaited(_, CallKind::Await)));
}

#[test]
fn merged_from_the_leaves_boxes_are_the_same() {
    let profile = recording(&[TIMER]);
    let tree = tree(&profile, &Selection::of_logical(), Lens::Code, Direction::FromLeaves);
    let names: Vec<String> = tree.nodes.iter().map(|node| box_name(&profile, node).name).collect();
    let expected = ["all", "garbage collection", "draw", "express ▸ 2 frames", "timer ▸ poll"];
    assert_eq!(names, expected);
    assert_eq!(tree.nodes[1].self_samples, 3);
}

#[test]
fn a_recording_opens_with_what_it_has() {
    let opens = |rows: &[Row]| {
        let profile = recording(rows);
        opening_lens(&profile, &entries(&profile))
    };
    let (own, package) = ("listOnTimeout:node > poll", "listOnTimeout:node > a:next");
    assert_eq!(opens(&[(1, MAIN, own), (99, MAIN, package)]), Lens::Code);
    assert_eq!(opens(&[(1, MAIN, own), (100, MAIN, package)]), Lens::Packages);
    assert_eq!(opens(&[(1, MAIN, own), (100, MAIN, "epoll:kernel")]), Lens::Code);
    assert_eq!(opens(&[(9, MAIN, "main:system > epoll:kernel")]), Lens::Everything);
    // Node's own JavaScript alone, and a package's code that no JavaScript called.
    assert_eq!(opens(&[(9, MAIN, "listOnTimeout:node > clear:node")]), Lens::Everything);
    let on_pool = (1, Role::LibuvPool, "work:libuv > hash:addon/bcrypt");
    assert_eq!(opens(&[(9, MAIN, "listOnTimeout:node"), on_pool]), Lens::Everything);
    assert_eq!(opens(&[(9, MAIN, "listOnTimeout:node"), (1, MAIN, package)]), Lens::Packages);
}

#[test]
fn a_ladder_of_recursion_takes_no_square_of_time() {
    let mut builder = Builder::new();
    let process = builder.process(Process::default());
    let name = builder.string("node");
    let thread = builder.thread(Thread { process, tid: None, name, role: MAIN });
    let lane = LaneInfo { name: "cpu-clock", unit: Unit::Ns, timed: true, counted: true };
    let lane = builder.lane(lane);
    let frames = [frame(&mut builder, "f"), frame(&mut builder, "g:express")];
    let mut stack = StackId::NONE;
    for time_ns in 0..15_000 {
        stack = builder.stack(stack, frames[time_ns as usize % 2]);
        builder.sample(lane, Sample { time_ns, thread, stack, weight: 1 });
    }
    let profile = builder.finish();
    let tree = tree(&profile, &Selection::of_logical(), Lens::Code, Direction::FromRoots);
    assert_eq!(tree.node(NodeId::ROOT).total_samples, 15_000);
}

fn recordings() -> Vec<(String, Profile)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut all: Vec<(String, Profile)> = fs::read_dir(corpus)
        .unwrap()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let bytes = fs::read(entry.path().join("input.nodescope")).ok()?;
            let profile = profile::file::read(&bytes).ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), profile))
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn real_recordings_keep_their_weight_under_every_lens() {
    let recordings = recordings();
    assert!(recordings.len() > 20);
    for (name, profile) in &recordings {
        for selection in [Selection::of_logical(), Selection::default()] {
            let weights = weigh(profile, &selection);
            for (lens, direction) in Lens::ALL
                .into_iter()
                .flat_map(|lens| [(lens, Direction::FromRoots), (lens, Direction::FromLeaves)])
            {
                let tree = tree(profile, &selection, lens, direction);
                let root = tree.node(NodeId::ROOT);
                assert_eq!(
                    (root.total_weight, root.total_samples),
                    (weights.total, weights.samples),
                    "{name} {lens:?}"
                );
                let own: u64 = tree.nodes.iter().map(|node| node.self_weight).sum();
                assert_eq!(own, weights.total, "{name} {lens:?}");
            }
        }
    }
}

/// The boxes right above the root are what the table of entries has, or stand beside.
#[test]
fn roots_are_entries_and_packages_fold() {
    let mut runs = 0;
    for (name, profile) in &recordings() {
        let tree = tree(profile, &Selection::of_logical(), Lens::Code, Direction::FromRoots);
        for node in &tree.nodes[1..] {
            let is_root = matches!(node.label, Label::Entry(..) | Label::Beside(_));
            assert_eq!(is_root, node.parent == NodeId::ROOT, "{name}: {:?}", node.label);
            let outside = tree.node(node.parent).label;
            let is_run = matches!(node.label, Label::Packages(_));
            assert!(!(is_run && matches!(outside, Label::Packages(_))), "{name}: a run in a run");
            assert!(!matches!(outside, Label::Engine(_)), "{name}: a box in the engine's");
            runs += u32::from(is_run && node.frames > 3);
        }
    }
    assert!(runs > 20, "only {runs} runs of packages");
}
