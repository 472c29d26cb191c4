//! What a reader of names hands over: records, and how far it has come with them.

use std::io;
use std::time::{Duration, Instant};

use capture::own;
use symbols::{Found, Note};
use trace::Address;

use super::asleep::WAITS_EVENT;
use crate::message::Batch;

/// So much is handed over at once, even if it was just done.
const MOST_UNSENT: usize = 48 << 10;
/// How long it may take otherwise. A reader reports rounds without samples, too: its silence means something.
const LONGEST_PAUSE: Duration = Duration::from_millis(75);

/// After how many records a reader crashes, in a test.
const PANIC_AFTER: &str = "NODESCOPE_TEST_PANIC_AFTER";

/// Takes batches.
pub type Deliver<'a> = Box<dyn FnMut(Batch) -> io::Result<()> + 'a>;

/// What was found and not handed over yet.
pub struct Outgoing<'a> {
    batch: Batch,
    /// The numbers that the samples of each event carry.
    events: Vec<u64>,
    /// The number of the record that is worked on.
    current: u64,
    /// The frames of a sleeping stack that was walked.
    slept: Option<Vec<Address>>,
    sent: Instant,
    /// The sentence about a process whose memory may not be read.
    unreadable: fn(u32) -> String,
    deliver: Deliver<'a>,
}

impl<'a> Outgoing<'a> {
    /// Nothing yet.
    pub fn new(
        events: Vec<u64>,
        next_row: u32,
        unreadable: fn(u32) -> String,
        deliver: Deliver<'a>,
    ) -> Self {
        let batch = Batch { next_row, ..Batch::default() };
        Self { batch, events, current: 0, slept: None, sent: Instant::now(), unreadable, deliver }
    }

    /// Takes what a walker has found.
    pub(super) fn add(&mut self, found: &Found<'_>) {
        match found {
            Found::Frame(frame) => {
                self.append(&own::javascript(frame));
                self.batch.next_row = frame.row.wrapping_add(1);
            }
            Found::Script(script) => own::script(script, &mut self.batch.records),
            Found::Sample(sample) if sample.event == WAITS_EVENT => {
                self.slept = Some(sample.chain.to_vec());
            }
            Found::Sample(sample) => {
                let Some(id) = self.events.get(sample.event as usize) else { return };
                own::sample(*id, sample, &mut self.batch.records);
                self.batch.samples += 1;
                self.settle();
                if std::mem::take(&mut self.batch.trying) != 0 {
                    let _ = self.send(true);
                }
            }
            Found::Trying(tid) => {
                // The recorder is informed before the read. That it has ended shows at the next round.
                self.batch.trying = *tid;
                let _ = self.send(true);
            }
            Found::Note(Note::Refused(sentence)) => self.append(&own::note(sentence)),
            Found::Note(Note::Denied(pid)) => self.append(&own::note(&(self.unreadable)(*pid))),
        }
    }

    pub(super) fn append(&mut self, records: &[u8]) {
        self.batch.records.extend_from_slice(records);
    }

    /// The frames of the sleeping stack that was walked last.
    pub(super) fn take_slept(&mut self) -> Option<Vec<Address>> {
        self.slept.take()
    }

    /// The next record is worked on; one that is no sample is handed over as it is.
    pub(super) fn begin(&mut self, change: Option<&[u8]>) {
        self.current += 1;
        match change {
            Some(record) => self.append(record),
            None => panic_if_asked(self.current),
        }
    }

    /// The record that was worked on is in the batch.
    pub(super) fn settle(&mut self) {
        self.batch.taken = self.current;
    }

    /// The number of the next frame.
    pub(super) fn next_row(&self) -> u32 {
        self.batch.next_row
    }

    /// How many records of the rings are in what was handed over or will be.
    pub fn taken(&self) -> u64 {
        self.batch.taken
    }

    /// Hands over, unless it was just done: the recorder need not wake up for each sample. Whether it was.
    pub fn send(&mut self, at_once: bool) -> io::Result<bool> {
        let is_early =
            self.sent.elapsed() < LONGEST_PAUSE && self.batch.records.len() < MOST_UNSENT;
        if is_early && !at_once {
            return Ok(false);
        }
        self.sent = Instant::now();
        if !self.batch.records.is_empty() {
            self.append(&own::finished_round());
        }
        let rest = Batch { records: Vec::new(), samples: 0, ..self.batch };
        (self.deliver)(std::mem::replace(&mut self.batch, rest))?;
        Ok(true)
    }
}

/// For tests of what happens then: crashes after this many records. Programs that are released do not know of it.
fn panic_if_asked(records: u64) {
    if cfg!(debug_assertions)
        && let Some(most) =
            std::env::var(PANIC_AFTER).ok().and_then(|text| text.parse::<u64>().ok())
    {
        assert!(records <= most, "a test wants it");
    }
}
