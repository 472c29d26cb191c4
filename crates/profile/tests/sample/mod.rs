//! Small profiles made by hand that fill every table a builder can fill.

use profile::{
    Builder, Category, Cost, Delay, Frame, FrameId, Function, Inlined, LaneInfo, LineTick,
    LongTurn, Loop, Losses, Marker, MarkerKind, Meta, ModuleId, NO_ADDRESS, OffCpuTime, Pool,
    Process, Profile, Role, Sample, Second, SourceId, StackId, StringId, Thread, ThreadId, Tier,
    TurnKind, UNKNOWN, Unclosed, Unit,
};

/// Three lanes, two processes, three threads, markers, line ticks, losses.
pub fn profile() -> Profile {
    let mut builder = Builder::new();
    *builder.meta() = meta();
    let (main, pool, other) = threads(&mut builder);
    let stacks = stacks(&mut builder);
    let clock =
        builder.lane(LaneInfo { name: "cpu-clock", unit: Unit::Ns, timed: true, counted: true });
    let faults = builder.lane(LaneInfo {
        name: "page-faults",
        unit: Unit::Count,
        timed: true,
        counted: true,
    });
    let bytes = builder.lane(LaneInfo {
        name: "allocations",
        unit: Unit::Bytes,
        timed: false,
        counted: false,
    });
    for (lane, time_ns, thread, stack, weight) in [
        (clock, 0, main, stacks[2], 10),
        (clock, 10, main, stacks[1], 10),
        (clock, 10, pool, StackId::NONE, 10),
        (clock, 30, other, stacks[3], u64::MAX),
        (faults, 5, main, stacks[2], 3),
        (bytes, 0, pool, stacks[0], 1 << 40),
    ] {
        builder.sample(lane, Sample { time_ns, thread, stack, weight });
    }
    builder.line_tick(LineTick { stack: stacks[1], line: 12, ticks: 3 });
    builder.line_tick(LineTick { stack: stacks[2], line: 7, ticks: 1 });
    let text = builder.string("mark-compact");
    for (kind, start_ns, end_ns, text) in [
        (MarkerKind::LoopTurn, 0, 20, StringId::NONE),
        (MarkerKind::GcPause, 12, 15, text),
        (MarkerKind::Throttled, 25, 40, StringId::NONE),
    ] {
        builder.marker(Marker { kind, thread: main, start_ns, end_ns, text });
    }
    add_loops(&mut builder, main);
    for (thread, start_ns, length_ns, times) in
        [(pool, 30_000, 7_000, 1), (main, 20_000, 1_000_000, 12)]
    {
        builder.off_cpu_time(OffCpuTime { thread, start_ns, length_ns, times });
    }
    builder.meta().losses.unclosed = Some(Unclosed { thread: other, stack: stacks[3], weight: 10 });
    builder.finish()
}

/// A loop that was watched, its stall and its start, and what the kernel counted.
fn add_loops(builder: &mut Builder, thread: ThreadId) {
    let problem = StringId::NONE;
    builder.event_loop(Loop {
        thread,
        start_ns: 0,
        end_ns: 35,
        polled_ns: 12,
        turns: UNKNOWN,
        problem,
    });
    let problem = builder.string("this build of Node does not tell where its loop is");
    builder.event_loop(Loop {
        thread,
        start_ns: 0,
        end_ns: 0,
        polled_ns: UNKNOWN,
        turns: UNKNOWN,
        problem,
    });
    for (kind, start_ns, end_ns, run_ns) in [
        (TurnKind::Startup, 0, 4, 3),
        (TurnKind::Turn, 5, 20, 2),
        (TurnKind::Stopped, 21, 22, UNKNOWN),
    ] {
        let (ready_ns, throttled_ns) = (1, UNKNOWN);
        builder.long_turn(LongTurn {
            kind,
            thread,
            start_ns,
            end_ns,
            run_ns,
            ready_ns,
            throttled_ns,
        });
    }
    let process = builder.so_far().thread(thread).process;
    builder.second(Second {
        process,
        start_ns: 0,
        end_ns: 30,
        run_ns: 20,
        ready_ns: 5,
        periods: 3,
        throttled_periods: 1,
        throttled_ns: 4,
        cpu_pressure_ns: 6,
        memory_pressure_ns: UNKNOWN,
    });
    builder.delay(Delay { thread, start_ns: 0, end_ns: 30, delay_us: 12, moments: 3 });
    builder.pool(Pool {
        process,
        start_ns: 0,
        end_ns: 30,
        threads: 4,
        looks: 10,
        busy: 31,
        full: 6,
        most_queued: 9,
        queued_fs: 1,
        queued_dns: 2,
        queued_crypto: 3,
        queued_zlib: 4,
        queued_addon: 5,
        queued_other: 6,
    });
}

/// What the same recording could add a second later: the same threads and stacks, one new function.
pub fn second_part() -> Profile {
    let mut builder = Builder::new();
    builder.meta().format = "perf events".into();
    builder.meta().losses.lost = 2;
    builder.meta().losses.unnamed.insert("no symbol in libz.so".into(), 4);
    builder.set_origin_ns(0);
    let (main, ..) = threads(&mut builder);
    let stacks = stacks(&mut builder);
    let new = function(&mut builder, "newcomer", None, None);
    let new = frame(&mut builder, new, Category::App, Tier::Maglev);
    let new = builder.stack(stacks[0], new);
    let faults = builder.lane(LaneInfo {
        name: "page-faults",
        unit: Unit::Count,
        timed: true,
        counted: true,
    });
    let clock =
        builder.lane(LaneInfo { name: "cpu-clock", unit: Unit::Ns, timed: true, counted: true });
    builder.sample(faults, Sample { time_ns: 1_000, thread: main, stack: stacks[2], weight: 1 });
    // Before the end of the first part: clocks of CPUs differ.
    builder.sample(clock, Sample { time_ns: 20, thread: main, stack: new, weight: 10 });
    builder.sample(clock, Sample { time_ns: 1_010, thread: main, stack: stacks[1], weight: 10 });
    builder.line_tick(LineTick { stack: new, line: 1, ticks: 1 });
    let (kind, text) = (MarkerKind::GcPause, StringId::NONE);
    builder.marker(Marker { kind, thread: main, start_ns: 1_000, end_ns: 2_000_000, text });
    builder.finish()
}

/// A profile of plain names: no source, no module, no package.
pub fn without_sources() -> Profile {
    let mut builder = Builder::new();
    let (main, ..) = threads(&mut builder);
    let main_function = function(&mut builder, "main", None, None);
    let main_frame = frame(&mut builder, main_function, Category::Unknown, Tier::None);
    let stack = builder.stack(StackId::NONE, main_frame);
    let lane =
        builder.lane(LaneInfo { name: "samples", unit: Unit::Count, timed: false, counted: false });
    builder.sample(lane, Sample { time_ns: 0, thread: main, stack, weight: 1 });
    builder.finish()
}

/// A function of a builder, in a file or a binary.
pub fn function(
    builder: &mut Builder,
    name: &str,
    source: Option<&str>,
    module: Option<&str>,
) -> Function {
    Function {
        name: builder.string(name),
        source: source.map_or(SourceId::NONE, |path| builder.source(path)),
        line: if source.is_some() { 3 } else { 0 },
        column: if source.is_some() { 14 } else { 0 },
        module: module.map_or(ModuleId::NONE, |name| builder.module(name, Some("c0ffee"))),
        package: StringId::NONE,
        version: StringId::NONE,
    }
}

/// A frame of a builder.
pub fn frame(builder: &mut Builder, function: Function, category: Category, tier: Tier) -> FrameId {
    let symbol = function.name;
    let function = builder.function(function);
    let address = NO_ADDRESS;
    builder.frame(Frame {
        function,
        line: 0,
        column: 0,
        category,
        tier,
        inlined: false,
        address,
        symbol,
    })
}

fn meta() -> Meta {
    let text = |text: &str| Some(text.to_owned());
    Meta {
        format: "perf events".into(),
        way_in: "perf".into(),
        start_unix_ns: text("1731664980123456789"),
        start_clock_s: Some(81234.567890123),
        clock: text("CLOCK_MONOTONIC"),
        duration_ns: 35,
        interval_ns: Some(10),
        host: text("web-3"),
        system: text("Linux 6.1"),
        node_version: text("22.1.0"),
        v8_version: text("12.4"),
        command: text("node server.js --port …"),
        cost: Some(Cost {
            start_ns: 12_000_000,
            start_cpu_ns: 11_000_000,
            list_ns: 2_000_000,
            list_cpu_ns: 1_000_000,
            windows: 3,
            window_ns: 900_000,
            window_cpu_ns: 800_000,
            end_ns: 5_000_000,
            end_cpu_ns: 4_000_000,
            total_cpu_ns: 17_000_000,
            memory_bytes: 600_000,
        }),
        lines_are_checked: true,
        losses: Losses {
            cpu_ns: Some(5_000_000_000),
            lost: 7,
            throttled: 1,
            hidden_kernel_ns: 5,
            unnamed: [("no symbol in libz.so".to_owned(), 9)].into(),
            frames: 100,
            skipped: 2,
            ambiguous: 3,
            inlined: Inlined { found: 4, uncertain: 5, unchecked: 6 },
            damage: vec!["line 12 was not understood: “漢字 \u{1b}[31m”".into()],
            notes: vec!["a thread has no names".into()],
            helper_crashes: 2,
            stacks_cut: 6,
            awaits: profile::AwaitCounts { read: 5, inferred: 3, late: 2, unread: 1, cut: 1 },
            unclosed: None,
        },
    }
}

fn threads(builder: &mut Builder) -> (ThreadId, ThreadId, ThreadId) {
    let process = Process {
        pid: Some(4140),
        inner_pid: Some(1),
        name: builder.string("api"),
        container: builder.string("web-3"),
        node_version: builder.string("22.1.0"),
        app: builder.string("shop"),
        command: builder.string("node server.js --port …"),
        folder: builder.string("/srv"),
        ports: vec![8080, 9090],
        cpu_limit_millis: Some(300),
        parent_pid: Some(4100),
    };
    let nameless = Process::default();
    let (process, nameless) = (builder.process(process), builder.process(nameless));
    let mut thread = |process, tid, name, role| {
        let name = builder.string(name);
        builder.thread(Thread { process, tid, name, role })
    };
    (
        thread(process, Some(4140), "node", Role::MainLoop),
        thread(process, Some(4141), "libuv-worker", Role::LibuvPool),
        thread(nameless, None, "", Role::Other),
    )
}

/// main, main → handle, main → handle → memset, and a root of its own.
fn stacks(builder: &mut Builder) -> Vec<StackId> {
    let main = function(builder, "main", None, Some("/usr/bin/node"));
    let mut handle =
        function(builder, "handle", Some("/srv/node_modules/@shop/cart/index.js"), None);
    handle.package = builder.string("@shop/cart");
    let memset = function(builder, "memset", None, Some("/usr/lib/libc.so.6"));
    let render = function(builder, "render", Some("/srv/src/render.ts"), None);
    let main = frame(builder, main, Category::NodeCore, Tier::None);
    let handle = frame(builder, handle, Category::Dependency, Tier::Turbofan);
    let function = builder.function(memset);
    let symbol = builder.string("memset@@GLIBC_2.2.5");
    let memset = builder.frame(Frame {
        function,
        line: 7,
        column: 2,
        category: Category::System,
        tier: Tier::None,
        inlined: true,
        address: 0x7f00_1234_5678,
        symbol,
    });
    let render = frame(builder, render, Category::App, Tier::Ignition);
    let main = builder.stack(StackId::NONE, main);
    let handle = builder.stack(main, handle);
    vec![main, handle, builder.stack(handle, memset), builder.stack(StackId::NONE, render)]
}
