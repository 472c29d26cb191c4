//! Watches the event loops of Node processes from outside: when they turn and wait, what long turns were spent with,
//! where a thread sleeps inside of one, and what the kernel counts for its process. Nothing is sent anywhere: the
//! caller calls [`Watcher::look`] when it is time, and gets observations.

mod delays;
mod find;
mod groups;
mod host;
mod loop_thread;
mod pool;
mod process;
mod sleeping;
mod thread;
mod turns;
mod waits;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use symbols::RemoteMemory;
use trace::PoolUse;

use super::asleep::SleepingStack;
use delays::Schedule;
use find::Programs;
use groups::Machine;
use process::Process;

pub(crate) use delays::Met;
pub(crate) use host::Second;
pub(crate) use turns::{Kind, LongTurn};

/// How often loops are looked at: mostly, where they count no turns, while a turn goes on that may be long, and while a
/// process starts. A turn of 50 ms is seen at an age of 15 to 45 ms, and from then on often. Without a count, all turns
/// between two looks may have been one: those must be closer.
const PAUSE: Duration = Duration::from_millis(30);
const UNCOUNTED_PAUSE: Duration = Duration::from_millis(20);
const TURN_PAUSE: Duration = Duration::from_millis(10);
const START_PAUSE: Duration = Duration::from_millis(5);
/// Up to this many loops are looked at so often; more of them less often.
const AT_FULL_PACE: usize = 16;
/// More loops are not watched.
const MOST_LOOPS: usize = 256;
/// How many sleeping stacks are read in a second, and how many bytes.
const MOST_STACKS: u32 = 16;
const MOST_STACK_BYTES: usize = 2 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// What a watch yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// What is known of a loop so far: the last record counts.
    Loop(LoopSeen),
    /// A long turn that has ended.
    Turn { pid: u32, tid: u32, turn: LongTurn },
    /// Quick turns without a wait between them.
    Quick { pid: u32, tid: u32, start_ns: u64, end_ns: u64, turns: u64 },
    /// Where a thread sleeps inside of a long turn. A later record has for how long.
    Stack { number: u64, pid: u32, tid: u32, time_ns: u64, stack: SleepingStack },
    /// The time that such a stack stands for; one that stands for nothing is not reported again.
    Wait { number: u64, pid: u32, tid: u32, time_ns: u64, weight_ns: u64 },
    /// How long requests would have waited.
    Delays { pid: u32, tid: u32, met: Met },
    /// What a thread pool did.
    Pool(PoolUse),
    /// What the kernel counted.
    Second(Second),
}

/// A loop, and for how long it was watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoopSeen {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) polled_ns: Option<u64>,
    pub(crate) turns: Option<u64>,
    /// Why it is not watched.
    pub(crate) problem: Option<&'static str>,
}

/// Watches the loops of processes.
#[derive(Debug)]
pub(crate) struct Watcher {
    machine: Machine,
    programs: Programs,
    processes: BTreeMap<u32, Process>,
    /// Threads for which nothing may be read.
    excluded: BTreeSet<u32>,
    next_look_ns: u64,
    /// When requests may arrive.
    schedule: Schedule,
    /// The second in which stacks are counted, how many were read in it, and how many bytes.
    stack_second: (u64, u32, usize),
    next_stack: u64,
    wants_stacks: bool,
    /// How often memory was read.
    looks: u64,
}

impl Watcher {
    /// Watches nothing yet. Sleeping stacks are only asked for where a walker can name them.
    pub(crate) fn new(excluded: &[u32], wants_stacks: bool) -> Self {
        Self {
            machine: Machine::default(),
            programs: Programs::default(),
            processes: BTreeMap::new(),
            excluded: excluded.iter().copied().collect(),
            next_look_ns: 0,
            schedule: Schedule::new(sys::clock::monotonic_ns()),
            stack_second: (0, 0, 0),
            next_stack: 0,
            wants_stacks,
            looks: 0,
        }
    }

    /// A process that runs already.
    pub(crate) fn add(&mut self, pid: u32, now_ns: u64) {
        if !self.processes.contains_key(&pid) {
            self.insert(pid, now_ns, false);
        }
    }

    /// A process has become another program, or has begun.
    pub(crate) fn begin(&mut self, pid: u32, time_ns: u64, take: &mut dyn FnMut(Observation)) {
        let is_known = |process: &Process| process.was_noticed_after(time_ns);
        if self.processes.get(&pid).is_some_and(is_known) {
            // A look was quicker than the record: the watch begins again with the right time.
            self.processes.remove(&pid);
        }
        self.end(pid, time_ns, take);
        self.insert(pid, time_ns, true);
        self.next_look_ns = 0;
    }

    /// A thread has begun.
    pub(crate) fn begin_thread(&mut self, pid: u32, tid: u32, time_ns: u64) {
        if let Some(process) = self.processes.get_mut(&pid) {
            process.begin_thread(tid, time_ns);
        }
    }

    /// A process has ended.
    pub(crate) fn end(&mut self, pid: u32, time_ns: u64, take: &mut dyn FnMut(Observation)) {
        if let Some(mut process) = self.processes.remove(&pid) {
            process.finish(time_ns, take);
        }
    }

    fn insert(&mut self, pid: u32, time_ns: u64, is_new: bool) {
        if let Ok(memory) = RemoteMemory::of(pid) {
            self.processes.insert(pid, Process::new(pid, memory, time_ns, is_new));
        }
    }

    /// When the next look is due.
    pub(crate) fn pause(&self, now_ns: u64) -> Duration {
        let is_open = self.processes.values().any(Process::has_open_moments);
        let follow_up_ns = self.schedule.follow_up_ns().filter(|_| is_open);
        let next_ns = self.next_look_ns.min(follow_up_ns.unwrap_or(u64::MAX));
        Duration::from_nanos(next_ns.saturating_sub(now_ns))
    }

    /// Looks at everything, or at what was busy a moment ago, if it is time.
    pub(crate) fn look(&mut self, now_ns: u64, take: &mut dyn FnMut(Observation)) {
        let is_follow_up = self.schedule.is_follow_up(now_ns);
        if now_ns >= self.next_look_ns {
            self.look_at_all(now_ns, take);
        } else if is_follow_up {
            for process in self.processes.values_mut() {
                process.follow_up(now_ns, &mut self.looks, take);
            }
        }
    }

    fn look_at_all(&mut self, now_ns: u64, take: &mut dyn FnMut(Observation)) {
        let is_moment = self.schedule.is_moment(now_ns);
        let mut wanted: Vec<(u32, u32)> = Vec::new();
        let mut room = MOST_LOOPS.saturating_sub(self.loops());
        let mut ended = Vec::new();
        for (pid, process) in &mut self.processes {
            let context = process::Context {
                now_ns,
                machine: &self.machine,
                programs: &mut self.programs,
                excluded: &self.excluded,
                is_moment,
                room: &mut room,
                looks: &mut self.looks,
            };
            if process.look(context, take) {
                wanted.extend(process.sleepers(now_ns).map(|tid| (*pid, tid)));
            } else {
                ended.push(*pid);
            }
        }
        ended.iter().for_each(|pid| self.end(*pid, now_ns, take));
        if is_moment {
            self.schedule.next(now_ns, self.pause_between_moments());
        }
        let pace_ns = self.pace(now_ns).map_or(u64::MAX, |pace| pace.as_nanos() as u64);
        self.next_look_ns = now_ns.saturating_add(pace_ns).min(self.schedule.moment_ns());
        if !self.wants_stacks {
            wanted.clear();
        }
        for (pid, tid) in wanted {
            self.read_stack(pid, tid, take);
        }
    }

    /// Reads the stack of a thread that sleeps, unless that was done often enough.
    fn read_stack(&mut self, pid: u32, tid: u32, take: &mut dyn FnMut(Observation)) -> Option<()> {
        let now_ns = sys::clock::monotonic_ns();
        let second = now_ns / SECOND_NS;
        if self.stack_second.0 != second {
            self.stack_second = (second, 0, 0);
        }
        if self.stack_second.1 >= MOST_STACKS || self.stack_second.2 >= MOST_STACK_BYTES {
            return None;
        }
        let (number, time_ns) = (self.next_stack, now_ns);
        let process = self.processes.get_mut(&pid)?;
        let stack = process.read_stack(tid, (time_ns, number), take)?;
        self.next_stack += 1;
        self.stack_second.1 += 1;
        self.stack_second.2 += stack.bytes.len();
        take(Observation::Stack { number, pid, tid, time_ns, stack });
        Some(())
    }

    /// The watch ends.
    pub(crate) fn finish(&mut self, now_ns: u64, take: &mut dyn FnMut(Observation)) {
        self.processes.values_mut().for_each(|process| process.finish(now_ns, take));
        self.processes.clear();
    }

    /// How often memory was read so far.
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }

    fn loops(&self) -> usize {
        self.processes.values().map(Process::loops).sum()
    }

    /// The pause before the next look, where it may not be the next moment.
    fn pace(&self, now_ns: u64) -> Option<Duration> {
        if self.loops() > AT_FULL_PACE {
            return None;
        }
        let paces = self.processes.values().map(|process| process.pace(now_ns));
        match paces.max()? {
            process::Pace::Starting => Some(START_PAUSE),
            process::Pace::Turning => Some(TURN_PAUSE),
            process::Pace::Uncounted => Some(UNCOUNTED_PAUSE),
            process::Pace::Steady => None,
        }
    }

    fn pause_between_moments(&self) -> Duration {
        match self.loops() {
            0..=AT_FULL_PACE => PAUSE,
            loops => PAUSE.saturating_mul((loops / AT_FULL_PACE) as u32 + 1),
        }
    }
}
