//! Drives the watch of event loops from a recorder: records of the kernel show it which processes there are, and what
//! it observes becomes records of the recording.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use capture::{Change, change, own, records};
use trace::{Delay, LoopWatch, Second, Turn, TurnKind};

use super::asleep::{Stack, Wait, Watched};
use super::watch::{self, Kind, LongTurn, LoopSeen, Met, Observation, Watcher};

/// For benchmarks: `off` watches nothing, `count` prints at the end how often memory was read.
const SETTING: &str = "NODESCOPE_WATCH";

/// How long a recorder waits for a watch that may be blocked by the memory that it reads.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two looks, however much there is to do.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
/// The watch, which has a thread of its own: whatever else a recorder does, loops are looked at in time.
pub struct Watching {
    shared: Option<Arc<Shared>>,
    /// What runs, what began and what ended, until the watch gets it.
    added: Vec<u32>,
    changes: Vec<Change>,
    counts: bool,
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
    pub fn new(pids: impl IntoIterator<Item = u32>, excluded: &[u32], wants_stacks: bool) -> Self {
        let setting = std::env::var(SETTING).unwrap_or_default();
        if setting == "off" {
            return Self::nothing();
        }
        let mut watcher = Watcher::new(excluded, wants_stacks);
        let now_ns = sys::clock::monotonic_ns();
        pids.into_iter().for_each(|pid| watcher.add(pid, now_ns));
        let state = Mutex::new(State { watcher, seen: Vec::new(), is_over: false });
        let shared =
            Arc::new(Shared { state, changed: Condvar::new(), has_looked: AtomicBool::new(false) });
        let watched = Arc::clone(&shared);
        // It ends by itself, or with the program.
        std::thread::spawn(move || watched.run());
        Self { shared: Some(shared), counts: setting == "count", ..Self::nothing() }
    }

    /// Waits until everything was looked at once, or the time is over.
    pub fn wait_for_look(&self, most: Duration) {
        let end = Instant::now() + most;
        let has_looked = || {
            self.shared.as_deref().is_none_or(|shared| shared.has_looked.load(Ordering::Acquire))
        };
        while !has_looked() && Instant::now() < end {
            std::thread::sleep(SHORTEST_PAUSE);
        }
    }

    /// Watches nothing.
    pub fn nothing() -> Self {
        Self { shared: None, added: Vec::new(), changes: Vec::new(), counts: false }
    }

    /// A process that runs already.
    pub fn add(&mut self, pid: u32) {
        if self.shared.is_some() {
            self.added.push(pid);
            self.settle();
        }
    }

    /// Learns from whole records what began and ended.
    pub fn learn(&mut self, bytes: &[u8]) {
        if self.shared.is_some() {
            self.changes.extend(records(bytes).filter_map(|(_, record)| change(record)));
            self.settle();
        }
    }

    /// Passes the watch what it does not know yet, unless it is just looking.
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

    /// What was seen since the last time.
    pub fn take(&mut self) -> Watched {
        self.settle();
        let state = self.shared.as_deref().and_then(Shared::try_lock);
        let seen = state.map(|mut state| std::mem::take(&mut state.seen));
        write(seen.unwrap_or_default())
    }

    /// The recording ends: the same for the last time.
    pub fn finish(&mut self) -> Watched {
        let Some(shared) = self.shared.take() else { return Watched::default() };
        let Some(mut state) = shared.lock_within(PATIENCE) else { return Watched::default() };
        self.changes.drain(..).for_each(|change| state.learn(change));
        let State { watcher, seen, is_over } = &mut *state;
        watcher.finish(sys::clock::monotonic_ns(), &mut |one| seen.push(one));
        *is_over = true;
        shared.changed.notify_all();
        let mut watched = write(std::mem::take(seen));
        if self.counts {
            let sentence =
                format!("the watch of event loops read memory {} times", watcher.looks());
            watched.records.extend(own::note(&sentence));
        }
        watched
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
            let Ok((next, _)) = self.changed.wait_timeout(state, pause.max(SHORTEST_PAUSE)) else {
                return;
            };
            state = next;
        }
    }

    /// The state, unless it is being looked at: memory may block every reader.
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

/// What was observed, as records but for sleeping stacks.
fn write(seen: Vec<Observation>) -> Watched {
    let mut watched = Watched::default();
    let out = &mut watched.records;
    for one in seen {
        match one {
            Observation::Loop(LoopSeen {
                pid,
                tid,
                start_ns,
                end_ns,
                polled_ns,
                turns,
                problem,
            }) => {
                let problem = problem.unwrap_or_default().as_bytes();
                let watch = LoopWatch { pid, tid, start_ns, end_ns, polled_ns, turns, problem };
                out.extend(own::loop_watch(&watch));
            }
            Observation::Turn { pid, tid, turn } => {
                out.extend(own::turn(&long_turn(pid, tid, &turn)));
            }
            Observation::Quick { pid, tid, start_ns, end_ns, turns } => {
                let (kind, throttled_ns) = (TurnKind::Quick, None);
                let (run_ns, ready_ns) = (0, 0);
                let turn = Turn {
                    kind,
                    pid,
                    tid,
                    start_ns,
                    end_ns,
                    turns,
                    run_ns,
                    ready_ns,
                    throttled_ns,
                };
                out.extend(own::turn(&turn));
            }
            Observation::Stack { number, pid, tid, time_ns, stack } => {
                watched.stacks.push(Stack { number, pid, tid, time_ns, stack });
            }
            Observation::Wait { number, pid, tid, time_ns, weight_ns } => {
                watched.waits.push(Wait { number, pid, tid, time_ns, weight_ns });
            }
            Observation::Delays { pid, tid, met } => {
                let Met { start_ns, end_ns, delays } = met;
                for (delay_us, moments) in delays {
                    let delay = Delay { pid, tid, start_ns, end_ns, delay_us, moments };
                    out.extend(own::delay(&delay));
                }
            }
            Observation::Pool(pool) => out.extend(own::pool(&pool)),
            Observation::Second(second) => out.extend(own::second(&counted(&second))),
        }
    }
    watched
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
