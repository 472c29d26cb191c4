//! The selected samples, summed by thread and stack: what every tree and list starts from.

use std::hash::Hash;

use profile::{LaneId, Profile, RowId, Samples, StackId, ThreadId};
use rustc_hash::FxHashMap;

use crate::selection::Selection;

/// The samples of one thread that ended in one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The thread.
    pub thread: ThreadId,
    /// The stack; none for samples without one.
    pub stack: StackId,
    /// The sum of their weights.
    pub weight: u64,
    /// Their number.
    pub samples: u64,
}

/// The selected weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// The lane that was weighed.
    pub lane: Option<LaneId>,
    /// One entry a thread and stack, in the order in which they first appear.
    pub entries: Vec<Entry>,
    /// The sum of all weights: what shares are of.
    pub total: u64,
    /// The number of samples.
    pub samples: u64,
}

/// Sums the selected samples.
pub fn weigh(profile: &Profile, selection: &Selection) -> Weights {
    let mut weights =
        Weights { lane: selection.lane_in(profile), entries: Vec::new(), total: 0, samples: 0 };
    let Some(lane) = weights.lane.map(|id| profile.lane(id)) else { return weights };
    let samples = &lane.samples;
    let mut index = StackIndex::new(profile.stacks().len());
    for row in selected_rows(profile, selection) {
        let (thread, stack) = (samples.thread[row], selection.stack(profile, samples.stack[row]));
        let entries = &mut weights.entries;
        let at = index.row(stack, thread, entries.len(), |at| entries[at].thread);
        if at == entries.len() {
            entries.push(Entry { thread, stack, weight: 0, samples: 0 });
        }
        let entry = &mut entries[at];
        let (weight, count) = (samples.weight[row], lane.samples_in_row(row));
        entry.weight = entry.weight.saturating_add(weight);
        entry.samples = entry.samples.saturating_add(count);
        weights.total = weights.total.saturating_add(weight);
        weights.samples = weights.samples.saturating_add(count);
    }
    weights
}

/// The same selection without samples of waiting, where there are others, and its weight: shares are of the time in
/// which something ran, as by perf.
pub fn weigh_busy(profile: &Profile, selection: &Selection) -> (Selection, Weights) {
    let busy = Selection { busy_only: true, ..selection.clone() };
    let weights = weigh(profile, &busy);
    if weights.samples > 0 {
        (busy, weights)
    } else {
        (selection.clone(), weigh(profile, selection))
    }
}

/// The rows of the lane that are selected, in the order of time.
pub fn selected_rows(profile: &Profile, selection: &Selection) -> impl Iterator<Item = usize> {
    let threads = selection.selected_threads(profile);
    let stacks = selection.selected_stacks(profile);
    let without_stack = selection.takes_samples_without_stack(profile);
    let samples = selection.lane_in(profile).map(|id| &profile.lane(id).samples);
    let is_selected = move |samples: &Samples, row: usize| {
        let by_stack = match (samples.stack[row].some(), &stacks) {
            (Some(stack), Some(selected)) => selected[selection.stack(profile, stack).index()],
            (Some(_), None) => true,
            (None, _) => without_stack,
        };
        by_stack && threads[samples.thread[row].index()]
    };
    let rows = samples.map_or(0..0, |samples| rows_in_range(&samples.time_ns, selection));
    rows.filter(move |row| samples.is_some_and(|samples| is_selected(samples, *row)))
}

/// Finds the row of a stack and a key, such as its thread. Few stacks have more than one key, so the first row of a
/// stack is found by the stack alone.
pub(crate) struct StackIndex<Key> {
    first: Vec<RowId>,
    others: FxHashMap<(StackId, Key), RowId>,
}

impl<Key: Copy + Eq + Hash> StackIndex<Key> {
    pub(crate) fn new(stacks: usize) -> Self {
        Self { first: vec![RowId::NONE; stacks], others: FxHashMap::default() }
    }

    /// The row's number: `rows` for a new one, which the caller appends to those that it has.
    pub(crate) fn row(
        &mut self,
        stack: StackId,
        key: Key,
        rows: usize,
        key_of: impl Fn(usize) -> Key,
    ) -> usize {
        let new = RowId::from_index(rows);
        let row = match self.first.get_mut(stack.index()) {
            Some(first) if *first == RowId::NONE => {
                *first = new;
                new
            }
            Some(first) if key_of(first.index()) == key => *first,
            _ => *self.others.entry((stack, key)).or_insert(new),
        };
        row.index()
    }
}

/// The part of a total, from 0 to 1.
pub fn share(weight: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { weight as f64 / total as f64 }
}

/// Samples are sorted by time, so a range of times is a range of rows.
fn rows_in_range(times: &[u64], selection: &Selection) -> std::ops::Range<usize> {
    match &selection.range_ns {
        None => 0..times.len(),
        Some(range) => {
            let start = times.partition_point(|time| *time < range.start);
            start..times.partition_point(|time| *time < range.end).max(start)
        }
    }
}
