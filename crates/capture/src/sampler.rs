//! Opens the events of processes and reads what they write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::events::ExtraEvent;
use sys::perf::{Attribute, Event, Ring, raise_file_limit, wait};
use trace::machine::HERE;

use crate::clock::{STACK_COPY, clock, fast, flag};
use crate::rings::{compact, records, strip};
use crate::state;
use crate::stream;
use crate::switches;

/// The registers of user space that a sample has.
pub(crate) const REGISTERS: u64 = HERE.sampled;

/// What a ring holds, where this user may have so much; else half of it, and so on.
const LARGEST_RING: usize = 4 << 20;
const SMALLEST_RING: usize = 32 << 10;

/// A smaller ring is full of whole stacks in 20 ms at the higher rate: it gets smaller ones.
const SMALL_RING: usize = 1 << 20;

/// What a sample has beside the copy of a stack: a call chain of the kernel at most.
const SAMPLE_BYTES: u64 = 2 << 10;

/// How to sample.
#[derive(Clone, Debug)]
pub struct Options {
    /// Samples a second of each busy thread.
    pub frequency: u32,
    /// The same at the beginning, until [`Sampler::set_fast`] changes it; none where there is one rate only.
    pub fast_frequency: Option<u32>,
    /// Begin when the process becomes another program, not at once.
    pub on_exec: bool,
    /// Follow the processes that it starts, not only its threads.
    pub children: bool,
    /// Events beside the clock.
    pub events: Vec<ExtraEvent>,
    /// How much of the stack each sample of the clock copies, together with registers; 0 for neither.
    pub stack_bytes: u32,
}

/// What to sample.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// All threads of some processes.
    Processes(&'a [u32]),
    /// Everything that runs, where the state of these processes is known from the start.
    System(&'a [u32]),
}

impl Scope<'_> {
    fn pids(&self) -> &[u32] {
        match self {
            Self::Processes(pids) | Self::System(pids) => pids,
        }
    }
}

/// Why a process cannot be sampled.
#[derive(Debug)]
pub enum AttachError {
    /// There is no such process.
    Gone(u32),
    /// This user may not.
    Denied(io::Error),
    /// This user may not see the kernel, where this event happens.
    Hidden(String),
    /// This machine has no such event.
    Missing(String),
    /// Something else.
    Failed(io::Error),
}

impl AttachError {
    fn of(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied(error),
            _ => Self::Failed(error),
        }
    }
}

/// One kind of event, and what it is called.
struct Group {
    attribute: Attribute,
    name: Option<String>,
    /// The numbers that its samples carry.
    ids: Vec<u64>,
}

impl Group {
    /// Why its event cannot be opened.
    fn explain(&self, error: io::Error) -> AttachError {
        match (&self.name, error.raw_os_error()) {
            (Some(name), Some(ENOENT | ENODEV | EOPNOTSUPP)) => AttachError::Missing(name.clone()),
            _ => AttachError::of(error),
        }
    }
}

/// The events of some processes, and one ring for each CPU.
pub struct Sampler {
    /// By CPU: the event whose ring it is.
    rings: Vec<(i32, usize, Ring)>,
    events: Vec<Event>,
    /// The clock at the higher rate, and for each of its events the one at the lower rate. One of the two counts.
    fast: Option<Attribute>,
    fast_events: Vec<(usize, Event)>,
    is_fast: bool,
    groups: Vec<Group>,
    pids: Vec<u32>,
    tids: BTreeSet<i32>,
    /// What was read before the caller asked for it.
    early: Vec<u8>,
    /// Samples so far.
    samples: u64,
}

impl Sampler {
    /// Opens the events. Threads and processes that are started from now on are followed.
    pub fn attach(scope: Scope<'_>, options: &Options) -> Result<Self, AttachError> {
        raise_file_limit();
        let tids = match scope {
            Scope::Processes(pids) => tids_of(pids)?,
            Scope::System(_) => BTreeSet::from([ALL_THREADS]),
        };
        let cpus = cpus().map_err(AttachError::Failed)?;
        let mut clock = clock(options);
        if matches!(scope, Scope::System(_)) {
            clock.flags |= flag::EXCLUDE_IDLE;
        } else if let (Some(&tid), Some(&cpu)) = (tids.first(), cpus.first())
            && Event::open(&clock, tid, cpu).is_err_and(|error| is_denied(&error))
        {
            // Where the kernel's own time may not be seen, the rest may.
            clock.flags |= flag::EXCLUDE_KERNEL;
        }
        let mut groups = vec![Group { attribute: clock, name: None, ids: Vec::new() }];
        for event in &options.events {
            groups.push(extra(event, &clock)?);
        }
        let mut sampler = Self {
            rings: Vec::new(),
            events: Vec::new(),
            fast: fast(options, &clock),
            fast_events: Vec::new(),
            is_fast: false,
            groups,
            pids: scope.pids().to_vec(),
            tids: BTreeSet::new(),
            early: Vec::new(),
            samples: 0,
        };
        sampler.open_at_once(&cpus, &tids, options.on_exec)?;
        if sampler.events.is_empty() {
            return Err(AttachError::Gone(scope.pids().first().copied().unwrap_or(0)));
        }
        Ok(sampler)
    }

    /// Whether the kernel's own time is seen.
    pub fn sees_kernel(&self) -> bool {
        self.groups.iter().all(|group| group.attribute.flags & flag::EXCLUDE_KERNEL == 0)
    }

    /// How many samples were read.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// What comes before all other records: the events, the machine, and what the processes are.
    pub fn head(&self) -> Vec<u8> {
        self.head_of(|attribute| Attribute {
            sample_type: attribute.sample_type & !STACK_COPY,
            user_registers: 0,
            user_stack: 0,
            ..*attribute
        })
    }

    /// The same for a reader of the rings: the samples there have registers and stacks.
    pub fn raw_head(&self) -> Vec<u8> {
        self.head_of(|attribute| *attribute)
    }

    /// Lets a program that is started now read the rings; the first text has what it needs for that, the second a
    /// number of each event.
    pub fn share(&self) -> io::Result<(String, String)> {
        let mut rows = Vec::new();
        for (_, event, ring) in &self.rings {
            self.events[*event].share()?;
            rows.push(format!("{}:{}", self.events[*event].as_raw_fd(), ring.data_bytes()));
        }
        let number = |group: &Group| group.ids.first().copied().unwrap_or(0).to_string();
        let numbers: Vec<String> = self.groups.iter().map(number).collect();
        Ok((rows.join(","), numbers.join(",")))
    }

    /// Processes that were started meanwhile: from now on, the head describes them, too.
    pub fn know(&mut self, pids: impl IntoIterator<Item = u32>) {
        for pid in pids {
            if self.pids.len() < MOST_KNOWN && !self.pids.contains(&pid) {
                self.pids.push(pid);
            }
        }
    }

    /// Goes on behind what another program has read of the rings, in the order in which they were shared.
    pub fn go_on_from(&mut self, positions: &[u64]) {
        for ((_, _, ring), end) in self.rings.iter_mut().zip(positions) {
            ring.release(*end);
        }
    }

    /// Counts samples that another program has read.
    pub fn count(&mut self, samples: u64) {
        self.samples += samples;
    }

    fn head_of(&self, recorded: impl Fn(&Attribute) -> Attribute) -> Vec<u8> {
        let mut out = Vec::new();
        for group in &self.groups {
            out.extend(stream::attribute(&recorded(&group.attribute), &group.ids));
            if let (Some(name), Some(id)) = (&group.name, group.ids.first()) {
                out.extend(stream::event_name(*id, name));
            }
        }
        for (number, path) in [(3, "/proc/sys/kernel/hostname"), (4, "/proc/sys/kernel/osrelease")]
        {
            if let Ok(text) = fs::read_to_string(path) {
                out.extend(stream::feature_text(number, text.trim_end()));
            }
        }
        out.extend(stream::feature_text(6, std::env::consts::ARCH));
        let wall_ns =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        out.extend(stream::feature_clock(wall_ns, sys::clock::monotonic_ns()));
        for pid in &self.pids {
            // A process that has just ended has nothing to record.
            out.extend(state::describe(*pid).unwrap_or_default());
        }
        out
    }

    /// Begins. Threads that were started while the events were opened are added now. Those whose start an event
    /// reported have inherited it from their parents.
    pub fn enable(&mut self) -> Result<(), AttachError> {
        self.enable_from(0)?;
        if self.tids.contains(&ALL_THREADS) {
            return Ok(());
        }
        let now = tids_of(&self.pids)?;
        let mut early = std::mem::take(&mut self.early);
        self.read(&mut early);
        let followed: BTreeSet<i32> =
            stream::forks(&early).filter_map(|began| i32::try_from(began.tid).ok()).collect();
        let is_missed = |tid: &i32| !self.tids.contains(tid) && !followed.contains(tid);
        let missed: BTreeSet<i32> = now.into_iter().filter(is_missed).collect();
        self.early = early;
        let first = self.events.len();
        self.open(&cpus().map_err(AttachError::Failed)?, &missed)?;
        self.enable_from(first)
    }

    /// Lets events count from this one on: at the higher rate, where they have one.
    fn enable_from(&self, first: usize) -> Result<(), AttachError> {
        let fast: BTreeMap<usize, &Event> =
            self.fast_events.iter().map(|(at, event)| (*at, event)).collect();
        let begins = |(at, base): (usize, &Event)| fast.get(&at).unwrap_or(&base).enable();
        let mut events = self.events.iter().enumerate().skip(first);
        events.try_for_each(begins).map_err(AttachError::Failed)
    }

    /// Whether there is a higher rate to change to.
    pub fn has_fast(&self) -> bool {
        !self.fast_events.is_empty()
    }

    /// Changes to the higher rate, or back. Each sample has the rate at which it was taken. One event begins before the
    /// other ends: what happens in between is recorded twice rather than not at all.
    pub fn set_fast(&mut self, is_fast: bool) {
        self.is_fast = is_fast;
        for (at, fast) in &self.fast_events {
            let base = &self.events[*at];
            let (begins, ends) = if is_fast { (fast, base) } else { (base, fast) };
            // An event that cannot begin leaves the other one as it is.
            let _ = begins.enable().and_then(|()| ends.disable());
        }
    }

    /// Ends; what was written is still there to be read.
    pub fn disable(&self) {
        for event in self.events.iter().chain(self.fast_events.iter().map(|(_, event)| event)) {
            // A thread that has ended has nothing to stop.
            let _ = event.disable();
        }
    }

    /// How long the rings may be left alone at the rate of now: a thread that keeps a CPU busy fills half of one in
    /// this time. Nothing, where events are sampled whose number is not known.
    pub fn longest_pause(&self) -> Duration {
        let [Group { attribute, .. }] = &self.groups[..] else { return Duration::ZERO };
        self.pause_of(self.fast.as_ref().filter(|_| self.is_fast).unwrap_or(attribute))
    }

    /// The same for both rates, the lower one first.
    pub fn pauses(&self) -> [Duration; 2] {
        let [Group { attribute, .. }] = &self.groups[..] else { return [Duration::ZERO; 2] };
        [attribute, self.fast.as_ref().unwrap_or(attribute)].map(|rate| self.pause_of(rate))
    }

    fn pause_of(&self, attribute: &Attribute) -> Duration {
        let smallest = self.rings.iter().map(|(_, _, ring)| ring.data_bytes() as u64).min();
        let bytes_a_second =
            attribute.frequency.saturating_mul(u64::from(attribute.user_stack) + SAMPLE_BYTES);
        let micros = smallest.unwrap_or(0).saturating_mul(500_000) / bytes_a_second.max(1);
        Duration::from_micros(micros)
    }

    /// Waits until there are samples, or the time is over.
    pub fn wait(&self, most: Duration) -> io::Result<()> {
        let files: Vec<i32> =
            self.rings.iter().map(|(_, event, _)| self.events[*event].as_raw_fd()).collect();
        wait(&files, most).map(|_| ())
    }

    /// Appends what was written since the last time, as one round.
    pub fn read(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        out.append(&mut self.early);
        let fresh = out.len();
        for (_, _, ring) in &mut self.rings {
            ring.read(out);
        }
        switches::thin(out, fresh);
        let is_sample = |kind: &u32| *kind == stream::kind::SAMPLE;
        self.samples += stream::kinds(&out[fresh..]).filter(is_sample).count() as u64;
        if self.groups[0].attribute.user_stack > 0 {
            let raw = out.split_off(start);
            for (is_sample, record) in records(&raw) {
                if !is_sample {
                    out.extend_from_slice(record);
                } else if !strip(record, out) {
                    self.samples = self.samples.saturating_sub(1);
                }
            }
        }
        if out.len() > start {
            out.extend(stream::finished_round());
        }
    }

    /// The same with registers and stacks, as [`Sampler::raw_head`] describes them, for a caller that walks them at
    /// once: what [`crate::Rings::read`] gives another program.
    pub fn read_raw(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.early);
        let start = out.len();
        for (_, _, ring) in &mut self.rings {
            ring.take(|first, second| compact(first, second, out));
        }
        switches::thin(out, start);
    }

    /// Opens everything; with one rate alone where a second one needs more files than this user may have, or the kernel
    /// does not permit it.
    fn open_at_once(
        &mut self,
        cpus: &[i32],
        tids: &BTreeSet<i32>,
        on_exec: bool,
    ) -> Result<(), AttachError> {
        let opened = self.open(cpus, tids);
        // What begins by itself must be there on every CPU.
        let is_whole = self.fast_events.len() == self.events.len();
        let is_enough = is_whole || (self.has_fast() && !on_exec);
        if self.fast.is_none() || (opened.is_ok() && is_enough) {
            self.is_fast = self.has_fast();
            return opened;
        }
        self.fast = None;
        self.forget_events();
        self.open(cpus, tids)
    }

    fn open(&mut self, cpus: &[i32], tids: &BTreeSet<i32>) -> Result<(), AttachError> {
        for cpu in cpus {
            for tid in tids {
                for group in 0..self.groups.len() {
                    self.open_one(group, *cpu, *tid)?;
                }
            }
        }
        self.tids.extend(tids);
        Ok(())
    }

    fn open_one(&mut self, group: usize, cpu: i32, tid: i32) -> Result<(), AttachError> {
        let mut attribute = self.groups[group].attribute;
        if self.fast.is_some() {
            // The higher rate begins.
            attribute.flags &= !flag::ENABLE_ON_EXEC;
        }
        let event = match Event::open(&attribute, tid, cpu) {
            Ok(event) => event,
            // The thread has ended meanwhile.
            Err(error) if error.raw_os_error() == Some(ESRCH) => return Ok(()),
            Err(error) => return Err(self.groups[group].explain(error)),
        };
        match self.rings.iter().find(|(of, ..)| *of == cpu) {
            Some((_, first, _)) => {
                event.write_to(&self.events[*first]).map_err(AttachError::Failed)?;
            }
            None => {
                let ring = map_ring(&event).map_err(AttachError::of)?;
                self.rings.push((cpu, self.events.len(), ring));
            }
        }
        self.groups[group].ids.extend(event.id());
        self.events.push(event);
        if group == 0 {
            self.open_fast(cpu, tid);
        }
        Ok(())
    }

    /// The higher rate of the clock that was opened last, where the kernel permits it: without it, the thread keeps the
    /// lower one. Its samples are of the same event.
    fn open_fast(&mut self, cpu: i32, tid: i32) {
        let Some((_, first, ring)) = self.rings.iter().find(|(of, ..)| *of == cpu) else { return };
        let Some(rate) = &mut self.fast else { return };
        if ring.data_bytes() < SMALL_RING {
            rate.user_stack = rate.user_stack.min(MOST_OF_EACH);
        }
        if let Ok(event) = Event::open(rate, tid, cpu)
            && event.write_to(&self.events[*first]).is_ok()
        {
            self.groups[0].ids.extend(event.id());
            self.fast_events.push((self.events.len() - 1, event));
        }
    }

    fn forget_events(&mut self) {
        self.rings.clear();
        self.fast_events.clear();
        self.events.clear();
        self.tids.clear();
        self.groups.iter_mut().for_each(|group| group.ids.clear());
    }
}

/// Processes that a head describes.
const MOST_KNOWN: usize = 1000;

/// What the kernel takes for the tid of all threads of all processes.
const ALL_THREADS: i32 = -1;
const ESRCH: i32 = 3;

/// The kernel's errors for events that a machine does not have.
const ENOENT: i32 = 2;
const ENODEV: i32 = 19;
const EOPNOTSUPP: i32 = 95;

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// The largest ring that this user may have.
fn map_ring(event: &Event) -> io::Result<Ring> {
    let mut bytes = LARGEST_RING;
    loop {
        match Ring::map(event, bytes) {
            Err(error) if is_denied(&error) && bytes > SMALLEST_RING => bytes /= 2,
            result => return result,
        }
    }
}

/// How much of the stack is copied at events that are not limited in number.
const MOST_OF_EACH: u32 = 16 << 10;

/// An event beside the clock. The clock reports all the rest: what started, what was mapped. A trace event is sampled
/// each time, others so often a second.
fn extra(event: &ExtraEvent, clock: &Attribute) -> Result<Group, AttachError> {
    if event.in_kernel && clock.flags & flag::EXCLUDE_KERNEL != 0 {
        return Err(AttachError::Hidden(event.name.clone()));
    }
    let recorded_elsewhere =
        flag::MMAP | flag::MMAP2 | flag::COMM | flag::COMM_EXEC | flag::TASK | flag::SWITCHES;
    let mut attribute = Attribute { kind: event.kind, config: event.config, wakeup: 0, ..*clock };
    attribute.flags &= !recorded_elsewhere;
    if event.is_tracepoint() {
        attribute.flags &= !flag::FREQUENCY;
        attribute.frequency = 1;
        attribute.user_stack = attribute.user_stack.min(MOST_OF_EACH);
    }
    Ok(Group { attribute, name: Some(event.name.clone()), ids: Vec::new() })
}

fn tids_of(pids: &[u32]) -> Result<BTreeSet<i32>, AttachError> {
    let mut tids = BTreeSet::new();
    // Children come and go.
    for threads in pids.iter().filter_map(|pid| state::threads(*pid).ok()) {
        tids.extend(threads.into_iter().filter_map(|tid| i32::try_from(tid).ok()));
    }
    match pids.first() {
        Some(pid) if tids.is_empty() => Err(AttachError::Gone(*pid)),
        _ => Ok(tids),
    }
}

/// The CPUs that are online: `0-3,8`.
pub fn cpus() -> io::Result<Vec<i32>> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online")?;
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) {
            cpus.extend(first..=last.min(first.saturating_add(8191)));
        }
    }
    Ok(cpus)
}
