//! From a recording that has arrived to a profile.

use std::collections::BTreeMap;

use naming::add;
use naming::finish::{WITHOUT_MAP, first_ns, infer_roles, settle_clock, settle_quality_with};
use naming::off_cpu::{CpuSwitch, add_off_cpu_times};
use profile::classify::is_launcher;
use profile::{
    Builder, LaneId, LaneInfo, OffCpuTime, Process, Profile, Sample, StackId, StringId, ThreadId, Unit,
    WAITS_LANE,
};
use rustc_hash::FxHashMap;
use trace::{CpuTime, ShortWaits};

use crate::namer::{Namer, RawEvent, RawSwitch};
use crate::resolve::resolve;
use crate::stacks::{NONE, RawStack};
use crate::threads::NamedThread;
use crate::turns::{self, OffCpu};

pub(crate) fn profile_of(namer: &Namer) -> Profile {
    let mut builder = Builder::new();
    builder.meta().format = namer.format.clone();
    builder.meta().way_in = "perf events".into();
    builder.reserve(namer.frames.rows.len(), namer.stacks.rows.len());
    let resolved = resolve(&mut builder, namer);
    let mut stacks: Vec<StackId> = Vec::with_capacity(namer.stacks.rows.len());
    for RawStack { parent, frame } in &namer.stacks.rows {
        let parent = stack_at(&stacks, *parent);
        stacks.push(builder.stack(parent, resolved.frames[*frame as usize]));
    }
    let mut threads = SeenThreads::new(namer);
    add_samples(&mut builder, namer, &mut threads, &stacks);
    add_switches(&mut builder, namer, &mut threads);
    add_loops(&mut builder, namer, &mut threads);
    if namer.clips_far_times {
        builder.clip_far_times();
    }
    infer_roles(&mut builder);
    turns::add_unwatched(&mut builder);
    note_losses(&mut builder, namer);
    settle_quality_with(&mut builder, |frame| resolved.reason(frame));
    settle_reasons(&mut builder, namer);
    settle_clock(&mut builder);
    settle_meta(&mut builder, namer);
    builder.finish()
}

fn stack_at(stacks: &[StackId], row: u32) -> StackId {
    if row == NONE { StackId::NONE } else { stacks[row as usize] }
}

/// The threads that were seen: a recording of a whole machine names many that never ran.
struct SeenThreads<'a> {
    namer: &'a Namer,
    ids: Vec<Option<ThreadId>>,
    /// The CPU limits of processes.
    limits: FxHashMap<u32, u32>,
}

impl<'a> SeenThreads<'a> {
    fn new(namer: &'a Namer) -> Self {
        let limit = |second: &trace::Second| Some((second.pid, second.cpu_limit_millis?));
        let limits = namer.seconds.iter().filter_map(limit).collect();
        Self { namer, ids: vec![None; namer.threads.rows.len()], limits }
    }

    fn id(&mut self, builder: &mut Builder, row: u32) -> ThreadId {
        if let Some(id) = self.ids[row as usize] {
            return id;
        }
        let Namer { threads, is_ours, .. } = self.namer;
        let rows = if *is_ours { threads.rows_of_life(row) } else { vec![row] };
        let last = rows.last().copied().unwrap_or(row);
        let NamedThread { pid, tid, name } = &threads.rows[last as usize];
        let process = process_of(builder, self.namer, &self.limits, *pid);
        let id = add::thread_of(builder, process, *tid, &String::from_utf8_lossy(name));
        let names = rows.iter().rev().map(|row| String::from_utf8_lossy(&threads.rows[*row as usize].name));
        if let Some(role) = add::role_of_names(*pid, *tid, names) {
            builder.set_role(id, role);
        }
        rows.iter().for_each(|row| self.ids[*row as usize] = Some(id));
        id
    }
}

/// A process, with whatever is known of it.
fn process_of(
    builder: &mut Builder,
    namer: &Namer,
    limits: &FxHashMap<u32, u32>,
    pid: Option<u32>,
) -> Process {
    let cpu_limit_millis = pid.and_then(|pid| limits.get(&pid).copied());
    let Some(facts) = pid.and_then(|pid| namer.facts.get(&pid)) else {
        return Process { pid, cpu_limit_millis, ..Process::default() };
    };
    let mut text = |text: &str| if text.is_empty() { StringId::NONE } else { builder.string(text) };
    Process {
        pid,
        inner_pid: facts.inner_pid,
        container: text(&facts.container),
        node_version: text(&facts.node_version),
        app: text(&facts.app),
        command: text(&facts.command),
        folder: text(&facts.folder),
        ports: facts.ports.clone(),
        cpu_limit_millis,
        ..Process::default()
    }
}

/// Adds event loops, their long turns, and what the kernel counted.
fn add_loops(builder: &mut Builder, namer: &Namer, threads: &mut SeenThreads<'_>) {
    let key = |row: u32| {
        let thread = &namer.threads.rows[row as usize];
        thread.pid.zip(thread.tid).filter(|key| namer.loop_threads.contains_key(key))
    };
    let mut off_cpu: BTreeMap<(u32, u32), OffCpu> = BTreeMap::new();
    for switch in &namer.switches {
        if let Some(key) = key(switch.thread) {
            off_cpu.entry(key).or_default().add(switch);
        }
    }
    for turn in namer.turns.iter().filter(|turn| !turns::is_part_of_a_start(turn, &namer.turns)) {
        let key = (turn.pid, turn.tid);
        let Some(row) = namer.loop_threads.get(&key) else { continue };
        let thread = threads.id(builder, *row);
        turns::add_turn(builder, thread, turn, off_cpu.get(&key));
    }
    for (key, raw) in &namer.loops {
        let Some(row) = namer.loop_threads.get(key) else { continue };
        let thread = threads.id(builder, *row);
        turns::add_loop(builder, thread, raw);
    }
    for second in &namer.seconds {
        let row = namer.threads.rows.iter().rposition(|thread| thread.pid == Some(second.pid));
        let Some(row) = row else { continue };
        let thread = threads.id(builder, row as u32);
        let process = builder.so_far().threads()[thread.index()].process;
        turns::add_second(builder, process, second);
    }
}

fn add_switches(builder: &mut Builder, namer: &Namer, threads: &mut SeenThreads<'_>) {
    let mut switch = |&RawSwitch { time_ns, thread, out, .. }: &RawSwitch| CpuSwitch {
        thread: threads.id(builder, thread),
        time_ns,
        out,
    };
    let switches: Vec<CpuSwitch> = namer.switches.iter().map(&mut switch).collect();
    let mut sum = |(thread, waits): &(u32, ShortWaits)| OffCpuTime {
        thread: threads.id(builder, *thread),
        start_ns: waits.time_ns,
        length_ns: waits.total_ns,
        times: u32::try_from(waits.count).unwrap_or(u32::MAX),
    };
    let sums: Vec<OffCpuTime> = namer.short_waits.iter().map(&mut sum).collect();
    add_off_cpu_times(builder, switches, sums);
}

fn add_samples(builder: &mut Builder, namer: &Namer, threads: &mut SeenThreads<'_>, stacks: &[StackId]) {
    let lanes = add_lanes(builder, namer);
    for row in &namer.samples {
        let Some(&lane) = lanes.get(&row.event) else { continue };
        let (thread, stack) = (threads.id(builder, row.thread), stack_at(stacks, row.stack));
        builder.sample(lane, Sample { time_ns: row.time_ns, thread, stack, weight: row.weight });
    }
}

/// A lane for each event that was seen, in the order in which they were asked for.
fn add_lanes(builder: &mut Builder, namer: &Namer) -> FxHashMap<u32, LaneId> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for row in &namer.samples {
        *counts.entry(row.event).or_default() += 1;
    }
    let is_waits = |event: &u32| namer.events.get(event).is_some_and(|event| event.name == WAITS_LANE);
    if counts.keys().all(is_waits) && !counts.is_empty() {
        // The first lane is the clock's, also where it has nothing.
        counts.insert(0, 0);
    }
    let mut lane = |(event, count)| {
        let lane = add_lane(builder, namer.events.get(&event));
        builder.reserve_samples(lane, count);
        (event, lane)
    };
    counts.into_iter().map(&mut lane).collect()
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

fn note_losses(builder: &mut Builder, namer: &Namer) {
    let losses = &mut builder.meta().losses;
    losses.lost = namer.losses.lost;
    losses.throttled = namer.losses.throttled;
    losses.helper_crashes = namer.losses.helper_crashes;
    losses.stacks_cut = namer.losses.stacks_cut;
    if let Some(CpuTime { used_ns, hidden_kernel_ns }) = namer.losses.cpu {
        losses.hidden_kernel_ns = hidden_kernel_ns;
        losses.cpu_ns = Some(used_ns);
    }
    losses.damage.extend_from_slice(&namer.losses.damage);
    losses.notes.extend_from_slice(&namer.losses.notes);
    if namer.world.processes.overflowed {
        losses.damage.push("too many mappings: some were left out".into());
    }
}

/// Whoever read the heap knows better than that there was no map why code has no name.
fn settle_reasons(builder: &mut Builder, namer: &Namer) {
    let unnamed = &mut builder.meta().losses.unnamed;
    let Some(mut left) = unnamed.remove(WITHOUT_MAP) else { return };
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
}

/// The command of the process that most samples are of, among those that no launcher is.
fn command_of_most(namer: &Namer) -> Option<String> {
    let mut samples: BTreeMap<u32, usize> = BTreeMap::new();
    for row in &namer.samples {
        if let Some(pid) = namer.threads.rows.get(row.thread as usize).and_then(|thread| thread.pid) {
            *samples.entry(pid).or_default() += 1;
        }
    }
    let told = samples.iter().filter_map(|(pid, count)| Some((namer.facts.get(pid)?, count)));
    let told = told.filter(|(facts, _)| !facts.command.is_empty());
    let most = told.max_by_key(|(facts, count)| (!is_launcher(&facts.command), **count));
    most.map(|(facts, _)| facts.command.clone())
}

/// Why no process can have names for what it generates, where all of them share the reason: a perf map is then no advice.
fn reason_of_all(namer: &Namer) -> Option<&str> {
    let mut reasons = namer.facts.values().map(|facts| facts.unnamed.as_str());
    let first = reasons.next().filter(|reason| !reason.is_empty())?;
    reasons.all(|reason| reason == first).then_some(first)
}

fn settle_meta(builder: &mut Builder, namer: &Namer) {
    let is_waits = |event: &RawEvent| event.name == WAITS_LANE;
    let mut events = namer.samples.iter().filter_map(|sample| namer.events.get(&sample.event));
    let interval_ns = events.find(|event| !is_waits(event)).and_then(|event| event.interval_ns);
    let start_ns = first_ns(builder.so_far());
    let mut versions: Vec<&str> = namer.facts.values().map(|facts| facts.node_version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    let meta = builder.meta();
    if let [version] = versions[..] {
        meta.node_version = (!version.is_empty()).then(|| version.to_owned());
    }
    meta.interval_ns = interval_ns.or(meta.interval_ns);
    meta.host.clone_from(&namer.about.host);
    meta.system = namer.about.os_release.as_ref().map(|release| format!("Linux {release}"));
    meta.command.clone_from(&namer.about.command);
    if meta.command.is_none() {
        meta.command = command_of_most(namer);
    }
    meta.start_unix_ns = namer.about.wall_clock.and_then(|(wall_ns, clock_ns)| {
        let start_ns = i128::from(wall_ns) - i128::from(clock_ns) + i128::from(start_ns?);
        (start_ns >= 0).then(|| start_ns.to_string())
    });
}
