//! The program for Windows, run by wine: reading, showing, and recording a Node for Windows through its debug handler.
//! Wine is not Windows. Debian 12's (8.0) names no owner of a socket and no command line of another process, and V8 of
//! Node 24 and later does not start in it (“Fatal process out of memory: SegmentedTable::InitializeTable”: it has no
//! placeholders of memory); Node 18, 20 and 22 run.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::handed_out::program_for;
use crate::program::inspected::{is_listening, send, wait_until};
use crate::program::running::{Running, installed_node};
use crate::program::{Scratch, input, recording, run, samples, stderr, stdout, succeeds};
use crate::skip::skip;
use crate::view::View;

const NODES: [&str; 2] = ["18.20.8", "22.23.3"];

/// Where Node opens its inspector.
const PORT: u16 = 9229;

/// Names the program for Windows to a copy of this test that has a network of its own.
const ALONE: &str = "NODESCOPE_WINDOWS_ALONE";

/// Time for a program to start in wine, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// It writes its pid into a file, because Node cannot write to a pipe of wine; and that of a program that is not Node.
/// The function is called through a builtin, so that V8 does not inline it.
const BUSY: &str = "
function heavy() { let sum = 0; for (let i = 0; i < 9e6; i++) sum += Math.sqrt(i); return sum; }
const other = require('child_process').spawn('cmd', ['/c', 'ping -n 600 127.0.0.1'], { stdio: 'ignore' });
require('fs').writeFileSync('pid', `${process.pid} ${other.pid} `);
setInterval(() => 'a'.replace('a', heavy), 20);
";

/// A service of Linux, on another machine as it were.
const SERVICE: &str = "
function heavy() { let sum = 0; for (let i = 0; i < 9e6; i++) sum += Math.sqrt(i); return sum; }
setInterval(() => 'a'.replace('a', heavy), 20);
console.log('ready');
";

/// Names the program that is handed out. Then it must be run: nothing may be missing.
const HANDED_OUT: &str = "NODESCOPE_WINDOWS";

/// Programs of Windows in a world of their own, which ends with the test.
struct Wine {
    scratch: Scratch,
    program: String,
}

impl Wine {
    /// `built` is the program for Windows.
    fn new(built: &str) -> Result<Self, String> {
        let scratch = Scratch::new("windows");
        // What wine lacks has to be beside the program.
        let program = scratch.path("nodescope.exe");
        fs::copy(built, &program).unwrap();
        let missing = Path::new(env!("CARGO_MANIFEST_DIR"));
        let missing = missing.join("../../tests/windows/bcryptprimitives.c");
        let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
        compiler.args(["-shared", "-o", &scratch.path("bcryptprimitives.dll")]).arg(missing);
        assert!(compiler.arg("-ladvapi32").status().unwrap().success());
        let wine = Self { scratch, program };
        // Node asks for Windows 10.
        let made = wine.start("winecfg", &["-v", "win10"]).output().unwrap();
        match made.status.success() {
            true => Ok(wine),
            false => Err(format!("wine makes no prefix: {}", stderr(&made))),
        }
    }

    fn start(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new("wine");
        self.surround(&mut command);
        command.arg(program).args(words).stdin(Stdio::null());
        for variable in ["COLUMNS", "NO_COLOR", "TERM", "DISPLAY"] {
            command.env_remove(variable);
        }
        command
    }

    /// Without its errors, which are about windows and sound, and in the folder of the test.
    fn surround(&self, command: &mut Command) {
        command.env("WINEPREFIX", self.scratch.path("prefix")).env("WINEDEBUG", "-all");
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml=").current_dir(&self.scratch.0);
    }

    fn nodescope(&self, words: &[&str]) -> Command {
        self.start(&self.program, words)
    }

    fn run(&self, words: &[&str]) -> Output {
        self.nodescope(words).output().unwrap()
    }

    fn output_of(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// A command must fail with that status and that sentence.
    fn fails(&self, words: &[&str], status: i32, sentence: &str) {
        let output = self.run(words);
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {messages}");
        assert!(messages.contains(sentence), "{words:?}: {messages}");
    }
}

impl Drop for Wine {
    /// Ends what still runs in this prefix, and nothing else.
    fn drop(&mut self) {
        let mut server = Command::new("wineserver");
        self.surround(&mut server);
        let _ = server.arg("-k").status();
    }
}

/// In a network of its own, where there is one to be had: wine does not show whose a port is, and Node's is 9229.
#[test]
fn the_program_for_windows_works_in_wine() {
    let script = "ip link set lo up && exec \"$0\" \"$@\"";
    let alone = |program: &Path| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", script]).arg(program);
        command
    };
    let can_be_alone = || alone("true".as_ref()).output().is_ok_and(|done| done.status.success());
    if let Ok(built) = std::env::var(ALONE) {
        return works_in_wine(&built);
    }
    // Not in that network, which leads nowhere: rustup may have to fetch the target.
    let built = match built() {
        Ok(built) => built,
        Err(reason) => return cannot(&reason),
    };
    if !can_be_alone() {
        return works_in_wine(&built);
    }
    let mut again = alone(&std::env::current_exe().unwrap());
    again.args(["--exact", "windows::the_program_for_windows_works_in_wine", "--nocapture"]);
    let output = again.env(ALONE, built).output().unwrap();
    let printed = stdout(&output);
    printed
        .lines()
        .filter(|line| line.starts_with("skipped: "))
        .for_each(|line| println!("{line}"));
    assert!(output.status.success(), "{printed}{}", stderr(&output));
}

/// The program for Windows, where all is here that runs it.
fn built() -> Result<String, String> {
    for name in ["wine", "wineserver", "x86_64-w64-mingw32-gcc"] {
        let found = Command::new(name).arg("--version").output();
        found.map_err(|_| format!("{name} is not here"))?;
    }
    program_for("x86_64-pc-windows-gnu", HANDED_OUT, "nodescope.exe")
}

fn cannot(reason: &str) {
    match std::env::var_os(HANDED_OUT) {
        Some(_) => panic!("Windows: {reason}"),
        None => skip(format_args!("Windows: {reason}")),
    }
}

fn works_in_wine(built: &str) {
    let wine = match Wine::new(built) {
        Ok(wine) => wine,
        Err(reason) => return cannot(&reason),
    };
    reads_and_shows(&wine);
    refuses_with_a_sentence(&wine);
    records_another_machine(&wine);
    for (row, release) in NODES.iter().enumerate() {
        let Some(node) = node(release) else {
            skip(format_args!("Windows, Node {release}: it is not in the cache"));
            continue;
        };
        starts_through_npm(&wine, &node);
        let mut target = Target::start(&wine, &node);
        records(&mut target, release);
        if row == 0 {
            outlives_a_killed_recorder(&mut target);
        }
    }
}

/// The same words and the same bytes as on Linux.
fn reads_and_shows(wine: &Wine) {
    assert!(wine.output_of(&["--version"]).contains("x86_64-pc-windows-gnu"));
    let file = input("node22-gc");
    assert_eq!(wine.output_of(&["report", &file]), succeeds(&["report", &file]));
    for form in ["html", "svg", "folded"] {
        let out = wine.scratch.path(&format!("out.{form}"));
        wine.output_of(&["export", &file, "-o", &out]);
        let here = run(&["export", &file, "-o", "-", "--to", form]).stdout;
        assert!(fs::read(out).unwrap() == here, "{form} differs");
    }
    let kept = wine.scratch.file("kept.nodescope", &recording());
    let view = View::start_as(wine.nodescope(&["view", "--no-browser", &kept]));
    let cookie = view.enter();
    assert_eq!(view.ask("/", &[("Cookie", &cookie)]).status, 200);
    assert_eq!(view.ask("/", &[]).status, 403);
}

fn refuses_with_a_sentence(wine: &Wine) {
    let damaged = wine.scratch.file("damaged", b"nothing that is known");
    wine.fails(&["report", "missing.nodescope"], 1, "there is no file missing.nodescope");
    wine.fails(&["report", &damaged], 1, "it does not look like any recording");
    wine.fails(&["export", &damaged], 2, "");
    wine.fails(&["record", "1", "--via", "perf"], 1, "by perf events on Linux only");
    wine.fails(&["record", "1", "--via", "inspector"], 1, "process 1 has ended");
    wine.fails(&["record", "no-such-words"], 1, "no Node process here matches");
    wine.fails(&["record", "--", "node", "app.js"], 1, "on Linux only");
}

/// Through a port that was opened there.
fn records_another_machine(wine: &Wine) {
    let Some(node) = installed_node() else { return skip("Windows, --connect: node is missing") };
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let script = wine.scratch.file("service.js", SERVICE.as_bytes());
    let _service =
        Running::start(Command::new(node).arg(format!("--inspect={address}")).arg(script));
    let out = wine.scratch.path("connected.nodescope");
    wine.output_of(&["record", "--connect", &address, "-d", "2s", "-o", &out]);
    assert!(samples(&[&out]) > 20);
    let report = succeeds(&["report", &out]);
    assert!(report.contains("heavy (") && report.contains("service.js:"), "{report}");
}

/// The npm package, as npm lays it out: what the program prints, and how it ends.
fn starts_through_npm(wine: &Wine, node: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/npm/nodescope");
    let shim = wine.scratch.0.join("node_modules/nodescope");
    let holder = wine.scratch.0.join("node_modules/@nodescope/win32-x64");
    for folder in [&shim, &holder] {
        fs::create_dir_all(folder).unwrap();
    }
    for file in fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()) {
        fs::copy(&file, shim.join(file.file_name().unwrap())).unwrap();
    }
    for file in ["nodescope.exe", "bcryptprimitives.dll"] {
        fs::copy(wine.scratch.0.join(file), holder.join(file)).unwrap();
    }
    let script = shim.join("nodescope.js").display().to_string();
    let start = |words: &[&str]| {
        let words: Vec<&str> = [&[script.as_str()], words].concat();
        wine.start(&node.display().to_string(), &words).output().unwrap()
    };
    let version = start(&["--version"]);
    assert_eq!(stdout(&version), wine.output_of(&["--version"]), "{}", stderr(&version));
    let lacking = start(&["report", "nonesuch.folded"]);
    assert_eq!(lacking.status.code(), Some(1), "{}", stderr(&lacking));
    assert!(stderr(&lacking).contains("there is no file nonesuch.folded"), "{}", stderr(&lacking));
    let wrong = start(&["report", "--no-such-option"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

fn node(release: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache =
        std::env::var_os("NODESCOPE_CACHE").map_or(home.join(".cache/nodescope"), PathBuf::from);
    Some(cache.join(format!("node-windows-{release}/node.exe"))).filter(|path| path.exists())
}

/// A Node of Windows whose inspector is closed.
struct Target<'a> {
    wine: &'a Wine,
    child: Child,
    pid: String,
    other_pid: String,
}

impl<'a> Target<'a> {
    fn start(wine: &'a Wine, node: &Path) -> Self {
        let script = wine.scratch.file("app.js", BUSY.as_bytes());
        let written = wine.scratch.0.join("pid");
        let _ = fs::remove_file(&written);
        let mut command = wine.start(&node.display().to_string(), &[&script]);
        let log = File::create(wine.scratch.path("log")).unwrap();
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut target = Self { wine, child, pid: String::new(), other_pid: String::new() };
        let pids = || fs::read_to_string(&written).unwrap_or_default();
        wait_until("the start of Node in wine", PATIENCE, || pids().ends_with(' '));
        let pids = pids();
        let mut pids = pids.split_whitespace().map(str::to_owned);
        target.pid = pids.next().unwrap();
        target.other_pid = pids.next().unwrap();
        target
    }

    /// A recording that has begun: a window is written.
    fn begin(&self, target: &str, out: &str) -> Child {
        let words = ["record", target, "--via", "inspector", "-d", "1h", "-o", out];
        let mut command = self.wine.nodescope(&words);
        let recorder = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let part = format!("{out}.part");
        wait_until("a window", PATIENCE, || {
            fs::metadata(&part).is_ok_and(|part| part.len() > 2000)
        });
        recorder
    }

    fn log(&self) -> String {
        fs::read_to_string(self.wine.scratch.path("log")).unwrap()
    }

    fn is_as_before(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none() && !is_listening(PORT)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn records(target: &mut Target<'_>, release: &str) {
    let wine = target.wine;
    // Nothing is opened unasked, and nothing is done to a program that is not Node.
    let command = format!("record {} --via inspector", target.pid);
    wine.fails(&["record", &target.pid], 1, &command);
    let other = ["record", &target.other_pid, "--via", "inspector"];
    wine.fails(&other, 1, "has no debug handler: it is not Node");
    assert!(target.is_as_before() && !target.log().contains("Debugger"), "{release}");

    let out = wine.scratch.path(&format!("{release}.nodescope"));
    wine.output_of(&["record", &target.pid, "--via", "inspector", "-d", "2s", "-o", &out]);
    assert!(target.is_as_before(), "{release}: {}", target.log());
    assert!(target.log().contains("Debugger listening on"), "{release}: {}", target.log());
    assert!(samples(&[&out]) > 20, "{release}");
    let report = succeeds(&["report", &out]);
    // A loop that V8 had optimised before counts as the line that called it (docs/inspector.md).
    assert!(report.contains("app.js:") && report.contains(release), "{release}: {report}");

    // By its name, until Ctrl-C.
    let out = wine.scratch.path(&format!("{release}-ended.nodescope"));
    let mut recorder = target.begin("node.exe", &out);
    send("INT", &recorder.id().to_string());
    assert!(recorder.wait().unwrap().success(), "{release}");
    assert!(target.is_as_before() && samples(&[&out]) > 0, "{release}: {}", target.log());
}

/// The target closes the port itself, and the next recording takes the same name.
fn outlives_a_killed_recorder(target: &mut Target<'_>) {
    let wine = target.wine;
    let out = wine.scratch.path("killed.nodescope");
    let again = ["record", &target.pid.clone(), "--via", "inspector", "-d", "1s", "-o", &out];
    let mut recorder = target.begin(&target.pid, &out);
    wine.fails(&again, 1, "another nodescope may be recording to it");
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    wait_until("the end of the port", Duration::from_secs(20), || !is_listening(PORT));
    assert!(target.is_as_before() && samples(&[&format!("{out}.part")]) > 0);
    wine.output_of(&again);
    let kept = wine.scratch.path("killed.nodescope.1.part");
    assert!(samples(&[&kept]) > 0 && samples(&[&out]) > 0);
}
