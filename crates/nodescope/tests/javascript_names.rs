//! The live proof that JavaScript frames are named from outside: real versions of Node run programs of every kind, and
//! each frame of machine code is compared with the perf map that V8 itself writes; interpreted code with a nesting of
//! calls that is known. NODESCOPE_SECONDS is how long each is sampled, NODESCOPE_BATCH_MS how seldom samples are
//! read, and NODESCOPE_MEASURE=1 asks only for the table.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use v8::name::{CodeKind, CodeName, Tier};
use v8::{Function, Kind, Reader, Reason};

use crate::live::maps::PerfMap;
use crate::live::recorder::Fixture;
use crate::live::session::{Seen, Session, program};
use crate::live::{Constants, VERSIONS, node};
use crate::program::running::every_release;
use crate::skip::skip;

/// What was seen of one version.
#[derive(Default)]
struct Score {
    samples: usize,
    named: usize,
    with_line: usize,
    inlined: usize,
    interpreted: usize,
    right: usize,
    wrong: Vec<String>,
    unnamed: Vec<String>,
    reasons: BTreeMap<Reason, usize>,
    /// Frames of machine code that the map does not have.
    not_in_map: usize,
    time: Duration,
}

/// So many frames are compared with the map, unless the machine is too slow for that.
fn enough_frames() -> usize {
    if every_release() { 10_000 } else { 2_000 }
}

const MOST_RUNS: usize = 20;

/// A function of the program whose name takes two bytes a character.
const TWO_BYTES: &str = "计算总和";

fn has(reader: &Reader, name: &str) -> bool {
    reader.functions().iter().any(|known| &*known.name == name)
}

fn only_measures() -> bool {
    std::env::var_os("NODESCOPE_MEASURE").is_some()
}

/// Runs `check` with every version that the cache has.
fn with_each_version(check: impl Fn(&str, &Path)) {
    for version in VERSIONS {
        match node(version) {
            Some(binary) => check(version, &binary),
            None => skip(format_args!("Node {version}: it is not in the cache")),
        }
    }
}

#[test]
fn compiled_functions_have_the_names_that_v8_gives_them() {
    with_each_version(|version, binary| {
        let mut session = Session::start(binary, &["--perf-basic-prof"], &program("varied.js"));
        let mut map = PerfMap::new(session.pid());
        let mut score = Score::default();
        for _ in 0..MOST_RUNS {
            let time = session.run(|seen| {
                map.follow();
                score.samples += 1;
                compare(seen, &map, &mut score);
            });
            score.time += time;
            if score.right >= enough_frames() && has(&session.reader, TWO_BYTES) {
                break;
            }
        }
        print(version, &score);
        if !only_measures() {
            let bad = score.wrong.len() + score.unnamed.len();
            assert!(has(&session.reader, TWO_BYTES), "{version}: two bytes a character");
            assert!(score.right > 100, "{version}: {} frames are too few", score.right);
            assert!(score.wrong.len() * 1000 <= score.right, "{version}: {:#?}", score.wrong);
            // 99.8 %, those without a name counted as wrong.
            let all = score.right + bad;
            assert!(bad * 500 <= all, "{version}: {bad} of {all}: {:#?}", score.unnamed);
        }
    });
}

/// Compares all frames of machine code with the map.
fn compare(seen: &Seen<'_>, map: &PerfMap, score: &mut Score) {
    for (at, (frame, name)) in seen.frames.iter().zip(seen.names).enumerate() {
        if let Ok(name) = name {
            score.named += 1;
            score.with_line += usize::from(name.line > 0);
            score.inlined += name.inlined.len();
            score.interpreted += usize::from(name.tier == Tier::Ignition);
        }
        if let Err(reason) = name
            && frame.kind != Kind::Native
        {
            *score.reasons.entry(*reason).or_default() += 1;
        }
        if frame.kind != Kind::Generated {
            continue;
        }
        let Some(truth) = map.find(frame.instruction()) else {
            score.not_in_map += 1;
            continue;
        };
        let Some(expected) = v8::name::parse(truth) else { continue };
        let is_function =
            matches!(expected.kind, CodeKind::Function | CodeKind::Script | CodeKind::Eval);
        match name {
            Err(Reason::OtherCode) if !is_function => {}
            Err(reason) => {
                score.unnamed.push(format!("{reason:?}: {truth}; frame {at} {frame:x?}"));
            }
            Ok(name) => {
                let function = seen.reader.function(name.function).unwrap();
                if is_same(&expected, function, name.tier) {
                    score.right += 1;
                } else {
                    score.wrong.push(format!(
                        "{truth} is {:?} {function:?}; frame {at} {frame:x?}",
                        name.tier
                    ));
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

fn print(version: &str, score: &Score) {
    let all = score.right + score.wrong.len() + score.unnamed.len();
    println!(
        "Node {version}: {} samples, {:.0} µs each; {} frames named ({} interpreted, {} with a line), {} inlined",
        score.samples,
        score.time.as_micros() as f64 / score.samples.max(1) as f64,
        score.named,
        score.interpreted,
        score.with_line,
        score.inlined,
    );
    println!(
        "  against the map: {} right, {} wrong, {} unnamed, {} not in it: {:.2} %; all unnamed: {:?}",
        score.right,
        score.wrong.len(),
        score.unnamed.len(),
        score.not_in_map,
        score.right as f64 * 100.0 / all.max(1) as f64,
        score.reasons
    );
    for line in score.wrong.iter().chain(&score.unnamed).take(10) {
        println!("    {line}");
    }
}

#[test]
fn a_node_without_flags_is_named_as_well() {
    with_each_version(|version, binary| {
        let mut session = Session::start(binary, &[], &program("varied.js"));
        let (mut samples, mut named, mut losses) = (0, 0, BTreeMap::<Reason, usize>::new());
        let time = session.run(|seen| {
            samples += 1;
            named += seen.names.iter().flatten().count();
            for reason in seen
                .names
                .iter()
                .filter_map(|name| name.as_ref().err())
                .filter(|reason| is_lost(**reason))
            {
                *losses.entry(*reason).or_default() += 1;
            }
        });
        let (each, reads) = (
            time.as_micros() / samples.max(1),
            u128::from(session.memory.1.get()) / samples.max(1),
        );
        let lost = losses.values().sum::<usize>();
        let share = named as f64 * 100.0 / (named + lost).max(1) as f64;
        println!(
            "Node {version}: {named} frames of {samples} samples named, {losses:?} lost: {share:.2} %; {each} µs and {reads} reads a sample"
        );
        if !only_measures() {
            assert!(named > 100 && lost * 100 <= named, "{version}: {named} named, {losses:?}");
        }
    });
}

/// Whether a frame should have got a name that the heap has.
fn is_lost(reason: Reason) -> bool {
    reason.is_loss() && reason != Reason::StackCut
}

/// The calls in nested.js and their lines, from the innermost. These functions are made anew for each turn.
const NESTING: [(&str, u32); 4] = [("third", 5), ("second", 9), ("first", 13), ("outer", 16)];

#[test]
fn interpreted_functions_have_the_names_and_lines_of_the_program() {
    with_each_version(|version, binary| {
        let mut session = Session::start(binary, &[], &program("nested.js"));
        let (mut samples, mut right, mut unnamed, mut wrong) = (0, 0, 0, Vec::new());
        let time = session.run(|seen| {
            samples += 1;
            match check_nesting(seen) {
                Some(Ok(())) => right += 1,
                // A process that runs on may have dropped a function before it was read.
                Some(Err(_)) if has_loss(seen) => unnamed += 1,
                Some(Err(stack)) => wrong.push(stack),
                None => {}
            }
        });
        let each = time.as_micros() / samples.max(1);
        println!(
            "Node {version}: {right} of {samples} nested stacks are right, {} wrong, {unnamed} unnamed; {each} µs each",
            wrong.len()
        );
        for stack in wrong.iter().take(3) {
            println!("    {stack:?}");
        }
        if !only_measures() {
            assert!(right > 50, "{version}: {right} of {samples} samples are too few");
            assert!(wrong.len() * 500 <= right, "{version}: {wrong:?}");
            assert!(unnamed * 20 <= right, "{version}: {unnamed} of {samples} are not named");
        }
    });
}

fn has_loss(seen: &Seen<'_>) -> bool {
    seen.names.iter().any(|name| name.as_ref().is_err_and(|reason| reason.is_loss()))
}

/// Whether a stack that `spin` runs in is the one that the program has; `None` for other stacks.
fn check_nesting(seen: &Seen<'_>) -> Option<Result<(), Vec<String>>> {
    let mut stack = Vec::new();
    for name in seen.names.iter().flatten() {
        for inlined in &name.inlined {
            stack.push((seen.reader.function(inlined.function)?, inlined.line, name.tier));
        }
        stack.push((seen.reader.function(name.function)?, name.line, name.tier));
    }
    let spin = stack.iter().position(|(function, ..)| function.display_name() == "spin")?;
    let callers = &stack[spin + 1..];
    let is_right = |(at, (name, line)): (usize, &(&str, u32))| {
        callers.get(at).is_some_and(|(function, found, tier)| {
            function.display_name() == *name && found == line && *tier == Tier::Ignition
        })
    };
    let is_whole = callers.iter().any(|(function, ..)| function.display_name() == "main");
    if is_whole && NESTING.iter().enumerate().all(is_right) {
        return Some(Ok(()));
    }
    let text = stack
        .iter()
        .map(|(function, line, tier)| format!("{} {line} {tier:?}", function.display_name()));
    Some(Err(text.collect()))
}

/// Not a test: writes the fixtures of crates/v8/tests anew. Run it with `--ignored` after the reader reads more than
/// before, and look at the fixtures' expected texts then. NODESCOPE_FIXTURES=wasm writes those of one kind.
#[test]
#[ignore = "writes files"]
fn record_fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../v8/tests/fixtures");
    // Scripts have their paths as names: fixtures should know no home folder.
    let place = std::env::temp_dir().join("nodescope-names");
    std::fs::create_dir_all(&place).unwrap();
    with_each_version(|version, binary| {
        let wanted = std::env::var("NODESCOPE_FIXTURES").unwrap_or_default();
        let all = [("varied.js", "node"), ("nested.js", "nested"), ("wasm.js", "wasm")];
        for (script, kind) in all.into_iter().filter(|(_, kind)| kind.starts_with(&wanted)) {
            std::fs::copy(program(script), place.join(script)).unwrap();
            let bytes = record(binary, &place.join(script));
            println!("Node {version}: {} bytes", bytes.len());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{kind}-{version}.bin")), bytes).unwrap();
        }
    });
    std::fs::remove_dir_all(place).unwrap();
}

fn record(binary: &Path, script: &Path) -> Vec<u8> {
    let mut session = Session::start(binary, &[], script);
    let mut fixture = Fixture::new(Constants::read(binary).used());
    let mut samples = Vec::new();
    while samples.len() < 500 {
        samples.extend(session.samples());
    }
    // What one sample has read must be so for the next one, too.
    session.stop();
    samples.extend(session.samples());
    for sample in samples.iter().rev() {
        fixture.offer(&session.memory, sample, &|at| session.maps.kind_at(at));
    }
    fixture.bytes()
}
