//! What becomes of the records of the rings, round by round: stacks are walked and named, and handed over as records
//! without registers and stacks. Rings, memory and files are given from outside, so that what was kept of a recording
//! can be read again without a kernel and without a target.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use capture::{own, period, records};
use formats::perf_data::Live;
use symbols::Walker;

use super::asleep::{Asleep, Watched, has_javascript};
use super::machine::Machine;
use super::outgoing::Outgoing;

/// Names what the rings hold.
pub struct Rounds<'a> {
    machine: &'a dyn Machine,
    out: Rc<RefCell<Outgoing<'a>>>,
    walker: Walker<'a>,
    live: Live,
    asleep: Asleep,
}

/// The records of one round, in the order in which they are handed over.
pub struct Arranged<'a> {
    /// Those that are no samples come first, by their times.
    pub all: Vec<&'a [u8]>,
    changes: usize,
}

impl<'a> Arranged<'a> {
    /// What is mapped in a round may be needed for its samples. A process that changes its CPU writes into another
    /// ring, and what it maps last counts.
    pub fn of(raw: &'a [u8]) -> Self {
        let of_kind = |wanted: bool| {
            records(raw)
                .filter(move |(is_sample, _)| *is_sample == wanted)
                .map(|(_, record)| record)
        };
        let mut all: Vec<&[u8]> = of_kind(false).collect();
        // Every record ends with thread, time, CPU and number.
        let time_ns = |record: &&[u8]| {
            let trailer = record.last_chunk::<32>();
            trailer
                .and_then(|trailer| trailer[8..].first_chunk())
                .map(|time| u64::from_ne_bytes(*time))
        };
        all.sort_by_key(time_ns);
        let changes = all.len();
        all.extend(of_kind(true));
        Self { all, changes }
    }

    /// What the last sample of it stands for.
    pub(super) fn last_period_ns(&self) -> Option<u64> {
        self.all.get(self.changes..)?.last().and_then(|sample| period(sample))
    }
}

impl<'a> Rounds<'a> {
    /// Begins. Nothing is read for the threads `excluded`.
    pub fn new(machine: &'a dyn Machine, excluded: &[u32], outgoing: Outgoing<'a>) -> Self {
        let next_row = outgoing.next_row();
        let out = Rc::new(RefCell::new(outgoing));
        let taken = Rc::clone(&out);
        let walker =
            Walker::new(next_row, excluded, machine, move |found| taken.borrow_mut().add(&found));
        Self { machine, out, walker, live: Live::default(), asleep: Asleep::default() }
    }

    /// From now on no heap is read: JavaScript gets no names.
    pub fn leave_heap(&mut self) {
        self.walker.leave_heap();
    }

    /// Takes what comes before all samples, as [`capture::Sampler::raw_head`] gives it, and prepares for them.
    pub fn begin(&mut self, head: &[u8]) {
        self.live.take(head, &mut self.walker);
        self.walker.prepare();
    }

    /// Takes records that another program has read, and handed over.
    pub fn learn(&mut self, records: &[u8]) {
        self.live.take(records, &mut self.walker);
    }

    /// Names the samples of a round.
    pub fn take(&mut self, round: &Arranged<'_>) {
        self.walker.begin_round();
        for (at, record) in round.all.iter().enumerate() {
            self.out.borrow_mut().begin((at < round.changes).then_some(record));
            self.live.take(record, &mut self.walker);
            self.out.borrow_mut().settle();
        }
        self.walker.read_scripts();
    }

    /// Looks for mappings that may have been missed.
    pub fn scan(&mut self) {
        if self.walker.take_missed() {
            let pids: Vec<u32> = self.walker.pids().collect();
            let mappings: Vec<u8> =
                pids.iter().flat_map(|pid| self.machine.mappings(*pid)).collect();
            self.live.take(&mappings, &mut self.walker);
            self.out.borrow_mut().append(&mappings);
        }
    }

    /// The processes whose V8 can be read.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.walker.pids()
    }

    /// Whether samples should be read as soon as they are there.
    pub fn wants_fresh_samples(&self) -> bool {
        self.walker.wants_fresh_samples()
    }

    /// Takes what the watch of event loops has seen, names the stacks that slept, and counts what is missing.
    pub fn take_watched(&mut self, watched: Watched) {
        let mut out = Vec::new();
        for (reason, count) in self.walker.take_unnamed() {
            out.extend(own::unnamed(reason, count));
        }
        if let Some((loss, count)) = self.walker.take_losses() {
            out.extend(own::loss(loss, count));
        }
        self.out.borrow_mut().append(&out);
        let Watched { records: mut out, stacks, waits } = watched;
        for stack in &stacks {
            self.asleep.walk(stack, &mut self.walker, &mut out);
            let mut chain = self.out.borrow_mut().take_slept();
            if chain.as_ref().is_some_and(|chain| !has_javascript(chain)) {
                // V8 maps a copy of its builtins without an event.
                let mappings = self.machine.mappings(stack.pid);
                records(&mappings).for_each(|(_, record)| self.live.take(record, &mut self.walker));
                self.out.borrow_mut().append(&mappings);
                self.asleep.walk(stack, &mut self.walker, &mut out);
                chain = self.out.borrow_mut().take_slept().or(chain);
            }
            chain.into_iter().for_each(|chain| self.asleep.keep(stack, chain));
        }
        self.asleep.write_waits(&waits, &mut out);
        self.out.borrow_mut().append(&out);
    }

    /// Hands over what was found, unless that was just done; how many records of the rings that makes, if it was.
    pub fn send(&mut self, at_once: bool) -> io::Result<Option<u64>> {
        let mut out = self.out.borrow_mut();
        Ok(out.send(at_once)?.then(|| out.taken()))
    }
}
