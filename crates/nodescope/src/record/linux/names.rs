//! JavaScript names are read from the target's memory while its samples are fresh. A page there may block whoever reads
//! it for ever, so a program of its own does that: ourselves, started once more. It reads the rings, walks the stacks,
//! and sends samples with names. When it is silent for too long, it is ended and another one begins.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use capture::{Rings, Sampler, mappings, own, records};
use formats::perf_data::Live;
use symbols::{Found, Note, Walker};
use trace::Address;

use super::perf::{LONGEST_ROUND, SHORTEST_ROUND};
use super::proc;
use super::watching::{WAITS_EVENT, Watching, has_javascript};
use crate::advice;
use crate::failure::Failure;

/// Tells the reader which rings there are.
const RINGS: &str = "NODESCOPE_RINGS";
/// The numbers that the samples of each event carry, that of the first frame, and the threads for which nothing is read,
/// or [`EVERYBODY`].
const NUMBERS: &str = "NODESCOPE_NUMBERS";

/// A silence that makes us look at the reader: it tells of every round, the empty ones, too.
const SILENCE: Duration = Duration::from_millis(150);
/// How long it may then stand still.
const STANDSTILL: Duration = Duration::from_millis(150);
/// How long it may take for its last words, as long as it runs: on a busy machine it may have just begun.
const LAST_WORDS: Duration = Duration::from_secs(10);
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
}

struct Reader {
    child: Child,
    /// Its end is the end of the recording.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    started: Instant,
    heard: Instant,
    /// When it was last seen to go on without a word, and the kernel's account of its work at the last look.
    moved: Instant,
    account: Option<String>,
    /// The thread for which it began to read last, when it had not done so before.
    trying: u32,
    bytes: Vec<u8>,
}

/// So much is sent at once, even if it was just done.
const MOST_UNSENT: usize = 48 << 10;

/// What a message starts with: its length, how many samples it has, the number of the next frame, and the thread for
/// which memory will be read for the first time.
const MESSAGE_HEAD: usize = 16;

/// What a recorder says when it gives up.
const BLOCKED: &str = "the memory of the target blocks whoever reads it: from then on, JavaScript has names only from a perf map";
const SHUNNED: &str =
    "a thread of the target blocks whoever reads the memory that it runs in: it has no names";

impl Names {
    /// Starts a reader; without one, samples have no JavaScript names.
    pub(super) fn start(sampler: &Sampler) -> Self {
        let mut names = Self { starts: 0, shuns_everybody: false, ..Self::none() };
        names.restart(sampler);
        names
    }

    /// Nobody reads.
    pub(super) fn none() -> Self {
        let (reader, shunned) = (None, Vec::new());
        Self { reader, starts: MOST_STARTS, next_row: 0, has_doubt: true, shunned, shuns_everybody: true }
    }

    /// Whether somebody reads the rings.
    pub(super) fn is_reading(&self) -> bool {
        self.reader.is_some()
    }

    /// Waits for the reader's next words.
    pub(super) fn wait(&self, most: Duration) {
        if let Some(reader) = &self.reader {
            // What is wrong with it shows when it is read.
            let _ = sys::perf::wait(&[reader.stdout.as_raw_fd()], most);
        }
    }

    /// Appends what the reader has read. Where it hangs, it is replaced.
    pub(super) fn read(&mut self, sampler: &mut Sampler, out: &mut Vec<u8>) {
        let Some(reader) = &mut self.reader else { return };
        let is_alive = reader.listen(Duration::ZERO).unwrap_or(false);
        let (samples, next_row) = reader.take(out);
        sampler.count(samples);
        self.next_row = self.next_row.max(next_row);
        let is_stuck = reader.is_stuck();
        if !is_alive || is_stuck {
            let had_names = !self.shuns_everybody;
            if reader.started.elapsed() > STEADY && !self.shuns_everybody {
                self.starts = self.starts.min(1);
            }
            let trying = Some(reader.trying).filter(|tid| *tid != 0 && is_stuck);
            if let Some(tid) = trying
                && !std::mem::take(&mut self.has_doubt)
            {
                // Whoever is known to block is no reason to give up, unless there are many.
                self.shunned.push(tid);
                self.starts = if self.shunned.len() > MOST_SHUNNED { MOST_STARTS } else { 1 };
                out.extend(own::note(SHUNNED));
            }
            self.restart(sampler);
            if had_names && self.shuns_everybody {
                out.extend(own::note(BLOCKED));
            }
        }
    }

    /// Lets the reader read what is left, and takes it. Where it cannot, another one does without names.
    pub(super) fn finish(&mut self, sampler: &mut Sampler, out: &mut Vec<u8>) {
        while let Some(mut reader) = self.reader.take() {
            let is_done = reader.finish();
            let (samples, next_row) = reader.take(out);
            sampler.count(samples);
            self.next_row = self.next_row.max(next_row);
            drop(reader);
            if !is_done {
                self.starts = MOST_STARTS;
                self.restart(sampler);
            }
        }
    }

    fn restart(&mut self, sampler: &Sampler) {
        self.reader = None;
        let shunned = if self.starts < MOST_STARTS {
            self.starts += 1;
            self.shunned.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
        } else if !std::mem::replace(&mut self.shuns_everybody, true) {
            EVERYBODY.to_owned()
        } else {
            return;
        };
        self.reader = Reader::start(sampler, self.next_row, &shunned).ok();
    }
}

impl Reader {
    fn start(sampler: &Sampler, next_row: u32, shunned: &str) -> io::Result<Self> {
        let (rings, events) = sampler.share()?;
        let numbers = format!("{events}:{next_row}:{shunned}");
        let mut child = Command::new(std::env::current_exe()?)
            .env(RINGS, rings)
            .env(NUMBERS, numbers)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let mut stdin = child.stdin.take().ok_or_else(gone)?;
        let stdout = child.stdout.take().ok_or_else(gone)?;
        let head = sampler.raw_head();
        stdin.write_all(&(head.len() as u32).to_ne_bytes())?;
        stdin.write_all(&head)?;
        let (started, stdin, bytes) = (Instant::now(), Some(stdin), Vec::new());
        let (heard, moved, account) = (started, started, None);
        Ok(Self { child, stdin, stdout, started, heard, moved, account, trying: 0, bytes })
    }

    /// Waits for its last words; whether they came.
    fn finish(&mut self) -> bool {
        self.stdin = None;
        let end = Instant::now() + LAST_WORDS;
        while Instant::now() < end && !self.is_stuck() {
            match self.listen(LONGEST_ROUND) {
                Ok(true) => {}
                ended => return ended.is_ok(),
            }
        }
        false
    }

    /// Takes in what was sent; whether there may be more.
    fn listen(&mut self, most: Duration) -> io::Result<bool> {
        if !sys::perf::wait(&[self.stdout.as_raw_fd()], most)? {
            return Ok(true);
        }
        let mut piece = [0; 1 << 16];
        let read = self.stdout.read(&mut piece)?;
        self.bytes.extend_from_slice(&piece[..read]);
        self.heard = Instant::now();
        Ok(read > 0)
    }

    /// Appends the whole messages; tells how many samples they have, and the number of the next frame.
    fn take(&mut self, out: &mut Vec<u8>) -> (u64, u32) {
        let (mut at, mut samples, mut next_row) = (0, 0, 0);
        while let Some(head) = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<MESSAGE_HEAD>) {
            let word = |from: usize| {
                u32::from_ne_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]])
            };
            let start = at + MESSAGE_HEAD;
            let Some(body) = self.bytes.get(start..start + word(0) as usize) else { break };
            out.extend_from_slice(body);
            samples += u64::from(word(4));
            next_row = word(8);
            self.trying = word(12);
            at = start + body.len();
        }
        self.bytes.drain(..at);
        (samples, next_row)
    }

    /// Silent for long, and neither because others have the CPU nor because a disk is slow: then it goes on in between.
    fn is_stuck(&mut self) -> bool {
        if self.heard.elapsed() <= SILENCE {
            self.account = None;
            return false;
        }
        let account = proc::account(self.child.id()).unwrap_or_default();
        let before = self.account.replace(account.clone());
        if before != Some(account) || proc::is_running(self.child.id()) {
            self.moved = Instant::now();
        }
        self.moved.elapsed() > STANDSTILL
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It has ended, or shall.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads rings, if that is what this program was started for. Returns when the recording is over.
pub(crate) fn read_names() -> Option<Result<(), Failure>> {
    let rings = std::env::var(RINGS).ok()?;
    let numbers = std::env::var(NUMBERS).ok()?;
    Some(serve(&rings, &numbers).map_err(|error| Failure::failed(format!("cannot read names: {error}"))))
}

fn serve(rings: &str, numbers: &str) -> io::Result<()> {
    // Ctrl-C is for the recorder, which tells when it is over.
    sys::signals::catch_end()?;
    let bad = || io::Error::from(io::ErrorKind::InvalidInput);
    let mut numbers = numbers.split(':');
    let mut number = || numbers.next().ok_or_else(bad);
    let (events, next_row, shunned) = (number()?, number()?, number()?);
    let next_row: u32 = next_row.parse().map_err(|_| bad())?;
    let events = events.split(',').map(|number| number.parse::<u64>().map_err(|_| bad()));
    let events = events.collect::<io::Result<Vec<u64>>>()?;
    let shuns_everybody = shunned == EVERYBODY;
    let shunned: Vec<u32> = shunned.split(',').filter_map(|tid| tid.parse().ok()).collect();
    let mut rings = Rings::inherited(rings)?;
    let head = read_head()?;
    let message = RefCell::new(Message {
        bytes: Vec::new(),
        samples: 0,
        next_row,
        trying: 0,
        slept: None,
        sent: Instant::now(),
        out: File::from(io::stdout().as_fd().try_clone_to_owned()?),
    });
    let mut walker = Walker::new(next_row, &shunned, proc::whereabouts, |found| {
        message.borrow_mut().add(&events, &found);
    });
    if shuns_everybody {
        walker.leave_heap();
    }
    let mut live = Live::default();
    live.take(&head, &mut walker);
    // The watch reads memory, which a target may forbid by blocking: then nothing is watched.
    let mut watching = if shuns_everybody {
        Watching::nothing()
    } else {
        Watching::new(capture::processes(&head), &shunned, true)
    };
    let (mut raw, mut is_last, mut next_scan) = (Vec::new(), false, Instant::now());
    loop {
        let round = Instant::now();
        raw.clear();
        rings.read(&mut raw);
        walker.begin_round();
        // What is mapped in this round may be needed for its samples.
        for record in changes(&raw) {
            live.take(record, &mut walker);
            message.borrow_mut().bytes.extend_from_slice(record);
        }
        for (_, record) in records(&raw).filter(|(is_sample, _)| *is_sample) {
            live.take(record, &mut walker);
        }
        if round >= next_scan {
            next_scan = round + SCAN;
            walker.pids().for_each(|pid| watching.add(pid));
            if walker.take_missed() {
                // A process that has ended has no mappings any more.
                let pids: Vec<u32> = walker.pids().collect();
                let mappings: Vec<u8> =
                    pids.iter().flat_map(|pid| mappings(*pid).unwrap_or_default()).collect();
                records(&mappings).for_each(|(_, record)| live.take(record, &mut walker));
                message.borrow_mut().bytes.extend(mappings);
            }
        }
        for (reason, count) in walker.take_unnamed() {
            message.borrow_mut().bytes.extend(own::unnamed(reason, count));
        }
        take_watch((&mut watching, is_last), &raw, (&mut live, &mut walker), &message);
        message.borrow_mut().send(is_last)?;
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

fn read_head() -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    let mut length = [0; 4];
    stdin.read_exact(&mut length)?;
    let mut head = Vec::new();
    stdin.take(u64::from(u32::from_ne_bytes(length))).read_to_end(&mut head)?;
    Ok(head)
}

/// What is sent at once.
struct Message {
    bytes: Vec<u8>,
    samples: u32,
    next_row: u32,
    trying: u32,
    /// The frames of a sleeping stack that was walked.
    slept: Option<Vec<Address>>,
    sent: Instant,
    /// Stdout, not cut into lines.
    out: File,
}

impl Message {
    fn add(&mut self, events: &[u64], found: &Found<'_>) {
        match found {
            Found::Frame(frame) => {
                self.bytes.extend(own::javascript(frame));
                self.next_row = frame.row.wrapping_add(1);
            }
            Found::Sample(sample) if sample.event == WAITS_EVENT => self.slept = Some(sample.chain.to_vec()),
            Found::Sample(sample) => {
                let Some(id) = events.get(sample.event as usize) else { return };
                own::sample(*id, sample, &mut self.bytes);
                self.samples += 1;
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

    /// Sends, unless it was just done: whoever listens need not wake up for each sample.
    fn send(&mut self, at_once: bool) -> io::Result<()> {
        if self.sent.elapsed() < LONGEST_ROUND && self.bytes.len() < MOST_UNSENT && !at_once {
            return Ok(());
        }
        self.sent = Instant::now();
        if !self.bytes.is_empty() {
            self.bytes.extend(own::finished_round());
        }
        let mut head = Vec::with_capacity(MESSAGE_HEAD + self.bytes.len());
        for word in [self.bytes.len() as u32, self.samples, self.next_row, self.trying] {
            head.extend_from_slice(&word.to_ne_bytes());
        }
        head.append(&mut self.bytes);
        self.samples = 0;
        self.out.write_all(&head)
    }
}

/// Why there will be no names, and what to do about it.
fn sentence(note: Note<'_>) -> String {
    match note {
        Note::Refused(sentence) => sentence.to_owned(),
        Note::Denied(pid) => advice::unreadable(pid, &advice::limits()),
    }
}
