//! Sessions by Node's own profiler, without the command line: what chunks hold when they come out, and how a session
//! reports what goes wrong. Opening and closing ports is proven with the program, in
//! crates/nodescope/tests/inspector.rs.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use inspector::Address;
use live::inspected::{Error, News, Options, Place, Process, Recipient, record};
use profile::Profile;
use target::Refusal;

use crate::skip::skip;

const VERSIONS: [&str; 5] = ["18.20.8", "20.20.2", "22.23.3", "24.21.0", "26.10.0"];

/// No test waits longer for a target.
const PATIENCE: Duration = Duration::from_secs(60);

const PROGRAM: &str = "
function spin() { const end = Date.now() + 15; while (Date.now() < end) Math.sqrt(end); }
setInterval(spin, 20);
console.error('it runs');
";

const OPTIONS: Options = Options {
    interval: Duration::from_millis(5),
    limit: None,
    each: None,
    calls: false,
    leaves_maps: false,
    own: profile::OwnNames::NONE,
    has_no_listener: false,
    profiled_too: false,
};

/// A Node whose inspector is open, in a folder of its own.
struct Running {
    child: Child,
    folder: PathBuf,
    address: Address,
}

impl Running {
    fn start(version: &str, test: &str) -> Option<Self> {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let cache = std::env::var_os("NODESCOPE_CACHE")
            .map_or(home.join(".cache/nodescope"), PathBuf::from);
        let node = cache.join(format!("node-{version}/node"));
        if !node.exists() {
            skip(format_args!("a session of Node {version}: {} is missing", node.display()));
            return None;
        }
        let folder =
            std::env::temp_dir().join(format!("inspected-{test}-{version}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("spin.js"), PROGRAM).unwrap();
        let mut command = Command::new(node);
        command.args(["--inspect=127.0.0.1:0", "spin.js"]).current_dir(&folder);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let address = lines.find_map(|line| Some(line.split_once("ws://")?.1.to_owned())).unwrap();
        // The port is open before Node has set itself up.
        lines.find(|line| line == "it runs").unwrap();
        // Whatever it prints later has a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, folder, address: address.parse().unwrap() })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What a session reported. It is over after `wanted` chunks, as soon as they have the program's function.
struct Received<'a> {
    chunks: Vec<Vec<u8>>,
    wanted: usize,
    samples: Vec<u64>,
    started: Vec<(String, u32)>,
    ended: Vec<u32>,
    failed: Vec<String>,
    on_chunk: Box<dyn FnMut(usize) + 'a>,
    start: Instant,
}

impl<'a> Received<'a> {
    fn new(wanted: usize, on_chunk: impl FnMut(usize) + 'a) -> Self {
        Self {
            chunks: Vec::new(),
            wanted,
            samples: Vec::new(),
            started: Vec::new(),
            ended: Vec::new(),
            failed: Vec::new(),
            on_chunk: Box::new(on_chunk),
            start: Instant::now(),
        }
    }

    /// What the first chunks give.
    fn prefix(&self, chunks: usize) -> Profile {
        let bytes = [&profile::file::file_header()[..], &self.chunks[..chunks].concat()].concat();
        let profile = profile::file::read(&bytes).unwrap();
        profile.check().unwrap();
        profile
    }
}

impl Recipient for Received<'_> {
    fn receive(&mut self, news: News<'_>) {
        match news {
            News::Chunk(bytes) => {
                self.chunks.push(bytes.to_vec());
                (self.on_chunk)(self.chunks.len());
            }
            News::Samples(samples) => self.samples.push(samples),
            News::Starting(start) => self.started.push((start.name.to_owned(), start.pid)),
            News::Ended { pid, .. } => self.ended.push(pid),
            News::Failed(error) => self.failed.push(format!("{error:?}")),
            News::Opening { .. } | News::OpensLate { .. } | News::StillOpen { .. } => {
                panic!("{news:?}")
            }
        }
    }

    fn wants_end(&self) -> bool {
        assert!(self.start.elapsed() < PATIENCE, "{} chunks", self.chunks.len());
        let is_enough = self.chunks.len() >= self.wanted;
        // A target that has no CPU is idle in many samples.
        is_enough && !files_of(&self.prefix(self.chunks.len()), "spin").is_empty()
    }
}

fn samples(profile: &Profile) -> usize {
    profile.lanes().iter().map(|lane| lane.samples.len()).sum()
}

/// The files in which functions of that name stand.
fn files_of<'a>(profile: &'a Profile, name: &str) -> Vec<&'a str> {
    let functions = profile.functions();
    let rows = functions.name.iter().zip(&functions.source);
    let called = rows.filter(|(called, _)| profile.text(**called) == name);
    called.filter_map(|(_, source)| profile.source_path(*source)).collect()
}

/// An address at which nothing listens.
fn nowhere() -> Address {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    free.to_string().parse().unwrap()
}

#[test]
fn every_prefix_of_the_chunks_is_a_recording() {
    std::thread::scope(|scope| {
        for version in VERSIONS {
            scope.spawn(move || {
                let Some(node) = Running::start(version, "prefix") else { return };
                let mut received = Received::new(3, |_| {});
                record(&[Place::Address(node.address.clone())], &OPTIONS, &mut received).unwrap();
                assert_eq!(
                    received.started.iter().map(|start| start.1).collect::<Vec<_>>(),
                    [node.child.id()]
                );
                assert!(
                    received.samples.is_sorted()
                        && received.ended.is_empty()
                        && received.failed.is_empty()
                );
                let profiles: Vec<Profile> =
                    (1..=received.chunks.len()).map(|count| received.prefix(count)).collect();
                assert!(
                    profiles.len() >= 3 && profiles.iter().map(samples).is_sorted(),
                    "{version}"
                );
                let script = node.folder.join("spin.js");
                for (count, profile) in (1..).zip(&profiles) {
                    let files = files_of(profile, "spin");
                    let is_right = files.contains(&&*script.to_string_lossy());
                    // The first windows may have nothing but idle time.
                    assert!(
                        is_right || files.is_empty() && count < profiles.len(),
                        "{version}: {files:?}"
                    );
                    assert_eq!(
                        profile.meta().node_version.as_deref(),
                        Some(&*format!("v{version}"))
                    );
                }
                // What was used and what it cost is known while it runs, not only at the end.
                let early = profiles[1].meta();
                assert!(
                    early.losses.cpu_ns.is_some_and(|cpu_ns| cpu_ns > 0),
                    "{version}: {early:?}"
                );
                assert!(early.cost.is_some_and(|cost| cost.windows >= 1), "{version}: {early:?}");
            });
        }
    });
}

#[test]
fn a_target_that_dies_leaves_its_chunks() {
    let Some(node) = Running::start("24.21.0", "dies") else { return };
    let (pid, address) = (node.child.id(), node.address.clone());
    let mut node = Some(node);
    // With the second chunk there are samples for certain.
    let mut received = Received::new(usize::MAX, |count| drop((count == 2).then(|| node.take())));
    record(&[Place::Address(address)], &OPTIONS, &mut received).unwrap();
    assert_eq!(received.ended, [pid]);
    assert!(samples(&received.prefix(received.chunks.len())) > 0);
}

#[test]
fn one_place_that_fails_does_not_keep_the_others() {
    let Some(node) = Running::start("22.23.3", "others") else { return };
    let places = [Place::Address(nowhere()), Place::Address(node.address.clone())];
    let mut received = Received::new(2, |_| {});
    record(&places, &OPTIONS, &mut received).unwrap();
    assert_eq!((received.failed.len(), received.started.len()), (1, 1), "{:?}", received.failed);
    assert!(samples(&received.prefix(received.chunks.len())) > 0);
}

#[test]
fn errors_carry_the_facts() {
    let address = nowhere();
    let mut received = Received::new(1, |_| {});
    let failed = record(&[Place::Address(address.clone())], &OPTIONS, &mut received).unwrap_err();
    assert!(
        matches!(&failed, Error::Address { address: at, error: inspector::Error::Io(_) } if *at == address),
        "{failed:?}"
    );
    // The chunks are a recording, though it is empty.
    assert_eq!(samples(&received.prefix(received.chunks.len())), 0);
    let own = std::process::id();
    let ourselves = Process { pid: own, inner_pid: own, ..Process::default() };
    let failed =
        record(&[Place::Process(ourselves)], &OPTIONS, &mut Received::new(1, |_| {})).unwrap_err();
    assert!(matches!(failed, Error::Refused(Refusal::Ourselves(pid)) if pid == own), "{failed:?}");
}
