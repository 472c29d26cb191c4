//! Drives the watch of event loops from a recorder: records of the kernel tell it which processes there are, and what
//! it observes becomes records of the recording.

use std::collections::BTreeSet;
use std::time::Duration;

use capture::{Change, WAITS_ID, change, own, records};
use symbols::Walker;
use trace::{
    Address, Context, FIRST_SYSTEM_CALL_ROW, JavaScript, LoopWatch, Registers, Sample, Second, Sink, Turn,
    TurnKind,
};

use crate::dump::threads::syscall_name;
use crate::watch::{Kind, LongTurn, LoopSeen, Observation, SleepingStack, Wanted, Watcher};

/// The event of sleeping stacks, on their way through a walker.
pub(super) const WAITS_EVENT: u32 = u32::MAX;

/// For benchmarks: `off` watches nothing, `count` says at the end how often memory was read.
const SETTING: &str = "NODESCOPE_WATCH";

/// The stack and instruction pointer, by the numbers of the kernel's perf_regs.h.
#[cfg(target_arch = "x86_64")]
const REGISTERS: u64 = 1 << 7 | 1 << 8;
#[cfg(not(target_arch = "x86_64"))]
const REGISTERS: u64 = 1 << 31 | 1 << 32;

/// The watch, and what was told of it.
pub(super) struct Watching {
    watcher: Option<Watcher>,
    /// The system calls whose names were told.
    calls: BTreeSet<u32>,
    counts: bool,
}

impl Watching {
    /// Watches processes; nothing is read for the threads `excluded`.
    pub(super) fn new(pids: impl IntoIterator<Item = u32>, excluded: &[u32], wants_stacks: bool) -> Self {
        let setting = std::env::var(SETTING).unwrap_or_default();
        let watcher = (setting != "off").then(|| Watcher::new(excluded, wants_stacks));
        let mut watching = Self { watcher, calls: BTreeSet::new(), counts: setting == "count" };
        pids.into_iter().for_each(|pid| watching.add(pid));
        watching
    }

    /// Watches nothing.
    pub(super) fn nothing() -> Self {
        Self { watcher: None, calls: BTreeSet::new(), counts: false }
    }

    /// A process that runs already.
    pub(super) fn add(&mut self, pid: u32) {
        if let Some(watcher) = &mut self.watcher {
            watcher.add(pid, sys::clock::monotonic_ns());
        }
    }

    /// Learns from whole records what began and ended.
    pub(super) fn learn(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Some(watcher) = &mut self.watcher else { return };
        let take = &mut |seen| tell(seen, out);
        for happened in records(bytes).filter_map(|(_, record)| change(record)) {
            match happened {
                Change::Exec { pid, time_ns } => watcher.begin(pid, time_ns, take),
                Change::Thread { pid, tid, time_ns } => watcher.begin_thread(pid, tid, time_ns),
                Change::Ended { pid, time_ns } => watcher.end(pid, time_ns, take),
            }
        }
    }

    /// When the next look is due, but not later than `most`.
    pub(super) fn pause(&self, most: Duration) -> Duration {
        let due = self.watcher.as_ref().map(|watcher| watcher.pause(sys::clock::monotonic_ns()));
        due.map_or(most, |due| due.min(most))
    }

    /// Looks, if it is time; gives the threads whose stacks are wanted.
    pub(super) fn look(&mut self, out: &mut Vec<u8>) -> Vec<Wanted> {
        let Some(watcher) = &mut self.watcher else { return Vec::new() };
        watcher.look(sys::clock::monotonic_ns(), &mut |seen| tell(seen, out))
    }

    /// Reads the stack of a thread that sleeps and lets it be walked: what comes out has the event [`WAITS_EVENT`], and
    /// the system call as its leaf.
    pub(super) fn walk(&mut self, wanted: Wanted, walker: &mut Walker<'_>, out: &mut Vec<u8>) -> Option<u64> {
        let time_ns = sys::clock::monotonic_ns();
        let stack = self.watcher.as_mut()?.read_stack(wanted, time_ns)?;
        let SleepingStack { syscall, sp, pc, bytes } = stack;
        let row = FIRST_SYSTEM_CALL_ROW | syscall.unwrap_or(0xffff) & 0xffff;
        if self.calls.insert(row) {
            let symbol = name_of(syscall);
            let (symbol, line, column, inlined) = (symbol.as_bytes(), 0, 0, false);
            out.extend(own::javascript(&JavaScript { row, symbol, line, column, inlined }));
        }
        walker.sample(&Sample {
            event: WAITS_EVENT,
            time_ns,
            pid: Some(wanted.pid),
            tid: Some(wanted.tid),
            cpu: None,
            period: 1,
            chain: &[Address { value: u64::from(row), context: Context::JavaScript }],
            user_registers: Some(Registers { mask: REGISTERS, values: &[sp, pc] }),
            user_stack: &bytes,
        });
        Some(time_ns)
    }

    /// Keeps what the walker made of a stack.
    pub(super) fn keep(&mut self, wanted: Wanted, time_ns: u64, chain: Vec<Address>, out: &mut Vec<u8>) {
        if let Some(watcher) = &mut self.watcher {
            watcher.keep(wanted, time_ns, chain, &mut |seen| tell(seen, out));
        }
    }

    /// The recording ends.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let Some(watcher) = &mut self.watcher else { return };
        watcher.finish(sys::clock::monotonic_ns(), &mut |seen| tell(seen, out));
        if self.counts {
            crate::failure::warn(&format!("the watch of event loops read memory {} times", watcher.looks()));
        }
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

/// Writes what was observed.
fn tell(seen: Observation, out: &mut Vec<u8>) {
    match seen {
        Observation::Loop(LoopSeen { pid, tid, start_ns, end_ns, polled_ns, turns, problem }) => {
            let problem = problem.unwrap_or_default().as_bytes();
            out.extend(own::loop_watch(&LoopWatch { pid, tid, start_ns, end_ns, polled_ns, turns, problem }));
        }
        Observation::Turn { pid, tid, turn } => {
            let LongTurn { start_ns, end_ns, run_ns, ready_ns, throttled_ns, .. } = turn;
            let kind = match turn.kind {
                Kind::Turn => TurnKind::Turn,
                Kind::Startup => TurnKind::Startup,
                Kind::Stopped => TurnKind::Stopped,
            };
            let turns = 1;
            out.extend(own::turn(&Turn {
                kind,
                pid,
                tid,
                start_ns,
                end_ns,
                turns,
                run_ns,
                ready_ns,
                throttled_ns,
            }));
        }
        Observation::Quick { pid, tid, start_ns, end_ns, turns } => out.extend(own::turn(&Turn {
            kind: TurnKind::Quick,
            pid,
            tid,
            start_ns,
            end_ns,
            turns,
            run_ns: 0,
            ready_ns: 0,
            throttled_ns: None,
        })),
        Observation::Wait { pid, tid, time_ns, weight_ns, chain } => {
            let sample = Sample {
                event: WAITS_EVENT,
                time_ns,
                pid: Some(pid),
                tid: Some(tid),
                cpu: None,
                period: weight_ns,
                chain: &chain,
                user_registers: None,
                user_stack: &[],
            };
            own::sample(WAITS_ID, &sample, out);
        }
        Observation::Second(second) => out.extend(own::second(&Second {
            pid: second.pid,
            cpu_limit_millis: second.cpu_limit_millis,
            start_ns: second.start_ns,
            end_ns: second.end_ns,
            run_ns: second.run_ns,
            ready_ns: second.ready_ns,
            periods: second.throttling.map(|throttling| throttling.periods),
            throttled_periods: second.throttling.map(|throttling| throttling.throttled_periods),
            throttled_ns: second.throttling.map(|throttling| throttling.throttled_ns),
            cpu_pressure_ns: second.cpu_pressure_ns,
            memory_pressure_ns: second.memory_pressure_ns,
        })),
    }
}
