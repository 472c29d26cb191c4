//! Top lists: what took the time, by function, file, package, category, line, thread or process. `self` is
//! the weight of samples that ended there, `total` of samples that have it anywhere on the stack, once each.

use profile::{Category, FunctionId, ModuleId, ProcessId, Profile, SourceId, StackId, StringId, ThreadId};
use rustc_hash::FxHashMap;

use crate::selection::Selection;
use crate::weights::{Entry, Weights};

/// What a list's rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopBy {
    /// Functions.
    Function,
    /// Source files, or binaries for native code.
    File,
    /// npm packages.
    Package,
    /// Categories.
    Category,
    /// Lines, where the recording has them.
    Line,
    /// Threads.
    Thread,
    /// Processes.
    Process,
}

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TopKey {
    /// A function.
    Function(FunctionId),
    /// A source file.
    Source(SourceId),
    /// A binary.
    Module(ModuleId),
    /// A package.
    Package(StringId),
    /// A category.
    Category(Category),
    /// A line of a source file.
    Line(SourceId, u32),
    /// A thread.
    Thread(ThreadId),
    /// A process.
    Process(ProcessId),
}

/// A row of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopRow {
    /// What it is of.
    pub key: TopKey,
    /// The category of its code, seen first.
    pub category: Category,
    /// Weight that ended there.
    pub self_weight: u64,
    /// Weight that has it on the stack.
    pub total_weight: u64,
    /// Samples that ended there.
    pub self_samples: u64,
    /// Samples that have it on the stack.
    pub total_samples: u64,
}

/// The list of the selected samples, most self weight first.
pub fn top(profile: &Profile, weights: &Weights, selection: &Selection, by: TopBy) -> Vec<TopRow> {
    let mut sums = Sums::default();
    match by {
        TopBy::Thread => {
            weights.entries.iter().for_each(|entry| sums.add_whole(TopKey::Thread(entry.thread), entry));
        }
        TopBy::Process => {
            let process = |entry: &Entry| TopKey::Process(profile.thread(entry.thread).process);
            weights.entries.iter().for_each(|entry| sums.add_whole(process(entry), entry));
        }
        _ => sums.add_stacks(profile, weights, selection, by),
    }
    if by == TopBy::Line && sums.rows.is_empty() {
        sums.add_line_ticks(profile, weights);
    }
    sums.into_rows()
}

/// A function has the category of its own code, wherever it was called from; the rest goes by the stack.
fn category_of(profile: &Profile, stack: StackId, by: TopBy) -> Category {
    match by {
        TopBy::Function => profile.frames().category[profile.stacks().frame[stack.index()].index()],
        _ => profile.stacks().category[stack.index()],
    }
}

/// What a stack's topmost frame counts for.
fn key_of(profile: &Profile, stack: StackId, by: TopBy) -> Option<TopKey> {
    let stack = profile.stacks().row(stack);
    let frame = profile.frames().row(stack.frame);
    let function = profile.functions().row(frame.function);
    match by {
        TopBy::Function => Some(TopKey::Function(frame.function)),
        TopBy::File => match (function.source.some(), function.module.some()) {
            (Some(source), _) => Some(TopKey::Source(source)),
            (None, Some(module)) => Some(TopKey::Module(module)),
            (None, None) => None,
        },
        TopBy::Package => function.package.some().map(TopKey::Package),
        TopBy::Category => Some(TopKey::Category(stack.category)),
        TopBy::Line => {
            function.source.some().filter(|_| frame.line > 0).map(|id| TopKey::Line(id, frame.line))
        }
        TopBy::Thread | TopBy::Process => None,
    }
}

/// What ended in a stack or above it.
#[derive(Clone, Copy)]
struct Share {
    weight: u64,
    samples: u64,
    /// The first entry of it.
    first: usize,
}

impl Share {
    const NOTHING: Self = Self { weight: 0, samples: 0, first: usize::MAX };

    fn add(&mut self, other: Self) {
        self.weight = self.weight.saturating_add(other.weight);
        self.samples = self.samples.saturating_add(other.samples);
        self.first = self.first.min(other.first);
    }
}

#[derive(Default)]
struct Sums {
    rows: Vec<TopRow>,
    index: FxHashMap<TopKey, usize>,
}

impl Sums {
    fn row(&mut self, key: TopKey) -> usize {
        *self.index.entry(key).or_insert_with(|| {
            let (self_weight, total_weight, self_samples, total_samples) = (0, 0, 0, 0);
            let category = Category::Unknown;
            self.rows.push(TopRow { key, category, self_weight, total_weight, self_samples, total_samples });
            self.rows.len() - 1
        })
    }

    fn add_self(&mut self, row: usize, share: Share) {
        let row = &mut self.rows[row];
        row.self_weight = row.self_weight.saturating_add(share.weight);
        row.self_samples = row.self_samples.saturating_add(share.samples);
    }

    fn add_total(&mut self, row: usize, share: Share) {
        let row = &mut self.rows[row];
        row.total_weight = row.total_weight.saturating_add(share.weight);
        row.total_samples = row.total_samples.saturating_add(share.samples);
    }

    /// Adds up the table of stacks instead of walking each entry's callers: deep recursion costs no more than
    /// its stacks.
    fn add_stacks(&mut self, profile: &Profile, weights: &Weights, selection: &Selection, by: TopBy) {
        let stacks = profile.stacks();
        let own = own_shares(profile, weights, selection);
        let mut all = own.clone();
        for id in stacks.ids().rev() {
            if let Some(parent) = stacks.parent[id.index()].some() {
                let share = all[id.index()];
                all[parent.index()].add(share);
            }
        }
        let mut seen_first: Vec<(usize, StackId)> = Vec::new();
        let mut rows: Vec<Option<usize>> = Vec::with_capacity(stacks.len());
        for id in stacks.ids() {
            let is_seen = all[id.index()].first != usize::MAX && !selection.hides(profile, id);
            let row = key_of(profile, id, by).filter(|_| is_seen).map(|key| self.row(key));
            rows.push(row);
            let Some(row) = row else { continue };
            self.add_self(row, own[id.index()]);
            seen_first.resize(self.rows.len(), (usize::MAX, id));
            // Of the callers in one entry the last: it stands next to the function that ran.
            if all[id.index()].first <= seen_first[row].0 {
                seen_first[row] = (all[id.index()].first, id);
            }
        }
        for (row, (_, stack)) in self.rows.iter_mut().zip(seen_first) {
            row.category = category_of(profile, stack, by);
        }
        outermost(profile, &rows, |row, id| self.add_total(row, all[id.index()]));
    }

    fn add_whole(&mut self, key: TopKey, entry: &Entry) {
        let row = self.row(key);
        let share = Share { weight: entry.weight, samples: entry.samples, first: 0 };
        self.add_self(row, share);
        self.add_total(row, share);
    }

    /// Ticks have no time and no thread: they share out the weight of their stack.
    fn add_line_ticks(&mut self, profile: &Profile, weights: &Weights) {
        let ticks = profile.line_ticks();
        let mut all_ticks: FxHashMap<StackId, u64> = FxHashMap::default();
        for (stack, ticks) in ticks.stack.iter().zip(&ticks.ticks) {
            *all_ticks.entry(*stack).or_default() += u64::from(*ticks);
        }
        let mut sums: FxHashMap<StackId, (u64, u64)> = FxHashMap::default();
        for entry in &weights.entries {
            let (weight, samples) = sums.entry(entry.stack).or_default();
            *weight = weight.saturating_add(entry.weight);
            *samples = samples.saturating_add(entry.samples);
        }
        for id in ticks.ids() {
            let tick = ticks.row(id);
            let (weight, samples) = sums.get(&tick.stack).copied().unwrap_or_default();
            let all = all_ticks.get(&tick.stack).copied().unwrap_or(0).max(1);
            let part = |sum: u64| (u128::from(sum) * u128::from(tick.ticks) / u128::from(all)) as u64;
            let source = profile.function_of(profile.stacks().frame[tick.stack.index()]).source;
            if let Some(source) = source.some().filter(|_| weight > 0) {
                let (weight, samples) = (part(weight), part(samples));
                let entry = Entry { thread: ThreadId(0), stack: tick.stack, weight, samples };
                self.add_whole(TopKey::Line(source, tick.line), &entry);
            }
        }
    }

    fn into_rows(mut self) -> Vec<TopRow> {
        self.rows.sort_by(|a, b| {
            let weights = |row: &TopRow| (row.self_weight, row.total_weight);
            weights(b).cmp(&weights(a)).then_with(|| a.key.cmp(&b.key))
        });
        self.rows
    }
}

/// What ended in each stack, or in hidden ones above it.
fn own_shares(profile: &Profile, weights: &Weights, selection: &Selection) -> Vec<Share> {
    let stacks = profile.stacks();
    let mut visible: Vec<StackId> = Vec::with_capacity(stacks.len());
    for id in stacks.ids() {
        let caller = stacks.parent[id.index()].some().map_or(StackId::NONE, |parent| visible[parent.index()]);
        visible.push(if selection.hides(profile, id) { caller } else { id });
    }
    let mut shares = vec![Share::NOTHING; stacks.len()];
    for (first, entry) in weights.entries.iter().enumerate() {
        let visible = entry.stack.some().and_then(|id| visible[id.index()].some());
        if let Some(id) = visible {
            shares[id.index()].add(Share { weight: entry.weight, samples: entry.samples, first });
        }
    }
    shares
}

/// Calls `take` for each row's stacks that no caller of the same row has below it: recursion counts once.
fn outermost(profile: &Profile, rows: &[Option<usize>], mut take: impl FnMut(usize, StackId)) {
    let stacks = profile.stacks();
    let mut next: Vec<StackId> = vec![StackId::NONE; stacks.len()];
    let mut callee: Vec<StackId> = vec![StackId::NONE; stacks.len()];
    let mut root = StackId::NONE;
    for id in stacks.ids().rev() {
        let first = match stacks.parent[id.index()].some() {
            Some(parent) => &mut callee[parent.index()],
            None => &mut root,
        };
        next[id.index()] = std::mem::replace(first, id);
    }
    let mut open = vec![false; rows.iter().flatten().max().map_or(0, |row| row + 1)];
    // What to enter next, and which row was opened for the stack that was left.
    let mut path: Vec<(StackId, Option<usize>)> = Vec::new();
    let mut at = root;
    loop {
        if let Some(id) = at.some() {
            let opened = rows[id.index()].filter(|row| !std::mem::replace(&mut open[*row], true));
            if let Some(row) = opened {
                take(row, id);
            }
            path.push((next[id.index()], opened));
            at = callee[id.index()];
        } else {
            let Some((next, opened)) = path.pop() else { return };
            if let Some(row) = opened {
                open[row] = false;
            }
            at = next;
        }
    }
}
