//! The shares of functions and how sure they are. Samples in a burst are not independent, so the spread comes from
//! blocks of a second (fewer, where there are not enough seconds).

use profile::{Category, FunctionId, Lane, Profile, ThreadId};

const FEWEST_BLOCKS: u64 = 5;
const MOST_BLOCKS: u64 = 20;
const BLOCK_NS: u64 = 1_000_000_000;
/// A change counts from so many standard errors on.
const CERTAIN: f64 = 2.0;

/// What a change is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    More,
    Less,
    New,
    Gone,
    Noise,
    Unknown,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::More => "more",
            Self::Less => "less",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Noise => "noise",
            Self::Unknown => "unknown",
        }
    }
}

/// The samples of one recording that are compared.
pub(super) struct Side<'a> {
    profile: &'a Profile,
    lane: Option<&'a Lane>,
    /// For each thread, whether it is compared.
    threads: Vec<bool>,
    /// Whether samples of waiting, and those without a stack, are left out.
    is_busy: bool,
}

impl<'a> Side<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        lane: Option<&'a Lane>,
        threads: Option<Vec<ThreadId>>,
        is_busy: bool,
    ) -> Self {
        let all = threads.is_none();
        let mut mask = vec![all; profile.threads().len()];
        threads.into_iter().flatten().for_each(|id| mask[id.index()] = true);
        Self { profile, lane, threads: mask, is_busy }
    }

    /// Whether its samples were counted and have times: only then can noise be told.
    pub(super) fn is_told(&self) -> bool {
        self.lane.is_some_and(|lane| lane.counted && lane.timed)
    }

    /// The function that a sample ended in: `None` where the sample is left out, none of them where it has no stack.
    fn function(&self, lane: &Lane, row: usize) -> Option<FunctionId> {
        let samples = &lane.samples;
        let stack = samples.stack[row].some();
        let stacks = self.profile.stacks();
        let is_idle = || stack.is_none_or(|id| stacks.category[id.index()] == Category::Idle);
        if !self.threads[samples.thread[row].index()] || (self.is_busy && is_idle()) {
            return None;
        }
        let function =
            |id: profile::StackId| self.profile.frames().function[stacks.frame[id.index()].index()];
        Some(stack.map_or(FunctionId::NONE, function))
    }

    /// The ends of the blocks of the recording.
    fn block_ends(&self) -> Vec<u64> {
        let timed = self.profile.lanes().iter().filter(|lane| lane.timed);
        let last = timed.filter_map(|lane| lane.samples.time_ns.last()).max();
        // The end of a range is open: the last sample must lie inside.
        let behind_last = last.map_or(0, |last| last.saturating_add(1));
        let whole_ns = self.profile.duration_ns().max(behind_last);
        let count = (whole_ns / BLOCK_NS).clamp(FEWEST_BLOCKS, MOST_BLOCKS);
        (1..=count).map(|at| (whole_ns as f64 * at as f64 / count as f64).round() as u64).collect()
    }
}

/// The weights of all functions, and what their spread over blocks needs.
pub(super) struct Spread {
    value: Vec<f64>,
    total: f64,
    /// Of samples, the sum of their weight squared.
    sample_squares: f64,
    /// Of each function the sum over blocks of its weight squared, and times the block's weight.
    squares: Vec<f64>,
    products: Vec<f64>,
    /// Of blocks, the sum of their weight squared.
    block_squares: f64,
    blocks: f64,
}

impl Spread {
    /// `row_of` has the row of each function of the recording among `count` rows.
    pub(super) fn new(side: &Side<'_>, row_of: &[FunctionId], count: usize) -> Self {
        let room = || vec![0.0; count];
        let mut spread = Self {
            value: room(),
            total: 0.0,
            sample_squares: 0.0,
            squares: room(),
            products: room(),
            block_squares: 0.0,
            blocks: 0.0,
        };
        let Some(lane) = side.lane else { return spread };
        let times = &lane.samples.time_ns;
        if !lane.timed {
            spread.add_block(side, lane, row_of, 0..times.len());
            return spread;
        }
        let mut first = 0;
        for end_ns in side.block_ends() {
            let end = times.partition_point(|time| *time < end_ns).max(first);
            spread.add_block(side, lane, row_of, first..end);
            first = end;
        }
        spread
    }

    fn add_block(
        &mut self,
        side: &Side<'_>,
        lane: &Lane,
        row_of: &[FunctionId],
        rows: std::ops::Range<usize>,
    ) {
        let mut own = vec![0.0; self.value.len()];
        let mut weight = 0.0;
        for row in rows {
            let Some(function) = side.function(lane, row) else { continue };
            let its = lane.samples.weight[row] as f64;
            if let Some(function) = function.some() {
                own[row_of[function.index()].index()] += its;
            }
            weight += its;
            self.sample_squares += its * its / lane.samples_in_row(row).max(1) as f64;
        }
        for (row, own) in own.into_iter().enumerate().filter(|(_, own)| *own != 0.0) {
            self.value[row] += own;
            self.squares[row] += own * own;
            self.products[row] += own * weight;
        }
        self.total += weight;
        self.block_squares += weight * weight;
        self.blocks += 1.0;
    }

    /// The share of a function, from 0 to 1.
    pub(super) fn share(&self, row: usize) -> f64 {
        if self.total > 0.0 { self.value[row] / self.total } else { 0.0 }
    }

    /// How many samples of one weight would tell as much: a few heavy ones prove little.
    fn samples(&self) -> f64 {
        if self.sample_squares > 0.0 { self.total * self.total / self.sample_squares } else { 0.0 }
    }

    /// The variance of a share by the blocks' distances from it. It is no smaller than that of a coin that falls by the
    /// share of both selections: three samples that are all elsewhere prove little.
    fn variance(&self, row: usize, of_both: f64) -> f64 {
        if self.blocks < 2.0 || self.total == 0.0 {
            return f64::INFINITY;
        }
        let part = self.share(row);
        let sum =
            self.squares[row] - 2.0 * part * self.products[row] + part * part * self.block_squares;
        let by_blocks =
            self.blocks / (self.blocks - 1.0) * sum.max(0.0) / (self.total * self.total);
        by_blocks.max(of_both * (1.0 - of_both) / self.samples())
    }
}

/// What the change of one function is worth.
pub(super) fn verdict(before: &Spread, now: &Spread, row: usize) -> Verdict {
    let (was, is) = (before.share(row), now.share(row));
    let all = (before.total + now.total).max(1.0);
    let of_both = (before.value[row] + now.value[row]) / all;
    let error = (before.variance(row, of_both) + now.variance(row, of_both)).sqrt();
    match (is - was).abs() > CERTAIN * error {
        false => Verdict::Noise,
        true if was == 0.0 => Verdict::New,
        true if is == 0.0 => Verdict::Gone,
        true if is > was => Verdict::More,
        true => Verdict::Less,
    }
}
