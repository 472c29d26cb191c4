//! The live proof that JavaScript frames are named from outside: real versions of Node run programs of every kind, and
//! each frame of machine code is compared with the perf map that V8 itself writes; interpreted code with a nesting of
//! calls that is known.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::print_stdout, reason = "the table is the point, and a skipped test says so")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod live;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use live::maps::{Maps, PerfMap, builtins};
use live::samples::{Sample, Sampler};
use live::{Constants, Live, Running, VERSIONS, node};
use v8::name::{CodeKind, CodeName, Tier};
use v8::{Frame, Function, JsFrame, Kind, Reader, Reason, Registers, Stack, Start};

/// What was seen of one version.
#[derive(Default)]
struct Score {
    samples: usize,
    frames: usize,
    right: usize,
    wrong: Vec<String>,
    unnamed: BTreeMap<Reason, usize>,
    with_line: usize,
    inlined: usize,
    time: Duration,
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/programs/names").join(name)
}

fn seconds() -> u64 {
    std::env::var("NODESCOPE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2)
}

/// A process that is being sampled and read.
struct Session {
    node: Running,
    maps: Maps,
    sampler: Sampler,
    memory: Live,
    reader: Reader,
}

impl Session {
    fn start(binary: &Path, flags: &[&str], script: &str) -> Self {
        let node = Running::start(binary, flags, &program(script));
        let (range, segments) = builtins(binary);
        let reader = Reader::new(Constants::read(binary).layout());
        std::thread::sleep(Duration::from_millis(300));
        let maps = Maps::new(node.pid(), binary, range, segments);
        let sampler = Sampler::attach(node.pid(), 997).unwrap();
        let memory = Live::new(node.pid());
        Self { node, maps, sampler, memory, reader }
    }

    fn walk(&mut self, sample: &Sample) -> Vec<Frame> {
        let start = Start { pc: sample.rip, sp: sample.rsp, fp: sample.rbp, is_return_address: false };
        let stack = Stack::new(sample.rsp, &sample.stack);
        self.reader.walk(&self.memory, start, &stack, &|address| self.maps.kind_at(address))
    }

    fn name(&mut self, sample: &Sample, frames: &[Frame]) -> Vec<Result<JsFrame, Reason>> {
        let stack = Stack::new(sample.rsp, &sample.stack);
        self.reader.frames(&self.memory, &stack, frames, Registers { rdi: sample.rdi })
    }

    /// Gives each sample with its frames and their names to `see`, for some seconds.
    fn run(
        &mut self,
        score: &mut Score,
        mut see: impl FnMut(&Self, &Sample, &[Frame], &[Result<JsFrame, Reason>], &mut Score),
    ) {
        let end = Instant::now() + Duration::from_secs(seconds());
        while Instant::now() < end {
            let samples = self.sampler.read(Duration::from_millis(100));
            let start = Instant::now();
            self.reader.begin_batch();
            self.maps.refresh_if_due();
            let mut named = Vec::new();
            for sample in &samples {
                let frames = self.walk(sample);
                let names = self.name(sample, &frames);
                named.push((frames, names));
            }
            score.time += start.elapsed();
            for (sample, (frames, names)) in samples.iter().zip(&named) {
                score.samples += 1;
                see(self, sample, frames, names, score);
            }
        }
    }
}

#[test]
fn compiled_functions_have_the_names_that_v8_gives_them() {
    for version in VERSIONS {
        let Some(binary) = node(version) else {
            println!("skipped: there is no Node {version} in the cache");
            continue;
        };
        let mut session = Session::start(&binary, &["--perf-basic-prof"], "varied.js");
        let mut map = PerfMap::new(session.node.pid());
        let mut score = Score::default();
        session.run(&mut score, |session, sample, frames, names, score| {
            map.follow();
            compare(session, sample, frames, names, &map, score);
        });
        print_score(version, &score);
        if std::env::var_os("NODESCOPE_MEASURE").is_some() {
            continue;
        }
        let bad = score.wrong.len() + score.unnamed.values().sum::<usize>();
        assert!(score.right > 100, "{version}: {} samples are too few", score.samples);
        assert!(bad * 100 <= score.right, "{version}: {bad} of {}\n{}", score.right, score.wrong.join("\n"));
    }
}

/// Compares all frames of machine code with the map.
fn compare(
    session: &Session,
    sample: &Sample,
    frames: &[Frame],
    names: &[Result<JsFrame, Reason>],
    map: &PerfMap,
    score: &mut Score,
) {
    for (at, (frame, name)) in frames.iter().zip(names).enumerate() {
        if let Ok(name) = name {
            score.frames += 1;
            score.with_line += usize::from(name.line > 0);
            score.inlined += name.inlined.len();
        }
        if frame.kind != Kind::Generated {
            continue;
        }
        let Some(truth) = map.find(frame.instruction()) else { continue };
        let Some(expected) = v8::name::parse(truth) else { continue };
        let is_function = matches!(expected.kind, CodeKind::Function | CodeKind::Script | CodeKind::Eval);
        let description = format!(
            "frame {at} of {}, pc {:#x} fp {:x?} sp {:#x} bp {:#x}",
            frames.len(),
            frame.pc,
            frame.fp,
            sample.rsp,
            sample.rbp
        );
        match name {
            Err(Reason::OtherCode) if !is_function => {}
            Err(reason) => {
                *score.unnamed.entry(*reason).or_default() += 1;
                score.wrong.truncate(1000);
                if score.unnamed.values().sum::<usize>() < 10 {
                    let word =
                        |i: u64| Stack::new(sample.rsp, &sample.stack).word(sample.rsp + i * 8).unwrap_or(0);
                    println!(
                        "   top {:x} elf {:x?} stack {:x?} {:?}",
                        frames[0].pc,
                        session.maps.elf_address(frames[0].pc),
                        (0..14).map(word).collect::<Vec<_>>(),
                        map.find(frames[0].pc)
                    );
                    println!("  unnamed {reason:?}: {truth}; {description}");
                }
            }
            Ok(name) => {
                let function = session.reader.function(name.function).unwrap();
                if is_same(&expected, function, name.tier) {
                    score.right += 1;
                } else {
                    score.wrong.push(format!("  {truth} ≠ {:?} {function:?}; {description}", name.tier));
                }
            }
        }
    }
}

fn is_same(expected: &CodeName<'_>, function: &Function, tier: Tier) -> bool {
    expected.function == function.display_name()
        && expected.script.unwrap_or_default() == function.script.as_deref().unwrap_or_default()
        && expected.line == function.line
        && (expected.column == 0 || expected.column == function.column)
        && expected.tier == tier
}

fn print_score(version: &str, score: &Score) {
    let per_sample = score.time.as_micros() as f64 / score.samples.max(1) as f64;
    let unnamed: usize = score.unnamed.values().sum();
    let all = score.right + score.wrong.len() + unnamed;
    println!(
        "Node {version}: {} samples, {} frames named ({} with a line, {} inlined); against the map {} right, {} wrong, {} unnamed: {:.2} %; {per_sample:.0} µs a sample; {:?}",
        score.samples,
        score.frames,
        score.with_line,
        score.inlined,
        score.right,
        score.wrong.len(),
        unnamed,
        score.right as f64 * 100.0 / all.max(1) as f64,
        score.unnamed
    );
    for wrong in score.wrong.iter().take(10) {
        println!("{wrong}");
    }
}
