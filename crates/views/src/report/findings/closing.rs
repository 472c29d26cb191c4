//! The sentences beside the findings: loops that were not watched, starts and stops, and that nothing else stands out.

use std::collections::BTreeMap;

use crate::{FEW_SAMPLES, SyncRun};
use profile::StringId;

use super::Context;
use crate::packages::package_words;
use crate::report::{PackageRow, Times};
use crate::text::{about, of, percent, rough_percent};

/// What people should know of the loops before they read the findings.
pub(in crate::report) fn loop_notes(context: &Context<'_>) -> Vec<String> {
    let turns = &context.findings.turns;
    let mut notes: Vec<String> = not_watched(context).into_iter().collect();
    notes.extend(runs(context));
    for stop in &turns.stops {
        let (length, start) =
            (about(stop.end_ns.saturating_sub(stop.start_ns)), about(stop.start_ns));
        let pid = context.profile.process(context.profile.thread(stop.thread).process).pid;
        let whose = pid.filter(|_| context.profile.processes().len() > 1);
        let whose = whose.map_or("The process".to_owned(), |pid| format!("Pid {pid}"));
        notes.push(format!(
            "{whose} was stopped for {length}, from {start} on: that is a gap, not a stall."
        ));
    }
    notes
}

/// `2 of 3 event loops were watched; 1 was not: its stack may not be read.`
fn not_watched(context: &Context<'_>) -> Option<String> {
    let turns = &context.findings.turns;
    let (all, watched) = (turns.loops.len(), turns.watched().count());
    if watched == all {
        return None;
    }
    let mut reasons: BTreeMap<StringId, usize> = BTreeMap::new();
    for row in turns.loops.iter().filter(|row| !row.is_watched) {
        *reasons.entry(row.problem).or_default() += 1;
    }
    let most = reasons.iter().max_by_key(|(_, count)| **count);
    let why = most.and_then(|(reason, _)| reason.some());
    let why = why.map(|reason| format!(": {}", context.profile.text(reason))).unwrap_or_default();
    let none = if all == 1 { "The event loop was not" } else { "None of the event loops was" };
    Some(match watched {
        0 => format!("{none} watched, so stalls are not known{why}."),
        1 => {
            format!("1 of {all} event loops was watched; of the others, stalls are not known{why}.")
        }
        _ => {
            format!(
                "{watched} of {all} event loops were watched; of the others, stalls are not known{why}."
            )
        }
    })
}

/// Synchronous runs before loops began: the longest, and how many more.
fn runs(context: &Context<'_>) -> Option<String> {
    let length = |run: &&SyncRun| run.end_ns.saturating_sub(run.start_ns);
    let runs = &context.findings.turns.runs;
    let longest = runs.iter().max_by_key(length)?;
    let time = about(length(&longest));
    let more = match runs.len() {
        1 => String::new(),
        count => format!(" (the longest of {count})"),
    };
    Some(match longest.is_all {
        true => format!(
            "One synchronous run of {time}{more}: its event loop never began to wait for work."
        ),
        false => {
            format!(
                "One synchronous run of {time}{more} before the loop began: loading and top-level code."
            )
        }
    })
}

/// The sentences after the findings.
pub(in crate::report) fn closing(context: &Context<'_>) -> Vec<String> {
    let turns = &context.findings.turns;
    let never_began = turns.runs.iter().any(|run| run.is_all);
    if turns.watched().next().is_none() || never_began {
        return gc_sentence(context).into_iter().collect();
    }
    if context.profile.loops().is_empty() {
        return [Some(of_older(context)), gc_sentence(context)].into_iter().flatten().collect();
    }
    if !context.findings.list.is_empty() {
        let first = Some("Nothing else stands out.".to_owned());
        let more = [first, super::delay::of_others(context), gc_sentence(context)];
        return more.into_iter().flatten().collect();
    }
    let mut text = vec!["Nothing stands out.".to_owned(), healthy(context)];
    if free(context).is_some_and(|free| free >= 0.5) {
        text.push(
            "If replies are slow, look outside the loop: database, upstream services, connection pools."
                .to_owned(),
        );
    }
    text
}

/// Recordings of before waits were watched: that there is no stall means less.
fn of_older(context: &Context<'_>) -> String {
    let older = "this recording is of an older nodescope, which did not see turns that wait";
    match context.findings.turns.stalls.is_empty() {
        true => format!("No turn of the event loop ran for 50 ms; {older}."),
        false => format!("Perhaps there are more stalls: {older}."),
    }
}

/// `The loop was free 79 % of the time; no turn took 50 ms; a request waited 4 ms at p99. Garbage collection took 2 %
/// of its time. Not throttled.`
fn healthy(context: &Context<'_>) -> String {
    let count = context.findings.turns.watched().count();
    let free = free(context).map(|free| format!("{:.0} %", free * 100.0));
    let longest = context.findings.turns.stalls.first().map(|stall| about(stall.duration_ns()));
    let turn =
        longest.map_or("no turn took 50 ms".to_owned(), |time| format!("longest turn {time}"));
    let mut text = match (count, free) {
        (1, Some(free)) => format!("The event loop was free {free} of the time; {turn}"),
        (1, None) => format!("Of the event loop, {turn}"),
        (_, Some(free)) => {
            format!("The {count} event loops were free at least {free} of the time; {turn}")
        }
        (_, None) => format!("Of {count} event loops, {turn}"),
    };
    text.extend(super::delay::at_p99(context));
    text.push('.');
    let periods = context.findings.host.iter().filter_map(|(_, times)| times.throttled_share());
    let throttled =
        periods.fold(None, |most: Option<f64>, share| Some(most.unwrap_or(0.0).max(share)));
    text.extend(gc_sentence(context).map(|sentence| format!(" {sentence}")));
    text.extend(throttled.map(|share| match share {
        0.0 => " Not throttled.".to_owned(),
        share => format!(" Throttled in {:.0} % of periods.", (share * 100.0).max(1.0)),
    }));
    text.extend(super::pool::closing(context).map(|sentence| format!(" {sentence}")));
    text
}

/// The free part of the loop that was free least.
fn free(context: &Context<'_>) -> Option<f64> {
    let watched = context.findings.turns.watched().filter(|row| row.watched_ns > 0);
    let free: Option<Vec<f64>> =
        watched.map(|row| row.polled_ns.map(|ns| crate::share(ns, row.watched_ns))).collect();
    free?.into_iter().reduce(f64::min)
}

fn is_gc_found(context: &Context<'_>) -> bool {
    context.findings.list.iter().any(|found| matches!(found.finding, crate::Finding::Gc(_)))
}

/// Garbage collection by what the loop lost, and beside it what helper threads used.
fn gc_sentence(context: &Context<'_>) -> Option<String> {
    let gc = &context.findings.gc;
    if context.samples < FEW_SAMPLES || gc.all < 0.001 || is_gc_found(context) {
        return None;
    }
    let share = |share| rough_percent(share, context.samples);
    let is_little =
        |row: &crate::LoopGc| row.of_time.unwrap_or(row.of_cpu) < 0.01 && gc.helpers < 0.01;
    if gc.loops.first().is_some_and(is_little) {
        return None;
    }
    let Some(worst) = gc.loops.first() else {
        return Some(format!("Garbage collection took {} of all samples.", share(gc.all)));
    };
    let helpers = match gc.helpers {
        0.0..0.01 => String::new(),
        helpers => format!("; its helper threads used {} of all CPU time", share(helpers)),
    };
    Some(format!("Garbage collection took {}{helpers}.", context.gc_share(worst)))
        .filter(|_| worst.samples >= FEW_SAMPLES)
}

/// What of the application and of its packages used most CPU; noise is left out. `whole` names what the first share is
/// of.
pub(in crate::report) fn most_cpu(
    context: &Context<'_>,
    package: Option<&PackageRow>,
    whole: &mut Option<&str>,
) -> Vec<String> {
    let mut share = |times: &Times| {
        let share = times.caused_share.unwrap_or_default();
        let words = match context.counted {
            true => rough_percent(share, context.samples),
            false => percent(share),
        };
        words + &of(whole)
    };
    let is_sure =
        |times: &Times| context.is_sure(times.caused_share.unwrap_or_default(), context.samples);
    let own = context.own.first().filter(|row| is_sure(&row.times)).map(|row| {
        let place = context.place_words(&row.name, row.file.as_deref(), row.line);
        format!("Of your own code, {place} caused most: {}.", share(&row.times))
    });
    let package = package.filter(|row| is_sure(&row.times)).map(|row| {
        let package = package_words(&row.name, row.version.as_deref());
        format!("Of the npm packages, {package} caused most: {}.", share(&row.times))
    });
    [own, package].into_iter().flatten().collect()
}
