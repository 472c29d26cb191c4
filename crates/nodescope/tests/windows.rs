//! The program for Windows, run by wine: reading, showing, and recording a Node for Windows through its debug handler.
//! Wine is not Windows. Debian 12's (8.0) names no owner of a socket and no command line of another process, and V8 of
//! Node 24 and later does not start in it (“Fatal process out of memory: SegmentedTable::InitializeTable”: it has no
//! placeholders of memory); Node 18, 20 and 22 run.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::handed_out::program_for;
use crate::program::inspected::{free_port, is_listening, send, wait_until};
use crate::program::{Scratch, input, recording, run, samples, stderr, stdout, succeeds};
use crate::skip::skip;
use crate::view::View;

const NODES: [&str; 2] = ["18.20.8", "22.23.3"];

/// Time for a program to start in wine, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// It writes its pid into a file, because Node cannot write to a pipe of wine.
const BUSY: &str = "
function heavy(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
require('fs').writeFileSync('pid', String(process.pid));
setInterval(() => 'a'.replace('a', () => heavy(3e6)), 20);
";

/// Programs of Windows in a world of their own, which ends with the test.
struct Wine {
    scratch: Scratch,
    program: String,
}

impl Wine {
    fn new() -> Result<Self, String> {
        for name in ["wine", "wineserver", "x86_64-w64-mingw32-gcc"] {
            let found = Command::new(name).arg("--version").output();
            found.map_err(|_| format!("{name} is not here"))?;
        }
        let built = program_for("x86_64-pc-windows-gnu", "NODESCOPE_WINDOWS", "nodescope.exe")?;
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
        if !made.status.success() {
            return Err(format!("wine makes no prefix: {}", String::from_utf8_lossy(&made.stderr)));
        }
        Ok(wine)
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

    fn says(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// A command must fail with that status and that sentence.
    fn fails(&self, words: &[&str], status: i32, sentence: &str) {
        let output = self.run(words);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert!(said.contains(sentence), "{words:?}: {said}");
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

#[test]
fn the_program_for_windows_works_in_wine() {
    let wine = match Wine::new() {
        Ok(wine) => wine,
        Err(reason) => return skip(format_args!("Windows: {reason}")),
    };
    reads_and_shows(&wine);
    refuses_with_a_sentence(&wine);
    for release in NODES {
        match node(release) {
            Some(node) => records(&wine, release, &node),
            None => skip(format_args!("Windows, Node {release}: it is not in the cache")),
        }
    }
}

/// The same words and the same bytes as on Linux.
fn reads_and_shows(wine: &Wine) {
    assert!(wine.says(&["--version"]).contains("x86_64-pc-windows-gnu"));
    let file = input("node22-gc");
    assert_eq!(wine.says(&["report", &file]), succeeds(&["report", &file]));
    for form in ["html", "svg", "folded"] {
        let out = wine.scratch.path(&format!("out.{form}"));
        wine.says(&["export", &file, "-o", &out]);
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
    wine.fails(&["report", "missing.nodescope"], 1, "nodescope: missing.nodescope: ");
    wine.fails(&["report", &damaged], 1, "damaged");
    wine.fails(&["record", "1", "--via", "perf"], 1, "by perf events on Linux only");
    wine.fails(&["record", "1", "--via", "inspector"], 1, "process 1 has ended");
    wine.fails(&["record", "no-such-words"], 1, "no Node process here matches");
    wine.fails(&["record", "--", "node", "app.js"], 1, "on Linux only");
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
    port: u16,
    pid: String,
}

impl<'a> Target<'a> {
    fn start(wine: &'a Wine, node: &Path) -> Self {
        let script = wine.scratch.file("app.js", BUSY.as_bytes());
        let written = wine.scratch.0.join("pid");
        let _ = fs::remove_file(&written);
        let port = free_port();
        let words = [format!("--inspect-port={port}"), script];
        let mut command =
            wine.start(&node.display().to_string(), &words.each_ref().map(String::as_str));
        let log = File::create(wine.scratch.path("log")).unwrap();
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut target = Self { wine, child, port, pid: String::new() };
        let pid = || fs::read_to_string(&written).unwrap_or_default();
        wait_until("the start of Node in wine", PATIENCE, || !pid().is_empty());
        target.pid = pid();
        target
    }

    fn log(&self) -> String {
        fs::read_to_string(self.wine.scratch.path("log")).unwrap()
    }

    fn is_as_before(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none() && !is_listening(self.port)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn records(wine: &Wine, release: &str, node: &Path) {
    let mut target = Target::start(wine, node);
    // Nothing is opened unasked.
    let command = format!("record {} --via inspector", target.pid);
    wine.fails(&["record", &target.pid], 1, &command);
    assert!(target.is_as_before() && !target.log().contains("Debugger"), "{release}");

    let out = wine.scratch.path(&format!("{release}.nodescope"));
    wine.says(&["record", &target.pid, "--via", "inspector", "-d", "2s", "-o", &out]);
    assert!(target.is_as_before(), "{release}: {}", target.log());
    assert!(target.log().contains("Debugger listening on"), "{release}: {}", target.log());
    assert!(samples(&[&out]) > 20, "{release}");
    let report = succeeds(&["report", &out]);
    assert!(report.contains("heavy") && report.contains(release), "{release}: {report}");

    // By its name, until Ctrl-C.
    let out = wine.scratch.path(&format!("{release}-ended.nodescope"));
    let words = ["record", "node.exe", "--via", "inspector", "-d", "1h", "-o", &out];
    let mut recorder = wine.nodescope(&words).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the port", PATIENCE, || is_listening(target.port));
    wait_until("a second window", PATIENCE, || {
        fs::metadata(format!("{out}.part")).is_ok_and(|part| part.len() > 2000)
    });
    send("INT", &recorder.id().to_string());
    assert!(recorder.wait().unwrap().success(), "{release}");
    assert!(target.is_as_before() && samples(&[&out]) > 0, "{release}: {}", target.log());
}

/// A recorder that is killed: the target closes the port itself.
#[test]
fn a_killed_recorder_on_windows_leaves_no_port_open() {
    let node = NODES.iter().find_map(|release| node(release));
    let (Ok(wine), Some(node)) = (Wine::new(), node) else {
        return skip("Windows, a killed recorder: wine or its Node is not here");
    };
    let mut target = Target::start(&wine, &node);
    let out = wine.scratch.path("killed.nodescope");
    let words = ["record", &target.pid, "--via", "inspector", "-d", "1h", "-o", &out];
    let mut recorder = wine.nodescope(&words).stdout(Stdio::null()).spawn().unwrap();
    let part = format!("{out}.part");
    wait_until("a window", PATIENCE, || fs::metadata(&part).is_ok_and(|part| part.len() > 2000));
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    wait_until("the end of the port", Duration::from_secs(20), || !is_listening(target.port));
    assert!(target.is_as_before() && samples(&[&part]) > 0);
}
