//! Takes what the inspector tells and writes it at once, as chunks of our own file: after `kill -9` OUT.part has all
//! but the last window.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use formats::cpuprofile::{Joiner, Whose};
use inspector::{Calls, Functions, Identity, Moment, Piece, Stall, ThreadInfo, Window};
use profile::{Cost, Profile, Role};
use symbols::{Disk, Files, source_maps};

use super::super::progress::Progress;
use super::super::spool::Spool;
use super::process::Process;
use crate::failure::Failure;

/// A script's text is read up to this length: it is asked for the places of its functions.
const LONGEST_SCRIPT: u64 = 32 << 20;

/// The same for the lines of its functions, which takes several times as much memory.
const LONGEST_LINES: u64 = 8 << 20;

/// A process, as its samples are told.
#[derive(Clone, Debug)]
pub(super) struct Whom {
    pid: Option<u32>,
    inner_pid: Option<u32>,
    name: String,
    container: Option<String>,
    node_version: String,
    app: Option<String>,
    command: Option<String>,
    folder: Option<String>,
    ports: Vec<u16>,
}

/// Everything that was recorded.
pub(super) struct Collector {
    joiner: Joiner,
    spool: Spool,
    cost: Cost,
    losses: Vec<String>,
    outdated: Vec<Option<u32>>,
    /// The CPU time of the processes that were visited before, and of the one that is visited: when it was met, and last.
    cpu_ms: f64,
    visited_cpu_ms: Option<(f64, f64)>,
    has_met: bool,
    progress: Progress,
    start: Instant,
}

impl Whom {
    /// A process that was found here, or one that only its inspector is known of.
    pub(super) fn new(identity: &Identity, process: Option<&Process>) -> Self {
        Self {
            pid: process.map(|process| process.pid),
            inner_pid: Some(identity.pid),
            name: short_title(identity),
            container: process.and_then(|process| process.container.clone()),
            node_version: identity.node.clone(),
            app: process.and_then(|process| process.app.clone()),
            command: process.and_then(|process| process.command.clone()),
            folder: process.and_then(|process| process.folder.clone()),
            ports: process.map(|process| process.ports.clone()).unwrap_or_default(),
        }
    }

    fn thread(&self, thread: &ThreadInfo) -> Whose {
        let is_main = thread.worker.is_none();
        Whose {
            pid: self.pid,
            inner_pid: self.inner_pid,
            process: self.name.clone(),
            container: self.container.clone(),
            node_version: Some(self.node_version.clone()),
            app: self.app.clone(),
            command: self.command.clone(),
            folder: self.folder.clone(),
            ports: self.ports.clone(),
            thread: if is_main { self.name.clone() } else { thread.name.clone() },
            tid: self.pid.filter(|_| is_main),
            role: if is_main { Role::MainLoop } else { Role::Worker },
        }
    }
}

impl Collector {
    pub(super) fn new(spool: Spool, frequency: u32, limit: Option<Duration>) -> Self {
        let mut joiner = Joiner::new(1_000_000_000 / u64::from(frequency.max(1)));
        joiner.meta().host = read_line("/proc/sys/kernel/hostname");
        joiner.meta().system =
            read_line("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}"));
        Self {
            joiner,
            spool,
            cost: Cost::default(),
            losses: Vec::new(),
            outdated: Vec::new(),
            cpu_ms: 0.0,
            visited_cpu_ms: None,
            has_met: false,
            progress: Progress::new(limit),
            start: Instant::now(),
        }
    }

    /// Notes what the first process says of itself: the whole recording takes its clock.
    pub(super) fn meet(&mut self, identity: &Identity, process: Option<&Process>) {
        self.settle_cpu_time();
        let is_first = !std::mem::replace(&mut self.has_met, true);
        let node = Some(identity.node.clone());
        if is_first {
            let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
            self.joiner.set_clock((identity.clock_us * 1e3) as u64, unix_ns);
        }
        let meta = self.joiner.meta();
        if is_first {
            meta.clock = Some("CLOCK_MONOTONIC".into());
            meta.command = process.and_then(|process| process.command.clone());
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
        whom: &Whom,
        root: Option<&Path>,
    ) -> Result<(), Failure> {
        for piece in pieces {
            match piece {
                Piece::Window(Window { thread, profile, memory_bytes }) => {
                    self.cost.add(&Cost { memory_bytes: memory_bytes as u64, ..Cost::default() });
                    let text_of = |url: &str| script_text(root, url, LONGEST_LINES);
                    let whose = whom.thread(&thread);
                    let chunk = self.joiner.window(&profile, &whose, text_of);
                    if self.joiner.lacks_functions(&whose) {
                        self.outdated.push(thread.worker);
                    }
                    self.write(chunk)?;
                }
                Piece::Functions(Functions { thread, coverage }) => {
                    self.losses.extend(self.joiner.functions(&coverage, &whom.thread(&thread)));
                }
                Piece::Calls(Calls { thread, coverage }) => {
                    let text_of = |url: &str| script_text(root, url, LONGEST_SCRIPT);
                    let chunk = self.joiner.calls(&coverage, &whom.thread(&thread), text_of);
                    self.write(chunk)?;
                }
                Piece::Stall(stall) => {
                    self.cost.add(&cost_of(&stall));
                    self.note_cpu_time(&stall);
                }
                Piece::Loss(sentence) => self.losses.push(sentence),
            }
        }
        self.progress.show(self.start.elapsed(), self.joiner.samples());
        Ok(())
    }

    /// The threads that have run code since the last time that is in no list of functions; `None` is the main thread.
    pub(super) fn take_outdated(&mut self) -> Vec<Option<u32>> {
        std::mem::take(&mut self.outdated)
    }

    /// All threads of a process tell the same clock.
    fn note_cpu_time(&mut self, stall: &Stall) {
        if let Some(now_ms) = stall.process_cpu_ms {
            let (_, last_ms) = self.visited_cpu_ms.get_or_insert((now_ms, now_ms));
            *last_ms = last_ms.max(now_ms);
        }
    }

    fn settle_cpu_time(&mut self) {
        let (met_ms, last_ms) = self.visited_cpu_ms.take().unwrap_or_default();
        self.cpu_ms += (last_ms - met_ms).max(0.0);
    }

    /// Notes something that is missing.
    pub(super) fn note(&mut self, sentence: String) {
        self.losses.push(sentence);
    }

    /// Whether nothing was recorded yet.
    pub(super) fn is_empty(&self) -> bool {
        self.joiner.samples() == 0
    }

    /// Whether neither disk nor memory has room for more.
    pub(super) fn is_full(&self) -> bool {
        self.spool.is_full()
    }

    /// Everything together.
    pub(super) fn finish(mut self) -> Result<(Profile, Spool), Failure> {
        self.progress.clear();
        self.settle_cpu_time();
        let cpu_ns = (self.cpu_ms * 1e6).clamp(0.0, 1e18) as u64;
        let last = self.joiner.finish(std::mem::take(&mut self.losses), self.cost, Some(cpu_ns));
        self.write(last)?;
        let profile = super::read_back(&mut self.spool)?;
        if profile.lanes().iter().all(|lane| lane.samples.is_empty()) {
            self.spool.remove();
            return Err(Failure::failed("nothing was recorded").hint("record it for longer: -d 10s"));
        }
        Ok((profile, self.spool))
    }

    fn write(&mut self, chunk: io::Result<Vec<u8>>) -> Result<(), Failure> {
        self.spool.append(&chunk.map_err(|error| Failure::failed(error.to_string()))?);
        Ok(())
    }
}

fn cost_of(stall: &Stall) -> Cost {
    let ns = |ms: f64| (ms * 1e6).clamp(0.0, 1e15) as u64;
    let (time_ns, cpu_ns) = (ns(stall.begin_ms + stall.end_ms), ns(stall.begin_cpu_ms + stall.end_cpu_ms));
    let cost = Cost { total_cpu_ns: cpu_ns, ..Cost::default() };
    match stall.moment {
        Moment::Start => Cost { start_ns: time_ns, start_cpu_ns: cpu_ns, ..cost },
        Moment::List => Cost { list_ns: time_ns, list_cpu_ns: cpu_ns, ..cost },
        Moment::Change => Cost { windows: 1, window_ns: time_ns, window_cpu_ns: cpu_ns, ..cost },
        Moment::End => Cost { end_ns: time_ns, end_cpu_ns: cpu_ns, ..cost },
    }
}

fn script_text(root: Option<&Path>, url: &str, longest: u64) -> Option<String> {
    use std::io::Read;
    let path = source_maps::script_path(url)?;
    let file = Disk.open(root, Path::new(&path)).ok()?;
    let mut text = String::new();
    file.take(longest).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What a process calls itself: mostly `node`, or the whole path of it.
pub(super) fn short_title(identity: &Identity) -> String {
    let words = identity.title.split(' ').next().unwrap_or_default();
    let title =
        if words.starts_with('/') { words.rsplit('/').next().unwrap_or(words) } else { &identity.title };
    title.chars().take(64).collect()
}

fn read_line(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
}
