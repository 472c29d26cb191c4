//! A real recording of node, named by us and by perf: every frame of every sample. perf prints its own names with
//! `perf script`, and from the same text come the records that drive the sink.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use profile::Profile;
use symbols::{Namer, Sources};
use trace::{Address, Comm, Context, Event, Fork, Measure, Mmap, Sample, Sink};

use crate::skip::skip;

const PROGRAM: &str = "const end = Date.now() + 1500; let sum = 0;
function hot(n) { let t = 0; for (let i = 0; i < n; i++) t += JSON.stringify({ a: i, b: [i] }).length; return t; }
while (Date.now() < end) { sum += hot(2000); require('fs').statSync('/tmp');
  require('crypto').createHash('sha256').update('x'.repeat(1000)).digest('hex'); }";

#[test]
fn every_frame_is_named_as_perf_names_it() {
    let Some(text) = record() else {
        return skip("names against perf: perf cannot record node here");
    };
    let mut replay = Replay::new();
    text.lines().for_each(|line| replay.line(line));
    replay.close();
    let expected = replay.expected;
    let profile = replay.namer.finish();
    for process in profile.processes() {
        let _ = fs::remove_file(format!("/tmp/perf-{}.map", process.pid.unwrap_or(0)));
    }
    let lane = &profile.lanes()[0];
    assert_eq!(lane.samples.len(), expected.len());
    let (mut frames, mut different) = (0u64, BTreeMap::<String, u64>::new());
    for (row, expected) in expected.iter().enumerate() {
        let found = chain(&profile, row);
        assert_eq!(found.len(), expected.len(), "sample {row}");
        for (found, expected) in found.iter().zip(expected) {
            frames += 1;
            if found != expected && !is_known_difference(found, expected) {
                *different.entry(format!("{expected:?}, not {found:?}")).or_default() += 1;
            }
        }
    }
    let is_moved = |name: &&String| name.contains(".map\"");
    let moved: u64 =
        different.iter().filter(|(name, _)| is_moved(name)).map(|(_, count)| count).sum();
    let count: u64 = different.values().sum();
    // Where V8 moved code meanwhile, the two may choose different lines of the map.
    assert!(
        count == moved && moved * 100 <= frames && frames > 1000,
        "{count} of {frames}: {different:#?}"
    );
}

/// perf knows its own vDSO, and we know that an address without a mapping may still be in the perf map. The map
/// of a process is one module for us.
fn is_known_difference(found: &(String, String), expected: &(String, String)) -> bool {
    let is_map = found.1 == "[JIT]" && expected.1.ends_with(".map") && found.0 == expected.0;
    // A jump to an indirect function has no name of its own; perf writes what is left of it.
    let is_nameless_jump = expected.0 == "@plt" || expected.0.starts_with("*ABS*");
    is_map || is_nameless_jump || expected.1 == "[vdso]" || expected.1 == "[unknown]"
}

/// Symbols and modules of a sample, its leaf first.
fn chain(profile: &Profile, row: usize) -> Vec<(String, String)> {
    let mut names = Vec::new();
    let mut at = profile.lanes()[0].samples.stack[row];
    while let Some(id) = at.some() {
        let frame = profile.frames().row(profile.stacks().frame[id.index()]);
        let module = profile.functions().row(frame.function).module;
        let module = profile.modules()[module.index()].name;
        names.push((
            profile.strings().get(frame.symbol).to_owned(),
            profile.strings().get(module).to_owned(),
        ));
        at = profile.stacks().parent[id.index()];
    }
    names
}

/// Drives the sink with what `perf script` printed.
struct Replay {
    namer: Namer,
    /// For each file its mappings: start, length and offset.
    files: BTreeMap<String, Vec<(u64, u64, u64)>>,
    open: Option<(u32, u32, u64)>,
    chain: Vec<Address>,
    names: Vec<(String, String)>,
    expected: Vec<Vec<(String, String)>>,
}

impl Replay {
    fn new() -> Self {
        let mut namer = Namer::new(Sources { demangle: false, ..Sources::default() }, "perf.data");
        let (name, measure) = (&b"cpu-clock"[..], Measure::Ns);
        namer.event(&Event {
            row: 0,
            name,
            measure,
            timed: true,
            has_period: false,
            interval_ns: None,
        });
        let (open, chain, names, expected) = (None, Vec::new(), Vec::new(), Vec::new());
        Self { namer, files: BTreeMap::new(), open, chain, names, expected }
    }

    fn line(&mut self, line: &str) {
        if let Some(frame) = line.strip_prefix('\t') {
            self.frame(frame);
        } else if line.is_empty() {
            self.close();
        } else if let Some((head, record)) = line.split_once(": PERF_RECORD_") {
            self.record(head, record);
        } else {
            let (pid, tid, time_ns) = self.head(line.split(": ").next().unwrap());
            self.open = Some((pid, tid, time_ns));
        }
    }

    /// `node  12/13  1.000002`
    fn head(&self, head: &str) -> (u32, u32, u64) {
        let mut words = head.split_whitespace().rev();
        let time: f64 = words.next().unwrap().trim_end_matches(':').parse().unwrap();
        let (pid, tid) = words.next().unwrap().split_once('/').unwrap();
        (pid.parse().unwrap(), tid.parse().unwrap(), (time * 1e9) as u64)
    }

    fn record(&mut self, head: &str, record: &str) {
        let (_, _, time_ns) = self.head(head);
        let numbers = |text: &str| -> Vec<u32> {
            text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
        };
        if let Some(rest) = record.strip_prefix("COMM") {
            let (name, ids) = rest.split_once(": ").unwrap().1.rsplit_once(':').unwrap();
            let ids = numbers(ids);
            let exec = rest.starts_with(" exec");
            self.namer.comm(&Comm {
                time_ns,
                pid: ids[0],
                tid: ids[1],
                name: name.as_bytes(),
                exec,
            });
        } else if let Some(rest) = record.strip_prefix("FORK") {
            let ids = numbers(rest);
            let [pid, tid, parent_pid, parent_tid] = ids[..] else { panic!("{record}") };
            self.namer.fork(&Fork { time_ns, pid, tid, parent_pid, parent_tid });
        } else if record.starts_with("MMAP") {
            self.mmap(time_ns, record);
        }
    }

    /// `MMAP2 12/12: [0xb6f000(0x2000) @ 0x76f000 fe:00 1 0]: r-xp /usr/bin/node`
    fn mmap(&mut self, time_ns: u64, record: &str) {
        let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        let (ids, rest) = record.split_once(": [").unwrap();
        let (place, file) = rest.split_once("]: ").unwrap();
        let (_, path) = file.split_once(' ').unwrap();
        let words: Vec<&str> =
            place.split(['(', ')', ' ']).filter(|word| !word.is_empty()).collect();
        let [start, length, _, offset, ..] = words[..] else { panic!("{record}") };
        let pid = ids.split_once(' ').unwrap().1.split_once('/').unwrap().0.parse::<u32>().ok();
        let (start, length, offset) = (hex(start), hex(length), hex(offset));
        self.files.entry(path.into()).or_default().push((start, length, offset));
        let (path, build_id, executable) = (path.as_bytes(), None, true);
        self.namer.mmap(&Mmap { time_ns, pid, start, length, offset, path, build_id, executable });
    }

    /// `  17e5180 provider_store_new (/usr/bin/node)`, where the number is an offset in the file.
    fn frame(&mut self, line: &str) {
        let (number, rest) = line.trim_start().split_once(' ').unwrap();
        let (symbol, module) = rest.rsplit_once(" (").unwrap();
        let module = module.trim_end_matches(')');
        let number = u64::from_str_radix(number, 16).unwrap();
        let is_kernel = number >> 63 == 1;
        let mappings = self.files.get(module).filter(|_| !is_kernel && module != "[vdso]");
        let mapping = mappings
            .into_iter()
            .flatten()
            .find(|(_, length, at)| number.wrapping_sub(*at) < *length);
        let value = mapping.map_or(number, |(start, _, at)| number - at + start);
        let context = if is_kernel { Context::Kernel } else { Context::User };
        self.chain.push(Address { value, context });
        self.names.push((symbol.into(), module.into()));
    }

    fn close(&mut self) {
        let Some((pid, tid, time_ns)) = self.open.take() else { return };
        let (chain, user_stack) = (&self.chain[..], &[][..]);
        let (pid, tid, cpu, user_registers) = (Some(pid), Some(tid), None, None);
        self.namer.sample(&Sample {
            event: 0,
            time_ns,
            pid,
            tid,
            cpu,
            period: 1,
            chain,
            user_registers,
            user_stack,
            user_stack_is_full: false,
            awaits: None,
        });
        self.chain.clear();
        self.expected.push(std::mem::take(&mut self.names));
    }
}

/// Records node for a moment, and lets perf print what it makes of it.
fn record() -> Option<String> {
    let folder = std::env::temp_dir().join(format!("nodescope-perf-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let text = record_in(&folder);
    fs::remove_dir_all(&folder).unwrap();
    text
}

fn record_in(folder: &PathBuf) -> Option<String> {
    let perf =
        |arguments: &[&str]| Command::new("perf").args(arguments).current_dir(folder).output().ok();
    let node = ["--", "node", "--perf-basic-prof", "-e", PROGRAM];
    let recorded = perf(
        &[&["record", "-e", "cpu-clock", "-F", "999", "-g", "-o", "data"], &node[..]].concat(),
    )?;
    let fields = "comm,pid,tid,time,event,ip,sym,dso";
    let shown = [
        "script",
        "--no-demangle",
        "--show-mmap-events",
        "--show-task-events",
        "-i",
        "data",
        "-F",
        fields,
    ];
    let script = perf(&shown).filter(|_| recorded.status.success())?;
    Some(String::from_utf8_lossy(&script.stdout).into_owned()).filter(|text| text.contains("(/usr"))
}
