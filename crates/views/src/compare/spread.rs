//! What functions used, as rates or as shares, and how sure that is. The rule stands in docs/page.md ("Before and
//! after"). Samples in a burst are not independent, so the spread comes from blocks of a second (fewer, where there are
//! not enough seconds).

use profile::{Category, FunctionId, Lane, Profile, ThreadId, Unit};

use super::{Measure, RateUnit};

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

/// What a lane's weight is as a rate, and what to multiply it with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) unit: RateUnit,
    factor: f64,
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

    /// Whether its samples were counted and have times: only then is noise known.
    pub(super) fn is_noise_known(&self) -> bool {
        self.lane.is_some_and(|lane| lane.counted && lane.timed)
    }

    /// How a weight becomes a rate. A sample counts for the recording's interval where its lane counts samples alone;
    /// none without that, and none without a length.
    pub(super) fn scale(&self) -> Option<Scale> {
        let scale = |unit, factor| Some(Scale { unit, factor });
        if self.whole_ns() == 0 {
            return None;
        }
        match self.lane?.unit {
            Unit::Ns => scale(RateUnit::Cores, 1.0),
            Unit::Count => {
                let interval_ns = self.profile.meta().interval_ns.filter(|ns| *ns > 0)?;
                scale(RateUnit::Cores, interval_ns as f64)
            }
            Unit::Bytes => scale(RateUnit::Bytes, 1e9),
            Unit::Event => scale(RateUnit::Events, 1e9),
        }
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

    /// The length of the recording.
    fn whole_ns(&self) -> u64 {
        let timed = self.profile.lanes().iter().filter(|lane| lane.timed);
        let last = timed.filter_map(|lane| lane.samples.time_ns.last()).max();
        // The end of a range is open: the last sample must lie inside.
        let behind_last = last.map_or(0, |last| last.saturating_add(1));
        self.profile.duration_ns().max(behind_last)
    }

    /// The ends of the blocks of the recording.
    fn block_ends(&self) -> Vec<u64> {
        let whole_ns = self.whole_ns();
        let count = (whole_ns / BLOCK_NS).clamp(FEWEST_BLOCKS, MOST_BLOCKS);
        (1..=count).map(|at| (whole_ns as f64 * at as f64 / count as f64).round() as u64).collect()
    }
}

/// The weights of all functions, and of all together behind them, and what their spread over blocks needs.
pub(super) struct Spread {
    measure: Measure,
    value: Vec<f64>,
    /// What values are parts of: all weight, or for a rate the time.
    total: f64,
    weight: f64,
    /// Of samples the sum of their weight squared.
    sample_squares: f64,
    /// What a sample weighs: the sum of their squares by their sum, because a few heavy ones prove little.
    size: f64,
    /// Of each function the sum over blocks of its weight squared, and times the block's whole.
    squares: Vec<f64>,
    products: Vec<f64>,
    /// Of blocks, the sum of their whole squared.
    block_squares: f64,
    blocks: f64,
}

impl Spread {
    /// `row_of` has the row of each function of the recording among `count` rows.
    pub(super) fn new(
        side: &Side<'_>,
        row_of: &[FunctionId],
        count: usize,
        measure: Measure,
    ) -> Self {
        let room = || vec![0.0; count + 1];
        let mut spread = Self {
            measure,
            value: room(),
            total: 0.0,
            weight: 0.0,
            sample_squares: 0.0,
            size: 0.0,
            squares: room(),
            products: room(),
            block_squares: 0.0,
            blocks: 0.0,
        };
        let Some(lane) = side.lane else { return spread };
        let times = &lane.samples.time_ns;
        if !lane.timed {
            spread.add_block(side, lane, row_of, 0..times.len(), side.whole_ns());
            return spread;
        }
        let (mut first, mut start_ns) = (0, 0);
        for end_ns in side.block_ends() {
            let end = times.partition_point(|time| *time < end_ns).max(first);
            spread.add_block(side, lane, row_of, first..end, end_ns - start_ns);
            (first, start_ns) = (end, end_ns);
        }
        spread
    }

    fn add_block(
        &mut self,
        side: &Side<'_>,
        lane: &Lane,
        row_of: &[FunctionId],
        rows: std::ops::Range<usize>,
        length_ns: u64,
    ) {
        let mut own = vec![0.0; self.value.len()];
        let factor = side.scale().map_or(1.0, |scale| scale.factor);
        let mut weight = 0.0;
        for row in rows {
            let Some(function) = side.function(lane, row) else { continue };
            let its = lane.samples.weight[row] as f64 * factor;
            if let Some(function) = function.some() {
                own[row_of[function.index()].index()] += its;
            }
            weight += its;
            self.sample_squares += its * its / lane.samples_in_row(row).max(1) as f64;
        }
        if let Some(all) = own.last_mut() {
            *all = weight;
        }
        let whole = match self.measure {
            Measure::Rate => length_ns as f64,
            Measure::Share => weight,
        };
        for (row, own) in own.into_iter().enumerate().filter(|(_, own)| *own != 0.0) {
            self.value[row] += own;
            self.squares[row] += own * own;
            self.products[row] += own * whole;
        }
        self.weight += weight;
        self.size = if self.weight > 0.0 { self.sample_squares / self.weight } else { 0.0 };
        self.total += whole;
        self.block_squares += whole * whole;
        self.blocks += 1.0;
    }

    /// The rate or the share of a function; of all together in the last row.
    pub(super) fn of(&self, row: usize) -> f64 {
        if self.total > 0.0 { self.value[row] / self.total } else { 0.0 }
    }

    /// A side without a sample would have sampled as the other one: it proves no more than that.
    pub(super) fn sized_as(mut self, other: &Self) -> Self {
        if self.size == 0.0 {
            self.size = other.size;
        }
        self
    }

    /// The variance of a value by the blocks' distances from it. It is no smaller than chance makes it that lets each
    /// sample fall here or elsewhere as in both together, and no smaller than a sample.
    fn variance(&self, row: usize, of_both: &OfBoth) -> f64 {
        if self.blocks < 2.0 || self.total == 0.0 {
            return f64::INFINITY;
        }
        let part = self.of(row);
        let sum =
            self.squares[row] - 2.0 * part * self.products[row] + part * part * self.block_squares;
        let by_blocks =
            self.blocks / (self.blocks - 1.0) * sum.max(0.0) / (self.total * self.total);
        let of_one = self.size / self.total;
        by_blocks.max(of_both.value * of_both.elsewhere * of_one).max(of_one * of_one)
    }
}

/// One function in both recordings together.
struct OfBoth {
    value: f64,
    /// The part of all weight that is elsewhere.
    elsewhere: f64,
}

/// What the change of one function is worth.
pub(super) fn verdict(before: &Spread, now: &Spread, row: usize) -> Verdict {
    let (was, is) = (before.of(row), now.of(row));
    let all = before.value[row] + now.value[row];
    let of_both = OfBoth {
        value: all / (before.total + now.total).max(1.0),
        elsewhere: 1.0 - all / (before.weight + now.weight).max(1.0),
    };
    let error = (before.variance(row, &of_both) + now.variance(row, &of_both)).sqrt();
    match (is - was).abs() > CERTAIN * error {
        false => Verdict::Noise,
        true if was == 0.0 => Verdict::New,
        true if is == 0.0 => Verdict::Gone,
        true if is > was => Verdict::More,
        true => Verdict::Less,
    }
}
