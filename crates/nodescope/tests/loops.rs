//! Event loops that block in every way, recorded, and compared with the program's own log of its turns.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use profile::{LongTurn, Profile, TurnKind, UNKNOWN, WAITS_LANE, file};

use crate::program::inspected::send;
use crate::program::running::{
    Limited, Running, cache, can_record, musl_nodes, nodes, wait_for_samples,
};
use crate::program::{Scratch, nodescope, stderr};
use crate::skip::skip;

const BLOCKS: &str = include_str!("program/blocks.js");
const MS: u64 = 1_000_000;
/// How far the log and the recording may be apart, beside the time for which the loop waited for a CPU.
const NEAR_NS: u64 = 10 * MS;

/// One block, as the program logged it, on the recording's clock.
struct Logged {
    kind: String,
    start_ns: u64,
    end_ns: u64,
}

/// A stack of the wait lane, the leaf first, and the time that it stands for.
struct Wait {
    names: Vec<String>,
    weight_ns: u64,
}

/// A recording of a program that blocks.
struct Recorded {
    profile: Profile,
    logged: Vec<Logged>,
    waits: Vec<Wait>,
}

impl Recorded {
    fn read(out: &str, log: &Path) -> Self {
        let profile = file::read(&fs::read(out).unwrap()).unwrap();
        let start_ms = profile.meta().start_clock_s.unwrap() * 1e3;
        let time_ns =
            |word: &str| ((word.parse::<f64>().unwrap() - start_ms) * 1e6).max(0.0) as u64;
        let text = fs::read_to_string(log).unwrap_or_default();
        let logged = text.lines().map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            Logged {
                kind: words[0].to_owned(),
                start_ns: time_ns(words[1]),
                end_ns: time_ns(words[2]),
            }
        });
        let logged = logged.collect();
        let waits = waits(&profile);
        Self { profile, logged, waits }
    }

    fn turns(&self, kind: TurnKind) -> Vec<LongTurn> {
        let rows = self.profile.long_turns();
        rows.ids().map(|id| rows.row(id)).filter(|turn| turn.kind == kind).collect()
    }

    /// How many blocks of a kind have a turn of their own.
    fn found(&self, kind: &str) -> usize {
        let turns = self.turns(TurnKind::Turn);
        let is_near = |logged: &&Logged, turn: &LongTurn| {
            let near_ns = NEAR_NS + turn.ready_ns;
            logged.start_ns.abs_diff(turn.start_ns) <= near_ns
                && logged.end_ns.abs_diff(turn.end_ns) <= near_ns
        };
        let of_kind = self.logged.iter().filter(|logged| logged.kind == kind);
        of_kind.filter(|logged| turns.iter().any(|turn| is_near(logged, turn))).count()
    }

    /// Every turn that was long because of what it did is in the log.
    fn has_no_other(&self, what: &str) {
        for turn in self.turns(TurnKind::Turn) {
            let is_logged = self.logged.iter().any(|logged| {
                logged.start_ns <= turn.end_ns + NEAR_NS && turn.start_ns <= logged.end_ns + NEAR_NS
            });
            let own_ns = (turn.end_ns - turn.start_ns).saturating_sub(turn.ready_ns);
            let is_at_end = turn.end_ns + 300 * MS >= self.profile.duration_ns();
            assert!(is_logged || own_ns < 50 * MS || is_at_end, "{what}: {turn:?} is in no log");
        }
    }

    /// A wait in a function, in one of these system calls.
    fn waited(&self, function: &str, calls: &[&str]) -> bool {
        self.waits.iter().any(|wait| {
            let is_call = calls.iter().any(|call| wait.names[0] == format!("{call} (waiting)"));
            is_call && wait.weight_ns >= 40 * MS && wait.names.iter().any(|name| name == function)
        })
    }

    fn watched(&self) -> usize {
        let loops = self.profile.loops();
        let is_watched = |row: &usize| {
            loops.problem[*row].some().is_none() && loops.end_ns[*row] > loops.start_ns[*row]
        };
        (0..loops.len()).filter(is_watched).count()
    }

    fn describe(&self) -> String {
        let turns = self.profile.long_turns();
        let logged =
            self.logged.iter().map(|one| format!("{} {}..{}", one.kind, one.start_ns, one.end_ns));
        let waits = self.waits.iter().map(|wait| format!("{} {:?}", wait.weight_ns, wait.names));
        format!(
            "{:#?}\n{:#?}\n{:#?}\n{:?}",
            logged.collect::<Vec<_>>(),
            turns.ids().map(|id| turns.row(id)).collect::<Vec<_>>(),
            waits.collect::<Vec<_>>(),
            self.profile.loops()
        )
    }
}

fn waits(profile: &Profile) -> Vec<Wait> {
    let Some(lane) = profile.lane_named(WAITS_LANE) else { return Vec::new() };
    let samples = &profile.lane(lane).samples;
    let name = |stack: profile::StackId| {
        let function = profile.function_of(profile.stacks().row(stack).frame);
        profile.text(function.name).to_owned()
    };
    let rows = samples.stack.iter().zip(&samples.weight);
    rows.map(|(stack, weight)| {
        let names = profile.ancestry(*stack).map(name).collect();
        Wait { names, weight_ns: *weight }
    })
    .collect()
}

/// What a program that blocks is given: its script, its log and its pipe.
struct Given {
    scratch: Scratch,
    script: String,
    log: PathBuf,
    fifo: String,
}

impl Given {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let (script, fifo) = (scratch.file("blocks.js", BLOCKS.as_bytes()), scratch.path("fifo"));
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let log = PathBuf::from(scratch.path("log"));
        Self { scratch, script, log, fifo }
    }

    /// Starts a Node that blocks in these ways, records it, and reads what came out.
    fn record(&self, node: &Path, kinds: &str, options: &[&str]) -> Recorded {
        let log = self.log.display().to_string();
        let node =
            Running::start(Command::new(node).args([&self.script, &log, &self.fifo, kinds, "120"]));
        // On a busy machine a worker takes long to begin.
        let end = Instant::now() + Duration::from_secs(30);
        let has_worker =
            || fs::read_to_string(&self.log).is_ok_and(|text| text.contains("workerBlock"));
        while kinds.contains("worker") && !has_worker() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        record(&self.scratch, &node.pid(), &self.log, options)
    }
}

fn record(scratch: &Scratch, pid: &str, log: &Path, options: &[&str]) -> Recorded {
    let out = scratch.path("a.nodescope");
    let words = [&["record", pid, "--overwrite", "-o", &out], options].concat();
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    Recorded::read(&out, log)
}

#[test]
fn every_way_to_block_is_found() {
    if !can_record() {
        return;
    }
    let wanted = ["18.20.8", "20.20.2", "22.23.3", "24.21.0", "26.10.0"];
    for (release, node) in nodes().into_iter().filter(|(release, _)| wanted.contains(release)) {
        let given = Given::new(&format!("blocks-{release}"));
        let recorded = given.record(&node, "child,atomics,fifo,loop,worker", &["-d", "3s"]);
        let kinds = ["childBlock", "atomicsBlock", "fifoBlock", "loopBlock", "workerBlock"];
        let found = kinds.map(|kind| recorded.found(kind));
        println!("Node {release}: found {found:?} of {kinds:?}");
        assert!(found.iter().all(|found| *found > 0), "{release}: {}", recorded.describe());
        recorded.has_no_other(release);
        assert_eq!(recorded.watched(), 2, "{release}: {}", recorded.describe());
        for (function, calls) in [
            ("childBlock", &["epoll_wait", "epoll_pwait"][..]),
            ("atomicsBlock", &["futex"]),
            ("fifoBlock", &["openat", "open", "read"]),
        ] {
            assert!(
                recorded.waited(function, calls),
                "{release}, {function}: {}",
                recorded.describe()
            );
        }
        let lane = &recorded.profile.lanes()[0];
        assert_eq!(recorded.profile.text(lane.name), "cpu-clock", "waiting is no use of the CPU");
        // The kernel's count of a second is of all threads.
        assert!(recorded.profile.seconds().run_ns.iter().any(|run_ns| *run_ns > 0), "{release}");
    }
}

#[test]
fn other_builds_are_watched_too() {
    if !can_record() {
        return;
    }
    let node = nodes().into_iter().find(|(release, _)| *release == "22.23.3");
    let given = Given::new("blocks-builds");
    let stripped = PathBuf::from(given.scratch.path("node"));
    let mut found: Vec<(String, PathBuf)> =
        musl_nodes().into_iter().map(|(release, node)| (format!("musl {release}"), node)).collect();
    if let Some((_, node)) = node
        && Command::new("strip")
            .arg("--strip-all")
            .arg("-o")
            .arg(&stripped)
            .arg(node)
            .status()
            .unwrap()
            .success()
    {
        found.push(("stripped".to_owned(), stripped));
    }
    assert!(!found.is_empty());
    for (what, node) in found {
        let _ = fs::remove_file(&given.log);
        check_build(&what, &given.record(&node, "child,worker", &["-d", "2s"]));
    }
    debian_is_watched();
}

/// Its libuv is a library of its own.
fn debian_is_watched() {
    let root = cache().join("node-debian");
    let inside = format!("nodescope-loops-{}", std::process::id());
    let folder = root.join("tmp").join(&inside);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("blocks.js"), BLOCKS).unwrap();
    let mut command = Command::new("chroot");
    let place = |name: &str| format!("/tmp/{inside}/{name}");
    command.arg(&root).arg("/usr/bin/node").args([
        &place("blocks.js"),
        &place("log"),
        &place("fifo"),
    ]);
    if !Command::new("chroot")
        .arg(&root)
        .args(["/usr/bin/node", "-v"])
        .output()
        .is_ok_and(|out| out.status.success())
    {
        let _ = fs::remove_dir_all(&folder);
        return skip(
            "Debian's Node: it does not run here; scripts/install-test-tools.sh fetches it",
        );
    }
    let node = Running::start(command.args(["atomics,worker", "120"]).stderr(Stdio::null()));
    let scratch = Scratch::new("blocks-debian");
    let recorded = record(&scratch, &node.pid(), &folder.join("log"), &["-d", "2s"]);
    let _ = fs::remove_dir_all(&folder);
    check_build("Debian's", &recorded);
    assert!(recorded.waited("atomicsBlock", &["futex"]), "{}", recorded.describe());
}

fn check_build(what: &str, recorded: &Recorded) {
    let (main, worker) = (
        recorded.found("childBlock") + recorded.found("atomicsBlock"),
        recorded.found("workerBlock"),
    );
    println!("{what}: {main} blocks of the main loop, {worker} of a worker's");
    assert!(main > 0 && worker > 0, "{what}: {}", recorded.describe());
    recorded.has_no_other(what);
}

#[test]
fn work_before_the_first_poll_is_a_start() {
    if !can_record() {
        return;
    }
    let script = "
        function startBlock() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000); }
        startBlock();
        let sum = 0;
        for (let i = 0; i < 3e7; i++) sum += Math.sqrt(i);
        setTimeout(() => {}, 300);";
    for (release, node) in
        nodes().into_iter().filter(|(release, _)| ["18.20.8", "24.21.0"].contains(release))
    {
        let scratch = Scratch::new(&format!("start-{release}"));
        let (script, out) =
            (scratch.file("start.js", script.as_bytes()), scratch.path("a.nodescope"));
        let output = nodescope(&["record", "-F", "999", "-o", &out, "--"])
            .arg(node)
            .arg(script)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let recorded = Recorded::read(&out, Path::new("/nonexistent"));
        let starts = recorded.turns(TurnKind::Startup);
        assert_eq!(starts.len(), 1, "{release}: {}", recorded.describe());
        let own_ns = starts[0].end_ns - starts[0].start_ns - starts[0].ready_ns;
        assert!((1_000 * MS..6_000 * MS).contains(&own_ns), "{release}: {}", recorded.describe());
        assert!(recorded.waited("startBlock", &["futex"]), "{release}: {}", recorded.describe());
        recorded.has_no_other(release);
    }
}

/// Starts a recording, and waits until it has begun.
fn begin_recording(scratch: &Scratch, pid: &str, options: &[&str]) -> (Child, String) {
    let out = scratch.path("a.nodescope");
    let words = [&["record", pid, "--overwrite", "-o", &out], options].concat();
    let recorder = nodescope(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    let has_begun = || fs::metadata(format!("{out}.part")).is_ok_and(|meta| meta.len() > 0);
    while !has_begun() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    (recorder, out)
}

#[test]
fn a_stopped_process_is_no_stall() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("stopped");
    let script = "console.log('ready'); setInterval(() => { let sum = 0; for (let i = 0; i < 1e6; i++) sum += i; }, 10);";
    let node = Running::start(Command::new("node").args(["-e", script]));
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &node.pid()]).status().unwrap().success());
    };
    check_stop(&scratch, &node, || signal("-STOP"), || signal("-CONT"));
    let Some(freezer) = Freezer::new(&node) else {
        return skip(
            "the freezer: control groups can only be made by root, where they are mounted",
        );
    };
    check_stop(&scratch, &node, || freezer.write(true), || freezer.write(false));
    drop(node);
}

/// Stops a process for a while, and finds that gap.
fn check_stop(scratch: &Scratch, node: &Running, stop: impl Fn(), go_on: impl Fn()) {
    let (mut recorder, out) = begin_recording(scratch, &node.pid(), &["-d", "1h"]);
    let part = format!("{out}.part");
    let samples = wait_for_samples(&part, 10);
    let start = Instant::now();
    stop();
    std::thread::sleep(Duration::from_millis(600));
    go_on();
    let most_ns = start.elapsed().as_nanos() as u64 + 1_400 * MS;
    wait_for_samples(&part, samples + 10);
    send("INT", &recorder.id().to_string());
    assert!(recorder.wait().unwrap().success());
    let recorded = Recorded::read(&out, Path::new("/nonexistent"));
    fs::remove_file(&out).unwrap();
    let stops = recorded.turns(TurnKind::Stopped);
    assert_eq!(stops.len(), 1, "{}", recorded.describe());
    let length_ns = stops[0].end_ns - stops[0].start_ns;
    assert!((500 * MS..most_ns).contains(&length_ns), "{}", recorded.describe());
    recorded.has_no_other("stopped");
}

/// A control group that can be frozen, with a process in it. It is thawed and removed in the end.
struct Freezer {
    folder: PathBuf,
    /// The file, and what it contains for a group that is frozen and for one that is not.
    file: &'static str,
    words: [&'static str; 2],
}

impl Freezer {
    fn new(node: &Running) -> Option<Self> {
        let name = format!("nodescope-freezer-{}", std::process::id());
        let first = ("/sys/fs/cgroup/freezer", "freezer.state", ["FROZEN", "THAWED"]);
        let second = ("/sys/fs/cgroup", "cgroup.freeze", ["1", "0"]);
        let (mount, file, words) = if Path::new(first.0).is_dir() { first } else { second };
        let folder = Path::new(mount).join(name);
        fs::create_dir(&folder).ok()?;
        let freezer = Self { folder, file, words };
        fs::write(freezer.folder.join("cgroup.procs"), node.pid()).ok()?;
        Some(freezer)
    }

    fn write(&self, is_frozen: bool) {
        let word = self.words[usize::from(!is_frozen)];
        fs::write(self.folder.join(self.file), word).unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = fs::write(self.folder.join(self.file), self.words[1]);
        // What runs in it goes back to the root.
        let root = self.folder.parent().unwrap().join("cgroup.procs");
        for pid in fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default().lines()
        {
            let _ = fs::write(&root, pid);
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
fn a_busy_loop_that_turns_is_healthy() {
    if !can_record() {
        return;
    }
    let script =
        "console.log('ready'); function spin() { let sum = 0; for (let i = 0; i < 4e5; i++) sum += i; }
        const turn = () => { spin(); setImmediate(turn); }; turn(); setInterval(spin, 7);";
    for (release, node) in
        nodes().into_iter().filter(|(release, _)| ["18.20.8", "26.10.0"].contains(release))
    {
        let scratch = Scratch::new(&format!("healthy-{release}"));
        let node = Running::start(Command::new(node).args(["-e", script]));
        // Without stacks the recorder itself watches.
        for options in [&["-d", "1500ms"][..], &["-d", "1500ms", "--no-heap"]] {
            let recorded = record(&scratch, &node.pid(), Path::new("/nonexistent"), options);
            recorded.has_no_other(release);
            assert_eq!(recorded.watched(), 1, "{release}: {}", recorded.describe());
            let turns = recorded.profile.loops().turns[0];
            assert!(turns == UNKNOWN || turns > 5, "{release}: {turns} turns");
        }
    }
}

#[test]
fn a_limit_is_distinguished_from_slow_code() {
    if !can_record() {
        return;
    }
    let Some(limited) = Limited::new(10_000) else {
        return skip(
            "a CPU limit: control groups can only be made by root, where they are mounted",
        );
    };
    let script = "console.log('ready'); setInterval(() => { let sum = 0; for (let i = 0; i < 2e7; i++) sum += i; }, 50);";
    let node = Running::start(Command::new("node").args(["-e", script]));
    limited.take(&node.pid());
    let scratch = Scratch::new("limited");
    let recorded = record(&scratch, &node.pid(), Path::new("/nonexistent"), &["-d", "3s"]);
    drop(node);
    let turns = recorded.turns(TurnKind::Turn);
    let sum = |part: fn(&LongTurn) -> u64| turns.iter().map(part).sum::<u64>() as f64;
    let (length, run) = (sum(|turn| turn.end_ns - turn.start_ns), sum(|turn| turn.run_ns));
    let (ready, throttled) = (sum(|turn| turn.ready_ns), sum(|turn| turn.throttled_ns));
    println!(
        "limited: {} turns, {length} ns: run {run}, ready {ready}, throttled {throttled}",
        turns.len()
    );
    assert!(
        turns.len() >= 3 && ready > 0.6 * length && run < 0.3 * length,
        "{}",
        recorded.describe()
    );
    assert!(throttled > 0.2 * length && throttled <= ready, "{}", recorded.describe());
    let seconds = recorded.profile.seconds();
    let (periods, held) =
        (seconds.periods.iter().sum::<u64>(), seconds.throttled_periods.iter().sum::<u64>());
    assert!(periods >= 10 && held * 2 > periods, "{periods} periods, {held} throttled");
    let process = &recorded.profile.processes()[seconds.process[0].index()];
    assert_eq!(process.cpu_limit_millis, Some(100));
}
