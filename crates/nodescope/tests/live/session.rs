//! A Node that is sampled and whose frames are named, round by round.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use v8::{Frame, JsFrame, Memory, Reader, Reason, Registers, Stack, Start};

use super::maps::{Maps, builtins};
use super::samples::{Sample, Sampler};
use super::{Constants, Live, Running};
use crate::program::running::wait_for_begin;

/// A process that is being sampled and read.
pub struct Session {
    node: Running,
    pub maps: Maps,
    sampler: Sampler,
    pub memory: Live,
    pub reader: Reader,
}

/// A sample, its frames and their names.
pub struct Seen<'a> {
    pub reader: &'a Reader,
    pub frames: &'a [Frame],
    pub names: &'a [Result<JsFrame, Reason>],
}

/// A program of the corpus.
pub fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../corpus/programs/names")
        .join(name)
        .canonicalize()
        .unwrap()
}

/// Samples a second of each thread.
const FREQUENCY: u64 = 997;

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// So many samples are enough, and so long they are waited for.
const FEWEST_SAMPLES: usize = 200;
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest from one look at the samples until those of the next look are named.
const LATE: Duration = Duration::from_millis(20);

impl Session {
    pub fn start(binary: &Path, flags: &[&str], program: &Path) -> Self {
        let node = Running::start(binary, flags, program);
        let (range, segments) = builtins(binary);
        let reader = Reader::new(Constants::read(binary).layout());
        wait_for_begin(node.pid());
        let maps = Maps::new(node.pid(), binary, range, segments);
        let sampler = Sampler::attach(node.pid(), FREQUENCY).unwrap();
        let memory = Live::new(node.pid());
        Self { node, maps, sampler, memory, reader }
    }

    pub fn pid(&self) -> u32 {
        self.node.pid()
    }

    /// Halts the process, so that its memory stays as it is.
    pub fn stop(&self) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
    }

    /// Gives each sample to `see` for some seconds, longer on a machine that has little time for the target, and
    /// returns how long the naming took. Samples that were named late are left out: where others want the CPU, the
    /// target runs on before it is read.
    pub fn run(&mut self, mut see: impl FnMut(&Seen<'_>)) -> Duration {
        let end = Instant::now() + Duration::from_secs(number("NODESCOPE_SECONDS", 1));
        let (mut time, mut seen) = (Duration::ZERO, 0);
        while Instant::now() < end || seen < FEWEST_SAMPLES && Instant::now() < end + PATIENCE {
            let (begin, batch) =
                (Instant::now(), Duration::from_millis(number("NODESCOPE_BATCH_MS", 0)));
            std::thread::sleep(batch);
            let samples = self.samples();
            let start = Instant::now();
            self.reader.begin_batch();
            let named: Vec<_> = samples
                .iter()
                .map(|sample| {
                    name(&mut self.reader, &self.memory, sample, &|at| self.maps.kind_at(at))
                })
                .collect();
            if begin.elapsed() > batch + LATE {
                continue;
            }
            seen += samples.len();
            time += start.elapsed();
            for (frames, names) in &named {
                see(&Seen { reader: &self.reader, frames, names });
            }
        }
        time
    }

    /// What has come in by now.
    pub fn samples(&mut self) -> Vec<Sample> {
        self.maps.refresh_if_due();
        self.sampler.read(Duration::from_millis(100))
    }
}

/// Walks and names one sample.
pub fn name(
    reader: &mut Reader,
    memory: &dyn Memory,
    sample: &Sample,
    kind_at: &dyn Fn(u64) -> v8::Kind,
) -> (Vec<Frame>, Vec<Result<JsFrame, Reason>>) {
    let start = Start { pc: sample.rip, sp: sample.rsp, fp: sample.rbp, is_return_address: false };
    let stack = Stack::new(sample.rsp, &sample.stack);
    let frames = reader.walk(memory, start, &stack, kind_at);
    let names = reader.frames(memory, &stack, &frames, Registers { callee: sample.rdi });
    (frames, names)
}
