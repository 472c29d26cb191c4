//! One process that is watched: its main loop, those of its workers, and its counters.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use symbols::RemoteMemory;
use v8::Memory;
use v8::libuv::{EventLoop, LoopFault, LoopLayout};

use super::find::{Found, Programs};
use super::groups::{Groups, Machine, Throttling};
use super::host::{Counted, most_throttled};
use super::loop_thread::{LoopThread, wait_of};
use super::pool::PoolWatch;
use super::sleeping;
use super::thread::ThreadFiles;
use super::turns::Turns;
use super::{LoopSeen, Observation, workers};
use crate::linux::asleep::SleepingStack;

/// For how long a process may be without a loop before that is a problem.
const START_NS: u64 = 2_000_000_000;
/// For how long another program is looked at: it may become Node.
const OTHER_NS: u64 = 5_000_000_000;
/// How often another program, the list of threads, and the kernel's counters are looked at.
const OTHER_PAUSE_NS: u64 = 250_000_000;
const THREADS_PAUSE_NS: u64 = 200_000_000;
pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// A turn that lasts longer than this, and less than that, is looked at more often.
const QUICK_NS: u64 = 15_000_000;
const LASTING_NS: u64 = 1_000_000_000;
/// The threads of a process that are looked at.
const MOST_THREADS: usize = 512;

/// Why a loop is not watched.
const UNKNOWN_LIBUV: &str = "its libuv is unknown";
const UNREADABLE: &str = "its memory may not be read";
const UNTIMED: &str = "it does not time its polls";
const TOO_MANY: &str = "there are too many event loops";
const EXCLUDED: &str = "its memory blocks every reader";

/// Threads of Node that run no JavaScript, by the names that newer releases give them.
const OTHER_THREADS: &[&str] =
    &["V8Worker", "node-V8Worker", "libuv-worker", "DelayedTaskSche", "SignalInspector"];

/// What a look is given.
pub(super) struct Context<'a> {
    pub(super) now_ns: u64,
    pub(super) machine: &'a Machine,
    pub(super) programs: &'a mut Programs,
    pub(super) excluded: &'a BTreeSet<u32>,
    /// Whether a request may arrive now.
    pub(super) is_moment: bool,
    /// How many more loops may be watched.
    pub(super) room: &'a mut usize,
    pub(super) looks: &'a mut u64,
}

/// How often a process wants to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pace {
    Steady,
    Uncounted,
    Turning,
    Starting,
}

/// What is known of the main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Main {
    /// It is looked for: where the pointer to it is, once that is known.
    Wanted(Option<(u64, LoopLayout)>),
    Found,
    /// It is not watched, and that was reported.
    Missed,
    /// This is another program; when it is looked at again.
    Other {
        next_ns: u64,
    },
}

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    pid: u32,
    memory: RemoteMemory,
    born_ns: u64,
    /// Whether it began while it was watched.
    is_new: bool,
    main: Main,
    missing: Option<Missing>,
    layout: Option<LoopLayout>,
    loops: Vec<LoopThread>,
    threads: BTreeMap<u32, Candidate>,
    next_threads_ns: u64,
    groups: Groups,
    /// What the limits had done when the watch began, where there is one.
    throttling: Option<Vec<Throttling>>,
    counted: Option<Counted>,
    pool: Option<PoolWatch>,
}

/// A main loop that was looked for in vain so far.
#[derive(Clone, Copy, Debug)]
struct Missing {
    since_ns: u64,
    problem: &'static str,
    is_reported: bool,
}

/// A thread that may run a loop.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    born_ns: u64,
    /// Whether it began while it was watched.
    is_new: bool,
    tries: u32,
    next_ns: u64,
    is_done: bool,
}

impl Process {
    pub(super) fn new(pid: u32, memory: RemoteMemory, born_ns: u64, is_new: bool) -> Self {
        Self {
            pid,
            memory,
            born_ns,
            is_new,
            main: Main::Wanted(None),
            missing: None,
            layout: None,
            loops: Vec::new(),
            threads: BTreeMap::new(),
            next_threads_ns: 0,
            groups: Groups::default(),
            throttling: None,
            counted: None,
            pool: None,
        }
    }

    pub(super) fn loops(&self) -> usize {
        self.loops.len()
    }

    /// Looks at everything; whether the process is still there.
    pub(super) fn look(
        &mut self,
        mut context: Context<'_>,
        take: &mut dyn FnMut(Observation),
    ) -> bool {
        let now_ns = context.now_ns;
        if !self.find_main(&mut context, take) {
            return false;
        }
        if matches!(self.main, Main::Other { .. } | Main::Wanted(_)) {
            self.count(now_ns, take);
            return true;
        }
        self.find_workers(&mut context, take);
        let throttled_ns = self.throttled_ns();
        let mut ended = Vec::new();
        for (row, one) in self.loops.iter_mut().enumerate() {
            *context.looks += 1;
            if !one.look(&self.memory, &self.groups, throttled_ns) {
                ended.push(row);
            } else if context.is_moment {
                one.add_moment();
            }
            one.report(self.pid, now_ns, take);
        }
        for row in ended.into_iter().rev() {
            let mut one = self.loops.swap_remove(row);
            one.finish(self.pid, now_ns, take);
        }
        self.count(now_ns, take);
        let pool = self.pool.as_mut().filter(|_| self.main == Main::Found);
        let seen = pool.and_then(|pool| pool.look(&self.memory, now_ns));
        seen.into_iter().for_each(|seen| take(Observation::Pool(seen)));
        true
    }

    /// Looks again at loops that were in a turn when a request may have arrived.
    pub(super) fn follow_up(
        &mut self,
        now_ns: u64,
        looks: &mut u64,
        take: &mut dyn FnMut(Observation),
    ) {
        *looks += self.loops.iter().filter(|one| one.moments.are_open()).count() as u64;
        let has_moved = |one: &LoopThread| one.moments.are_open() && one.has_moved(&self.memory);
        if !self.loops.iter().any(has_moved) {
            return;
        }
        let throttled_ns = self.throttled_ns();
        for one in self.loops.iter_mut().filter(|one| one.moments.are_open()) {
            // A loop that has ended is noticed by the next look at everything.
            one.look(&self.memory, &self.groups, throttled_ns);
            one.report(self.pid, now_ns, take);
        }
    }

    /// Whether it is not known yet how long some request would have waited.
    pub(super) fn has_open_moments(&self) -> bool {
        self.loops.iter().any(|one| one.moments.are_open())
    }

    /// The threads whose sleeping stacks are wanted.
    pub(super) fn sleepers(&self, now_ns: u64) -> impl Iterator<Item = u32> + '_ {
        let sleeps = move |one: &&LoopThread| {
            let start_ns = one.turns.going_on().map(|(start_ns, _)| start_ns);
            one.is_asleep && start_ns.is_some_and(|start_ns| one.waits.is_wanted(start_ns, now_ns))
        };
        self.loops.iter().filter(sleeps).map(|one| one.tid)
    }

    /// Reads the stack of a thread that sleeps; the time and the number are those of the stack.
    pub(super) fn read_stack(
        &mut self,
        tid: u32,
        (time_ns, number): (u64, u64),
        take: &mut dyn FnMut(Observation),
    ) -> Option<SleepingStack> {
        let one = self.loops.iter_mut().find(|one| one.tid == tid)?;
        let turn = one.turns.going_on()?;
        let stack = sleeping::read(&self.memory, (self.pid, tid), &one.files, &mut one.stack_end)?;
        if let Some(wait) = one.waits.keep(turn, time_ns, number) {
            take(wait_of((self.pid, tid), wait));
        }
        Some(stack)
    }

    pub(super) fn begin_thread(&mut self, tid: u32, time_ns: u64) {
        if tid != self.pid && self.threads.len() < MOST_THREADS {
            self.threads.insert(
                tid,
                Candidate { born_ns: time_ns, is_new: true, tries: 0, next_ns: 0, is_done: false },
            );
        }
    }

    /// Whether this program was seen before its record came, which has this time as its start.
    pub(super) fn was_noticed_after(&self, time_ns: u64) -> bool {
        self.is_new && self.born_ns >= time_ns
    }

    pub(super) fn finish(&mut self, end_ns: u64, take: &mut dyn FnMut(Observation)) {
        if let Some(missing) =
            self.missing.filter(|missing| !missing.is_reported && self.main != Main::Found)
        {
            self.report_problem(end_ns, missing.problem, take);
        }
        for one in &mut self.loops {
            one.finish(self.pid, end_ns, take);
        }
        let pool = self.pool.as_mut().and_then(|pool| pool.take(end_ns));
        pool.into_iter().for_each(|seen| take(Observation::Pool(seen)));
        if let Some(second) =
            self.counted.as_mut().and_then(|counted| counted.next(&self.groups, end_ns))
        {
            take(Observation::Second(second));
        }
    }

    pub(super) fn pace(&self, now_ns: u64) -> Pace {
        let age_ns = now_ns.saturating_sub(self.born_ns);
        if matches!(self.main, Main::Wanted(_)) && age_ns < START_NS {
            return Pace::Starting;
        }
        let is_turning = |one: &LoopThread| {
            let length_ns =
                one.turns.going_on().map_or(0, |(start_ns, _)| now_ns.saturating_sub(start_ns));
            (QUICK_NS..LASTING_NS).contains(&length_ns)
        };
        if self.loops.iter().any(is_turning) {
            Pace::Turning
        } else if self.loops.iter().any(LoopThread::is_uncounted) {
            Pace::Uncounted
        } else {
            Pace::Steady
        }
    }

    /// Looks for the main loop, as long as that is open; whether the process is there.
    fn find_main(&mut self, context: &mut Context<'_>, take: &mut dyn FnMut(Observation)) -> bool {
        let now_ns = context.now_ns;
        match self.main {
            Main::Found | Main::Missed => return !self.loops.is_empty() || self.is_there(),
            Main::Other { next_ns } if now_ns < next_ns => return true,
            Main::Other { .. } if now_ns.saturating_sub(self.born_ns) > OTHER_NS => return false,
            Main::Other { .. } | Main::Wanted(None) => {
                match context.programs.find(self.pid, &self.memory) {
                    Found::At { pointer, layout, pool } => {
                        if matches!(self.main, Main::Other { .. }) {
                            // It has just become Node, and no record of that has come yet.
                            (self.is_new, self.born_ns) = (true, now_ns);
                        }
                        self.main = Main::Wanted(Some((pointer, layout)));
                        self.pool = pool.map(|pool| PoolWatch::new(self.pid, pool, now_ns));
                        self.start(context);
                    }
                    Found::Hidden => return false,
                    Found::NotNode => {
                        self.main = Main::Other { next_ns: now_ns.saturating_add(OTHER_PAUSE_NS) };
                        return true;
                    }
                    Found::Without => self.give_up(context, UNKNOWN_LIBUV, take),
                    Found::Unreadable => self.give_up(context, UNREADABLE, take),
                }
            }
            Main::Wanted(Some(_)) => {}
        }
        if let Main::Wanted(Some((pointer, layout))) = self.main {
            match self.main_loop(pointer, layout) {
                _ if context.excluded.contains(&self.pid) => {
                    self.report_missed(now_ns, EXCLUDED, take);
                }
                Ok(_) if *context.room == 0 => self.report_missed(now_ns, TOO_MANY, take),
                Ok(event_loop) => {
                    self.layout = Some(layout);
                    self.main = Main::Found;
                    self.add_loop(self.pid, event_loop, (self.born_ns, self.is_new), context, take);
                }
                Err(LoopFault::Unreadable) => self.miss(now_ns, UNREADABLE, take),
                Err(LoopFault::NoLoop) => self.miss(now_ns, UNKNOWN_LIBUV, take),
                Err(LoopFault::Untimed) => self.miss(now_ns, UNTIMED, take),
            }
        }
        true
    }

    fn is_there(&self) -> bool {
        fs::metadata(format!("/proc/{}", self.pid)).is_ok()
    }

    fn main_loop(&self, pointer: u64, layout: LoopLayout) -> Result<EventLoop, LoopFault> {
        let mut word = [0; 8];
        self.memory.read(pointer, &mut word)?;
        match u64::from_le_bytes(word) {
            // The process has just begun.
            0 => Err(LoopFault::NoLoop),
            address => EventLoop::at(&self.memory, address, layout),
        }
    }

    /// There is no loop yet. Where that lasts, it is reported, and the loop is looked for all the same: a process that
    /// a CPU limit holds back takes seconds to begin.
    fn miss(&mut self, now_ns: u64, problem: &'static str, take: &mut dyn FnMut(Observation)) {
        let since_ns = if self.is_new { self.born_ns } else { now_ns };
        let missing = self.missing.get_or_insert(Missing { since_ns, problem, is_reported: false });
        missing.problem = problem;
        if !missing.is_reported && now_ns.saturating_sub(missing.since_ns) > START_NS {
            missing.is_reported = true;
            self.report_problem(now_ns, problem, take);
        }
    }

    /// There will be no loop: that is a problem, unless the process has just begun.
    fn give_up(
        &mut self,
        context: &Context<'_>,
        problem: &'static str,
        take: &mut dyn FnMut(Observation),
    ) {
        if !self.is_new || context.now_ns.saturating_sub(self.born_ns) > START_NS {
            self.report_missed(context.now_ns, problem, take);
        }
    }

    fn report_missed(
        &mut self,
        now_ns: u64,
        problem: &'static str,
        take: &mut dyn FnMut(Observation),
    ) {
        self.main = Main::Missed;
        self.report_problem(now_ns, problem, take);
    }

    fn report_problem(
        &self,
        now_ns: u64,
        problem: &'static str,
        take: &mut dyn FnMut(Observation),
    ) {
        take(Observation::Loop(LoopSeen {
            pid: self.pid,
            tid: self.pid,
            start_ns: now_ns,
            end_ns: now_ns,
            polled_ns: None,
            turns: None,
            problem: Some(problem),
        }));
    }

    /// It is Node: its counters begin.
    fn start(&mut self, context: &Context<'_>) {
        self.groups = Groups::of(context.machine, self.pid);
        let is_limited = self.groups.limit_millis().is_some();
        self.throttling = is_limited.then(|| self.groups.throttling());
        let start_ns = if self.is_new { self.born_ns } else { context.now_ns };
        self.counted = Some(Counted::begin(self.pid, &self.groups, start_ns, self.is_new));
    }

    fn add_loop(
        &mut self,
        tid: u32,
        event_loop: EventLoop,
        (born_ns, is_new): (u64, bool),
        context: &mut Context<'_>,
        take: &mut dyn FnMut(Observation),
    ) {
        let Ok(files) = ThreadFiles::open(self.pid, tid) else { return };
        *context.room = context.room.saturating_sub(1);
        let mut one = LoopThread::new(tid, event_loop, files, Turns::new(born_ns, is_new));
        if one.look(&self.memory, &self.groups, self.throttled_ns()) {
            one.report(self.pid, context.now_ns, take);
            self.loops.push(one);
        }
    }

    /// Looks for the loops of threads that may be workers.
    fn find_workers(&mut self, context: &mut Context<'_>, take: &mut dyn FnMut(Observation)) {
        let (now_ns, pid) = (context.now_ns, self.pid);
        let Some(layout) = self.layout else { return };
        if now_ns >= self.next_threads_ns {
            self.next_threads_ns = now_ns.saturating_add(THREADS_PAUSE_NS);
            self.list_threads(now_ns);
        }
        let (mut found, mut looks_at_stacks) = (Vec::new(), false);
        for (tid, candidate) in &mut self.threads {
            if candidate.is_done || now_ns < candidate.next_ns || context.excluded.contains(tid) {
                continue;
            }
            candidate.tries += 1;
            candidate.next_ns = now_ns.saturating_add(pause_ns(candidate.tries));
            if let Some(event_loop) = workers::polled_by(&self.memory, pid, *tid, layout) {
                found.push((*tid, event_loop));
            } else {
                looks_at_stacks |= matches!(candidate.tries, 1 | 3 | 6 | 12 | 24)
                    || candidate.tries.is_multiple_of(16);
            }
        }
        if looks_at_stacks {
            let own_number = |tid: u32| own_number(pid, tid);
            let by_number: BTreeMap<u32, u32> = self
                .threads
                .iter()
                .filter(|(_, candidate)| !candidate.is_done)
                .filter_map(|(tid, _)| Some((own_number(*tid)?, *tid)))
                .collect();
            let on_stacks = workers::on_stacks(&self.memory, pid, layout).into_iter();
            found.extend(
                on_stacks.filter_map(|(number, one)| Some((*by_number.get(&number)?, one))),
            );
        }
        for (tid, event_loop) in found {
            let is_known =
                self.loops.iter().any(|one| one.event_loop == event_loop || one.tid == tid);
            let Some(candidate) = self.threads.get_mut(&tid).filter(|candidate| !candidate.is_done)
            else {
                continue;
            };
            candidate.is_done = true;
            let (born_ns, is_new) = (candidate.born_ns, candidate.is_new);
            if !is_known && *context.room > 0 {
                self.add_loop(tid, event_loop, (born_ns, is_new), context, take);
            }
        }
    }

    fn list_threads(&mut self, now_ns: u64) {
        let folder = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten();
        let number =
            |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
        let tids: BTreeSet<u32> = folder.filter_map(number).take(MOST_THREADS).collect();
        self.threads.retain(|tid, _| tids.contains(tid));
        for tid in tids {
            if tid == self.pid
                || self.threads.get(&tid).is_some_and(|candidate| candidate.tries > 0)
            {
                continue;
            }
            let name = fs::read_to_string(format!("/proc/{}/task/{tid}/comm", self.pid))
                .unwrap_or_default();
            let is_done = OTHER_THREADS.contains(&name.trim_end());
            let new = Candidate { born_ns: now_ns, is_new: false, tries: 0, next_ns: 0, is_done };
            self.threads.entry(tid).or_insert(new).is_done |= is_done;
        }
    }

    /// For how long the limit has held the process back so far, in the group that was held back most.
    fn throttled_ns(&self) -> Option<u64> {
        let Some(before) = &self.throttling else { return Some(0) };
        most_throttled(before, &self.groups.throttling()).map(|throttling| throttling.throttled_ns)
    }

    fn count(&mut self, now_ns: u64, take: &mut dyn FnMut(Observation)) {
        let Some(counted) = &mut self.counted else { return };
        if now_ns.saturating_sub(counted.end_ns()) < SECOND_NS {
            return;
        }
        if let Some(second) = counted.next(&self.groups, now_ns) {
            if second.cpu_limit_millis.is_some() && self.throttling.is_none() {
                self.throttling = Some(self.groups.throttling());
            }
            take(Observation::Second(second));
        }
    }
}

/// When a thread is looked at again that was looked at so often: most run no loop and never will.
fn pause_ns(tries: u32) -> u64 {
    match tries {
        0..10 => 0,
        10..30 => 200_000_000,
        _ => 2_000_000_000,
    }
}

/// What a thread calls itself: the last of its numbers, from the outermost namespace to its own.
fn own_number(pid: u32, tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}
