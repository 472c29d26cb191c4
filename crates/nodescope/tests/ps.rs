//! `nodescope ps` on real processes: plain, renamed, clustered, with flags, with an inspector, and not Node at all.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::program::running::PATIENCE;
use crate::program::{Scratch, json, nodescope, stdout, succeeds, without_colours};
use crate::skip::skip;

/// A process that ends with the test.
struct Running(Child);

impl Running {
    /// Starts a program and waits until it prints a line: then it runs.
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // With --perf-basic-prof V8 leaves a log in the current folder.
        let folder =
            arguments.iter().map(Path::new).find(|path| path.is_absolute()).and_then(Path::parent);
        command.current_dir(folder.unwrap_or(Path::new("/")));
        let mut spawned = command.env_remove("NODE_OPTIONS").spawn();
        // A process that another test starts holds the file that we have just written for a moment.
        while spawned.as_ref().is_err_and(|error| error.kind() == ErrorKind::ExecutableFileBusy) {
            spawned = command.spawn();
        }
        let mut child = spawned.unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self(child)
    }

    fn pid(&self) -> u64 {
        self.0.id().into()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A user who owns nothing.
const NOBODY: u32 = 65534;

/// Prints that it runs, and waits.
const WAITING: &str = "console.log('ready'); setInterval(() => {}, 1000)";

const CLUSTER: &str = "
const cluster = require('cluster');
if (cluster.isMaster) {
  let online = 0;
  for (let i = 0; i < 2; i++) cluster.fork().on('online', () => { if (++online === 2) console.log('ready'); });
} else {
  process.on('disconnect', () => process.exit());
  setInterval(() => {}, 1000);
}";

/// The real Node on the PATH, and its version.
fn node() -> Option<(String, String)> {
    let output = Command::new("node")
        .args(["-p", "process.execPath + ' ' + process.version"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().rsplit_once(' ').map(|(path, version)| (path.to_owned(), version.to_owned()))
}

fn find(list: &Value, pid: u64) -> Option<&Value> {
    list.as_array().unwrap().iter().find(|process| process["pid"] == pid)
}

/// The list, once these processes are old enough for the signal that opens an inspector.
fn settled_list(pids: &[u64]) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let list = json(&["ps", "--json"]);
        let is_young = |pid: &u64| {
            let way = find(&list, *pid).map(|process| process["ways"]["inspector"].to_string());
            way.is_some_and(|way| way.contains("only just started"))
        };
        if !pids.iter().any(is_young) {
            return list;
        }
        assert!(Instant::now() < deadline, "{list:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn real_processes_are_recognised_by_their_elf() {
    let Some((node, version)) = node() else { return skip("ps: node is not here") };
    let scratch = Scratch::new("ps");
    let script = scratch.file("waiting.js", WAITING.as_bytes());
    let renamed = scratch.path("worker");
    fs::copy(&node, &renamed).unwrap();
    let shell = scratch.file("node", b"#!/bin/sh\necho ready\nread -r line\n");
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    let plain = Running::start(&node, &[&script, "--token", "secret-value"]);
    let copy = Running::start(&renamed, &[&script]);
    let not_node = Running::start("/bin/sh", &["-c", "echo ready; exec sleep 60"]);
    let called_node = Running::start(&shell, &[]);
    let list = settled_list(&[plain.pid(), copy.pid()]);

    for pid in [plain.pid(), copy.pid()] {
        let process = find(&list, pid).unwrap();
        assert_eq!(process["node_version"], version.as_str());
        assert_eq!(process["is_certain"], true);
        assert_eq!(process["role"]["kind"], "app");
        assert_eq!(process["inner_pid"], pid);
        assert_eq!(process["ways"]["inspector"]["state"], "can-be-opened");
        assert_eq!(process["ways"]["names"]["why"], "read from its memory");
        assert!(process["threads"].as_u64().unwrap() > 1);
        assert!((0.5..60.0).contains(&process["uptime_s"].as_f64().unwrap()), "{process}");
    }
    assert_eq!(find(&list, plain.pid()).unwrap()["command"], format!("{node} {script} --token …"));
    assert!(!list.to_string().contains("secret-value"));
    for pid in [not_node.pid(), called_node.pid(), std::process::id().into()] {
        assert!(find(&list, pid).is_none(), "{pid} is not Node");
    }

    let table = succeeds(&["ps"]);
    assert!(table.contains(&version) && table.contains(&plain.pid().to_string()), "{table}");
    assert!(!table.contains("secret-value") && !table.contains('\u{1b}'));
    let coloured = succeeds(&["ps", "--color", "always"]);
    assert!(without_colours(&coloured).contains(&copy.pid().to_string()));
    for width in [80, 120] {
        let output = nodescope(&["ps"]).env("COLUMNS", width.to_string()).output().unwrap();
        for line in stdout(&output).lines() {
            assert!(line.width() <= width, "{} columns of {width}: {line}", line.width());
        }
    }
}

#[test]
fn a_cluster_is_seen_as_one() {
    let Some((node, _)) = node() else {
        return skip("ps of a cluster: node is not here");
    };
    let scratch = Scratch::new("ps-cluster");
    let primary = Running::start(&node, &[&scratch.file("cluster.js", CLUSTER.as_bytes())]);
    let list = json(&["ps", "--json"]);
    assert_eq!(find(&list, primary.pid()).unwrap()["role"]["kind"], "primary");
    let workers =
        list.as_array().unwrap().iter().filter(|process| process["parent_pid"] == primary.pid());
    let mut numbers: Vec<u64> = workers
        .map(|worker| {
            assert_eq!(worker["role"]["kind"], "worker", "{worker}");
            worker["role"]["number"].as_u64().unwrap()
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2]);
    assert!(succeeds(&["ps"]).contains("[worker 2] "));
}

#[test]
fn flags_open_ways() {
    let Some((node, _)) = node() else {
        return skip("ps with flags: node is not here");
    };
    let scratch = Scratch::new("ps-flags");
    let script = scratch.file("waiting.js", WAITING.as_bytes());
    let mapped = Running::start(&node, &["--perf_basic_prof", &script]);
    let inspected = Running::start(&node, &["--inspect=127.0.0.1:0", &script]);
    let busy = Running::start(&node, &["-e", "console.log('ready'); for (;;);"]);
    let list = json(&["ps", "--json"]);

    let process = find(&list, mapped.pid()).unwrap();
    assert_eq!(process["flags"][0], "--perf-basic-prof");
    assert_eq!(process["ways"]["names"]["open"], true, "{process}");
    let map = process["perf_map"]["path"].as_str().unwrap();
    assert_eq!(process["perf_map"]["is_fresh"], true);
    assert!(
        map.ends_with(&format!("/tmp/perf-{}.map", mapped.pid())) && fs::metadata(map).is_ok(),
        "{map}"
    );
    // Node leaves its map behind.
    let map = format!("/tmp/perf-{}.map", mapped.pid());

    let process = find(&list, inspected.pid()).unwrap();
    assert_eq!(process["flags"][0], "--inspect=127.0.0.1:0");
    assert_eq!(process["ways"]["inspector"]["state"], "open", "{process}");
    let port = process["ways"]["inspector"]["port"].as_u64().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())).is_ok());

    // On a busy machine it may get little of a CPU for a while.
    let deadline = Instant::now() + Duration::from_secs(60);
    let cores = |process: &Value| process["cpu_cores"].as_f64().unwrap();
    let mut process = find(&list, busy.pid()).unwrap().clone();
    while cores(&process) <= 0.1 && Instant::now() < deadline {
        process = find(&json(&["ps", "--json"]), busy.pid()).unwrap().clone();
    }
    assert!(cores(&process) > 0.1, "{process}");
    assert!(process["command"].as_str().unwrap().ends_with(" -e …"));
    drop(mapped);
    let _ = fs::remove_file(map);
}

#[test]
fn an_ended_process_is_gone() {
    let Some((node, _)) = node() else {
        return skip("ps of an ended process: node is not here");
    };
    let mut ended = Running::start(&node, &["-e", WAITING]);
    ended.0.kill().unwrap();
    // Not waited for: a zombie has no file, and cannot be a target.
    let deadline = Instant::now() + Duration::from_secs(60);
    let is_listed = || find(&json(&["ps", "--json"]), ended.pid()).is_some();
    while is_listed() {
        assert!(Instant::now() < deadline, "a zombie is listed");
    }
}

/// Others may be seen, but not looked into.
#[test]
fn other_users_see_less() {
    let Some((node, _)) = node() else {
        return skip("ps as another user: node is not here");
    };
    let scratch = Scratch::for_all("ps-user");
    let program = scratch.program_for_all(crate::program::path(), "nodescope");
    let script = scratch.file("waiting.js", WAITING.as_bytes());
    let running = Running::start(&node, &["--perf-basic-prof", &script, "secret-value"]);
    let output = Command::new(&program).args(["ps", "--json"]).uid(NOBODY).gid(NOBODY).output();
    let Ok(output) = output else {
        return skip("ps as another user: only root can become one");
    };
    let list: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let process = find(&list, running.pid()).unwrap();
    assert_eq!(
        (&process["is_certain"], &process["node_version"]),
        (&Value::Bool(false), &Value::Null)
    );
    for way in ["perf", "names", "inspector"] {
        let why = process["ways"][way]["why"].as_str().unwrap();
        assert!(why.contains("(needs root)"), "{way}: {why}");
    }
    assert!(
        process["command"].as_str().unwrap().ends_with(&format!("--perf-basic-prof {script} …"))
    );
    let map = format!("/tmp/perf-{}.map", running.pid());
    drop(running);
    let _ = fs::remove_file(map);
}

#[test]
fn help_manual_and_completion_know_it() {
    let scratch = Scratch::new("ps-help");
    succeeds(&["man", "--dir", &scratch.0.display().to_string()]);
    let page = fs::read_to_string(scratch.path("nodescope-ps.1")).unwrap();
    for text in [succeeds(&["ps", "--help"]), page] {
        assert!(text.contains("json") && text.contains("Ways in"), "{text}");
    }
    assert!(succeeds(&[]).contains("nodescope ps"));
    assert!(succeeds(&["completions", "fish"]).contains("-a \"ps\""));
}
