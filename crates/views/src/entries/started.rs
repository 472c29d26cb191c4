//! Where the chain of callers ends at an await: the entry under which the function was seen to start elsewhere in the
//! recording, before its first await or with a chain that reached its entry.

use profile::{FunctionId, Profile, StackId, StringId};
use rustc_hash::FxHashMap;

use super::rules::{Meaning, Rule};
use super::{EntryKind, EntryPoint, NOT_KNOWN, Named, Path};
use crate::recursion::{NO_KIND, outermost};
use crate::selection::Selection;

/// An entry is inferred from so many samples or more: a function that fewer saw start may have been seen in the one way
/// that is rare.
const FEWEST_SAMPLES: u64 = 5;

/// What starts in a function whose entry was itself inferred is found in the second round.
const ROUNDS: usize = 2;

/// Fills in entries of stacks whose own frames show none.
pub(super) fn infer(
    profile: &Profile,
    meanings: &[Meaning],
    paths: &[Path],
    named: &mut Named,
    rows: &mut [u32],
) {
    let can_be_inferred = |id: &StackId| {
        let path = &paths[id.index()];
        let has_link = profile.stacks().logical[id.index()].some().is_some();
        let is_unknown = rows[id.index()] == NOT_KNOWN && !has_link;
        is_unknown && (path.is_resumed || path.is_bare) && path.root.some().is_some()
    };
    let mut unknown: Vec<StackId> = profile.stacks().ids().filter(can_be_inferred).collect();
    if unknown.is_empty() {
        return;
    }
    let ended = ended(profile);
    let whole = whole(profile, meanings, &ended);
    let seen = Seen { profile, paths, ended, whole };
    // The heaviest first: the lighter ones then even out the proportions.
    unknown.sort_by_key(|id| (std::cmp::Reverse(seen.ended[id.index()]), *id));
    for round in 0..ROUNDS {
        let started = Started::new(&seen, named, rows, &unknown, round > 0);
        started.fill_in(&seen, named, rows, &mut unknown);
    }
}

/// What the recording has of each stack.
struct Seen<'a> {
    profile: &'a Profile,
    paths: &'a [Path],
    /// The samples of the main lane that ended in it.
    ended: Vec<u64>,
    /// Those that have it on their stack.
    whole: Vec<u64>,
}

impl Seen<'_> {
    fn function(&self, stack: StackId) -> FunctionId {
        self.profile.frames().function[self.profile.stacks().frame[stack.index()].index()]
    }
}

/// The samples of the main lane that ended in each stack, with its callers across await.
fn ended(profile: &Profile) -> Vec<u64> {
    let mut ended = vec![0u64; profile.stacks().len()];
    if let Some(lane) = Selection::default().lane_in(profile).map(|id| profile.lane(id)) {
        for (row, stack) in lane.samples.stack.iter().enumerate() {
            if let Some(sum) = ended.get_mut(profile.logical(*stack).index()) {
                *sum = sum.saturating_add(lane.samples_in_row(row));
            }
        }
    }
    ended
}

/// The samples that have a stack as a caller or are it, up to the last queue of microtasks.
fn whole(profile: &Profile, meanings: &[Meaning], ended: &[u64]) -> Vec<u64> {
    let stacks = profile.stacks();
    let mut whole = ended.to_vec();
    for id in stacks.ids().rev() {
        let function = profile.frames().function[stacks.frame[id.index()].index()];
        let begins = matches!(meanings[function.index()], Meaning::Microtasks { .. });
        if let Some(parent) = stacks.parent[id.index()].some().filter(|_| !begins) {
            whole[parent.index()] = whole[parent.index()].saturating_add(whole[id.index()]);
        }
    }
    whole
}

/// Under which entries functions were seen.
#[derive(Default)]
struct Started {
    /// For each function that a chain ends at: entries and samples.
    under: FxHashMap<FunctionId, Vec<(EntryPoint, u64)>>,
    /// Functions that packages call to handle what arrived, such as a route.
    handlers: FxHashMap<(FunctionId, EntryKind), u64>,
}

impl Started {
    fn new(
        seen: &Seen<'_>,
        named: &Named,
        rows: &[u32],
        unknown: &[StackId],
        with_inferred: bool,
    ) -> Self {
        let mut wanted = vec![false; seen.profile.functions().len()];
        unknown.iter().for_each(|id| wanted[seen.paths[id.index()].root.index()] = true);
        let entry = |id: StackId| {
            let entry = named.list.get(rows[id.index()] as usize)?;
            (entry.kind.is_kept() && (with_inferred || !entry.is_inferred)).then_some(*entry)
        };
        let kind = |id: StackId| {
            let function = seen.function(id);
            let is_asked = wanted[function.index()] || is_handler(seen, id);
            let counts = is_asked && entry(id).is_some();
            if counts { u32::try_from(function.index()).unwrap_or(NO_KIND) } else { NO_KIND }
        };
        let kinds: Vec<u32> = seen.profile.stacks().ids().map(kind).collect();
        let mut started = Self::default();
        outermost(seen.profile.stacks(), &kinds, wanted.len(), |id, _| {
            if let Some(entry) = entry(id) {
                started.add(seen, id, entry);
            }
        });
        started
    }

    fn add(&mut self, seen: &Seen<'_>, stack: StackId, entry: EntryPoint) {
        let (function, count) = (seen.function(stack), seen.whole[stack.index()]);
        // An inferred entry and one that was read are the same.
        let entry = EntryPoint { is_inferred: true, ..entry };
        let under = self.under.entry(function).or_default();
        match under.iter_mut().find(|(known, _)| *known == entry) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => under.push((entry, count)),
        }
        if is_handler(seen, stack) {
            let sum = self.handlers.entry((function, entry.kind)).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Gives each stack the entry of its outermost function; where there are several, in their proportions. Those of
    /// which nothing is known stay.
    fn fill_in(
        &self,
        seen: &Seen<'_>,
        named: &mut Named,
        rows: &mut [u32],
        unknown: &mut Vec<StackId>,
    ) {
        let mut parts: FxHashMap<FunctionId, Parts<'_>> = FxHashMap::default();
        unknown.retain(|id| {
            let root = seen.paths[id.index()].root;
            let under = self.under.get(&root).filter(|under| sum(under) >= FEWEST_SAMPLES);
            let Some(under) = under else { return true };
            let entry = self.handler(seen, *id, under).unwrap_or_else(|| {
                let parts = parts.entry(root).or_insert_with(|| Parts::new(under));
                parts.next(seen.ended[id.index()])
            });
            rows[id.index()] = named.row(seen.paths[id.index()].with_function(entry));
            false
        });
    }

    /// The entry of the innermost function on the stack that a package calls for the same kind of work: a route behind
    /// functions of the application that every request passes.
    fn handler(
        &self,
        seen: &Seen<'_>,
        stack: StackId,
        under: &[(EntryPoint, u64)],
    ) -> Option<EntryPoint> {
        if self.handlers.is_empty() {
            return None;
        }
        seen.profile.ancestry(stack).find_map(|id| {
            let function = seen.function(id);
            let is_handled = |kind| {
                self.handlers.get(&(function, kind)).is_some_and(|count| *count >= FEWEST_SAMPLES)
            };
            let (entry, _) =
                under.iter().find(|(entry, _)| is_handled(entry.kind)).or_else(|| {
                    // A query is a part of a request.
                    under.first().filter(|_| is_handled(EntryKind::Graphql))
                })?;
            let kind = if is_handled(entry.kind) { entry.kind } else { EntryKind::Graphql };
            Some(EntryPoint { kind, function, package: StringId::NONE, ..*entry })
        })
    }
}

/// Whether the function of a stack's innermost frame is one that a package calls to handle what arrived.
fn is_handler(seen: &Seen<'_>, stack: StackId) -> bool {
    let path = &seen.paths[stack.index()];
    path.function == seen.function(stack) && path.rule.is_some_and(Rule::is_of_package)
}

fn sum(under: &[(EntryPoint, u64)]) -> u64 {
    under.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
}

/// Shares out stacks among entries.
struct Parts<'a> {
    /// The entries, and the samples that were seen under each.
    of: &'a [(EntryPoint, u64)],
    /// The samples that each was given.
    given: Vec<u64>,
}

impl<'a> Parts<'a> {
    fn new(of: &'a [(EntryPoint, u64)]) -> Self {
        Self { of, given: vec![0; of.len()] }
    }

    /// The entry that lacks most of its share.
    fn next(&mut self, samples: u64) -> EntryPoint {
        let given = self.given.iter().fold(samples.max(1), |sum, its| sum.saturating_add(*its));
        let (seen, given) = (i128::from(sum(self.of)), i128::from(given));
        let lacks =
            |at: &usize| i128::from(self.of[*at].1) * given - i128::from(self.given[*at]) * seen;
        // Of equal ones the first.
        let most = (0..self.of.len()).rev().max_by_key(lacks).unwrap_or(0);
        self.given[most] = self.given[most].saturating_add(samples);
        self.of[most].0
    }
}
