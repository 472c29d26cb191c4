//! perf.data as perf records it here, in every form, against `perf script --no-demangle --no-inline` of the same
//! file: each sample's time, thread and period, and each frame's name and module.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::process::Command;

use formats::ImportOptions;
use profile::{Lane, Profile, file};
use symbols::Sources;

use crate::program::{Scratch, fails, input, json, nodescope, run, stderr, with_stdin};
use crate::skip::skip;

const PROGRAM: &str = "
const { createHash } = require('crypto'), zlib = require('zlib'), fs = require('fs');
// CPU time, not time: other programs may want the CPU, too.
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function work() { JSON.parse(JSON.stringify(Array.from({ length: 500 }, (_, i) => ({ i }))));
  fib(18); createHash('sha256').update(Buffer.alloc(9000)).digest('hex'); fs.statSync('/tmp'); }
(function loop() { work(); zlib.gzip(Buffer.alloc(40000, 'a'), () => {}); if (spent() < 1300) setImmediate(loop); })();
";

/// A recording of node by perf, and what perf shows of it. `None` where perf cannot record, with the reason printed.
fn record(
    scratch: &Scratch,
    name: &str,
    options: &[&str],
    node_flags: &[&str],
) -> Option<(String, String)> {
    let (data, script) = (scratch.path(&format!("{name}.data")), scratch.path("busy.js"));
    fs::write(&script, PROGRAM).unwrap();
    let words = [&["record", "-q", "-o", &data], options, &["--", "node"], node_flags, &[&script]];
    let recorded = perf(scratch).args(words.concat()).output();
    let problem = match recorded {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("{} {}", output.status, stderr(&output))),
        Err(error) => Some(error.to_string()),
    };
    if let Some(problem) = problem {
        skip(format_args!("perf.data: perf cannot record here: {problem}"));
        return None;
    }
    let text = script_of(scratch, &data)?;
    Some((data, text))
}

/// perf keeps programs in a cache of the user's home, and finds their symbols there. Tests have a home of their own.
fn perf(scratch: &Scratch) -> Command {
    let mut perf = Command::new("perf");
    perf.current_dir(&scratch.0).env("HOME", &scratch.0);
    perf
}

/// What perf shows of a recording, as a file. `None` where perf is missing, with the reason printed.
fn script_of(scratch: &Scratch, data: &str) -> Option<String> {
    let fields = "comm,pid,tid,time,event,ip,sym,dso,period";
    let words = ["script", "--no-demangle", "--no-inline", "--ns", "-F", fields, "-i", data];
    let Ok(output) = perf(scratch).args(words).output() else {
        skip("perf.data: perf is missing");
        return None;
    };
    let text = scratch.path("perf.txt");
    fs::write(&text, output.stdout).unwrap();
    Some(text)
}

fn ours(data: &str, scratch: &Scratch) -> Profile {
    let out = scratch.path("ours.nodescope");
    let mut export = nodescope(&["export", data, "--no-demangle", "-o", &out]);
    let output = export.env("HOME", &scratch.0).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    file::read(&fs::read(&out).unwrap()).unwrap()
}

fn theirs(text: &str) -> Profile {
    let options =
        ImportOptions { threads: NonZero::<usize>::MIN, namer: Box::new(Sources::nowhere()) };
    formats::import(fs::File::open(text).unwrap(), options).unwrap()
}

/// The lanes by name, without the blanks around it.
fn lanes(profile: &Profile) -> BTreeMap<&str, &Lane> {
    profile.lanes().iter().map(|lane| (profile.text(lane.name).trim(), lane)).collect()
}

/// The name and the module of a frame.
type Symbol = (String, String);

/// Each frame, the leaf first.
fn frames(profile: &Profile, lane: &Lane, row: usize) -> Vec<Symbol> {
    let name = |id: profile::StackId| {
        let frame = profile.frames().row(profile.stacks().frame[id.index()]);
        let module = profile.functions().row(frame.function).module;
        (
            profile.text(frame.symbol).to_owned(),
            profile.module_name(module).unwrap_or_default().to_owned(),
        )
    };
    profile.ancestry(lane.samples.stack[row]).map(name).collect()
}

/// What nm lists of the binaries: for each name its address and size.
struct Aliases(BTreeMap<String, BTreeMap<String, (u64, u64)>>);

impl Aliases {
    /// Whether two names are of one function: they stand at one address, or the other is a label without a size
    /// inside of the first, which perf sometimes takes for a function.
    fn same(&mut self, module: &str, one: &str, other: &str) -> bool {
        let places = self.0.entry(module.to_owned()).or_insert_with(|| places_in(module));
        let place = |name: &str| places.get(name.split('@').next().unwrap()).copied();
        let (Some((start, size)), Some((other, other_size))) = (place(one), place(other)) else {
            return false;
        };
        start == other || other_size == 0 && (start..start + size).contains(&other)
    }
}

fn places_in(module: &str) -> BTreeMap<String, (u64, u64)> {
    let mut all = BTreeMap::new();
    for flags in [&["-S", "--defined-only"][..], &["-S", "--defined-only", "-D"]] {
        let printed =
            Command::new("nm").args(flags).arg(module).output().map(|output| output.stdout);
        for line in String::from_utf8_lossy(&printed.unwrap_or_default()).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (address, size, name) = match words[..] {
                [address, size, _, name] => (address, size, name),
                [address, _, name] => (address, "0", name),
                _ => continue,
            };
            let number = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
            all.insert(name.split('@').next().unwrap().to_owned(), (number(address), number(size)));
        }
    }
    all
}

/// On the recording's own clock: time 0 may be that of a context switch.
fn times(profile: &Profile, lane: &Lane) -> Vec<u64> {
    let start_ns = (profile.meta().start_clock_s.unwrap() * 1e9).round() as u64;
    lane.samples.time_ns.iter().map(|time_ns| start_ns + time_ns).collect()
}

/// Every sample of every event; returns how many frames were compared.
fn compare(name: &str, ours: &Profile, theirs: &Profile) -> usize {
    let mut aliases = Aliases(BTreeMap::new());
    let (our_lanes, their_lanes) = (lanes(ours), lanes(theirs));
    assert_eq!(
        our_lanes.keys().collect::<Vec<_>>(),
        their_lanes.keys().collect::<Vec<_>>(),
        "{name}"
    );
    let (mut count, mut broken, mut reused) = (0, 0, 0);
    let mut different = BTreeMap::<String, usize>::new();
    for (event, lane) in our_lanes {
        let other = their_lanes[event];
        assert_eq!(times(ours, lane), times(theirs, other), "{name} {event}");
        assert_eq!(lane.samples.weight, other.samples.weight, "{name} {event}");
        for row in 0..lane.samples.len() {
            let tid = |profile: &Profile, lane: &Lane| profile.thread(lane.samples.thread[row]).tid;
            assert_eq!(tid(ours, lane), tid(theirs, other), "{name} {event} sample {row}");
            let (found, expected) = (frames(ours, lane, row), frames(theirs, other, row));
            // Of a chain that ends in a broken frame pointer perf shows nothing, and we what is right.
            if expected.is_empty() && !found.is_empty() {
                broken += 1;
                continue;
            }
            assert_eq!(
                found.len(),
                expected.len(),
                "{name} {event} {row}: {found:#?} {expected:#?}"
            );
            for (found, expected) in found.into_iter().zip(expected) {
                count += 1;
                if found == expected || is_nameless_jump(&expected.0) {
                    continue;
                }
                if found.1 == expected.1 && found.1 == "[JIT]" {
                    reused += 1;
                } else if !aliases.same(&found.1, &found.0, &expected.0) {
                    *different.entry(format!("{expected:?}, not {found:?}")).or_default() += 1;
                }
            }
        }
    }
    assert!(different.is_empty(), "{name}: {different:#?}");
    // Where V8 used an address twice we show the last name, and perf any of them.
    assert!(
        broken <= 3 && reused * 100 <= count,
        "{name}: {broken} chains, {reused} of {count} frames"
    );
    count
}

/// A jump to an indirect function has no name of its own; perf writes what is left of it.
fn is_nameless_jump(symbol: &str) -> bool {
    symbol == "@plt" || symbol.starts_with("*ABS*")
}

fn forget_maps(profile: &Profile) {
    for pid in profile.processes().iter().filter_map(|process| process.pid) {
        // Some of the processes wrote none.
        let _ = fs::remove_file(format!("/tmp/perf-{pid}.map"));
    }
}

#[test]
fn every_form_is_what_perf_script_prints() {
    let scratch = Scratch::new("perf-data");
    let map_flags = &["--perf-basic-prof", "--interpreted-frames-native-stack"][..];
    let forms: &[(&str, &[&str], &[&str])] = &[
        ("file", &["-F", "997", "-e", "cpu-clock", "-g"], map_flags),
        ("zstd", &["-F", "997", "-e", "cpu-clock", "-g", "-z"], map_flags),
        ("no chains", &["-F", "997", "-e", "cpu-clock"], &[]),
        (
            "events",
            &[
                "-F",
                "997",
                "-e",
                "cpu-clock",
                "-e",
                "page-faults",
                "-e",
                "context-switches",
                "-g",
                "--switch-events",
            ],
            &[],
        ),
        ("fixed period", &["-e", "cpu-clock", "-c", "2000000", "-g"], &[]),
    ];
    for (name, options, node_flags) in forms {
        let Some((data, text)) = record(&scratch, &name.replace(' ', "-"), options, node_flags)
        else {
            return;
        };
        let (ours, theirs) = (ours(&data, &scratch), theirs(&text));
        forget_maps(&ours);
        let count = compare(name, &ours, &theirs);
        println!("{name}: {count} frames are the same");
        assert!(count > 500, "{name}: only {count} frames");
    }
}

/// perf goes on by frame pointers for a frame or two where V8's code begins, then stops; we go on to the root. So
/// what perf finds is the beginning of what we find, except that
/// - where V8's code has no frame of its own, perf misses its caller and we do not: `CallFunction`, called by
///   `work`, called by `loop`, is `CallFunction`, `loop` in perf (one sample in twenty);
/// - where the copy of the stack ends, in a function that keeps much there (`uv__io_poll`), perf adds a last frame
///   at an address that it made up (one in a hundred).
#[test]
fn stacks_begin_as_perf_unwinds_them() {
    let scratch = Scratch::new("perf-dwarf");
    let options = &["--call-graph", "dwarf,16384", "-F", "199", "-e", "cpu-clock"];
    let flags = &["--perf-basic-prof", "--interpreted-frames-native-stack"];
    let Some((data, text)) = record(&scratch, "dwarf", options, flags) else { return };
    let (ours, theirs) = (ours(&data, &scratch), theirs(&text));
    forget_maps(&ours);
    let (lane, other) = (lanes(&ours)["cpu-clock"], lanes(&theirs)["cpu-clock"]);
    assert_eq!(lane.samples.time_ns, other.samples.time_ns);
    let mut aliases = Aliases(BTreeMap::new());
    let (mut alike, mut found_more, mut at_root) = (0, 0, 0);
    for row in 0..lane.samples.len() {
        let (mut found, mut expected) = (frames(&ours, lane, row), frames(&theirs, other, row));
        assert!(!found.is_empty(), "sample {row}");
        // Where the copy ends, we mark it, and perf does not.
        found.pop_if(|frame| frame.0 == "… deeper than the copy");
        at_root += usize::from(found.iter().any(|frame| ROOTS.contains(&&*frame.0)));
        while expected.len() > found.len()
            && expected.pop_if(|frame| frame.0 == "[unknown]").is_some()
        {}
        let mut shared = begins(&found, &expected, &mut aliases);
        if shared == expected.len() {
            alike += 1;
            continue;
        }
        let is_v8 = |frame: &Symbol| frame.1 == "[JIT]" || frame.0.starts_with("Builtins_");
        if shared > 0 && found.get(shared).is_some_and(is_v8) {
            found.remove(shared);
            shared = begins(&found, &expected, &mut aliases);
        }
        if shared == expected.len() {
            found_more += 1;
        } else {
            println!("sample {row}: {found:#?} does not begin as {expected:#?}");
        }
    }
    let count = lane.samples.len();
    println!(
        "of {count} stacks {alike} begin as perf's, {found_more} have a caller more; {at_root} reach a root"
    );
    assert!(
        count > 100 && (alike + found_more) * 100 >= count * 97,
        "{alike} and {found_more} of {count}"
    );
    assert!(alike * 100 >= count * 85, "{alike} of {count}");
    assert!(at_root * 100 >= count * 75, "{at_root} of {count}");
}

/// Where threads begin.
const ROOTS: &[&str] = &["_start", "clone3", "clone", "__clone", "__clone3"];

/// How many frames of two stacks are the same, from the leaf on.
fn begins(found: &[Symbol], expected: &[Symbol], aliases: &mut Aliases) -> usize {
    let pairs = found.iter().zip(expected);
    let same = |(one, other): &(&Symbol, &Symbol)| {
        one == other || one.1 == other.1 && aliases.same(&one.1, &one.0, &other.0)
    };
    pairs.take_while(same).count()
}

/// The files are those of another machine, but the instruction pointer is known, and generated code needs no file.
#[test]
fn copied_stacks_have_user_frames() {
    let scratch = Scratch::new("perf-dwarf-corpus");
    let profile = ours(&input("perf-data-dwarf"), &scratch);
    let lane = &profile.lanes()[0];
    assert_eq!(lane.samples.len(), 35);
    let is_user = |frame: &Symbol| !frame.1.starts_with("[kernel");
    let user_frames =
        |row| frames(&profile, lane, row).iter().filter(|frame| is_user(frame)).count();
    assert!((0..35).all(|row| user_frames(row) > 0));
}

/// The corpus was recorded on another machine: perf and we find the same files, or miss them, and know the same
/// names.
#[test]
fn the_corpus_is_what_perf_script_prints() {
    let scratch = Scratch::new("perf-corpus");
    for case in ["file", "pipe", "zstd", "events", "jitdump"] {
        let data = scratch.path("perf.data");
        let packed = fs::File::open(input(&format!("perf-data-{case}"))).unwrap();
        std::io::copy(
            &mut flate2::read::GzDecoder::new(packed),
            &mut fs::File::create(&data).unwrap(),
        )
        .unwrap();
        let Some(text) = script_of(&scratch, &data) else { return };
        let count = compare(case, &ours(&data, &scratch), &theirs(&text));
        println!("{case}: {count} frames are the same");
        assert!(count > 500, "{case}: only {count} frames");
    }
}

/// The pipe form comes through stdin, where nothing can be looked up twice.
#[test]
fn a_pipe_is_read_from_stdin() {
    let bytes = fs::read(input("perf-data-pipe")).unwrap();
    let output = with_stdin(&["report", "--json", "-"], &bytes);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["samples"], 160);
}

#[test]
fn names_come_from_what_is_given() {
    let scratch = Scratch::new("perf-map");
    let folder = input("perf-data-file").replace("/input.data.gz", "");
    let map = scratch.path("perf.map");
    let mut text = Vec::new();
    let packed = fs::File::open(format!("{folder}/perf-17963.map.gz")).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed), &mut text).unwrap();
    fs::write(&map, text).unwrap();
    let names = |options: &[&str]| {
        let report = json(&[&["report", "--json", &input("perf-data-file")], options].concat());
        let functions = report["functions"].as_array().unwrap().clone();
        functions.iter().filter(|row| row["file"] == "/srv/api/main.js").count()
    };
    assert_eq!(names(&[]), 0, "nothing was given");
    assert!(names(&["--perf-map", &map]) >= 1);
    assert!(names(&["--perf-map", &format!("{map}:17963")]) >= 1);
    assert_eq!(names(&["--perf-map", &format!("{map}:1")]), 0, "it is of another process");
    fs::create_dir_all(scratch.path("root/tmp")).unwrap();
    fs::copy(&map, scratch.path("root/tmp/perf-17963.map")).unwrap();
    assert!(names(&["--root", &scratch.path("root")]) >= 1);
    for option in ["--perf-map", "--root", "--kallsyms"] {
        fails(
            &["report", &input("perf-data-file"), option, "/does/not/exist"],
            1,
            "cannot open",
            option,
        );
    }
}

/// The jitdump that the recording mentions, under the root of the recorded machine.
#[test]
fn a_jitdump_names_generated_code() {
    let scratch = Scratch::new("jitdump");
    let recording = input("perf-data-jitdump");
    let report = json(&["report", "--json", &recording]);
    let pid = report["threads"][0]["pid"].as_u64().unwrap();
    let mut dump = Vec::new();
    let packed = fs::File::open(recording.replace("input.data.gz", "jit.dump.gz")).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed), &mut dump).unwrap();
    fs::create_dir_all(scratch.path("root/srv/api")).unwrap();
    fs::write(scratch.path(&format!("root/srv/api/jit-{pid}.dump")), dump).unwrap();
    let root = scratch.path("root");
    let named = json(&["report", "--json", &recording, "--root", &root]);
    let without_map = |report: &serde_json::Value| {
        report["losses"]["unnamed"]["generated code without a perf map"].as_u64().unwrap_or(0)
    };
    assert!(without_map(&named) * 10 < without_map(&report), "{}", named["losses"]);
    let functions = named["functions"].as_array().unwrap();
    assert!(functions.iter().any(|row| row["file"] == "/srv/api/main.js"), "{functions:#?}");
}

#[test]
fn the_first_event_asked_for_is_shown() {
    let output = run(&["report", &input("perf-data-events"), "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["samples"], 156);
    let faults = json(&["report", "--json", &input("perf-data-events"), "--event", "page-faults"]);
    assert_eq!(faults["samples"], 106);
}
