//! The tables of loops and long turns, read for one selection.

use profile::{LongTurn, Profile, Role, RowId, StringId, Thread, ThreadId, TurnKind, UNKNOWN};

use super::culprit::Culprits;
use super::{Clip, EventLoop, Span, Spent, SyncRun, Turns};

/// A run that ends so shortly before its loop was seen for the last time went on to the end.
const NEAR_THE_END_NS: u64 = 20_000_000;

pub(super) fn turns(profile: &Profile, clip: &Clip, culprits: &Culprits<'_>) -> Turns {
    let mut turns = Turns { loops: loops(profile, clip, culprits), ..Turns::default() };
    let table = profile.long_turns();
    for row in table.ids().map(|id: RowId| table.row(id)) {
        let Some((start_ns, end_ns)) = clip.span(row.thread, row.start_ns, row.end_ns) else {
            continue;
        };
        let thread = row.thread;
        match row.kind {
            TurnKind::Turn => {
                let spent = spent(&row, end_ns - start_ns);
                turns.stalls.extend(culprits.stall(thread, start_ns, end_ns, spent));
            }
            TurnKind::Startup => {
                let is_all = never_polled(profile, &row);
                let culprit = culprits.of_samples(thread, start_ns, end_ns).culprit;
                turns.runs.push(SyncRun { thread, start_ns, end_ns, is_all, culprit });
            }
            TurnKind::Stopped => {
                add_stop(profile, &mut turns.stops, Span { thread, start_ns, end_ns });
            }
        }
    }
    turns
}

/// How the selected part of a turn was spent; of a part, nothing better is known than that it was like the whole.
fn spent(row: &LongTurn, part_ns: u64) -> Option<Spent> {
    let whole_ns = row.end_ns.saturating_sub(row.start_ns);
    let known = |value: u64| if value == UNKNOWN { 0 } else { part_of(value, part_ns, whole_ns) };
    if row.run_ns == UNKNOWN {
        return None;
    }
    // Counters are read a little before and after: what they have too much is cut off.
    let run_ns = known(row.run_ns).min(part_ns);
    let ready_ns = known(row.ready_ns).min(part_ns - run_ns);
    let throttled_ns = known(row.throttled_ns).min(ready_ns);
    Some(Spent { run_ns, ready_ns, throttled_ns, blocked_ns: part_ns - run_ns - ready_ns })
}

/// `value` scaled down from the whole to a part.
pub(crate) fn part_of(value: u64, part: u64, whole: u64) -> u64 {
    if part >= whole {
        return value;
    }
    let scaled = u128::from(value) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn never_polled(profile: &Profile, row: &LongTurn) -> bool {
    let loops = profile.loops();
    let its = loops.ids().map(|id: RowId| loops.row(id)).find(|its| its.thread == row.thread);
    its.is_some_and(|its| {
        its.polled_ns == 0 || row.end_ns.saturating_add(NEAR_THE_END_NS) >= its.end_ns.max(1)
    })
}

fn loops(profile: &Profile, clip: &Clip, culprits: &Culprits<'_>) -> Vec<EventLoop> {
    let table = profile.loops();
    let started = started(profile);
    let mut loops: Vec<EventLoop> = Vec::new();
    for row in table.ids().map(|id: RowId| table.row(id)) {
        let is_watched = row.problem.some().is_none();
        let span = clip.span(row.thread, row.start_ns, row.end_ns);
        // What was never watched has no span.
        if !clip.threads[row.thread.index()] || (is_watched && span.is_none()) {
            continue;
        }
        let is_whole = span == Some((row.start_ns, row.end_ns));
        let watched_ns = span.filter(|_| is_watched).map_or(0, |(start, end)| end - start);
        let waits_in_turns = culprits.waits_in_turns(row.thread);
        let is_counted = is_watched && is_whole && !waits_in_turns;
        let polled_ns = Some(row.polled_ns).filter(|polled| is_counted && *polled != UNKNOWN);
        let polled_ns = polled_ns.map(|polled| polled.min(watched_ns));
        let new = EventLoop {
            thread: row.thread,
            is_watched,
            watched_ns,
            polled_ns,
            problem: row.problem,
            is_from_start: started.iter().any(|thread| is_same(profile, *thread, row.thread)),
            waits_in_turns,
        };
        add_loop(profile, &mut loops, new);
    }
    add_forgotten_loops(profile, clip, &mut loops);
    loops
}

/// The threads whose first run is in the recording, also where it is not selected.
fn started(profile: &Profile) -> Vec<ThreadId> {
    let table = profile.long_turns();
    let rows = table.ids().map(|id: RowId| table.row(id));
    rows.filter(|row| row.kind == TurnKind::Startup).map(|row| row.thread).collect()
}

/// A loop that was watched in pieces is one loop.
fn add_loop(profile: &Profile, loops: &mut Vec<EventLoop>, new: EventLoop) {
    let Some(known) = loops.iter_mut().find(|known| is_same(profile, known.thread, new.thread))
    else {
        return loops.push(new);
    };
    if known.is_watched && new.is_watched {
        known.watched_ns = known.watched_ns.saturating_add(new.watched_ns);
        let polled = known.polled_ns.zip(new.polled_ns);
        known.polled_ns = polled.map(|(one, two)| one.saturating_add(two));
    } else if new.is_watched {
        *known = new;
    }
}

/// Workers that were sampled, and whose loop is in no table: not watched, and the recording does not give a reason.
pub(super) fn add_forgotten_loops(profile: &Profile, clip: &Clip, loops: &mut Vec<EventLoop>) {
    for (row, Thread { role, .. }) in profile.threads().iter().enumerate() {
        let thread = ThreadId::from_index(row);
        let is_known = loops.iter().any(|known| is_same(profile, known.thread, thread));
        if *role == Role::Worker && clip.threads[row] && !is_known {
            loops.push(EventLoop {
                thread,
                is_watched: false,
                watched_ns: 0,
                polled_ns: None,
                problem: StringId::NONE,
                is_from_start: false,
                waits_in_turns: false,
            });
        }
    }
}

/// A thread that changed its name has two rows.
pub(crate) fn is_same(profile: &Profile, one: ThreadId, two: ThreadId) -> bool {
    let (a, b) = (profile.thread(one), profile.thread(two));
    one == two || (a.process == b.process && a.tid.is_some() && a.tid == b.tid)
}

/// A stop is of a process: its loops report the same one each.
fn add_stop(profile: &Profile, stops: &mut Vec<Span>, new: Span) {
    let process = |thread: ThreadId| profile.thread(thread).process;
    let same = stops.iter_mut().find(|stop| {
        let overlaps = stop.start_ns < new.end_ns && new.start_ns < stop.end_ns;
        process(stop.thread) == process(new.thread) && overlaps
    });
    match same {
        Some(stop) => {
            stop.start_ns = stop.start_ns.min(new.start_ns);
            stop.end_ns = stop.end_ns.max(new.end_ns);
        }
        None => stops.push(new),
    }
}
