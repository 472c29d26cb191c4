//! A profile small enough to know every answer by heart: 100 units of weight, so that weights are percents.

use profile::{
    Builder, Category, Frame, FrameId, Function, LaneInfo, LineTick, ModuleId, NO_ADDRESS, Process,
    Profile, Role, Sample, SourceId, StackId, Thread, ThreadId, Tier, Unit,
};
use views::{CallTree, Label, NodeId, Selection, TopKey, TopRow};

/// A function: its name, file, package, category and tier.
type Code = (&'static str, &'static str, &'static str, Category, Tier);

const START: Code = ("start", "", "", Category::NodeCore, Tier::None);
const HANDLE: Code = ("handle", "/srv/app.js", "", Category::App, Tier::Ignition);
/// The same function, optimised: another frame.
const HANDLE_FAST: Code = ("handle", "/srv/app.js", "", Category::App, Tier::Turbofan);
const FIB: Code = ("fib", "/srv/app.js", "", Category::App, Tier::Turbofan);
const PARSE: Code = (
    "parse",
    "/srv/node_modules/fast-json/index.js",
    "fast-json",
    Category::Dependency,
    Tier::Maglev,
);
const GC: Code = ("Heap::Scavenge", "", "", Category::Gc, Tier::None);
const MEMSET: Code = ("memset", "", "", Category::System, Tier::None);

/// time, thread, stack from its root, weight
type Row = (u64, usize, &'static [Code], u64);

const MAIN: usize = 0;
const POOL: usize = 1;
const OTHER: usize = 2;

const ROWS: &[Row] = &[
    (0, MAIN, &[START, HANDLE], 10),
    (10, MAIN, &[START, HANDLE_FAST], 10),
    (20, MAIN, &[START, HANDLE, PARSE], 10),
    (30, MAIN, &[START, HANDLE, PARSE, GC, MEMSET], 10),
    (40, MAIN, &[START, HANDLE, PARSE, GC], 10),
    (50, MAIN, &[START, FIB, FIB, FIB], 10),
    (60, POOL, &[], 10),
    (70, OTHER, &[START], 10),
    (80, OTHER, &[START, FIB, MEMSET], 20),
];

/// pid, tid, name, role
const THREADS: &[(u32, u32, &str, Role)] = &[
    (1, 1, "node", Role::MainLoop),
    (1, 2, "libuv-worker", Role::LibuvPool),
    (3, 3, "node", Role::MainLoop),
];

/// The profile.
pub fn shop() -> Profile {
    let mut builder = Builder::new();
    let threads: Vec<ThreadId> = THREADS.iter().map(|row| thread(&mut builder, row)).collect();
    let lane = LaneInfo { name: "cpu-clock", unit: Unit::Ns, timed: true, counted: true };
    let clock = builder.lane(lane);
    for &(time_ns, row, codes, weight) in ROWS {
        let stack = stack(&mut builder, codes);
        builder.sample(clock, Sample { time_ns, thread: threads[row], stack, weight });
    }
    let faults = builder.lane(LaneInfo { name: "page-faults", unit: Unit::Count, ..lane });
    let stack = stack(&mut builder, &[START, HANDLE]);
    builder.sample(faults, Sample { time_ns: 5, thread: threads[MAIN], stack, weight: 7 });
    builder.line_tick(LineTick { stack, line: 12, ticks: 3 });
    builder.line_tick(LineTick { stack, line: 13, ticks: 1 });
    builder.finish()
}

fn thread(builder: &mut Builder, &(pid, tid, name, role): &(u32, u32, &str, Role)) -> ThreadId {
    let process = Process { pid: Some(pid), ..Process::default() };
    let process = builder.process(process);
    let name = builder.string(name);
    builder.thread(Thread { process, tid: Some(tid), name, role })
}

fn stack(builder: &mut Builder, codes: &[Code]) -> StackId {
    codes.iter().fold(StackId::NONE, |stack, code| {
        let frame = frame(builder, *code);
        builder.stack(stack, frame)
    })
}

fn frame(builder: &mut Builder, (name, file, package, category, tier): Code) -> FrameId {
    let some = |text: &'static str| Some(text).filter(|text| !text.is_empty());
    let function = Function {
        name: builder.string(name),
        source: some(file).map_or(SourceId::NONE, |path| builder.source(path)),
        line: 0,
        column: 0,
        module: ModuleId::NONE,
        package: builder.optional_string(some(package)),
        version: profile::StringId::NONE,
    };
    let function = builder.function(function);
    let symbol = builder.string(name);
    let address = NO_ADDRESS;
    builder.frame(Frame {
        function,
        line: 0,
        column: 0,
        category,
        tier,
        inlined: false,
        address,
        symbol,
    })
}

/// A tree as text: a line for each node, `path self/total`, sorted; categories where they are asked for.
pub fn outline(profile: &Profile, tree: &CallTree) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for (row, node) in tree.nodes.iter().enumerate() {
        let name = match node.label {
            Label::Root => "all".to_owned(),
            Label::Thread(name) => format!("[{}]", profile.text(name)),
            Label::Function(id) | Label::Awaited(id, _) => {
                profile.text(profile.functions().row(id).name).to_owned()
            }
            _ => views::box_name(profile, node).name,
        };
        assert!(row == 0 || node.parent.index() < row, "a parent stands before its children");
        let path = if row == 0 { name } else { format!("{};{name}", paths[node.parent.index()]) };
        paths.push(path);
    }
    assert_eq!(tree.node(NodeId::ROOT).parent, NodeId::ROOT);
    let mut lines: Vec<String> = paths
        .iter()
        .zip(&tree.nodes)
        .map(|(path, node)| {
            let path = path.strip_prefix("all;").unwrap_or(path);
            format!("{path} {}/{}", node.self_weight, node.total_weight)
        })
        .collect();
    lines.sort();
    lines
}

/// A top list as text: `name self/total`, in its order.
pub fn listing(profile: &Profile, rows: &[TopRow]) -> Vec<String> {
    let name = |key: TopKey| match key {
        TopKey::Function(id) => profile.text(profile.functions().row(id).name).to_owned(),
        TopKey::Source(id) => profile.source_path(id).unwrap_or_default().to_owned(),
        TopKey::Module(id) => profile.module_name(id).unwrap_or_default().to_owned(),
        TopKey::Package(id, _) => profile.text(id).to_owned(),
        TopKey::Category(category) => category.word().to_owned(),
        TopKey::Line(id, line) => format!("{}:{line}", profile.source_path(id).unwrap_or_default()),
        TopKey::Thread(id) => {
            let thread = profile.thread(id);
            format!("{} {}", profile.text(thread.name), thread.tid.unwrap_or_default())
        }
        TopKey::Process(id) => format!("pid {}", profile.process(id).pid.unwrap_or_default()),
    };
    rows.iter()
        .map(|row| format!("{} {}/{}", name(row.key), row.self_weight, row.total_weight))
        .collect()
}

/// A selection of everything but what `narrow` changes.
pub fn select(narrow: impl FnOnce(&mut Selection)) -> Selection {
    let mut selection = Selection::default();
    narrow(&mut selection);
    selection
}
