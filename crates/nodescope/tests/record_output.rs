//! Where `record` writes, what it says meanwhile, and what it refuses before it samples.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it skips")]

mod program;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use program::running::{Running, can_record};
use program::{Scratch, fails, json, nodescope, run, stderr, stdout};

/// No process has this pid: whatever is refused before that is seen was refused before sampling.
const NO_PROCESS: &str = "4194304";

const BUSY: &str = "function simmer() { const end = Date.now() + 30; while (Date.now() < end); }
console.log('ready'); setInterval(simmer, 60);";

/// Runs nodescope on a terminal of its own, with something typed.
fn on_terminal(arguments: &str, variables: &[(&str, &str)], typed: &str) -> Option<String> {
    let command = format!("{} {arguments}", env!("CARGO_BIN_EXE_nodescope"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("SHELL", "/bin/sh").env_remove("COLUMNS");
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).envs(variables.iter().copied());
    let Ok(mut child) = script.spawn() else {
        println!("skipped: what happens on a terminal: script is not here");
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
    for (typed, said) in
        [("n\n", "exists already\r\n"), ("\n", "exists already\r\n"), ("y\n", "there is no process")]
    {
        let Some(seen) = on_terminal(&format!("record -p {NO_PROCESS} -o {out}"), &[], typed) else { return };
        assert!(seen.contains("Replace it? [y/N]") && seen.contains(said), "{typed:?}: {seen}");
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
        fails(&["record", "-p", NO_PROCESS, "-d", none], 2, "no time at all", "Ctrl-C");
    }
    fails(&["record", "-p", NO_PROCESS, "-d", "soon"], 2, "is not a time", "-d 30s");
}

#[test]
fn sentences_are_broken_between_words_on_a_terminal() {
    let Some(seen) = on_terminal(&format!("record -p {NO_PROCESS} -d 0"), &[("COLUMNS", "44")], "") else {
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
    assert!(stdout(&page).to_lowercase().starts_with("<!doctype html>"), "{}", &stdout(&page)[..200]);
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
    assert!(!refused.status.success() && stderr(&refused).contains("there is no process"), "errors are said");
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
    let Ok(output) = record(python.args([&wrapper, env!("CARGO_BIN_EXE_nodescope")])) else {
        return println!("skipped: a kernel without process_vm_readv: python3 is not here");
    };
    assert!(output.status.success() && !stderr(&output).contains("Error"), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    assert_eq!(report["own_functions"][0]["name"], "simmer", "{report}");
    assert_eq!(report["losses"]["notes"], serde_json::json!([]), "{report}");
}
