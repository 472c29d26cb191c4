//! Formats that we read and write: import → export → import keeps stacks and weights, and times where the format
//! can; and `go tool pprof` shows what the report shows.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::process::Command;

use formats::{cpuprofile, firefox, pprof, speedscope};
use profile::{LaneId, Profile, StackId, Unit, file};
use regex::Regex;
use serde_json::Value;
use views::{Selection, TopBy, TopKey, selected_rows, top, weigh};

use crate::cases::{self, cases, import};
use crate::skip::skip;

type Write = fn(&Profile, &Selection, &mut Vec<u8>) -> io::Result<Vec<String>>;

fn written(profile: &Profile, write: Write) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(profile, &Selection::default(), &mut bytes).unwrap();
    bytes
}

/// Thread and stack, the root first, with where each function is.
type Stack = (String, Vec<(String, String, u32)>);

/// The weight of each stack of the main lane.
fn stacks(profile: &Profile) -> BTreeMap<Stack, u64> {
    let mut sums = BTreeMap::new();
    for entry in
        weigh(profile, &Selection::default()).entries.iter().filter(|entry| entry.weight > 0)
    {
        let thread = profile.thread(entry.thread);
        let thread = format!("{} {:?}", profile.text(thread.name), thread.tid);
        let place = |stack: StackId| {
            let frame = profile.stacks().frame[stack.index()];
            let function = profile.function_of(frame);
            // What is inlined is in the binary of its caller, whether a recording shows that or not.
            if profile.frames().inlined[frame.index()] && function.source.some().is_none() {
                return (profile.text(function.name).to_owned(), String::new(), function.line);
            }
            let file = profile
                .source_path(function.source)
                .or_else(|| profile.module_name(function.module));
            (
                profile.text(function.name).to_owned(),
                file.unwrap_or_default().to_owned(),
                function.line,
            )
        };
        let mut frames: Vec<_> = profile.ancestry(entry.stack).map(place).collect();
        frames.reverse();
        // pprof's values are signed.
        *sums.entry((thread, frames)).or_insert(0) += entry.weight.min(i64::MAX.cast_unsigned());
    }
    sums
}

/// Names of functions, for a difference that can be read.
fn first_difference(one: &BTreeMap<Stack, u64>, two: &BTreeMap<Stack, u64>) -> Option<String> {
    let lacks = one.iter().find(|(stack, weight)| two.get(*stack) != Some(*weight));
    let known: BTreeSet<_> = two.keys().flat_map(|stack| &stack.1).collect();
    lacks.map(|(stack, weight)| {
        let new: Vec<_> = stack.1.iter().filter(|place| !known.contains(place)).collect();
        format!("{weight} {stack:?}\nis {:?}; not there: {new:?}", two.get(stack))
    })
}

/// Name, unit and total of each lane.
fn lanes(profile: &Profile) -> Vec<(String, Unit, u64)> {
    let total =
        |weights: &[u64]| weights.iter().fold(0u64, |sum, weight| sum.saturating_add(*weight));
    let rows = profile.lanes().iter();
    rows.map(|lane| (profile.text(lane.name).to_owned(), lane.unit, total(&lane.samples.weight)))
        .collect()
}

fn assert_round_trip(format: &str, write: Write) {
    for case in cases() {
        let profile = case.import();
        let bytes = written(&profile, write);
        let again =
            import(&bytes, 1).unwrap_or_else(|error| panic!("{} as {format}: {error}", case.name));
        assert_eq!(again.meta().format, format, "{}", case.name);
        assert_eq!(again.meta().losses.damage, Vec::<String>::new(), "{} as {format}", case.name);
        assert_eq!(again.check(), Ok(()));
        if let Some(difference) = first_difference(&stacks(&profile), &stacks(&again)) {
            panic!("{} as {format}: {difference}", case.name);
        }
        // From then on nothing changes any more.
        let third = import(&written(&again, write), 1).unwrap();
        assert_eq!(lanes(&third), lanes(&again), "{} as {format}", case.name);
        assert_eq!(
            first_difference(&stacks(&again), &stacks(&third)),
            None,
            "{} as {format}",
            case.name
        );
    }
}

#[test]
fn speedscope_keeps_stacks_and_weights() {
    assert_round_trip("speedscope", |profile, selection, out| {
        speedscope::write(profile, selection, out)
    });
}

#[test]
fn pprof_keeps_stacks_and_weights() {
    assert_round_trip("pprof", |profile, selection, out| pprof::write(profile, selection, out));
}

/// Our own file keeps everything.
#[test]
fn nodescope_keeps_everything() {
    for case in cases() {
        let profile = case.import();
        let mut bytes = Vec::new();
        file::write(&profile, &mut bytes).unwrap();
        assert!(import(&bytes, 1).unwrap() == profile, "{}", case.name);
    }
}

/// V8's own recordings are one thread whose samples stand until the next: stacks, weights and times stay in
/// every format that has times.
#[test]
fn recordings_without_gaps_keep_their_times() {
    let formats: [(&str, Write); 2] = [
        (".cpuprofile", |profile, selection, out| cpuprofile::write(profile, selection, out)),
        ("speedscope", |profile, selection, out| speedscope::write(profile, selection, out)),
    ];
    for name in ["cpuprofile-node18-http", "cpuprofile-node22-known-shares", "cpuprofile-node26-gc"]
    {
        let profile = cases::case(name).import();
        for (format, write) in formats {
            let again = import(&written(&profile, write), 1).unwrap();
            assert_eq!(again.meta().format, format);
            assert_eq!(
                first_difference(&stacks(&profile), &stacks(&again)),
                None,
                "{name} as {format}"
            );
            let (one, two) = (&profile.lane(LaneId(0)).samples, &again.lane(LaneId(0)).samples);
            assert_eq!(one.weight, two.weight, "{name} as {format}");
            let since_first =
                |times: &[u64]| times.iter().map(|time| time - times[0]).collect::<Vec<_>>();
            assert_eq!(since_first(&one.time_ns), since_first(&two.time_ns), "{name} as {format}");
        }
    }
}

/// A lane in a unit of time has the start of each thread; its samples follow each other.
#[test]
fn speedscope_keeps_the_time_where_a_thread_starts() {
    let profile = cases::case("perf-pidtid").import();
    let again = import(&written(&profile, |p, s, out| speedscope::write(p, s, out)), 1).unwrap();
    let lane = again.lane(LaneId(0));
    assert!(lane.timed && lane.unit == Unit::Ns);
    assert_eq!(lane.samples.len(), profile.lane(LaneId(0)).samples.len());
    let starts = |profile: &Profile| -> BTreeMap<String, u64> {
        let samples = &profile.lane(LaneId(0)).samples;
        let mut starts = BTreeMap::new();
        for row in selected_rows(profile, &Selection::default()) {
            let thread = format!("{:?}", profile.thread(samples.thread[row]).tid);
            starts.entry(thread).or_insert(samples.time_ns[row]);
        }
        starts
    };
    assert_eq!(starts(&profile), starts(&again));
}

/// Everything that the shared tables refer to is there, and each thread's samples add up.
#[test]
fn firefox_tables_are_whole() {
    for case in cases() {
        let profile = case.import();
        let mut text = Vec::new();
        let bytes = written(&profile, |p, s, out| firefox::write(p, s, out));
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*bytes), &mut text).unwrap();
        let file: Value = serde_json::from_slice(&text).unwrap();
        let shared = &file["shared"];
        let length = |table: &str| shared[table]["length"].as_u64().unwrap();
        let within = |table: &str, column: &str, limit: u64| {
            let column = shared[table][column].as_array().unwrap();
            assert_eq!(column.len() as u64, length(table), "{}: {table}", case.name);
            assert!(
                column.iter().filter_map(Value::as_u64).all(|id| id < limit),
                "{}: {table}",
                case.name
            );
        };
        let strings = shared["stringArray"].as_array().unwrap().len() as u64;
        within("stackTable", "frame", length("frameTable"));
        within("stackTable", "prefix", length("stackTable"));
        within("frameTable", "func", length("funcTable"));
        within(
            "frameTable",
            "category",
            file["meta"]["categories"].as_array().unwrap().len() as u64,
        );
        within("funcTable", "name", strings);
        within("funcTable", "source", length("sources"));
        within("funcTable", "resource", length("resourceTable"));
        within("resourceTable", "lib", file["libs"].as_array().unwrap().len() as u64);
        let threads = file["threads"].as_array().unwrap();
        let samples: u64 =
            threads.iter().map(|thread| thread["samples"]["length"].as_u64().unwrap()).sum();
        assert_eq!(samples, profile.lane(LaneId(0)).samples.len() as u64, "{}", case.name);
    }
}

/// The real client: `pprof -top` of what we write has the functions and values of our own top list.
#[test]
#[allow(clippy::print_stdout, reason = "skips are printed")]
fn go_tool_pprof_shows_the_same_top_list() {
    let Some(program) = pprof_program() else {
        return skip("go tool pprof: neither pprof nor go is installed");
    };
    let names = [
        "node22-http",
        "node22-known-shares",
        "node22-unicode",
        "perf-inline",
        "pprof-datadog-time",
        "cpuprofile-node18-http",
        "node22-prof",
    ];
    for name in names {
        let profile = cases::case(name).import();
        let path =
            std::env::temp_dir().join(format!("nodescope-{}-{name}.pb.gz", std::process::id()));
        std::fs::write(&path, written(&profile, |p, s, out| pprof::write(p, s, out))).unwrap();
        let theirs = top_list(&program, &path);
        std::fs::remove_file(&path).unwrap();
        assert!(!theirs.is_empty(), "{name}");
        assert_eq!(differences(&theirs, &own_top_list(&profile)), Vec::<String>::new(), "{name}");
    }
}

fn pprof_program() -> Option<Vec<String>> {
    let runs = |words: &[&str]| {
        Command::new(words[0]).args(&words[1..]).arg("-help").output().is_ok_and(|out| {
            String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).contains("-top")
        })
    };
    let candidates: [&[&str]; 2] = [&["pprof"], &["go", "tool", "pprof"]];
    let found = candidates.iter().find(|words| runs(words))?;
    Some(found.iter().map(|word| (*word).to_owned()).collect())
}

/// Functions with self and total, in nanoseconds. pprof merges functions of one name and file, so only names that
/// stand for one function have a total to compare.
type TopList = BTreeMap<String, (u64, Option<u64>)>;

fn add(list: &mut TopList, name: String, own: u64, total: u64) {
    let row = list.entry(name);
    row.and_modify(|row| *row = (row.0 + own, None)).or_insert((own, Some(total)));
}

fn top_list(program: &[String], path: &Path) -> TopList {
    let options = ["-top", "-unit=ns", "-nodecount=100000", "-nodefraction=0", "-symbolize=none"];
    let mut command = Command::new(&program[0]);
    let output = command.args(&program[1..]).args(options).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let row =
        Regex::new(r"^ *(\S+) +\S+ +\S+ +(\S+) +\S+  (.*?)( \((?:partial-)?inline\))?$").unwrap();
    let mut list = TopList::new();
    for line in text.lines().skip_while(|line| !line.trim_start().starts_with("flat ")).skip(1) {
        let cells = row.captures(line).unwrap_or_else(|| panic!("{line}"));
        let number =
            |cell: usize| cells[cell].trim_end_matches("ns").parse::<f64>().unwrap().round() as u64;
        add(&mut list, cells[3].to_owned(), number(1), number(2));
    }
    list
}

/// The same from our own list.
fn own_top_list(profile: &Profile) -> TopList {
    let selection = Selection::default();
    let weights = weigh(profile, &selection);
    let mut list = TopList::new();
    for row in top(profile, &weights, &selection, TopBy::Function) {
        let TopKey::Function(id) = row.key else { continue };
        let function = profile.functions().row(id);
        let name = match profile.text(function.name) {
            "(anonymous)" if function.line > 0 => {
                format!("(anonymous:L#{}:C#{})", function.line, function.column)
            }
            name => name.to_owned(),
        };
        add(&mut list, name, row.self_weight, row.total_weight);
    }
    list
}

/// Functions whose values differ.
fn differences(theirs: &TopList, own: &TopList) -> Vec<String> {
    let names: BTreeSet<&String> = theirs.keys().chain(own.keys()).collect();
    let differ = |name: &&&String| {
        let (Some(one), Some(two)) = (theirs.get(**name), own.get(**name)) else { return true };
        one.0 != two.0 || one.1.zip(two.1).is_some_and(|(one, two)| one != two)
    };
    names
        .iter()
        .filter(differ)
        .map(|name| format!("{name}: {:?} {:?}", theirs.get(*name), own.get(*name)))
        .collect()
}
