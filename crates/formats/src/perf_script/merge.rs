//! Joins what the readers saw into one profile, chunk by chunk in the order of the input, so that the result
//! does not depend on how many readers there were. Every distinct symbol is named here, once.

use std::borrow::Cow;

use profile::{
    Builder, Category, Frame, FrameId, Function, FunctionId, LaneId, LaneInfo, Marker, MarkerKind, ModuleId,
    NO_ADDRESS, Process, Profile, Role, Sample, SourceId, StackId, StringId, Thread, ThreadId, Tier,
    Unclosed, Unit, classify,
};
use rustc_hash::FxHashMap;

use super::comments;
use super::frame::NAMELESS;
use super::reader::{ChunkData, NONE, RawSwitch, RawSymbol, RawThread, Reader};
use crate::finish::{infer_roles, settle_quality};
use crate::generated::module_of;
use crate::naming;

/// A chunk's data and the reader whose tables it refers to.
pub(super) struct Part {
    pub(super) reader: usize,
    pub(super) data: ChunkData,
}

/// Where the rows of one reader's tables went; filled when they are first met.
#[derive(Default)]
struct Moved {
    threads: Vec<Option<ThreadId>>,
    events: Vec<Option<LaneId>>,
    symbols: Vec<Option<NamedSymbol>>,
    frames: Vec<Option<FrameId>>,
    stacks: Vec<Option<StackId>>,
    missing_stacks: Vec<u32>,
}

#[derive(Clone, Copy)]
struct NamedSymbol {
    function: FunctionId,
    category: Category,
    tier: Tier,
    symbol: StringId,
}

pub(super) fn merge(readers: &[Reader], mut parts: Vec<Part>, read_error: Option<String>) -> Profile {
    parts.sort_by_key(|part| part.data.index);
    integrate_deltas(&mut parts);
    let mut builder = Builder::new();
    builder.meta().format = "perf script".into();
    reserve(&mut builder, readers);
    let mut moved: Vec<Moved> = readers.iter().map(Moved::for_reader).collect();
    let mut named = FxHashMap::default();
    let samples = parts.iter().map(|part| part.data.samples.len()).sum();
    let mut switches = Vec::new();
    let mut lines_before = 0;
    let last_part = parts.len().saturating_sub(1);
    for (part, Part { reader: row, data }) in parts.iter().enumerate() {
        let (reader, moved) = (&readers[*row], &mut moved[*row]);
        let mut move_in = MoveIn { builder: &mut builder, reader, moved, named: &mut named, samples };
        for sample in &data.samples {
            let lane = move_in.lane(sample.event);
            let (thread, stack) = (move_in.thread(sample.thread), move_in.stack(sample.stack));
            move_in
                .builder
                .sample(lane, Sample { time_ns: sample.time_ns, thread, stack, weight: sample.weight });
        }
        if let Some(sample) = data.samples.last().filter(|_| part == last_part && data.unclosed) {
            let (thread, stack) = (move_in.thread(sample.thread), move_in.stack(sample.stack));
            let in_main_lane = move_in.lane(sample.event) == LaneId(0);
            let unclosed = in_main_lane.then_some(Unclosed { thread, stack, weight: sample.weight });
            move_in.builder.meta().losses.unclosed = unclosed;
        }
        switches.extend(data.switches.iter().map(|switch| (move_in.thread(switch.thread), *switch)));
        comments::apply(&data.comments, builder.meta());
        note_losses(&mut builder, data, lines_before);
        lines_before += data.lines;
    }
    if let Some(error) = read_error {
        let note = format!("damaged after line {lines_before}: {error}");
        builder.meta().losses.damage.push(note);
    }
    add_off_cpu_markers(&mut builder, &switches);
    infer_roles(&mut builder);
    settle_quality(&mut builder);
    settle_clock(&mut builder);
    builder.finish()
}

/// Readers of one input see much the same, so the largest is a good guess for all.
fn reserve(builder: &mut Builder, readers: &[Reader]) {
    let frames = readers.iter().map(|reader| reader.frames.frames.len()).max().unwrap_or(0);
    let stacks = readers.iter().map(|reader| reader.stacks.len()).max().unwrap_or(0);
    builder.reserve(frames, stacks);
}

impl Moved {
    fn for_reader(reader: &Reader) -> Self {
        Self {
            threads: vec![None; reader.threads.len()],
            events: vec![None; reader.events.len()],
            symbols: vec![None; reader.frames.symbols.len()],
            frames: vec![None; reader.frames.frames.len()],
            stacks: vec![None; reader.stacks.len()],
            missing_stacks: Vec::new(),
        }
    }
}

/// Brings rows of one reader into the profile.
struct MoveIn<'a, 'b> {
    builder: &'b mut Builder,
    reader: &'a Reader,
    moved: &'b mut Moved,
    /// What is named already, by this reader or another.
    named: &'b mut FxHashMap<&'a RawSymbol, NamedSymbol>,
    /// How many samples there are in all.
    samples: usize,
}

impl MoveIn<'_, '_> {
    fn lane(&mut self, row: u32) -> LaneId {
        if let Some(id) = self.moved.events[row as usize] {
            return id;
        }
        let event = &self.reader.events[row as usize];
        let name = text(&event.name);
        let unit = match (event.has_period, base_event(&name)) {
            (false, _) => Unit::Count,
            (true, "cpu-clock" | "task-clock") => Unit::Ns,
            (true, _) => Unit::Event,
        };
        let name = if name.is_empty() { "samples" } else { &name };
        let id = self.builder.lane(LaneInfo { name, unit, timed: event.has_time, counted: true });
        if self.builder.so_far().lanes().len() == 1 {
            self.builder.reserve_samples(id, self.samples);
        }
        self.moved.events[row as usize] = Some(id);
        id
    }

    fn thread(&mut self, row: u32) -> ThreadId {
        if let Some(id) = self.moved.threads[row as usize] {
            return id;
        }
        let id = add_thread(self.builder, &self.reader.threads[row as usize]);
        self.moved.threads[row as usize] = Some(id);
        id
    }

    fn stack(&mut self, row: u32) -> StackId {
        if row == NONE {
            return StackId::NONE;
        }
        // Callers first: down to the first one that is there already, then up again.
        let mut missing = std::mem::take(&mut self.moved.missing_stacks);
        let mut at = row;
        let mut stack = StackId::NONE;
        while at != NONE {
            if let Some(id) = self.moved.stacks[at as usize] {
                stack = id;
                break;
            }
            missing.push(at);
            at = self.reader.stacks[at as usize].parent;
        }
        for row in missing.drain(..).rev() {
            let frame = self.frame(self.reader.stacks[row as usize].frame);
            stack = self.builder.stack(stack, frame);
            self.moved.stacks[row as usize] = Some(stack);
        }
        self.moved.missing_stacks = missing;
        stack
    }

    fn frame(&mut self, row: u32) -> FrameId {
        if let Some(id) = self.moved.frames[row as usize] {
            return id;
        }
        let raw = self.reader.frames.frames[row as usize];
        let named = self.symbol(raw.symbol);
        let mut function = named.function;
        let mut line = 0;
        if raw.source_line != NONE {
            let (file, number) = &self.reader.frames.source_lines[raw.source_line as usize];
            line = *number;
            function = self.function_in(function, &text(file));
        }
        let NamedSymbol { category, tier, symbol, .. } = named;
        let (address, inlined) = (if raw.address == NO_ADDRESS { 0 } else { raw.address }, raw.inlined);
        let frame = Frame { function, line, column: 0, category, tier, inlined, address, symbol };
        let id = self.builder.frame(frame);
        self.moved.frames[row as usize] = Some(id);
        id
    }

    /// The same function, now that its file is known.
    fn function_in(&mut self, function: FunctionId, file: &str) -> FunctionId {
        let row = self.builder.so_far().functions().row(function);
        if row.source.some().is_some() {
            return function;
        }
        let source = self.builder.source(file);
        self.builder.function(Function { source, ..row })
    }

    fn symbol(&mut self, row: u32) -> NamedSymbol {
        if let Some(named) = self.moved.symbols[row as usize] {
            return named;
        }
        let raw = &self.reader.frames.symbols[row as usize];
        let builder = &mut *self.builder;
        let named = *self.named.entry(raw).or_insert_with(|| {
            add_symbol(builder, &text(&raw.symbol), raw.module.as_deref().map(text).as_deref())
        });
        self.moved.symbols[row as usize] = Some(named);
        named
    }
}

fn add_symbol(builder: &mut Builder, symbol: &str, module: Option<&str>) -> NamedSymbol {
    let meaning = if symbol.as_bytes() == NAMELESS { "[unknown]" } else { symbol };
    let named = naming::name(meaning, module);
    let function = Function {
        name: builder.string(&named.function),
        source: named.source.map_or(SourceId::NONE, |path| builder.source(path)),
        line: named.line,
        column: named.column,
        module: module.map_or(ModuleId::NONE, |name| builder.module(module_of(symbol, name), None)),
        package: builder.optional_string(named.package),
    };
    let function = builder.function(function);
    NamedSymbol { function, category: named.category, tier: named.tier, symbol: builder.string(symbol) }
}

fn add_thread(builder: &mut Builder, raw: &RawThread) -> ThreadId {
    let comm = text(&raw.comm);
    let process = Process {
        pid: raw.pid,
        inner_pid: None,
        name: StringId::NONE,
        container: StringId::NONE,
        node_version: StringId::NONE,
    };
    let is_main = raw.pid.and_then(|pid| Some(pid == raw.tid?));
    let thread = Thread {
        process: builder.process(process),
        tid: raw.tid,
        name: builder.string(&comm),
        role: classify::role_of_thread(&comm, is_main).unwrap_or(Role::Other),
    };
    builder.thread(thread)
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// `cpu-clock:ppp` is cpu-clock.
fn base_event(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

fn note_losses(builder: &mut Builder, data: &ChunkData, lines_before: u64) {
    let losses = &mut builder.meta().losses;
    losses.lost = losses.lost.saturating_add(data.lost);
    losses.throttled += data.throttled;
    if let Some((line, words)) = &data.first_skipped
        && losses.skipped == 0
    {
        let words = text(words);
        losses.damage.push(format!("line {} was not understood: “{}”", lines_before + line, words.trim()));
    }
    losses.skipped += data.skipped;
    if data.cut_off {
        losses.damage.push(format!("line {} is cut off", lines_before + data.lines));
    }
}

/// `--deltatime` prints the time since the sample before: the first is 0 and about half of the rest go back.
/// Then the true times are the running sum.
fn integrate_deltas(parts: &mut [Part]) {
    let mut times = parts.iter().flat_map(|part| part.data.samples.iter().map(|sample| sample.time_ns));
    let Some(0) = times.next() else { return };
    let (mut count, mut backwards, mut last) = (0u64, 0u64, 0);
    for time in times {
        count += 1;
        backwards += u64::from(time < last);
        last = time;
    }
    if count < 8 || backwards * 5 < count {
        return;
    }
    let mut now_ns = 0u64;
    for sample in parts.iter_mut().flat_map(|part| &mut part.data.samples) {
        now_ns = now_ns.saturating_add(sample.time_ns);
        sample.time_ns = now_ns;
    }
}

/// Pairs each thread's leaving of a CPU with its return.
fn add_off_cpu_markers(builder: &mut Builder, switches: &[(ThreadId, RawSwitch)]) {
    let mut left_at: FxHashMap<ThreadId, u64> = FxHashMap::default();
    for &(thread, RawSwitch { time_ns, out, .. }) in switches {
        if out {
            left_at.insert(thread, time_ns);
        } else if let Some(start_ns) = left_at.remove(&thread).filter(|start_ns| *start_ns <= time_ns) {
            let (kind, text) = (MarkerKind::OffCpu, StringId::NONE);
            builder.marker(Marker { kind, thread, start_ns, end_ns: time_ns, text });
        }
    }
}

/// The clock at time 0, and the interval of a sampling by time.
fn settle_clock(builder: &mut Builder) {
    let lanes = builder.so_far().lanes();
    let first_ns =
        lanes.iter().filter(|lane| lane.timed).filter_map(|lane| lane.samples.time_ns.iter().min()).min();
    let start_clock_s = first_ns.map(|&ns| ns as f64 / 1e9);
    let main = lanes.first().filter(|lane| lane.unit == Unit::Ns);
    let interval_ns = main.and_then(|lane| median(&lane.samples.weight));
    builder.meta().start_clock_s = start_clock_s;
    builder.meta().interval_ns = interval_ns;
}

fn median(weights: &[u64]) -> Option<u64> {
    let mut weights = weights.to_vec();
    let middle = weights.len() / 2;
    (!weights.is_empty()).then(|| *weights.select_nth_unstable(middle).1)
}
