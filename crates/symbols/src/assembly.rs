//! From a recording that arrives to a profile, all at once or bit by bit: each time, what came since the last time is
//! named and added.

use std::collections::BTreeMap;

use naming::alone;
use naming::finish::{WITHOUT_MAP, first_ns, settle_clock};
use naming::off_cpu::{CpuSwitch, OffCpu};
use naming::quality::Quality;
use naming::roles::Roles;
use profile::classify::is_launcher;
use profile::{
    Builder, FrameId, LaneId, LaneInfo, OffCpuTime, Profile, Sample, StackId, Unit, WAITS_LANE,
};
use rustc_hash::FxHashMap;
use trace::{CpuTime, ShortWaits};

use crate::loops::Loops;
use crate::namer::{Namer, RawEvent, RawSample, RawSwitch, add_sentence};
use crate::resolve::{NameFiles, Resolved, resolve};
use crate::seen_threads::SeenThreads;
use crate::stacks::{NONE, RawStack};

/// What has become of a recording so far.
#[derive(Default)]
pub(crate) struct Assembly {
    files: NameFiles,
    /// For each row of the recording its frame and its stack.
    frames: Vec<FrameId>,
    stacks: Vec<StackId>,
    reasons: FxHashMap<FrameId, String>,
    ambiguous: u64,
    pub(crate) threads: SeenThreads,
    lanes: BTreeMap<u32, LaneId>,
    off_cpu: OffCpu,
    loops: Loops,
    roles: Roles,
    quality: Quality,
    samples_of: BTreeMap<u32, usize>,
    /// The last CPU time that was reported: samples come later than it.
    cpu_time: Option<CpuTime>,
    interval_ns: Option<u64>,
    /// The time that is 0.
    start_ns: Option<u64>,
}

/// How far a recording has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Everything up to this time has arrived.
    Until(u64),
    /// There is no more.
    Whole,
}

impl Progress {
    /// Whether everything up to a time has arrived.
    pub(crate) fn has_reached(self, time_ns: u64) -> bool {
        match self {
            Self::Until(until_ns) => time_ns <= until_ns,
            Self::Whole => true,
        }
    }
}

/// The whole recording.
pub(crate) fn profile_of(namer: &mut Namer) -> Profile {
    let mut builder = Builder::new();
    builder.reserve(namer.frames.rows.len(), namer.stacks.rows.len());
    Assembly::default().add(&mut builder, namer, Progress::Whole, |_, piece| piece);
    builder.finish()
}

impl Assembly {
    /// For a recording that grows.
    pub(crate) fn growing() -> Self {
        Self { files: NameFiles::growing(), ..Self::default() }
    }

    /// The time that is 0, once anything came that has a time.
    pub(crate) fn start_ns(&self) -> Option<u64> {
        self.start_ns
    }

    /// Adds what came since the last time. `original` may replace the new frames, of which it gets a profile with a
    /// sample for each one.
    pub(crate) fn add(
        &mut self,
        builder: &mut Builder,
        namer: &mut Namer,
        progress: Progress,
        original: impl FnOnce(&mut Namer, Profile) -> Profile,
    ) {
        self.add_frames(builder, namer, original);
        self.add_stacks(builder, namer);
        let seconds = &namer.seconds;
        let limit = |second: &trace::Second| Some((second.pid, second.cpu_limit_millis?));
        self.threads.limits.extend(seconds.iter().filter_map(limit));
        let samples = std::mem::take(&mut namer.samples);
        self.add_samples(builder, namer, &samples);
        let switches = std::mem::take(&mut namer.switches);
        self.loops.learn_switches(namer, &switches);
        self.add_switches(builder, namer, &switches, progress);
        self.loops.add(builder, namer, &mut self.threads, progress);
        if namer.clips_far_times {
            builder.clip_far_times();
        }
        self.threads.refresh(builder, namer);
        self.roles.infer(builder);
        self.loops.note_samples(builder.so_far());
        if progress == Progress::Whole {
            self.loops.add_unwatched(builder);
        }
        self.quality.count(builder, |frame| self.reasons.get(&frame).cloned());
        self.settle_losses(builder, namer, progress);
        self.settle_meta(builder, namer);
    }

    fn add_frames(
        &mut self,
        builder: &mut Builder,
        namer: &mut Namer,
        original: impl FnOnce(&mut Namer, Profile) -> Profile,
    ) {
        let first = self.frames.len();
        if !namer.is_growing {
            let resolved = resolve(builder, namer, first, &mut self.files);
            let frames = resolved.frames.clone();
            return self.take_frames(namer, resolved, frames);
        }
        if first == namer.frames.rows.len() {
            return;
        }
        let mut piece = Builder::new();
        let resolved = resolve(&mut piece, namer, first, &mut self.files);
        let pid = |at: usize| {
            let process = namer.frames.processes.get(first + at).copied()?;
            namer.world.processes.rows.get(process as usize)?.pid
        };
        let new = resolved.frames.iter().enumerate().map(|(at, frame)| (*frame, pid(at)));
        let piece = alone::one_by_one(piece, &namer.format, new);
        let frames = alone::append(builder, &original(namer, piece));
        self.take_frames(namer, resolved, frames);
    }

    /// Keeps what the new rows have become.
    fn take_frames(&mut self, namer: &mut Namer, resolved: Resolved, frames: Vec<FrameId>) {
        for (before, now) in resolved.frames.iter().zip(&frames) {
            if let Some(reason) = resolved.reason(*before) {
                self.reasons.insert(*now, reason.to_owned());
            }
        }
        self.frames.extend(frames);
        self.ambiguous = self.ambiguous.saturating_add(resolved.ambiguous);
        resolved.notes.into_iter().for_each(|note| add_sentence(&mut namer.losses.notes, note));
    }

    fn add_stacks(&mut self, builder: &mut Builder, namer: &Namer) {
        for RawStack { parent, frame, call, logical } in
            namer.stacks.rows.get(self.stacks.len()..).unwrap_or_default()
        {
            let (parent, logical) = (self.stack(*parent), self.stack(*logical));
            let frame = self.frames[*frame as usize];
            self.stacks.push(builder.stack_of(parent, frame, *call, logical));
        }
    }

    fn stack(&self, row: u32) -> StackId {
        if row == NONE { StackId::NONE } else { self.stacks[row as usize] }
    }

    fn add_switches(
        &mut self,
        builder: &mut Builder,
        namer: &mut Namer,
        switches: &[RawSwitch],
        progress: Progress,
    ) {
        let mut switch = |&RawSwitch { time_ns, thread, out, .. }: &RawSwitch| CpuSwitch {
            thread: self.threads.id(builder, namer, thread),
            time_ns,
            out,
        };
        let switches: Vec<CpuSwitch> = switches.iter().map(&mut switch).collect();
        let is_due = |waits: &ShortWaits| progress.has_reached(waits.time_ns);
        let short_waits = std::mem::take(&mut namer.short_waits);
        let (due, open): (Vec<ShortWaits>, Vec<ShortWaits>) =
            short_waits.into_iter().partition(is_due);
        namer.short_waits = open;
        let mut sum = |waits: &ShortWaits| {
            let row = namer.threads.current(Some(waits.pid), Some(waits.tid)).row;
            OffCpuTime {
                thread: self.threads.id(builder, namer, row),
                start_ns: waits.time_ns,
                length_ns: waits.total_ns,
                times: u32::try_from(waits.count).unwrap_or(u32::MAX),
            }
        };
        let sums: Vec<OffCpuTime> = due.iter().map(&mut sum).collect();
        self.off_cpu.add(builder, switches, sums, progress == Progress::Whole);
    }

    fn add_samples(&mut self, builder: &mut Builder, namer: &Namer, samples: &[RawSample]) {
        self.add_lanes(builder, namer, samples);
        for row in samples {
            let Some(&lane) = self.lanes.get(&row.event) else { continue };
            let thread = self.threads.id(builder, namer, row.thread);
            let stack = self.stack(row.stack);
            builder
                .sample(lane, Sample { time_ns: row.time_ns, thread, stack, weight: row.weight });
            if let Some(pid) =
                namer.threads.rows.get(row.thread as usize).and_then(|thread| thread.pid)
            {
                *self.samples_of.entry(pid).or_default() += 1;
            }
        }
    }

    /// A lane for each event that was seen, in the order in which they were asked for.
    fn add_lanes(&mut self, builder: &mut Builder, namer: &Namer, samples: &[RawSample]) {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for row in samples {
            *counts.entry(row.event).or_default() += 1;
        }
        let is_waits =
            |event: &u32| namer.events.get(event).is_some_and(|event| event.name == WAITS_LANE);
        let has_only_waits = counts.keys().all(is_waits) && !counts.is_empty();
        if self.lanes.is_empty() && (has_only_waits || namer.is_growing && !counts.is_empty()) {
            // The first lane is the clock's, also where it has nothing.
            counts.entry(0).or_default();
        }
        for (event, count) in counts {
            let event_of_lane = namer.events.get(&event);
            let lane = *self.lanes.entry(event).or_insert_with(|| add_lane(builder, event_of_lane));
            builder.reserve_samples(lane, count);
            if !is_waits(&event) && count > 0 {
                self.interval_ns =
                    self.interval_ns.or(event_of_lane.and_then(|event| event.interval_ns));
            }
        }
    }

    fn settle_losses(&mut self, builder: &mut Builder, namer: &Namer, progress: Progress) {
        let earlier = std::mem::replace(&mut self.cpu_time, namer.losses.cpu);
        let cpu_time = if progress == Progress::Whole { namer.losses.cpu } else { earlier };
        let losses = &mut builder.meta().losses;
        losses.lost = namer.losses.lost;
        losses.throttled = namer.losses.throttled;
        losses.helper_crashes = namer.losses.helper_crashes;
        losses.stacks_cut = namer.losses.stacks_cut;
        losses.awaits = namer.awaits.counts;
        losses.ambiguous = self.ambiguous;
        if let Some(CpuTime { used_ns, hidden_kernel_ns }) = cpu_time {
            losses.hidden_kernel_ns = hidden_kernel_ns;
            losses.cpu_ns = Some(used_ns);
        }
        for sentence in &namer.losses.damage {
            add_sentence(&mut losses.damage, sentence.clone());
        }
        for sentence in &namer.losses.notes {
            add_sentence(&mut losses.notes, sentence.clone());
        }
        if namer.world.processes.overflowed {
            add_sentence(&mut losses.damage, "too many mappings: some were left out".into());
        }
        losses.frames = self.quality.frames();
        losses.unnamed = with_reasons_of_heap(self.quality.unnamed(), namer);
    }

    fn settle_meta(&mut self, builder: &mut Builder, namer: &Namer) {
        if self.start_ns.is_none() {
            settle_clock(builder);
            self.start_ns = first_ns(builder.so_far());
        }
        let start_ns = self.start_ns;
        let mut versions: Vec<&str> =
            namer.facts.values().map(|facts| facts.node_version.as_str()).collect();
        versions.sort_unstable();
        versions.dedup();
        let meta = builder.meta();
        meta.format.clone_from(&namer.format);
        meta.way_in = "perf events".into();
        meta.node_version = match versions[..] {
            [version] if !version.is_empty() => Some(version.to_owned()),
            _ => None,
        };
        meta.interval_ns = self.interval_ns.or(meta.interval_ns);
        meta.host.clone_from(&namer.about.host);
        meta.system = namer.about.os_release.as_ref().map(|release| format!("Linux {release}"));
        meta.command = namer.about.command.clone().or_else(|| self.command_of_most(namer));
        meta.start_unix_ns = namer.about.wall_clock.and_then(|(wall_ns, clock_ns)| {
            let start_ns = i128::from(wall_ns) - i128::from(clock_ns) + i128::from(start_ns?);
            (start_ns >= 0).then(|| start_ns.to_string())
        });
    }

    /// The command of the process that most samples are of, among those that no launcher is.
    fn command_of_most(&self, namer: &Namer) -> Option<String> {
        let known =
            self.samples_of.iter().filter_map(|(pid, count)| Some((namer.facts.get(pid)?, count)));
        let known = known.filter(|(facts, _)| !facts.command.is_empty());
        let most = known.max_by_key(|(facts, count)| (!is_launcher(&facts.command), **count));
        most.map(|(facts, _)| facts.command.clone())
    }
}

fn add_lane(builder: &mut Builder, event: Option<&RawEvent>) -> LaneId {
    let unannounced = RawEvent { timed: true, ..RawEvent::default() };
    let event = event.unwrap_or(&unannounced);
    let unit = match (event.has_period, event.in_ns) {
        (false, _) => Unit::Count,
        (true, true) => Unit::Ns,
        (true, false) => Unit::Event,
    };
    let name = if event.name.is_empty() { "samples" } else { &event.name };
    builder.lane(LaneInfo { name, unit, timed: event.timed, counted: true })
}

/// The reader of the heap knows better than that there was no map why code has no name.
fn with_reasons_of_heap(
    mut unnamed: BTreeMap<String, u64>,
    namer: &Namer,
) -> BTreeMap<String, u64> {
    let Some(mut left) = unnamed.remove(WITHOUT_MAP) else { return unnamed };
    for (reason, count) in &namer.losses.unnamed {
        let count = left.min(*count);
        if count > 0 {
            *unnamed.entry(reason.clone()).or_default() += count;
        }
        left -= count;
    }
    if left > 0 {
        unnamed.insert(reason_of_all(namer).unwrap_or(WITHOUT_MAP).into(), left);
    }
    unnamed
}

/// Why no process can have names for what it generates, where all of them share the reason: a perf map is then no
/// advice.
fn reason_of_all(namer: &Namer) -> Option<&str> {
    let mut reasons = namer.facts.values().map(|facts| facts.unnamed.as_str());
    let first = reasons.next().filter(|reason| !reason.is_empty())?;
    reasons.all(|reason| reason == first).then_some(first)
}
