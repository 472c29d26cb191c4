//! The only way to make a profile: rows are added, equal ones are found again, `finish` sorts and settles
//! the times.

mod append;
mod clip;
mod news;

pub use append::Joining;
pub use clip::is_far;
pub(crate) use news::{Again, News};

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::address;
use crate::budget::Budget;
use crate::category::{CallKind, Category, Role, Tier};
use crate::ids::{
    FrameId, FunctionId, LaneId, ModuleId, PackageId, ProcessId, RowId, SourceId, StackId,
    StringId, ThreadId,
};
use crate::meta::Meta;
use crate::model::Profile;
use crate::originals::Originals;
use crate::strings::Interner;
use crate::tables::{
    Delay, Frame, Function, Lane, LineTick, LongTurn, Loop, Marker, Module, OffCpuTime,
    OffCpuTimes, Package, PackageUse, Pool, Process, Sample, Samples, Second, Source, Stack,
    Stacks, Thread, Unit,
};

/// The most frames of a stack. Node itself overflows at about 11,000 calls, and recorders stop far earlier; a file that
/// claims more would make every walk from a stack to its root a long one.
pub const DEEPEST_STACK: u16 = 16 << 10;

/// What a lane is, before it has samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneInfo<'a> {
    /// The event.
    pub name: &'a str,
    /// What the weights count.
    pub unit: Unit,
    /// Whether the times mean anything.
    pub timed: bool,
    /// Whether a row is a sample that was really taken.
    pub counted: bool,
}

/// Collects rows; see the module's text.
#[derive(Default)]
pub struct Builder {
    profile: Profile,
    strings: Interner,
    sources: FxHashMap<Source, SourceId>,
    /// Sources that source maps led to, by path.
    originals: FxHashMap<StringId, SourceId>,
    modules: FxHashMap<Module, ModuleId>,
    packages: FxHashMap<Package, PackageId>,
    package_uses: FxHashSet<PackageUse>,
    functions: FxHashMap<Function, FunctionId>,
    frames: HashTable<FrameId>,
    stacks: HashTable<StackId>,
    /// How many frames each stack has.
    depths: Vec<u16>,
    /// Frames that were left out because their stacks are too deep.
    too_deep: u64,
    processes: FxHashMap<Process, ProcessId>,
    threads: FxHashMap<Thread, ThreadId>,
    lanes: FxHashMap<(StringId, Unit), LaneId>,
    origin_ns: Option<u64>,
    budget: Budget,
    /// What was taken out before its end.
    gone: news::Gone,
    changes: news::Changes,
}

/// What makes a stack the same as another.
fn stack_key(table: &Stacks, id: StackId) -> (StackId, FrameId, CallKind, StackId) {
    let row = id.index();
    (table.parent[row], table.frame[row], table.call[row], table.logical[row])
}

/// What a row takes in its table, in the one that finds it again, and in the views of it, in bytes.
mod cost {
    pub(super) const STRING: usize = 40;
    pub(super) const SMALL_ROW: usize = 128;
    pub(super) const FUNCTION: usize = 416;
    pub(super) const FRAME: usize = 80;
    pub(super) const STACK: usize = 96;
    pub(super) const SAMPLE: usize = 28;
    pub(super) const MARKER: usize = 40;
    pub(super) const LINE_TICK: usize = 16;
}

impl Builder {
    /// An empty profile.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty profile that counts what it takes.
    pub fn within(budget: &Budget) -> Self {
        Self { budget: budget.clone(), ..Self::default() }
    }

    /// The memory that it counts in.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Makes room for that many more frames and stacks.
    pub fn reserve(&mut self, frames: usize, stacks: usize) {
        let profile = &mut self.profile;
        profile.frames.reserve(frames);
        profile.stacks.reserve(stacks);
        let Profile { frames: frame_rows, stacks: stack_rows, .. } = profile;
        self.frames.reserve(frames, |&id| hash(&frame_rows.row(id)));
        self.stacks.reserve(stacks, |&id| hash(&stack_key(stack_rows, id)));
    }

    /// Makes room for that many more samples in a lane.
    pub fn reserve_samples(&mut self, lane: LaneId, samples: usize) {
        self.profile.lanes[lane.index()].samples.reserve(samples);
    }

    /// What is known of the recording as a whole.
    pub fn meta(&mut self) -> &mut Meta {
        &mut self.profile.meta
    }

    /// The row of a text.
    pub fn string(&mut self, text: &str) -> StringId {
        let before = self.strings.strings.len();
        let id = self.strings.intern(text);
        if self.strings.strings.len() > before {
            self.budget.take(cost::STRING + text.len());
        }
        id
    }

    /// The row of a text, or none for an absent one.
    pub fn optional_string(&mut self, text: Option<&str>) -> StringId {
        text.map_or(StringId::NONE, |text| self.string(text))
    }

    /// The text of a row.
    pub fn text(&self, id: StringId) -> &str {
        self.strings.strings.get(id)
    }

    /// The source of a path or URL; a file has one row, whichever of them an input has.
    pub fn source(&mut self, path: &str) -> SourceId {
        let path = self.source_path(path);
        self.source_row(Source { path, generated: SourceId::NONE, text: StringId::NONE })
    }

    fn source_path(&mut self, path: &str) -> StringId {
        match address::file_path(path) {
            Some(path) => self.string(&path),
            None => self.string(path),
        }
    }

    fn source_row(&mut self, row: Source) -> SourceId {
        let rows = &mut self.profile.sources;
        let budget = &self.budget;
        let id = *self.sources.entry(row).or_insert_with(|| {
            budget.take(cost::SMALL_ROW);
            push_row(rows, row, SourceId::from_index)
        });
        if row.generated.some().is_some() {
            self.originals.entry(row.path).or_insert(id);
        }
        id
    }

    /// The source that a source map led to, from the generated one. Where several lead to it, the first one counts: a
    /// function is the same in all bundles that it was put into.
    fn original_source(&mut self, path: &str, generated: SourceId) -> SourceId {
        let path = self.string(path);
        match self.originals.get(&path) {
            Some(id) => *id,
            None => self.source_row(Source { path, generated, text: StringId::NONE }),
        }
    }

    /// The module of a name.
    pub fn module(&mut self, name: &str, build_id: Option<&str>) -> ModuleId {
        let row = Module { name: self.string(name), build_id: self.optional_string(build_id) };
        self.module_row(row)
    }

    fn module_row(&mut self, row: Module) -> ModuleId {
        let rows = &mut self.profile.modules;
        let budget = &self.budget;
        *self.modules.entry(row).or_insert_with(|| {
            budget.take(cost::SMALL_ROW);
            push_row(rows, row, ModuleId::from_index)
        })
    }

    /// The row of a copy of a package.
    pub fn package(&mut self, row: Package) -> PackageId {
        let (rows, budget) = (&mut self.profile.packages, &self.budget);
        *self.packages.entry(row).or_insert_with(|| {
            budget.take(cost::SMALL_ROW);
            push_row(rows, row, PackageId::from_index)
        })
    }

    /// Notes that one package depends on another.
    pub fn package_use(&mut self, row: PackageUse) {
        if self.package_uses.insert(row) {
            self.budget.take(cost::SMALL_ROW);
            self.profile.package_uses.push(row);
        }
    }

    /// The row of a function.
    pub fn function(&mut self, row: Function) -> FunctionId {
        let (table, budget) = (&mut self.profile.functions, &self.budget);
        *self.functions.entry(row).or_insert_with(|| {
            budget.take(cost::FUNCTION);
            table.push(row)
        })
    }

    /// The row of a frame.
    pub fn frame(&mut self, row: Frame) -> FrameId {
        let table = &mut self.profile.frames;
        if let Some(&id) = self.frames.find(hash(&row), |&id| table.row(id) == row) {
            return id;
        }
        self.budget.take(cost::FRAME);
        let id = table.push(row);
        self.frames.insert_unique(hash(&row), id, |&id| hash(&table.row(id)));
        id
    }

    /// The stack of a frame called by `parent`, with its category. Beyond [`DEEPEST_STACK`] frames it is `parent`
    /// itself.
    pub fn stack(&mut self, parent: StackId, frame: FrameId) -> StackId {
        self.stack_of(parent, frame, CallKind::Call, StackId::NONE)
    }

    /// The stack of a frame that came to be under `parent` in some way, and that has a logical one or none.
    pub fn stack_of(
        &mut self,
        parent: StackId,
        frame: FrameId,
        call: CallKind,
        logical: StackId,
    ) -> StackId {
        let table = &mut self.profile.stacks;
        let key = (parent, frame, call, logical);
        if let Some(&id) = self.stacks.find(hash(&key), |&id| stack_key(table, id) == key) {
            return id;
        }
        let depth = parent.some().map_or(0, |id| self.depths[id.index()]);
        if depth >= DEEPEST_STACK {
            self.too_deep += 1;
            return parent;
        }
        self.depths.push(depth + 1);
        self.budget.take(cost::STACK);
        let caller = parent.some().map(|id| table.category[id.index()]);
        let frames = &self.profile.frames;
        let category =
            stack_category(caller, frames.category[frame.index()], frames.tier[frame.index()]);
        let id = table.push(Stack { parent, frame, category, call, logical });
        self.stacks.insert_unique(hash(&key), id, |&id| hash(&stack_key(table, id)));
        id
    }

    /// The row of a process.
    pub fn process(&mut self, row: Process) -> ProcessId {
        let rows = &mut self.profile.processes;
        if let Some(&id) = self.processes.get(&row) {
            return id;
        }
        self.budget.take(cost::SMALL_ROW);
        let id = push_row(rows, row.clone(), ProcessId::from_index);
        self.processes.insert(row, id);
        id
    }

    /// The row of a thread under a name.
    pub fn thread(&mut self, row: Thread) -> ThreadId {
        let (rows, budget) = (&mut self.profile.threads, &self.budget);
        *self.threads.entry(row).or_insert_with(|| {
            budget.take(cost::SMALL_ROW);
            push_row(rows, row, ThreadId::from_index)
        })
    }

    /// Settles what a thread is for, once more is known than its name.
    pub fn set_role(&mut self, thread: ThreadId, role: Role) {
        let row = Thread { role, ..self.profile.threads[thread.index()] };
        self.change_thread(thread, row);
    }

    /// The lane of a name and unit; the first one asked for is the main lane.
    pub fn lane(&mut self, info: LaneInfo<'_>) -> LaneId {
        let name = self.string(info.name);
        let rows = &mut self.profile.lanes;
        *self.lanes.entry((name, info.unit)).or_insert_with(|| {
            let LaneInfo { unit, timed, counted, .. } = info;
            push_row(
                rows,
                Lane { name, unit, timed, counted, samples: Samples::default() },
                LaneId::from_index,
            )
        })
    }

    /// Adds a sample. Its time may be on any clock: `finish` moves the earliest to 0.
    pub fn sample(&mut self, lane: LaneId, row: Sample) -> RowId {
        self.budget.take(cost::SAMPLE);
        self.gone.sample(lane, self.profile.lanes[lane.index()].samples.push(row))
    }

    /// Adds ticks on a line.
    pub fn line_tick(&mut self, row: LineTick) -> RowId {
        self.budget.take(cost::LINE_TICK);
        self.gone.line_tick(self.profile.line_ticks.push(row))
    }

    /// Adds a span or a point, on the clock of the samples.
    pub fn marker(&mut self, row: Marker) -> RowId {
        self.budget.take(cost::MARKER);
        self.gone.marker(self.profile.markers.push(row))
    }

    /// Adds an event loop, on the clock of the samples.
    pub fn event_loop(&mut self, row: Loop) -> RowId {
        self.gone.event_loop(self.profile.loops.push(row))
    }

    /// Adds a long turn of an event loop, on the clock of the samples.
    pub fn long_turn(&mut self, row: LongTurn) -> RowId {
        self.gone.long_turn(self.profile.long_turns.push(row))
    }

    /// Adds what the kernel counted for a process in a piece of time, on the clock of the samples.
    pub fn second(&mut self, row: Second) -> RowId {
        self.gone.second(self.profile.seconds.push(row))
    }

    /// Adds moments of an event loop that had the same delay, on the clock of the samples.
    pub fn delay(&mut self, row: Delay) -> RowId {
        self.gone.delay(self.profile.delays.push(row))
    }

    /// Adds what a thread pool did in a piece of time, on the clock of the samples.
    pub fn pool(&mut self, row: Pool) -> RowId {
        self.gone.pool(self.profile.pools.push(row))
    }

    /// Adds a time off the CPU, on the clock of the samples.
    pub fn off_cpu_time(&mut self, row: OffCpuTime) -> RowId {
        self.budget.take(cost::MARKER);
        self.gone.off_cpu_time(self.profile.off_cpu.push(row))
    }

    /// Sets the start of the recording, where the first sample is not it.
    pub fn set_origin_ns(&mut self, origin_ns: u64) {
        self.origin_ns = Some(origin_ns);
    }

    /// The tables so far.
    pub fn so_far(&self) -> &Profile {
        &self.profile
    }

    /// Adds all rows of another profile. Its meta is taken over when this one's is empty, its losses are
    /// always added.
    pub fn append(&mut self, other: &Profile, joining: Joining<'_>) {
        append::append(self, other, joining);
        self.origin_ns.get_or_insert(0);
    }

    /// Adds the functions and frames of another profile, without its stacks, samples and threads. Returns the row that
    /// each frame has here.
    pub fn append_frames(&mut self, other: &Profile) -> Vec<FrameId> {
        append::append_frames(self, other)
    }

    /// A builder that holds another profile, with its code as it was before some tool generated it.
    pub(crate) fn copy_with(other: &Profile, originals: &Originals) -> Self {
        append::copy_with(other, originals)
    }

    /// Sorts the samples by time, moves the earliest to 0 and closes the tables.
    pub fn finish(mut self) -> Profile {
        let mut profile = self.profile;
        profile.strings = std::mem::take(&mut self.strings.strings);
        let origin_ns = self.origin_ns.unwrap_or_else(|| earliest_ns(&profile));
        shift_times(&mut profile, origin_ns);
        profile.meta.losses.damage.extend(too_deep(self.too_deep));
        settle(&mut profile);
        debug_assert_eq!(profile.check(), Ok(()));
        profile
    }
}

/// GC, compiler, regexp and idle claim what they call, until a JavaScript function is entered: the callback
/// of a `String.replace` is the application's time, not the regexp's.
fn stack_category(caller: Option<Category>, category: Category, tier: Tier) -> Category {
    match caller {
        Some(caller) if caller.claims_callees() && !tier.is_javascript() => caller,
        _ => category,
    }
}

fn push_row<Row, Id>(rows: &mut Vec<Row>, row: Row, id: impl Fn(usize) -> Id) -> Id {
    rows.push(row);
    id(rows.len() - 1)
}

fn hash(key: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Lets all times count from the origin; times off the CPU become whole microseconds.
fn shift_times(profile: &mut Profile, origin_ns: u64) {
    for lane in &mut profile.lanes {
        let timed = lane.timed;
        for time in &mut lane.samples.time_ns {
            *time = if timed { time.saturating_sub(origin_ns) } else { 0 };
        }
    }
    for time in spans_mut(profile) {
        *time = time.saturating_sub(origin_ns);
    }
    for start_ns in &mut profile.off_cpu.start_ns {
        *start_ns = whole_us(start_ns.saturating_sub(origin_ns));
    }
    for length_ns in &mut profile.off_cpu.length_ns {
        *length_ns = whole_us(*length_ns);
    }
}

/// Sorts what has to be sorted, and lets the recording last until its last row.
pub(crate) fn settle(profile: &mut Profile) {
    profile.lanes.iter_mut().for_each(|lane| sort_by_time(&mut lane.samples));
    sort_off_cpu(&mut profile.off_cpu);
    profile.meta.duration_ns = profile.meta.duration_ns.max(latest_ns(profile));
}

/// The sentence about frames that were left out.
fn too_deep(frames: u64) -> Option<String> {
    (frames > 0)
        .then(|| format!("stacks have more than {DEEPEST_STACK} frames: {frames} are left out"))
}

/// The starts and ends of everything that lasts.
fn spans_mut(profile: &mut Profile) -> impl Iterator<Item = &mut u64> {
    let Profile { markers, loops, long_turns, seconds, delays, pools, .. } = profile;
    let markers = markers.start_ns.iter_mut().chain(&mut markers.end_ns);
    let loops = loops.start_ns.iter_mut().chain(&mut loops.end_ns);
    let turns = long_turns.start_ns.iter_mut().chain(&mut long_turns.end_ns);
    let seconds = seconds.start_ns.iter_mut().chain(&mut seconds.end_ns);
    let delays = delays.start_ns.iter_mut().chain(&mut delays.end_ns);
    let pools = pools.start_ns.iter_mut().chain(&mut pools.end_ns);
    markers.chain(loops).chain(turns).chain(seconds).chain(delays).chain(pools)
}

fn earliest_ns(profile: &Profile) -> u64 {
    let Profile { markers, off_cpu, loops, long_turns, seconds, .. } = profile;
    let lanes = profile.lanes.iter().filter(|lane| lane.timed);
    let samples = lanes.filter_map(|lane| lane.samples.time_ns.iter().min());
    let spans = [
        &markers.start_ns,
        &off_cpu.start_ns,
        &loops.start_ns,
        &long_turns.start_ns,
        &seconds.start_ns,
    ];
    samples
        .chain(spans.into_iter().filter_map(|starts| starts.iter().min()))
        .min()
        .copied()
        .unwrap_or(0)
}

fn latest_ns(profile: &Profile) -> u64 {
    let Profile { markers, loops, long_turns, seconds, .. } = profile;
    let samples = profile.lanes.iter().filter_map(|lane| lane.samples.time_ns.last());
    let spans = [&markers.end_ns, &loops.end_ns, &long_turns.end_ns, &seconds.end_ns];
    let ends = samples.chain(spans.into_iter().filter_map(|ends| ends.iter().max())).copied();
    let off_cpu = profile.off_cpu.start_ns.iter().zip(&profile.off_cpu.length_ns);
    ends.chain(off_cpu.map(|(start_ns, length_ns)| start_ns.saturating_add(*length_ns)))
        .max()
        .unwrap_or(0)
}

fn sort_off_cpu(rows: &mut OffCpuTimes) {
    if rows.start_ns.is_sorted() {
        return;
    }
    let mut all: Vec<OffCpuTime> = rows.ids().map(|id| rows.row(id)).collect();
    all.sort_by_key(|row| row.start_ns);
    *rows = OffCpuTimes::default();
    for row in all {
        rows.push(row);
    }
}

fn whole_us(ns: u64) -> u64 {
    ns / 1000 * 1000
}

fn sort_by_time(samples: &mut Samples) {
    if samples.time_ns.is_sorted() {
        return;
    }
    let mut order: Vec<u32> = (0..samples.len()).map(|row| RowId::from_index(row).0).collect();
    order.sort_by_key(|&row| samples.time_ns[row as usize]);
    fn pick<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
        *column = order.iter().map(|&row| column[row as usize]).collect();
    }
    pick(&mut samples.time_ns, &order);
    pick(&mut samples.thread, &order);
    pick(&mut samples.stack, &order);
    pick(&mut samples.weight, &order);
}
