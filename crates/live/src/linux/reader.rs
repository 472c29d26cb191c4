//! The program that reads names, as the recorder sees it: what it gets, and what it hands over.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use capture::Sampler;

use super::session::LONGEST_ROUND;
use super::supervised::Supervised;
use super::watchdog::Patience;
use crate::job::Job;
use crate::message::{Batch, Message, ReadOrder};

/// It sends something every 80 to 150 ms.
const PATIENCE: Patience = Patience {
    silence: Duration::from_millis(250),
    standstill: Duration::from_millis(150),
    slow_disk: Duration::from_secs(2),
};
/// How long its last messages may take, as long as it runs: on a busy machine it may have just begun.
const LAST_MESSAGES: Duration = Duration::from_secs(10);

/// The program that reads names, as the recorder sees it.
pub(super) struct Reader {
    program: Supervised,
    /// Whether it has reported that it can begin, and whether it was asked to.
    pub(super) is_ready: bool,
    pub(super) has_rings: bool,
    pub(super) started: Instant,
    /// The thread for which it began to read last, when it had not done so before.
    pub(super) trying: u32,
    /// How many records of the rings it has handed over.
    pub(super) taken: u64,
    /// What it has handed over and was not taken yet.
    records: Vec<u8>,
    samples: u64,
    next_row: u32,
    /// Why what it sent cannot be understood.
    damage: Option<io::Error>,
}

impl Reader {
    /// Starts one that watches loops until it is asked to begin.
    pub(super) fn start(sampler: &Sampler, order: ReadOrder) -> io::Result<Self> {
        let (rings, events) = sampler.share()?;
        let events = events.split(',').filter_map(|event| event.parse().ok()).collect();
        let micros = |pause: Duration| u32::try_from(pause.as_micros()).unwrap_or(u32::MAX);
        let [pause_us, fast_pause_us] = sampler.pauses().map(micros);
        let order = Message::Read(ReadOrder { rings, events, pause_us, fast_pause_us, ..order });
        Ok(Self {
            program: Supervised::start(&Job::ReadNames, &order, PATIENCE)?,
            has_rings: false,
            is_ready: false,
            started: Instant::now(),
            trying: 0,
            taken: 0,
            records: Vec::new(),
            samples: 0,
            next_row: 0,
            damage: None,
        })
    }

    /// Sends it what is sampled.
    pub(super) fn begin(&mut self, sampler: &Sampler) {
        self.program.send(&Message::Records(sampler.raw_head()));
        self.started = Instant::now();
        self.program.restart_silence();
    }

    /// Waits until it has sent something, or has ended.
    pub(super) fn wait(&self, most: Duration) {
        self.program.wait(most);
    }

    /// Why it ended by itself.
    pub(super) fn cause(&self, status: Option<ExitStatus>) -> String {
        self.damage.as_ref().map_or_else(|| self.program.cause(status), ToString::to_string)
    }

    /// From now on it reads the rings; what happened while nothing reported it.
    pub(super) fn give_rings(&mut self, meanwhile: Vec<u8>) {
        self.has_rings = true;
        self.program.send(&Message::Records(meanwhile));
        self.program.restart_silence();
    }

    /// Waits for its last messages; whether they came, and if not, whether it hangs.
    pub(super) fn finish(&mut self) -> (bool, bool) {
        self.program.close();
        let end = Instant::now() + LAST_MESSAGES;
        while Instant::now() < end && !self.is_stuck() {
            match self.receive(LONGEST_ROUND) {
                Ok(true) => {}
                // It may still write what is not read.
                Ok(false) if self.damage.is_some() => return (false, false),
                Ok(false) => {
                    return (self.program.status().is_some_and(|status| status.success()), false);
                }
                Err(_) => return (false, false),
            }
        }
        (false, true)
    }

    /// Ends it, unless it has done so, and takes in all that it has sent.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        let status = self.program.end();
        self.accept();
        status
    }

    /// Takes in what was sent; whether there may be more.
    pub(super) fn receive(&mut self, most: Duration) -> io::Result<bool> {
        let may_go_on = self.program.receive(most)?;
        self.accept();
        Ok(may_go_on && self.damage.is_none())
    }

    fn accept(&mut self) {
        while self.damage.is_none() {
            match self.program.next() {
                Ok(Some(Message::Batch(batch))) => self.add(&batch),
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => self.damage = Some(error),
            }
        }
    }

    fn add(&mut self, batch: &Batch) {
        self.records.extend_from_slice(&batch.records);
        self.samples += u64::from(batch.samples);
        (self.next_row, self.trying, self.taken) = (batch.next_row, batch.trying, batch.taken);
        self.is_ready = true;
    }

    /// Appends what it has handed over; returns how many samples that has, and the number of the next frame.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) -> (u64, u32) {
        out.append(&mut self.records);
        (std::mem::take(&mut self.samples), self.next_row)
    }

    /// Whether it hangs. One that waits for the rings has nothing to send.
    pub(super) fn is_stuck(&mut self) -> bool {
        (self.has_rings || !self.is_ready) && self.program.is_stuck()
    }
}
