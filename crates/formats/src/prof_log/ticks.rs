//! Ticks on their way into a profile: they wait until the interval is known, because V8 may write the first
//! ones before it says so. Shared by the log and by its JSON.

use profile::{
    Builder, Frame, FrameId, Function, LaneInfo, ModuleId, NO_ADDRESS, Process, Profile, Role, Sample,
    SourceId, StringId, Thread, ThreadId, Unit,
};
use rustc_hash::FxHashMap;

use super::stacks::{RawFrame, RawStackId, RawStacks};
use super::states::State;
use symbols::finish::settle_quality_with;
use symbols::{Sources, naming};

/// V8's default, `--prof-sampling-interval`.
const DEFAULT_INTERVAL_US: u64 = 1000;
const NS_PER_US: u64 = 1000;

/// What stands for code without a name.
const UNKNOWN: &str = "[unknown]";

/// Collects the ticks of one isolate after the other.
pub(super) struct Ticks {
    pub(super) builder: Builder,
    pub(super) stacks: RawStacks,
    isolates: Vec<Isolate>,
    ticks: Vec<Tick>,
    states: FxHashMap<&'static str, FrameId>,
    nothing: Option<FrameId>,
}

#[derive(Default)]
struct Isolate {
    interval_us: Option<u64>,
    is_worker: bool,
}

struct Tick {
    time_us: u64,
    isolate: usize,
    stack: Option<RawStackId>,
}

impl Ticks {
    pub(super) fn new(format: &str) -> Self {
        let mut builder = Builder::new();
        builder.meta().format = format.to_owned();
        builder.meta().way_in = "V8 --prof".to_owned();
        let isolates = vec![Isolate::default()];
        let stacks = RawStacks::default();
        Self { builder, stacks, isolates, ticks: Vec::new(), states: FxHashMap::default(), nothing: None }
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

    /// The frame of a piece of V8's code, by its name as in a perf map.
    pub(super) fn code_frame(builder: &mut Builder, symbol: &str) -> FrameId {
        frame(builder, symbol, Some(naming::GENERATED), None)
    }

    /// The frame of a native function whose library is not known.
    pub(super) fn native_frame(builder: &mut Builder, symbol: &str) -> FrameId {
        frame(builder, symbol, None, None)
    }

    /// The frame of a function of a library.
    pub(super) fn function_frame(builder: &mut Builder, symbol: &str, path: &str) -> FrameId {
        frame(builder, symbol, Some(path), Some(path))
    }

    /// The frame that stands for all functions of a library.
    pub(super) fn library_frame(builder: &mut Builder, path: &str) -> FrameId {
        Self::function_frame(builder, UNKNOWN, path)
    }

    /// The frame of an address at which nothing stands.
    pub(super) fn nothing(&mut self) -> FrameId {
        let builder = &mut self.builder;
        *self.nothing.get_or_insert_with(|| frame(builder, UNKNOWN, None, None))
    }

    /// Adds a tick; its frames start with the innermost. A state such as GC stands between that one, which
    /// is a part of it, and the JavaScript that caused it.
    pub(super) fn add(&mut self, time_us: u64, state: State, frames: &[RawFrame]) {
        let state = state.map(|name| RawFrame::Named(self.state_frame(name)));
        let (inner, callers) =
            frames.split_first().map_or((None, frames), |(inner, rest)| (Some(*inner), rest));
        let stacks = &mut self.stacks;
        let stack = callers.iter().rev().copied().chain(state).chain(inner);
        let stack = stack.fold(None, |stack, frame| Some(stacks.call(stack, frame)));
        self.ticks.push(Tick { time_us, isolate: self.isolates.len().saturating_sub(1), stack });
    }

    fn state_frame(&mut self, name: &'static str) -> FrameId {
        let builder = &mut self.builder;
        *self.states.entry(name).or_insert_with(|| Self::native_frame(builder, name))
    }

    pub(super) fn finish(mut self, sources: &Sources) -> Profile {
        let builder = &mut self.builder;
        let resolved = self.stacks.resolve(builder, sources);
        let lane = LaneInfo { name: "ticks", unit: Unit::Ns, timed: true, counted: true };
        let lane = builder.lane(lane);
        let threads = threads(builder, &self.isolates);
        let interval_ns =
            |isolate: &Isolate| isolate.interval_us.unwrap_or(DEFAULT_INTERVAL_US).saturating_mul(NS_PER_US);
        for Tick { time_us, isolate, stack } in self.ticks {
            let time_ns = time_us.saturating_mul(NS_PER_US);
            let (stack, weight) = (resolved.stack(stack), interval_ns(&self.isolates[isolate]));
            builder.sample(lane, Sample { time_ns, thread: threads[isolate], stack, weight });
        }
        builder.meta().interval_ns = self.isolates.first().map(interval_ns);
        settle_quality_with(builder, |frame| resolved.reasons.get(&frame).cloned());
        self.builder.finish()
    }
}

/// One thread for each isolate. The log does not tell processes apart.
fn threads(builder: &mut Builder, isolates: &[Isolate]) -> Vec<ThreadId> {
    let none = StringId::NONE;
    let process = Process { pid: None, inner_pid: None, name: none, container: none, node_version: none };
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

fn frame(builder: &mut Builder, symbol: &str, home: Option<&str>, module: Option<&str>) -> FrameId {
    let named = naming::name(symbol, home);
    let function = Function {
        name: builder.string(&named.function),
        source: named.source.map_or(SourceId::NONE, |path| builder.source(path)),
        line: named.line,
        column: named.column,
        module: module.map_or(ModuleId::NONE, |name| builder.module(name, None)),
        package: builder.optional_string(named.package),
    };
    let row = Frame {
        function: builder.function(function),
        line: 0,
        column: 0,
        category: named.category,
        tier: named.tier,
        inlined: false,
        address: NO_ADDRESS,
        symbol: builder.string(symbol),
    };
    builder.frame(row)
}
