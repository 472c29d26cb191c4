//! Adds a finished recording once more, row by row, as a recorder would have: what a sample refers to comes with the
//! sample.

use profile::{
    Builder, FrameId, Function, FunctionId, LaneId, LaneInfo, LongTurn, Loop, Marker, ModuleId,
    OffCpuTime, Process, ProcessId, Profile, RowId, Sample, Samples, Second, SourceId, StackId,
    StringId, Thread, ThreadId,
};

/// One pass, into one builder.
pub struct Replay<'a> {
    from: &'a Profile,
    stacks: Vec<Option<StackId>>,
    threads: Vec<Option<ThreadId>>,
    lanes: Vec<LaneId>,
    /// Where this is a random number, samples have the stacks of others, and their times are up to a millisecond later.
    pub shuffled: Option<u64>,
}

impl<'a> Replay<'a> {
    pub fn new(from: &'a Profile, builder: &mut Builder) -> Self {
        builder.set_origin_ns(0);
        *builder.meta() = from.meta().clone();
        builder.meta().losses.unclosed = None;
        let lanes = from.lanes().iter().map(|lane| {
            let (unit, timed, counted) = (lane.unit, lane.timed, lane.counted);
            builder.lane(LaneInfo { name: from.text(lane.name), unit, timed, counted })
        });
        let lanes = lanes.collect();
        let (stacks, threads) = (vec![None; from.stacks().len()], vec![None; from.threads().len()]);
        Self { from, stacks, threads, lanes, shuffled: None }
    }

    /// Adds what began in that time, by so much later.
    pub fn add(&mut self, builder: &mut Builder, from_ns: u64, until_ns: u64, later_ns: u64) {
        let from = self.from;
        let now = |time_ns: u64| (from_ns..until_ns).contains(&time_ns);
        self.add_samples(builder, from_ns, until_ns, later_ns);
        for row in
            from.markers().ids().map(|row| from.markers().row(row)).filter(|row| now(row.start_ns))
        {
            let (thread, text) =
                (self.thread(row.thread, builder), string(from, row.text, builder));
            let (start_ns, end_ns) = (row.start_ns + later_ns, row.end_ns + later_ns);
            builder.marker(Marker { thread, text, start_ns, end_ns, ..row });
        }
        for row in
            from.off_cpu().ids().map(|row| from.off_cpu().row(row)).filter(|row| now(row.start_ns))
        {
            let thread = self.thread(row.thread, builder);
            builder.off_cpu_time(OffCpuTime { thread, start_ns: row.start_ns + later_ns, ..row });
        }
        self.add_loops(builder, now, later_ns);
    }

    /// Adds the samples of that time alone.
    pub fn add_samples(
        &mut self,
        builder: &mut Builder,
        from_ns: u64,
        until_ns: u64,
        later_ns: u64,
    ) {
        for (lane, id) in self.from.lanes().iter().zip(self.lanes.clone()) {
            let before =
                |limit_ns: u64| lane.samples.time_ns.partition_point(|time_ns| *time_ns < limit_ns);
            for row in (before(from_ns)..before(until_ns)).map(RowId::from_index) {
                let row = self.shuffle(lane.samples.row(row), &lane.samples);
                let (thread, stack) =
                    (self.thread(row.thread, builder), self.stack(row.stack, builder));
                builder
                    .sample(id, Sample { time_ns: row.time_ns + later_ns, thread, stack, ..row });
            }
        }
    }

    fn shuffle(&mut self, mut row: Sample, samples: &Samples) -> Sample {
        if let Some(random) = &mut self.shuffled {
            // Xorshift.
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            row.time_ns += *random % 1_000_000;
            row.stack = samples.stack[(*random >> 32) as usize % samples.len()];
        }
        row
    }

    fn add_loops(&mut self, builder: &mut Builder, now: impl Fn(u64) -> bool, later_ns: u64) {
        let from = self.from;
        for row in
            from.loops().ids().map(|row| from.loops().row(row)).filter(|row| now(row.start_ns))
        {
            let (thread, problem) =
                (self.thread(row.thread, builder), string(from, row.problem, builder));
            let (start_ns, end_ns) = (row.start_ns + later_ns, row.end_ns + later_ns);
            builder.event_loop(Loop { thread, problem, start_ns, end_ns, ..row });
        }
        for row in from
            .long_turns()
            .ids()
            .map(|row| from.long_turns().row(row))
            .filter(|row| now(row.start_ns))
        {
            let thread = self.thread(row.thread, builder);
            let (start_ns, end_ns) = (row.start_ns + later_ns, row.end_ns + later_ns);
            builder.long_turn(LongTurn { thread, start_ns, end_ns, ..row });
        }
        for row in
            from.seconds().ids().map(|row| from.seconds().row(row)).filter(|row| now(row.start_ns))
        {
            let process = process(from, row.process, builder);
            let (start_ns, end_ns) = (row.start_ns + later_ns, row.end_ns + later_ns);
            builder.second(Second { process, start_ns, end_ns, ..row });
        }
    }

    fn thread(&mut self, id: ThreadId, builder: &mut Builder) -> ThreadId {
        if let Some(known) = self.threads[id.index()] {
            return known;
        }
        let row = self.from.thread(id);
        let process = process(self.from, row.process, builder);
        let row = Thread { process, name: string(self.from, row.name, builder), ..*row };
        *self.threads[id.index()].insert(builder.thread(row))
    }

    fn stack(&mut self, id: StackId, builder: &mut Builder) -> StackId {
        let Some(id) = id.some() else { return id };
        let unknown: Vec<StackId> =
            self.from.ancestry(id).take_while(|id| self.stacks[id.index()].is_none()).collect();
        for id in unknown.into_iter().rev() {
            let row = self.from.stacks().row(id);
            let parent =
                row.parent.some().map_or(StackId::NONE, |id| self.stacks[id.index()].unwrap());
            let frame = frame(self.from, row.frame, builder);
            self.stacks[id.index()] = Some(builder.stack(parent, frame));
        }
        self.stacks[id.index()].unwrap()
    }
}

fn string(from: &Profile, id: StringId, builder: &mut Builder) -> StringId {
    id.some().map_or(id, |id| builder.string(from.text(id)))
}

fn process(from: &Profile, id: ProcessId, builder: &mut Builder) -> ProcessId {
    let row = from.process(id).clone();
    let row = Process {
        name: string(from, row.name, builder),
        container: string(from, row.container, builder),
        node_version: string(from, row.node_version, builder),
        app: string(from, row.app, builder),
        command: string(from, row.command, builder),
        folder: string(from, row.folder, builder),
        ..row
    };
    builder.process(row)
}

fn function(from: &Profile, id: FunctionId, builder: &mut Builder) -> FunctionId {
    let row = from.functions().row(id);
    let module = row.module.some().map_or(ModuleId::NONE, |id| {
        let row = from.modules()[id.index()];
        builder.module(from.text(row.name), row.build_id.some().map(|id| from.text(id)))
    });
    let source = from.source_path(row.source).map_or(SourceId::NONE, |path| builder.source(path));
    let (name, package) = (string(from, row.name, builder), string(from, row.package, builder));
    let version = string(from, row.version, builder);
    builder.function(Function { name, source, module, package, version, ..row })
}

fn frame(from: &Profile, id: FrameId, builder: &mut Builder) -> FrameId {
    let row = from.frames().row(id);
    let (function, symbol) =
        (function(from, row.function, builder), string(from, row.symbol, builder));
    builder.frame(profile::Frame { function, symbol, ..row })
}
