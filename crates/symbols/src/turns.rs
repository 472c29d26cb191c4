//! The event loops of a recording: which were watched, their long turns and how those were spent. What the watcher
//! took from the kernel's counters is as exact as its looks; where the thread's context switches were recorded,
//! they show to the microsecond when it was off the CPU.

use std::collections::BTreeMap;

use profile::{
    Builder, LongTurn, Loop, Marker, MarkerKind, Pool, Role, Second, StringId, ThreadId, TurnKind,
    UNKNOWN,
};
use trace::Turn;
use v8::libuv::PoolWork;

use crate::namer::RawSwitch;

/// Why a worker's loop was not watched.
const NOT_FOUND: &str = "its loop was not found";
/// Where switches and counters differ by more than this, switches were lost.
const TRUSTED_NS: u64 = 20_000_000;

/// At most this many times off the CPU are kept of a thread: a busy one has that many in some seconds.
const MOST_SPANS: usize = 1 << 13;

/// What is known of a loop, from all watches of its thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawLoop {
    /// By the starts of the watches: the ends, the time in polls, and the turns.
    pub(crate) watches: BTreeMap<u64, (u64, Option<u64>, Option<u64>)>,
    pub(crate) problem: String,
}

/// When a thread left a CPU and came back, in the order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct OffCpu {
    /// From, to, and whether it would have gone on.
    spans: Vec<(u64, u64, bool)>,
    left: Option<(u64, bool)>,
}

impl OffCpu {
    /// Adds the next switch.
    pub(crate) fn add(&mut self, switch: &RawSwitch) {
        if switch.out {
            self.left = Some((switch.time_ns, switch.preempted));
        } else if let Some((from_ns, preempted)) = self.left.take() {
            self.spans.push((from_ns, switch.time_ns, preempted));
        }
    }

    /// Long turns are reported soon after they have ended: what is older is not asked for any more, but by very long
    /// ones.
    pub(crate) fn forget_oldest(&mut self) {
        let surplus = self.spans.len().saturating_sub(MOST_SPANS);
        // Not one by one.
        if surplus > MOST_SPANS / 2 {
            self.spans.drain(..surplus);
        }
    }

    /// How long it was off the CPU within a span, and how much of that it was ready; none where nothing is known.
    fn within(&self, start_ns: u64, end_ns: u64) -> Option<(u64, u64)> {
        let known = self.spans.first().is_some_and(|(from_ns, ..)| *from_ns <= start_ns);
        let first = self.spans.partition_point(|(_, to_ns, _)| *to_ns <= start_ns);
        let (mut off_ns, mut preempted_ns) = (0u64, 0u64);
        let open = self.left.map(|(from_ns, preempted)| (from_ns, u64::MAX, preempted));
        for (from_ns, to_ns, preempted) in self.spans.get(first..)?.iter().copied().chain(open) {
            if from_ns >= end_ns {
                break;
            }
            let length_ns = to_ns.min(end_ns).saturating_sub(from_ns.max(start_ns));
            off_ns = off_ns.saturating_add(length_ns);
            preempted_ns = preempted_ns.saturating_add(if preempted { length_ns } else { 0 });
        }
        known.then_some((off_ns, preempted_ns))
    }
}

/// Whether a start is a part of another one: a watch that noticed a new program before its record came began anew.
pub(crate) fn is_part_of_a_start(turn: &Turn, all: &[Turn]) -> bool {
    let is_start = |turn: &Turn| turn.kind == trace::TurnKind::Startup;
    is_start(turn) && all.iter().any(|other| *other != *turn && holds_start(other, turn))
}

/// Whether one start is around another one, of the same thread.
pub(crate) fn holds_start(whole: &Turn, part: &Turn) -> bool {
    let is_start = |turn: &Turn| turn.kind == trace::TurnKind::Startup;
    let is_same = (whole.pid, whole.tid) == (part.pid, part.tid);
    let is_around = whole.start_ns <= part.start_ns && part.end_ns <= whole.end_ns;
    is_same && is_around && is_start(whole) && is_start(part)
}

/// Adds the marker of a stretch of a loop's time, if it has one.
pub(crate) fn add_marker(builder: &mut Builder, thread: ThreadId, turn: &Turn) -> bool {
    let (start_ns, end_ns) = (turn.start_ns, turn.end_ns.max(turn.start_ns));
    let text = match turn.kind {
        trace::TurnKind::Turn => StringId::NONE,
        trace::TurnKind::Quick => builder.string(&format!("{} turns", turn.turns)),
        // Nothing waited for it: the page must not take it for a stall.
        trace::TurnKind::Startup => builder.string("start"),
        trace::TurnKind::Stopped => return false,
    };
    builder.marker(Marker { kind: MarkerKind::LoopTurn, thread, start_ns, end_ns, text });
    true
}

/// The row of a stretch of a loop's time, if it is long.
pub(crate) fn long_turn(
    thread: ThreadId,
    turn: &Turn,
    off_cpu: Option<&OffCpu>,
) -> Option<LongTurn> {
    let (start_ns, end_ns) = (turn.start_ns, turn.end_ns.max(turn.start_ns));
    let kind = match turn.kind {
        trace::TurnKind::Turn => TurnKind::Turn,
        trace::TurnKind::Startup => TurnKind::Startup,
        trace::TurnKind::Stopped => TurnKind::Stopped,
        trace::TurnKind::Quick => return None,
    };
    let (run_ns, ready_ns) = spent(turn, end_ns - start_ns, off_cpu);
    let throttled_ns = turn.throttled_ns.map_or(UNKNOWN, |throttled_ns| throttled_ns.min(ready_ns));
    Some(LongTurn { kind, thread, start_ns, end_ns, run_ns, ready_ns, throttled_ns })
}

/// The time on a CPU and the time ready for one, of a turn of this length.
fn spent(turn: &Turn, length_ns: u64, off_cpu: Option<&OffCpu>) -> (u64, u64) {
    let run_ns = turn.run_ns.min(length_ns);
    let ready_ns = turn.ready_ns.min(length_ns - run_ns);
    let switches = off_cpu.and_then(|off_cpu| off_cpu.within(turn.start_ns, turn.end_ns));
    let Some((off_ns, preempted_ns)) = switches.filter(|_| turn.kind != trace::TurnKind::Stopped)
    else {
        return (run_ns, ready_ns);
    };
    let exact_ns = length_ns.saturating_sub(off_ns);
    if exact_ns.abs_diff(run_ns) > TRUSTED_NS.max(length_ns / 10) {
        return (run_ns, ready_ns);
    }
    (exact_ns, ready_ns.max(preempted_ns).min(length_ns - exact_ns))
}

/// The row of a loop.
pub(crate) fn loop_row(builder: &mut Builder, thread: ThreadId, raw: &RawLoop) -> Loop {
    let (polled, turns) = raw.counted();
    let (start_ns, end_ns) = raw.span();
    let problem = if raw.is_watched() { StringId::NONE } else { builder.string(&raw.problem) };
    let (polled_ns, turns) = (polled.unwrap_or(UNKNOWN), turns.unwrap_or(UNKNOWN));
    Loop { thread, start_ns, end_ns, polled_ns, turns, problem }
}

/// Adds something to draw for a loop that was watched, and whose turns left nothing.
pub(crate) fn add_marker_of_loop(builder: &mut Builder, thread: ThreadId, raw: &RawLoop) -> bool {
    if raw.is_watched() {
        let turns = raw.counted().1;
        let text = builder
            .string(&turns.map_or("quick turns".to_owned(), |turns| format!("{turns} turns")));
        let (kind, end_ns) = (MarkerKind::LoopTurn, raw.span().1);
        builder.marker(Marker { kind, thread, start_ns: end_ns, end_ns, text });
    }
    raw.is_watched()
}

impl RawLoop {
    fn is_watched(&self) -> bool {
        self.watches.values().any(|(_, polled, _)| polled.is_some())
    }

    /// The time in polls, and the turns, of all watches.
    fn counted(&self) -> (Option<u64>, Option<u64>) {
        let (mut polled, mut turns) = (Some(0u64), Some(0u64));
        // A watch that could not begin does not count where another one did.
        let is_watched = self.is_watched();
        let counted =
            self.watches.values().filter(|(_, polled, _)| polled.is_some() || !is_watched);
        for (_, polled_ns, count) in counted {
            polled = polled.zip(*polled_ns).map(|(sum, part)| sum.saturating_add(part));
            turns = turns.zip(*count).map(|(sum, part)| sum.saturating_add(part));
        }
        (polled, turns)
    }

    /// From the start of the first watch to the end of the last.
    fn span(&self) -> (u64, u64) {
        let start_ns = self.watches.keys().min().copied().unwrap_or(0);
        let end_ns = self.watches.values().map(|(end_ns, ..)| *end_ns).max().unwrap_or(0);
        (start_ns, end_ns.max(start_ns))
    }
}

/// Adds the loops of workers that are not among those that are known, as long as they were sampled. The builder knows
/// the roles.
pub(crate) fn add_unwatched(
    builder: &mut Builder,
    known: &[ThreadId],
    span: impl Fn(ThreadId) -> (u64, u64),
) {
    if known.is_empty() {
        return;
    }
    let threads = builder.so_far().threads();
    let key = |thread: ThreadId| {
        let thread = &threads[thread.index()];
        (thread.process, thread.tid)
    };
    let known: Vec<_> = known.iter().map(|thread| key(*thread)).collect();
    let mut missed: BTreeMap<_, ThreadId> = BTreeMap::new();
    for (row, thread) in threads.iter().enumerate() {
        let id = ThreadId::from_index(row);
        if thread.role == Role::Worker && !known.contains(&key(id)) {
            missed.insert(key(id), id);
        }
    }
    let problem = builder.string(NOT_FOUND);
    for thread in missed.into_values() {
        let (start_ns, end_ns) = span(thread);
        let (polled_ns, turns) = (UNKNOWN, UNKNOWN);
        builder.event_loop(Loop { thread, start_ns, end_ns, polled_ns, turns, problem });
    }
}

/// Adds what the kernel counted in a piece of time.
pub(crate) fn add_second(
    builder: &mut Builder,
    process: profile::ProcessId,
    second: &trace::Second,
) {
    let known = |number: Option<u64>| number.unwrap_or(UNKNOWN);
    builder.second(Second {
        process,
        start_ns: second.start_ns,
        end_ns: second.end_ns.max(second.start_ns),
        run_ns: second.run_ns,
        ready_ns: second.ready_ns,
        periods: known(second.periods),
        throttled_periods: known(second.throttled_periods),
        throttled_ns: known(second.throttled_ns),
        cpu_pressure_ns: known(second.cpu_pressure_ns),
        memory_pressure_ns: known(second.memory_pressure_ns),
    });
}

/// Adds what a thread pool did in a piece of time.
pub(crate) fn add_pool(builder: &mut Builder, process: profile::ProcessId, pool: &trace::PoolUse) {
    let queued = |work: PoolWork| pool.queued[work as usize];
    builder.pool(Pool {
        process,
        start_ns: pool.start_ns,
        end_ns: pool.end_ns.max(pool.start_ns),
        threads: pool.threads,
        looks: pool.looks,
        busy: pool.busy,
        full: pool.full,
        most_queued: pool.most_queued,
        queued_fs: queued(PoolWork::Fs),
        queued_dns: queued(PoolWork::Dns),
        queued_crypto: queued(PoolWork::Crypto),
        queued_zlib: queued(PoolWork::Zlib),
        queued_addon: queued(PoolWork::Addon),
        queued_other: queued(PoolWork::Other),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off_cpu(rows: &[(u64, bool, bool)]) -> OffCpu {
        let mut off_cpu = OffCpu::default();
        for &(time_ns, out, preempted) in rows {
            off_cpu.add(&RawSwitch { time_ns, thread: 0, out, preempted });
        }
        off_cpu
    }

    #[test]
    fn a_start_that_was_noticed_twice_is_one() {
        let turn = |kind, tid, start_ns, end_ns| Turn {
            kind,
            pid: 7,
            tid,
            start_ns,
            end_ns,
            turns: 1,
            run_ns: 0,
            ready_ns: 0,
            throttled_ns: None,
        };
        use trace::TurnKind::{Startup, Turn as Long};
        let whole = turn(Startup, 7, 0, 488);
        let others = [turn(Startup, 8, 10, 60), turn(Startup, 7, 500, 600), turn(Long, 7, 10, 60)];
        let all = [&[whole, turn(Startup, 7, 10, 68)][..], &others].concat();
        let kept: Vec<Turn> =
            all.iter().filter(|turn| !is_part_of_a_start(turn, &all)).copied().collect();
        assert_eq!(kept, [&[whole][..], &others].concat());
    }

    #[test]
    fn switches_show_when_a_thread_was_off_the_cpu() {
        let rows = [
            (10, true, false),
            (20, false, false),
            (30, true, true),
            (35, false, false),
            (50, true, false),
        ];
        let known = off_cpu(&rows);
        assert_eq!(known.within(15, 32), Some((7, 2)));
        assert_eq!(known.within(20, 60), Some((15, 5)), "it has not come back yet");
        assert_eq!(known.within(5, 60), None, "what was before is not known");
        assert_eq!(off_cpu(&[]).within(5, 60), None);
    }

    #[test]
    fn switches_are_believed_where_they_agree_with_the_counters() {
        let ms = 1_000_000;
        let known = off_cpu(&[
            (0, true, false),
            (10 * ms, false, false),
            (40 * ms, true, false),
            (200 * ms, false, false),
        ]);
        let turn = |run_ns: u64, ready_ns: u64| Turn {
            kind: trace::TurnKind::Turn,
            pid: 1,
            tid: 1,
            start_ns: 10 * ms,
            end_ns: 210 * ms,
            turns: 1,
            run_ns,
            ready_ns,
            throttled_ns: None,
        };
        assert_eq!(spent(&turn(35 * ms, 2 * ms), 200 * ms, Some(&known)), (40 * ms, 2 * ms));
        assert_eq!(
            spent(&turn(150 * ms, 2 * ms), 200 * ms, Some(&known)),
            (150 * ms, 2 * ms),
            "some were lost"
        );
        assert_eq!(spent(&turn(35 * ms, 900 * ms), 200 * ms, None), (35 * ms, 165 * ms));
    }

    #[test]
    fn watches_of_one_thread_are_one_loop() {
        let mut builder = Builder::new();
        let process = builder.process(profile::Process::default());
        let name = builder.string("node");
        let thread =
            builder.thread(profile::Thread { process, tid: Some(7), name, role: Role::Worker });
        let watches = BTreeMap::from([
            (10, (20, Some(5), Some(3))),
            (30, (30, None, None)),
            (40, (90, Some(7), Some(2))),
        ]);
        let watched = RawLoop { watches, problem: String::new() };
        let missed =
            RawLoop { watches: BTreeMap::from([(10, (10, None, None))]), problem: "no".into() };
        for raw in [&watched, &missed] {
            let row = loop_row(&mut builder, thread, raw);
            builder.event_loop(row);
            assert_eq!(add_marker_of_loop(&mut builder, thread, raw), raw.is_watched());
        }
        let profile = builder.finish();
        let rows = profile.loops();
        assert_eq!(
            (rows.start_ns[0], rows.end_ns[0], rows.polled_ns[0], rows.turns[0]),
            (0, 80, 12, 5)
        );
        assert_eq!((rows.polled_ns[1], rows.turns[1]), (UNKNOWN, UNKNOWN));
        assert_eq!((rows.problem[0].some(), profile.text(rows.problem[1])), (None, "no"));
        assert_eq!(profile.markers().len(), 1, "that it was watched can be seen");
    }
}
