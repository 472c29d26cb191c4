//! One event loop that is watched, and its thread: looks at it become turns, waits and delays.

use v8::Memory;
use v8::libuv::{EventLoop, LoopState};

use super::delays::Moments;
use super::groups::Groups;
use super::process::SECOND_NS;
use super::thread::{Scheduled, ThreadFiles};
use super::turns::{Kind, Look, Seen, Turns};
use super::waits::{Wait, Waits};
use super::{LoopSeen, Observation};

/// How often a loop is read again that has just begun its turn.
const MOST_READS: usize = 4;

/// What the last look at a loop has read, and when.
#[derive(Clone, Copy, Debug)]
struct Before {
    time_ns: u64,
    state: LoopState,
    scheduled: Scheduled,
}

/// A loop that is watched.
#[derive(Debug)]
pub(super) struct LoopThread {
    pub(super) tid: u32,
    pub(super) event_loop: EventLoop,
    pub(super) files: ThreadFiles,
    pub(super) turns: Turns,
    pub(super) waits: Waits,
    pub(super) moments: Moments,
    before: Option<Before>,
    pub(super) is_asleep: bool,
    pub(super) stack_end: Option<u64>,
    next_report_ns: u64,
}

pub(super) fn wait_of(
    (pid, tid): (u32, u32),
    Wait { time_ns, weight_ns, number }: Wait,
) -> Observation {
    Observation::Wait { number, pid, tid, time_ns, weight_ns }
}

impl LoopThread {
    pub(super) fn new(tid: u32, event_loop: EventLoop, files: ThreadFiles, turns: Turns) -> Self {
        Self {
            tid,
            event_loop,
            files,
            turns,
            waits: Waits::default(),
            moments: Moments::default(),
            before: None,
            is_asleep: false,
            stack_end: None,
            next_report_ns: 0,
        }
    }

    /// Looks at the loop and its thread; whether it is still there.
    pub(super) fn look(
        &mut self,
        memory: &dyn Memory,
        groups: &Groups,
        throttled_ns: Option<u64>,
    ) -> bool {
        let (Some(state), Some(scheduled)) = (self.read(memory), self.files.scheduled()) else {
            return false;
        };
        let now_ns = sys::clock::monotonic_ns();
        let Some(letter) = self.letter(&scheduled, now_ns) else { return false };
        let has_run = self.before.is_none_or(|before| before.scheduled.slices != scheduled.slices);
        let is_stopped =
            matches!(letter, 'T' | 't') || !has_run && letter != 'R' && groups.is_frozen();
        self.before = Some(Before { time_ns: now_ns, state, scheduled });
        self.is_asleep = matches!(letter, 'S' | 'D') && !is_stopped;
        let end = self.turns.look(Look {
            now_ns,
            entry_ns: state.entry_ns,
            idle_ns: state.idle_ns,
            count: state.count,
            time_ns: state.time_ms.saturating_mul(1_000_000),
            run_ns: scheduled.run_ns,
            ready_ns: scheduled.ready_ns,
            throttled_ns,
            is_stopped,
        });
        end.into_iter().for_each(|end| self.moments.end(end));
        true
    }

    /// Whether its libuv does not count turns.
    pub(super) fn is_uncounted(&self) -> bool {
        self.before.is_some_and(|before| before.state.count.is_none())
    }

    /// Whether the turn has ended that the last look saw. That is a third of a look.
    pub(super) fn has_moved(&self, memory: &dyn Memory) -> bool {
        let key = |state: &LoopState| (state.entry_ns, state.idle_ns, state.count);
        let (Some(before), Ok(now)) = (self.before, self.event_loop.look(memory)) else {
            return false;
        };
        key(&before.state) != key(&now)
    }

    /// A request may arrive now. Without a count, turns that follow one another cannot be distinguished.
    pub(super) fn add_moment(&mut self) {
        if let Some(Before { time_ns, state: LoopState { entry_ns, count: Some(_), .. }, .. }) =
            self.before
            && self.turns.is_serving()
        {
            self.moments.add(time_ns, entry_ns != 0);
        }
    }

    /// The kernel's letter for the thread. One that has run for most of the time since the last look is not asked for
    /// it, which is a third of what a look costs.
    fn letter(&self, scheduled: &Scheduled, now_ns: u64) -> Option<char> {
        let runs = self.before.is_some_and(|before| {
            let run_ns = scheduled.run_ns.saturating_sub(before.scheduled.run_ns);
            run_ns > now_ns.saturating_sub(before.time_ns) / 2
        });
        if runs { Some('R') } else { self.files.state() }
    }

    /// The loop's state. Right after a poll its length may not be added yet: then it is read again.
    fn read(&self, memory: &dyn Memory) -> Option<LoopState> {
        let before = self.before.map(|before| before.state);
        let mut state = self.event_loop.look(memory).ok()?;
        for _ in 1..MOST_READS {
            let is_half = before.is_some_and(|before| {
                before.entry_ns != 0 && state.entry_ns == 0 && state.idle_ns == before.idle_ns
            });
            if !is_half {
                break;
            }
            std::thread::yield_now();
            state = self.event_loop.look(memory).ok()?;
        }
        Some(state)
    }

    /// Reports what was seen.
    pub(super) fn report(&mut self, pid: u32, now_ns: u64, take: &mut dyn FnMut(Observation)) {
        let tid = self.tid;
        for seen in self.turns.take() {
            match seen {
                Seen::Long(turn) => {
                    if turn.kind != Kind::Stopped {
                        let length_ns = turn.end_ns.saturating_sub(turn.start_ns);
                        let off_ns =
                            length_ns.saturating_sub(turn.run_ns).saturating_sub(turn.ready_ns);
                        let wait = self.waits.end(turn.start_ns, off_ns);
                        wait.into_iter().for_each(|wait| take(wait_of((pid, tid), wait)));
                    }
                    take(Observation::Turn { pid, tid, turn });
                }
                Seen::Quick { start_ns, end_ns, turns } => {
                    take(Observation::Quick { pid, tid, start_ns, end_ns, turns });
                }
            }
        }
        if now_ns >= self.next_report_ns {
            self.next_report_ns = now_ns.saturating_add(SECOND_NS);
            self.report_loop(pid, now_ns, take);
        }
    }

    fn report_loop(&mut self, pid: u32, now_ns: u64, take: &mut dyn FnMut(Observation)) {
        if let Some(met) = self.moments.take(now_ns) {
            take(Observation::Delays { pid, tid: self.tid, met });
        }
        if let Some(watched) = self.turns.watched() {
            take(Observation::Loop(LoopSeen {
                pid,
                tid: self.tid,
                start_ns: watched.start_ns,
                end_ns: watched.end_ns,
                polled_ns: Some(watched.polled_ns),
                turns: watched.turns,
                problem: None,
            }));
        }
    }

    pub(super) fn finish(&mut self, pid: u32, end_ns: u64, take: &mut dyn FnMut(Observation)) {
        self.turns.finish(end_ns);
        self.report(pid, end_ns, take);
        self.report_loop(pid, end_ns, take);
    }
}
