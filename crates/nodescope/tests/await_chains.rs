//! The live proof that the callers of a function that runs after an `await` are read as they are: real versions of Node
//! run every shape of waiting under allocation and forced collections, and keep the stack that V8 itself gives for each
//! marker. A chain that was read must be that stack's `at async` lines; one that ends early must be their beginning.
//! NODESCOPE_NODE chooses versions by how they begin; NODESCOPE_SECONDS is how long late reads are tried.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::live::maps::{Maps, builtins, ranges_of};
use crate::live::samples::{Sample, Sampler};
use crate::live::session::name;
use crate::live::{Constants, Live, VERSIONS, node};
use crate::program::running::is_one_of_some;
use crate::skip::skip;
use v8::{AwaitChain, ChainEnd, JsFrame, REACTION_JOBS, Reader, Reason, Stack};

/// Samples a second; so many chains of each marker are compared, and so long they are waited for.
const FREQUENCY: u64 = 499;
const ENOUGH: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

/// The markers of the program. Where V8's own traces may end too early, the functions that wait by the program's text:
/// what a transpiler writes as a generator looks like no async function to V8, and old ones do not know `allSettled`.
const MARKERS: [(&str, &[&str]); 22] = [
    ("first", &[]),
    ("second", &[]),
    ("all", &[]),
    ("settled", &["allSettled", "forever"]),
    ("any", &[]),
    ("race", &[]),
    ("then", &[]),
    ("callback", &[]),
    ("finally", &[]),
    ("forAwait", &[]),
    ("yieldStar", &[]),
    ("rejected", &[]),
    ("method", &[]),
    ("thenable", &[]),
    ("wrapped", &[]),
    ("storage", &[]),
    ("several", &[]),
    ("deep", &[]),
    ("arrow", &[]),
    ("afterYield", &[]),
    ("transpiled", &["outerBody", "aroundTranspiled", "forever"]),
    ("top", &[]),
];

/// A function, and where it waits.
type Place = (String, String);

/// A Node that runs the program, is sampled and read.
struct Session {
    child: Child,
    truth: PathBuf,
    maps: Maps,
    jobs: Vec<Range<u64>>,
    sampler: Sampler,
    memory: Live,
    reader: Reader,
}

impl Session {
    fn start(version: &str, binary: &Path, work_ms: &str) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../corpus/programs/awaits/awaits.mjs")
            .canonicalize()
            .unwrap();
        let truth = std::env::temp_dir()
            .join(format!("nodescope-awaits-{}-{version}-{work_ms}.jsonl", std::process::id()));
        let _ = fs::remove_file(&truth);
        let child = Command::new(binary)
            .args(["--expose-gc".as_ref(), program.as_os_str(), truth.as_os_str()])
            .arg(work_ms)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (range, segments) = builtins(binary);
        let reader = Reader::new(Constants::read(binary).layout());
        let end = Instant::now() + PATIENCE;
        while truths(&truth).len() < MARKERS.len() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            maps: Maps::new(child.id(), binary, range, segments),
            jobs: ranges_of(binary, &REACTION_JOBS),
            sampler: Sampler::attach(child.id(), FREQUENCY).unwrap(),
            memory: Live::new(child.id()),
            child,
            truth,
            reader,
        }
    }

    fn samples(&mut self) -> Vec<Sample> {
        self.maps.refresh_if_due();
        self.sampler.read(Duration::from_millis(100))
    }

    /// The chain of a sample, and the marker that it runs.
    fn read(&mut self, sample: &Sample, has_symbols: bool) -> Option<(String, AwaitChain)> {
        let Self { maps, jobs, memory, reader, .. } = self;
        let is_job = |pc: u64| {
            maps.own_address(pc).is_some_and(|at| jobs.iter().any(|range| range.contains(&at)))
        };
        let stack = Stack::new(sample.rsp, &sample.stack);
        let (frames, names) = name(reader, memory, sample, &|at| maps.kind_at(at));
        let is_job: Option<&dyn Fn(u64) -> bool> = if has_symbols { Some(&is_job) } else { None };
        let chain = reader.await_chain(memory, &stack, &frames, is_job)?;
        Some((marker(reader, names.get(..chain.resumed)?)?, chain))
    }

    fn place(&self, awaiter: &v8::Awaiter) -> Place {
        let function = self.reader.function(awaiter.function).unwrap();
        let script = function.script.as_deref().unwrap_or_default();
        let name = function.display_name().to_owned();
        (name, format!("{script}:{}:{}", awaiter.line, awaiter.column))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.truth);
    }
}

/// The marker among the frames that run since the `await`.
fn marker(reader: &Reader, names: &[Result<JsFrame, Reason>]) -> Option<String> {
    let functions = names.iter().flatten().flat_map(|name| {
        name.inlined.iter().map(|inlined| inlined.function).chain([name.function])
    });
    let mut names = functions.filter_map(|id| reader.function(id));
    names.find_map(|function| function.name.strip_prefix("marker_").map(str::to_owned))
}

/// The `at async` lines of all stacks that V8 gave for each marker, without those of `Promise.all` and the like.
fn truths(path: &Path) -> BTreeMap<String, BTreeSet<Vec<Place>>> {
    let mut truths = BTreeMap::<String, BTreeSet<Vec<Place>>>::new();
    for line in fs::read_to_string(path).unwrap_or_default().lines() {
        let Ok(row) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let (name, stack) = (row["name"].as_str().unwrap(), row["stack"].as_str().unwrap());
        let places = stack.lines().filter_map(|line| line.trim().strip_prefix("at async "));
        let places = places.filter(|line| !line.contains("(index ")).map(place_of_line).collect();
        truths.entry(name.to_owned()).or_default().insert(places);
    }
    truths
}

/// `Service.handle (file:///awaits.mjs:1:2)`, or the place alone.
fn place_of_line(line: &str) -> Place {
    match line.strip_suffix(')').and_then(|line| line.rsplit_once(" (")) {
        Some((name, place)) => {
            let name = name.split(" [as ").next().unwrap();
            (name.rsplit('.').next().unwrap().to_owned(), place.to_owned())
        }
        None => (String::new(), line.to_owned()),
    }
}

/// What came of the chains of one version.
#[derive(Default)]
struct Score {
    whole: BTreeMap<String, usize>,
    short: BTreeMap<ChainEnd, usize>,
    wrong: Vec<String>,
}

impl Score {
    fn add(
        &mut self,
        marker: &str,
        places: &[Place],
        end: ChainEnd,
        truths: &BTreeSet<Vec<Place>>,
    ) {
        let known = MARKERS.iter().find(|(name, _)| *name == marker).unwrap().1;
        let fits = |truth: &Vec<Place>| match end.is_loss() {
            true => truth.starts_with(places),
            false => truth == places,
        };
        let names: Vec<&str> = places.iter().map(|(name, _)| name.as_str()).collect();
        let is_right = match known {
            [] => truths.iter().any(fits),
            _ if end.is_loss() => known.starts_with(&names),
            _ => known == names,
        };
        if !is_right {
            self.wrong.push(format!("{marker}: {places:?} {end:?}, not {truths:?}"));
        } else if end.is_loss() {
            *self.short.entry(end).or_default() += 1;
        } else {
            *self.whole.entry(marker.to_owned()).or_default() += 1;
        }
    }

    /// How many chains were read, whole or not.
    fn read(&self) -> usize {
        self.whole.values().chain(self.short.values()).sum()
    }

    fn is_enough(&self) -> bool {
        let has = |(name, _): &(&str, &[&str])| {
            self.whole.get(*name).is_some_and(|count| *count >= ENOUGH)
        };
        MARKERS.iter().all(has)
    }
}

fn with_each_version(check: impl Fn(&str, &Path)) {
    with_versions(|_| true, check);
}

fn with_versions(is_wanted: impl Fn(&str) -> bool, check: impl Fn(&str, &Path)) {
    let named = std::env::var("NODESCOPE_NODE").unwrap_or_default();
    let is_wanted = |version: &&str| version.starts_with(&named) && is_wanted(version);
    for version in VERSIONS.into_iter().filter(is_wanted) {
        match node(version) {
            Some(binary) => check(version, &binary),
            None => skip(format_args!("Node {version}: it is not in the cache")),
        }
    }
}

/// Reads chains until there are enough of them, or one is wrong.
fn score(mut session: Session, pause: Duration, is_done: impl Fn(&Score) -> bool) -> Score {
    let (mut score, end) = (Score::default(), Instant::now() + PATIENCE);
    while !is_done(&score) && score.wrong.is_empty() && Instant::now() < end {
        std::thread::sleep(pause);
        let samples = session.samples();
        session.reader.begin_batch();
        let read: Vec<_> = samples.iter().filter_map(|sample| session.read(sample, true)).collect();
        let truths = truths(&session.truth);
        for (marker, chain) in read {
            let places: Vec<Place> = chain.awaiters.iter().map(|at| session.place(at)).collect();
            score.add(&marker, &places, chain.end, &truths[&marker]);
        }
    }
    score
}

fn print(version: &str, score: &Score) {
    let whole: usize = score.whole.values().sum();
    let (short, wrong) = (&score.short, score.wrong.len());
    println!("Node {version}: {whole} whole chains, {short:?} short, {wrong} wrong");
}

#[test]
fn callers_across_await_are_those_of_v8() {
    with_each_version(|version, binary| {
        let session = Session::start(version, binary, "4");
        let score = score(session, Duration::ZERO, Score::is_enough);
        print(version, &score);
        assert!(score.wrong.is_empty(), "{version}: {:#?}", score.wrong);
        assert!(score.is_enough(), "{version}: {:?} short {:?}", score.whole, score.short);
    });
}

/// Samples are read long after the functions have ended, and their memory is used again and again.
#[test]
fn chains_that_are_read_late_are_short_and_never_wrong() {
    let seconds = std::env::var("NODESCOPE_SECONDS").ok().and_then(|text| text.parse().ok());
    with_versions(is_one_of_some, |version, binary| {
        let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(2));
        let session = Session::start(version, binary, "0.1");
        let is_done = |score: &Score| Instant::now() > end && score.read() > 50;
        let score = score(session, Duration::from_millis(15), is_done);
        print(version, &score);
        assert!(score.wrong.is_empty(), "{version}: {:#?}", score.wrong);
        assert!(score.read() > 50, "{version}: {} chains are too few", score.read());
    });
}
