//! Top lists: what took the time, by function, file, package, category, line, thread or process. `self` is
//! the weight of samples that ended there, `total` of samples that have it anywhere on the stack, once each.

use profile::{
    Category, FunctionId, ModuleId, ProcessId, Profile, SourceId, StackId, StringId, ThreadId,
};
use rustc_hash::FxHashMap;

use crate::packages::Versions;
use crate::recursion::{NO_KIND, outermost};
use crate::selection::Selection;
use crate::weights::Weights;

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
    /// A package, and its version.
    Package(StringId, StringId),
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

impl TopRow {
    fn add_self(&mut self, sum: Sum) {
        self.self_weight = self.self_weight.saturating_add(sum.weight);
        self.self_samples = self.self_samples.saturating_add(sum.samples);
    }

    fn add_total(&mut self, sum: Sum) {
        self.total_weight = self.total_weight.saturating_add(sum.weight);
        self.total_samples = self.total_samples.saturating_add(sum.samples);
    }
}

/// The list of the selected samples, most self weight first.
pub fn top(profile: &Profile, weights: &Weights, selection: &Selection, by: TopBy) -> Vec<TopRow> {
    let versions = Versions::new(profile);
    let mut sums = match by {
        TopBy::Thread | TopBy::Process => Sums::of_threads(profile, weights, by),
        _ => Sums::of_stacks(profile, weights, selection, |id| {
            Some((key_of(profile, &versions, id, by)?, category_of(profile, id, by)))
        }),
    };
    if by == TopBy::Line && sums.rows.is_empty() {
        sums.add_line_ticks(profile, weights, |_| true);
    }
    sums.into_rows()
}

/// The lines of one function, most self weight first.
pub fn lines_of(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    function: FunctionId,
) -> Vec<TopRow> {
    let is_its = |id: StackId| {
        profile.frames().function[profile.stacks().frame[id.index()].index()] == function
    };
    let versions = Versions::new(profile);
    let mut sums = Sums::of_stacks(profile, weights, selection, |id| {
        let key = key_of(profile, &versions, id, TopBy::Line).filter(|_| is_its(id))?;
        Some((key, category_of(profile, id, TopBy::Function)))
    });
    if sums.rows.is_empty() {
        sums.add_line_ticks(profile, weights, is_its);
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
fn key_of(profile: &Profile, versions: &Versions, stack: StackId, by: TopBy) -> Option<TopKey> {
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
        TopBy::Package => function
            .package
            .some()
            .map(|name| TopKey::Package(name, versions.of(name, function.version))),
        TopBy::Category => Some(TopKey::Category(stack.category)),
        TopBy::Line => {
            function.source.some().filter(|_| frame.line > 0).map(|id| TopKey::Line(id, frame.line))
        }
        TopBy::Thread | TopBy::Process => None,
    }
}

/// A weight, and the samples that it comes from.
#[derive(Clone, Copy, Default)]
struct Sum {
    weight: u64,
    samples: u64,
    /// Whether there is a sample at all: its weight may be 0.
    is_seen: bool,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.weight = self.weight.saturating_add(other.weight);
        self.samples = self.samples.saturating_add(other.samples);
        self.is_seen |= other.is_seen;
    }
}

/// What ended in each stack, and what has it as a caller or is it.
fn sums_of_stacks(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
) -> (Vec<Sum>, Vec<Sum>) {
    let stacks = profile.stacks();
    let mut ended = vec![Sum::default(); stacks.len()];
    for entry in &weights.entries {
        if let Some(sum) = ended.get_mut(entry.stack.index()) {
            sum.add(Sum { weight: entry.weight, samples: entry.samples, is_seen: true });
        }
    }
    let mut whole = ended.clone();
    for id in stacks.ids().rev() {
        let Some(parent) = stacks.parent[id.index()].some() else { continue };
        let sum = whole[id.index()];
        whole[parent.index()].add(sum);
        // What is hidden gives its own to its caller.
        if selection.hides(profile, id) {
            let sum = std::mem::take(&mut ended[id.index()]);
            ended[parent.index()].add(sum);
        }
    }
    (ended, whole)
}

#[derive(Default)]
struct Sums {
    rows: Vec<TopRow>,
    index: FxHashMap<TopKey, u32>,
}

impl Sums {
    fn of_threads(profile: &Profile, weights: &Weights, by: TopBy) -> Self {
        let mut sums = Self::default();
        for entry in &weights.entries {
            let key = match by {
                TopBy::Process => TopKey::Process(profile.thread(entry.thread).process),
                _ => TopKey::Thread(entry.thread),
            };
            sums.add_whole(
                key,
                Sum { weight: entry.weight, samples: entry.samples, is_seen: true },
            );
        }
        sums
    }

    /// `key` gives what the topmost frame of a stack counts for.
    fn of_stacks(
        profile: &Profile,
        weights: &Weights,
        selection: &Selection,
        key: impl Fn(StackId) -> Option<(TopKey, Category)>,
    ) -> Self {
        let stacks = profile.stacks();
        let (ended, whole) = sums_of_stacks(profile, weights, selection);
        let mut sums = Self::default();
        let is_shown = |id: StackId| whole[id.index()].is_seen && !selection.hides(profile, id);
        let mut rows = vec![NO_KIND; stacks.len()];
        for id in stacks.ids().filter(|id| is_shown(*id)) {
            if let Some((key, category)) = key(id) {
                let row = sums.row(key, category);
                rows[id.index()] = row;
                sums.rows[row as usize].add_self(ended[id.index()]);
            }
        }
        let Self { rows: list, .. } = &mut sums;
        outermost(stacks, &rows, list.len(), |id, row| {
            list[row as usize].add_total(whole[id.index()]);
        });
        sums
    }

    fn row(&mut self, key: TopKey, category: Category) -> u32 {
        *self.index.entry(key).or_insert_with(|| {
            let (self_weight, total_weight, self_samples, total_samples) = (0, 0, 0, 0);
            self.rows.push(TopRow {
                key,
                category,
                self_weight,
                total_weight,
                self_samples,
                total_samples,
            });
            u32::try_from(self.rows.len() - 1).unwrap_or(NO_KIND - 1)
        })
    }

    fn add_whole(&mut self, key: TopKey, sum: Sum) {
        let row = self.row(key, Category::Unknown);
        self.rows[row as usize].add_self(sum);
        self.rows[row as usize].add_total(sum);
    }

    /// Ticks have no time and no thread: they share out the weight of their stack.
    fn add_line_ticks(
        &mut self,
        profile: &Profile,
        weights: &Weights,
        is_wanted: impl Fn(StackId) -> bool,
    ) {
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
        for tick in ticks.ids().map(|id| ticks.row(id)).filter(|tick| is_wanted(tick.stack)) {
            let (weight, samples) = sums.get(&tick.stack).copied().unwrap_or_default();
            let all = all_ticks.get(&tick.stack).copied().unwrap_or(0).max(1);
            let part =
                |sum: u64| (u128::from(sum) * u128::from(tick.ticks) / u128::from(all)) as u64;
            let source = profile.function_of(profile.stacks().frame[tick.stack.index()]).source;
            if let Some(source) = source.some().filter(|_| weight > 0) {
                let sum = Sum { weight: part(weight), samples: part(samples), is_seen: true };
                self.add_whole(TopKey::Line(source, tick.line), sum);
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
