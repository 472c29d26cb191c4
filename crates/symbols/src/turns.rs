//! The turns of event loops, from looks at their counters. A counter that stands still while the loop does not wait
//! is one long turn: a stall. Where it moves on between any two looks, the loop is healthy, however busy.

use std::collections::BTreeMap;

use profile::{Builder, Marker, MarkerKind, StringId, ThreadId};

use crate::namer::RawSwitch;

/// Quick turns are told in stretches of at most so long.
const LONGEST_STRETCH_NS: u64 = 1_000_000_000;

/// One look at the loop of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) time_ns: u64,
    pub(crate) count: u64,
    pub(crate) waiting: bool,
}

/// A piece of time on a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// One turn that took all of it, or how many quick ones there were.
    pub(crate) turns: u64,
}

/// When a thread left a CPU to wait, and when it came back from that.
#[derive(Clone, Debug, Default)]
pub(crate) struct Switches {
    left: Vec<u64>,
    woken: Vec<u64>,
    is_preempted: bool,
}

impl Switches {
    /// Adds the next one in the order of time.
    pub(crate) fn add(&mut self, switch: &RawSwitch) {
        if switch.out {
            self.is_preempted = switch.preempted;
        }
        match (self.is_preempted, switch.out) {
            (true, _) => {}
            (false, true) => self.left.push(switch.time_ns),
            (false, false) => self.woken.push(switch.time_ns),
        }
    }
}

/// Adds markers: a long turn each, and how many quick ones there were between them.
pub(crate) fn add_markers(
    builder: &mut Builder,
    looks: &BTreeMap<ThreadId, Vec<Look>>,
    switches: &BTreeMap<ThreadId, Switches>,
) {
    let none = Switches::default();
    for (thread, looks) in looks {
        for Stretch { start_ns, end_ns, turns } in stretches(looks, switches.get(thread).unwrap_or(&none)) {
            let text = if turns == 1 { StringId::NONE } else { builder.string(&format!("{turns} turns")) };
            let (kind, thread) = (MarkerKind::LoopTurn, *thread);
            builder.marker(Marker { kind, thread, start_ns, end_ns, text });
        }
    }
}

/// What the looks at one loop tell, in the order of their times. Time in which it waited is left out.
pub(crate) fn stretches(looks: &[Look], switches: &Switches) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    // The turn that is going on: since when, and whether more than one look has seen it.
    let mut current: Option<(u64, bool)> = None;
    for pair in looks.windows(2) {
        let (before, now) = (pair[0], pair[1]);
        let between = (before.time_ns, now.time_ns);
        if now.waiting {
            if let Some((start_ns, true)) = current.take() {
                let end_ns = first_within(&switches.left, between).unwrap_or(now.time_ns);
                found.push(Stretch { start_ns, end_ns, turns: 1 });
            }
            continue;
        }
        if before.waiting {
            let since = last_within(&switches.woken, between).unwrap_or(now.time_ns);
            current = Some((since, before.count == now.count));
            continue;
        }
        let (since, is_long) = current.unwrap_or((before.time_ns, false));
        if before.count == now.count {
            current = Some((since, true));
            continue;
        }
        let turns = now.count.saturating_sub(before.count);
        if is_long {
            // It may have waited since: what ran after that is a part of another turn.
            let end_ns = first_within(&switches.left, between);
            let next_ns = end_ns.and(last_within(&switches.woken, between));
            found.push(Stretch { start_ns: since, end_ns: end_ns.unwrap_or(now.time_ns), turns: 1 });
            current = Some((next_ns.filter(|next| Some(*next) >= end_ns).unwrap_or(now.time_ns), false));
            continue;
        }
        add_quick(&mut found, Stretch { start_ns: since, end_ns: now.time_ns, turns });
        current = Some((now.time_ns, false));
    }
    // The recording ends within a turn.
    if let (Some((start_ns, true)), Some(last)) = (current, looks.last()) {
        found.push(Stretch { start_ns, end_ns: last.time_ns, turns: 1 });
    }
    found.retain(|stretch| stretch.start_ns < stretch.end_ns);
    found
}

fn first_within(times: &[u64], (after, to): (u64, u64)) -> Option<u64> {
    let first = times.partition_point(|time| *time <= after);
    times.get(first).copied().filter(|time| *time <= to)
}

fn last_within(times: &[u64], (after, to): (u64, u64)) -> Option<u64> {
    let behind = times.partition_point(|time| *time <= to);
    times[..behind].last().copied().filter(|time| *time > after)
}

fn add_quick(found: &mut Vec<Stretch>, stretch: Stretch) {
    if let Some(last) = found.last_mut()
        && last.turns > 1
        && last.end_ns == stretch.start_ns
        && stretch.end_ns - last.start_ns <= LONGEST_STRETCH_NS
    {
        last.end_ns = stretch.end_ns;
        last.turns = last.turns.saturating_add(stretch.turns);
    } else {
        // Less than two looks saw it: it is not known to be long.
        found.push(Stretch { turns: stretch.turns.max(2), ..stretch });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(rows: &[(u64, u64, bool)]) -> Vec<Look> {
        rows.iter().map(|&(time_ns, count, waiting)| Look { time_ns, count, waiting }).collect()
    }

    fn found(rows: &[(u64, u64, bool)], woken: &[u64], left: &[u64]) -> Vec<(u64, u64, u64)> {
        let switches = Switches { left: left.to_vec(), woken: woken.to_vec(), is_preempted: false };
        let stretches = stretches(&looks(rows), &switches);
        stretches.iter().map(|stretch| (stretch.start_ns, stretch.end_ns, stretch.turns)).collect()
    }

    #[test]
    fn a_counter_that_stands_still_is_a_long_turn() {
        let rows =
            [(0, 1, false), (10, 5, false), (20, 9, false), (30, 9, false), (40, 9, false), (50, 12, false)];
        assert_eq!(found(&rows, &[], &[]), [(0, 20, 8), (20, 50, 1)]);
    }

    #[test]
    fn waiting_is_no_turn() {
        let rows =
            [(0, 3, true), (50, 3, true), (100, 3, false), (110, 3, false), (120, 4, true), (130, 4, true)];
        assert_eq!(found(&rows, &[7, 93], &[5, 118, 119]), [(93, 118, 1)]);
        assert_eq!(found(&rows, &[], &[]), [(100, 120, 1)], "nobody told of switches");
        let rows = [(0, 3, true), (100, 3, false), (110, 3, false), (120, 4, false), (130, 4, true)];
        assert_eq!(found(&rows, &[7, 93], &[]), [(93, 120, 1)]);
        assert_eq!(found(&rows, &[7, 93], &[114, 118]), [(93, 114, 1)], "it waited before it was looked at");
        assert_eq!(found(&[(0, 3, true), (50, 4, true), (100, 5, true)], &[7], &[8]), []);
    }

    #[test]
    fn a_turn_after_a_wait_begins_with_it() {
        let rows = [
            (0, 3, true),
            (100, 3, false),
            (110, 3, false),
            (130, 5, false),
            (140, 5, false),
            (150, 6, false),
        ];
        assert_eq!(found(&rows, &[93, 125], &[118]), [(93, 118, 1), (125, 150, 1)]);
        assert_eq!(found(&rows, &[93, 112], &[118]), [(93, 118, 1), (130, 150, 1)], "it woke before");
    }

    #[test]
    fn who_is_preempted_does_not_wait() {
        let mut switches = Switches::default();
        for (time_ns, out, preempted) in
            [(1, true, false), (2, false, false), (3, true, true), (4, false, false), (5, true, false)]
        {
            switches.add(&RawSwitch { time_ns, thread: 0, out, preempted });
        }
        assert_eq!((switches.left, switches.woken), (vec![1, 5], vec![2]));
    }

    #[test]
    fn a_turn_at_the_end_counts_as_far_as_it_was_seen() {
        assert_eq!(found(&[(0, 1, false), (10, 1, false), (20, 1, false)], &[], &[]), [(0, 20, 1)]);
        assert_eq!(found(&[(0, 1, false)], &[], &[]), []);
        assert_eq!(found(&[], &[], &[]), []);
    }

    #[test]
    fn counters_that_fall_do_no_harm() {
        assert_eq!(found(&[(0, 9, false), (10, 1, false), (20, u64::MAX, false)], &[], &[]).len(), 1);
    }
}
