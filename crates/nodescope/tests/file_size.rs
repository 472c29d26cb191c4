//! How large a recording of a busy server is: context switches must not fill the file.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

use profile::{Role, ThreadId};

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

#[test]
fn a_busy_server_has_a_small_file() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("file-size");
    let script = scratch.file("server.js", SERVER.as_bytes());
    let node = Running::start(Command::new("node").arg(script));
    let out = scratch.path("a.nodescope");
    let output = nodescope(&["record", &node.pid(), "-d", "3s", "-o", &out]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let bytes = fs::read(&out).unwrap();
    let profile = profile::file::read(&bytes).unwrap();
    let off_cpu = profile.off_cpu();
    let times: u64 = off_cpu.times.iter().map(|times| u64::from(*times)).sum();
    let samples = profile.lanes()[0].samples.len();
    println!(
        "{} KB: {samples} samples, {times} times off the CPU in {} rows",
        bytes.len() / 1000,
        off_cpu.len()
    );
    assert!(times > 2000, "{times} times off the CPU: this server is not busy");
    assert!(bytes.len() <= 150_000, "{} bytes", bytes.len());
    let single = off_cpu
        .ids()
        .map(|id| off_cpu.row(id))
        .filter(|row| row.times == 1 && row.length_ns >= 100_000);
    assert!(single.count() > 0, "long waits are told one by one");

    // What it ran and what it was off the CPU is all of its time.
    let roles = profile.threads().iter().map(|thread| thread.role);
    let main = ThreadId::from_index(roles.clone().position(|role| role == Role::MainLoop).unwrap());
    let off_ns: u64 = off_cpu
        .ids()
        .map(|id| off_cpu.row(id))
        .filter(|row| row.thread == main)
        .map(|row| row.length_ns)
        .sum();
    let ran =
        profile.lanes()[0].samples.thread.iter().filter(|thread| **thread == main).count() as u64;
    let all_ns = off_ns + ran * profile.meta().interval_ns.unwrap();
    let share = all_ns as f64 / profile.duration_ns() as f64;
    println!(
        "the main thread: {ran} samples, {} ms off the CPU, {share:.2} of the time",
        off_ns / 1_000_000
    );
    assert!((0.7..1.3).contains(&share), "{share}");
}
