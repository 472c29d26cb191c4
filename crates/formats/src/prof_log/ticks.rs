//! Ticks on their way into a profile: they wait until the interval is known, because V8 may write the first
//! ones before it logs the interval. Shared by the log and by its JSON.

use naming::addresses::LibraryNamer;
use naming::finish::settle_quality_with;
use profile::{Budget, Builder, LaneInfo, Process, Profile, Role, Sample, Thread, ThreadId, Unit};

use super::stacks::{RawFrame, RawFrameId, RawStackId, RawStacks};
use super::states::State;

/// V8's default, `--prof-sampling-interval`.
const DEFAULT_INTERVAL_US: u64 = 1000;
const NS_PER_US: u64 = 1000;

/// Collects the ticks of one isolate after the other.
pub(super) struct Ticks {
    pub(super) builder: Builder,
    pub(super) stacks: RawStacks,
    isolates: Vec<Isolate>,
    ticks: Vec<Tick>,
}

#[derive(Default)]
struct Isolate {
    interval_us: Option<u64>,
    is_worker: bool,
}

/// What a tick takes, and the sample that it becomes.
const TICK_COST: usize = 64;

struct Tick {
    time_us: u64,
    isolate: usize,
    stack: Option<RawStackId>,
}

impl Ticks {
    pub(super) fn new(format: &str, budget: &Budget) -> Self {
        let mut builder = Builder::within(budget);
        builder.meta().format = format.to_owned();
        builder.meta().way_in = "V8 --prof".to_owned();
        let isolates = vec![Isolate::default()];
        let stacks = RawStacks::within(budget);
        Self { builder, stacks, isolates, ticks: Vec::new() }
    }

    /// What follows is another isolate's.
    pub(super) fn start_isolate(&mut self) {
        self.isolates.push(Isolate::default());
    }

    pub(super) fn set_interval(&mut self, interval_us: u64) {
        self.isolate().interval_us = Some(interval_us);
    }

    /// The isolate runs a `worker_threads` worker.
    pub(super) fn set_worker(&mut self) {
        self.isolate().is_worker = true;
    }

    fn isolate(&mut self) -> &mut Isolate {
        if self.isolates.is_empty() {
            self.isolates.push(Isolate::default());
        }
        let last = self.isolates.len() - 1;
        &mut self.isolates[last]
    }

    /// Adds a tick; its frames start with the innermost. A state such as GC stands between that one, which
    /// is a part of it, and the JavaScript that caused it.
    pub(super) fn add(&mut self, time_us: u64, state: State, frames: &[RawFrameId]) {
        let state = state.map(|name| self.stacks.frame(RawFrame::State(name)));
        let (inner, callers) =
            frames.split_first().map_or((None, frames), |(inner, rest)| (Some(*inner), rest));
        let stacks = &mut self.stacks;
        let stack = callers.iter().rev().copied().chain(state).chain(inner);
        let stack = stack.fold(None, |stack, frame| Some(stacks.call(stack, frame)));
        self.builder.budget().take(TICK_COST);
        self.ticks.push(Tick { time_us, isolate: self.isolates.len().saturating_sub(1), stack });
    }

    pub(super) fn finish(mut self, namer: &dyn LibraryNamer) -> Profile {
        let builder = &mut self.builder;
        let resolved = self.stacks.resolve(builder, namer);
        let lane = LaneInfo { name: "ticks", unit: Unit::Ns, timed: true, counted: true };
        let lane = builder.lane(lane);
        let threads = threads(builder, &self.isolates);
        let interval_ns = |isolate: &Isolate| {
            isolate.interval_us.unwrap_or(DEFAULT_INTERVAL_US).saturating_mul(NS_PER_US)
        };
        for Tick { time_us, isolate, stack } in self.ticks {
            let time_ns = time_us.saturating_mul(NS_PER_US);
            let (stack, weight) = (resolved.stack(stack), interval_ns(&self.isolates[isolate]));
            builder.sample(lane, Sample { time_ns, thread: threads[isolate], stack, weight });
        }
        builder.meta().interval_ns = self.isolates.first().map(interval_ns);
        builder.clip_far_times();
        settle_quality_with(builder, |frame| resolved.reason(frame));
        self.builder.finish()
    }
}

/// One thread for each isolate. The log does not distinguish processes.
fn threads(builder: &mut Builder, isolates: &[Isolate]) -> Vec<ThreadId> {
    let process = Process::default();
    let process = builder.process(process);
    let (mut mains, mut workers) = (0, 0);
    let mut thread = |isolate: &Isolate| {
        let (role, word, count) = match isolate.is_worker {
            true => (Role::Worker, "worker", &mut workers),
            false => (Role::MainLoop, "node", &mut mains),
        };
        *count += 1;
        let name = if *count == 1 { word.to_owned() } else { format!("{word} {count}") };
        let name = builder.string(&name);
        builder.thread(Thread { process, tid: None, name, role })
    };
    isolates.iter().map(&mut thread).collect()
}
