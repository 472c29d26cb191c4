//! How large a recording of a busy server is: context switches must not fill the file.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

use profile::{Profile, Role, ThreadId};

use crate::program::running::{Running, can_record};
use crate::program::{Scratch, nodescope, stderr};

/// Asks itself: eight requests at a time, each with a turn of the loop and a job of the thread pool.
const SERVER: &str = "
const http = require('http'), fs = require('fs');
const turn = () => new Promise((done) => setImmediate(done));
const server = http.createServer(async (request, response) => {
  await turn();
  await fs.promises.stat(__filename);
  response.end('x'.repeat(2000));
}).listen(0, '127.0.0.1', () => {
  const agent = new http.Agent({ keepAlive: true });
  const ask = () => http.get({ agent, port: server.address().port }, (response) => response.resume().on('end', ask));
  for (let i = 0; i < 8; i++) ask();
  console.log('ready');
});";

/// What a second may take in the file, and how often a busy server is off the CPU.
const MOST_BYTES: usize = 50_000;
const ENOUGH_TIMES: u64 = 2000;

struct Found {
    bytes: Vec<u8>,
    profile: Profile,
    times: u64,
}

fn record(node: &Running, scratch: &Scratch, seconds: usize) -> Found {
    let (out, length) = (scratch.path("a.nodescope"), format!("{seconds}s"));
    let words = ["record", &node.pid(), "-d", &length, "--overwrite", "-o", &out];
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let bytes = fs::read(&out).unwrap();
    let profile = profile::file::read(&bytes).unwrap();
    let times = profile.off_cpu().times.iter().map(|times| u64::from(*times)).sum();
    Found { bytes, profile, times }
}

#[test]
fn a_busy_server_has_a_small_file() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("file-size");
    let script = scratch.file("server.js", SERVER.as_bytes());
    let node = Running::start(Command::new("node").arg(script));
    // A slow machine needs longer for the same work.
    let (mut seconds, mut found) = (3, record(&node, &scratch, 3));
    while found.times <= ENOUGH_TIMES && seconds < 40 {
        seconds *= 3;
        found = record(&node, &scratch, seconds);
    }
    let Found { bytes, profile, times } = found;
    let off_cpu = profile.off_cpu();
    let samples = profile.lanes()[0].samples.len();
    println!(
        "{} KB: {samples} samples, {times} times off the CPU in {} rows",
        bytes.len() / 1000,
        off_cpu.len()
    );
    assert!(times > ENOUGH_TIMES, "{times} times off the CPU: this server is not busy");
    assert!(bytes.len() <= MOST_BYTES * seconds, "{} bytes in {seconds} s", bytes.len());
    let single = off_cpu
        .ids()
        .map(|id| off_cpu.row(id))
        .filter(|row| row.times == 1 && row.length_ns >= 100_000);
    assert!(single.count() > 0, "long waits are recorded one by one");

    // What it ran and what it was off the CPU is all of its time.
    let roles = profile.threads().iter().map(|thread| thread.role);
    let main = ThreadId::from_index(roles.clone().position(|role| role == Role::MainLoop).unwrap());
    let off_ns: u64 = off_cpu
        .ids()
        .map(|id| off_cpu.row(id))
        .filter(|row| row.thread == main)
        .map(|row| row.length_ns)
        .sum();
    // Each sample weighs the time that it stands for: the rate changes.
    let samples = &profile.lanes()[0].samples;
    let weights = samples.thread.iter().zip(&samples.weight);
    let ran_ns: u64 =
        weights.filter(|(thread, _)| **thread == main).map(|(_, weight)| *weight).sum();
    let all_ns = off_ns + ran_ns;
    let share = all_ns as f64 / profile.duration_ns() as f64;
    println!(
        "the main thread: {} ms on the CPU, {} ms off, {share:.2} of the time",
        ran_ns / 1_000_000,
        off_ns / 1_000_000
    );
    assert!((0.7..1.3).contains(&share), "{share}");
}
