//! Where `record` writes, what it prints meanwhile, and what it refuses before it samples.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::program::inspected::{Target, newest, send, wait_until};
use crate::program::running::{PATIENCE, Running, can_record, children_of, wait_for_samples};
use crate::program::{self, Scratch, fails, json, nodescope, run, samples, stderr, stdout};
use crate::skip::skip;

/// No process has this pid: whatever is refused before that is seen was refused before sampling.
const NO_PROCESS: &str = "4194304";

const BUSY: &str = "function simmer() { const end = Date.now() + 30; while (Date.now() < end); }
console.log('ready'); setInterval(simmer, 60);";

/// Runs nodescope on a terminal of its own, with something typed.
fn on_terminal(arguments: &str, variables: &[(&str, &str)], typed: &str) -> Option<String> {
    let command = format!("'{}' {arguments}", program::path());
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("SHELL", "/bin/sh").env_remove("COLUMNS");
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).envs(variables.iter().copied());
    let Ok(mut child) = script.spawn() else {
        skip("what happens on a terminal: script is not here");
        return None;
    };
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    Some(stdout(&child.wait_with_output().unwrap()))
}

#[test]
fn an_existing_file_is_refused_before_sampling() {
    let scratch = Scratch::new("output-exists");
    let out = scratch.file("a.nodescope", b"an older file");
    fails(&["record", "-p", NO_PROCESS, "-o", &out], 2, "exists already", "--overwrite");
    fails(&["record", "-p", NO_PROCESS, "-o", &out, "--overwrite"], 1, "there is no process", "");
    fails(&["record", "-p", NO_PROCESS, "-o", &scratch.path("")], 2, "", "");
    for (typed, expected) in [
        ("n\n", "exists already\r\n"),
        ("\n", "exists already\r\n"),
        ("y\n", "there is no process"),
    ] {
        let Some(seen) = on_terminal(&format!("record -p {NO_PROCESS} -o {out}"), &[], typed)
        else {
            return;
        };
        assert!(seen.contains("Replace it? [y/N]") && seen.contains(expected), "{typed:?}: {seen}");
    }
    assert_eq!(fs::read(&out).unwrap(), b"an older file");
    // What is no file is written to.
    fails(
        &["record", "-p", NO_PROCESS, "--to", "nodescope", "-o", "/dev/null"],
        1,
        "there is no process",
        "",
    );
}

#[test]
fn a_terminal_gets_no_recording() {
    let Some(seen) = on_terminal(&format!("record -p {NO_PROCESS} -o -"), &[], "") else { return };
    assert!(seen.contains("stdout is a terminal") && !seen.contains("no process"), "{seen}");
}

#[test]
fn no_time_is_a_mistake() {
    for none in ["0", "0s", "0ms"] {
        fails(&["record", "-p", NO_PROCESS, "-d", none], 2, "longer than 0", "Ctrl-C");
    }
    fails(&["record", "-p", NO_PROCESS, "-d", "soon"], 2, "is not a time", "-d 30s");
}

#[test]
fn sentences_are_broken_between_words_on_a_terminal() {
    let Some(seen) = on_terminal(&format!("record -p {NO_PROCESS} -d 0"), &[("COLUMNS", "44")], "")
    else {
        return;
    };
    let lines: Vec<&str> = seen.lines().map(|line| line.trim_end_matches('\r')).collect();
    assert!(lines.len() > 2 && lines.iter().all(|line| line.chars().count() <= 44), "{lines:?}");
    let whole = run(&["record", "-p", NO_PROCESS, "-d", "0"]);
    assert_eq!(lines.join(" "), stderr(&whole).lines().collect::<Vec<_>>().join(" "));
}

#[test]
fn forms_go_to_stdout_and_silence_is_kept() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("output-forms");
    let script = scratch.file("busy.js", BUSY.as_bytes());
    let busy = Running::start(Command::new("node").arg(&script).current_dir(&scratch.0));
    let pid = busy.pid();
    let page = run(&["record", &pid, "-F", "499", "-d", "500ms", "--to", "html", "-o", "-"]);
    assert!(page.status.success(), "{}", stderr(&page));
    assert!(
        stdout(&page).to_lowercase().starts_with("<!doctype html>"),
        "{}",
        &stdout(&page)[..200]
    );
    let words = ["record", &pid, "-F", "499", "-d", "500ms", "-q", "--to", "svg"];
    let quiet = nodescope(&words).current_dir(&scratch.0).output().unwrap();
    assert!(quiet.status.success(), "{}", stderr(&quiet));
    assert_eq!((stdout(&quiet), stderr(&quiet)), (String::new(), String::new()));
    let files = fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().file_name());
    let files: Vec<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(
        files.iter().any(|name| name.starts_with("nodescope-busy-") && name.ends_with(".svg")),
        "{files:?}"
    );
    let refused = run(&["record", "-q", "-p", NO_PROCESS]);
    assert!(
        !refused.status.success() && stderr(&refused).contains("there is no process"),
        "errors are printed"
    );
}

/// What goes to a pipe goes there at once, by both ways, and is a whole recording in the end.
#[test]
fn a_stream_can_be_read_while_it_grows() {
    let Some(node) = newest().filter(|_| can_record()) else { return };
    let scratch = Scratch::new("output-stream");
    let target = Target::start(&scratch, &node, &[], program::inspected::BUSY, &[]);
    let pid = target.pid();
    for way in ["perf", "inspector"] {
        let words = ["record", "-p", &pid, "--via", way, "-F", "499", "-d", "1h", "-o", "-"];
        let recorder = nodescope(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut recorder = recorder.unwrap();
        let mut out = recorder.stdout.take().unwrap();
        let (mut bytes, mut buffer, start) = (Vec::new(), [0; 4096], Instant::now());
        let early = loop {
            assert!(start.elapsed() < PATIENCE, "{way:?}: {} bytes", bytes.len());
            let count = out.read(&mut buffer).unwrap();
            assert!(count > 0, "{way:?}: it ended early");
            bytes.extend_from_slice(&buffer[..count]);
            let found = profile::file::read(&bytes).map_or(0, |profile| count_samples(&profile));
            if found > 20 {
                break found;
            }
        };
        send("INT", &recorder.id().to_string());
        out.read_to_end(&mut bytes).unwrap();
        assert!(recorder.wait().unwrap().success());
        let whole = profile::file::read(&bytes).unwrap();
        assert!(count_samples(&whole) >= early && whole.meta().losses.damage.is_empty(), "{way:?}");
    }
}

fn count_samples(profile: &profile::Profile) -> usize {
    profile.lanes().first().map_or(0, |lane| lane.samples.len())
}

/// A recorder that was killed leaves OUT.part: the next one keeps it, says so, and records to the same OUT.
#[test]
fn a_part_that_was_left_is_kept() {
    let Some(node) = newest().filter(|_| can_record()) else { return };
    let scratch = Scratch::new("output-left");
    let target = Target::start(&scratch, &node, &[], program::inspected::BUSY, &[]);
    let pid = target.pid();
    for (number, way) in [(1, "perf"), (2, "inspector")] {
        let out = scratch.path("a.nodescope");
        let words = ["record", "-p", &pid, "--via", way, "-F", "499", "--overwrite", "-o", &out];
        let cut_off =
            nodescope(&[&words[..], &["-d", "1h"]].concat()).stderr(Stdio::null()).spawn();
        let mut cut_off = cut_off.unwrap();
        wait_for_samples(&format!("{out}.part"), 5);
        cut_off.kill().unwrap();
        cut_off.wait().unwrap();
        let left = fs::read(format!("{out}.part")).unwrap();
        let next = nodescope(&[&words[..], &["-d", "1s"]].concat()).output().unwrap();
        let (messages, kept) = (stderr(&next), scratch.path(&format!("a.nodescope.{number}.part")));
        assert!(next.status.success(), "{messages}");
        assert!(
            messages.contains("it is now") && messages.contains(&format!("report {kept} opens it")),
            "{messages}"
        );
        assert!(fs::read(&kept).unwrap() == left, "{way}: it is what was left");
        assert!(!Path::new(&format!("{out}.part")).exists() && samples(&[&out]) > 0, "{way}");
    }
}

/// What `record -d` does with a command that runs on: the recording is there at once, and its status comes at its end.
#[test]
fn a_command_that_runs_on_is_waited_for() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("output-runs-on");
    let script = "const fs = require('fs'); const end = process.argv[1];
        const look = () => fs.existsSync(end) ? process.exit(7) : setTimeout(look, 20);
        look(); setInterval(() => { for (let i = 0; i < 1e7; i++); }, 20);";
    for (name, signal, status) in [("by-itself", None, 7), ("by-signal", Some("INT"), 143)] {
        let (out, end) =
            (scratch.path(&format!("{name}.nodescope")), scratch.path(&format!("{name}.end")));
        let messages = scratch.path(&format!("{name}.messages"));
        let words =
            ["record", "-d", "500ms", "-F", "499", "-o", &out, "--", "node", "-e", script, &end];
        let mut command = nodescope(&words);
        command.stdout(Stdio::null()).stderr(fs::File::create(&messages).unwrap());
        let mut recorder = command.spawn().unwrap();
        wait_until("the sentence", PATIENCE, || {
            fs::read_to_string(&messages).unwrap().contains("still runs")
        });
        let text = fs::read_to_string(&messages).unwrap();
        let (wrote, waits) =
            (text.find("wrote ").unwrap(), text.find("waiting for its end, Ctrl-C").unwrap());
        assert!(wrote < waits && samples(&[&out]) > 0, "{text}");
        let command = children_of(recorder.id())[0];
        match signal {
            Some(signal) => send(signal, &recorder.id().to_string()),
            None => fs::write(&end, "").unwrap(),
        }
        assert_eq!(recorder.wait().unwrap().code(), Some(status), "{name}: {text}");
        assert!(!Path::new(&format!("/proc/{command}")).exists(), "{name}: it has ended");
    }
}

/// Makes process_vm_readv fail as in a kernel without CONFIG_CROSS_MEMORY_ATTACH, and becomes its arguments.
const WITHOUT_CALL: &str = "
import ctypes, os, platform, struct, sys
number = {'x86_64': 310, 'aarch64': 270}[platform.machine()]
# Load the call's number; is it this one? then ENOSYS, else allow.
rows = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('<HBBI', *row) for row in rows))
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('rows', ctypes.c_void_p)]
program = Program(len(rows), ctypes.addressof(code))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
try:
    text = ctypes.create_string_buffer(8)
    row = struct.pack('QQ', ctypes.addressof(text), 8)
    assert libc.process_vm_readv(os.getpid(), row, 1, row, 1, 0) == -1
finally:
    os.execv(sys.argv[1], sys.argv[1:])
";

#[test]
fn names_are_read_without_the_system_call() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("output-enosys");
    let wrapper = scratch.file("without.py", WITHOUT_CALL.as_bytes());
    let (script, out) = (scratch.file("busy.js", BUSY.as_bytes()), scratch.path("a.nodescope"));
    let busy = Running::start(Command::new("node").arg(&script).current_dir(&scratch.0));
    let record = |command: &mut Command| {
        command.args(["record", &busy.pid(), "-F", "499", "-d", "1s", "-o", &out]).output()
    };
    let mut python = Command::new("python3");
    let Ok(output) = record(python.args([&wrapper, program::path()])) else {
        return skip("a kernel without process_vm_readv: python3 is not here");
    };
    assert!(output.status.success() && !stderr(&output).contains("Error"), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    assert_eq!(report["own_functions"][0]["name"], "simmer", "{report}");
    assert_eq!(report["losses"]["notes"], serde_json::json!([]), "{report}");
}
