//! Records a running Node in this process, and keeps everything that the session got from outside.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use capture::{Options, Sampler, Scope};
use live::{Machine, ThisMachine, Watching};
use symbols::{Files, Host, ProcessMemory, RemoteMemory, Whereabouts};
use v8::{Fault, Memory};

use super::{Action, Kept, Known, OnlyNode, Step, act, session};
use crate::skip::skip;

/// Samples a second, and how much of the stack each copies.
const FREQUENCY: u32 = 99;
const STACK_BYTES: u32 = 48 << 10;
const ROUND: Duration = Duration::from_millis(50);
const SCAN: Duration = Duration::from_millis(500);
/// A machine that needs longer is too busy.
const LIMIT: Duration = Duration::from_secs(60);

/// A Node that runs the service, and ends with the test.
pub struct Running(Child);

impl Running {
    /// Starts it, and waits until its functions are warm.
    pub fn start(node: &Path, script: &Path) -> Self {
        let mut child = Command::new(node).arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Records some samples and a long turn; what was kept, and the records that came out meanwhile. Nothing where perf
/// events are not permitted.
pub fn keep(node: &Path, pid: u32, most_samples: usize) -> Option<(Kept, Vec<u8>)> {
    let options = Options {
        frequency: FREQUENCY,
        fast_frequency: None,
        on_exec: false,
        children: true,
        events: Vec::new(),
        stack_bytes: STACK_BYTES,
    };
    let mut sampler = match Sampler::attach(Scope::Processes(&[pid]), &options) {
        Ok(sampler) => sampler,
        Err(error) => {
            skip(format_args!("keeping a recording: {error:?}"));
            return None;
        }
    };
    let mut watching = Watching::new([pid], &[], true);
    watching.wait_for_look(Duration::from_secs(2));
    sampler.enable().unwrap();
    let (_, events) = sampler.share().unwrap();
    let events: Vec<u64> = events.split(',').map(|id| id.parse().unwrap()).collect();
    let machine = Keeper { node: node.to_owned(), state: Rc::default() };
    let (mut rounds, records) = session(&machine, &events);
    let mut kept = Kept { head: sampler.head(), events, steps: Vec::new() };
    let mut step = |action: Action| {
        act(&mut rounds, &action);
        kept.steps.push(machine.settle(action));
    };
    step(Action::Begin(sampler.raw_head()));
    let (start, mut next_scan, mut is_last) = (Instant::now(), Instant::now(), false);
    let (mut samples, mut waits) = (0, 0);
    loop {
        let mut raw = Vec::new();
        sampler.read_raw(&mut raw);
        samples += capture::records(&raw).filter(|(is_sample, _)| *is_sample).count();
        watching.learn(&raw);
        step(Action::Round(raw));
        if Instant::now() >= next_scan {
            next_scan = Instant::now() + SCAN;
            step(Action::Scan);
        }
        let watched = if is_last { watching.finish() } else { watching.take() };
        waits += watched.waits.len();
        step(Action::Watched(watched));
        if is_last {
            break;
        }
        sampler.wait(ROUND).unwrap();
        is_last = samples >= most_samples && waits > 0 || start.elapsed() >= LIMIT;
        if is_last {
            sampler.disable();
        }
    }
    drop(rounds);
    Some((kept, records.take()))
}

/// This machine, whose answers are kept. Within a step a byte is read once: a target goes on meanwhile, and a replay
/// could not distinguish two answers.
struct Keeper {
    node: PathBuf,
    state: Rc<RefCell<State>>,
}

#[derive(Default)]
struct State {
    /// What was read before this step, and in it.
    known: BTreeMap<u32, Known>,
    fresh: BTreeMap<u32, Known>,
    faults: Vec<(u32, u64, u32)>,
    mappings: Vec<(u32, Vec<u8>)>,
}

impl Keeper {
    /// A step is over.
    fn settle(&self, action: Action) -> Step {
        let state = &mut *self.state.borrow_mut();
        let mut memory = Vec::new();
        for (pid, fresh) in std::mem::take(&mut state.fresh) {
            let known = state.known.entry(pid).or_default();
            for (address, bytes) in fresh.beyond(known) {
                known.put(address, &bytes);
                memory.push((pid, address, bytes));
            }
        }
        let known = &state.known;
        let is_known = |(pid, address, length): &(u32, u64, u32)| {
            let mut out = vec![0; *length as usize];
            known.get(pid).is_some_and(|known| known.get(*address, &mut out).is_some())
        };
        let faults = std::mem::take(&mut state.faults).into_iter().filter(is_known).collect();
        Step { memory, faults, mappings: std::mem::take(&mut state.mappings), action }
    }
}

impl Host for Keeper {
    fn whereabouts(&self, _: u32) -> Whereabouts {
        Whereabouts::default()
    }

    fn memory(&self, pid: u32) -> io::Result<Box<dyn ProcessMemory>> {
        let inner = RemoteMemory::of(pid)?;
        Ok(Box::new(KeptMemory { pid, inner, state: Rc::clone(&self.state) }))
    }

    fn files(&self) -> Box<dyn Files> {
        Box::new(OnlyNode(self.node.clone()))
    }
}

impl Machine for Keeper {
    fn mappings(&self, pid: u32) -> Vec<u8> {
        let mappings = ThisMachine.mappings(pid);
        self.state.borrow_mut().mappings.push((pid, mappings.clone()));
        mappings
    }
}

struct KeptMemory {
    pid: u32,
    inner: RemoteMemory,
    state: Rc<RefCell<State>>,
}

impl Memory for KeptMemory {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        let mut state = self.state.borrow_mut();
        let fault = (self.pid, address, out.len() as u32);
        if state.faults.contains(&fault) || self.inner.read(address, out).is_err() {
            state.faults.push(fault);
            return Err(Fault);
        }
        let fresh = state.fresh.entry(self.pid).or_default();
        for (at, byte) in (address..).zip(out.iter_mut()) {
            *byte = fresh.at(at).unwrap_or(*byte);
        }
        fresh.put(address, out);
        Ok(())
    }
}

impl ProcessMemory for KeptMemory {
    fn try_read(&self, address: u64, out: &mut [u8]) -> io::Result<()> {
        self.read(address, out).map_err(|_| io::ErrorKind::UnexpectedEof.into())
    }
}
