//! JavaScript names are read from the target's memory while its samples are fresh. A page there may block every reader
//! for ever, so a helper process does that: ourselves, started once more. It reads the rings, walks the stacks, and
//! sends samples with names. When it is silent for too long, it is ended and another one begins.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use capture::{Rings, Sampler, own, records};
use trace::Loss;

use super::journal::Journal;
use super::machine::ThisMachine;
use super::outgoing::Outgoing;
use super::pace::is_fast;
use super::reader::Reader;
use super::rounds::{Arranged, Rounds};
use super::session::{LONGEST_READ, SHORTEST_ROUND};
use super::watching::Watching;
use crate::message::{Batch, Message, ReadOrder};

/// How long sampling waits for the first look at event loops, and how long that look is waited for.
const WATCH_BEGINS: Duration = Duration::from_millis(500);
const FIRST_LOOK: Duration = Duration::from_millis(400);
/// How often it is started: for a target that blocks every reader, the last one walks stacks, and reads no memory.
const MOST_STARTS: u32 = 5;
/// How many threads may block it before it is given up, too.
const MOST_EXCLUDED: usize = 4;
/// A reader that has worked for so long counts as sound: the starts before it are forgotten.
const STEADY: Duration = Duration::from_secs(10);

/// The reader, as the recorder sees it.
pub(super) struct Names {
    reader: Option<Reader>,
    starts: u32,
    /// The number of the next frame: those of a reader that was ended are taken.
    next_row: u32,
    /// Whether a thread may have blocked a reader that only waited for a slow disk.
    has_doubt: bool,
    /// The threads for which reading has never ended, and whether nothing is read at all.
    excluded_tids: Vec<u32>,
    leaves_memory: bool,
    /// What readers had read and not sent when they ended.
    journal: Option<Journal>,
    /// How many have crashed.
    crashes: u32,
    /// What was mapped while a reader begins, kept for that reader.
    meanwhile: Vec<u8>,
}

/// A recording reports at most this many crashes: more add nothing new.
const MOST_CRASHES: u32 = 1000;

/// The sentence of a recorder that gives up.
const GIVEN_UP: &str = "the part of nodescope that reads names has crashed too often: from then on, JavaScript has \
    names only from a perf map";
const NOT_STARTED: &str = "the part of nodescope that reads names cannot be started again: from then on, JavaScript \
    has names only from a perf map, and event loops are not watched";
const BLOCKED: &str = "the memory of the target blocks every reader: from then on, JavaScript has names only from a perf map";
const EXCLUDED: &str =
    "a thread of the target blocks every reader of the memory that it runs in: it has no names";

impl Names {
    /// Starts a reader, which begins to watch event loops; without one, samples have no JavaScript names.
    pub(super) fn prepare(sampler: &Sampler, pids: &[u32]) -> Self {
        let mut names =
            Self { journal: Journal::new().ok(), starts: 1, leaves_memory: false, ..Self::none() };
        let order = ReadOrder {
            journal: names.shared_journal(),
            watched: pids.to_vec(),
            ..ReadOrder::default()
        };
        names.reader = Reader::start(sampler, order).ok();
        names
    }

    /// Waits until the loops are watched, or for a moment: from then on no block goes unseen.
    pub(super) fn wait_for_watch(&self) {
        self.wait(WATCH_BEGINS);
    }

    /// Sampling has begun, so the reader does.
    pub(super) fn begin(&mut self, sampler: &Sampler) {
        match &mut self.reader {
            Some(reader) => {
                reader.begin(sampler);
                reader.give_rings(Vec::new());
            }
            None => self.restart(sampler, true),
        }
    }

    /// Without a reader.
    pub(super) fn none() -> Self {
        Self {
            reader: None,
            journal: None,
            starts: MOST_STARTS,
            crashes: 0,
            next_row: 0,
            has_doubt: true,
            excluded_tids: Vec::new(),
            leaves_memory: true,
            meanwhile: Vec::new(),
        }
    }

    /// Whether there is a reader, even one that has just begun.
    pub(super) fn is_reading(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether a reader reads the rings: no other process may do so meanwhile.
    pub(super) fn has_rings(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.has_rings)
    }

    /// Waits for the reader's next message.
    pub(super) fn wait(&self, most: Duration) {
        if let Some(reader) = &self.reader {
            reader.wait(most);
        }
    }

    /// Appends what was sampled. A reader that hangs or has ended is replaced; until the next one is ready, the rings
    /// are read here, without names.
    pub(super) fn read(&mut self, sampler: &mut Sampler, out: &mut Vec<u8>) {
        self.receive(sampler, out);
        if self.has_rings() {
            return;
        }
        let start = out.len();
        sampler.read(out);
        let Some(reader) = &mut self.reader else { return };
        // The next reader must know of everything that is mapped while it begins.
        let changes = records(&out[start..]).filter(|(is_sample, _)| !is_sample);
        changes.for_each(|(_, record)| self.meanwhile.extend_from_slice(record));
        if reader.is_ready {
            reader.give_rings(std::mem::take(&mut self.meanwhile));
        }
    }

    fn receive(&mut self, sampler: &mut Sampler, out: &mut Vec<u8>) {
        let Some(reader) = &mut self.reader else { return };
        let is_alive = reader.receive(Duration::ZERO).unwrap_or(false);
        let is_stuck = is_alive && reader.is_stuck();
        self.take(sampler, out);
        if is_alive && !is_stuck {
            return;
        }
        let Some(reader) = self.reader.take() else { return };
        let had_names = !self.leaves_memory;
        if reader.started.elapsed() > STEADY && had_names {
            self.starts = self.starts.min(1);
        }
        let trying = self.end(reader, is_stuck, sampler, out);
        if let Some(tid) = trying
            && !std::mem::take(&mut self.has_doubt)
        {
            // A thread that is known to block is no reason to give up, unless there are many.
            self.excluded_tids.push(tid);
            self.starts = if self.excluded_tids.len() > MOST_EXCLUDED { MOST_STARTS } else { 1 };
            out.extend(own::note(EXCLUDED));
        }
        self.restart(sampler, false);
        if had_names && self.leaves_memory {
            out.extend(own::note(if is_stuck { BLOCKED } else { GIVEN_UP }));
        } else if had_names && self.reader.is_none() {
            out.extend(own::note(NOT_STARTED));
        }
    }

    /// Appends what the reader has sent.
    fn take(&mut self, sampler: &mut Sampler, out: &mut Vec<u8>) {
        let Some(reader) = &mut self.reader else { return };
        let (samples, next_row) = reader.take(out);
        sampler.count(samples);
        self.next_row = self.next_row.max(next_row);
    }

    /// Ends a reader: takes what it has sent, and what it had read and not sent. The thread for which it was reading
    /// when it hung, if it did; else it has crashed, which is reported.
    fn end(
        &mut self,
        mut reader: Reader,
        is_stuck: bool,
        sampler: &mut Sampler,
        out: &mut Vec<u8>,
    ) -> Option<u32> {
        let trying = Some(reader.trying).filter(|tid| *tid != 0 && is_stuck);
        let status = reader.end();
        self.reader = Some(reader);
        self.take(sampler, out);
        let reader = self.reader.take()?;
        if let Some(rest) = self.journal.as_ref().and_then(|journal| journal.rest(reader.taken)) {
            sampler
                .count(records(&rest.records).filter(|(is_sample, _)| *is_sample).count() as u64);
            sampler.go_on_from(&rest.positions);
            out.extend_from_slice(&rest.records);
            out.extend(own::finished_round());
        }
        if !is_stuck && self.crashes < MOST_CRASHES {
            self.crashes += 1;
            out.extend(own::loss(Loss::HelperCrash, 1));
            out.extend(own::note(&crashed(&reader.cause(status))));
        }
        trying
    }

    /// Lets the reader read what is left, and takes it. Where it cannot, another one does without names.
    pub(super) fn finish(&mut self, sampler: &mut Sampler, out: &mut Vec<u8>) {
        while let Some(mut reader) = self.reader.take() {
            if !reader.has_rings {
                // It has nothing yet: what is left is read here.
                return;
            }
            let (is_done, is_stuck) = reader.finish();
            if is_done {
                self.reader = Some(reader);
                self.take(sampler, out);
                self.reader = None;
            } else {
                self.end(reader, is_stuck, sampler, out);
                self.starts = MOST_STARTS;
                self.restart(sampler, true);
            }
        }
    }

    /// Starts the next reader, at once with the rings, or when it has asked for them.
    fn restart(&mut self, sampler: &Sampler, has_rings: bool) {
        self.reader = None;
        self.meanwhile.clear();
        if self.starts < MOST_STARTS {
            self.starts += 1;
        } else if std::mem::replace(&mut self.leaves_memory, true) {
            return;
        }
        let order = ReadOrder {
            next_row: self.next_row,
            leaves_memory: self.leaves_memory,
            excluded_tids: self.excluded_tids.clone(),
            journal: self.shared_journal(),
            ..ReadOrder::default()
        };
        self.reader = Reader::start(sampler, order).ok();
        if let Some(reader) = &mut self.reader {
            reader.begin(sampler);
            if has_rings {
                reader.give_rings(Vec::new());
            }
        }
    }

    fn shared_journal(&mut self) -> Option<i32> {
        self.journal.as_mut().and_then(|journal| journal.share().ok())
    }
}

/// The sentence about a reader that has crashed.
fn crashed(cause: &str) -> String {
    format!(
        "the part of nodescope that reads names has crashed ({cause}): sampling went on, for a moment without names. \
         This is a bug of nodescope: please report it"
    )
}

/// The job of a reader: reads rings. Returns when the recording is over. `unreadable` has the sentence
/// about a process whose memory may not be read.
pub fn read_names(unreadable: fn(u32) -> String) -> io::Result<()> {
    // Ctrl-C is for the recorder, which signals when it is over.
    sys::signals::catch_end()?;
    let mut stdin = io::stdin().lock();
    let Some(Message::Read(order)) = Message::read(&mut stdin)? else { return Ok(()) };
    let ReadOrder { rings, events, next_row, leaves_memory, excluded_tids, .. } = order;
    let ReadOrder { journal, watched, pause_us, fast_pause_us, .. } = order;
    let pauses =
        [pause_us, fast_pause_us].map(|us| LONGEST_READ.min(Duration::from_micros(us.into())));
    let journal = journal.and_then(|number| Journal::inherited(number).ok());
    let mut rings = Rings::inherited(&rings)?;
    // Stdout, not cut into lines.
    let mut stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let deliver = Box::new(move |batch: Batch| stdout.write_all(&Message::Batch(batch).encode()));
    let outgoing = Outgoing::new(events, next_row, unreadable, deliver);
    let mut rounds = Rounds::new(&ThisMachine, &excluded_tids, outgoing);
    // The watch reads memory, which a target may forbid by blocking: then nothing is watched.
    let mut watching = match leaves_memory {
        true => Watching::nothing(),
        false => watch_early(watched, &excluded_tids, &mut rounds)?,
    };
    let Some(Message::Records(head)) = Message::read(&mut stdin)? else { return Ok(()) };
    capture::processes(&head).into_iter().for_each(|pid| watching.add(pid));
    if leaves_memory {
        rounds.leave_heap();
    }
    rounds.begin(&head);
    // The rings are ours when the recorder's next message comes: until then it reads them.
    rounds.send(true)?;
    let Some(Message::Records(meanwhile)) = Message::read(&mut stdin)? else { return Ok(()) };
    rounds.learn(&meanwhile);
    name_rounds(&mut rings, &mut rounds, &mut watching, journal, pauses)
}

/// Reads the rings, mostly after a pause, until the recorder ends it, by the end of stdin. A wake costs
/// more than the samples that are read then, and what is read 80 ms later still has its name: of 10,000 frames of a
/// program that collects all the time, at most 16 lose it at 100 ms.
fn name_rounds(
    rings: &mut Rings,
    rounds: &mut Rounds<'_>,
    watching: &mut Watching,
    mut journal: Option<Journal>,
    [base_pause, fast_pause]: [Duration; 2],
) -> io::Result<()> {
    let mut pause = fast_pause;
    let (mut raw, mut is_last, mut next_scan) = (Vec::new(), false, Instant::now());
    loop {
        let round = Instant::now();
        raw.clear();
        let positions = rings.read(&mut raw);
        let arranged = Arranged::of(&raw);
        if journal.as_mut().is_some_and(|journal| journal.add(&arranged.all, positions).is_err()) {
            // Nothing is lost by that as long as all goes well.
            journal = None;
        }
        rings.release();
        match arranged.last_period_ns() {
            Some(period_ns) if is_fast(period_ns) => pause = fast_pause,
            Some(_) => pause = base_pause,
            None => {}
        }
        rounds.take(&arranged);
        if round >= next_scan {
            next_scan = round + SCAN;
            rounds.pids().for_each(|pid| watching.add(pid));
            rounds.scan();
        }
        watching.learn(&raw);
        rounds.take_watched(if is_last { watching.finish() } else { watching.take() });
        let taken = rounds.send(is_last)?;
        if let Some(taken) = taken
            && journal.as_mut().is_some_and(|journal| journal.forget(taken).is_err())
        {
            journal = None;
        }
        if is_last {
            return Ok(());
        }
        let asked = Instant::now();
        let at_sample = pause < SHORTEST_ROUND || rounds.wants_fresh_samples();
        is_last = rings.wait_or(0, pause, at_sample)?;
        // Many threads on many CPUs: they are read together.
        if asked.elapsed() < SHORTEST_ROUND / 2 {
            std::thread::sleep(SHORTEST_ROUND.saturating_sub(round.elapsed()));
        }
    }
}

/// Begins to watch, and reports that when it has looked once: sampling waits for that.
fn watch_early(
    pids: Vec<u32>,
    excluded_tids: &[u32],
    rounds: &mut Rounds<'_>,
) -> io::Result<Watching> {
    let is_early = !pids.is_empty();
    let watching = Watching::new(pids, excluded_tids, true);
    if is_early {
        watching.wait_for_look(FIRST_LOOK);
        rounds.send(true)?;
    }
    Ok(watching)
}

/// How often new processes are looked for.
const SCAN: Duration = Duration::from_millis(500);
