//! What was kept of a recording: everything that a session got from the kernel and from the memory of its target, step
//! by step. Reading it again needs neither. The files of programs are not kept: Node's binary comes from the cache.
//!
//! Compressed by zlib. All numbers are little-endian; bytes have their length in front (u32), lists their count (u32).
//!
//! ```text
//! "nodescope live 1\n"
//! head     bytes                              what comes before the records of the recording
//! events   u64…
//! steps    (memory, faults, mappings, action)…
//! memory   (pid u32, address u64, bytes)…     what was read in the step, as far as it is new
//! faults   (pid u32, address u64, length u32)…  what could not be read, though its bytes are known from before
//! mappings (pid u32, bytes)…                  what was asked for in the step
//! action   u8 0, bytes                        the head with registers and stacks
//!          u8 1, bytes                        a round of the rings
//!          u8 2                               a look for missed mappings
//!          u8 3, bytes, stacks, waits         what the watch of event loops has seen
//! ```

pub mod keep;
pub mod text;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use live::{
    Arranged, Batch, Chunks, Machine, Outgoing, Rounds, SleepingStack, Stack, Wait, Watched,
};
use profile::Profile;
use symbols::{
    Files, GrowingNamer, Host, KernelNames, Namer, OpenFile, ProcessMemory, Sources, Whereabouts,
};
use trace::{Comm, Event, Fork, JavaScript, Mmap, Sample, Sink, Switch, Turn};
use v8::{Fault, Memory};

const MAGIC: &[u8] = b"nodescope live 1\n";

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub head: Vec<u8>,
    pub events: Vec<u64>,
    pub steps: Vec<Step>,
}

/// What a session did, and what it got from outside meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub memory: Vec<(u32, u64, Vec<u8>)>,
    pub faults: Vec<(u32, u64, u32)>,
    pub mappings: Vec<(u32, Vec<u8>)>,
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Begin(Vec<u8>),
    Round(Vec<u8>),
    Scan,
    Watched(Watched),
}

/// Lets a session do one thing.
pub fn act(rounds: &mut Rounds<'_>, action: &Action) {
    match action {
        Action::Begin(head) => rounds.begin(head),
        Action::Round(raw) => rounds.take(&Arranged::of(raw)),
        Action::Scan => rounds.scan(),
        Action::Watched(watched) => rounds.take_watched(watched.clone()),
    }
    rounds.send(true).unwrap();
}

/// A session on a machine, and where its records go.
pub fn session<'a>(machine: &'a dyn Machine, events: &[u64]) -> (Rounds<'a>, Rc<RefCell<Vec<u8>>>) {
    let records = Rc::new(RefCell::new(Vec::new()));
    let taken = Rc::clone(&records);
    let deliver = Box::new(move |batch: Batch| {
        taken.borrow_mut().extend(batch.records);
        Ok(())
    });
    let unreadable = |pid| format!("the memory of process {pid} may not be read");
    (Rounds::new(machine, &[], Outgoing::new(events.to_vec(), 0, unreadable, deliver)), records)
}

impl Kept {
    /// Reads everything again.
    pub fn replay(&self, machine: &Replay) -> Vec<u8> {
        let (mut rounds, records) = session(machine, &self.events);
        for step in &self.steps {
            machine.begin(step);
            act(&mut rounds, &step.action);
        }
        drop(rounds);
        records.take()
    }

    /// The profile of a recording whose records are these.
    pub fn profile(&self, node: &Path, records: &[u8]) -> Profile {
        let stream = [&capture::own::opening()[..], &self.beginning(), records].concat();
        let mut namer = Namer::new(sources(node), "recorded by perf events");
        formats::perf_data::read(&stream[..], NonZero::<usize>::MIN, &mut namer);
        namer.finish()
    }

    /// The same, as a session makes it: named bit by bit, in that many parts of a file.
    pub fn profile_in_parts(&self, node: &Path, records: &[u8], parts: usize) -> Profile {
        let mut chunks = Chunks::new(sources(node));
        chunks.take(&self.beginning());
        let mut file = profile::file::file_header().to_vec();
        let all: Vec<&[u8]> = capture::records(records).map(|(_, record)| record).collect();
        let times: Vec<u64> = self.times(node, records);
        for (at, part) in all.chunks(all.len().div_ceil(parts)).enumerate() {
            chunks.take(&part.concat());
            let time_ns = times[(times.len() * at / parts).min(times.len() - 1)];
            file.extend(chunks.until(time_ns).unwrap());
            // Every beginning can be opened.
            profile::file::read(&file).unwrap().check().unwrap();
        }
        file.extend(chunks.finish().unwrap());
        profile::file::read(&file).unwrap()
    }

    /// The same recording again and again for an hour at its rate, named every second; `each` gets the minutes. How
    /// many samples that makes.
    pub fn for_an_hour(&self, node: &Path, records: &[u8], mut each: impl FnMut(u64)) -> usize {
        let times = self.times(node, records);
        let lap_ns = times[times.len() - 1] - times[0] + 10_000_000;
        let mut namer = GrowingNamer::new(sources(node), "recorded by perf events");
        let mut live = formats::perf_data::Live::default();
        live.take(&self.beginning(), namer.sink());
        let (mut minutes, mut samples) = (0, 0);
        for lap in 0..3600 * 1_000_000_000 / lap_ns + 1 {
            let mut later = Later { sink: namer.sink(), by_ns: lap * lap_ns, samples: 0 };
            live.take(records, &mut later);
            samples += later.samples;
            namer.chunk(Some(times[0] + (lap + 1) * lap_ns)).unwrap();
            while minutes < (lap + 1) * lap_ns / 60_000_000_000 {
                minutes += 1;
                each(minutes);
            }
        }
        namer.chunk(None).unwrap();
        samples
    }

    /// The times of all samples, as the kernel counts.
    fn times(&self, node: &Path, records: &[u8]) -> Vec<u64> {
        let profile = self.profile(node, records);
        let start_ns = (profile.meta().start_clock_s.unwrap() * 1e9) as u64;
        let lanes = profile.lanes().iter().flat_map(|lane| &lane.samples.time_ns);
        let mut times: Vec<u64> = lanes.map(|time_ns| start_ns + time_ns).collect();
        times.sort_unstable();
        times
    }

    /// What comes before the records.
    fn beginning(&self) -> Vec<u8> {
        [&self.head[..], &capture::waits_event(profile::WAITS_LANE)].concat()
    }
}

fn sources(node: &Path) -> Sources {
    let files = Box::new(OnlyNode(node.to_owned()));
    Sources { files, kernel: KernelNames::None, ..Sources::default() }
}

/// A machine that has one file: Node. Other files differ from machine to machine. It is slow to report that it has no
/// other: what comes out must not depend on that.
#[derive(Clone)]
pub struct OnlyNode(pub PathBuf);

const SLOW_DISK: Duration = Duration::from_millis(2);

impl Files for OnlyNode {
    fn open(&self, _: Option<&Path>, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        match path.ends_with("node") {
            true => Ok(Box::new(File::open(&self.0)?)),
            false => {
                std::thread::sleep(SLOW_DISK);
                Err(io::ErrorKind::NotFound.into())
            }
        }
    }
}

/// The bytes of a process that are known.
#[derive(Clone, Default)]
pub struct Known(BTreeMap<u64, u8>);

impl Known {
    pub fn get(&self, address: u64, out: &mut [u8]) -> Option<()> {
        let mut known = self.0.range(address..);
        for (at, byte) in (address..).zip(out) {
            let (found, value) = known.next().filter(|(found, _)| **found == at)?;
            debug_assert_eq!(*found, at);
            *byte = *value;
        }
        Some(())
    }

    pub fn put(&mut self, address: u64, bytes: &[u8]) {
        self.0.extend((address..).zip(bytes.iter().copied()));
    }

    pub fn at(&self, address: u64) -> Option<u8> {
        self.0.get(&address).copied()
    }

    /// The bytes that another does not have, or has differently, in runs.
    pub fn beyond(&self, other: &Self) -> Vec<(u64, Vec<u8>)> {
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (at, byte) in self.0.iter().filter(|(at, byte)| other.at(**at) != Some(**byte)) {
            match runs.last_mut() {
                Some((start, run)) if *start + run.len() as u64 == *at => run.push(*byte),
                _ => runs.push((*at, vec![*byte])),
            }
        }
        runs
    }
}

/// A machine that answers from what was kept.
pub struct Replay {
    node: PathBuf,
    state: Rc<RefCell<State>>,
    /// Until then memory may not be read, by the number of the step.
    denied_steps: usize,
}

#[derive(Default)]
struct State {
    known: BTreeMap<u32, Known>,
    faults: BTreeSet<(u32, u64, usize)>,
    mappings: Vec<(u32, Vec<u8>)>,
    steps: usize,
    is_denied: bool,
}

impl Replay {
    pub fn new(node: &Path) -> Self {
        Self { node: node.to_owned(), state: Rc::default(), denied_steps: 0 }
    }

    /// One where memory may not be read for the first steps.
    pub fn denied_for(self, denied_steps: usize) -> Self {
        Self { denied_steps, ..self }
    }

    fn begin(&self, step: &Step) {
        let mut state = self.state.borrow_mut();
        state.faults = step.faults.iter().map(|row| (row.0, row.1, row.2 as usize)).collect();
        state.mappings.clone_from(&step.mappings);
        state.is_denied = state.steps < self.denied_steps;
        state.steps += 1;
        for (pid, address, bytes) in &step.memory {
            state.known.entry(*pid).or_default().put(*address, bytes);
        }
    }
}

impl Host for Replay {
    fn whereabouts(&self, _: u32) -> Whereabouts {
        Whereabouts::default()
    }

    fn memory(&self, pid: u32) -> io::Result<Box<dyn ProcessMemory>> {
        Ok(Box::new(ReplayMemory { pid, state: Rc::clone(&self.state) }))
    }

    fn files(&self) -> Box<dyn Files> {
        Box::new(OnlyNode(self.node.clone()))
    }
}

impl Machine for Replay {
    fn mappings(&self, pid: u32) -> Vec<u8> {
        let mut state = self.state.borrow_mut();
        let row = state.mappings.iter().position(|(of, _)| *of == pid);
        row.map(|row| state.mappings.remove(row).1).unwrap_or_default()
    }
}

struct ReplayMemory {
    pid: u32,
    state: Rc<RefCell<State>>,
}

impl Memory for ReplayMemory {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.try_read(address, out).map_err(|_| Fault)
    }
}

impl ProcessMemory for ReplayMemory {
    fn try_read(&self, address: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state.borrow();
        if state.is_denied {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let is_fault = state.faults.contains(&(self.pid, address, out.len()));
        let found = state
            .known
            .get(&self.pid)
            .filter(|_| !is_fault)
            .and_then(|known| known.get(address, out));
        found.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Kept {
    pub fn compressed(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put_bytes(&mut out, &self.head);
        put_list(&mut out, &self.events, |out, id| out.extend(id.to_le_bytes()));
        put_list(&mut out, &self.steps, put_step);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        zlib.write_all(&out).unwrap();
        zlib.finish().unwrap()
    }

    pub fn parse(bytes: &[u8]) -> Self {
        let mut all = Vec::new();
        flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut all).unwrap();
        let mut input = Input(all.strip_prefix(MAGIC).unwrap());
        let head = input.bytes();
        let (events, steps) = (input.list(Input::u64), input.list(Input::step));
        assert!(input.0.is_empty());
        Self { head, events, steps }
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend((count as u32).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend(bytes);
}

fn put_list<T>(out: &mut Vec<u8>, rows: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
    put_count(out, rows.len());
    rows.iter().for_each(|row| put(out, row));
}

fn put_step(out: &mut Vec<u8>, step: &Step) {
    put_list(out, &step.memory, |out, (pid, address, bytes)| {
        out.extend(pid.to_le_bytes());
        out.extend(address.to_le_bytes());
        put_bytes(out, bytes);
    });
    put_list(out, &step.faults, |out, (pid, address, length)| {
        out.extend(pid.to_le_bytes());
        out.extend(address.to_le_bytes());
        out.extend(length.to_le_bytes());
    });
    put_list(out, &step.mappings, |out, (pid, bytes)| {
        out.extend(pid.to_le_bytes());
        put_bytes(out, bytes);
    });
    match &step.action {
        Action::Begin(head) => {
            out.push(0);
            put_bytes(out, head);
        }
        Action::Round(raw) => {
            out.push(1);
            put_bytes(out, raw);
        }
        Action::Scan => out.push(2),
        Action::Watched(watched) => {
            out.push(3);
            put_bytes(out, &watched.records);
            put_list(out, &watched.stacks, put_stack);
            put_list(out, &watched.waits, put_wait);
        }
    }
}

fn put_stack(out: &mut Vec<u8>, one: &Stack) {
    out.extend(one.number.to_le_bytes());
    [one.pid, one.tid].iter().for_each(|word| out.extend(word.to_le_bytes()));
    out.extend(one.time_ns.to_le_bytes());
    out.extend(one.stack.syscall.unwrap_or(u32::MAX).to_le_bytes());
    [one.stack.sp, one.stack.pc].iter().for_each(|word| out.extend(word.to_le_bytes()));
    put_bytes(out, &one.stack.bytes);
}

fn put_wait(out: &mut Vec<u8>, wait: &Wait) {
    out.extend(wait.number.to_le_bytes());
    [wait.pid, wait.tid].iter().for_each(|word| out.extend(word.to_le_bytes()));
    [wait.time_ns, wait.weight_ns].iter().for_each(|word| out.extend(word.to_le_bytes()));
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        let (first, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        *first
    }

    fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn bytes(&mut self) -> Vec<u8> {
        let count = self.u32() as usize;
        let (first, rest) = self.0.split_at(count);
        self.0 = rest;
        first.to_vec()
    }

    fn list<T>(&mut self, row: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.u32()).map(|_| row(self)).collect()
    }

    fn step(&mut self) -> Step {
        let memory = self.list(|input| (input.u32(), input.u64(), input.bytes()));
        let faults = self.list(|input| (input.u32(), input.u64(), input.u32()));
        let mappings = self.list(|input| (input.u32(), input.bytes()));
        let action = match self.u8() {
            0 => Action::Begin(self.bytes()),
            1 => Action::Round(self.bytes()),
            2 => Action::Scan,
            _ => Action::Watched(Watched {
                records: self.bytes(),
                stacks: self.list(Self::stack),
                waits: self.list(Self::wait),
            }),
        };
        Step { memory, faults, mappings, action }
    }

    fn stack(&mut self) -> Stack {
        let (number, pid, tid, time_ns) = (self.u64(), self.u32(), self.u32(), self.u64());
        let syscall = Some(self.u32()).filter(|syscall| *syscall != u32::MAX);
        let stack = SleepingStack { syscall, sp: self.u64(), pc: self.u64(), bytes: self.bytes() };
        Stack { number, pid, tid, time_ns, stack }
    }

    fn wait(&mut self) -> Wait {
        let (number, pid, tid) = (self.u64(), self.u32(), self.u32());
        Wait { number, pid, tid, time_ns: self.u64(), weight_ns: self.u64() }
    }
}

/// Passes records on as if they were later.
struct Later<'a> {
    sink: &'a mut dyn Sink,
    by_ns: u64,
    samples: usize,
}

impl Sink for Later<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.sink.event(event);
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        self.samples += 1;
        self.sink.sample(&Sample { time_ns: sample.time_ns + self.by_ns, ..*sample });
    }

    fn mmap(&mut self, mmap: &Mmap<'_>) {
        self.sink.mmap(mmap);
    }

    fn comm(&mut self, comm: &Comm<'_>) {
        self.sink.comm(comm);
    }

    fn fork(&mut self, fork: &Fork) {
        self.sink.fork(fork);
    }

    fn switch(&mut self, switch: &Switch) {
        self.sink.switch(&Switch { time_ns: switch.time_ns + self.by_ns, ..*switch });
    }

    fn turn(&mut self, turn: &Turn) {
        let (start_ns, end_ns) = (turn.start_ns + self.by_ns, turn.end_ns + self.by_ns);
        self.sink.turn(&Turn { start_ns, end_ns, ..*turn });
    }

    fn javascript(&mut self, frame: &JavaScript<'_>) {
        self.sink.javascript(frame);
    }

    fn lost(&mut self, count: u64) {
        self.sink.lost(count);
    }

    fn damage(&mut self, sentence: String) {
        self.sink.damage(sentence);
    }
}
