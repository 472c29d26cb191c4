//! The event loops of a recording, as they become known: rows that were added are written again when more is known.

use std::collections::{BTreeMap, BTreeSet};

use profile::{Builder, Delay, Loop, ProcessId, Profile, RowId, ThreadId};
use trace::{Turn, TurnKind};

use crate::assembly::Progress;
use crate::namer::{Namer, RawSwitch};
use crate::seen_threads::SeenThreads;
use crate::turns::{self, OffCpu, RawLoop};

/// A thread, by process and number.
type Key = (u32, u32);

/// See the module's text.
#[derive(Default)]
pub(crate) struct Loops {
    /// When the threads of loops were off the CPU.
    off_cpu: BTreeMap<Key, OffCpu>,
    /// What was added of each loop.
    added: BTreeMap<Key, (RowId, RawLoop)>,
    ends: BTreeMap<ThreadId, u64>,
    /// Starts of programs that were added: another watch may have seen more of one.
    starts: Vec<(Turn, RowId)>,
    /// Threads whose turns can be seen.
    drawn: BTreeSet<ThreadId>,
    /// For each thread the times of its first and its last sample.
    spans: Vec<Option<(u64, u64)>>,
}

impl Loops {
    /// Learns when threads that may run loops were off the CPU.
    pub(crate) fn learn_switches(&mut self, namer: &Namer, switches: &[RawSwitch]) {
        for switch in switches {
            let thread = namer.threads.rows.get(switch.thread as usize);
            let key = thread.and_then(|thread| thread.pid.zip(thread.tid));
            let may_loop = |key: &Key| key.0 == key.1 || namer.loops.contains_key(key);
            if let Some(key) = key.filter(may_loop) {
                self.off_cpu.entry(key).or_default().add(switch);
            }
        }
    }

    /// Adds loops, their long turns, and what the kernel counted.
    pub(crate) fn add(
        &mut self,
        builder: &mut Builder,
        namer: &mut Namer,
        threads: &mut SeenThreads,
        progress: Progress,
    ) {
        let is_due = |turn: &Turn| progress.has_reached(turn.end_ns);
        let (due, open): (Vec<Turn>, Vec<Turn>) =
            std::mem::take(&mut namer.turns).into_iter().partition(is_due);
        namer.turns = open;
        for turn in due.iter().filter(|turn| !turns::is_part_of_a_start(turn, &due)) {
            let thread = thread_of(builder, namer, threads, (turn.pid, turn.tid));
            self.add_turn(builder, thread, turn);
        }
        let loops = std::mem::take(&mut namer.loops);
        // The record of a thread that has just begun comes later than that of its loop.
        let is_there = |(pid, tid): &Key| {
            progress == Progress::Whole || namer.threads.is_known(Some(*pid), Some(*tid))
        };
        let known: Vec<&Key> = loops.keys().filter(|key| is_there(key)).collect();
        for key in known {
            let Some(raw) = loops.get(key) else { continue };
            let thread = thread_of(builder, namer, threads, *key);
            self.add_loop(builder, *key, thread, raw);
            if progress == Progress::Whole {
                self.draw(builder, thread, raw);
            }
        }
        namer.loops = loops;
        for second in std::mem::take(&mut namer.seconds) {
            if let Some(process) = process_of(builder, namer, threads, second.pid) {
                turns::add_second(builder, process, &second);
            }
        }
        for pool in std::mem::take(&mut namer.pools) {
            if let Some(process) = process_of(builder, namer, threads, pool.pid) {
                turns::add_pool(builder, process, &pool);
            }
        }
        add_delays(builder, namer, threads, progress);
        self.off_cpu.values_mut().for_each(OffCpu::forget_oldest);
    }

    fn add_turn(&mut self, builder: &mut Builder, thread: ThreadId, turn: &Turn) {
        if self.starts.iter().any(|(known, _)| turns::holds_start(known, turn)) {
            return;
        }
        let off_cpu = self.off_cpu.get(&(turn.pid, turn.tid));
        let row = turns::long_turn(thread, turn, off_cpu);
        let earlier = self.starts.iter_mut().find(|(known, _)| turns::holds_start(turn, known));
        if let (Some((known, id)), Some(row)) = (earlier, row) {
            *known = *turn;
            return builder.change_long_turn(*id, row);
        }
        if turns::add_marker(builder, thread, turn) {
            self.drawn.insert(thread);
        }
        let Some(row) = row else { return };
        let id = builder.long_turn(row);
        if turn.kind == TurnKind::Startup {
            self.starts.push((*turn, id));
        }
    }

    fn add_loop(&mut self, builder: &mut Builder, key: Key, thread: ThreadId, raw: &RawLoop) {
        let known = self.added.get(&key);
        if known.is_some_and(|(_, known)| known == raw) {
            return;
        }
        let row: Loop = turns::loop_row(builder, thread, raw);
        self.ends.insert(thread, row.end_ns);
        let id = match known {
            Some((id, _)) => {
                builder.change_event_loop(*id, row);
                *id
            }
            None => builder.event_loop(row),
        };
        self.added.insert(key, (id, raw.clone()));
    }

    /// Adds something to draw where the turns of a loop left nothing.
    fn draw(&mut self, builder: &mut Builder, thread: ThreadId, raw: &RawLoop) {
        if !self.drawn.contains(&thread) && turns::add_marker_of_loop(builder, thread, raw) {
            self.drawn.insert(thread);
        }
    }

    /// Remembers when threads were sampled.
    pub(crate) fn note_samples(&mut self, profile: &Profile) {
        self.spans.resize(profile.threads().len(), None);
        for lane in profile.lanes() {
            for (time_ns, thread) in lane.samples.time_ns.iter().zip(&lane.samples.thread) {
                let span = &mut self.spans[thread.index()];
                let (first_ns, last_ns) = span.unwrap_or((*time_ns, *time_ns));
                *span = Some((first_ns.min(*time_ns), last_ns.max(*time_ns)));
            }
        }
    }

    /// Adds the loops of workers that were not watched, in a recording whose loops were. The builder knows the roles.
    pub(crate) fn add_unwatched(&self, builder: &mut Builder) {
        let end_ns = self.ends.values().max().copied().unwrap_or(0);
        let known: Vec<ThreadId> = self.ends.keys().copied().collect();
        let span = |thread: ThreadId| {
            self.spans.get(thread.index()).copied().flatten().unwrap_or((end_ns, end_ns))
        };
        turns::add_unwatched(builder, &known, span);
    }
}

/// Adds how long requests would have waited, as far as the threads are known.
fn add_delays(
    builder: &mut Builder,
    namer: &mut Namer,
    threads: &mut SeenThreads,
    progress: Progress,
) {
    for delay in std::mem::take(&mut namer.delays) {
        let is_known = namer.threads.is_known(Some(delay.pid), Some(delay.tid));
        if !is_known && progress != Progress::Whole {
            namer.delays.push(delay);
            continue;
        }
        let thread = thread_of(builder, namer, threads, (delay.pid, delay.tid));
        let trace::Delay { start_ns, end_ns, delay_us, moments, .. } = delay;
        let end_ns = end_ns.max(start_ns);
        builder.delay(Delay { thread, start_ns, end_ns, delay_us, moments });
    }
}

/// The process of a number, if a thread of it is known.
fn process_of(
    builder: &mut Builder,
    namer: &mut Namer,
    threads: &mut SeenThreads,
    pid: u32,
) -> Option<ProcessId> {
    let row = namer.threads.rows.iter().rposition(|thread| thread.pid == Some(pid))?;
    threads.id(builder, namer, row as u32);
    Some(threads.process(builder, namer, Some(pid)))
}

/// The thread of a loop, under its last name.
fn thread_of(
    builder: &mut Builder,
    namer: &mut Namer,
    threads: &mut SeenThreads,
    (pid, tid): Key,
) -> ThreadId {
    let row = namer.threads.current(Some(pid), Some(tid)).row;
    threads.id(builder, namer, row)
}
