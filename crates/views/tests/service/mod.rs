//! Recordings of a service, made by hand: a main loop, a worker's loop, helper threads, and what is done to them.

use profile::{
    Builder, Category, Frame, Function, LaneId, LaneInfo, LongTurn, Loop, ModuleId, NO_ADDRESS,
    Process, ProcessId, Profile, Role, Sample, Second, SourceId, StackId, StringId, Thread,
    ThreadId, Tier, TurnKind, UNKNOWN, Unit, WAITS_LANE,
};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;
/// The time that one sample stands for.
pub const INTERVAL: u64 = 10 * MS;

/// A function: its name, script, line and category. Without a line it is native, and the script does not matter.
pub type Code = (&'static str, &'static str, u32, Category);

pub const TIMERS: Code = ("processTimers", "node:internal/timers", 504, Category::NodeCore);
pub const POLL: Code = ("poll", "/srv/server.js", 4, Category::App);
pub const DEPLOY: Code = ("deployStatus", "/srv/server.js", 2, Category::App);
pub const RENDER: Code = ("render", "/srv/views.js", 12, Category::App);
pub const CLONE: Code =
    ("cloneDeep", "/srv/node_modules/lodash/cloneDeep.js", 3, Category::Dependency);
pub const EXEC_SYNC: Code = ("execSync", "node:child_process", 954, Category::NodeCore);
pub const SPAWN_SYNC: Code = ("spawnSync", "node:internal/child_process", 1108, Category::NodeCore);
pub const SPAWN: Code = ("node::SyncProcessRunner::Spawn(v8::Info)", "", 0, Category::NodeCore);
pub const EPOLL: Code = ("epoll_pwait", "", 0, Category::System);
pub const MARK_COMPACT: Code = ("Heap::MarkCompact", "", 0, Category::Gc);

/// A recording in the making.
pub struct Service {
    pub builder: Builder,
    pub process: ProcessId,
    pub main: ThreadId,
    pub worker: ThreadId,
    pub helper: ThreadId,
    clock: LaneId,
}

impl Service {
    pub fn new(seconds: u64) -> Self {
        let mut builder = Builder::new();
        builder.set_origin_ns(0);
        builder.meta().duration_ns = seconds * SECOND;
        let name = builder.string("node");
        let process = builder.process(Process { pid: Some(4140), name, ..Process::default() });
        let mut thread = |tid, name, role| {
            let name = builder.string(name);
            builder.thread(Thread { process, tid: Some(tid), name, role })
        };
        let main = thread(4140, "node-MainThread", Role::MainLoop);
        let helper = thread(4141, "V8Worker", Role::V8Platform);
        let worker = thread(4150, "WorkerThread", Role::Other);
        let clock = builder.lane(LaneInfo {
            name: "cpu-clock",
            unit: Unit::Ns,
            timed: true,
            counted: true,
        });
        Self { builder, process, main, worker, helper, clock }
    }

    /// The main loop was watched from the start to the end, and was free for so long.
    pub fn watched(mut self, polled_ns: u64) -> Self {
        let end_ns = self.builder.meta().duration_ns;
        let (thread, problem) = (self.main, StringId::NONE);
        let row = Loop { thread, start_ns: 0, end_ns, polled_ns, turns: UNKNOWN, problem };
        self.builder.event_loop(row);
        self
    }

    /// A worker's loop that was not watched.
    pub fn unwatched_worker(mut self, problem: &str) -> Self {
        self.builder.set_role(self.worker, Role::Worker);
        let problem = self.builder.string(problem);
        let (thread, polled_ns, turns) = (self.worker, UNKNOWN, UNKNOWN);
        self.builder.event_loop(Loop { thread, start_ns: 0, end_ns: 0, polled_ns, turns, problem });
        self
    }

    /// A long turn: when, for how long, and how much of that it ran, was ready and was throttled.
    pub fn turn(mut self, kind: TurnKind, start_ns: u64, length_ns: u64, spent: [u64; 3]) -> Self {
        let (thread, end_ns) = (self.main, start_ns + length_ns);
        let [run_ns, ready_ns, throttled_ns] = spent;
        let row = LongTurn { kind, thread, start_ns, end_ns, run_ns, ready_ns, throttled_ns };
        self.builder.long_turn(row);
        self
    }

    /// Samples of a stack, from its root, one each interval.
    pub fn ran(mut self, thread: ThreadId, codes: &[Code], start_ns: u64, length_ns: u64) -> Self {
        let (stack, lane) = (stack(&mut self.builder, codes), self.clock);
        for row in 0..length_ns / INTERVAL {
            let time_ns = start_ns + row * INTERVAL;
            self.builder.sample(lane, Sample { time_ns, thread, stack, weight: INTERVAL });
        }
        self
    }

    /// One sleeping stack that stands for the whole time.
    pub fn slept(mut self, codes: &[Code], time_ns: u64, weight: u64) -> Self {
        let stack = stack(&mut self.builder, codes);
        let lane = LaneInfo { name: WAITS_LANE, unit: Unit::Ns, timed: true, counted: true };
        let lane = self.builder.lane(lane);
        let thread = self.main;
        self.builder.sample(lane, Sample { time_ns, thread, stack, weight });
        self
    }

    /// What the kernel counted in each second: CPU time, waiting, throttled periods of ten, throttled time.
    pub fn counted(mut self, run_ns: u64, ready_ns: u64, throttled: Option<(u64, u64)>) -> Self {
        for second in 0..self.builder.meta().duration_ns / SECOND {
            let (throttled_periods, throttled_ns) = throttled.unwrap_or((UNKNOWN, UNKNOWN));
            self.builder.second(Second {
                process: self.process,
                start_ns: second * SECOND,
                end_ns: (second + 1) * SECOND,
                run_ns,
                ready_ns,
                periods: throttled.map_or(UNKNOWN, |_| 10),
                throttled_periods,
                throttled_ns,
                cpu_pressure_ns: UNKNOWN,
                memory_pressure_ns: UNKNOWN,
            });
        }
        self
    }

    pub fn done(self) -> Profile {
        let profile = self.builder.finish();
        assert_eq!(profile.check(), Ok(()));
        profile
    }
}

pub fn stack(builder: &mut Builder, codes: &[Code]) -> StackId {
    stack_of(builder, codes, "")
}

/// The same; functions of packages are of this one.
pub fn stack_of(builder: &mut Builder, codes: &[Code], package: &str) -> StackId {
    codes.iter().fold(StackId::NONE, |parent, &(name, script, line, category)| {
        let name = builder.string(name);
        let source = if script.is_empty() { SourceId::NONE } else { builder.source(script) };
        let is_of = category == Category::Dependency && !package.is_empty();
        let package = if is_of { builder.string(package) } else { StringId::NONE };
        let (module, version) = (ModuleId::NONE, StringId::NONE);
        let row = Function { name, source, line, column: 0, module, package, version };
        let function = builder.function(row);
        let frame = Frame {
            function,
            line: 0,
            column: 0,
            category,
            tier: if script.is_empty() { Tier::None } else { Tier::Ignition },
            inlined: false,
            address: NO_ADDRESS,
            symbol: name,
        };
        let frame = builder.frame(frame);
        builder.stack(parent, frame)
    })
}
