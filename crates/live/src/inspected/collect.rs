//! Makes chunks of our own file of what the inspector reports, at once: after `kill -9` a recording has all but the
//! last window. Each chunk also has what recording cost so far, the CPU time that the targets used, and what is
//! missing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use formats::cpuprofile::{Joiner, Original};
use inspector::{Calls, Functions, Piece, Window};
use profile::{Cost, OwnNames};
use symbols::Disk;
use symbols::packages::{self, KnownPackages};
use symbols::source_maps::{KnownScripts, MapPlaces, apply_known};

use super::cost::{CpuTime, cost_of};
use super::process::TargetProcess;
use super::{Error, News, Options, Recipient, scripts};

/// Everything that was recorded, on its way to the recipient.
pub(super) struct Collector<'a> {
    recipient: &'a mut dyn Recipient,
    joiner: Joiner,
    cost: Cost,
    cpu: CpuTime,
    losses: Vec<String>,
    /// The threads that run code which is in no list of functions.
    outdated: Vec<Option<u32>>,
    has_met: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        recipient: &'a mut dyn Recipient,
        options: &Options,
        roots: BTreeMap<u32, PathBuf>,
    ) -> Self {
        let interval_ns = u64::try_from(options.interval.as_nanos()).unwrap_or(u64::MAX);
        let originals = originals(roots, !options.leaves_maps, options.own.clone());
        let mut joiner = Joiner::new(interval_ns).with_originals(originals);
        joiner.meta().host = read_line("/proc/sys/kernel/hostname");
        joiner.meta().system =
            read_line("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}"));
        Self {
            recipient,
            joiner,
            cost: Cost::default(),
            cpu: CpuTime::default(),
            losses: Vec::new(),
            outdated: Vec::new(),
            has_met: false,
        }
    }

    /// Notes what a process reports about itself: the whole recording takes the clock of the first one.
    pub(super) fn meet(&mut self, process: &TargetProcess) {
        self.cpu.end_visit();
        let identity = process.identity();
        let is_first = !std::mem::replace(&mut self.has_met, true);
        let node = Some(identity.node.clone());
        if is_first {
            let unix_ns =
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
            self.joiner.set_clock((identity.clock_us * 1e3) as u64, unix_ns);
        }
        let meta = self.joiner.meta();
        if is_first {
            meta.clock = Some("CLOCK_MONOTONIC".into());
            meta.command = process.command();
            meta.v8_version = Some(identity.v8.clone());
            meta.node_version = node;
        } else if meta.node_version != node {
            (meta.node_version, meta.v8_version) = (None, None);
        }
    }

    /// Takes in what a recorder has.
    pub(super) fn take(
        &mut self,
        pieces: Vec<Piece>,
        process: &TargetProcess,
    ) -> Result<(), Error> {
        for piece in pieces {
            match piece {
                Piece::Window(window) => self.take_window(&window, process)?,
                Piece::Functions(Functions { thread, coverage }) => {
                    self.losses.extend(self.joiner.functions(&coverage, &process.thread(&thread)));
                }
                Piece::Calls(Calls { thread, coverage }) => {
                    let text_of =
                        |url: &str| scripts::text(process.root(), url, scripts::LONGEST_FOR_CALLS);
                    let chunk = self.joiner.calls(&coverage, &process.thread(&thread), text_of);
                    self.hand_over(chunk)?;
                }
                Piece::Stall(stall) => {
                    self.cost.add(&cost_of(&stall));
                    stall.process_cpu_ms.into_iter().for_each(|now_ms| self.cpu.note(now_ms));
                }
                Piece::Loss(sentence) => self.losses.push(sentence),
            }
        }
        self.recipient.receive(News::Samples(self.joiner.samples()));
        Ok(())
    }

    fn take_window(&mut self, window: &Window, process: &TargetProcess) -> Result<(), Error> {
        let Window { thread, profile, memory_bytes } = window;
        self.cost.add(&Cost { memory_bytes: *memory_bytes as u64, ..Cost::default() });
        self.note_state();
        let text_of = |url: &str| scripts::text(process.root(), url, scripts::LONGEST_FOR_LINES);
        let whose = process.thread(thread);
        let chunk = self.joiner.window(profile, &whose, text_of);
        if self.joiner.lacks_functions(&whose) {
            self.outdated.push(thread.worker);
        }
        self.hand_over(chunk)
    }

    /// Puts into the next chunk what recording cost by now, and what is missing.
    fn note_state(&mut self) {
        let (losses, cost, cpu_ns) =
            (std::mem::take(&mut self.losses), self.cost, self.cpu.total_ns());
        let meta = self.joiner.meta();
        meta.losses.damage.extend(losses);
        meta.losses.cpu_ns = Some(cpu_ns);
        meta.cost = Some(cost);
    }

    /// The threads that have run code since the last time that is in no list of functions; `None` is the main thread.
    pub(super) fn take_outdated(&mut self) -> Vec<Option<u32>> {
        std::mem::take(&mut self.outdated)
    }

    /// Notes something that is missing.
    pub(super) fn note(&mut self, sentence: String) {
        self.losses.push(sentence);
    }

    /// Whether nothing was recorded yet.
    pub(super) fn is_empty(&self) -> bool {
        self.joiner.samples() == 0
    }

    pub(super) fn wants_end(&self) -> bool {
        self.recipient.wants_end()
    }

    pub(super) fn report(&mut self, news: News<'_>) {
        self.recipient.receive(news);
    }

    pub(super) fn recipient(&mut self) -> &mut dyn Recipient {
        self.recipient
    }

    /// The last chunk.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.cpu.end_visit();
        let losses = std::mem::take(&mut self.losses);
        let chunk = self.joiner.finish(losses, self.cost, Some(self.cpu.total_ns()));
        self.hand_over(chunk)
    }

    fn hand_over(&mut self, chunk: io::Result<Vec<u8>>) -> Result<(), Error> {
        self.recipient.receive(News::Chunk(&chunk.map_err(Error::Chunk)?));
        Ok(())
    }
}

/// Applies source maps to functions when they first appear, and finds their packages. What is known of scripts and
/// packages is kept for the next ones.
fn originals(roots: BTreeMap<u32, PathBuf>, uses_maps: bool, own: OwnNames) -> Original {
    let mut known = KnownScripts::growing();
    let mut packages = KnownPackages::default();
    Rc::new(RefCell::new(move |piece| {
        let places = MapPlaces { files: &Disk, root: None, roots: &roots };
        let piece = apply_known(piece, &places, &mut known, uses_maps);
        packages::apply(piece, &places, &mut packages).with_own(&own)
    }))
}

fn read_line(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
}
