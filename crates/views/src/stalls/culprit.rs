//! Which function caused a stretch of time on a thread. Engine, libraries and kernel work for the function of the
//! application that called them; where a stack has none, for the function of the package.

use profile::{Category, FunctionId, Lane, Profile, StackId, ThreadId, WAITS_LANE};
use rustc_hash::FxHashMap;

use super::wait::wait_of;
use super::{Spent, Stall, StallKind};
use crate::{Selection, share};

/// The function that caused most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Culprit {
    /// The function.
    pub function: FunctionId,
    /// The function of the application at the root of its stacks, where that is another one.
    pub entry: FunctionId,
    /// Its part of the weight, from 0 to 1.
    pub share: f64,
    /// Its samples.
    pub samples: u64,
    /// All samples of that time.
    pub of_samples: u64,
}

/// What the samples of a stretch of time show.
pub(super) struct Shown {
    pub(super) culprit: Option<Culprit>,
    /// The part of garbage collection.
    gc_share: f64,
    /// The stack with most of the culprit's weight.
    heaviest: StackId,
}

/// Finds culprits; made once for a profile.
pub(super) struct Culprits<'a> {
    profile: &'a Profile,
    owners: Vec<Owner>,
    clock: Option<&'a Lane>,
    waits: Option<&'a Lane>,
    /// For each thread row, the first row of the same thread.
    first_rows: Vec<ThreadId>,
}

/// What the time of a stack belongs to.
#[derive(Clone, Copy)]
struct Owner {
    /// The application, a package, or neither.
    category: Option<Category>,
    function: FunctionId,
    entry: FunctionId,
}

const NO_OWNER: Owner =
    Owner { category: None, function: FunctionId::NONE, entry: FunctionId::NONE };

impl<'a> Culprits<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            owners: owners(profile),
            clock: Selection::default().lane_in(profile).map(|id| profile.lane(id)),
            waits: profile.lane_named(WAITS_LANE).map(|id| profile.lane(id)),
            first_rows: first_rows(profile),
        }
    }

    /// A stall with its kind and cause.
    pub(super) fn stall(
        &self,
        thread: ThreadId,
        start_ns: u64,
        end_ns: u64,
        spent: Option<Spent>,
    ) -> Stall {
        let ran = self.of_samples(thread, start_ns, end_ns);
        let kind = match spent.map_or(StallKind::Unknown, Spent::kind) {
            StallKind::Ran | StallKind::Unknown if ran.gc_share > 0.5 => StallKind::Collected,
            kind => kind,
        };
        let (culprit, wait) = match kind {
            StallKind::Blocked => {
                let slept = self.of_waits(thread, start_ns, end_ns);
                let wait = wait_of(self.profile, slept.heaviest);
                (slept.culprit, wait)
            }
            kind => (ran.culprit.filter(|_| kind.accuses()), None),
        };
        Stall { thread, start_ns, end_ns, kind, spent, culprit, wait }
    }

    /// What ran.
    pub(super) fn of_samples(&self, thread: ThreadId, start_ns: u64, end_ns: u64) -> Shown {
        self.shown(self.clock, thread, start_ns, end_ns)
    }

    /// What it slept in.
    fn of_waits(&self, thread: ThreadId, start_ns: u64, end_ns: u64) -> Shown {
        self.shown(self.waits, thread, start_ns, end_ns)
    }

    fn shown(&self, lane: Option<&Lane>, thread: ThreadId, start_ns: u64, end_ns: u64) -> Shown {
        let mut sums = Sums::default();
        if let Some(lane) = lane {
            let samples = &lane.samples;
            let first = samples.time_ns.partition_point(|time| *time < start_ns);
            let behind = samples.time_ns.partition_point(|time| *time < end_ns).max(first);
            let thread = self.first_rows[thread.index()];
            let rows = (first..behind)
                .filter(|row| self.first_rows[samples.thread[*row].index()] == thread);
            rows.for_each(|row| self.add(&mut sums, lane, row));
        }
        sums.shown()
    }

    fn add(&self, sums: &mut Sums, lane: &Lane, row: usize) {
        let (stack, weight) = (lane.samples.stack[row], lane.samples.weight[row]);
        let one = Sum { weight, samples: lane.samples_in_row(row) };
        let category = stack.some().map(|stack| self.profile.stacks().category[stack.index()]);
        if category == Some(Category::Idle) {
            return;
        }
        sums.all.add(one);
        if category == Some(Category::Gc) {
            sums.gc.add(one);
        }
        sums.by_stack.entry(stack).or_default().add(one);
        let owner = stack.some().map_or(NO_OWNER, |stack| self.owners[stack.index()]);
        if let Some(function) = owner.function.some() {
            sums.by_function.entry(function).or_default().add(one);
            sums.by_entry.entry((function, owner.entry)).or_default().add(one);
        }
    }
}

/// Weight and number of samples.
#[derive(Clone, Copy, Default)]
struct Sum {
    weight: u64,
    samples: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.weight = self.weight.saturating_add(other.weight);
        self.samples = self.samples.saturating_add(other.samples);
    }
}

#[derive(Default)]
struct Sums {
    all: Sum,
    gc: Sum,
    by_stack: FxHashMap<StackId, Sum>,
    by_function: FxHashMap<FunctionId, Sum>,
    by_entry: FxHashMap<(FunctionId, FunctionId), Sum>,
}

impl Sums {
    fn shown(&self) -> Shown {
        let culprit = most(&self.by_function).map(|(function, sum)| {
            let its_entries = self.by_entry.iter().filter(|((its, _), _)| *its == function);
            let entries: FxHashMap<FunctionId, Sum> =
                its_entries.map(|((_, entry), sum)| (*entry, *sum)).collect();
            let entry = most(&entries).map_or(FunctionId::NONE, |(entry, _)| entry);
            Culprit {
                function,
                entry: if entry == function { FunctionId::NONE } else { entry },
                share: share(sum.weight, self.all.weight),
                samples: sum.samples,
                of_samples: self.all.samples,
            }
        });
        let heaviest = most(&self.by_stack).map_or(StackId::NONE, |(stack, _)| stack);
        Shown { culprit, gc_share: share(self.gc.weight, self.all.weight), heaviest }
    }
}

/// The key with most weight; of equal ones that which was seen first in the recording.
fn most<K: Copy + Ord>(sums: &FxHashMap<K, Sum>) -> Option<(K, Sum)> {
    sums.iter()
        .max_by_key(|(key, sum)| (sum.weight, std::cmp::Reverse(**key)))
        .map(|(key, sum)| (*key, *sum))
}

/// For each stack, the nearest function of the application, or else of a package. Parents come first.
fn owners(profile: &Profile) -> Vec<Owner> {
    let stacks = profile.stacks();
    let mut owners: Vec<Owner> = Vec::with_capacity(stacks.len());
    for id in stacks.ids() {
        let row = stacks.row(id);
        let caller = row.parent.some().map_or(NO_OWNER, |parent| owners[parent.index()]);
        let function = profile.frames().function[row.frame.index()];
        let new = Owner { category: Some(row.category), function, entry: function };
        owners.push(match (row.category, caller.category) {
            (category, Some(its)) if category == its => Owner { function, ..caller },
            (Category::App, _) | (Category::Dependency, None) => new,
            _ => caller,
        });
    }
    owners
}

fn first_rows(profile: &Profile) -> Vec<ThreadId> {
    let mut known: FxHashMap<(profile::ProcessId, u32), ThreadId> = FxHashMap::default();
    let first = |(row, thread): (usize, &profile::Thread)| {
        let row = ThreadId::from_index(row);
        thread.tid.map_or(row, |tid| *known.entry((thread.process, tid)).or_insert(row))
    };
    profile.threads().iter().enumerate().map(first).collect()
}
