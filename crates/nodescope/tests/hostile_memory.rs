//! A page of the target that never answers blocks whoever reads it for ever. `nodescope record` ends in time all the
//! same, keeps the names of the other threads, and leaves nothing behind.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it skips")]

mod program;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use program::running::{Running, SHARES, can_record, nodes};
use program::{Scratch, json, nodescope, stderr};
use serde_json::Value;

/// A thread that runs behind a page which nobody fills: whoever looks for the head of its code reads that page. It begins
/// after a second, and ends after another if it is told so.
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

static void *wait_and_stop(void *seconds) {
  sleep((long)seconds);
  stop = 1;
  return NULL;
}

static void *spin(void *argument) {
  long number = (long)argument;
  long page = sysconf(_SC_PAGESIZE);
  unsigned char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {.api = UFFD_API};
  struct uffdio_register range = {.range = {(unsigned long)memory, page}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  FILE *out = fopen(getenv("HOSTILE_SAYS"), "a");
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
  sleep(1);
  ((void (*)(volatile unsigned char *))(memory + page))(&stop);
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  const char *count = getenv("HOSTILE_THREADS");
  for (long i = 0; count && i < atol(count); i++) pthread_create(&thread, NULL, spin, (void *)i);
  const char *seconds = getenv("HOSTILE_SECONDS");
  if (seconds) pthread_create(&thread, NULL, wait_and_stop, (void *)atol(seconds));
}
"#;

/// Node with hostile threads in it; `None` where that cannot be.
fn start(scratch: &Scratch, variables: &[(&str, &str)]) -> Option<Running> {
    let (source, library) = (scratch.file("hostile.c", HOSTILE.as_bytes()), scratch.path("hostile.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-pthread", "-o", &library, &source]).stderr(Stdio::null());
    if !compiler.status().is_ok_and(|status| status.success()) {
        println!("skipped: there is no cc here that knows userfaultfd");
        return None;
    }
    let script = scratch.file("shares.js", format!("console.log('ready');{SHARES}").as_bytes());
    let says = scratch.path("says");
    let (release, node) = nodes().pop()?;
    let mut command = Command::new(node);
    command.args([&script, "60000"]).env("LD_PRELOAD", &library).env("HOSTILE_SAYS", &says);
    let running = Running::start(command.envs(variables.iter().copied()));
    std::thread::sleep(Duration::from_millis(200));
    let said = fs::read_to_string(&says).unwrap_or_default();
    if !said.contains("ready") || said.contains("refused") {
        println!("skipped: Node {release}: userfaultfd is not for this user: {said:?}");
        return None;
    }
    Some(running)
}

/// Our own children and grandchildren, by their command lines.
fn left_behind(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_its = |child: &u32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) == Some(&pid.to_string())
    };
    pids.filter(is_its).collect()
}

/// Records, and looks at the readers meanwhile.
fn record(node: &Running, seconds: u64, out: &str) -> (String, usize) {
    let words = ["record", &node.pid(), "-d", &format!("{seconds}s"), "-F", "499", "--overwrite", "-o", out];
    let begin = Instant::now();
    let mut child = nodescope(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut readers = BTreeSet::new();
    while child.try_wait().unwrap().is_none() {
        readers.extend(left_behind(child.id()));
        std::thread::sleep(Duration::from_millis(20));
        assert!(begin.elapsed() < Duration::from_secs(20), "it hangs");
    }
    let output = child.wait_with_output().unwrap();
    let (time, said) = (begin.elapsed(), stderr(&output));
    println!("{} readers, {time:.1?}: {said}", readers.len());
    assert!(output.status.success(), "{said}");
    assert!(time < Duration::from_secs(seconds + 4), "it took {time:?}");
    std::thread::sleep(Duration::from_millis(100));
    let alive = readers.iter().filter(|pid| fs::exists(format!("/proc/{pid}")).unwrap_or(false)).count();
    assert_eq!(alive, 0, "readers are left");
    (said, readers.len())
}

/// Samples of the main thread with names in a part of the recording, and all of them.
fn named(node: &Running, out: &str, range: &str) -> (f64, f64) {
    let report: Value =
        json(&["report", "--json", out, "-n", "0", "--thread", &node.pid(), "--range", range]);
    let rows = report["functions"].as_array().unwrap().iter();
    let spin = rows.filter(|row| row["name"] == "spin").map(|row| row["total_samples"].as_f64().unwrap());
    (spin.sum(), report["samples"].as_f64().unwrap_or(0.0))
}

#[test]
fn a_thread_that_blocks_readers_costs_only_its_own_names() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("hostile");
    let Some(node) = start(&scratch, &[("HOSTILE_THREADS", "1")]) else { return };
    let out = scratch.path("a.nodescope");
    let (said, readers) = record(&node, 4, &out);
    assert!((2..=4).contains(&readers), "{readers} readers: the stuck ones are replaced, and no more");
    assert!(said.contains("blocks whoever reads"), "{said}");
    let (before, after) = (named(&node, &out, "0s..600ms"), named(&node, &out, "2500ms..3900ms"));
    println!("main thread, named and all: before {before:?}, after {after:?}");
    assert!(before.0 > 20.0 && before.0 > before.1 * 0.9, "{before:?}");
    assert!(after.0 > 40.0 && after.0 > after.1 * 0.9, "{after:?}");
    let report = json(&["report", "--json", &out]);
    let lost = report["losses"]["unsampled_s"].as_f64().unwrap();
    assert!(lost < 2.0, "{}", report["losses"]);
    let hostile = report["threads"].as_array().unwrap().iter();
    assert!(
        hostile.into_iter().any(|row| row["name"].to_string().contains("hostile")),
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
    let (said, readers) = record(&node, 8, &out);
    assert!(said.contains("the memory of the target blocks whoever reads it"), "{said}");
    assert!(readers <= 8, "{readers} readers");
    let samples = json(&["report", "--json", &out])["samples"].as_u64().unwrap();
    assert!(samples > 200, "{samples} samples");
    // Its stacks are walked all the same.
    let report =
        json(&["report", "--json", &out, "-n", "0", "--thread", &node.pid(), "--range", "5s..7900ms"]);
    let rows = report["functions"].as_array().unwrap();
    let total = |name: &str| {
        let row = rows.iter().find(|row| row["name"].as_str().is_some_and(|found| found.starts_with(name)));
        row.map_or(0.0, |row| row["total_samples"].as_f64().unwrap())
    };
    let (all, rooted) = (report["samples"].as_f64().unwrap(), total("node::Start").max(total("_start")));
    assert!(all > 50.0 && rooted > 0.9 * all, "{rooted} of {all} reach the root");
}
