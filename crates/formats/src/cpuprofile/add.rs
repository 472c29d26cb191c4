//! [`RawProfile`] → rows of the model: ids become rows, the tree becomes stacks, callers first. Ids that lead
//! nowhere, twice to something or round in a circle are counted, not believed.

use std::borrow::Cow;
use std::fmt::Write;

use profile::{
    Builder, FrameId, LaneId, LaneInfo, LineTick, ModuleId, Sample, StackId, ThreadId, Tier, Unit,
    is_far,
};
use rustc_hash::FxHashMap;

use super::raw::{Call, NO_ID, RawProfile};
use super::times::{Times, durations, median, times};
use naming::add::{self, Written};
use naming::parts::{Parts, name_parts};
use naming::{Named, name_call_frame};

/// What one profile gave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Added {
    /// When it began and ended, on the profiler's clock; `None` without times.
    pub(crate) span_ns: Option<(u64, u64)>,
    interval_ns: Option<u64>,
}

/// Adds a profile as the samples of a thread.
pub(crate) fn add(raw: &RawProfile<'_>, thread: ThreadId, builder: &mut Builder) -> Added {
    let rows = NodeRows::new(raw);
    let parents = parents(raw, &rows, builder);
    let calls = raw.calls.iter();
    let frames: Vec<Option<FrameId>> =
        calls.map(|call| (!is_root(call)).then(|| add_frame(call, builder))).collect();
    let stacks = stacks(raw, &parents, &frames, builder);
    add_line_ticks(raw, &rows, &stacks, builder);
    let elsewhere = ticks_elsewhere(raw, &rows);
    let inlined = &mut builder.meta().losses.inlined;
    inlined.uncertain = inlined.uncertain.saturating_add(elsewhere);
    match times(raw) {
        _ if raw.samples.is_empty() => add_hits(raw, &stacks, thread, builder),
        Some(times) => {
            add_timed(raw, &times, &Target { rows: &rows, stacks: &stacks, thread }, builder)
        }
        None => add_untimed(raw, &Target { rows: &rows, stacks: &stacks, thread }, builder),
    }
}

/// Records what is known of all profiles of a file together.
pub(crate) fn settle_meta(added: &[Added], builder: &mut Builder) {
    let (first_ns, last_ns) = builder.clip_far_threads().unwrap_or((0, u64::MAX));
    let clip = |time_ns: u64| time_ns.clamp(first_ns, last_ns);
    let spans = || {
        added.iter().filter_map(|added| added.span_ns).map(|(start, end)| (clip(start), clip(end)))
    };
    let meta = builder.meta();
    meta.way_in = "V8 CPU profiler".into();
    meta.interval_ns = added.iter().filter_map(|added| added.interval_ns).min();
    if let Some(start_ns) = spans().map(|(start, _)| start).min() {
        let end_ns = spans().map(|(_, end)| end).max().unwrap_or(start_ns);
        meta.start_clock_s = Some(start_ns as f64 / 1e9);
        meta.duration_ns = end_ns - start_ns;
        builder.set_origin_ns(start_ns);
    }
}

/// From a node's id to its row. V8 counts ids from 1; other writers may use any number.
pub(super) enum NodeRows {
    Dense(Vec<u32>),
    Sparse(FxHashMap<u32, u32>),
}

impl NodeRows {
    pub(super) fn new(raw: &RawProfile<'_>) -> Self {
        let ids = || raw.nodes.iter().map(|node| node.id).filter(|id| *id != NO_ID);
        let numbered = || (0u32..).zip(&raw.nodes).filter(|(_, node)| node.id != NO_ID);
        let largest = ids().max().unwrap_or(0) as usize;
        if largest > 2 * raw.nodes.len() + 1024 {
            let mut rows = FxHashMap::default();
            for (row, node) in numbered() {
                rows.entry(node.id).or_insert(row);
            }
            return Self::Sparse(rows);
        }
        let mut rows = vec![NO_ID; largest + 1];
        for (row, node) in numbered() {
            let place = &mut rows[node.id as usize];
            if *place == NO_ID {
                *place = row;
            }
        }
        Self::Dense(rows)
    }

    pub(super) fn row(&self, id: u32) -> Option<usize> {
        let row = match self {
            Self::Dense(rows) => rows.get(id as usize).copied().unwrap_or(NO_ID),
            Self::Sparse(rows) => rows.get(&id).copied().unwrap_or(NO_ID),
        };
        (row != NO_ID).then_some(row as usize)
    }
}

/// The stack of each node, given the row of its parent and the frame of each call; the root has none.
pub(super) fn stacks(
    raw: &RawProfile<'_>,
    parents: &[u32],
    frames: &[Option<FrameId>],
    builder: &mut Builder,
) -> Vec<StackId> {
    builder.reserve(0, raw.nodes.len());
    let mut stacks: Vec<Option<StackId>> = vec![None; raw.nodes.len()];
    let mut is_waiting = vec![false; raw.nodes.len()];
    let mut waiting = Vec::new();
    let mut circles = 0;
    for row in 0..raw.nodes.len() {
        // Up to a caller that is known, then down again.
        let (mut at, mut stack) = (row, StackId::NONE);
        loop {
            if let Some(known) = stacks[at] {
                stack = known;
                break;
            }
            if is_waiting[at] {
                circles += 1;
                break;
            }
            is_waiting[at] = true;
            waiting.push(at);
            if parents[at] == NO_ID {
                break;
            }
            at = parents[at] as usize;
        }
        while let Some(at) = waiting.pop() {
            if let Some(frame) = frames[raw.nodes[at].call as usize] {
                stack = builder.stack(stack, frame);
            }
            stacks[at] = Some(stack);
        }
    }
    note(builder, circles, "form a cycle", "nodes");
    stacks.into_iter().map(Option::unwrap_or_default).collect()
}

/// The row of each node's parent, given by the node itself or by the parent.
pub(super) fn parents(raw: &RawProfile<'_>, rows: &NodeRows, builder: &mut Builder) -> Vec<u32> {
    let row_of = |id: u32| rows.row(id).map(|row| row as u32);
    let mut parents: Vec<u32> =
        raw.nodes.iter().map(|node| row_of(node.parent).unwrap_or(NO_ID)).collect();
    let (mut start, mut unknown, mut twice) = (0, 0, 0);
    for (row, node) in (0u32..).zip(&raw.nodes) {
        let end = node.children_end as usize;
        for child in &raw.children[start..end] {
            match row_of(*child) {
                Some(child) if parents[child as usize] == NO_ID => parents[child as usize] = row,
                Some(child) => twice += u64::from(parents[child as usize] != row),
                None => unknown += 1,
            }
        }
        start = end;
        twice += u64::from(row_of(node.id) != Some(row));
    }
    unknown += raw
        .nodes
        .iter()
        .filter(|node| node.parent != NO_ID && row_of(node.parent).is_none())
        .count() as u64;
    note(builder, unknown, "are named as child or parent and are not there", "nodes");
    note(builder, twice, "stand in two places: the first counts", "nodes");
    parents
}

fn note(builder: &mut Builder, count: u64, what: &str, things: &str) {
    if count > 0 {
        let mut sentence = String::new();
        let _ = write!(sentence, "{count} {things} {what}");
        builder.meta().losses.damage.push(sentence);
    }
}

/// The root of V8's tree has no time and is no function. Code from `eval` may be called so, but has a place.
pub(super) fn is_root(call: &Call<'_>) -> bool {
    call.name.0 == "(root)" && call.url.0.is_empty() && call.line <= 1 && call.column <= 1
}

/// Adds the frame of a call in a file. Its script may be a text of ours, which stands for generated code.
fn add_frame(call: &Call<'_>, builder: &mut Builder) -> FrameId {
    let named = name_call_frame(&call.name.0, &call.url.0, call.line, call.column, Tier::Unmarked);
    frame(call, &named, false, builder)
}

/// Adds the frame of a call that V8 has just reported, and may have compiled into its caller: V8 names the script
/// itself.
pub(super) fn add_live_frame(call: &Call<'_>, inlined: bool, builder: &mut Builder) -> FrameId {
    frame(call, &live_name(call), inlined, builder)
}

fn live_name<'a>(call: &'a Call<'_>) -> Named<'a> {
    let Call { name, url, line, column } = call;
    if url.0.is_empty() {
        return name_call_frame(&name.0, "", *line, *column, Tier::Unmarked);
    }
    let script = Some(&*url.0);
    name_parts(&Parts { line: *line, column: *column, ..Parts::javascript(&name.0, script) })
}

fn frame(call: &Call<'_>, named: &Named<'_>, inlined: bool, builder: &mut Builder) -> FrameId {
    let Call { name, url, .. } = call;
    let symbol = match (named.line, named.column) {
        _ if url.0.is_empty() && !name.0.is_empty() => name.0.to_string(),
        _ if url.0.is_empty() => named.function.to_string(),
        (0, _) => format!("{} {}", named.function, url.0),
        (line, 0) => format!("{} {}:{line}", named.function, url.0),
        (line, column) => format!("{} {}:{line}:{column}", named.function, url.0),
    };
    add::frame(builder, named, ModuleId::NONE, &Written { symbol: &symbol, inlined })
}

/// Nodes count their own lines; samples of a trace name theirs.
fn add_line_ticks(
    raw: &RawProfile<'_>,
    rows: &NodeRows,
    stacks: &[StackId],
    builder: &mut Builder,
) {
    let mut add = |stack: StackId, line: u32, ticks: u32| {
        if stack.some().is_some() && line > 0 && ticks > 0 {
            builder.line_tick(LineTick { stack, line, ticks });
        }
    };
    let mut start = 0;
    for (node, stack) in raw.nodes.iter().zip(stacks) {
        let end = node.ticks_end as usize;
        for (line, ticks) in &raw.ticks[start..end] {
            add(*stack, *line, *ticks);
        }
        start = end;
    }
    let mut by_line: Vec<(StackId, u32)> = raw
        .samples
        .iter()
        .zip(&raw.lines)
        .filter_map(|(id, line)| Some((stacks[rows.row(*id)?], *line)))
        .collect();
    by_line.sort_unstable();
    for same in by_line.chunk_by(|one, two| one == two) {
        add(same[0].0, same[0].1, u32::try_from(same.len()).unwrap_or(u32::MAX));
    }
}

/// Samples on lines before the function that they are reported in: V8 had inlined another one there. Behind its end
/// there may be more, but a file does not contain where that is.
fn ticks_elsewhere(raw: &RawProfile<'_>, rows: &NodeRows) -> u64 {
    let is_before = |row: usize, line: u32| {
        let call = &raw.calls[raw.nodes[row].call as usize];
        line > 0 && line < call.line && !call.url.0.is_empty()
    };
    let (mut start, mut sum) = (0, 0u64);
    for (row, node) in raw.nodes.iter().enumerate() {
        let end = node.ticks_end as usize;
        let before = raw.ticks[start..end].iter().filter(|(line, _)| is_before(row, *line));
        sum = before.fold(sum, |sum, (_, ticks)| sum.saturating_add((*ticks).into()));
        start = end;
    }
    let lines =
        raw.samples.iter().zip(&raw.lines).filter_map(|(id, line)| Some((rows.row(*id)?, *line)));
    sum.saturating_add(lines.filter(|(row, line)| is_before(*row, *line)).count() as u64)
}

/// What samples become rows of.
struct Target<'a> {
    rows: &'a NodeRows,
    stacks: &'a [StackId],
    thread: ThreadId,
}

impl Target<'_> {
    /// The stack of a sample; unknown nodes are counted.
    fn stack(&self, id: u32, unknown: &mut u64) -> StackId {
        let row = self.rows.row(id);
        *unknown += u64::from(row.is_none());
        row.map_or(StackId::NONE, |row| self.stacks[row])
    }
}

/// Samples with times: sorted, each weighing the time until the next.
fn add_timed(
    raw: &RawProfile<'_>,
    times: &Times,
    target: &Target<'_>,
    builder: &mut Builder,
) -> Added {
    let lane = lane(builder, Unit::Ns);
    if times.samples_ns.len() != raw.samples.len() {
        let (samples, known) = (raw.samples.len(), times.samples_ns.len());
        let sentence = format!(
            "there are {samples} samples and {known} times: what has no partner is left out"
        );
        builder.meta().losses.damage.push(sentence);
    }
    let mut unknown = 0;
    let mut stacks: Vec<StackId> =
        raw.samples.iter().map(|id| target.stack(*id, &mut unknown)).collect();
    note(builder, unknown, "name nodes that are not there", "samples");
    let mut times_ns = Cow::Borrowed(&*times.samples_ns);
    if !times_ns.is_sorted() {
        let mut samples: Vec<(u64, StackId)> = times_ns.iter().copied().zip(stacks).collect();
        samples.sort_by_key(|sample| sample.0);
        stacks = samples.iter().map(|sample| sample.1).collect();
        times_ns = Cow::Owned(samples.iter().map(|sample| sample.0).collect());
    }
    let times_ns = &times_ns[..times_ns.len().min(stacks.len())];
    let durations = durations(times_ns, times.end_ns);
    let interval_ns = median(&durations);
    let length_ns = times_ns.first().zip(times_ns.last()).map_or(0, |(first, last)| last - first);
    builder.reserve_samples(lane, durations.len());
    for ((&time_ns, &stack), &weight) in times_ns.iter().zip(&stacks).zip(&durations) {
        builder.sample(lane, Sample { time_ns, thread: target.thread, stack, weight });
    }
    // Where the start is on another clock than the samples, the first of these is the start.
    let is_start = |first: u64| !is_far(first.saturating_sub(times.start_ns), length_ns);
    let start_ns = match times_ns.first() {
        Some(first) if is_start(*first) => times.start_ns.min(*first),
        Some(first) => *first,
        None => times.start_ns,
    };
    let last_ns =
        times_ns.last().zip(durations.last()).map_or(start_ns, |(time_ns, rest)| time_ns + rest);
    Added { span_ns: Some((start_ns, last_ns)), interval_ns }
}

/// Samples without times: those of one stack are one row.
fn add_untimed(raw: &RawProfile<'_>, target: &Target<'_>, builder: &mut Builder) -> Added {
    let lane = lane(builder, Unit::Count);
    let mut unknown = 0;
    let mut counts: FxHashMap<StackId, u64> = FxHashMap::default();
    let mut order = Vec::new();
    for id in &raw.samples {
        let stack = target.stack(*id, &mut unknown);
        *counts.entry(stack).or_insert_with(|| {
            order.push(stack);
            0
        }) += 1;
    }
    for stack in order {
        builder.sample(
            lane,
            Sample { time_ns: 0, thread: target.thread, stack, weight: counts[&stack] },
        );
    }
    note(builder, unknown, "name nodes that are not there", "samples");
    Added::default()
}

/// No samples: the nodes know how often they were hit.
fn add_hits(
    raw: &RawProfile<'_>,
    stacks: &[StackId],
    thread: ThreadId,
    builder: &mut Builder,
) -> Added {
    let lane = lane(builder, Unit::Count);
    for (node, stack) in raw.nodes.iter().zip(stacks).filter(|(node, _)| node.hits > 0) {
        builder
            .sample(lane, Sample { time_ns: 0, thread, stack: *stack, weight: node.hits.into() });
    }
    Added::default()
}

/// The only lane, timed when its unit is time.
fn lane(builder: &mut Builder, unit: Unit) -> LaneId {
    builder.lane(LaneInfo { name: "cpu profile", unit, timed: unit == Unit::Ns, counted: true })
}
