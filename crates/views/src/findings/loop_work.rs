//! What the samples of the event loops did, by loop, kind of work and the function that asked for it. What ran before a
//! loop began to serve is left out: where its turns were watched all of it, elsewhere what is well at a start.

use profile::{Category, FunctionId, Profile, Role, StackId, StringId, ThreadId, Unit};
use rustc_hash::FxHashMap;

use crate::identity;
use crate::selection::Selection;
use crate::stalls::{StallKind, Turns};
use crate::weights::{StackIndex, selected_rows};
use crate::work::{Doing, Doings, Work};

/// Weight and samples, in all and in turns that are no stall with a cause of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) weight: u64,
    pub(crate) samples: u64,
    pub(crate) short_weight: u64,
    pub(crate) short_samples: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, other: Self) {
        self.weight = self.weight.saturating_add(other.weight);
        self.samples = self.samples.saturating_add(other.samples);
        self.short_weight = self.short_weight.saturating_add(other.short_weight);
        self.short_samples = self.short_samples.saturating_add(other.short_samples);
    }
}

/// What one loop did for one function.
#[derive(Clone, Debug)]
pub(crate) struct WorkRow {
    pub(crate) thread: ThreadId,
    pub(crate) work: Work,
    /// The function of people that asked for it.
    pub(crate) function: FunctionId,
    /// Whether that is the application's.
    pub(crate) is_app: bool,
    /// The package that worked for it.
    pub(crate) package: StringId,
    /// Its first function.
    pub(crate) callee: FunctionId,
    /// The stack with most weight.
    pub(crate) stack: StackId,
    stack_weight: u64,
    /// What was called, with its weight.
    pub(crate) calls: Vec<(String, u64)>,
    pub(crate) sum: Sum,
}

/// What the loops did.
pub(crate) struct LoopWork {
    pub(crate) rows: Vec<WorkRow>,
    /// For each thread the weight of all its samples, also of those that are not selected or have no row, and of those
    /// before it served.
    sampled: Option<Vec<(u64, u64)>>,
}

type Key = (ThreadId, Work, FunctionId, StringId);

impl LoopWork {
    pub(crate) fn new(
        profile: &Profile,
        selection: &Selection,
        turns: &Turns,
        doings: &Doings,
    ) -> Self {
        let mut rows: Vec<WorkRow> = Vec::new();
        let mut index: FxHashMap<Key, usize> = FxHashMap::default();
        let sampled = sampled(profile, selection, turns);
        for ((thread, stack, may_start), sum) in sums(profile, selection, turns) {
            let doing = doings.of(stack);
            let asked_by = || doings.entries(profile).of(stack).kind;
            if may_start && doing.work.is_of_start(asked_by()) {
                continue;
            }
            let function = owner(profile, &doing);
            let key = (thread, doing.work, function, doing.package);
            let row = *index.entry(key).or_insert_with(|| {
                rows.push(new_row(thread, function, &doing));
                rows.len() - 1
            });
            rows[row].add(stack, sum, doing.call(profile));
        }
        Self { rows, sampled }
    }

    /// The time that the samples of a loop stand for, and those of it before the loop served; none where samples stand
    /// for no time.
    pub(crate) fn sampled_ns(&self, thread: ThreadId) -> Option<(u64, u64)> {
        self.sampled.as_ref()?.get(thread.index()).copied()
    }

    /// The loops that rows are of.
    pub(crate) fn threads<'a>(rows: impl Iterator<Item = &'a WorkRow>) -> Vec<ThreadId> {
        let mut threads: Vec<ThreadId> = rows.map(|row| row.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// What rows of some loops have together.
    pub(crate) fn sum<'a>(rows: impl Iterator<Item = &'a WorkRow>, threads: &[ThreadId]) -> Sum {
        let mut sum = Sum::default();
        rows.filter(|row| threads.contains(&row.thread)).for_each(|row| sum.add(row.sum));
        sum
    }
}

impl WorkRow {
    fn add(&mut self, stack: StackId, sum: Sum, call: Option<String>) {
        self.sum.add(sum);
        if (sum.weight, std::cmp::Reverse(stack))
            > (self.stack_weight, std::cmp::Reverse(self.stack))
        {
            (self.stack, self.stack_weight) = (stack, sum.weight);
        }
        let Some(call) = call else { return };
        match self.calls.iter_mut().find(|(known, _)| *known == call) {
            Some((_, weight)) => *weight = weight.saturating_add(sum.weight),
            None => self.calls.push((call, sum.weight)),
        }
    }
}

fn new_row(thread: ThreadId, function: FunctionId, doing: &Doing) -> WorkRow {
    WorkRow {
        thread,
        work: doing.work,
        function,
        is_app: doing.is_app,
        package: doing.package,
        callee: doing.callee,
        stack: StackId::NONE,
        stack_weight: 0,
        calls: Vec::new(),
        sum: Sum::default(),
    }
}

/// The function that a stack's work counts for. One without a name counts for the function of the same file that called
/// it, at once or through a builtin of the engine: the comparator of a sort explains less than what sorts.
fn owner(profile: &Profile, doing: &Doing) -> FunctionId {
    let Some(owner) = doing.owner.some() else { return FunctionId::NONE };
    let (stacks, functions) = (profile.stacks(), profile.functions());
    let function = |id: StackId| profile.frames().function[stacks.row(id).frame.index()];
    let (nearest, category) = (function(owner), stacks.row(owner).category);
    let is_builtin = |id: &StackId| {
        matches!(stacks.row(*id).category, Category::Builtin | Category::Runtime | Category::Regexp)
    };
    let is_its = |id: &StackId| {
        stacks.row(*id).category == category
            && functions.source[function(*id).index()] == functions.source[nearest.index()]
    };
    let has_name =
        |id: &FunctionId| !matches!(profile.text(functions.name[id.index()]), "" | "(anonymous)");
    let callers = profile.ancestry(owner).filter(|id| !is_builtin(id)).take_while(is_its);
    callers.map(function).find(has_name).unwrap_or(nearest)
}

/// What `LoopWork::sampled` holds. Turns are of all that a loop did, whichever part of it is selected.
fn sampled(profile: &Profile, selection: &Selection, turns: &Turns) -> Option<Vec<(u64, u64)>> {
    let (lane, entry, categories, search) = (None, None, None, None);
    let selection =
        Selection { lane, entry, categories, search, busy_only: true, ..selection.clone() };
    let lane = profile.lane(selection.lane_in(profile)?);
    // It is compared with how busy a loop was, which is known of watched ones alone.
    if !lane.timed || lane.unit != Unit::Ns || turns.watched().next().is_none() {
        return None;
    }
    let spans = Spans::new(turns);
    let mut sampled = vec![(0u64, 0u64); profile.threads().len()];
    for row in selected_rows(profile, &selection) {
        let (thread, weight) = (lane.samples.thread[row], lane.samples.weight[row]);
        let (all, before) = &mut sampled[thread.index()];
        *all = all.saturating_add(weight);
        if spans.is_short(thread, lane.samples.time_ns[row]).is_none() {
            *before = before.saturating_add(weight);
        }
    }
    Some(sampled)
}

/// A thread, a stack, and whether its samples may be of the start of the loop.
type SumKey = (ThreadId, StackId, bool);

/// The samples of loops by thread and stack, in the order of these.
fn sums(profile: &Profile, selection: &Selection, turns: &Turns) -> Vec<(SumKey, Sum)> {
    let selection =
        Selection { categories: None, search: None, busy_only: true, ..selection.clone() };
    let lane = selection.lane_in(profile).map(|id| profile.lane(id));
    let Some(lane) = lane.filter(|lane| lane.timed && lane.unit == Unit::Ns) else {
        return Vec::new();
    };
    let launchers = identity::launchers(profile);
    let is_loop = |id: ThreadId| {
        let row = profile.thread(id);
        matches!(row.role, Role::MainLoop | Role::Worker) && !launchers.contains(&row.process)
    };
    let spans = Spans::new(turns);
    let samples = &lane.samples;
    let threads = || (0..profile.threads().len()).map(ThreadId::from_index);
    let is_loop: Vec<bool> = threads().map(is_loop).collect();
    let may_start_until_ns: Vec<u64> = threads().map(|id| turns.may_start_until_ns(id)).collect();
    let mut index = StackIndex::new(profile.stacks().len());
    let mut sums: Vec<(SumKey, Sum)> = Vec::new();
    for row in
        selected_rows(profile, &selection).filter(|row| is_loop[samples.thread[*row].index()])
    {
        let (thread, stack) = (samples.thread[row], selection.stack(profile, samples.stack[row]));
        let (weight, count) = (samples.weight[row], lane.samples_in_row(row));
        let time_ns = samples.time_ns[row];
        let Some(is_short) = spans.is_short(thread, time_ns) else { continue };
        let may_start = time_ns < may_start_until_ns[thread.index()];
        let (short_weight, short_samples) = if is_short { (weight, count) } else { (0, 0) };
        let sum = Sum { weight, samples: count, short_weight, short_samples };
        let key_of = |at: usize| (sums[at].0.0, sums[at].0.2);
        let at = index.row(stack, (thread, may_start), sums.len(), key_of);
        if at == sums.len() {
            sums.push(((thread, stack, may_start), Sum::default()));
        }
        sums[at].1.add(sum);
    }
    let is_idle = |stack: StackId| {
        stack.some().is_some_and(|id| profile.stacks().category[id.index()] == Category::Idle)
    };
    let is_busy = |((_, stack, _), _): &(SumKey, Sum)| !is_idle(*stack);
    sums.retain(is_busy);
    sums.sort_unstable_by_key(|(key, _)| *key);
    sums
}

/// The stretches of time of each loop that are reported elsewhere.
struct Spans {
    /// Of each thread start, end, and whether the loop served then.
    by_thread: Vec<Vec<(u64, u64, bool)>>,
}

impl Spans {
    fn new(turns: &Turns) -> Self {
        let mut by_thread: Vec<Vec<(u64, u64, bool)>> = Vec::new();
        let mut put = |thread: ThreadId, span| {
            if by_thread.len() <= thread.index() {
                by_thread.resize(thread.index() + 1, Vec::new());
            }
            by_thread[thread.index()].push(span);
        };
        for run in &turns.runs {
            put(run.thread, (run.start_ns, run.end_ns, false));
        }
        // Turns that waited for a CPU accuse no function: what they did counts like what short turns did.
        let accuses_a_function = |kind| !matches!(kind, StallKind::Throttled | StallKind::Starved);
        for stall in turns.stalls.iter().filter(|stall| accuses_a_function(stall.kind)) {
            put(stall.thread, (stall.start_ns, stall.end_ns, true));
        }
        by_thread.iter_mut().for_each(|spans| spans.sort_unstable());
        Self { by_thread }
    }

    /// Whether a moment is in a short turn; none before the loop served.
    fn is_short(&self, thread: ThreadId, time_ns: u64) -> Option<bool> {
        let spans = self.by_thread.get(thread.index()).map_or(&[][..], Vec::as_slice);
        let behind = spans.partition_point(|(start, ..)| *start <= time_ns);
        match behind.checked_sub(1).and_then(|row| spans.get(row)) {
            Some((_, end, serves)) if time_ns < *end => serves.then_some(false),
            _ => Some(true),
        }
    }
}
