//! Single collections: which kind they are by V8's own functions on the stack, how long the loop stood still for them,
//! and which function allocated when they began.

use profile::{Category, FunctionId, Lane, Profile, Role, StackId, ThreadId};

use crate::selection::Selection;
use crate::stalls::{SHORTEST_STALL_NS, Stall, StallKind, Turns};
use crate::weights::selected_rows;
use crate::work::Doings;

/// What V8 collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// Young objects alone: often, and mostly short.
    Scavenge,
    /// The whole heap.
    Full,
}

/// One collection that is long enough to be seen as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The loop's thread.
    pub thread: ThreadId,
    /// When it began.
    pub start_ns: u64,
    /// How long it took.
    pub length_ns: u64,
    /// The part of that in which the loop waited, for helper threads or for a CPU.
    pub waited_ns: u64,
    /// What most of it was, where the names of V8's functions are known.
    pub kind: Option<Collection>,
    /// The function of the user or of a package that allocated when it began.
    pub function: FunctionId,
}

/// Parts of the names of V8's functions; the first that fits counts.
const KINDS: &[(&str, Collection)] = &[
    ("Scaveng", Collection::Scavenge),
    ("MinorMark", Collection::Scavenge),
    ("MinorGC", Collection::Scavenge),
    ("YoungGeneration", Collection::Scavenge),
    ("MarkCompact", Collection::Full),
    ("IncrementalMarking", Collection::Full),
    ("MarkingVisitor", Collection::Full),
    ("Evacuat", Collection::Full),
    ("Sweep", Collection::Full),
];

/// For each stack, the kind of collection that it is in.
pub(super) fn kinds(profile: &Profile) -> Vec<Option<Collection>> {
    let names = profile.functions().name.iter().map(|name| profile.text(*name));
    let of_name = |name: &str| {
        KINDS.iter().find(|(part, _)| name.contains(part)).map(|(_, collection)| *collection)
    };
    let by_function: Vec<Option<Collection>> = names.map(of_name).collect();
    let stacks = profile.stacks();
    let mut kinds: Vec<Option<Collection>> = Vec::with_capacity(stacks.len());
    for id in stacks.ids() {
        let row = stacks.row(id);
        let caller = row.parent.some().and_then(|parent| kinds[parent.index()]);
        let function = profile.frames().function[row.frame.index()];
        let own = by_function[function.index()].filter(|_| row.category == Category::Gc);
        kinds.push(caller.or(own));
    }
    kinds
}

/// A run of samples of garbage collection on a thread.
#[derive(Clone, Copy)]
struct Run {
    start_ns: u64,
    last_ns: u64,
    weight: u64,
    full: u64,
    scavenge: u64,
    interval_ns: u64,
    function: FunctionId,
}

impl Run {
    fn new(time_ns: u64, weight: u64, function: FunctionId) -> Self {
        Self {
            start_ns: time_ns.saturating_sub(weight),
            last_ns: time_ns,
            weight: 0,
            full: 0,
            scavenge: 0,
            interval_ns: weight,
            function,
        }
    }

    fn add(&mut self, time_ns: u64, weight: u64, kind: Option<Collection>) {
        self.last_ns = time_ns;
        self.weight = self.weight.saturating_add(weight);
        match kind {
            Some(Collection::Full) => self.full = self.full.saturating_add(weight),
            Some(Collection::Scavenge) => self.scavenge = self.scavenge.saturating_add(weight),
            None => {}
        }
    }

    fn pause(&self, thread: ThreadId) -> Pause {
        let kind = match (self.full, self.scavenge) {
            (0, 0) => None,
            (full, scavenge) if full >= scavenge => Some(Collection::Full),
            _ => Some(Collection::Scavenge),
        };
        let length_ns = self.last_ns.saturating_sub(self.start_ns);
        let (start_ns, function) = (self.start_ns, self.function);
        Pause { thread, start_ns, length_ns, waited_ns: 0, kind, function }
    }
}

/// The pauses of all loops, in the order of time: long turns that were collections, and runs outside of these.
pub(super) fn pauses(
    profile: &Profile,
    selection: &Selection,
    turns: &Turns,
    doings: &Doings,
    kinds: &[Option<Collection>],
) -> Vec<Pause> {
    let Some(lane) = selection.lane_in(profile).map(|id| profile.lane(id)) else {
        return Vec::new();
    };
    let runs = runs(profile, selection, lane, doings, kinds);
    let is_collection = |stall: &&Stall| stall.kind == StallKind::Collected;
    let long: Vec<&Stall> = turns.stalls.iter().filter(is_collection).collect();
    let is_in = |thread: ThreadId, run: &Run, stall: &Stall| {
        stall.thread == thread && run.start_ns < stall.end_ns && stall.start_ns < run.last_ns
    };
    let mut pauses: Vec<Pause> = long
        .iter()
        .map(|stall| {
            let its = runs.iter().filter(|(thread, run)| is_in(*thread, run, stall));
            of_stall(stall, &its.map(|(_, run)| *run).collect::<Vec<_>>())
        })
        .collect();
    let is_seen =
        |run: &Run| run.last_ns.saturating_sub(run.start_ns) >= run.interval_ns.saturating_mul(2);
    // A watched loop that made no long turn there cannot have stood still for so long: those are several collections.
    let is_one = |thread: ThreadId, run: &Run| {
        run.last_ns.saturating_sub(run.start_ns) < SHORTEST_STALL_NS
            || !turns.watched().any(|row| row.thread == thread)
            || turns.stalls.iter().any(|stall| is_in(thread, run, stall))
    };
    let outside = runs.iter().filter(|(thread, run)| {
        let is_counted = long.iter().any(|stall| is_in(*thread, run, stall));
        is_seen(run) && is_one(*thread, run) && !is_counted
    });
    pauses.extend(outside.map(|(thread, run)| run.pause(*thread)));
    pauses.sort_by_key(|pause| (pause.start_ns, pause.thread));
    pauses
}

/// A long turn that was a collection: what ran of it, and what it waited for, which were its helper threads.
fn of_stall(stall: &Stall, runs: &[Run]) -> Pause {
    let mut all = Run::new(stall.start_ns, 0, FunctionId::NONE);
    for run in runs {
        all.weight = all.weight.saturating_add(run.weight);
        all.full = all.full.saturating_add(run.full);
        all.scavenge = all.scavenge.saturating_add(run.scavenge);
    }
    let longest = runs.iter().max_by_key(|run| run.weight);
    let known = longest.map(|run| run.function).filter(|function| function.some().is_some());
    let culprit = stall.culprit.map_or(FunctionId::NONE, |culprit| culprit.function);
    let waited = stall.spent.map_or(0, |spent| spent.blocked_ns.saturating_add(spent.ready_ns));
    let length_ns = match all.weight.saturating_add(waited).min(stall.duration_ns()) {
        0 => stall.duration_ns(),
        length_ns => length_ns,
    };
    Pause {
        length_ns,
        waited_ns: length_ns.saturating_sub(all.weight),
        function: known.unwrap_or(culprit),
        start_ns: stall.start_ns,
        ..all.pause(stall.thread)
    }
}

fn runs(
    profile: &Profile,
    selection: &Selection,
    lane: &Lane,
    doings: &Doings,
    kinds: &[Option<Collection>],
) -> Vec<(ThreadId, Run)> {
    let samples = &lane.samples;
    let threads = || (0..profile.threads().len()).map(ThreadId::from_index);
    let is_loop = |id| matches!(profile.thread(id).role, Role::MainLoop | Role::Worker);
    let is_loop: Vec<bool> = threads().map(is_loop).collect();
    let mut open: Vec<Option<Run>> = vec![None; is_loop.len()];
    let mut done = Vec::new();
    for row in selected_rows(profile, selection).filter(|row| is_loop[samples.thread[*row].index()])
    {
        let (thread, time_ns, weight) =
            (samples.thread[row], samples.time_ns[row], samples.weight[row]);
        let stack = samples.stack[row].some();
        let is_gc =
            stack.is_some_and(|stack| profile.stacks().category[stack.index()] == Category::Gc);
        let is_near = |run: &Run| {
            time_ns.saturating_sub(run.last_ns) < weight.max(run.interval_ns).saturating_mul(2)
        };
        let open = &mut open[thread.index()];
        let goes_on = is_gc && open.as_ref().is_some_and(is_near);
        if !goes_on && let Some(run) = open.take() {
            done.push((thread, run));
        }
        if is_gc {
            let function = || owner(profile, doings, samples.stack[row]);
            let run = open.get_or_insert_with(|| Run::new(time_ns, weight, function()));
            run.add(time_ns, weight, stack.and_then(|stack| kinds[stack.index()]));
        }
    }
    done.extend(threads().zip(open).filter_map(|(thread, run)| Some((thread, run?))));
    done
}

/// The function of the user or of a package that a stack works for.
fn owner(profile: &Profile, doings: &Doings, stack: StackId) -> FunctionId {
    let owner = doings.of(stack).owner.some();
    owner.map_or(FunctionId::NONE, |owner| {
        profile.frames().function[profile.stacks().row(owner).frame.index()]
    })
}
