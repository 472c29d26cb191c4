//! The first line of a report: which process it is about, and when.

use std::collections::BTreeSet;

use profile::{ProcessId, Profile};

use crate::identity::{self, ProcessRow};
use crate::text::{length, utc_time};
use crate::{Selection, Weights};

/// The first line, and what of it a list shows.
pub(super) struct Headline {
    /// All of it.
    pub(super) parts: Vec<String>,
    /// `pid 4140`, `64 processes`
    pub(super) processes: Option<String>,
}

/// `deploy-api · pid 4140 · Node 24.11.1 · container web-3 · limit 0.3 CPU · 30.0 s from 03:15:02 UTC`
pub(super) fn headline(profile: &Profile, selection: &Selection, weights: &Weights) -> Headline {
    let meta = profile.meta();
    let shown = shown(profile, weights);
    let processes: Vec<ProcessRow> = shown.iter().map(|id| identity::row(profile, *id)).collect();
    let is_ours = !meta.way_in.is_empty();
    let common =
        |value: &dyn Fn(&ProcessRow) -> Option<String>| {
            let values: BTreeSet<Option<String>> = processes.iter().map(value).collect();
            values.into_iter().next().flatten().filter(|first| {
                processes.iter().all(|process| value(process).as_ref() == Some(first))
            })
        };
    let command =
        || common(&|row| row.command.clone()).or_else(|| meta.command.clone().filter(|_| is_ours));
    let name =
        common(&|row| row.app.clone()).or_else(command).unwrap_or_else(|| meta.format.clone());
    let which = match &processes[..] {
        [one] if is_ours => one.pid.map(|pid| format!("pid {pid}")),
        [] | [_] => None,
        several => Some(format!("{} processes", several.len())),
    };
    let mut parts = vec![name];
    parts.extend(which.clone());
    parts.extend(meta.host.clone().filter(|_| !is_ours));
    let version = meta.node_version.clone().or_else(|| common(&|row| row.node_version.clone()));
    parts.extend(version.map(|version| format!("Node {}", version.trim_start_matches('v'))));
    parts.extend(
        common(&|row| row.container.clone()).map(|container| format!("container {container}")),
    );
    parts.extend(common(&|row| row.cpu_limit.map(|cpus| format!("limit {cpus} CPU"))));
    parts.extend(when(profile, selection, weights));
    Headline { parts, processes: which }
}

/// The processes that were sampled, or whose loops were watched, without those that only started others. Of a recording
/// of Node, its other children are of no interest here.
fn shown(profile: &Profile, weights: &Weights) -> Vec<ProcessId> {
    let launchers = identity::launchers(profile);
    let sampled = weights.entries.iter().map(|entry| entry.thread);
    let looping = profile.loops().thread.iter().copied().filter(|_| weights.entries.is_empty());
    let processes = sampled.chain(looping).map(|thread| profile.thread(thread).process);
    let known: BTreeSet<ProcessId> = processes.filter(|id| !launchers.contains(id)).collect();
    let is_node = |id: &&ProcessId| profile.process(**id).node_version.some().is_some();
    let nodes: Vec<ProcessId> = known.iter().filter(is_node).copied().collect();
    if nodes.is_empty() { known.into_iter().collect() } else { nodes }
}

/// `30.0 s from 03:15:02 UTC`
fn when(profile: &Profile, selection: &Selection, weights: &Weights) -> Option<String> {
    let is_timed = weights.lane.is_some_and(|lane| profile.lane(lane).timed);
    let length = length(crate::selected_duration_ns(profile, selection));
    let first_ns = selection.range_ns.as_ref().map_or(0, |range| range.start);
    let start_ns: Option<u64> =
        profile.meta().start_unix_ns.as_ref().and_then(|text| text.parse().ok());
    let start = start_ns.and_then(|start_ns| start_ns.checked_add(first_ns));
    let from =
        start.map(|ns| format!(" from {} UTC", utc_time(ns / 1_000_000_000))).unwrap_or_default();
    is_timed.then(|| length + &from)
}
