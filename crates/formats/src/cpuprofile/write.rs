//! Profile → .cpuprofile, as Chrome DevTools and VS Code open it. The form knows one thread, microseconds, and
//! functions of scripts; what it cannot carry is returned as sentences.

mod schedule;
mod tree;

use std::io::{self, Write};

use profile::{LaneId, NO_ADDRESS, Profile, Role, ThreadId};
use serde::Serialize;
use views::{Selection, Weights, selected_rows, share, weigh};

use schedule::{Schedule, schedule};
use tree::{IDLE, Tree, WrittenNode};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    nodes: Vec<WrittenNode<'a>>,
    start_time: u64,
    end_time: u64,
    samples: Vec<u32>,
    time_deltas: Vec<i64>,
}

/// Writes the selected samples of one thread: the busiest main loop, or the selected threads as one. Returns
/// what is lost, a sentence each.
pub fn write(profile: &Profile, selection: &Selection, out: impl Write) -> io::Result<Vec<String>> {
    let mut notes = Vec::new();
    let Some(lane) = selection.lane_in(profile) else {
        return Err(io::Error::other("there is nothing to write: no sample is selected"));
    };
    let selection = of_one_thread(profile, selection, &mut notes);
    let rows: Vec<usize> = selected_rows(profile, &selection).collect();
    if rows.is_empty() {
        return Err(io::Error::other("there is nothing to write: no sample is selected"));
    }
    let schedule = schedule(profile, lane, &selection, &rows, &mut notes);
    note_what_is_lost(profile, &mut notes);
    let written = arrange(profile, lane, &selection, &schedule);
    serde_json::to_writer(out, &written)?;
    Ok(notes)
}

/// Narrows to the busiest main loop, or the busiest thread, where the user chose no threads.
fn of_one_thread(profile: &Profile, selection: &Selection, notes: &mut Vec<String>) -> Selection {
    if selection.threads.is_some() || selection.processes.is_some() {
        return selection.clone();
    }
    let weights = weigh(profile, selection);
    let by_thread = by_thread(profile, &weights);
    let is_main = |row: &usize| profile.threads()[*row].role == Role::MainLoop;
    let busiest = |rows: &mut dyn Iterator<Item = usize>| rows.max_by_key(|row| by_thread[*row]);
    let seen = || (0..by_thread.len()).filter(|row| by_thread[*row] > 0);
    let chosen = busiest(&mut seen().filter(is_main)).or_else(|| busiest(&mut seen()));
    let Some(chosen) = chosen.filter(|_| seen().count() > 1) else { return selection.clone() };
    let name = profile.text(profile.threads()[chosen].name);
    let others = seen().count() - 1;
    let rest = share(weights.total - by_thread[chosen], weights.total) * 100.0;
    notes.push(format!(
        "a .cpuprofile holds one thread: {name} is written, {others} others ({rest:.1} % of the weight) are left out; choose with --thread"
    ));
    Selection { threads: Some(vec![ThreadId::from_index(chosen)]), ..selection.clone() }
}

fn by_thread(profile: &Profile, weights: &Weights) -> Vec<u64> {
    let mut sums = vec![0u64; profile.threads().len()];
    for entry in &weights.entries {
        let sum = &mut sums[entry.thread.index()];
        *sum = sum.saturating_add(entry.weight);
    }
    sums
}

fn note_what_is_lost(profile: &Profile, notes: &mut Vec<String>) {
    if profile.frames().address.iter().any(|address| *address != NO_ADDRESS) {
        notes.push(
            "native and kernel functions keep their names; addresses, modules and V8 tiers are left out"
                .into(),
        );
    }
    let markers = profile.markers().len() + profile.off_cpu().len();
    if markers > 0 {
        notes.push(format!("{markers} markers (context switches, pauses) are left out"));
    }
}

/// Nodes, samples and times.
fn arrange<'a>(
    profile: &'a Profile,
    lane: LaneId,
    selection: &Selection,
    schedule: &Schedule,
) -> Written<'a> {
    let mut tree = Tree::new(profile, selection);
    let samples = schedule.slots.iter().map(|slot| match slot.row {
        Some(row) => tree.sample(selection.stack(profile, profile.lane(lane).samples.stack[row])),
        None if schedule.gaps_are_idle => tree.meta_sample(IDLE),
        None => tree.root_sample(),
    });
    let samples = samples.collect();
    if schedule.is_whole {
        tree.add_line_ticks();
    }
    let mut before_us = schedule.start_us;
    let delta = |slot: &schedule::Slot| {
        let delta = slot.time_us as i64 - before_us as i64;
        before_us = slot.time_us;
        delta
    };
    Written {
        time_deltas: schedule.slots.iter().map(delta).collect(),
        samples,
        nodes: tree.finish(),
        start_time: schedule.start_us,
        end_time: schedule.end_us,
    }
}
