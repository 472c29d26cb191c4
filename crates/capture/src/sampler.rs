//! Opens the events of processes and reads what they write.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sys::perf::{ATTRIBUTE_BYTES, Attribute, Event, Ring, raise_file_limit, wait};

use crate::state;
use crate::stream;

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const CLOCK_MONOTONIC: i32 = 1;

/// Instruction pointer, thread, time, call chain, CPU, period, id in front.
const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 16;

/// Bits of the attribute's flags.
mod flag {
    pub(super) const DISABLED: u64 = 1 << 0;
    pub(super) const INHERIT: u64 = 1 << 1;
    pub(super) const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub(super) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    pub(super) const MMAP: u64 = 1 << 8;
    pub(super) const COMM: u64 = 1 << 9;
    pub(super) const FREQUENCY: u64 = 1 << 10;
    pub(super) const ENABLE_ON_EXEC: u64 = 1 << 12;
    pub(super) const TASK: u64 = 1 << 13;
    pub(super) const WATERMARK: u64 = 1 << 14;
    pub(super) const SAMPLE_ID_ALL: u64 = 1 << 18;
    pub(super) const MMAP2: u64 = 1 << 23;
    pub(super) const COMM_EXEC: u64 = 1 << 24;
    pub(super) const USE_CLOCK: u64 = 1 << 25;
    pub(super) const SWITCHES: u64 = 1 << 26;
    /// Since Linux 5.13.
    pub(super) const INHERIT_THREADS_ONLY: u64 = 1 << 35;
}

/// What a ring holds, where this user may have so much; else half of it, and so on.
const LARGEST_RING: usize = 4 << 20;
const SMALLEST_RING: usize = 32 << 10;

/// How to sample.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Samples a second of each busy thread.
    pub frequency: u32,
    /// Begin when the process becomes another program, not at once.
    pub on_exec: bool,
    /// Follow the processes that it starts, not only its threads.
    pub children: bool,
}

/// Why a process cannot be sampled.
#[derive(Debug)]
pub enum AttachError {
    /// There is no such process.
    Gone(u32),
    /// This user may not.
    Denied(io::Error),
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

/// The events of some processes, and one ring for each CPU.
pub struct Sampler {
    rings: Vec<(usize, Ring)>,
    events: Vec<Event>,
    pids: Vec<u32>,
    attribute: Attribute,
    /// Samples and bytes so far.
    samples: u64,
}

impl Sampler {
    /// Opens the events of all threads of some processes. Threads and processes that they start are followed.
    pub fn attach(pids: &[u32], options: Options) -> Result<Self, AttachError> {
        raise_file_limit();
        let mut attribute = attribute(options);
        let tids = tids_of(pids)?;
        // Where the kernel's own time may not be seen, the rest may.
        let cpus = cpus().map_err(AttachError::Failed)?;
        if let (Some(&tid), Some(&cpu)) = (tids.first(), cpus.first())
            && Event::open(&attribute, tid, cpu).is_err_and(|error| is_denied(&error))
        {
            attribute.flags |= flag::EXCLUDE_KERNEL;
        }
        let mut sampler =
            Self { rings: Vec::new(), events: Vec::new(), pids: pids.to_vec(), attribute, samples: 0 };
        for cpu in cpus {
            sampler.open_on(cpu, &tids)?;
        }
        if sampler.events.is_empty() {
            return Err(AttachError::Gone(pids.first().copied().unwrap_or(0)));
        }
        Ok(sampler)
    }

    /// Whether the kernel's own time is seen.
    pub fn sees_kernel(&self) -> bool {
        self.attribute.flags & flag::EXCLUDE_KERNEL == 0
    }

    /// How many samples were read.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// What comes before all records: the event, the machine, and what the processes are.
    pub fn head(&self) -> Vec<u8> {
        let mut out = stream::magic();
        let ids: Vec<u64> = self.events.iter().filter_map(|event| event.id().ok()).collect();
        out.extend(stream::attribute(&self.attribute, &ids));
        for (number, path) in [(3, "/proc/sys/kernel/hostname"), (4, "/proc/sys/kernel/osrelease")] {
            if let Ok(text) = fs::read_to_string(path) {
                out.extend(stream::feature_text(number, text.trim_end()));
            }
        }
        out.extend(stream::feature_text(6, std::env::consts::ARCH));
        let wall_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        out.extend(stream::feature_clock(wall_ns, sys::clock::monotonic_ns()));
        for pid in &self.pids {
            // A process that has just ended has nothing to tell.
            out.extend(state::describe(*pid).unwrap_or_default());
        }
        out
    }

    /// Begins.
    pub fn enable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(Event::enable)
    }

    /// Ends; what was written is still there to be read.
    pub fn disable(&self) {
        for event in &self.events {
            // A thread that has ended has nothing to stop.
            let _ = event.disable();
        }
    }

    /// Waits until a ring is half full, or the time is over.
    pub fn wait(&self, most: Duration) -> io::Result<()> {
        let files: Vec<i32> = self.rings.iter().map(|(event, _)| self.events[*event].as_raw_fd()).collect();
        wait(&files, most)
    }

    /// Appends what was written since the last time, as one round.
    pub fn read(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        for (_, ring) in &mut self.rings {
            ring.read(out);
        }
        let is_sample = |kind: &u32| *kind == stream::kind::SAMPLE;
        self.samples += stream::kinds(&out[start..]).filter(is_sample).count() as u64;
        if out.len() > start {
            out.extend(stream::finished_round());
        }
    }

    fn open_on(&mut self, cpu: i32, tids: &[i32]) -> Result<(), AttachError> {
        let mut first = None;
        for tid in tids {
            let event = match Event::open(&self.attribute, *tid, cpu) {
                Ok(event) => event,
                // The thread has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(ESRCH) => continue,
                Err(error) => return Err(AttachError::of(error)),
            };
            match first {
                None => {
                    let ring = map_ring(&event).map_err(AttachError::of)?;
                    self.rings.push((self.events.len(), ring));
                    first = Some(self.events.len());
                }
                Some(first) => event.write_to(&self.events[first]).map_err(AttachError::Failed)?,
            }
            self.events.push(event);
        }
        Ok(())
    }
}

const ESRCH: i32 = 3;

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

fn attribute(options: Options) -> Attribute {
    let mut flags = flag::DISABLED
        | flag::INHERIT
        | flag::EXCLUDE_HYPERVISOR
        | flag::MMAP
        | flag::MMAP2
        | flag::COMM
        | flag::COMM_EXEC
        | flag::FREQUENCY
        | flag::TASK
        | flag::WATERMARK
        | flag::SAMPLE_ID_ALL
        | flag::USE_CLOCK
        | flag::SWITCHES;
    if options.on_exec {
        flags |= flag::ENABLE_ON_EXEC;
    }
    if !options.children {
        flags |= flag::INHERIT_THREADS_ONLY;
    }
    Attribute {
        kind: SOFTWARE,
        size: ATTRIBUTE_BYTES,
        config: CPU_CLOCK,
        frequency: u64::from(options.frequency),
        sample_type: SAMPLE_TYPE,
        flags,
        wakeup: (SMALLEST_RING / 2) as u32,
        clock: CLOCK_MONOTONIC,
        ..Attribute::default()
    }
}

fn tids_of(pids: &[u32]) -> Result<Vec<i32>, AttachError> {
    let mut tids = BTreeSet::new();
    for pid in pids {
        let threads = state::threads(*pid).map_err(|_| AttachError::Gone(*pid))?;
        tids.extend(threads.into_iter().filter_map(|tid| i32::try_from(tid).ok()));
    }
    Ok(tids.into_iter().collect())
}

/// The CPUs that are online: `0-3,8`.
fn cpus() -> io::Result<Vec<i32>> {
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
