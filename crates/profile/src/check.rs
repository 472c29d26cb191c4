//! The proof that a profile is whole: ids in range, parents first, columns equally long, times sorted.
//! Readers of foreign bytes run it on what they made, so that everybody behind them may index freely.

use thiserror::Error;

use crate::builder::DEEPEST_STACK;
use crate::model::Profile;
use crate::tables::Lane;

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

impl Profile {
    /// Proves that every id is in range, parents stand before their children, no stack is too
    /// deep, columns are equally long and times are sorted.
    pub fn check(&self) -> Result<(), CheckError> {
        self.check_columns()?;
        self.check_small_tables()?;
        self.check_code()?;
        self.check_stacks()?;
        for (index, lane) in self.lanes.iter().enumerate() {
            self.check_lane(index, lane)?;
        }
        self.check_marks()?;
        self.check_loops()
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
            ("off-CPU times", self.off_cpu.columns_are_equally_long()),
            ("samples", self.lanes.iter().all(|lane| lane.samples.columns_are_equally_long())),
        ];
        match tables.iter().find(|(_, equal)| !equal) {
            Some((table, _)) => Err(CheckError::UnequalColumns(table)),
            None => Ok(()),
        }
    }

    fn check_small_tables(&self) -> Result<(), CheckError> {
        let strings = self.strings.len();
        in_range("sources", "string", self.sources.iter().map(|row| row.path.0), strings)?;
        in_range("sources", "string", self.sources.iter().map(|row| row.text.0), strings)?;
        in_range("sources", "source", self.sources.iter().map(|row| row.generated.0), self.sources.len())?;
        in_range("modules", "string", self.modules.iter().map(|row| row.name.0), strings)?;
        in_range("modules", "string", self.modules.iter().map(|row| row.build_id.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.name.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.container.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.node_version.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.app.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.command.0), strings)?;
        in_range("processes", "string", self.processes.iter().map(|row| row.folder.0), strings)?;
        in_range("threads", "string", self.threads.iter().map(|row| row.name.0), strings)?;
        required("threads", "process", self.threads.iter().map(|row| row.process.0), self.processes.len())?;
        in_range("lanes", "string", self.lanes.iter().map(|lane| lane.name.0), strings)
    }

    fn check_code(&self) -> Result<(), CheckError> {
        let (functions, strings) = (&self.functions, self.strings.len());
        in_range("functions", "string", functions.name.iter().map(|id| id.0), strings)?;
        in_range("functions", "string", functions.package.iter().map(|id| id.0), strings)?;
        in_range("functions", "source", functions.source.iter().map(|id| id.0), self.sources.len())?;
        in_range("functions", "module", functions.module.iter().map(|id| id.0), self.modules.len())?;
        required("frames", "function", self.frames.function.iter().map(|id| id.0), functions.len())?;
        in_range("frames", "string", self.frames.symbol.iter().map(|id| id.0), strings)
    }

    fn check_stacks(&self) -> Result<(), CheckError> {
        let stacks = &self.stacks;
        required("stacks", "frame", stacks.frame.iter().map(|id| id.0), self.frames.len())?;
        let mut depths: Vec<u16> = Vec::with_capacity(stacks.parent.len());
        for (row, parent) in stacks.parent.iter().enumerate() {
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

    fn check_lane(&self, index: usize, lane: &Lane) -> Result<(), CheckError> {
        let samples = &lane.samples;
        required("samples", "thread", samples.thread.iter().map(|id| id.0), self.threads.len())?;
        in_range("samples", "stack", samples.stack.iter().map(|id| id.0), self.stacks.len())?;
        match samples.time_ns.windows(2).position(|pair| pair[0] > pair[1]) {
            Some(row) => Err(CheckError::UnsortedTimes { lane: index, row: row + 1 }),
            None => Ok(()),
        }
    }

    fn check_marks(&self) -> Result<(), CheckError> {
        let (markers, ticks) = (&self.markers, &self.line_ticks);
        required("line ticks", "stack", ticks.stack.iter().map(|id| id.0), self.stacks.len())?;
        required("markers", "thread", markers.thread.iter().map(|id| id.0), self.threads.len())?;
        required("off-CPU times", "thread", self.off_cpu.thread.iter().map(|id| id.0), self.threads.len())?;
        in_range("markers", "string", markers.text.iter().map(|id| id.0), self.strings.len())?;
        forwards("marker", &markers.start_ns, &markers.end_ns)
    }

    fn check_loops(&self) -> Result<(), CheckError> {
        let (loops, turns, seconds) = (&self.loops, &self.long_turns, &self.seconds);
        required("loops", "thread", loops.thread.iter().map(|id| id.0), self.threads.len())?;
        in_range("loops", "string", loops.problem.iter().map(|id| id.0), self.strings.len())?;
        required("long turns", "thread", turns.thread.iter().map(|id| id.0), self.threads.len())?;
        required("seconds", "process", seconds.process.iter().map(|id| id.0), self.processes.len())?;
        forwards("loop", &loops.start_ns, &loops.end_ns)?;
        forwards("long turn", &turns.start_ns, &turns.end_ns)?;
        forwards("second", &seconds.start_ns, &seconds.end_ns)
    }
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
