//! The turns of one event loop, from looks at it. libuv notes when its poll begins and for how long it has polled, so
//! a turn begins where one poll ends and ends where the next begins, whenever it is looked at. A loop that is never
//! idle polls without waiting: there the count of turns, and the start that the loop notes for its turn, distinguish
//! them, as exactly as the looks follow each other.

use super::delays::TurnEnd;

/// Turns that last this long are reported one by one.
pub(crate) const LONG_NS: u64 = 50_000_000;
/// Quick turns are reported in stretches of at most this length.
const LONGEST_STRETCH_NS: u64 = 1_000_000_000;

/// One look at a loop and its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) now_ns: u64,
    /// What the loop has: when its poll began, 0 outside of one; for how long it has polled before; its turns; when
    /// its turn began.
    pub(crate) entry_ns: u64,
    pub(crate) idle_ns: u64,
    pub(crate) count: Option<u64>,
    pub(crate) time_ns: u64,
    /// What the kernel has counted for the thread: on the CPU, waiting for one, and of that held back by the limit.
    pub(crate) run_ns: u64,
    pub(crate) ready_ns: u64,
    pub(crate) throttled_ns: Option<u64>,
    /// Whether the process is stopped or frozen.
    pub(crate) is_stopped: bool,
}

impl Look {
    fn is_polling(&self) -> bool {
        self.entry_ns != 0
    }

    /// Whether the loop has never polled so far.
    fn is_before_first_poll(&self) -> bool {
        self.entry_ns == 0 && self.idle_ns == 0 && self.count.unwrap_or(0) == 0
    }

    fn counters(&self) -> Counters {
        Counters { run_ns: self.run_ns, ready_ns: self.ready_ns, throttled_ns: self.throttled_ns }
    }
}

/// What the kernel has counted for a thread up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    run_ns: u64,
    ready_ns: u64,
    throttled_ns: Option<u64>,
}

/// What a long turn was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Turn,
    /// Work before the loop's first poll.
    Startup,
    /// The process was stopped.
    Stopped,
}

/// A turn of 50 ms or more, and how it was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongTurn {
    pub(crate) kind: Kind,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) run_ns: u64,
    pub(crate) ready_ns: u64,
    pub(crate) throttled_ns: Option<u64>,
}

/// What looks show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Long(LongTurn),
    /// Quick turns without a wait between them.
    Quick {
        start_ns: u64,
        end_ns: u64,
        turns: u64,
    },
}

/// What is known of a loop since it was watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) polled_ns: u64,
    pub(crate) turns: Option<u64>,
}

/// The turn that goes on.
#[derive(Clone, Copy, Debug)]
struct Open {
    kind: Kind,
    start_ns: u64,
    from: Counters,
}

/// Where one turn ended and the next began, between two looks.
struct Boundary {
    /// The end of the turn that was going on.
    end_ns: u64,
    /// The start of the one that goes on now, if the loop does not poll.
    start_ns: Option<u64>,
    /// How many turns ended.
    turns: u64,
}

/// The state of one loop.
#[derive(Debug)]
pub(crate) struct Turns {
    /// When its process or thread began, and whether that was seen.
    born_ns: u64,
    is_new: bool,
    first: Option<Look>,
    before: Option<Look>,
    open: Option<Open>,
    /// Since when the process is stopped, and when it was last seen so.
    gap: Option<(u64, u64)>,
    quick: Option<(u64, u64, u64)>,
    found: Vec<Seen>,
}

impl Turns {
    /// A loop whose process or thread began at `born_ns`, or was there before.
    pub(crate) fn new(born_ns: u64, is_new: bool) -> Self {
        Self {
            born_ns,
            is_new,
            first: None,
            before: None,
            open: None,
            gap: None,
            quick: None,
            found: Vec::new(),
        }
    }

    /// Takes a look in; what it completes is appended to what [`Turns::take`] gives. Returns how the turn ended that
    /// was going on, if it did.
    pub(crate) fn look(&mut self, now: Look) -> Option<TurnEnd> {
        let Some(before) = self.before else {
            self.begin(now);
            return None;
        };
        if now.is_stopped {
            let middle_ns = middle(before.now_ns, now.now_ns);
            self.gap = Some((self.gap.map_or(middle_ns, |(start_ns, _)| start_ns), now.now_ns));
            return Some(TurnEnd::Apart);
        }
        let before = match self.gap.take() {
            Some((start_ns, seen_ns)) => {
                self.end_gap(before, start_ns, middle(seen_ns, now.now_ns))
            }
            None => before,
        };
        let end = self.compare(&before, &now);
        self.before = Some(now);
        end
    }

    /// Whether a request would wait for the turn that goes on: the loop has begun to poll, and its process runs.
    pub(crate) fn is_serving(&self) -> bool {
        let is_turn = |open: Open| open.kind == Kind::Turn;
        self.gap.is_none() && self.before.is_some() && self.open.is_none_or(is_turn)
    }

    /// What was seen since the last time.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Seen> + '_ {
        self.found.drain(..)
    }

    /// The turn that goes on: since when, and for how long its thread was neither running nor ready since then.
    pub(crate) fn going_on(&self) -> Option<(u64, u64)> {
        let (open, now) = (self.open?, self.before?);
        let (run_ns, ready_ns) = (
            now.run_ns.saturating_sub(open.from.run_ns),
            now.ready_ns.saturating_sub(open.from.ready_ns),
        );
        let length_ns = now.now_ns.saturating_sub(open.start_ns);
        Some((open.start_ns, length_ns.saturating_sub(run_ns).saturating_sub(ready_ns)))
    }

    /// The watch ends, or the loop does.
    pub(crate) fn finish(&mut self, end_ns: u64) {
        let Some(before) = self.before else { return };
        let end_ns = end_ns.max(before.now_ns);
        if let Some((start_ns, _)) = self.gap.take() {
            self.end_gap(before, start_ns, end_ns);
            self.open = None;
        }
        if let Some(open) = self.open.take() {
            self.close(open, end_ns, before.counters());
        }
        self.flush_quick();
    }

    /// What is known so far.
    pub(crate) fn watched(&self) -> Option<Watched> {
        let (first, last) = (self.first?, self.before?);
        let polled = |look: &Look| {
            let poll_ns =
                if look.is_polling() { look.now_ns.saturating_sub(look.entry_ns) } else { 0 };
            look.idle_ns.saturating_add(poll_ns)
        };
        let end_ns = self.gap.map_or(last.now_ns, |(_, seen_ns)| seen_ns);
        let start_ns = self.start_of(&first);
        Some(Watched {
            start_ns,
            end_ns,
            polled_ns: polled(&last)
                .saturating_sub(polled(&first))
                .min(end_ns.saturating_sub(start_ns)),
            turns: last.count.zip(first.count).map(|(last, first)| last.saturating_sub(first)),
        })
    }

    /// The watch of a loop that has not polled yet begins with its process.
    fn start_of(&self, first: &Look) -> u64 {
        if self.is_start(first) { self.born_ns.min(first.now_ns) } else { first.now_ns }
    }

    /// Whether the loop has not polled yet. One that counts no turns, and has been busy ever since, looks the same.
    fn is_start(&self, first: &Look) -> bool {
        first.is_before_first_poll() && (self.is_new || first.count.is_some())
    }

    fn begin(&mut self, now: Look) {
        if now.is_stopped {
            // What it does shows when it goes on.
            return;
        }
        if !now.is_polling() {
            let kind = if self.is_start(&now) { Kind::Startup } else { Kind::Turn };
            let (start_ns, from) = match kind {
                Kind::Startup => (self.born_ns.min(now.now_ns), Counters::default()),
                // It began before the watch: as far as it is known, from here on.
                _ => (now.now_ns, now.counters()),
            };
            let throttled_ns = now.throttled_ns;
            self.open = Some(Open { kind, start_ns, from: Counters { throttled_ns, ..from } });
        }
        self.first = Some(now);
        self.before = Some(now);
    }

    /// The process went on: a gap, and what was going on before and goes on after it.
    fn end_gap(&mut self, before: Look, start_ns: u64, end_ns: u64) -> Look {
        if let Some(open) = self.open {
            self.close(open, start_ns, before.counters());
            self.open = Some(Open { start_ns: end_ns, from: before.counters(), ..open });
        }
        let from = before.counters();
        self.close(Open { kind: Kind::Stopped, start_ns, from }, end_ns, from);
        Look { now_ns: end_ns, ..before }
    }

    fn compare(&mut self, before: &Look, now: &Look) -> Option<TurnEnd> {
        if now.is_before_first_poll() && self.open.is_some_and(|open| open.kind == Kind::Startup) {
            // Setting a timer moves its time, but it has not turned yet.
            return None;
        }
        let boundary = boundary(before, now)?;
        let is_busy = !before.is_polling() && !now.is_polling();
        // Other turns may have followed the one that ended, and setting a timer moves the start that the loop notes
        // for its turn.
        let latest_ns = boundary.start_ns.filter(|_| is_busy);
        let end_ns =
            latest_ns.map_or(boundary.end_ns, |latest_ns| middle(before.now_ns, latest_ns));
        let mut end = TurnEnd::At(end_ns);
        let is_exact = now.is_polling() && boundary.turns <= 1;
        if let Some(open) = self.open.take() {
            let to = if is_exact { now.counters() } else { between(before, now, boundary.end_ns) };
            let is_long = self.close(open, boundary.end_ns, to);
            if is_long {
                end = TurnEnd::Apart;
            }
            if is_busy && !is_long && open.kind == Kind::Turn {
                let end_ns = boundary.start_ns.unwrap_or(boundary.end_ns);
                self.add_quick(open.start_ns, end_ns, boundary.turns);
            }
        } else if now.is_polling() {
            self.close_between(before, now, boundary.turns);
        }
        self.open = boundary.start_ns.map(|start_ns| {
            // A thread that polled has not run since.
            let from = if before.is_polling() && boundary.turns == 0 {
                before.counters()
            } else {
                between(before, now, start_ns)
            };
            Open { kind: Kind::Turn, start_ns, from }
        });
        Some(end)
    }

    /// Turns that passed between two looks at a loop that polled. The last one began at the time that the loop notes;
    /// if there was only one before it, that had the rest of the time that was not polled.
    fn close_between(&mut self, before: &Look, now: &Look, turns: u64) {
        let idle_ns = now.idle_ns.saturating_sub(before.idle_ns);
        let within = |time_ns: u64| clamp(time_ns, before.now_ns, now.entry_ns);
        let first_ns = within(before.entry_ns.saturating_add(idle_ns));
        let last_ns = if turns == 1 { first_ns } else { within(now.time_ns) };
        let mut close = |start_ns: u64, end_ns: u64| {
            let from = between(before, now, start_ns);
            self.close(
                Open { kind: Kind::Turn, start_ns, from },
                end_ns,
                between(before, now, end_ns),
            );
        };
        if turns == 2 && now.count.is_some() {
            close(first_ns, last_ns);
        }
        close(last_ns, now.entry_ns);
    }

    /// Reports a turn that was long; whether it was.
    fn close(&mut self, open: Open, end_ns: u64, to: Counters) -> bool {
        let length_ns = end_ns.saturating_sub(open.start_ns);
        if length_ns < LONG_NS {
            return false;
        }
        self.flush_quick();
        let run_ns = to.run_ns.saturating_sub(open.from.run_ns).min(length_ns);
        let ready_ns = to.ready_ns.saturating_sub(open.from.ready_ns).min(length_ns - run_ns);
        let throttled = to.throttled_ns.zip(open.from.throttled_ns);
        self.found.push(Seen::Long(LongTurn {
            kind: open.kind,
            start_ns: open.start_ns,
            end_ns,
            run_ns,
            ready_ns,
            throttled_ns: throttled.map(|(to, from)| to.saturating_sub(from).min(ready_ns)),
        }));
        true
    }

    fn add_quick(&mut self, start_ns: u64, end_ns: u64, turns: u64) {
        if let Some((first_ns, last_ns, sum)) = &mut self.quick
            && *last_ns == start_ns
            && end_ns.saturating_sub(*first_ns) <= LONGEST_STRETCH_NS
        {
            *last_ns = end_ns;
            *sum = sum.saturating_add(turns);
            return;
        }
        self.flush_quick();
        self.quick = Some((start_ns, end_ns, turns));
    }

    fn flush_quick(&mut self) {
        if let Some((start_ns, end_ns, turns)) = self.quick.take()
            && end_ns > start_ns
        {
            // One that was not long is reported as several, so that it is not taken for a stall.
            self.found.push(Seen::Quick { start_ns, end_ns, turns: turns.max(2) });
        }
    }
}

/// Whether a turn ended between two looks, or one began.
fn boundary(before: &Look, now: &Look) -> Option<Boundary> {
    let idle_ns = now.idle_ns.saturating_sub(before.idle_ns);
    let turns = now.count.zip(before.count).map(|(now, before)| now.saturating_sub(before));
    let within = |time_ns: u64| clamp(time_ns, before.now_ns, now.now_ns);
    match (before.is_polling(), now.is_polling()) {
        (true, true) if before.entry_ns == now.entry_ns => None,
        // The count grows right before a poll.
        (true, true) => {
            Some(Boundary { end_ns: now.entry_ns, start_ns: None, turns: turns.unwrap_or(2) })
        }
        (true, false) => {
            let woken_ns = within(before.entry_ns.saturating_add(idle_ns));
            let loop_time_ns = within(now.time_ns);
            let start_ns = match turns {
                Some(0) if idle_ns > 0 => woken_ns,
                Some(_) => loop_time_ns,
                // Perhaps it turned more than once, perhaps it set a timer.
                None => middle(woken_ns, loop_time_ns.max(woken_ns)),
            };
            Some(Boundary { end_ns: start_ns, start_ns: Some(start_ns), turns: turns.unwrap_or(0) })
        }
        (false, true) => {
            let is_one = turns.map_or(idle_ns == 0, |turns| turns <= 1);
            let latest_ns = now.entry_ns.max(before.now_ns);
            let last_ns = clamp(now.time_ns, before.now_ns, latest_ns).saturating_sub(idle_ns);
            let end_ns = match turns {
                _ if is_one => latest_ns,
                // Another round to see whether there is more to do, mostly.
                Some(2 | 3) => last_ns.max(before.now_ns),
                _ => middle(before.now_ns, last_ns),
            };
            Some(Boundary { end_ns, start_ns: None, turns: turns.unwrap_or(1) })
        }
        (false, false) => {
            let is_same =
                turns.map_or(before.time_ns == now.time_ns, |turns| turns == 0) && idle_ns == 0;
            let start_ns = within(now.time_ns);
            let end_ns = match turns {
                None | Some(1) => start_ns.saturating_sub(idle_ns).max(before.now_ns),
                Some(_) => middle(before.now_ns, start_ns.saturating_sub(idle_ns)),
            };
            let boundary =
                Boundary { end_ns, start_ns: Some(start_ns), turns: turns.unwrap_or(1).max(1) };
            (!is_same).then_some(boundary)
        }
    }
}

/// A time, not before the second and, if that can be, not after the third.
fn clamp(time_ns: u64, from_ns: u64, to_ns: u64) -> u64 {
    time_ns.clamp(from_ns, to_ns.max(from_ns))
}

/// The middle of two times; the first where the second is before it.
fn middle(from_ns: u64, to_ns: u64) -> u64 {
    from_ns.saturating_add(to_ns.saturating_sub(from_ns) / 2)
}

/// The counters at a moment between two looks, as if they had grown evenly.
fn between(before: &Look, now: &Look, time_ns: u64) -> Counters {
    let length_ns = now.now_ns.saturating_sub(before.now_ns).max(1);
    let part_ns = time_ns.saturating_sub(before.now_ns).min(length_ns);
    let at = |from: u64, to: u64| {
        let grown =
            u128::from(to.saturating_sub(from)) * u128::from(part_ns) / u128::from(length_ns);
        from.saturating_add(u64::try_from(grown).unwrap_or(u64::MAX))
    };
    Counters {
        run_ns: at(before.run_ns, now.run_ns),
        ready_ns: at(before.ready_ns, now.ready_ns),
        throttled_ns: before.throttled_ns.zip(now.throttled_ns).map(|(from, to)| at(from, to)),
    }
}

#[cfg(test)]
mod tests;
