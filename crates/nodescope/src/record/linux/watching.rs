//! Drives the watch of event loops from a recorder: records of the kernel tell it which processes there are, and what
//! it observes becomes records of the recording.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use capture::{Change, WAITS_ID, change, own, records};
use symbols::Walker;
use trace::machine::HERE;
use trace::{
    Address, Context, FIRST_SYSTEM_CALL_ROW, JavaScript, LoopWatch, Registers, Sample, Second, Sink, Turn,
    TurnKind,
};

use crate::dump::threads::syscall_name;
use crate::watch::{self, Kind, LongTurn, LoopSeen, Observation, SleepingStack, Watcher};

/// The event of sleeping stacks, on their way through a walker.
pub(super) const WAITS_EVENT: u32 = u32::MAX;

/// For benchmarks: `off` watches nothing, `count` says at the end how often memory was read.
const SETTING: &str = "NODESCOPE_WATCH";

/// The stack and instruction pointer, by the numbers of the kernel's perf_regs.h.
const REGISTERS: u64 = 1 << HERE.registers.sp | 1 << HERE.registers.pc;

/// How long a recorder waits for a watch that may be blocked by the memory that it reads.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two looks, however much there is to do.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
/// So many stacks wait for their weights at most.
const MOST_CHAINS: usize = 256;

/// The watch, which has a thread of its own: whatever else a recorder does, loops are looked at in time.
pub(super) struct Watching {
    shared: Option<Arc<Shared>>,
    /// What runs, what began and what ended, until the watch is told.
    added: Vec<u32>,
    changes: Vec<Change>,
    /// The system calls whose names were told.
    calls: BTreeSet<u32>,
    /// Stacks that were walked, by their numbers.
    chains: BTreeMap<u64, Vec<Address>>,
    counts: bool,
}

/// Sleeping stacks: those that were read, and how long some stand for.
#[derive(Default)]
pub(super) struct Sleeping {
    pub(super) stacks: Vec<Asleep>,
    pub(super) waits: Vec<Wait>,
}

/// A stack that was read, by its number.
pub(super) struct Asleep {
    number: u64,
    pub(super) pid: u32,
    tid: u32,
    time_ns: u64,
    stack: SleepingStack,
}

/// How long a stack stands for.
pub(super) struct Wait {
    number: u64,
    pid: u32,
    tid: u32,
    time_ns: u64,
    weight_ns: u64,
}

struct Shared {
    state: Mutex<State>,
    /// Something has begun, or all is over.
    changed: Condvar,
    has_looked: AtomicBool,
}

struct State {
    watcher: Watcher,
    seen: Vec<Observation>,
    is_over: bool,
}

impl Watching {
    /// Watches processes; nothing is read for the threads `excluded`.
    pub(super) fn new(pids: impl IntoIterator<Item = u32>, excluded: &[u32], wants_stacks: bool) -> Self {
        let setting = std::env::var(SETTING).unwrap_or_default();
        if setting == "off" {
            return Self::nothing();
        }
        let mut watcher = Watcher::new(excluded, wants_stacks);
        let now_ns = sys::clock::monotonic_ns();
        pids.into_iter().for_each(|pid| watcher.add(pid, now_ns));
        let state = Mutex::new(State { watcher, seen: Vec::new(), is_over: false });
        let shared = Arc::new(Shared { state, changed: Condvar::new(), has_looked: AtomicBool::new(false) });
        let watched = Arc::clone(&shared);
        // It ends by itself, or with the program.
        std::thread::spawn(move || watched.run());
        Self { shared: Some(shared), counts: setting == "count", ..Self::nothing() }
    }

    /// Waits until everything was looked at once, or the time is over.
    pub(super) fn wait_for_look(&self, most: Duration) {
        let end = Instant::now() + most;
        let has_looked =
            || self.shared.as_deref().is_none_or(|shared| shared.has_looked.load(Ordering::Acquire));
        while !has_looked() && Instant::now() < end {
            std::thread::sleep(SHORTEST_PAUSE);
        }
    }

    /// Watches nothing.
    pub(super) fn nothing() -> Self {
        let (calls, chains) = (BTreeSet::new(), BTreeMap::new());
        Self { shared: None, added: Vec::new(), changes: Vec::new(), calls, chains, counts: false }
    }

    /// A process that runs already.
    pub(super) fn add(&mut self, pid: u32) {
        if self.shared.is_some() {
            self.added.push(pid);
            self.settle();
        }
    }

    /// Learns from whole records what began and ended.
    pub(super) fn learn(&mut self, bytes: &[u8]) {
        if self.shared.is_some() {
            self.changes.extend(records(bytes).filter_map(|(_, record)| change(record)));
            self.settle();
        }
    }

    /// Tells the watch what it does not know yet, unless it is just looking.
    fn settle(&mut self) {
        let Some(shared) =
            self.shared.as_deref().filter(|_| !self.added.is_empty() || !self.changes.is_empty())
        else {
            return;
        };
        if let Some(mut state) = shared.try_lock() {
            let now_ns = sys::clock::monotonic_ns();
            self.added.drain(..).for_each(|pid| state.watcher.add(pid, now_ns));
            self.changes.drain(..).for_each(|change| state.learn(change));
            shared.changed.notify_all();
        }
    }

    /// Writes what was seen since the last time, but for sleeping stacks, which are given.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) -> Sleeping {
        self.settle();
        let state = self.shared.as_deref().and_then(Shared::try_lock);
        let seen = state.map(|mut state| std::mem::take(&mut state.seen));
        write(seen.unwrap_or_default(), out)
    }

    /// The recording ends: the same for the last time.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Sleeping {
        let Some(shared) = self.shared.take() else { return Sleeping::default() };
        let Some(mut state) = shared.lock_within(PATIENCE) else { return Sleeping::default() };
        self.changes.drain(..).for_each(|change| state.learn(change));
        let State { watcher, seen, is_over } = &mut *state;
        watcher.finish(sys::clock::monotonic_ns(), &mut |one| seen.push(one));
        *is_over = true;
        shared.changed.notify_all();
        if self.counts {
            crate::failure::warn(&format!("the watch of event loops read memory {} times", watcher.looks()));
        }
        write(std::mem::take(seen), out)
    }

    /// Lets a sleeping stack be walked: what comes out has the event [`WAITS_EVENT`], and the system call as its leaf.
    pub(super) fn walk(&mut self, asleep: &Asleep, walker: &mut Walker<'_>, out: &mut Vec<u8>) {
        let SleepingStack { syscall, sp, pc, bytes } = &asleep.stack;
        let row = FIRST_SYSTEM_CALL_ROW | syscall.unwrap_or(0xffff) & 0xffff;
        if self.calls.insert(row) {
            let symbol = name_of(*syscall);
            let (symbol, line, column, inlined) = (symbol.as_bytes(), 0, 0, false);
            out.extend(own::javascript(&JavaScript { row, symbol, line, column, inlined }));
        }
        walker.sample(&Sample {
            user_registers: Some(Registers { mask: REGISTERS, values: &[*sp, *pc] }),
            user_stack: bytes,
            ..sample(
                (asleep.pid, asleep.tid),
                asleep.time_ns,
                &[Address { value: u64::from(row), context: Context::JavaScript }],
            )
        });
    }

    /// Keeps what the walker made of a stack, until it is known how long the thread slept.
    pub(super) fn keep(&mut self, asleep: &Asleep, chain: Vec<Address>) {
        self.chains.insert(asleep.number, chain);
        while self.chains.len() > MOST_CHAINS {
            self.chains.pop_first();
        }
    }

    /// Writes the stacks of which it is known by now how long they stand for.
    pub(super) fn write_waits(&mut self, waits: &[Wait], out: &mut Vec<u8>) {
        for wait in waits {
            let Some(chain) = self.chains.remove(&wait.number) else { continue };
            let sample = sample((wait.pid, wait.tid), wait.time_ns, &chain);
            own::sample(WAITS_ID, &Sample { period: wait.weight_ns, ..sample }, out);
        }
    }
}

impl Shared {
    /// Looks whenever it is time, until all is over.
    fn run(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        while !state.is_over {
            let State { watcher, seen, .. } = &mut *state;
            watcher.look(sys::clock::monotonic_ns(), &mut |one| seen.push(one));
            self.has_looked.store(true, Ordering::Release);
            let pause = watcher.pause(sys::clock::monotonic_ns());
            let Ok((next, _)) = self.changed.wait_timeout(state, pause.max(SHORTEST_PAUSE)) else { return };
            state = next;
        }
    }

    /// The state, unless it is being looked at: memory may block whoever reads it.
    fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        self.state.try_lock().ok()
    }

    fn lock_within(&self, most: Duration) -> Option<MutexGuard<'_, State>> {
        let end = Instant::now() + most;
        loop {
            match self.try_lock() {
                None if Instant::now() < end => std::thread::sleep(SHORTEST_PAUSE),
                state => return state,
            }
        }
    }
}

impl State {
    fn learn(&mut self, change: Change) {
        let Self { watcher, seen, .. } = self;
        let take = &mut |one| seen.push(one);
        match change {
            Change::Exec { pid, time_ns } => watcher.begin(pid, time_ns, take),
            Change::Thread { pid, tid, time_ns } => watcher.begin_thread(pid, tid, time_ns),
            Change::Ended { pid, time_ns } => watcher.end(pid, time_ns, take),
        }
    }
}

fn sample<'a>((pid, tid): (u32, u32), time_ns: u64, chain: &'a [Address]) -> Sample<'a> {
    Sample {
        event: WAITS_EVENT,
        time_ns,
        pid: Some(pid),
        tid: Some(tid),
        cpu: None,
        period: 1,
        chain,
        user_registers: None,
        user_stack: &[],
    }
}

/// Whether a sleeping stack has JavaScript in it, beside its leaf.
pub(super) fn has_javascript(chain: &[Address]) -> bool {
    chain.iter().skip(1).any(|address| address.context == Context::JavaScript)
}

/// The leaf of a sleeping stack: what the thread waits in.
fn name_of(syscall: Option<u32>) -> String {
    match (syscall, syscall.and_then(syscall_name)) {
        (_, Some(name)) => format!("{name} (waiting)"),
        (Some(number), None) => format!("system call {number} (waiting)"),
        // A page fault, for example.
        (None, None) => "kernel (waiting)".to_owned(),
    }
}

/// Writes what was observed, but for sleeping stacks.
fn write(seen: Vec<Observation>, out: &mut Vec<u8>) -> Sleeping {
    let mut sleeping = Sleeping::default();
    for one in seen {
        match one {
            Observation::Loop(LoopSeen { pid, tid, start_ns, end_ns, polled_ns, turns, problem }) => {
                let problem = problem.unwrap_or_default().as_bytes();
                let watch = LoopWatch { pid, tid, start_ns, end_ns, polled_ns, turns, problem };
                out.extend(own::loop_watch(&watch));
            }
            Observation::Turn { pid, tid, turn } => out.extend(own::turn(&long_turn(pid, tid, &turn))),
            Observation::Quick { pid, tid, start_ns, end_ns, turns } => {
                let (kind, throttled_ns) = (TurnKind::Quick, None);
                let (run_ns, ready_ns) = (0, 0);
                let turn = Turn { kind, pid, tid, start_ns, end_ns, turns, run_ns, ready_ns, throttled_ns };
                out.extend(own::turn(&turn));
            }
            Observation::Stack { number, pid, tid, time_ns, stack } => {
                sleeping.stacks.push(Asleep { number, pid, tid, time_ns, stack });
            }
            Observation::Wait { number, pid, tid, time_ns, weight_ns } => {
                sleeping.waits.push(Wait { number, pid, tid, time_ns, weight_ns });
            }
            Observation::Second(second) => out.extend(own::second(&counted(&second))),
        }
    }
    sleeping
}

fn long_turn(pid: u32, tid: u32, turn: &LongTurn) -> Turn {
    let kind = match turn.kind {
        Kind::Turn => TurnKind::Turn,
        Kind::Startup => TurnKind::Startup,
        Kind::Stopped => TurnKind::Stopped,
    };
    let LongTurn { start_ns, end_ns, run_ns, ready_ns, throttled_ns, .. } = *turn;
    Turn { kind, pid, tid, start_ns, end_ns, turns: 1, run_ns, ready_ns, throttled_ns }
}

fn counted(second: &watch::Second) -> Second {
    let throttling = second.throttling;
    Second {
        pid: second.pid,
        cpu_limit_millis: second.cpu_limit_millis,
        start_ns: second.start_ns,
        end_ns: second.end_ns,
        run_ns: second.run_ns,
        ready_ns: second.ready_ns,
        periods: throttling.map(|throttling| throttling.periods),
        throttled_periods: throttling.map(|throttling| throttling.throttled_periods),
        throttled_ns: throttling.map(|throttling| throttling.throttled_ns),
        cpu_pressure_ns: second.cpu_pressure_ns,
        memory_pressure_ns: second.memory_pressure_ns,
    }
}
