//! Joins the profiles of one recording: window after window of each thread, of several threads and processes, on one
//! clock. Every window becomes a chunk of our own file, so that it can be written at once; together they are what one
//! long profile would have been. So each thread's last sample waits for the next window, which shows how long it
//! lasted.
//!
//! Windows overlap, and all samples between the start of one and the end of the one before are in both: they count
//! once. What the recorder itself runs in the target is no sample; its time goes to what ran before.

use std::collections::{BTreeSet, HashMap};
use std::io;

use naming::quality::Quality;
use profile::file::Growing;
use profile::{
    Builder, CALLS_LANE, Cost, FrameId, LaneInfo, Meta, Process, ProcessId, Role, Sample, StackId,
    Thread, ThreadId, Unit,
};

use super::add::{self, NodeRows};
use super::coverage::{self, SeenFunctions};
use super::frames::{FrameOf, Frames, Original};
use super::functions::{Functions, TextOf};
use super::inlined::Shares;
use super::parse;
use super::raw::{Call, RawProfile};

/// What recorded functions of our own have as their script.
const OURS: &str = "nodescope:";
/// What such a profile is called.
pub(super) const FORMAT: &str = "recorded by the inspector";
const WAY_IN: &str = "inspector";
const LANE: LaneInfo<'static> =
    LaneInfo { name: "cpu profile", unit: Unit::Ns, timed: true, counted: true };

/// A recording whose windows come one by one.
pub struct Joiner {
    growing: Growing,
    interval_ns: u64,
    samples: u64,
    /// The profiler's clock when the first process was met: where a recording starts that begins with no window.
    met_ns: u64,
    /// What is added to a time of the profiler's clock to make it one since 1970.
    to_unix_ns: Option<i128>,
    origin_ns: Option<u64>,
    threads: HashMap<Whose, Seen>,
    code: CodeOf,
    quality: Quality,
}

/// The code of each process, by its two pids, and what it was made from.
#[derive(Default)]
struct CodeOf {
    processes: HashMap<(Option<u32>, Option<u32>), Code>,
    original: Option<Original>,
}

impl CodeOf {
    fn get(&mut self, whose: &Whose) -> &mut Code {
        let original = &self.original;
        self.processes.entry(whose.pids()).or_insert_with(|| {
            let frames = Frames::new(whose.pid, original.clone());
            Code { frames, ..Code::default() }
        })
    }
}

/// The code of a process: where its functions stand, and their frames.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) functions: Functions,
    pub(super) frames: Frames,
}

/// A thread of a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Whose {
    /// The pid, where it is known from outside.
    pub pid: Option<u32>,
    /// The pid inside its own namespace.
    pub inner_pid: Option<u32>,
    /// What the process is called.
    pub process: String,
    /// Its container or pod.
    pub container: Option<String>,
    /// `v22.1.0`.
    pub node_version: Option<String>,
    /// The application's name.
    pub app: Option<String>,
    /// The command line without the values of arguments.
    pub command: Option<String>,
    /// The working folder.
    pub folder: Option<String>,
    /// The TCP ports that it listens on.
    pub ports: Vec<u16>,
    /// The thread's name.
    pub thread: String,
    /// Its id.
    pub tid: Option<u32>,
    /// What it is for.
    pub role: Role,
}

impl Whose {
    fn pids(&self) -> (Option<u32>, Option<u32>) {
        (self.pid, self.inner_pid)
    }
}

/// What has been seen of a thread.
#[derive(Debug, Default)]
struct Seen {
    /// Its samples count from here on.
    until_ns: u64,
    /// Its last sample, which lasts until the next one: that may be in the next window.
    held: Option<Held>,
    functions: SeenFunctions,
}

/// A sample that may last longer.
#[derive(Clone, Copy, Debug)]
struct Held {
    time_ns: u64,
    stack: StackId,
}

/// A sample that counts.
struct Kept {
    time_ns: u64,
    row: Option<usize>,
}

impl Joiner {
    /// Begins a recording with that much time between samples.
    pub fn new(interval_ns: u64) -> Self {
        let mut growing = Growing::new();
        let (format, way_in) = (FORMAT.into(), WAY_IN.into());
        *growing.rows().meta() =
            Meta { format, way_in, interval_ns: Some(interval_ns), ..Meta::default() };
        // The samples' lane is the main one.
        growing.rows().lane(LANE);
        let (threads, code) = (HashMap::new(), CodeOf::default());
        Self {
            growing,
            interval_ns,
            samples: 0,
            met_ns: 0,
            to_unix_ns: None,
            origin_ns: None,
            threads,
            code,
            quality: Quality::default(),
        }
    }

    /// New frames become what `original` makes of them: code that was generated becomes what it was made from.
    pub fn with_originals(mut self, original: Original) -> Self {
        self.code.original = Some(original);
        self
    }

    /// What is known of the recording as a whole, from the next chunk on.
    pub fn meta(&mut self) -> &mut Meta {
        self.growing.rows().meta()
    }

    /// How many samples there are by now, without each thread's last one.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Sets the time: on the profiler's clock, and since 1970.
    pub fn set_clock(&mut self, clock_ns: u64, unix_ns: u128) {
        self.met_ns = clock_ns;
        self.to_unix_ns =
            i128::try_from(unix_ns).ok().map(|unix_ns| unix_ns - i128::from(clock_ns));
    }

    /// Where the functions of a process stand, as V8's coverage lists them; returns what is wrong with the list.
    pub fn functions(&mut self, coverage: &str, whose: &Whose) -> Option<String> {
        self.code.get(whose).functions.note(coverage)
    }

    /// Whether a process has run code since the last time that is in no list of its functions.
    pub fn lacks_functions(&mut self, whose: &Whose) -> bool {
        self.code.get(whose).functions.take_lack()
    }

    /// A window of a thread, as V8 wrote it, as a chunk of our file. `text_of` gives a script's text, where it can be
    /// had: the lines of its functions show what V8 had inlined.
    pub fn window(
        &mut self,
        text: &str,
        whose: &Whose,
        mut text_of: impl FnMut(&str) -> Option<String>,
    ) -> io::Result<Vec<u8>> {
        let mut raw = RawProfile::default();
        let damage = parse::parse(text, &mut raw);
        let (start_ns, times_ns) = (bound_ns(raw.start), times_ns(&raw));
        let end_ns = bound_ns(raw.end).max(start_ns);
        let origin_ns = self.begin(start_ns);
        let builder = self.growing.rows();
        let thread = add_thread(builder, whose);
        let seen = self.threads.entry(whose.clone()).or_default();
        let code = self.code.get(whose);
        self.samples += add_samples(&raw, &times_ns, (thread, seen), code, &mut text_of, builder);
        seen.until_ns = seen.until_ns.max(end_ns);
        let meta = builder.meta();
        meta.losses.damage.extend(damage);
        meta.losses.lost = meta.losses.lost.saturating_add(lost(&times_ns, self.interval_ns));
        meta.duration_ns = meta.duration_ns.max(end_ns.saturating_sub(origin_ns));
        count_frames(&mut self.quality, builder);
        self.growing.chunk()
    }

    /// The counts of a thread's calls, as V8's coverage has them, as a lane of their own, in a chunk of our file.
    /// `text_of` gives a script's text, where it can be had: V8 names functions by their place in it.
    pub fn calls(
        &mut self,
        coverage: &str,
        whose: &Whose,
        text_of: impl FnMut(&str) -> Option<String>,
    ) -> io::Result<Vec<u8>> {
        self.begin(self.met_ns);
        let builder = self.growing.rows();
        let thread = add_thread(builder, whose);
        let lane = builder.lane(LaneInfo {
            name: CALLS_LANE,
            unit: Unit::Event,
            timed: false,
            counted: false,
        });
        let seen = self.threads.entry(whose.clone()).or_default();
        let found = coverage::read(coverage, &seen.functions, text_of);
        builder.meta().losses.damage.extend(found.damage);
        let calls: Vec<FrameOf<'_>> = found.calls.iter().map(|(call, _)| called(call)).collect();
        let frames = self.code.get(whose).frames.of(&calls, builder);
        for ((_, count), frame) in found.calls.iter().zip(frames) {
            let stack = builder.stack(StackId::NONE, frame);
            builder.sample(lane, Sample { time_ns: 0, thread, stack, weight: *count });
        }
        self.growing.chunk()
    }

    /// The end, as the last chunk: each thread's last sample, which nothing has ended, what is missing, a sentence
    /// each, what recording cost, and the CPU time that the processes used meanwhile.
    pub fn finish(
        &mut self,
        losses: Vec<String>,
        cost: Cost,
        cpu_ns: Option<u64>,
    ) -> io::Result<Vec<u8>> {
        self.begin(self.met_ns);
        let builder = self.growing.rows();
        let mut last: Vec<(&Whose, &mut Seen)> = self.threads.iter_mut().collect();
        last.sort_by_key(|(_, seen)| seen.held.as_ref().map(|held| held.time_ns));
        for (whose, seen) in last {
            if let Some(held) = seen.held.take() {
                let thread = add_thread(builder, whose);
                add_held(held, seen.until_ns, thread, builder);
            }
        }
        let meta = builder.meta();
        meta.losses.damage.extend(losses);
        meta.losses.cpu_ns = cpu_ns;
        meta.cost = Some(cost);
        count_frames(&mut self.quality, builder);
        self.growing.chunk()
    }

    /// Fixes the start of the recording, the first time.
    fn begin(&mut self, start_ns: u64) -> u64 {
        if let Some(origin_ns) = self.origin_ns {
            return origin_ns;
        }
        self.origin_ns = Some(start_ns);
        self.growing.rows().set_origin_ns(start_ns);
        let to_unix_ns = self.to_unix_ns;
        let meta = self.growing.rows().meta();
        meta.start_clock_s = Some(start_ns as f64 / 1e9);
        meta.start_unix_ns =
            to_unix_ns.map(|to_unix_ns| (i128::from(start_ns) + to_unix_ns).to_string());
        start_ns
    }
}

/// Counts the frames of the samples since the last chunk.
fn count_frames(quality: &mut Quality, builder: &mut Builder) {
    quality.count(builder, |_| None);
    let losses = &mut builder.meta().losses;
    losses.frames = quality.frames();
    losses.unnamed = quality.unnamed();
}

fn add_thread(builder: &mut Builder, whose: &Whose) -> ThreadId {
    let process = add_process(builder, whose);
    let name = builder.string(&whose.thread);
    builder.thread(Thread { process, tid: whose.tid, name, role: whose.role })
}

fn add_process(builder: &mut Builder, whose: &Whose) -> ProcessId {
    let row = Process {
        pid: whose.pid,
        inner_pid: whose.inner_pid,
        name: builder.string(&whose.process),
        container: builder.optional_string(whose.container.as_deref()),
        node_version: builder.optional_string(whose.node_version.as_deref()),
        app: builder.optional_string(whose.app.as_deref()),
        command: builder.optional_string(whose.command.as_deref()),
        folder: builder.optional_string(whose.folder.as_deref()),
        ports: whose.ports.clone(),
        ..Process::default()
    };
    builder.process(row)
}

/// startTime and endTime are microseconds in everything that V8 has written since its inspector exists.
fn bound_ns(time_us: Option<f64>) -> u64 {
    (time_us.unwrap_or(0.0) * 1e3).round().clamp(0.0, 4.6e18) as u64
}

/// When each sample was taken: the first delta counts from the start, and some go backwards.
fn times_ns(raw: &RawProfile<'_>) -> Vec<u64> {
    let mut now_us = raw.start.unwrap_or(0.0);
    let mut add = |delta_us: &f64| {
        now_us += delta_us;
        bound_ns(Some(now_us))
    };
    raw.time_deltas.iter().map(&mut add).collect()
}

/// Adds the samples of a window; returns how many.
fn add_samples(
    raw: &RawProfile<'_>,
    times_ns: &[u64],
    (thread, seen): (ThreadId, &mut Seen),
    code: &mut Code,
    text_of: &mut TextOf<'_>,
    builder: &mut Builder,
) -> u64 {
    let rows = NodeRows::new(raw);
    let parents = add::parents(raw, &rows, builder);
    let frames = frames(raw, &mut code.frames, builder);
    let stacks = add::stacks(raw, &parents, &frames, builder);
    note_calls(raw, &parents, &mut code.functions, text_of);
    let mut shares = Shares::new(raw, &stacks, code, text_of, builder);
    seen.functions.note(&raw.calls);
    let kept = kept(raw, times_ns, seen.until_ns, |id| rows.row(id), &parents);
    let lane = builder.lane(LANE);
    let Some((last, before)) = kept.split_last() else { return 0 };
    let held = seen.held.take();
    if let Some(held) = held {
        add_held(held, kept[0].time_ns, thread, builder);
    }
    for (place, sample) in before.iter().enumerate() {
        let stack = sample.row.map_or(StackId::NONE, |row| shares.next(row));
        let weight = kept[place + 1].time_ns - sample.time_ns;
        builder.sample(lane, Sample { time_ns: sample.time_ns, thread, stack, weight });
    }
    let stack = last.row.map_or(StackId::NONE, |row| shares.next(row));
    seen.held = Some(Held { time_ns: last.time_ns, stack });
    builder.meta().losses.inlined.add(&shares.counts);
    before.len() as u64 + u64::from(held.is_some())
}

/// The frame of each call of a window; the root has none.
fn frames(
    raw: &RawProfile<'_>,
    frames: &mut Frames,
    builder: &mut Builder,
) -> Vec<Option<FrameId>> {
    let calls: Vec<FrameOf<'_>> =
        raw.calls.iter().filter(|call| !add::is_root(call)).map(called).collect();
    let mut found = frames.of(&calls, builder).into_iter();
    raw.calls.iter().map(|call| (!add::is_root(call)).then(|| found.next()).flatten()).collect()
}

/// A call that V8 did not inline, as far as it reports.
fn called<'a>(call: &'a Call<'a>) -> FrameOf<'a> {
    FrameOf { call, inlined: false }
}

/// Notes which functions were seen to call which; what has no script is looked through.
fn note_calls(
    raw: &RawProfile<'_>,
    parents: &[u32],
    functions: &mut Functions,
    text_of: &mut TextOf<'_>,
) {
    let has_script = |call: u32| !raw.calls[call as usize].url.0.is_empty();
    let pair = |(row, node): (usize, &super::raw::RawNode)| {
        let mut above = callers(parents, row).skip(1).map(|row| raw.nodes[row].call);
        let caller = above.find(|call| has_script(*call))?;
        has_script(node.call).then_some((caller, node.call))
    };
    let pairs: BTreeSet<(u32, u32)> = raw.nodes.iter().enumerate().filter_map(pair).collect();
    for (caller, called) in pairs {
        functions.note_call(&raw.calls[caller as usize], &raw.calls[called as usize], text_of);
    }
}

/// Adds a sample that was held back, now that its end is known.
fn add_held(held: Held, end_ns: u64, thread: ThreadId, builder: &mut Builder) {
    let Held { time_ns, stack } = held;
    let lane = builder.lane(LANE);
    builder.sample(lane, Sample { time_ns, thread, stack, weight: end_ns.saturating_sub(time_ns) });
}

/// The samples that count, by time: none that an earlier window has, none of our own.
fn kept(
    raw: &RawProfile<'_>,
    times_ns: &[u64],
    from_ns: u64,
    row_of: impl Fn(u32) -> Option<usize>,
    parents: &[u32],
) -> Vec<Kept> {
    let mut kept: Vec<Kept> = times_ns
        .iter()
        .zip(&raw.samples)
        .map(|(time_ns, id)| Kept { time_ns: *time_ns, row: row_of(*id) })
        .filter(|sample| sample.time_ns >= from_ns)
        .filter(|sample| !sample.row.is_some_and(|row| is_ours(raw, parents, row)))
        .collect();
    kept.sort_by_key(|sample| sample.time_ns);
    kept
}

fn is_ours(raw: &RawProfile<'_>, parents: &[u32], row: usize) -> bool {
    callers(parents, row).any(|row| raw.calls[raw.nodes[row].call as usize].url.0.starts_with(OURS))
}

/// A node and those above it. V8's trees are at most 255 deep; a circle ends there.
fn callers(parents: &[u32], row: usize) -> impl Iterator<Item = usize> {
    let above =
        |row: &usize| parents.get(*row).map(|row| *row as usize).filter(|row| *row < parents.len());
    std::iter::successors(Some(row), above).take(MOST_CALLERS)
}

const MOST_CALLERS: usize = 1024;

/// How many samples V8 did not take in time.
fn lost(times_ns: &[u64], interval_ns: u64) -> u64 {
    let gaps = times_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let half_ns = interval_ns / 2;
    gaps.map(|gap_ns| (gap_ns.saturating_add(half_ns) / interval_ns.max(1)).saturating_sub(1)).sum()
}
