//! `nodescope demo`: from nothing to a recording, and nothing left behind.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{self, Scratch, fails, json, nodescope, stderr, stdout};
use crate::skip::skip;

/// What a window of a common size shows without scrolling, and half of that.
const SCREEN_LINES: usize = 45;
const HALF_A_SCREEN: usize = 24;

/// One demo at a time: each brings a load of its own.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn demo(scratch: &Scratch, options: &[&str]) -> Command {
    let mut command = nodescope(&[&["demo"], options].concat());
    command.current_dir(&scratch.0).env_remove("NODE_OPTIONS");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Whether the demo really recorded; where it cannot, it has printed why.
fn is_live(output: &Output) -> bool {
    assert!(output.status.success(), "{}", stderr(output));
    let is_shipped = stderr(output).contains("ships with nodescope");
    if is_shipped {
        skip(format_args!("the demo: it cannot record here: {}", stderr(output)));
    }
    !is_shipped
}

/// `recording node (pid 4140) for …` → 4140.
fn service_of(messages: &str) -> Option<u32> {
    messages.split_once("(pid ")?.1.split_once(')')?.0.parse().ok()
}

/// Gone, or a zombie that its new parent has not waited for yet.
fn is_over(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// What a process has used so far.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = stat.rsplit_once(") ")?.1.split(' ');
    Some(fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

/// Starts a demo and waits until it records; `None` where it cannot.
fn recording(scratch: &Scratch, options: &[&str]) -> Option<(Child, u32)> {
    let mut child = demo(scratch, options).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let pid = lines.find_map(|line| service_of(&line));
    if pid.is_none() {
        skip("the demo: it cannot record here");
        let _ = child.wait();
    }
    // A thread reads the rest of its output, or it would block on a full pipe.
    std::thread::spawn(move || lines.count());
    pid.map(|pid| (child, pid))
}

#[test]
fn a_real_demo_is_recorded_and_shown() {
    let _alone = alone();
    // Where others want the CPU, too, it takes longer to see everything.
    for seconds in ["3s", "12s", "50s"] {
        let scratch = Scratch::new(&format!("demo-live-{seconds}"));
        let output =
            demo(&scratch, &["-d", seconds, "-F", "499", "--no-browser"]).output().unwrap();
        if !is_live(&output) {
            return;
        }
        let names = fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        assert!(names.len() == 1 && names[0].starts_with("nodescope-demo-"), "{names:?}");
        let report = json(&["report", "--json", &scratch.path(&names[0])]);
        if report["samples"].as_u64().unwrap() > 300 || seconds == "50s" {
            has_everything(&report);
            return is_shown(&scratch, &output, &report);
        }
        println!("only {} samples in {seconds}", report["samples"]);
    }
}

fn has_everything(report: &Value) {
    assert!(report["samples"].as_u64().unwrap() > 200, "{}", report["samples"]);
    let functions: Vec<&str> = report["functions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    for (what, words) in [
        (
            "HTTP",
            &[
                "llhttp",
                "HTTPParser",
                "StreamBase",
                "TCPWrap",
                "uv__stream",
                "uv__read",
                "uv_write",
            ][..],
        ),
        ("zlib", &["deflate", "longest_match", "crc32", "compress_block"]),
        ("JSON", &["Json"]),
        ("pbkdf2", &["sha512", "PKCS5", "HMAC", "pbkdf2", "PBKDF2"]),
    ] {
        assert!(
            functions.iter().any(|name| words.iter().any(|word| name.contains(word))),
            "{what}: {functions:?}"
        );
    }
    let has = |table: &str, key: &str, word: &str| {
        report[table]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row[key].as_str().is_some_and(|text| text == word))
    };
    assert!(has("categories", "category", "gc"), "{}", report["categories"]);
    assert!(has("threads", "role", "libuv-pool") || report["threads"].to_string().contains("pool"));
}

fn is_shown(scratch: &Scratch, output: &Output, report: &Value) {
    let (messages, shown) = (stderr(output), stdout(output));
    assert!(messages.starts_with("nodescope: demo: a small web shop on Node v"), "{messages}");
    assert!(is_over(service_of(&messages).unwrap()), "{messages}");
    // Every command that it prints works as it stands.
    let commands: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let find = |word: &str| *commands.iter().find(|line| line.contains(word)).unwrap();
    let shell = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {line}")]).current_dir(&scratch.0).stdin(Stdio::null());
        command
    };
    let done = shell(find(" report nodescope-demo-")).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let viewing = format!("{} --no-browser", find(" view nodescope-demo-"));
    let mut view = shell(&viewing).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(view.stdout.take().unwrap()).read_line(&mut address).unwrap();
    view.kill().unwrap();
    view.wait().unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    assert!(find(" record TARGET").ends_with("record TARGET"), "{shown}");
    // The cause is on the screen, and so is all of the rest. Where others want the CPU, it may not be the cause.
    let is_cause =
        |row: &Value| row["file"].as_str().is_some_and(|file| file.ends_with("report.js"));
    if report["findings"].as_array().unwrap().iter().any(is_cause) {
        assert!(shown.contains("nightlyReport (server.js:44)"), "{shown}");
    }
    assert!(shown.lines().count() <= SCREEN_LINES, "{shown}");
}

#[test]
fn another_form_is_written_at_once() {
    let _alone = alone();
    let scratch = Scratch::new("demo-svg");
    let output = demo(&scratch, &["-d", "1s", "-F", "499", "-o", "x.svg"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(fs::read_to_string(scratch.path("x.svg")).unwrap().contains("<svg "));
    assert!(!stdout(&output).contains("x.svg -o"), "{}", stdout(&output));
}

#[test]
fn ctrl_c_keeps_what_was_seen() {
    let _alone = alone();
    let scratch = Scratch::new("demo-interrupt");
    let Some((child, service)) =
        recording(&scratch, &["-d", "1h", "-F", "499", "-o", "a.nodescope"])
    else {
        return;
    };
    program::running::wait_for_samples(&scratch.path("a.nodescope.part"), 20);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let start = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success() && start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
    assert!(is_over(service));
    assert!(program::samples(&[&scratch.path("a.nodescope")]) > 5);
}

/// The service's stdin is a pipe that only we hold: whatever ends us ends it.
#[test]
fn the_service_does_not_outlive_a_killed_demo() {
    let _alone = alone();
    let scratch = Scratch::new("demo-killed");
    let Some((mut child, service)) =
        recording(&scratch, &["-d", "1h", "-F", "499", "-o", "a.nodescope"])
    else {
        return;
    };
    assert!(!is_over(service));
    program::running::wait_for_samples(&scratch.path("a.nodescope.part"), 5);
    child.kill().unwrap();
    child.wait().unwrap();
    let (start, used) = (Instant::now(), cpu_seconds(service).unwrap_or(0.0));
    let mut last = used;
    while !is_over(service) && start.elapsed() < Duration::from_secs(60) {
        last = cpu_seconds(service).unwrap_or(last);
        std::thread::sleep(Duration::from_millis(20));
    }
    println!(
        "the service ended {} ms and {:.2} s of CPU after",
        start.elapsed().as_millis(),
        last - used
    );
    // Two seconds, if it got a CPU.
    assert!(is_over(service) && (start.elapsed() < Duration::from_secs(2) || last - used < 1.0));
    let folder = std::env::temp_dir().join(format!("nodescope-demo-{}", child.id()));
    assert!(!folder.exists(), "{}", folder.display());
    assert!(program::samples(&[&scratch.path("a.nodescope.part")]) > 0);
}

/// The shipped recording is shown, a message says so, and it is as good as any.
fn is_shipped(scratch: &Scratch, output: &Output, reason: &str, hint: &str) {
    let messages = stderr(output);
    assert!(output.status.success(), "{messages}");
    let lines: Vec<&str> =
        messages.lines().filter(|line| !line.starts_with("nodescope: demo: ")).collect();
    assert!(lines[0].starts_with("nodescope: ") && lines[0].contains(reason), "{messages}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains(hint), "{messages}");
    assert!(lines[2].contains("so this is a recording that ships with nodescope"), "{messages}");
    assert!(stdout(output).contains("lib/report.js") && stdout(output).contains("aggregateOrders"));
    let report = json(&["report", "--json", &scratch.path("a.nodescope")]);
    assert!(report["samples"].as_u64().unwrap() > 500);
    // Its planted cause comes first, and all that is printed is half a screen.
    let first = &report["findings"][0];
    let is_planted = first["id"] == "stalls" && first["function"] == "summarise";
    let file = first["file"].as_str().unwrap_or_default();
    assert!(is_planted && file.ends_with("/lib/report.js"), "{first:#}");
    let shown = stdout(output);
    assert!(shown.lines().count() <= HALF_A_SCREEN, "{shown}");
    let own = report["own_functions"].to_string();
    for name in ["summarise", "fillIn", "placeOrder", "touchSession"] {
        assert!(own.contains(name), "{name}: {own}");
    }
    let (unnamed, frames) = (&report["losses"]["unnamed_frames"], &report["losses"]["frames"]);
    assert!(unnamed.as_f64().unwrap() < 0.05 * frames.as_f64().unwrap(), "{unnamed} of {frames}");
}

#[test]
fn without_node_a_shipped_recording_is_shown() {
    let scratch = Scratch::new("demo-without");
    let output = demo(&scratch, &["-o", "a.nodescope"]).env("PATH", &scratch.0).output().unwrap();
    is_shipped(&scratch, &output, "there is no node in the PATH", "install Node.js");
    // In any form.
    let output = demo(&scratch, &["-o", "a.svg"]).env("PATH", &scratch.0).output().unwrap();
    assert!(
        output.status.success()
            && fs::read_to_string(scratch.path("a.svg")).unwrap().contains("<svg ")
    );
    let output = demo(&scratch, &["-o", "-"]).env("PATH", &scratch.0).output().unwrap();
    let report = program::with_stdin(&["report", "-"], &output.stdout);
    assert!(stdout(&report).contains("lib/report.js"), "{}", stderr(&report));
}

/// Programs that are called node and cannot run the service.
#[test]
fn a_node_that_does_not_work_is_explained() {
    for (name, script, reason) in [
        (
            "old",
            "[ \"$1\" = --version ] && echo v8.17.0 && exit; echo 'SyntaxError: Unexpected token {' >&2; exit 1",
            "Node v8.17.0 is too old",
        ),
        (
            "broken",
            "[ \"$1\" = --version ] && echo v20.1.0 && exit; echo 'Error: no luck' >&2; exit 1",
            "node v20.1.0 did not start the demo's service: Error: no luck",
        ),
        (
            "short-lived",
            "echo '{\"port\":1,\"pid\":1,\"node\":\"v20.1.0\"}'; exit 7",
            "the demo's service on Node v20.1.0 ended at once: exit status: 7",
        ),
        ("silent", "exit 0", "did not start the demo's service: exit status: 0"),
    ] {
        let scratch = Scratch::new(&format!("demo-{name}"));
        let node = scratch.file("node", format!("#!/bin/sh\n{script}\n").as_bytes());
        fs::set_permissions(&node, fs::Permissions::from_mode(0o755)).unwrap();
        let output =
            demo(&scratch, &["-o", "a.nodescope"]).env("PATH", &scratch.0).output().unwrap();
        is_shipped(&scratch, &output, reason, "ode");
    }
}

/// Refused for real: there are fewer files to open than CPUs to sample.
#[test]
fn without_permission_a_shipped_recording_is_shown() {
    let scratch = Scratch::new("demo-refused");
    let script = format!("ulimit -n 4; exec '{}' demo -o a.nodescope", program::path());
    let output = Command::new("sh").args(["-c", &script]).current_dir(&scratch.0).output().unwrap();
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return skip("a file for each CPU: there is one CPU");
    }
    is_shipped(
        &scratch,
        &output,
        "you may not sample even your own processes: it takes more than the 4 files",
        "prlimit",
    );
}

#[test]
fn what_was_typed_wrongly_starts_nothing() {
    fails(&["demo", "-d", "soon"], 2, "-d soon is not a time", "-d 30s");
    fails(&["demo", "-o", "a.xyz"], 2, "does not say what to write", "");
}
