//! JavaScript names are read from the target's memory while its samples are fresh. A page there may block whoever reads
//! it for ever, so a program of its own does that: ourselves, started once more. It reads the rings, walks the stacks,
//! and sends samples with names. When it is silent for too long, it is ended and another one begins.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use capture::{Rings, Sampler, mappings, own, records};
use formats::perf_data::Live;
use symbols::{Found, Note, Walker};
use trace::Address;
use trace::Loss;

use super::journal::Journal;
use super::perf::{LONGEST_ROUND, SHORTEST_ROUND};
use super::proc;
use super::reader::{MESSAGE_HEAD, NUMBERS, RINGS, Reader, WATCHED};
use super::watching::{WAITS_EVENT, Watching, has_javascript};
use crate::advice;
use crate::failure::Failure;

/// How long sampling waits for the first look at event loops, and how long that look is waited for.
const WATCH_BEGINS: Duration = Duration::from_millis(500);
const FIRST_LOOK: Duration = Duration::from_millis(400);
/// How often it is started: for a target that blocks every reader, the last one walks stacks, and reads no memory.
const MOST_STARTS: u32 = 5;
/// In place of the threads for which nothing is read.
const EVERYBODY: &str = "everybody";
/// How many threads may block it before it is given up, too.
const MOST_SHUNNED: usize = 4;
/// A reader that has worked for so long was no mistake: those before it are forgotten.
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
    shunned: Vec<u32>,
    shuns_everybody: bool,
    /// What readers had read and not sent when they ended.
    journal: Option<Journal>,
    /// How many have crashed.
    crashes: u32,
    /// What was mapped while a reader begins, for whom it is kept.
    meanwhile: Vec<u8>,
}

/// So much is sent at once, even if it was just done.
const MOST_UNSENT: usize = 48 << 10;

/// A recording tells of so many crashes: more say nothing new.
const MOST_CRASHES: u32 = 1000;

/// What a recorder says when it gives up.
const GIVEN_UP: &str = "the part of nodescope that reads names has crashed too often: from then on, JavaScript has names only from a perf map";
const BLOCKED: &str = "the memory of the target blocks whoever reads it: from then on, JavaScript has names only from a perf map";
const SHUNNED: &str =
    "a thread of the target blocks whoever reads the memory that it runs in: it has no names";

impl Names {
    /// Starts a reader, which begins to watch event loops; without one, samples have no JavaScript names.
    pub(super) fn prepare(sampler: &Sampler, pids: &[u32]) -> Self {
        let mut names =
            Self { journal: Journal::new().ok(), starts: 1, shuns_everybody: false, ..Self::none() };
        names.reader = Reader::spawn(sampler, 0, "", names.shared_journal(), pids).ok();
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
                reader.give_rings(&[]);
            }
            None => self.restart(sampler, true),
        }
    }

    /// Nobody reads.
    pub(super) fn none() -> Self {
        Self {
            reader: None,
            journal: None,
            starts: MOST_STARTS,
            crashes: 0,
            next_row: 0,
            has_doubt: true,
            shunned: Vec::new(),
            shuns_everybody: true,
            meanwhile: Vec::new(),
        }
    }

    /// Whether there is a reader, even one that has just begun.
    pub(super) fn is_reading(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether a reader reads the rings: nobody else may do so meanwhile.
    pub(super) fn has_rings(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.has_rings)
    }

    /// Waits for the reader's next words.
    pub(super) fn wait(&self, most: Duration) {
        if let Some(reader) = &self.reader {
            reader.wait(most);
        }
    }

    /// Appends what was sampled. A reader that hangs or has ended is replaced; until the next one is ready, the rings
    /// are read here, without names.
    pub(super) fn read(&mut self, sampler: &mut Sampler, out: &mut Vec<u8>) {
        self.listen(sampler, out);
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
            reader.give_rings(&std::mem::take(&mut self.meanwhile));
        }
    }

    fn listen(&mut self, sampler: &mut Sampler, out: &mut Vec<u8>) {
        let Some(reader) = &mut self.reader else { return };
        let is_alive = reader.listen(Duration::ZERO).unwrap_or(false);
        let is_stuck = is_alive && reader.is_stuck();
        self.take(sampler, out);
        if is_alive && !is_stuck {
            return;
        }
        let Some(reader) = self.reader.take() else { return };
        let had_names = !self.shuns_everybody;
        if reader.started.elapsed() > STEADY && had_names {
            self.starts = self.starts.min(1);
        }
        let trying = self.end(reader, is_stuck, sampler, out);
        if let Some(tid) = trying
            && !std::mem::take(&mut self.has_doubt)
        {
            // Whoever is known to block is no reason to give up, unless there are many.
            self.shunned.push(tid);
            self.starts = if self.shunned.len() > MOST_SHUNNED { MOST_STARTS } else { 1 };
            out.extend(own::note(SHUNNED));
        }
        self.restart(sampler, false);
        if had_names && self.shuns_everybody {
            out.extend(own::note(if is_stuck { BLOCKED } else { GIVEN_UP }));
        }
    }

    /// Appends what the reader has sent.
    fn take(&mut self, sampler: &mut Sampler, out: &mut Vec<u8>) {
        let Some(reader) = &mut self.reader else { return };
        let (samples, next_row) = reader.take(out);
        sampler.count(samples);
        self.next_row = self.next_row.max(next_row);
    }

    /// Ends a reader: takes what it has sent, and what it had read and not sent. The thread for which it was reading when
    /// it hung, if it did; else it has crashed, which is told.
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
            sampler.count(records(&rest.records).filter(|(is_sample, _)| *is_sample).count() as u64);
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
        let shunned = if self.starts < MOST_STARTS {
            self.starts += 1;
            self.shunned.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
        } else if !std::mem::replace(&mut self.shuns_everybody, true) {
            EVERYBODY.to_owned()
        } else {
            return;
        };
        self.reader = Reader::spawn(sampler, self.next_row, &shunned, self.shared_journal(), &[]).ok();
        if let Some(reader) = &mut self.reader {
            reader.begin(sampler);
            if has_rings {
                reader.give_rings(&[]);
            }
        }
    }

    fn shared_journal(&mut self) -> Option<i32> {
        self.journal.as_mut().and_then(|journal| journal.share().ok())
    }
}

/// What is said when a reader has crashed.
fn crashed(cause: &str) -> String {
    format!(
        "the part of nodescope that reads names has crashed ({cause}): sampling went on, for a moment without names. This is a bug of nodescope: please report it"
    )
}

/// Reads rings, if that is what this program was started for. Returns when the recording is over.
pub(crate) fn read_names() -> Option<Result<(), Failure>> {
    let rings = std::env::var(RINGS).ok()?;
    let numbers = std::env::var(NUMBERS).ok()?;
    Some(serve(&rings, &numbers).map_err(|error| Failure::failed(format!("cannot read names: {error}"))))
}

/// What a reader is told when it is started.
struct Orders {
    events: Vec<u64>,
    next_row: u32,
    shuns_everybody: bool,
    shunned: Vec<u32>,
    journal: Option<Journal>,
}

impl Orders {
    fn parse(numbers: &str) -> Option<Self> {
        let mut parts = numbers.split(':');
        let (events, next_row, shunned, journal) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let events: Result<Vec<u64>, _> = events.split(',').map(str::parse).collect();
        Some(Self {
            events: events.ok()?,
            next_row: next_row.parse().ok()?,
            shuns_everybody: shunned == EVERYBODY,
            shunned: shunned.split(',').filter_map(|tid| tid.parse().ok()).collect(),
            journal: journal.parse().ok().and_then(|number| Journal::inherited(number).ok()),
        })
    }
}

fn serve(rings: &str, numbers: &str) -> io::Result<()> {
    // Ctrl-C is for the recorder, which tells when it is over.
    sys::signals::catch_end()?;
    let Orders { events, next_row, shuns_everybody, shunned, mut journal } =
        Orders::parse(numbers).ok_or(io::ErrorKind::InvalidInput)?;
    let mut rings = Rings::inherited(rings)?;
    let message = RefCell::new(Message::new(next_row)?);
    // The watch reads memory, which a target may forbid by blocking: then nothing is watched.
    let mut watching = if shuns_everybody { Watching::nothing() } else { watch_early(&shunned, &message)? };
    let mut stdin = io::stdin().lock();
    let Some(head) = read_records(&mut stdin)? else { return Ok(()) };
    capture::processes(&head).into_iter().for_each(|pid| watching.add(pid));
    let mut walker = Walker::new(next_row, &shunned, proc::whereabouts, |found| {
        message.borrow_mut().add(&events, &found);
    });
    if shuns_everybody {
        walker.leave_heap();
    }
    let mut live = Live::default();
    live.take(&head, &mut walker);
    // The rings are ours when the recorder says so: until then it reads them.
    walker.prepare();
    message.borrow_mut().send(true)?;
    let Some(meanwhile) = read_records(&mut stdin)? else { return Ok(()) };
    live.take(&meanwhile, &mut walker);
    let (mut raw, mut is_last, mut next_scan) = (Vec::new(), false, Instant::now());
    loop {
        let round = Instant::now();
        raw.clear();
        let positions = rings.read(&mut raw);
        // What is mapped in this round may be needed for its samples.
        let mut all = changes(&raw);
        let changed = all.len();
        all.extend(records(&raw).filter(|(is_sample, _)| *is_sample).map(|(_, record)| record));
        if journal.as_mut().is_some_and(|journal| journal.add(&all, positions).is_err()) {
            // Nothing is lost by that as long as all goes well.
            journal = None;
        }
        rings.release();
        walker.begin_round();
        for (at, record) in all.into_iter().enumerate() {
            message.borrow_mut().begin((at < changed).then_some(record));
            live.take(record, &mut walker);
            message.borrow_mut().settle();
        }
        walker.read_scripts();
        if round >= next_scan {
            next_scan = round + SCAN;
            walker.pids().for_each(|pid| watching.add(pid));
            if walker.take_missed() {
                // A process that has ended has no mappings any more.
                let pids: Vec<u32> = walker.pids().collect();
                let mappings: Vec<u8> =
                    pids.iter().flat_map(|pid| mappings(*pid).unwrap_or_default()).collect();
                live.take(&mappings, &mut walker);
                message.borrow_mut().bytes.extend(mappings);
            }
        }
        for (reason, count) in walker.take_unnamed() {
            message.borrow_mut().bytes.extend(own::unnamed(reason, count));
        }
        if let Some((loss, count)) = walker.take_losses() {
            message.borrow_mut().bytes.extend(own::loss(loss, count));
        }
        take_watch((&mut watching, is_last), &raw, (&mut live, &mut walker), &message);
        let is_sent = message.borrow_mut().send(is_last)?;
        if is_sent && journal.as_mut().is_some_and(|journal| journal.forget(message.borrow().taken).is_err())
        {
            journal = None;
        }
        if is_last {
            return Ok(());
        }
        let asked = Instant::now();
        is_last = rings.wait_or(0, LONGEST_ROUND)?;
        // Many threads on many CPUs: they are read together.
        if asked.elapsed() < SHORTEST_ROUND / 2 {
            std::thread::sleep(SHORTEST_ROUND.saturating_sub(round.elapsed()));
        }
    }
}

/// Begins to watch, and says so when it has looked once: sampling waits for that.
fn watch_early(shunned: &[u32], message: &RefCell<Message>) -> io::Result<Watching> {
    let pids = std::env::var(WATCHED).unwrap_or_default();
    let pids: Vec<u32> = pids.split(',').filter_map(|pid| pid.parse().ok()).collect();
    let is_early = !pids.is_empty();
    let watching = Watching::new(pids, shunned, true);
    if is_early {
        watching.wait_for_look(FIRST_LOOK);
        message.borrow_mut().send(true)?;
    }
    Ok(watching)
}

/// Takes what the watch of event loops has seen, and names the stacks that slept.
fn take_watch(
    (watching, is_last): (&mut Watching, bool),
    raw: &[u8],
    (live, walker): (&mut Live, &mut Walker<'_>),
    message: &RefCell<Message>,
) {
    let mut out = Vec::new();
    watching.learn(raw);
    let sleeping = if is_last { watching.finish(&mut out) } else { watching.take(&mut out) };
    for asleep in &sleeping.stacks {
        watching.walk(asleep, walker, &mut out);
        let mut chain = message.borrow_mut().slept.take();
        if chain.as_ref().is_some_and(|chain| !has_javascript(chain)) {
            // V8 maps a copy of its builtins without telling.
            let mappings = mappings(asleep.pid).unwrap_or_default();
            records(&mappings).for_each(|(_, record)| live.take(record, walker));
            message.borrow_mut().bytes.extend(mappings);
            watching.walk(asleep, walker, &mut out);
            chain = message.borrow_mut().slept.take().or(chain);
        }
        chain.into_iter().for_each(|chain| watching.keep(asleep, chain));
    }
    watching.write_waits(&sleeping.waits, &mut out);
    message.borrow_mut().bytes.append(&mut out);
}

/// The records that are no samples, by their times: a process that changes its CPU writes into another ring, and what it
/// maps last counts.
fn changes(raw: &[u8]) -> Vec<&[u8]> {
    let mut all: Vec<&[u8]> =
        records(raw).filter(|(is_sample, _)| !is_sample).map(|(_, record)| record).collect();
    // Every record ends with thread, time, CPU and number.
    let time_ns = |record: &&[u8]| {
        let trailer = record.last_chunk::<32>();
        trailer.and_then(|trailer| trailer[8..].first_chunk()).map(|time| u64::from_ne_bytes(*time))
    };
    all.sort_by_key(time_ns);
    all
}

/// How often new processes are looked for.
const SCAN: Duration = Duration::from_millis(500);

/// Records that the recorder tells; none where it has ended instead.
fn read_records(stdin: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match stdin.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = u64::from(u32::from_ne_bytes(length));
    let mut records = Vec::new();
    stdin.take(length).read_to_end(&mut records)?;
    Ok((records.len() as u64 == length).then_some(records))
}

/// For tests of what happens then: crashes at so many records. Programs that are released do not know of it.
fn panic_if_asked(records: u64) {
    if cfg!(debug_assertions)
        && let Some(most) = std::env::var(PANIC_AFTER).ok().and_then(|text| text.parse::<u64>().ok())
    {
        assert!(records <= most, "a test wants it");
    }
}

/// After how many records a reader crashes, in a test.
const PANIC_AFTER: &str = "NODESCOPE_TEST_PANIC_AFTER";

/// What is sent at once.
struct Message {
    bytes: Vec<u8>,
    samples: u32,
    next_row: u32,
    trying: u32,
    /// The number of the record that is worked on, and how many are in what was sent or will be.
    current: u64,
    taken: u64,
    /// The frames of a sleeping stack that was walked.
    slept: Option<Vec<Address>>,
    sent: Instant,
    /// Stdout, not cut into lines.
    out: File,
}

impl Message {
    fn new(next_row: u32) -> io::Result<Self> {
        Ok(Self {
            bytes: Vec::new(),
            samples: 0,
            next_row,
            trying: 0,
            current: 0,
            taken: 0,
            slept: None,
            sent: Instant::now(),
            out: File::from(io::stdout().as_fd().try_clone_to_owned()?),
        })
    }

    fn add(&mut self, events: &[u64], found: &Found<'_>) {
        match found {
            Found::Frame(frame) => {
                self.bytes.extend(own::javascript(frame));
                self.next_row = frame.row.wrapping_add(1);
            }
            Found::Script(script) => own::script(script, &mut self.bytes),
            Found::Sample(sample) if sample.event == WAITS_EVENT => self.slept = Some(sample.chain.to_vec()),
            Found::Sample(sample) => {
                let Some(id) = events.get(sample.event as usize) else { return };
                own::sample(*id, sample, &mut self.bytes);
                self.samples += 1;
                self.settle();
                if std::mem::take(&mut self.trying) != 0 {
                    let _ = self.send(true);
                }
            }
            Found::Trying(tid) => {
                // It is told before it is done. A recorder that is gone shows at the next round.
                self.trying = *tid;
                let _ = self.send(true);
            }
            Found::Note(note) => self.bytes.extend(own::note(&sentence(*note))),
        }
    }

    /// The next record is worked on; one that is no sample is handed over as it is.
    fn begin(&mut self, change: Option<&[u8]>) {
        self.current += 1;
        match change {
            Some(record) => self.bytes.extend_from_slice(record),
            None => panic_if_asked(self.current),
        }
    }

    /// The record that was worked on is in the message.
    fn settle(&mut self) {
        self.taken = self.current;
    }

    /// Sends, unless it was just done: whoever listens need not wake up for each sample. Whether it was sent.
    fn send(&mut self, at_once: bool) -> io::Result<bool> {
        if self.sent.elapsed() < LONGEST_ROUND && self.bytes.len() < MOST_UNSENT && !at_once {
            return Ok(false);
        }
        self.sent = Instant::now();
        if !self.bytes.is_empty() {
            self.bytes.extend(own::finished_round());
        }
        let mut head = Vec::with_capacity(MESSAGE_HEAD + self.bytes.len());
        for word in [self.bytes.len() as u32, self.samples, self.next_row, self.trying] {
            head.extend_from_slice(&word.to_ne_bytes());
        }
        head.extend_from_slice(&self.taken.to_ne_bytes());
        head.append(&mut self.bytes);
        self.samples = 0;
        self.out.write_all(&head)?;
        Ok(true)
    }
}

/// Why there will be no names, and what to do about it.
fn sentence(note: Note<'_>) -> String {
    match note {
        Note::Refused(sentence) => sentence.to_owned(),
        Note::Denied(pid) => advice::unreadable(pid, &advice::limits()),
    }
}
