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
    let keys: Vec<Option<TopKey>> = profile.stacks().ids().map(|id| key_of(profile, id, by)).collect();
    let mut sums = Sums::default();
    for (stamp, entry) in weights.entries.iter().enumerate() {
        match by {
            TopBy::Thread => sums.add_whole(TopKey::Thread(entry.thread), entry),
            TopBy::Process => sums.add_whole(TopKey::Process(profile.thread(entry.thread).process), entry),
            _ => {
                let visible = profile.ancestry(entry.stack).filter(|stack| !selection.hides(profile, *stack));
                for (depth, stack) in visible.enumerate() {
                    if let Some(key) = keys[stack.index()] {
                        let category = category_of(profile, stack, by);
                        sums.add(key, category, entry, stamp, depth == 0);
                    }
                }
            }
        }
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

#[derive(Default)]
struct Sums {
    rows: Vec<TopRow>,
    /// The entry that each row was last counted for, so that recursion counts once.
    stamps: Vec<usize>,
    index: FxHashMap<TopKey, usize>,
}

impl Sums {
    fn row(&mut self, key: TopKey, category: Category) -> usize {
        *self.index.entry(key).or_insert_with(|| {
            let (self_weight, total_weight, self_samples, total_samples) = (0, 0, 0, 0);
            self.rows.push(TopRow { key, category, self_weight, total_weight, self_samples, total_samples });
            self.stamps.push(usize::MAX);
            self.rows.len() - 1
        })
    }

    fn add(&mut self, key: TopKey, category: Category, entry: &Entry, stamp: usize, ran: bool) {
        let index = self.row(key, category);
        let row = &mut self.rows[index];
        if ran {
            row.self_weight = row.self_weight.saturating_add(entry.weight);
            row.self_samples = row.self_samples.saturating_add(entry.samples);
        }
        if self.stamps[index] != stamp {
            self.stamps[index] = stamp;
            row.total_weight = row.total_weight.saturating_add(entry.weight);
            row.total_samples = row.total_samples.saturating_add(entry.samples);
        }
    }

    fn add_whole(&mut self, key: TopKey, entry: &Entry) {
        self.add(key, Category::Unknown, entry, usize::MAX - 1, true);
        let index = self.row(key, Category::Unknown);
        self.stamps[index] = usize::MAX;
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
