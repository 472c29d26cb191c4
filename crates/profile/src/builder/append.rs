//! Joining profiles: every row of one is found or made in the other, table after table, in the order in
//! which they refer to each other. On the way, code may become what it was made from ([`Originals`]).

use super::{Builder, LaneInfo};
use crate::category::Category;
use crate::ids::{
    FrameId, FunctionId, ModuleId, PackageId, ProcessId, SourceId, StackId, StringId, ThreadId,
};
use crate::meta::{Losses, Unclosed};
use crate::model::Profile;
use crate::originals::{OriginalFunction, Originals};
use crate::tables::{
    Delay, Frame, Function, LineTick, LongTurn, Loop, Marker, Module, OffCpuTime, Package,
    PackageUse, Pool, Process, Sample, Second, Source, Thread,
};

/// Where each row of the other profile went.
#[derive(Default)]
struct Moved {
    strings: Vec<StringId>,
    sources: Vec<SourceId>,
    modules: Vec<ModuleId>,
    functions: Vec<FunctionId>,
    frames: Vec<FrameId>,
    stacks: Vec<StackId>,
    processes: Vec<ProcessId>,
    threads: Vec<ThreadId>,
}

/// How a profile joins another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Joining<'a> {
    /// How much later than this one's the other's times start.
    pub later_ns: u64,
    /// What to call the other's processes that have neither a pid nor a name, so that they stay apart.
    pub process_name: Option<&'a str>,
}

pub(super) fn append(builder: &mut Builder, other: &Profile, joining: Joining<'_>) {
    append_tables(builder, other, joining, &Originals::default());
    append_meta(builder, other, joining.later_ns);
}

/// The same recording with its code as it was before some tool generated it.
pub(super) fn copy_with(other: &Profile, originals: &Originals) -> Builder {
    let mut builder = Builder::new();
    builder.reserve(other.frames.len(), other.stacks.len());
    builder.set_origin_ns(0);
    let moved = append_tables(&mut builder, other, Joining::default(), originals);
    let mut meta = other.meta.clone();
    meta.losses.unclosed = meta.losses.unclosed.map(|Unclosed { thread, stack, weight }| {
        Unclosed { thread: moved.threads[thread.index()], stack: moved.stack(stack), weight }
    });
    *builder.meta() = meta;
    builder
}

/// Adds the functions and frames of another profile; where each frame went.
pub(super) fn append_frames(builder: &mut Builder, other: &Profile) -> Vec<FrameId> {
    let mut moved = Moved {
        strings: other.strings.iter().map(|text| builder.string(text)).collect(),
        ..Moved::default()
    };
    append_functions(builder, other, &mut moved, &Originals::default());
    moved.frames
}

fn append_tables(
    builder: &mut Builder,
    other: &Profile,
    joining: Joining<'_>,
    originals: &Originals,
) -> Moved {
    let mut moved = Moved {
        strings: other.strings.iter().map(|text| builder.string(text)).collect(),
        ..Moved::default()
    };
    append_functions(builder, other, &mut moved, originals);
    for id in other.stacks.ids() {
        let row = other.stacks.row(id);
        let (parent, logical) = (moved.stack(row.parent), moved.stack(row.logical));
        let frame = moved.frames[row.frame.index()];
        let stack = builder.stack_of(parent, frame, row.call, logical);
        moved.stacks.push(stack);
    }
    append_threads(builder, other, &mut moved, joining.process_name);
    append_samples(builder, other, &moved, joining.later_ns);
    append_loops(builder, other, &moved, joining.later_ns);
    append_line_ticks(builder, other, &moved, originals);
    moved
}

impl Moved {
    fn string(&self, id: StringId) -> StringId {
        id.some().map_or(id, |id| self.strings[id.index()])
    }

    fn source(&self, id: SourceId) -> SourceId {
        id.some().map_or(id, |id| self.sources[id.index()])
    }

    fn module(&self, id: ModuleId) -> ModuleId {
        id.some().map_or(id, |id| self.modules[id.index()])
    }

    fn stack(&self, id: StackId) -> StackId {
        id.some().map_or(id, |id| self.stacks[id.index()])
    }
}

/// Everything that a frame refers to, and the frames.
fn append_functions(
    builder: &mut Builder,
    other: &Profile,
    moved: &mut Moved,
    originals: &Originals,
) {
    for row in &other.sources {
        // A source map's row may refer to a later one: such a reference is dropped rather than guessed.
        let generated = row.generated.some().filter(|id| id.index() < moved.sources.len());
        let row = Source {
            path: row.path.some().map_or(row.path, |path| builder.source_path(other.text(path))),
            generated: generated.map_or(SourceId::NONE, |id| moved.source(id)),
            text: moved.string(row.text),
        };
        moved.sources.push(builder.source_row(row));
    }
    for row in &other.modules {
        let row = Module { name: moved.string(row.name), build_id: moved.string(row.build_id) };
        moved.modules.push(builder.module_row(row));
    }
    append_packages(builder, other, moved);
    for id in other.functions.ids() {
        let row = other.functions.row(id);
        let row = Function {
            name: moved.string(row.name),
            source: moved.source(row.source),
            module: moved.module(row.module),
            package: moved.string(row.package),
            version: moved.string(row.version),
            ..row
        };
        let row = match originals.functions.get(&id) {
            Some(original) => original_function(builder, original, row),
            None => row,
        };
        moved.functions.push(builder.function(row));
    }
    for id in other.frames.ids() {
        let row = other.frames.row(id);
        let function = moved.functions[row.function.index()];
        let mut moved_row = Frame { function, symbol: moved.string(row.symbol), ..row };
        if let (Some(original), Some(function)) =
            (originals.frames.get(&id), originals.functions.get(&row.function))
        {
            moved_row.symbol = builder.string(&original.symbol);
            (moved_row.line, moved_row.column) = (original.line, original.column);
            if matches!(row.category, Category::App | Category::Dependency) {
                moved_row.category = function.category;
            }
        }
        moved.frames.push(builder.frame(moved_row));
    }
}

fn append_packages(builder: &mut Builder, other: &Profile, moved: &Moved) {
    let package = |row: &Package| {
        builder.package(Package {
            name: moved.string(row.name),
            version: moved.string(row.version),
            folder: moved.string(row.folder),
            own: row.own,
        })
    };
    let packages: Vec<PackageId> = other.packages.iter().map(package).collect();
    for row in &other.package_uses {
        let (by, package) = (packages[row.by.index()], packages[row.package.index()]);
        builder.package_use(PackageUse { by, package });
    }
}

/// `generated` is the function as it was recorded.
fn original_function(
    builder: &mut Builder,
    original: &OriginalFunction,
    generated: Function,
) -> Function {
    let OriginalFunction { name, path, line, column, package, .. } = original;
    let package = builder.optional_string(package.as_deref());
    Function {
        name: builder.string(name),
        source: builder.original_source(path, generated.source),
        line: *line,
        column: *column,
        package,
        version: if package == generated.package { generated.version } else { StringId::NONE },
        ..generated
    }
}

fn append_threads(builder: &mut Builder, other: &Profile, moved: &mut Moved, name: Option<&str>) {
    let name = builder.optional_string(name);
    for row in &other.processes {
        let is_nameless = row.pid.is_none() && row.name == StringId::NONE;
        let row = Process {
            name: if is_nameless { name } else { moved.string(row.name) },
            container: moved.string(row.container),
            node_version: moved.string(row.node_version),
            app: moved.string(row.app),
            command: moved.string(row.command),
            folder: moved.string(row.folder),
            ..row.clone()
        };
        moved.processes.push(builder.process(row));
    }
    for row in &other.threads {
        let process = moved.processes[row.process.index()];
        moved.threads.push(builder.thread(Thread {
            process,
            name: moved.string(row.name),
            ..*row
        }));
    }
}

fn append_samples(builder: &mut Builder, other: &Profile, moved: &Moved, later_ns: u64) {
    for lane in &other.lanes {
        let name = other.text(lane.name);
        let (unit, timed, counted) = (lane.unit, lane.timed, lane.counted);
        let id = builder.lane(LaneInfo { name, unit, timed, counted });
        for row in lane.samples.ids() {
            let row = lane.samples.row(row);
            let thread = moved.threads[row.thread.index()];
            let time_ns = row.time_ns.saturating_add(later_ns);
            builder.sample(id, Sample { time_ns, thread, stack: moved.stack(row.stack), ..row });
        }
    }
    for id in other.markers.ids() {
        let row = other.markers.row(id);
        let thread = moved.threads[row.thread.index()];
        let (start_ns, end_ns) =
            (row.start_ns.saturating_add(later_ns), row.end_ns.saturating_add(later_ns));
        builder.marker(Marker { thread, text: moved.string(row.text), start_ns, end_ns, ..row });
    }
    for id in other.off_cpu.ids() {
        let row = other.off_cpu.row(id);
        let thread = moved.threads[row.thread.index()];
        let start_ns = row.start_ns.saturating_add(later_ns);
        builder.off_cpu_time(OffCpuTime { thread, start_ns, ..row });
    }
}

fn append_loops(builder: &mut Builder, other: &Profile, moved: &Moved, later_ns: u64) {
    let later = |time_ns: u64| time_ns.saturating_add(later_ns);
    for row in other.loops.ids().map(|id| other.loops.row(id)) {
        let (start_ns, end_ns) = (later(row.start_ns), later(row.end_ns));
        let (thread, problem) = (moved.threads[row.thread.index()], moved.string(row.problem));
        builder.event_loop(Loop { thread, start_ns, end_ns, problem, ..row });
    }
    for row in other.long_turns.ids().map(|id| other.long_turns.row(id)) {
        let (start_ns, end_ns) = (later(row.start_ns), later(row.end_ns));
        let thread = moved.threads[row.thread.index()];
        builder.long_turn(LongTurn { thread, start_ns, end_ns, ..row });
    }
    for row in other.seconds.ids().map(|id| other.seconds.row(id)) {
        let (start_ns, end_ns) = (later(row.start_ns), later(row.end_ns));
        let process = moved.processes[row.process.index()];
        builder.second(Second { process, start_ns, end_ns, ..row });
    }
    for row in other.delays.ids().map(|id| other.delays.row(id)) {
        let (start_ns, end_ns) = (later(row.start_ns), later(row.end_ns));
        let thread = moved.threads[row.thread.index()];
        builder.delay(Delay { thread, start_ns, end_ns, ..row });
    }
    for row in other.pools.ids().map(|id| other.pools.row(id)) {
        let (start_ns, end_ns) = (later(row.start_ns), later(row.end_ns));
        let process = moved.processes[row.process.index()];
        builder.pool(Pool { process, start_ns, end_ns, ..row });
    }
}

fn append_line_ticks(builder: &mut Builder, other: &Profile, moved: &Moved, originals: &Originals) {
    for id in other.line_ticks.ids() {
        let row = other.line_ticks.row(id);
        let function = other.frames.function[other.stacks.frame[row.stack.index()].index()];
        let line = match originals.functions.contains_key(&function) {
            true => originals.line_ticks.get(&id).copied(),
            false => Some(row.line),
        };
        if let Some(line) = line {
            builder.line_tick(LineTick { stack: moved.stack(row.stack), line, ..row });
        }
    }
}

fn append_meta(builder: &mut Builder, other: &Profile, later_ns: u64) {
    let mine = builder.meta();
    let mut losses = std::mem::take(&mut mine.losses);
    let mut cost = mine.cost;
    if mine.format.is_empty() {
        *mine = other.meta.clone();
        mine.losses = Losses::default();
    }
    if let Some(more) = &other.meta.cost {
        cost.get_or_insert_default().add(more);
    }
    mine.cost = cost;
    mine.duration_ns = mine.duration_ns.max(other.meta.duration_ns.saturating_add(later_ns));
    let Losses {
        lost,
        throttled,
        cpu_ns,
        hidden_kernel_ns,
        unnamed,
        frames,
        skipped,
        ambiguous,
        inlined,
        damage,
        notes,
        helper_crashes,
        stacks_cut,
        awaits,
        unclosed: _,
    } = &other.meta.losses;
    losses.lost = losses.lost.saturating_add(*lost);
    losses.throttled = losses.throttled.saturating_add(*throttled);
    losses.hidden_kernel_ns = losses.hidden_kernel_ns.saturating_add(*hidden_kernel_ns);
    losses.cpu_ns = match (losses.cpu_ns, *cpu_ns) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    losses.frames = losses.frames.saturating_add(*frames);
    losses.skipped = losses.skipped.saturating_add(*skipped);
    losses.ambiguous = losses.ambiguous.saturating_add(*ambiguous);
    losses.inlined.add(inlined);
    for (reason, count) in unnamed {
        let sum = losses.unnamed.entry(reason.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
    losses.damage.extend(damage.iter().cloned());
    losses.notes.extend(notes.iter().cloned());
    losses.helper_crashes = losses.helper_crashes.saturating_add(*helper_crashes);
    losses.stacks_cut = losses.stacks_cut.saturating_add(*stacks_cut);
    losses.awaits.add(awaits);
    mine.losses = losses;
}
