//! The proof that a profile is whole: ids in range, parents first, columns equally long, times sorted.
//! Readers of foreign bytes run it on what they made, so that the code after them may index freely.

use thiserror::Error;

use crate::builder::DEEPEST_STACK;
use crate::model::Profile;
use crate::tables::Samples;

/// What is wrong with a profile's tables.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    /// An id leads nowhere.
    #[error("row {row} of {table} refers to {column} {id}, but there are only {limit}")]
    OutOfRange {
        /// The table.
        table: &'static str,
        /// Its column.
        column: &'static str,
        /// The row.
        row: usize,
        /// The id found there.
        id: u32,
        /// How many rows the other table has.
        limit: usize,
    },
    /// A stack stands before its parent.
    #[error("stack {0} stands before its parent")]
    ParentAfterChild(usize),
    /// A stack has more frames than [`DEEPEST_STACK`].
    #[error("stack {0} has more than {DEEPEST_STACK} frames")]
    TooDeep(usize),
    /// Columns of one table differ in length.
    #[error("the columns of {0} differ in length")]
    UnequalColumns(&'static str),
    /// A lane's times go backwards.
    #[error("the times of lane {lane} go backwards at sample {row}")]
    UnsortedTimes {
        /// The lane.
        lane: usize,
        /// The sample.
        row: usize,
    },
    /// A marker, a loop, a long turn or a second ends before it starts.
    #[error("{0} {1} ends before it starts")]
    Backward(&'static str, usize),
}

/// How many rows the tables have that others refer to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) strings: usize,
    pub(crate) sources: usize,
    pub(crate) modules: usize,
    pub(crate) packages: usize,
    pub(crate) package_uses: usize,
    pub(crate) functions: usize,
    pub(crate) frames: usize,
    pub(crate) stacks: usize,
    pub(crate) processes: usize,
    pub(crate) threads: usize,
    pub(crate) lanes: usize,
}

impl Counts {
    pub(crate) fn of(profile: &Profile) -> Self {
        Self {
            strings: profile.strings.len(),
            sources: profile.sources.len(),
            modules: profile.modules.len(),
            packages: profile.packages.len(),
            package_uses: profile.package_uses.len(),
            functions: profile.functions.len(),
            frames: profile.frames.len(),
            stacks: profile.stacks.len(),
            processes: profile.processes.len(),
            threads: profile.threads.len(),
            lanes: profile.lanes.len(),
        }
    }
}

impl Profile {
    /// Proves that every id is in range, parents stand before their children, no stack is too
    /// deep, columns are equally long and times are sorted.
    pub fn check(&self) -> Result<(), CheckError> {
        let counts = Counts::of(self);
        self.check_rows(&counts)?;
        self.check_stacks(&mut Vec::new())?;
        self.check_unclosed(&counts)?;
        for (index, lane) in self.lanes.iter().enumerate() {
            check_samples(&lane.samples, &counts)?;
            if let Some(row) = lane.samples.time_ns.windows(2).position(|pair| pair[0] > pair[1]) {
                return Err(CheckError::UnsortedTimes { lane: index, row: row + 1 });
            }
        }
        Ok(())
    }

    /// Proves the rows of all tables but stacks and samples. These may be a part of a recording whose tables have that
    /// many rows by now.
    pub(crate) fn check_rows(&self, counts: &Counts) -> Result<(), CheckError> {
        self.check_columns()?;
        self.check_small_tables(counts)?;
        self.check_packages(counts)?;
        self.check_code(counts)?;
        self.check_marks(counts)?;
        self.check_loops(counts)
    }

    fn check_columns(&self) -> Result<(), CheckError> {
        let tables = [
            ("functions", self.functions.columns_are_equally_long()),
            ("frames", self.frames.columns_are_equally_long()),
            ("stacks", self.stacks.columns_are_equally_long()),
            ("line ticks", self.line_ticks.columns_are_equally_long()),
            ("markers", self.markers.columns_are_equally_long()),
            ("loops", self.loops.columns_are_equally_long()),
            ("long turns", self.long_turns.columns_are_equally_long()),
            ("seconds", self.seconds.columns_are_equally_long()),
            ("delays", self.delays.columns_are_equally_long()),
            ("pools", self.pools.columns_are_equally_long()),
            ("off-CPU times", self.off_cpu.columns_are_equally_long()),
        ];
        match tables.iter().find(|(_, equal)| !equal) {
            Some((table, _)) => Err(CheckError::UnequalColumns(table)),
            None => Ok(()),
        }
    }

    fn check_small_tables(&self, counts: &Counts) -> Result<(), CheckError> {
        let strings = counts.strings;
        in_range("sources", "string", self.sources.iter().map(|row| row.path.0), strings)?;
        in_range("sources", "string", self.sources.iter().map(|row| row.text.0), strings)?;
        in_range(
            "sources",
            "source",
            self.sources.iter().map(|row| row.generated.0),
            counts.sources,
        )?;
        in_range("modules", "string", self.modules.iter().map(|row| row.name.0), strings)?;
        in_range("modules", "string", self.modules.iter().map(|row| row.build_id.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.name.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.container.0), strings)?;
        in_range(
            "processes",
            "string",
            self.processes.iter().map(|row| row.node_version.0),
            strings,
        )?;
        in_range("processes", "string", self.processes.iter().map(|row| row.app.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.command.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.folder.0), strings)?;
        in_range("threads", "string", self.threads.iter().map(|row| row.name.0), strings)?;
        required(
            "threads",
            "process",
            self.threads.iter().map(|row| row.process.0),
            counts.processes,
        )?;
        in_range("lanes", "string", self.lanes.iter().map(|lane| lane.name.0), strings)
    }

    fn check_packages(&self, counts: &Counts) -> Result<(), CheckError> {
        let texts = self.packages.iter().flat_map(|row| [row.name, row.version, row.folder]);
        in_range("packages", "string", texts.map(|id| id.0), counts.strings)?;
        let rows = self.package_uses.iter().flat_map(|row| [row.by, row.package]);
        required("package uses", "package", rows.map(|id| id.0), counts.packages)
    }

    fn check_code(&self, counts: &Counts) -> Result<(), CheckError> {
        let functions = &self.functions;
        in_range("functions", "string", functions.name.iter().map(|id| id.0), counts.strings)?;
        in_range("functions", "string", functions.package.iter().map(|id| id.0), counts.strings)?;
        in_range("functions", "string", functions.version.iter().map(|id| id.0), counts.strings)?;
        in_range("functions", "source", functions.source.iter().map(|id| id.0), counts.sources)?;
        in_range("functions", "module", functions.module.iter().map(|id| id.0), counts.modules)?;
        required(
            "frames",
            "function",
            self.frames.function.iter().map(|id| id.0),
            counts.functions,
        )?;
        in_range("frames", "string", self.frames.symbol.iter().map(|id| id.0), counts.strings)?;
        required("stacks", "frame", self.stacks.frame.iter().map(|id| id.0), counts.frames)
    }

    /// Proves that parents come first. `depths` has how many frames each stack has that came before, and gets those
    /// of these.
    pub(crate) fn check_stacks(&self, depths: &mut Vec<u16>) -> Result<(), CheckError> {
        depths.reserve(self.stacks.parent.len());
        for (parent, logical) in self.stacks.parent.iter().zip(&self.stacks.logical) {
            let row = depths.len();
            if logical.some().is_some_and(|id| id.index() >= row) {
                return Err(CheckError::ParentAfterChild(row));
            }
            let depth = match parent.some() {
                None => 0,
                Some(id) => *depths.get(id.index()).ok_or(CheckError::ParentAfterChild(row))?,
            };
            if depth >= DEEPEST_STACK {
                return Err(CheckError::TooDeep(row));
            }
            depths.push(depth + 1);
        }
        Ok(())
    }

    fn check_unclosed(&self, counts: &Counts) -> Result<(), CheckError> {
        let unclosed = self.meta.losses.unclosed;
        required(
            "losses",
            "thread",
            unclosed.iter().map(|unclosed| unclosed.thread.0),
            counts.threads,
        )?;
        in_range("losses", "stack", unclosed.iter().map(|unclosed| unclosed.stack.0), counts.stacks)
    }

    fn check_marks(&self, counts: &Counts) -> Result<(), CheckError> {
        let (markers, ticks) = (&self.markers, &self.line_ticks);
        required("line ticks", "stack", ticks.stack.iter().map(|id| id.0), counts.stacks)?;
        required("markers", "thread", markers.thread.iter().map(|id| id.0), counts.threads)?;
        required(
            "off-CPU times",
            "thread",
            self.off_cpu.thread.iter().map(|id| id.0),
            counts.threads,
        )?;
        in_range("markers", "string", markers.text.iter().map(|id| id.0), counts.strings)?;
        forwards("marker", &markers.start_ns, &markers.end_ns)
    }

    fn check_loops(&self, counts: &Counts) -> Result<(), CheckError> {
        let (loops, turns, seconds) = (&self.loops, &self.long_turns, &self.seconds);
        required("loops", "thread", loops.thread.iter().map(|id| id.0), counts.threads)?;
        in_range("loops", "string", loops.problem.iter().map(|id| id.0), counts.strings)?;
        required("long turns", "thread", turns.thread.iter().map(|id| id.0), counts.threads)?;
        required("seconds", "process", seconds.process.iter().map(|id| id.0), counts.processes)?;
        forwards("loop", &loops.start_ns, &loops.end_ns)?;
        forwards("long turn", &turns.start_ns, &turns.end_ns)?;
        forwards("second", &seconds.start_ns, &seconds.end_ns)?;
        let (delays, pools) = (&self.delays, &self.pools);
        required("delays", "thread", delays.thread.iter().map(|id| id.0), counts.threads)?;
        required("pools", "process", pools.process.iter().map(|id| id.0), counts.processes)?;
        forwards("delay", &delays.start_ns, &delays.end_ns)?;
        forwards("pool", &pools.start_ns, &pools.end_ns)
    }
}

/// Proves that samples refer to threads and stacks.
pub(crate) fn check_samples(samples: &Samples, counts: &Counts) -> Result<(), CheckError> {
    if !samples.columns_are_equally_long() {
        return Err(CheckError::UnequalColumns("samples"));
    }
    required("samples", "thread", samples.thread.iter().map(|id| id.0), counts.threads)?;
    in_range("samples", "stack", samples.stack.iter().map(|id| id.0), counts.stacks)
}

fn forwards(what: &'static str, starts: &[u64], ends: &[u64]) -> Result<(), CheckError> {
    match starts.iter().zip(ends).position(|(start, end)| start > end) {
        Some(row) => Err(CheckError::Backward(what, row)),
        None => Ok(()),
    }
}

/// Ids that may also be "none".
fn in_range(
    table: &'static str,
    column: &'static str,
    ids: impl Iterator<Item = u32>,
    limit: usize,
) -> Result<(), CheckError> {
    lead_somewhere(table, column, ids.enumerate().filter(|(_, id)| *id != u32::MAX), limit)
}

fn required(
    table: &'static str,
    column: &'static str,
    ids: impl Iterator<Item = u32>,
    limit: usize,
) -> Result<(), CheckError> {
    lead_somewhere(table, column, ids.enumerate(), limit)
}

fn lead_somewhere(
    table: &'static str,
    column: &'static str,
    mut ids: impl Iterator<Item = (usize, u32)>,
    limit: usize,
) -> Result<(), CheckError> {
    match ids.find(|(_, id)| *id as usize >= limit) {
        Some((row, id)) => Err(CheckError::OutOfRange { table, column, row, id, limit }),
        None => Ok(()),
    }
}
