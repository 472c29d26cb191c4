//! Which function caused a stretch of time on a thread. Engine, libraries and kernel work for the function of the
//! application that called them; where a stack has none, for the function of the package. The culprit is the last
//! function of the path that nearly all of the time went through: what it calls took turns.

use profile::{Category, FunctionId, Lane, Profile, Role, StackId, ThreadId, WAITS_LANE};
use rustc_hash::{FxHashMap, FxHashSet};

use super::wait::{idle_stacks, wait_of};
use super::{Spent, Stall, StallKind};
use crate::entries::EntryKind;
use crate::host::ready_between;
use crate::work::{Doings, Work};
use crate::{Selection, share};

/// A path goes on to the next function while that has this part of the time: more than a half, so that there is one way
/// to go, and by so much that the noise of the thirty samples that make a share does not choose it.
const GOES_ON: f64 = 0.6;
/// A kind of work is what a stall did from this part of its time on.
const MOSTLY: f64 = 0.5;
/// A loop that did something else for more than this part of a stall did not only wait: it allocates a little before a
/// collection, and what it did for a third of the time would be hidden behind the collector.
const LITTLE: f64 = 0.3;

/// The function that caused most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Culprit {
    /// The function.
    pub function: FunctionId,
    /// The function of the application at the root of its stacks, across await, where that is another one.
    pub entry: FunctionId,
    /// What called that.
    pub asked_by: EntryKind,
    /// The stack of it that has most of its weight.
    pub stack: StackId,
    /// Its part of the weight, with what it called, from 0 to 1.
    pub share: f64,
    /// Its samples.
    pub samples: u64,
    /// All samples of that time.
    pub of_samples: u64,
}

/// What the samples of a stretch of time show.
pub(super) struct Shown {
    pub(super) culprit: Option<Culprit>,
    /// What most of it did, the samples that show that, and all.
    work: Work,
    work_samples: (u64, u64),
    /// The part of garbage collection, its weight and that of everything.
    gc_share: f64,
    gc_weight: u64,
    weight: u64,
    /// The stack with most weight.
    heaviest: StackId,
}

/// Finds culprits; made once for a profile.
pub(crate) struct Culprits<'a> {
    profile: &'a Profile,
    doings: &'a Doings,
    is_logical: bool,
    clock: Option<&'a Lane>,
    waits: Option<&'a Lane>,
    /// For each thread row, the first row of the same thread.
    first_rows: Vec<ThreadId>,
    /// For each stack, whether it is one that waits for work; empty where none is.
    idle_stacks: Vec<bool>,
    /// The first rows of threads that were seen there.
    waiting_in_turns: FxHashSet<ThreadId>,
}

impl<'a> Culprits<'a> {
    pub(crate) fn new(profile: &'a Profile, doings: &'a Doings, is_logical: bool) -> Self {
        let new = Self {
            profile,
            doings,
            is_logical,
            clock: Selection::default().lane_in(profile).map(|id| profile.lane(id)),
            waits: profile.lane_named(WAITS_LANE).map(|id| profile.lane(id)),
            first_rows: first_rows(profile),
            idle_stacks: idle_stacks(profile),
            waiting_in_turns: FxHashSet::default(),
        };
        Self { waiting_in_turns: new.seen_idle(), ..new }
    }

    /// Whether a loop waits for work in its turns, too.
    pub(super) fn waits_in_turns(&self, thread: ThreadId) -> bool {
        self.waiting_in_turns.contains(&self.first_rows[thread.index()])
    }

    fn seen_idle(&self) -> FxHashSet<ThreadId> {
        let mut seen = FxHashSet::default();
        let lanes = [self.clock, self.waits].into_iter().flatten();
        for lane in lanes.filter(|_| !self.idle_stacks.is_empty()) {
            let rows = lane.samples.stack.iter().zip(&lane.samples.thread);
            let idle = rows.filter(|(stack, _)| self.is_idle(**stack));
            seen.extend(idle.map(|(_, thread)| self.first_rows[thread.index()]));
        }
        seen
    }

    fn is_idle(&self, stack: StackId) -> bool {
        stack
            .some()
            .and_then(|stack| self.idle_stacks.get(stack.index()))
            .is_some_and(|is_idle| *is_idle)
    }

    /// A stall with its kind and cause; none where the loop waited for work.
    pub(super) fn stall(
        &self,
        thread: ThreadId,
        start_ns: u64,
        end_ns: u64,
        spent: Option<Spent>,
    ) -> Option<Stall> {
        let ran = self.of_samples(thread, start_ns, end_ns);
        let kind = match spent.map_or(StallKind::Unknown, Spent::kind) {
            StallKind::Ran | StallKind::Unknown if ran.gc_share > MOSTLY => StallKind::Collected,
            StallKind::Starved if self.waits_for_collectors(&ran, thread, start_ns, end_ns) => {
                StallKind::Collected
            }
            kind => kind,
        };
        let work_samples = ran.work_samples;
        let (kind, culprit, wait, work) = match kind {
            StallKind::Blocked => self.blocked(thread, start_ns, end_ns, &ran)?,
            StallKind::Collected => (kind, ran.culprit, None, Work::Gc),
            kind if kind.accuses() => (kind, ran.culprit, None, ran.work),
            kind => (kind, None, None, Work::Own),
        };
        Some(Stall { thread, start_ns, end_ns, kind, spent, culprit, wait, work, work_samples })
    }

    /// What it slept in; none where that was to wait for work. A loop that waits for the helper threads of the garbage
    /// collector is in a collection, and what ran before shows what allocated.
    fn blocked(
        &self,
        thread: ThreadId,
        start_ns: u64,
        end_ns: u64,
        ran: &Shown,
    ) -> Option<(StallKind, Option<Culprit>, Option<super::Wait>, Work)> {
        let slept = self.of_waits(thread, start_ns, end_ns);
        // A short wait has no stack: on such a loop it is most likely that.
        let is_unseen = slept.heaviest.some().is_none();
        if self.is_idle(slept.heaviest) || is_unseen && self.waits_in_turns(thread) {
            return None;
        }
        let slept_in = self.doings.of(slept.heaviest).work;
        // V8's helper threads collect and compile, and the loop waits for them. Where these waited for a CPU themselves and
        // hardly ran, it waited for that.
        if matches!(slept_in, Work::Gc | Work::Compiling)
            && self.threads_waited(thread, start_ns, end_ns)
            && !self.collectors_ran(ran, thread, start_ns, end_ns)
        {
            return Some((StallKind::Starved, None, None, Work::Own));
        }
        if slept_in == Work::Gc {
            return Some((StallKind::Collected, slept.culprit.or(ran.culprit), None, Work::Gc));
        }
        let wait = wait_of(self.profile, slept.heaviest);
        if wait.is_none() && self.waits_for_collectors(ran, thread, start_ns, end_ns) {
            return Some((StallKind::Collected, ran.culprit, None, Work::Gc));
        }
        let work = if slept.work.blocks() { slept.work } else { Work::Own };
        Some((StallKind::Blocked, slept.culprit, wait, work))
    }

    /// Whether threads of the process waited for a CPU at that time.
    fn threads_waited(&self, thread: ThreadId, start_ns: u64, end_ns: u64) -> bool {
        let process = self.profile.thread(thread).process;
        let waited_ns = ready_between(self.profile, process, start_ns, end_ns);
        share(waited_ns, end_ns.saturating_sub(start_ns)) > MOSTLY
    }

    /// Whether V8's helper threads collected garbage for most of a stretch in which the loop itself did nothing else.
    /// Where there are fewer CPUs than helper threads, they take the CPU that the loop waits for.
    fn waits_for_collectors(
        &self,
        ran: &Shown,
        thread: ThreadId,
        start_ns: u64,
        end_ns: u64,
    ) -> bool {
        let length_ns = end_ns.saturating_sub(start_ns);
        let other_ns = ran.weight.saturating_sub(ran.gc_weight);
        share(other_ns, length_ns) <= LITTLE && self.collectors_ran(ran, thread, start_ns, end_ns)
    }

    /// Whether they ran for most of it, with the loop's own collecting.
    fn collectors_ran(&self, ran: &Shown, thread: ThreadId, start_ns: u64, end_ns: u64) -> bool {
        let length_ns = end_ns.saturating_sub(start_ns);
        let process = self.profile.thread(thread).process;
        let is_helper = |thread: ThreadId| {
            let row = self.profile.thread(thread);
            row.process == process && row.role == Role::V8Platform
        };
        let mut collected_ns = ran.gc_weight;
        if let Some(lane) = self.clock {
            for row in rows_between(lane, start_ns, end_ns) {
                let (thread, stack) = (lane.samples.thread[row], lane.samples.stack[row]);
                if is_helper(thread) && self.category(stack) == Some(Category::Gc) {
                    collected_ns = collected_ns.saturating_add(lane.samples.weight[row]);
                }
            }
        }
        share(collected_ns, length_ns) > MOSTLY
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
        let mut by_stack: FxHashMap<StackId, Sum> = FxHashMap::default();
        if let Some(lane) = lane {
            let samples = &lane.samples;
            let thread = self.first_rows[thread.index()];
            for row in rows_between(lane, start_ns, end_ns) {
                if self.first_rows[samples.thread[row].index()] == thread {
                    let sum = by_stack.entry(self.stack(samples.stack[row])).or_default();
                    sum.add(Sum { weight: samples.weight[row], samples: lane.samples_in_row(row) });
                }
            }
        }
        by_stack.retain(|stack, _| self.category(*stack) != Some(Category::Idle));
        self.of_stacks(&by_stack)
    }

    fn stack(&self, stack: StackId) -> StackId {
        if self.is_logical { self.profile.logical(stack) } else { stack }
    }

    fn category(&self, stack: StackId) -> Option<Category> {
        stack.some().map(|stack| self.profile.stacks().category[stack.index()])
    }

    fn of_stacks(&self, by_stack: &FxHashMap<StackId, Sum>) -> Shown {
        let mut all = Sum::default();
        let mut by_work: FxHashMap<Work, Sum> = FxHashMap::default();
        for (stack, sum) in by_stack {
            all.add(*sum);
            by_work.entry(self.doings.of(*stack).work).or_default().add(*sum);
        }
        let part = |work: Work| share(by_work.get(&work).map_or(0, |sum| sum.weight), all.weight);
        let (work, of_work) = most(&by_work).unwrap_or_default();
        Shown {
            culprit: self.culprit(by_stack, all),
            work: if part(work) > MOSTLY && work != Work::Gc { work } else { Work::Own },
            work_samples: (of_work.samples, all.samples),
            gc_share: part(Work::Gc),
            gc_weight: by_work.get(&Work::Gc).map_or(0, |sum| sum.weight),
            weight: all.weight,
            heaviest: most(by_stack).map_or(StackId::NONE, |(stack, _)| stack),
        }
    }

    /// Follows the path that nearly all of the time went through.
    fn culprit(&self, by_stack: &FxHashMap<StackId, Sum>, all: Sum) -> Option<Culprit> {
        let mut paths: Vec<(Vec<FunctionId>, StackId, Sum)> = by_stack
            .iter()
            .map(|(stack, sum)| (path_of(self.profile, self.doings, *stack), *stack, *sum))
            .filter(|(path, ..)| !path.is_empty())
            .collect();
        let mut found: Option<(FunctionId, FunctionId, Sum)> = None;
        for depth in 0.. {
            let mut by_function: FxHashMap<FunctionId, Sum> = FxHashMap::default();
            for (path, _, sum) in &paths {
                if let Some(function) = path.get(depth) {
                    by_function.entry(*function).or_default().add(*sum);
                }
            }
            let Some((function, sum)) = most(&by_function) else { break };
            let goes_on = share(sum.weight, all.weight) >= GOES_ON;
            // Where nothing has nearly all, the function that has most is better than none.
            if found.is_some() && !goes_on {
                break;
            }
            let entry = found.map_or(function, |(entry, ..)| entry);
            found = Some((entry, function, sum));
            paths.retain(|(path, ..)| path.get(depth) == Some(&function));
            if !goes_on {
                break;
            }
        }
        let (entry, function, sum) = found?;
        let heaviest =
            paths.iter().max_by_key(|(_, stack, sum)| (sum.weight, std::cmp::Reverse(*stack)));
        let stack = heaviest.map_or(StackId::NONE, |(_, stack, _)| *stack);
        Some(Culprit {
            function,
            entry: if entry == function { FunctionId::NONE } else { entry },
            asked_by: self.doings.entries(self.profile).of(stack).kind,
            stack,
            share: share(sum.weight, all.weight),
            samples: sum.samples,
            of_samples: all.samples,
        })
    }
}

/// The functions of the application on a stack, its root first, each once; where there are none, those of packages.
pub(crate) fn path_of(profile: &Profile, doings: &Doings, stack: StackId) -> Vec<FunctionId> {
    let wanted = if doings.of(stack).is_app { Category::App } else { Category::Dependency };
    let stack = doings.of(stack).owner.some();
    let rows = stack.into_iter().flat_map(|stack| profile.ancestry(stack));
    let rows = rows.map(|id| profile.stacks().row(id)).filter(|row| row.category == wanted);
    let mut path: Vec<FunctionId> =
        rows.map(|row| profile.frames().function[row.frame.index()]).collect();
    path.reverse();
    let mut seen = FxHashSet::default();
    path.retain(|function| seen.insert(*function));
    path
}

/// The samples of a stretch of time.
fn rows_between(lane: &Lane, start_ns: u64, end_ns: u64) -> std::ops::Range<usize> {
    let behind = |limit_ns: u64| lane.samples.time_ns.partition_point(|time| *time < limit_ns);
    behind(start_ns)..behind(end_ns.max(start_ns))
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

/// The key with most weight; of equal ones that which was seen first in the recording.
fn most<K: Copy + Ord>(sums: &FxHashMap<K, Sum>) -> Option<(K, Sum)> {
    sums.iter()
        .max_by_key(|(key, sum)| (sum.weight, std::cmp::Reverse(**key)))
        .map(|(key, sum)| (*key, *sum))
}

fn first_rows(profile: &Profile) -> Vec<ThreadId> {
    let mut known: FxHashMap<(profile::ProcessId, u32), ThreadId> = FxHashMap::default();
    let first = |(row, thread): (usize, &profile::Thread)| {
        let row = ThreadId::from_index(row);
        thread.tid.map_or(row, |tid| *known.entry((thread.process, tid)).or_insert(row))
    };
    profile.threads().iter().enumerate().map(first).collect()
}
