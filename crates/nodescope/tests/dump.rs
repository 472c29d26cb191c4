//! `nodescope dump` on processes that hang: in a loop, in a regular expression, in native code, in a call that sleeps.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::running::{PATIENCE, Running, can_record, nodes, some_nodes};
use crate::program::{Scratch, fails, json, nodescope, stderr, stdout, succeeds, without_colours};
use crate::skip::skip;

const NOBODY: u32 = 65534;

/// A loop: lines 2 to 4 are inside, line 6 calls.
const LOOP: &str = "function inner(n) {
  let sum = 0;
  for (;;) { sum += Math.sqrt(n);
    n = sum % 7; }
}
function outer() { return inner(3) + 1; }
setTimeout(() => outer(), 1); console.log('ready');
";

const REGEXP: &str = "function check(text) {
  return /(a+)+$/.test(text);
}
setTimeout(() => check('a'.repeat(40) + 'b'), 1); console.log('ready');
";

const NATIVE: &str = "const crypto = require('crypto');
function derive() {
  return crypto.pbkdf2Sync('a', 'b', 2000000000, 64, 'sha512');
}
setTimeout(() => derive(), 1); console.log('ready');
";

/// Sleeps in read.
const BLOCKED: &str = "const fs = require('fs');
const file = fs.openSync(process.argv[2], 'r+');
function wait() {
  return fs.readSync(file, Buffer.alloc(8));
}
setTimeout(() => wait(), 1); console.log('ready');
";

const IDLE: &str = "setInterval(() => {}, 1e6); console.log('ready');";

/// One worker spins, one waits in its loop, one sleeps for ever.
const WORKERS: &str = "const { Worker, isMainThread, workerData } = require('worker_threads');
function spin() { for (;;) workerData; }
function doze() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); }
if (isMainThread) {
  let ready = 0;
  for (const what of ['spin', 'idle', 'doze']) {
    new Worker(__filename, { workerData: what }).on('message', () => { if (++ready == 3) console.log('ready'); });
  }
} else {
  require('worker_threads').parentPort.postMessage('ready');
  if (workerData == 'idle') setInterval(() => {}, 1e6);
  else setTimeout(() => { workerData == 'spin' ? spin() : doze(); }, 1);
}
";

/// A thread whose stack ends in memory that is never filled: reading there blocks for ever.
const BLOCKING: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *sleeps(void *nothing) { pause(); return nothing; }
int main(void) {
  size_t half = 512 << 10;
  char *memory = mmap(0, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int file = syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {.api = UFFD_API};
  struct uffdio_register all = {.range = {(unsigned long)memory, 2 * half}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  struct uffdio_zeropage lower = {.range = {(unsigned long)memory, half}};
  if (file < 0 || ioctl(file, UFFDIO_API, &api) || ioctl(file, UFFDIO_REGISTER, &all)
      || ioctl(file, UFFDIO_ZEROPAGE, &lower)) return 1;
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory, half);
  if (pthread_create(&thread, &attributes, sleeps, 0)) return 1;
  puts("ready");
  fflush(stdout);
  pause();
}
"#;

fn start(node: &Path, scratch: &Scratch, text: &str, arguments: &[&str]) -> Running {
    let script = scratch.file("program.js", text.as_bytes());
    Running::start(Command::new(node).arg(script).args(arguments))
}

fn threads<'a>(dump: &'a Value, role: &str) -> Vec<&'a Value> {
    dump["threads"].as_array().unwrap().iter().filter(|thread| thread["role"] == role).collect()
}

fn frame<'a>(thread: &'a Value, function: &str) -> Option<&'a Value> {
    thread["frames"].as_array().unwrap().iter().find(|frame| frame["function"] == function)
}

fn has(thread: &Value, part: &str) -> bool {
    let is_it = |frame: &Value| frame["function"].as_str().unwrap().contains(part);
    thread["frames"].as_array().unwrap().iter().any(is_it)
}

/// Dumps until it is as expected: a program may not have come far enough, and a busy machine is slow.
fn dump_until(pid: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let dump = json(&["dump", pid, "--json"]);
        if is_expected(&dump) {
            return dump;
        }
        assert!(Instant::now() < deadline, "{dump:#}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_loop_is_found_with_its_line() {
    if !can_record() {
        return;
    }
    for (release, node) in nodes() {
        let scratch = Scratch::new(&format!("dump-loop-{release}"));
        let running = start(&node, &scratch, LOOP, &[]);
        let dump = dump_until(&running.pid(), |dump| {
            let main = threads(dump, "main")[0];
            // Now and then it waits for the garbage collector.
            frame(main, "inner").is_some() && main["state"] == "running"
        });
        let main = threads(&dump, "main")[0];
        let (inner, outer) = (frame(main, "inner").unwrap(), frame(main, "outer").unwrap());
        let source = inner["source"].as_str().unwrap();
        assert!(source.ends_with("program.js"), "{release}: {source}");
        // Maglev has no lines in some releases: then the dump shows that they are unknown.
        let line = inner["line"].as_u64().unwrap();
        assert!(line == 0 || (3..=4).contains(&line), "{release}: {inner:#}");
        let line = outer["line"].as_u64().unwrap();
        assert!(line == 0 || line == 6, "{release}: {outer:#}");
        assert_eq!(inner["defined_line"], 1, "{release}");
        assert!(dump["node_version"].as_str().unwrap().ends_with(release), "{release}: {dump:#}");
    }
}

#[test]
fn a_regular_expression_and_native_code_are_found_with_their_callers() {
    if !can_record() {
        return;
    }
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("dump-native-{release}"));
        let running = start(&node, &scratch, REGEXP, &[]);
        let dump =
            dump_until(&running.pid(), |dump| frame(threads(dump, "main")[0], "check").is_some());
        let main = threads(&dump, "main")[0];
        assert!(
            main["frames"].as_array().unwrap().iter().any(|frame| frame["category"] == "regexp"),
            "{main:#}"
        );
        assert_eq!(frame(main, "check").unwrap()["line"], 2, "{release}: {main:#}");
        drop(running);

        let running = start(&node, &scratch, NATIVE, &[]);
        let dump = dump_until(&running.pid(), |dump| {
            let main = threads(dump, "main")[0];
            frame(main, "derive").is_some()
                && has(main, "node::crypto")
                && main["state"] == "running"
        });
        let main = threads(&dump, "main")[0];
        assert_eq!(frame(main, "derive").unwrap()["line"], 3, "{release}: {main:#}");
        let text = succeeds(&["dump", &running.pid()]);
        assert!(text.contains("derive (") && text.contains("program.js:3:"), "{release}: {text}");
    }
}

#[test]
fn a_sleeping_thread_has_its_stack() {
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("dump-sleep-{release}"));
        let fifo = scratch.path("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let running = start(&node, &scratch, BLOCKED, &[&fifo]);
        let dump = dump_until(&running.pid(), |dump| threads(dump, "main")[0]["syscall"] == "read");
        let main = threads(&dump, "main")[0];
        assert_eq!(main["state"], "sleeping");
        assert_eq!(main["is_idle"], false);
        let wait = frame(main, "wait").unwrap_or_else(|| panic!("{release}: {main:#}"));
        assert_eq!(wait["line"], 4, "{release}: {main:#}");
        assert!(
            has(main, "uv_fs_read") && frame(main, "readSync").is_some(),
            "{release}: {main:#}"
        );
        // Down to the first function of the program.
        assert!(has(main, "_start") || has(main, "__libc_start"), "{release}: {main:#}");
        let text = succeeds(&["dump", &running.pid()]);
        assert!(
            text.contains("sleeping in read: JavaScript waits for this call"),
            "{release}: {text}"
        );
        drop(running);

        let running = start(&node, &scratch, IDLE, &[]);
        let dump = dump_until(&running.pid(), |dump| threads(dump, "main")[0]["is_idle"] == true);
        let main = threads(&dump, "main")[0];
        assert!(main["syscall"].as_str().unwrap().starts_with("epoll_"), "{release}: {main:#}");
        assert!(has(main, "uv_run") && has(main, "node::Start"), "{release}: {main:#}");
        let text = succeeds(&["dump", &running.pid()]);
        assert!(
            text.contains("main loop · tid") && text.contains("idle: waiting in its event loop"),
            "{text}"
        );
        assert!(
            text.contains(" threads: V8's threads · tid"),
            "threads that do the same are one block: {text}"
        );
        let all = succeeds(&["dump", &running.pid(), "--all-frames"]);
        assert!(all.contains("uv__io_poll") && !text.contains("uv__io_poll"), "{all}");
    }
}

#[test]
fn every_worker_has_its_stack() {
    if !can_record() {
        return;
    }
    let Some((_, node)) = nodes().into_iter().find(|(release, _)| release.starts_with("22.2"))
    else {
        return;
    };
    let scratch = Scratch::new("dump-workers");
    let running = start(&node, &scratch, WORKERS, &[]);
    let dump = dump_until(&running.pid(), |dump| {
        let workers = threads(dump, "worker");
        let of = |function: &str| workers.iter().any(|thread| frame(thread, function).is_some());
        of("spin") && of("doze") && workers.iter().any(|thread| thread["is_idle"] == true)
    });
    let workers = threads(&dump, "worker");
    assert_eq!(workers.len(), 3, "{dump:#}");
    let doze = workers.iter().find_map(|thread| Some((thread, frame(thread, "doze")?))).unwrap();
    assert_eq!((&doze.0["syscall"], &doze.1["line"]), (&Value::from("futex"), &Value::from(3)));
    let spin = workers.iter().find_map(|thread| Some((thread, frame(thread, "spin")?))).unwrap();
    assert_eq!((&spin.0["state"], &spin.1["line"]), (&Value::from("running"), &Value::from(2)));
}

#[test]
fn the_process_is_not_changed() {
    let Some((_, node)) = nodes().into_iter().next_back() else { return };
    let scratch = Scratch::new("dump-target");
    let running = start(&node, &scratch, IDLE, &[]);
    let start = Instant::now();
    let dump = json(&["dump", &running.pid(), "--json"]);
    assert!(start.elapsed() < Duration::from_secs(60), "even where others want the CPU, too");
    for key in [
        "pid",
        "name",
        "command",
        "node_version",
        "container",
        "uptime_s",
        "cpu_cores",
        "children",
        "took_s",
        "threads",
        "hints",
    ] {
        assert!(dump.get(key).is_some(), "{key}: {dump:#}");
    }
    assert_eq!(dump["children"], 0);
    assert_eq!(dump["threads"][0]["tid"].to_string(), running.pid(), "the main thread comes first");
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    assert!(status.contains("TracerPid:\t0"), "{status}");
    // By words, and in colours.
    let words = scratch.path("program.js");
    let coloured = succeeds(&["dump", &words, "--color", "always"]);
    assert!(
        coloured.contains('\u{1b}')
            && without_colours(&coloured).contains(&format!("pid {}", running.pid()))
    );
}

/// Waits for [`BLOCKING`]; whether it did not end instead.
fn both_threads_wait(running: &mut Running) -> bool {
    let folder = format!("/proc/{}/task", running.pid());
    let deadline = Instant::now() + PATIENCE;
    while running.0.try_wait().unwrap().is_none() {
        let tasks = fs::read_dir(&folder).into_iter().flatten().flatten();
        let status = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
        if status.filter(|text| text.contains("State:\tS")).count() == 2 {
            return true;
        }
        assert!(Instant::now() < deadline, "its threads do not wait");
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Hostile memory must not hang us.
#[test]
fn memory_that_blocks_is_given_up() {
    let scratch = Scratch::new("dump-blocking");
    let (source, program) =
        (scratch.file("blocking.c", BLOCKING.as_bytes()), scratch.path("blocking"));
    let compiled = Command::new("cc").args(["-o", &program, &source, "-lpthread"]).status();
    if !compiled.is_ok_and(|status| status.success()) {
        return skip("dump of memory that blocks: there is no C compiler");
    }
    let mut running = Running::start(&mut Command::new(&program));
    if !both_threads_wait(&mut running) {
        return skip("dump of memory that blocks: userfaultfd is not permitted");
    }
    let start = Instant::now();
    let output = nodescope(&["dump", &running.pid(), "--json"]).output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(60));
    let dump: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let threads = dump["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2, "{dump:#}");
    assert!(
        threads.iter().all(|thread| thread["syscall"] == "pause" && has(thread, "pause")),
        "{dump:#}"
    );
    assert!(dump["hints"][0]["what"].as_str().unwrap().contains("took too long"), "{dump:#}");
}

#[test]
fn what_cannot_be_dumped() {
    fails(&["dump", "4194999"], 1, "there is no process 4194999", "ps");
    fails(&["dump", "no such words in any command"], 1, "no Node process here", "ps");
    fails(&["dump", "1", "--match", "("], 2, "not a regular expression", "--match");
    assert!(succeeds(&[]).contains("nodescope dump"));
    assert!(succeeds(&["dump", "--help"]).contains("--all-frames"));
}

/// A user who may not look gets a hint about what would help.
#[test]
fn other_users_are_refused() {
    let Some((_, node)) = nodes().into_iter().next_back() else { return };
    let scratch = Scratch::for_all("dump-user");
    let program = scratch.program_for_all(crate::program::path(), "nodescope");
    let running = start(&node, &scratch, IDLE, &[]);
    let mut command = Command::new(&program);
    let Ok(output) = command.args(["dump", &running.pid()]).uid(NOBODY).gid(NOBODY).output() else {
        return skip("dump as another user: only root can become one");
    };
    let messages = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{messages}");
    assert!(
        messages.contains("it belongs to another user")
            && messages.contains("hint: run nodescope as that user"),
        "{messages}"
    );
    assert!(nodescope(&["dump", &running.pid()]).output().unwrap().status.success());
}
