//! Which samples a view is about, and which frames it hides.

use std::ops::Range;
use std::sync::Arc;

use profile::{Category, LaneId, ProcessId, Profile, StackId, ThreadId, WAITS_LANE};
use regex::Regex;

use crate::entries::ChosenEntries;

/// What is selected; the default is the main lane, whole.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The lane; the main one when none is named.
    pub lane: Option<LaneId>,
    /// Half-open, in nanoseconds since the start.
    pub range_ns: Option<Range<u64>>,
    /// Only these threads.
    pub threads: Option<Vec<ThreadId>>,
    /// Only these processes.
    pub processes: Option<Vec<ProcessId>>,
    /// Only samples whose stack has one of these categories.
    pub categories: Option<Vec<Category>>,
    /// Only samples with a frame whose function, file or package matches.
    pub search: Option<Regex>,
    /// Only samples that these entries asked for.
    pub entry: Option<Arc<ChosenEntries>>,
    /// Frames of these categories are left out; their weight goes to the caller.
    pub hidden: Vec<Category>,
    /// Without samples of threads that wait, unless a category is asked for. Perf has none; V8's profiler has.
    pub busy_only: bool,
    /// With the functions that await a stack as its callers, where they are known; else stacks as they were.
    pub logical: bool,
}

impl Selection {
    /// The lane, if the profile has any. Sleeping stacks are no CPU time: their lane has to be asked for.
    pub fn lane_in(&self, profile: &Profile) -> Option<LaneId> {
        let is_main = |lane: &profile::Lane| profile.text(lane.name) != WAITS_LANE;
        self.lane.or_else(|| profile.lanes().iter().position(is_main).map(LaneId::from_index))
    }

    /// All samples of the main lane, each with the functions that await it.
    pub fn of_logical() -> Self {
        Self { logical: true, ..Self::default() }
    }

    /// The stack that a sample of this stack counts for.
    pub fn stack(&self, profile: &Profile, stack: StackId) -> StackId {
        if self.logical { profile.logical(stack) } else { stack }
    }

    /// Whether a stack's topmost frame is hidden.
    pub fn hides(&self, profile: &Profile, stack: StackId) -> bool {
        !self.hidden.is_empty() && self.hidden.contains(&profile.stacks().category[stack.index()])
    }

    /// For each thread, whether its samples are selected.
    pub(crate) fn selected_threads(&self, profile: &Profile) -> Vec<bool> {
        let is_selected = |(row, thread): (usize, &profile::Thread)| {
            let by_thread =
                self.threads.as_ref().is_none_or(|ids| ids.contains(&ThreadId::from_index(row)));
            let by_process =
                self.processes.as_ref().is_none_or(|ids| ids.contains(&thread.process));
            by_thread && by_process
        };
        profile.threads().iter().enumerate().map(is_selected).collect()
    }

    /// Whether no stack is left out; samples without a stack are of no category, and match nothing.
    pub(crate) fn takes_samples_without_stack(&self, profile: &Profile) -> bool {
        let leaves_out_idle =
            || self.busy_only && profile.stacks().category.contains(&Category::Idle);
        let is_open = self.search.is_none() && self.entry.is_none() && self.categories.is_none();
        is_open && !leaves_out_idle()
    }

    /// For each stack, whether a sample that ends in it is selected.
    pub(crate) fn selected_stacks(&self, profile: &Profile) -> Option<Vec<bool>> {
        if self.takes_samples_without_stack(profile) {
            return None;
        }
        let matches = self.search.as_ref().map(|pattern| matching_stacks(profile, pattern));
        let stacks = profile.stacks();
        let is_selected = |id: StackId| {
            let by_search = matches.as_ref().is_none_or(|matches| matches[id.index()]);
            let category = stacks.category[id.index()];
            let by_category = match &self.categories {
                Some(list) => list.contains(&category),
                None => !self.busy_only || category != Category::Idle,
            };
            let by_entry = self.entry.as_ref().is_none_or(|chosen| chosen.has(id));
            by_search && by_category && by_entry
        };
        Some(stacks.ids().map(is_selected).collect())
    }
}

/// For each stack, whether it or one of its callers matches.
fn matching_stacks(profile: &Profile, pattern: &Regex) -> Vec<bool> {
    let functions = profile.functions();
    let by_function: Vec<bool> = functions
        .ids()
        .map(|id| {
            let function = functions.row(id);
            pattern.is_match(profile.text(function.name))
                || profile.source_path(function.source).is_some_and(|path| pattern.is_match(path))
                || function
                    .package
                    .some()
                    .is_some_and(|package| pattern.is_match(profile.text(package)))
        })
        .collect();
    let stacks = profile.stacks();
    let mut matches = Vec::with_capacity(stacks.len());
    for id in stacks.ids() {
        let stack = stacks.row(id);
        let function = profile.frames().function[stack.frame.index()];
        let inherited = stack.parent.some().is_some_and(|parent| matches[parent.index()]);
        matches.push(inherited || by_function[function.index()]);
    }
    matches
}
