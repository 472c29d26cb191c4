//! Joins what the readers saw into one profile, chunk by chunk in the order of the input, so that the result
//! does not depend on how many readers there were. Every distinct symbol is named here, once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use profile::{
    Budget, Builder, Frame, FrameId, Function, FunctionId, LaneId, LaneInfo, NO_ADDRESS, Profile,
    Sample, StackId, ThreadId, Unclosed, Unit,
};
use rustc_hash::FxHashMap;

use super::comments;
use super::rows::{ChunkData, NONE, RawSample, RawStack, RawSwitch, RawSymbol, RawThread, Rows};
use naming::add::{self, NamedSymbol};
use naming::finish::{infer_roles, settle_clock, settle_quality};
use naming::off_cpu::{CpuSwitch, add_off_cpu_times};

/// A chunk's data and the reader whose tables it refers to.
pub(super) struct Part {
    pub(super) reader: usize,
    pub(super) data: ChunkData,
}

/// Room for a minute of a busy Node, which a small recording does not touch.
const ROOM: Room = Room { frames: 1 << 14, stacks: 1 << 16, samples: 1 << 16 };

struct Room {
    frames: usize,
    stacks: usize,
    samples: usize,
}

/// Takes chunks as they are read, in any order, and joins those that are in turn: whichever reader finds
/// the profile free does it, the others go on reading.
pub(super) struct Merger {
    arrived: Mutex<BTreeMap<usize, Part>>,
    joined: Mutex<Joined>,
    budget: Budget,
}

impl Merger {
    pub(super) fn new(readers: NonZero<usize>, budget: &Budget) -> Self {
        let joined = Mutex::new(Joined::new(readers.get(), budget));
        Self { arrived: Mutex::default(), joined, budget: budget.clone() }
    }

    pub(super) fn add(&self, part: Part) {
        self.budget.take(part.data.new_rows.cost());
        self.arrived().insert(part.data.index, part);
        let Ok(mut joined) = self.joined.try_lock() else { return };
        while let Some(part) = self.next_in_turn(&joined) {
            joined.join(part);
        }
    }

    /// Joins what is left and closes the profile.
    pub(super) fn finish(self, read_error: Option<String>) -> Profile {
        let mut joined = self.joined.into_inner().unwrap_or_else(PoisonError::into_inner);
        let arrived = self.arrived.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut parts: Vec<Part> = arrived.into_values().collect();
        if !joined.has_samples {
            integrate_deltas(&mut parts);
        }
        for part in parts {
            joined.join(part);
        }
        joined.finish(read_error)
    }

    /// The next chunk of the input, if it is here. A first time of 0 may be one of `--deltatime`, which only
    /// the whole input can show: then everything waits for the end.
    fn next_in_turn(&self, joined: &Joined) -> Option<Part> {
        let mut arrived = self.arrived();
        let first = arrived.first_entry().filter(|first| *first.key() == joined.parts)?;
        let starts_at_zero =
            |part: &Part| part.data.samples.first().is_some_and(|sample| sample.time_ns == 0);
        let waits = !joined.has_samples && starts_at_zero(first.get());
        (!waits).then(|| first.remove())
    }

    fn arrived(&self) -> MutexGuard<'_, BTreeMap<usize, Part>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The profile of the chunks so far.
struct Joined {
    builder: Builder,
    /// What each reader handed over so far.
    readers: Vec<Arrived>,
    /// What is named already, by any reader.
    named: FxHashMap<Arc<RawSymbol>, NamedSymbol>,
    switches: Vec<(ThreadId, RawSwitch)>,
    parts: usize,
    lines: u64,
    has_samples: bool,
}

/// The rows of one reader, and where they went: stacks at once, the others when they are first met, since a
/// frame that gets a source line is never used without it.
#[derive(Default)]
struct Arrived {
    rows: Rows,
    threads: Vec<Option<ThreadId>>,
    events: Vec<Option<LaneId>>,
    symbols: Vec<Option<NamedSymbol>>,
    frames: Vec<FrameId>,
    stacks: Vec<StackId>,
}

impl Joined {
    fn new(readers: usize, budget: &Budget) -> Self {
        let mut builder = Builder::within(budget);
        builder.meta().format = "perf script".into();
        builder.reserve(ROOM.frames, ROOM.stacks);
        Self {
            builder,
            readers: (0..readers).map(|_| Arrived::default()).collect(),
            named: FxHashMap::default(),
            switches: Vec::new(),
            parts: 0,
            lines: 0,
            has_samples: false,
        }
    }

    fn join(&mut self, Part { reader, mut data }: Part) {
        let Self { builder, readers, named, switches, .. } = self;
        let arrived = &mut readers[reader];
        let stacks = std::mem::take(&mut data.new_rows.stacks);
        arrived.append(std::mem::take(&mut data.new_rows));
        let mut move_in = MoveIn { builder, arrived, named };
        move_in.add_stacks(&stacks);
        let mut last = None;
        for sample in &data.samples {
            let lane = move_in.lane(sample.event);
            let (thread, stack) = (move_in.thread(sample.thread), move_in.stack(sample.stack));
            let RawSample { time_ns, weight, .. } = *sample;
            move_in.builder.sample(lane, Sample { time_ns, thread, stack, weight });
            last = Some((lane, Unclosed { thread, stack, weight }));
        }
        switches
            .extend(data.switches.iter().map(|switch| (move_in.thread(switch.thread), *switch)));
        // Only the input's last chunk can end inside a sample.
        let unclosed = last.filter(|(lane, _)| data.unclosed && *lane == LaneId(0));
        builder.meta().losses.unclosed = unclosed.map(|(_, unclosed)| unclosed);
        comments::apply(&data.comments, builder.meta());
        note_losses(builder, &data, self.lines);
        self.lines += data.lines;
        self.parts += 1;
        self.has_samples |= !data.samples.is_empty();
    }

    fn finish(self, read_error: Option<String>) -> Profile {
        let Self { mut builder, switches, lines, .. } = self;
        if let Some(error) = read_error {
            builder.meta().losses.damage.push(format!("damaged after line {lines}: {error}"));
        }
        let switch = |(thread, RawSwitch { time_ns, out, .. })| CpuSwitch { thread, time_ns, out };
        add_off_cpu_times(&mut builder, switches.into_iter().map(switch), []);
        builder.clip_far_times();
        infer_roles(&mut builder);
        settle_quality(&mut builder);
        settle_clock(&mut builder);
        builder.finish()
    }
}

impl Arrived {
    fn append(&mut self, rows: Rows) {
        self.rows.append(rows);
        self.threads.resize(self.rows.threads.len(), None);
        self.events.resize(self.rows.events.len(), None);
        self.symbols.resize(self.rows.symbols.len(), None);
        self.frames.resize(self.rows.frames.len(), FrameId::NONE);
    }
}

/// Brings rows of one reader into the profile.
struct MoveIn<'a> {
    builder: &'a mut Builder,
    arrived: &'a mut Arrived,
    named: &'a mut FxHashMap<Arc<RawSymbol>, NamedSymbol>,
}

impl MoveIn<'_> {
    fn lane(&mut self, row: u32) -> LaneId {
        if let Some(id) = self.arrived.events[row as usize] {
            return id;
        }
        let event = &self.arrived.rows.events[row as usize];
        let name = text(&event.name);
        let unit = match (event.has_period, base_event(&name)) {
            (false, _) => Unit::Count,
            (true, "cpu-clock" | "task-clock") => Unit::Ns,
            (true, _) => Unit::Event,
        };
        let name = if name.is_empty() { "samples" } else { &name };
        let id = self.builder.lane(LaneInfo { name, unit, timed: event.has_time, counted: true });
        if self.builder.so_far().lane(id).samples.is_empty() {
            self.builder.reserve_samples(id, ROOM.samples);
        }
        self.arrived.events[row as usize] = Some(id);
        id
    }

    fn thread(&mut self, row: u32) -> ThreadId {
        if let Some(id) = self.arrived.threads[row as usize] {
            return id;
        }
        let id = add_thread(self.builder, &self.arrived.rows.threads[row as usize]);
        self.arrived.threads[row as usize] = Some(id);
        id
    }

    /// Each stack comes behind its caller.
    fn add_stacks(&mut self, stacks: &[RawStack]) {
        for RawStack { parent, frame } in stacks {
            let frame = self.frame(*frame);
            let stack = self.builder.stack(self.stack(*parent), frame);
            self.arrived.stacks.push(stack);
        }
    }

    fn stack(&self, row: u32) -> StackId {
        if row == NONE { StackId::NONE } else { self.arrived.stacks[row as usize] }
    }

    fn frame(&mut self, row: u32) -> FrameId {
        if let Some(id) = self.arrived.frames[row as usize].some() {
            return id;
        }
        let raw = self.arrived.rows.frames[row as usize];
        let named = self.symbol(raw.symbol);
        let mut function = named.function;
        let mut line = 0;
        if raw.source_line != NONE {
            let (file, number) = &self.arrived.rows.source_lines[raw.source_line as usize];
            line = *number;
            function = function_in(self.builder, function, &text(file));
        }
        let NamedSymbol { category, tier, symbol, .. } = named;
        let (address, inlined) =
            (if raw.address == NO_ADDRESS { 0 } else { raw.address }, raw.inlined);
        let frame = Frame { function, line, column: 0, category, tier, inlined, address, symbol };
        let id = self.builder.frame(frame);
        self.arrived.frames[row as usize] = id;
        id
    }

    fn symbol(&mut self, row: u32) -> NamedSymbol {
        if let Some(named) = self.arrived.symbols[row as usize] {
            return named;
        }
        let raw = &self.arrived.rows.symbols[row as usize];
        let builder = &mut *self.builder;
        let named = *self.named.entry(Arc::clone(raw)).or_insert_with(|| {
            add::symbol(
                builder,
                &text(&raw.symbol),
                raw.module.as_deref().map(text).as_deref(),
                None,
            )
        });
        self.arrived.symbols[row as usize] = Some(named);
        named
    }
}

/// The same function, now that its file is known.
fn function_in(builder: &mut Builder, function: FunctionId, file: &str) -> FunctionId {
    let row = builder.so_far().functions().row(function);
    if row.source.some().is_some() {
        return function;
    }
    let source = builder.source(file);
    builder.function(Function { source, ..row })
}

fn add_thread(builder: &mut Builder, raw: &RawThread) -> ThreadId {
    add::thread(builder, raw.pid, raw.tid, &text(&raw.comm))
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
        losses.damage.push(format!(
            "line {} was not understood: “{}”",
            lines_before + line,
            words.trim()
        ));
    }
    losses.skipped += data.skipped;
    if data.cut_off {
        losses.damage.push(format!("line {} is cut off", lines_before + data.lines));
    }
}

/// `--deltatime` prints the time since the sample before: the first is 0 and about half of the rest go back.
/// Then the true times are the running sum.
fn integrate_deltas(parts: &mut [Part]) {
    let mut times =
        parts.iter().flat_map(|part| part.data.samples.iter().map(|sample| sample.time_ns));
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
