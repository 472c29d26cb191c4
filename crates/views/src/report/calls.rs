//! Exact counts of calls, where a recording has them, and the time that one call takes on average.

use std::collections::HashMap;

use profile::{CALLS_LANE, FunctionId, Profile, Unit};
use serde::Serialize;

use super::file_of;
use crate::{Selection, TopBy, TopKey, Weights, top};

/// A function that was called.
#[derive(Debug, Serialize)]
pub struct CallsRow {
    /// The name.
    pub name: String,
    /// The script or binary.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// How often it was called.
    pub calls: u64,
    /// The time of one call with all that it calls, by the samples; none where it was never seen in one.
    pub mean_s: Option<f64>,
}

/// The functions that were called, the most often called first.
pub(super) fn rows(profile: &Profile, weights: &Weights, selection: &Selection) -> Vec<CallsRow> {
    let counts = counts(profile);
    if counts.is_empty() {
        return Vec::new();
    }
    let lane = weights.lane.map(|id| profile.lane(id));
    let is_whole = selection.range_ns.is_none() && lane.is_some_and(|lane| lane.unit == Unit::Ns);
    let times: HashMap<TopKey, u64> = match is_whole {
        true => top(profile, weights, selection, TopBy::Function)
            .iter()
            .map(|row| (row.key, row.total_weight))
            .collect(),
        false => HashMap::new(),
    };
    let row = |(id, calls): (FunctionId, u64)| {
        let function = profile.functions().row(id);
        let total_ns = times.get(&TopKey::Function(id)).copied().filter(|total_ns| *total_ns > 0);
        CallsRow {
            name: profile.text(function.name).to_owned(),
            file: file_of(profile, id).map(str::to_owned),
            line: Some(function.line).filter(|line| *line > 0),
            calls,
            mean_s: total_ns.map(|total_ns| total_ns as f64 / 1e9 / calls.max(1) as f64),
        }
    };
    let mut rows: Vec<CallsRow> = counts.into_iter().map(row).collect();
    rows.sort_by(|one, two| two.calls.cmp(&one.calls).then_with(|| one.name.cmp(&two.name)));
    rows
}

fn counts(profile: &Profile) -> HashMap<FunctionId, u64> {
    let mut counts = HashMap::new();
    let Some(lane) = profile.lane_named(CALLS_LANE).map(|id| profile.lane(id)) else {
        return counts;
    };
    for (stack, calls) in lane.samples.stack.iter().zip(&lane.samples.weight) {
        if let Some(stack) = stack.some() {
            let frame = profile.stacks().frame[stack.index()];
            let count: &mut u64 =
                counts.entry(profile.frames().function[frame.index()]).or_default();
            *count = count.saturating_add(*calls);
        }
    }
    counts
}
