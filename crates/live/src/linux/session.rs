//! One session by perf events: the kernel samples, a helper process names what it saw, and the rest is read beside it.
//! Everything comes out as parts of a file, named and finished.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use capture::{AttachError, Options, Sampler, Scope};
use profile::OwnNames;
use symbols::Sources;

use super::account::Account;
use super::beside::Beside;
use super::chunks::Chunks;
use super::names::Names;
use super::pace::Pace;

/// How long the recorder sleeps when nothing happens: a wake costs more than what there is to do.
pub const LONGEST_ROUND: Duration = Duration::from_millis(100);
/// How long the rings are left alone when nothing happens: names are read while samples are fresh.
pub(super) const LONGEST_READ: Duration = Duration::from_millis(80);
/// How long they are left alone however much happens: the smallest ring of a deep stack lasts longer at 10,000
/// samples a second.
pub(super) const SHORTEST_ROUND: Duration = Duration::from_millis(8);

/// What is sampled.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'a> {
    /// The processes that were meant.
    pub pids: &'a [u32],
    /// Whether everything that runs here is sampled.
    pub is_system: bool,
    /// Whether the only process is a command that waits to begin.
    pub is_command: bool,
}

/// A session.
pub struct Session {
    sampler: Sampler,
    names: Names,
    beside: Option<Beside>,
    chunks: Chunks,
    records: Vec<u8>,
    /// When the last round began.
    began: Instant,
    /// Where there are two rates.
    pace: Option<Pace>,
    has_stacks: bool,
}

impl Session {
    /// Opens the events: processes that are started from now on are followed. Nothing is sampled yet. Source maps may
    /// be left alone; the packages of `own` count as the application.
    pub fn attach(
        targets: Targets<'_>,
        options: &Options,
        leaves_maps: bool,
        own: OwnNames,
    ) -> Result<Self, AttachError> {
        let scope = match targets.is_system {
            true => Scope::System(targets.pids),
            false => Scope::Processes(targets.pids),
        };
        let sampler = Sampler::attach(scope, options)?;
        let has_stacks = options.stack_bytes > 0;
        Ok(Self {
            sampler,
            names: Names::none(),
            beside: None,
            chunks: Chunks::new(Sources { leaves_maps, own, ..Sources::default() }),
            records: Vec::new(),
            began: Instant::now(),
            pace: None,
            has_stacks,
        })
    }

    /// Whether the kernel's own time is seen.
    pub fn sees_kernel(&self) -> bool {
        self.sampler.sees_kernel()
    }

    /// Whether it samples more often while the target is mostly idle.
    pub fn has_fast(&self) -> bool {
        self.sampler.has_fast()
    }

    /// How many samples came so far.
    pub fn samples(&self) -> u64 {
        self.sampler.samples()
    }

    /// Begins. `all_pids` lists the processes and those that they have started by now.
    pub fn begin(
        &mut self,
        targets: Targets<'_>,
        all_pids: impl FnOnce() -> Vec<u32>,
    ) -> Result<(), AttachError> {
        if self.has_stacks {
            self.names = Names::prepare(&self.sampler, targets.pids);
        }
        self.names.wait_for_watch();
        // Before the first sample: what is used while the state is taken is sampled, too.
        let account =
            (!targets.is_system).then(|| Account::new(self.sampler.sees_kernel(), targets.pids));
        if !targets.is_command {
            self.sampler.enable()?;
        }
        // What is mapped while the events are opened is known: the state is taken afterwards.
        let head = [self.sampler.head(), capture::waits_event(profile::WAITS_LANE)].concat();
        self.names.begin(&self.sampler);
        let first = targets.pids.first().copied().filter(|_| !targets.is_system);
        let beside = Beside::new(first, all_pids(), account, !self.names.is_reading());
        beside.note_places(self.chunks.namer().sources());
        self.chunks.take(&head);
        self.beside = Some(beside);
        self.pace = self.sampler.has_fast().then(|| Pace::new(Instant::now()));
        Ok(())
    }

    /// Takes what was recorded since the last round. From time to time the next part of the file comes of it, and in
    /// the end the last one; otherwise nothing.
    pub fn round(&mut self, is_last: bool) -> io::Result<Vec<u8>> {
        self.began = Instant::now();
        self.records.clear();
        let out = &mut self.records;
        if is_last {
            self.sampler.disable();
            self.chunks.namer().end_at(sys::clock::monotonic_ns());
        }
        if let Some(beside) = &mut self.beside {
            beside.look(is_last, out);
        }
        if is_last {
            self.names.finish(&mut self.sampler, out);
        }
        self.names.read(&mut self.sampler, out);
        let pace = self.pace.as_mut().filter(|_| !is_last);
        let samples = self.sampler.samples();
        if let Some(is_fast) = pace.and_then(|pace| pace.look(self.began, samples)) {
            self.sampler.set_fast(is_fast);
        }
        self.sampler.know(capture::new_processes(out));
        if let Some(beside) = &mut self.beside {
            beside.learn(out);
            beside.follow(is_last, self.chunks.namer());
            beside.note_places(self.chunks.namer().sources());
        }
        self.chunks.take(out);
        match is_last {
            true => self.chunks.finish(),
            false if self.chunks.is_due() => self.chunks.next(),
            false => Ok(Vec::new()),
        }
    }

    /// The root folders of processes that have one of their own, by pid.
    pub fn roots(&self) -> BTreeMap<u32, PathBuf> {
        self.beside.as_ref().map(Beside::roots).cloned().unwrap_or_default()
    }

    /// Adds a sentence to the recording's losses.
    pub fn note(&mut self, sentence: &str) {
        self.chunks.namer().note(sentence);
    }

    /// Whether there is no memory for more distinct stacks.
    pub fn is_full(&self) -> bool {
        self.chunks.is_full()
    }

    /// Waits until it is time for the next round, but not for longer.
    pub fn wait(&self, most: Duration) -> io::Result<()> {
        let end = Instant::now() + most;
        let most = most.clamp(Duration::from_millis(1), LONGEST_ROUND);
        if self.names.has_rings() {
            self.names.wait(most);
        } else {
            let pause = self.sampler.longest_pause();
            if pause < SHORTEST_ROUND {
                self.sampler.wait(most)?;
            } else {
                sys::perf::wait(&[], most.min(pause))?;
            }
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(SHORTEST_ROUND.saturating_sub(self.began.elapsed()).min(left));
        }
        Ok(())
    }
}
