//! Samples of all threads of a process: registers and a copy of the stack, delivered one by one.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use sys::perf::{ATTRIBUTE_BYTES, Attribute, Event, Ring, wait};

/// One sample of user code.
pub struct Sample {
    pub rdi: u64,
    pub rbp: u64,
    pub rsp: u64,
    pub rip: u64,
    pub stack: Vec<u8>,
}

/// Open events, and a ring for each CPU.
pub struct Sampler {
    events: Vec<Event>,
    rings: Vec<Ring>,
    files: Vec<i32>,
    bytes: Vec<u8>,
}

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;

/// Thread, registers, stack.
const SAMPLE_TYPE: u64 = 1 << 1 | 1 << 12 | 1 << 13;

/// Disabled at first, inherited by new threads, no kernel, no hypervisor, a frequency, user registers only.
const FLAGS: u64 = 1 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 10;

/// rdi, rbp, rsp, rip, r9, r12: in this order in a sample.
const REGISTERS: u64 = 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 17 | 1 << 20;

const STACK_BYTES: u32 = 48 << 10;
const RING_BYTES: usize = 4 << 20;
const SAMPLE: u32 = 9;

impl Sampler {
    pub fn attach(pid: u32, frequency: u64) -> io::Result<Self> {
        let attribute = Attribute {
            kind: SOFTWARE,
            size: ATTRIBUTE_BYTES,
            config: CPU_CLOCK,
            frequency,
            sample_type: SAMPLE_TYPE,
            flags: FLAGS,
            wakeup: 1,
            user_registers: REGISTERS,
            user_stack: STACK_BYTES,
            ..Attribute::default()
        };
        let mut sampler =
            Self { events: Vec::new(), rings: Vec::new(), files: Vec::new(), bytes: Vec::new() };
        for cpu in capture::cpus()? {
            let first = sampler.events.len();
            for tid in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
                let Ok(tid) = tid.file_name().to_string_lossy().parse() else { continue };
                let event = Event::open(&attribute, tid, cpu)?;
                if sampler.events.len() == first {
                    sampler.rings.push(Ring::map(&event, RING_BYTES)?);
                    sampler.files.push(event.as_raw_fd());
                } else {
                    event.write_to(&sampler.events[first])?;
                }
                sampler.events.push(event);
            }
        }
        sampler.events.iter().try_for_each(Event::enable)?;
        Ok(sampler)
    }

    /// What has come in by now, after waiting for the first sample.
    pub fn read(&mut self, most: Duration) -> Vec<Sample> {
        wait(&self.files, most).unwrap();
        self.bytes.clear();
        for ring in &mut self.rings {
            ring.read(&mut self.bytes);
        }
        let mut samples = Vec::new();
        let mut rest = &self.bytes[..];
        while rest.len() >= 8 {
            let kind = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]);
            let size = usize::from(u16::from_ne_bytes([rest[6], rest[7]])).max(8);
            if kind == SAMPLE {
                samples.extend(parse(&rest[8..size]));
            }
            rest = &rest[size..];
        }
        samples
    }
}

fn parse(body: &[u8]) -> Option<Sample> {
    let word = |at: usize| Some(u64::from_ne_bytes(*body.get(at..)?.first_chunk()?));
    if word(8)? != 2 {
        return None; // no user registers: a kernel thread, or 32 bits
    }
    let size = word(64)? as usize;
    let copied = word(72 + size)? as usize;
    Some(Sample {
        rdi: word(16)?,
        rbp: word(24)?,
        rsp: word(32)?,
        rip: word(40)?,
        stack: body.get(72..72 + size.min(copied))?.to_vec(),
    })
}
