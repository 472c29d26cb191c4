//! A page of the target that never answers blocks every reader for ever. `nodescope record` ends in time all the same,
//! keeps the names of the other threads, and leaves nothing behind.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::inspected::{send, wait_until};
use crate::program::running::{Running, SHARES, can_record, children_of, nodes};
use crate::program::{Scratch, json, nodescope, stderr};
use crate::skip::skip;

/// A thread that runs behind a page which is never filled: looking for the head of its code means reading that page. It
/// begins when a file is there.
const HOSTILE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned char stop;

static void *spin(void *argument) {
  long number = (long)argument;
  long page = sysconf(_SC_PAGESIZE);
  unsigned char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {.api = UFFD_API};
  struct uffdio_register range = {.range = {(unsigned long)memory, page}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  FILE *out = fopen(getenv("HOSTILE_LOG"), "a");
  if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &range) < 0) {
    fprintf(out, "refused\n");
    fclose(out);
    return NULL;
  }
  fprintf(out, "ready\n");
  fclose(out);
  char name[16];
  snprintf(name, sizeof name, "hostile-%ld", number);
  prctl(PR_SET_NAME, name);
  /* push rbp; mov rbp, rsp; again: cmp byte [rdi], 0; je again; pop rbp; ret */
  static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x80, 0x3f, 0x00, 0x74, 0xfb, 0x5d, 0xc3};
  memcpy(memory + page, code, sizeof code);
  while (access(getenv("HOSTILE_GO"), F_OK) != 0) usleep(10000);
  ((void (*)(volatile unsigned char *))(memory + page))(&stop);
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  const char *count = getenv("HOSTILE_THREADS");
  for (long i = 0; count && i < atol(count); i++) pthread_create(&thread, NULL, spin, (void *)i);
}
"#;

/// Node with hostile threads in it; `None` where that cannot be.
fn start(scratch: &Scratch, variables: &[(&str, &str)]) -> Option<Running> {
    let (source, library) =
        (scratch.file("hostile.c", HOSTILE.as_bytes()), scratch.path("hostile.so"));
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-pthread", "-o", &library, &source])
        .stderr(Stdio::null());
    if !compiler.status().is_ok_and(|status| status.success()) {
        skip("memory that blocks: there is no cc here that knows userfaultfd");
        return None;
    }
    let script = scratch.file("shares.js", format!("console.log('ready');{SHARES}").as_bytes());
    let log_path = scratch.path("log");
    let (release, node) = nodes().pop()?;
    let mut command = Command::new(node);
    command.args([&script, "60000"]).env("LD_PRELOAD", &library).env("HOSTILE_LOG", &log_path);
    command.env("HOSTILE_GO", scratch.path("go"));
    let running = Running::start(command.envs(variables.iter().copied()));
    let count = variables.iter().find_map(|(_, count)| count.parse().ok()).unwrap_or(1);
    let log = || fs::read_to_string(&log_path).unwrap_or_default();
    wait_until("its threads", LONG, || log().lines().count() >= count);
    let log = log();
    if !log.contains("ready") || log.contains("refused") {
        skip(format_args!("Node {release}: userfaultfd is not for this user: {log:?}"));
        return None;
    }
    Some(running)
}

/// A recorder, and the readers that it has started so far.
struct Recorder {
    child: Child,
    pid: String,
    part: String,
    readers: BTreeSet<u32>,
}

impl Recorder {
    fn start(node: &Running, out: &str) -> Self {
        let words = ["record", &node.pid(), "-d", "1h", "-F", "499", "-o", out];
        let child = nodescope(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, pid: node.pid(), part: format!("{out}.part"), readers: BTreeSet::new() }
    }

    /// Waits until what was recorded of the main thread is so.
    fn wait_until(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            self.readers.extend(children_of(self.child.id()));
            assert!(self.child.try_wait().unwrap().is_none(), "{what}: the recorder has ended");
            let words = ["report", "--json", "-n", "0", "--thread", &self.pid, &self.part];
            let output = nodescope(&words).output().unwrap();
            if let Some(report) = serde_json::from_slice(&output.stdout).ok().filter(&is_so) {
                return report;
            }
            assert!(begin.elapsed() < LONG, "{what}: not in {LONG:?}: {}", stderr(&output));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Ends the recording; what was printed, and how many readers there were.
    fn end(mut self) -> (String, usize) {
        self.readers.extend(children_of(self.child.id()));
        send("INT", &self.child.id().to_string());
        let output = self.child.wait_with_output().unwrap();
        let messages = stderr(&output);
        println!("{} readers: {messages}", self.readers.len());
        assert!(output.status.success(), "{messages}");
        let is_alive = |pid: &&u32| fs::exists(format!("/proc/{pid}")).unwrap_or(false);
        wait_until("readers end", LONG, || self.readers.iter().filter(is_alive).count() == 0);
        (messages, self.readers.len())
    }
}

const LONG: Duration = Duration::from_secs(120);

/// Samples with a function.
fn total(report: &Value, name: &str) -> f64 {
    let rows = report["functions"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["name"].as_str().is_some_and(|found| found.starts_with(name)));
    rows.map(|row| row["total_samples"].as_f64().unwrap()).fold(0.0, f64::max)
}

fn has_note(report: &Value, part: &str) -> bool {
    report["losses"]["notes"].to_string().contains(part)
}

/// Lets the hostile threads begin.
fn let_go(scratch: &Scratch) {
    scratch.file("go", b"");
}

#[test]
fn a_thread_that_blocks_readers_costs_only_its_own_names() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("hostile");
    let Some(node) = start(&scratch, &[("HOSTILE_THREADS", "1")]) else { return };
    let out = scratch.path("a.nodescope");
    let mut recorder = Recorder::start(&node, &out);
    let before = recorder.wait_until("names", |report| total(report, "spin") > 40.0);
    let (named, all) = (total(&before, "spin"), before["samples"].as_f64().unwrap());
    assert!(named > 0.9 * all, "{named} of {all}");
    let_go(&scratch);
    let blocked = recorder
        .wait_until("the thread", |report| has_note(report, "a thread of the target blocks"));
    // The names of the others come back.
    let named = total(&blocked, "spin");
    let after =
        recorder.wait_until("names afterwards", |report| total(report, "spin") > named + 100.0);
    println!(
        "main thread, named: {named} when the thread was found, {} later",
        total(&after, "spin")
    );
    let (messages, readers) = recorder.end();
    assert!(
        (2..=4).contains(&readers),
        "{readers} readers: the stuck ones are replaced, and no more"
    );
    assert!(messages.contains("blocks every reader"), "{messages}");
    let report = json(&["report", "--json", &out]);
    assert_eq!(report["losses"]["helper_crashes"], 0, "it is the target's fault");
    let mut threads = report["threads"].as_array().unwrap().iter();
    assert!(
        threads.any(|row| row["name"].to_string().contains("hostile")),
        "{}",
        report["threads"]
    );
}

/// More of them than are worth the trouble: sampling goes on without names.
#[test]
fn many_threads_that_block_readers_end_in_a_sentence() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("hostile-many");
    let Some(node) = start(&scratch, &[("HOSTILE_THREADS", "8")]) else { return };
    let out = scratch.path("a.nodescope");
    let_go(&scratch);
    let mut recorder = Recorder::start(&node, &out);
    let given_up = "the memory of the target blocks every reader";
    recorder.wait_until("it is given up", |report| has_note(report, given_up));
    // Its stacks are walked all the same.
    let rooted = |report: &Value| total(report, "node::Start").max(total(report, "_start"));
    let before = recorder.wait_until("samples", |report| report["samples"].as_f64().is_some());
    let walked = recorder.wait_until("stacks", |report| rooted(report) > rooted(&before) + 20.0);
    let later =
        recorder.wait_until("more stacks", |report| rooted(report) > rooted(&walked) + 100.0);
    let all = later["samples"].as_f64().unwrap() - walked["samples"].as_f64().unwrap();
    let rooted = rooted(&later) - rooted(&walked);
    let (messages, readers) = recorder.end();
    assert!(messages.contains(given_up), "{messages}");
    assert!(readers <= 8, "{readers} readers");
    assert!(rooted > 0.9 * all, "{rooted} of {all} reach the root");
}
