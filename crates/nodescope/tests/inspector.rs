//! `nodescope record --via inspector` on real Node processes of every line: right shares, all threads and processes,
//! and nothing left behind: no open port, no process that hangs or has died.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::inspected::{
    BUSY, Target, free_port, has, is_listening, is_open, lines, newest, part_time, record, send,
    share, wait_until, words,
};
use crate::program::running::{function, some_nodes};
use crate::program::{Scratch, fails, json, nodescope, stderr, stdout, succeeds};

/// Begins to record; returns when the first samples are written.
fn begin(scratch: &Scratch, pid: &str, out: &str, more: &[&str]) -> Child {
    let log_path = scratch.path("messages");
    let log = fs::File::create(&log_path).unwrap();
    let recorder =
        nodescope(&words(pid, out, more)).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let has_window = || fs::metadata(format!("{out}.part")).is_ok_and(|meta| meta.len() > 1000);
    wait_until("the first window", Duration::from_secs(60), has_window);
    recorder
}

#[test]
fn workers_are_recorded_and_late_ones_too() {
    let text = "
        const { Worker, isMainThread, workerData } = require('worker_threads');
        function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
        function early() { return spin(1e6) + 1; } function late() { return spin(1e6) + 2; }
        if (isMainThread) {
          new Worker(__filename, { workerData: 'early' });
          setTimeout(() => new Worker(__filename, { workerData: 'late' }), 2500);
          setInterval(() => {}, 1000);
          console.log('ready');
        } else setInterval(() => 'a'.replace('a', workerData === 'early' ? early : late), 5);";
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("inspector-workers-{release}"));
        let mut target = Target::start(&scratch, &node, &[], text, &[]);
        let out = scratch.path("a.nodescope");
        record(&target.pid(), &out, &["-d", "4s", "-F", "499"]);
        assert!(target.is_as_before(), "{release}");
        let report = json(&["report", "--json", &out]);
        let threads = report["threads"].as_array().unwrap();
        let workers = threads.iter().filter(|row| row["role"] == "worker").count();
        // The main thread only waits: it has a row where waiting is asked for.
        assert_eq!(workers, 2, "{release}: {threads:#?}");
        let idle = json(&["report", "--json", "--category", "idle", &out]);
        let waits = idle["threads"].as_array().unwrap().iter().any(|row| row["role"] == "main");
        assert!(waits, "{release}: {}", idle["threads"]);
        for name in ["early", "late"] {
            assert!(function(&report, name)["total"].as_f64().unwrap() > 0.01, "{release}: {name}");
        }
        assert_eq!(report["losses"]["damage"], serde_json::json!([]), "{release}");
    }
}

/// All workers of a cluster want one port.
#[test]
fn clusters_are_recorded_one_after_another_or_in_turn() {
    let Some(node) = newest() else { return };
    let scratch = Scratch::new("inspector-cluster");
    let port = free_port();
    let text = format!(
        "const cluster = require('cluster');
         function spin(rounds) {{ let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }}
         if (cluster.isPrimary) {{
           let ready = 0;
           for (let i = 0; i < 4; i++) cluster.fork().on('message', () => {{ if (++ready === 4) console.log('ready'); }});
         }} else {{
           process.debugPort = {port};
           setInterval(() => spin(3e6), 10);
           process.send('ready');
         }}"
    );
    let target = Target::start(&scratch, &node, &[], &text, &[]);
    let primary: u64 = target.pid().parse().unwrap();
    wait_until("workers that can be signalled", Duration::from_secs(60), || {
        let list = json(&["ps", "--json"]);
        let can_be_opened = |process: &&Value| {
            process["parent_pid"] == primary
                && process["ways"]["inspector"]["state"] == "can-be-opened"
        };
        list.as_array().unwrap().iter().filter(can_be_opened).count() == 4
    });
    for (name, more) in
        [("after", ["-d", "1s"].as_slice()), ("turn", &["-d", "6s", "--each", "700ms"])]
    {
        let out = scratch.path(&format!("{name}.nodescope"));
        let output = record(&target.pid(), &out, more);
        let report = json(&["report", "--json", &out]);
        let busy = report["threads"].as_array().unwrap().iter().filter(|row| row["role"] == "main");
        let mut pids: Vec<u64> = busy.filter_map(|row| row["pid"].as_u64()).collect();
        pids.sort_unstable();
        pids.dedup();
        assert_eq!(pids.len(), 4, "{name}: {}\n{}", report["threads"], stderr(&output));
        let primary = format!(
            "process {} is the primary of a cluster: recording its 4 workers",
            target.pid()
        );
        assert!(stderr(&output).contains(&primary), "{name}: {}", stderr(&output));
        assert!(!is_open(port) && !is_open(target.port), "{name}");
        for pid in pids {
            send("0", &pid.to_string());
        }
    }
    // Node's own cluster would open the inspectors of all workers.
    let out = scratch.path("primary.nodescope");
    let alone = words(&target.pid(), &out, &["--no-children"]).join(" ");
    fails(
        &alone.split(' ').collect::<Vec<_>>(),
        1,
        "is the primary of a cluster",
        "record its workers",
    );
    assert!(!is_open(port) && !is_open(target.port));
}

/// A process that wants to exit waits for inspector clients to disconnect; it must not wait for us.
#[test]
fn a_target_that_is_asked_to_end_ends() {
    let waits = "process.on('SIGTERM', () => process.exit(7));";
    for (release, node) in lines() {
        for (kind, handler, code) in [("handler", waits, Some(7)), ("plain", "", None)] {
            let scratch = Scratch::new(&format!("inspector-term-{kind}-{release}"));
            let mut target =
                Target::start(&scratch, &node, &[], &format!("{handler}{}", part_time()), &[]);
            let out = scratch.path("a.nodescope");
            let mut recorder = begin(&scratch, &target.pid(), &out, &["-d", "1h"]);
            target.signal("TERM");
            let start = Instant::now();
            let mut status = None;
            while status.is_none() && start.elapsed() < Duration::from_secs(60) {
                status = target.running.0.try_wait().unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
            println!("Node {release}, {kind}: ended {:?} after SIGTERM", start.elapsed());
            assert_eq!(
                status.unwrap_or_else(|| panic!("{release}: it hangs")).code(),
                code,
                "{release}"
            );
            assert!(
                recorder.wait().unwrap().success(),
                "{}",
                fs::read_to_string(scratch.path("messages")).unwrap()
            );
            let samples = json(&["report", "--json", &out])["samples"].as_u64().unwrap();
            assert!(samples > 10, "{release}, {kind}: {samples} samples");
        }
    }
}

#[test]
fn ctrl_c_keeps_what_was_seen_and_closes_the_port() {
    for (release, node) in lines() {
        let scratch = Scratch::new(&format!("inspector-interrupt-{release}"));
        let mut target = Target::start(&scratch, &node, &[], &part_time(), &[]);
        let out = scratch.path("a.nodescope");
        let mut recorder = begin(&scratch, &target.pid(), &out, &["-d", "1h"]);
        assert!(is_open(target.port), "{release}");
        send("INT", &recorder.id().to_string());
        assert!(
            recorder.wait().unwrap().success(),
            "{}",
            fs::read_to_string(scratch.path("messages")).unwrap()
        );
        assert!(target.is_as_before(), "{release}");
        assert!(json(&["report", "--json", &out])["samples"].as_u64().unwrap() > 10, "{release}");
        assert!(!Path::new(&format!("{out}.part")).exists());
    }
}

/// Its chunks have no tables of their own, so that it is not much larger than the recording that it becomes.
fn is_one_growing_recording(part: &[u8]) {
    assert_eq!(&part[16..20], b"MORE");
    let mut finished = Vec::new();
    profile::file::write(&profile::file::read(part).unwrap(), &mut finished).unwrap();
    println!("{} bytes, {} finished", part.len(), finished.len());
    assert!(
        part.len() * 10 <= finished.len() * 13,
        "{} bytes, {} finished",
        part.len(),
        finished.len()
    );
}

/// The target closes the port itself, and what was recorded opens.
#[test]
fn a_killed_recorder_leaves_a_closed_port_and_its_part() {
    let check = |(release, node): &(&str, PathBuf)| {
        let scratch = Scratch::new(&format!("inspector-killed-{release}"));
        let mut target = Target::start(&scratch, node, &[], &part_time(), &[]);
        let out = scratch.path("a.nodescope");
        let mut recorder = begin(&scratch, &target.pid(), &out, &["-d", "1h"]);
        let part = format!("{out}.part");
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        let after = wait_until("closing", Duration::from_secs(20), || !is_listening(target.port));
        println!("Node {release}: closed {after:?} after kill -9");
        assert!(target.is_as_before(), "{release}");
        let report = json(&["report", "--json", &part]);
        assert!(report["samples"].as_u64().unwrap() > 10, "{release}: {}", report["samples"]);
        is_one_growing_recording(&fs::read(&part).unwrap());
    };
    let nodes = lines();
    std::thread::scope(|scope| {
        nodes.iter().for_each(|node| drop(scope.spawn(move || check(node))));
    });
}

/// `call` is one native call that takes so many microseconds of CPU time, whatever the machine.
const NATIVE_CALL: &str = "
const hash = (rounds) => require('crypto').pbkdf2Sync('a', 'b', rounds, 64, 'sha512');
const start = process.cpuUsage(); hash(2e5);
const { user, system } = process.cpuUsage(start);
const call = (microseconds) => hash(Math.round(2e5 * microseconds / (user + system)));
console.log('ready');
setInterval(() => {}, 1000);
";

/// What other threads have written to wake the event loops of a process, which do not read it while they are in a call.
/// Node does so when it gets SIGUSR1.
fn wakeups(pid: &str) -> u64 {
    let files = fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let count = |text: &str| {
        let count = text.lines().find_map(|line| line.strip_prefix("eventfd-count:"))?;
        u64::from_str_radix(count.trim(), 16).ok()
    };
    texts.filter_map(|text| count(&text)).sum()
}

/// A port that opens after the recorder was killed: the target is in one long native call when it is signalled, and has
/// no timer that would close it.
#[test]
fn a_recorder_that_is_killed_before_the_port_opens_leaves_it_closed() {
    let text = format!(
        "{NATIVE_CALL} setTimeout(() => {{ require('fs').writeFileSync('calls', ''); call(4e6); }}, 900);"
    );
    let mut times = Vec::new();
    // One after another: a signal that comes too late proves nothing.
    for (release, node) in lines() {
        let scratch = Scratch::new(&format!("inspector-cleanup-{release}"));
        let mut target = Target::start(&scratch, &node, &[], &text, &[]);
        let (pid, out) = (target.pid(), scratch.path("a.nodescope"));
        wait_until("the call", Duration::from_secs(20), || {
            Path::new(&scratch.path("calls")).exists()
        });
        let before = wakeups(&pid);
        let messages = fs::File::create(scratch.path("messages")).unwrap();
        let mut recorder = nodescope(&words(&pid, &out, &[])).stderr(messages).spawn().unwrap();
        wait_until("the signal", Duration::from_secs(20), || {
            wakeups(&pid) > before || has(&scratch, "log", "Debugger listening")
        });
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        wait_until("opening", Duration::from_secs(30), || {
            has(&scratch, "log", "Debugger listening")
        });
        let after = wait_until("closing", Duration::from_secs(20), || !is_listening(target.port));
        println!("Node {release}: closed {after:?} after it opened");
        assert!(target.is_as_before(), "{release}");
        times.push(after);
    }
    // Where the call was over before the kill, a timer in the target closed it, which takes longer.
    assert!(times.is_empty() || times.iter().any(|time| time.as_secs() < 10), "{times:?}");
}

#[test]
fn a_stopped_target_is_given_up_and_closed_later() {
    let Some(node) = newest() else { return };
    let scratch = Scratch::new("inspector-stopped");
    let mut target = Target::start(&scratch, &node, &[], &part_time(), &[]);
    let out = scratch.path("a.nodescope");
    let mut recorder = begin(&scratch, &target.pid(), &out, &["-d", "3s"]);
    target.signal("STOP");
    assert!(recorder.wait().unwrap().success());
    let messages = fs::read_to_string(scratch.path("messages")).unwrap();
    assert!(messages.contains("is still open") && messages.contains("kill -CONT"), "{messages}");
    assert!(messages.contains("did not answer"), "{messages}");
    assert!(json(&["report", "--json", &out])["samples"].as_u64().unwrap() > 10);
    assert!(succeeds(&["report", &out]).contains("Callers across await are not known"));
    target.signal("CONT");
    wait_until("closing", Duration::from_secs(20), || !is_listening(target.port));
    assert!(target.is_as_before());
    // One that is stopped from the beginning is refused, and nothing is opened.
    target.signal("STOP");
    let second = scratch.path("b.nodescope");
    fails(&words(&target.pid(), &second, &["-d", "1s"]), 1, "is stopped", "kill -CONT");
    target.signal("CONT");
}

/// A recorder that is stopped must not stop its target, and nothing waits for it.
#[test]
fn a_stopped_recorder_does_no_harm() {
    let Some(node) = newest() else { return };
    let scratch = Scratch::new("inspector-stopped-recorder");
    // The timer in the target that closes the port looks for connections first: the recorder does not renew it any
    // more.
    let text = format!(
        "const fs = require('fs');
         const read = fs.readFileSync;
         fs.readFileSync = (path, ...options) => {{
           if (path === '/proc/self/net/tcp') fs.writeFileSync('looked', '');
           return read(path, ...options);
         }};
         {} setInterval(() => fs.writeFileSync('alive', String(Date.now())), 100);",
        part_time()
    );
    let target = Target::start(&scratch, &node, &[], &text, &[]);
    let mut recorder = begin(&scratch, &target.pid(), &scratch.path("a.nodescope"), &["-d", "1h"]);
    send("STOP", &recorder.id().to_string());
    wait_until("a look for the recorder", Duration::from_secs(60), || {
        Path::new(&scratch.path("looked")).exists()
    });
    let alive = || fs::read_to_string(scratch.path("alive")).unwrap_or_default();
    let before = alive();
    wait_until("a turn of its loop", Duration::from_secs(30), || alive() != before);
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    wait_until("closing", Duration::from_secs(20), || !is_listening(target.port));
}

#[test]
fn two_recorders_at_once() {
    let Some(node) = newest() else { return };
    let scratch = Scratch::new("inspector-two");
    let mut target = Target::start(&scratch, &node, &[], BUSY, &[]);
    let (first, second) = (scratch.path("a.nodescope"), scratch.path("b.nodescope"));
    let mut recorder = begin(&scratch, &target.pid(), &first, &["-d", "6s"]);
    record(&target.pid(), &second, &["-d", "2s"]);
    assert!(is_open(target.port), "it is the first one's");
    assert!(recorder.wait().unwrap().success());
    assert!(target.is_as_before());
    for out in [first, second] {
        let (found, n) = share(&json(&["report", "--json", &out]));
        assert!(n > 20.0 && (0.5..0.95).contains(&found), "{out}: {found} of {n}");
    }
}

#[test]
fn a_port_that_was_open_stays_open() {
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("inspector-open-{release}"));
        let mut target = Target::start(&scratch, &node, &["--inspect"], &part_time(), &[]);
        let out = scratch.path("a.nodescope");
        let output = record(&target.pid(), &out, &["-d", "1500ms"]);
        assert!(!stderr(&output).contains("opening"), "{release}: {}", stderr(&output));
        assert!(
            is_open(target.port) && target.running.0.try_wait().unwrap().is_none(),
            "{release}"
        );
        // The same by its address alone.
        let (address, out) = (format!("localhost:{}", target.port), scratch.path("b.folded"));
        let words = ["record", "--connect", &address, "-d", "1500ms", "-o", &out];
        let output = nodescope(&words).output().unwrap();
        assert!(output.status.success(), "{release}: {}", stderr(&output));
        assert!(fs::read_to_string(&out).unwrap().contains("heavy"), "{release}");
        assert!(is_open(target.port), "{release}");
    }
}

#[test]
fn a_pegged_loop_is_recorded() {
    // Through a builtin: of code that was optimised before profiling began, older V8s do not know what was inlined.
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("inspector-pegged-{release}"));
        let text = "console.log('ready');
            function step() { let sum = 0; for (let i = 0; i < 1e6; i++) sum += Math.sqrt(i); return sum; }
            function forever() { for (;;) 'a'.replace('a', step); }
            setTimeout(forever, 200);";
        let mut target = Target::start(&scratch, &node, &[], text, &[]);
        let out = scratch.path("a.nodescope");
        record(&target.pid(), &out, &["-d", "2s"]);
        assert!(target.is_as_before(), "{release}");
        let report = json(&["report", "--json", &out]);
        // Either may be inlined, and V8 does not know it of code that was there before.
        let is_it = |row: &&Value| row["name"] == "step" || row["name"] == "forever";
        let found = report["functions"].as_array().unwrap().iter().filter(is_it);
        let most = found.filter_map(|row| row["total"].as_f64()).fold(0.0, f64::max);
        assert!(most > 0.5, "{release}: {}", report["functions"]);
    }
}

/// Node's own use of the profiler, which writes into the log what it hears of others.
#[test]
fn a_process_that_profiles_itself_is_left_alone() {
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("inspector-cpu-prof-{release}"));
        let mut target = Target::start(&scratch, &node, &["--cpu-prof"], &part_time(), &[]);
        let out = scratch.path("a.nodescope");
        let output = nodescope(&words(&target.pid(), &out, &["-d", "1s"])).output().unwrap();
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{release}: {messages}");
        assert!(
            messages.contains("profiles itself") && messages.contains("--force"),
            "{release}: {messages}"
        );
        assert!(target.is_as_before(), "{release}");
        assert!(!has(&scratch, "log", "Cannot retrieve"), "{release}");
    }
}

/// The inspector does not answer during one long call; perf events see it.
#[test]
fn a_long_native_call_is_for_perf() {
    let Some(node) = newest() else { return };
    let scratch = Scratch::new("inspector-native");
    // nodescope waits for 5 s, and then until it is over.
    let text = format!("{NATIVE_CALL} setTimeout(call, 300, 12e6);");
    let mut target = Target::start(&scratch, &node, &[], &text, &[]);
    let out = scratch.path("a.nodescope");
    let output = nodescope(&words(&target.pid(), &out, &["-d", "1s"])).output().unwrap();
    assert!(!output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("--via perf"), "{}", stderr(&output));
    assert!(target.is_as_before(), "{}", stderr(&output));
}

#[test]
fn calls_are_counted_exactly() {
    let text = "
        function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
        function often() { return spin(10); }
        function seldom() { return spin(90000); }
        const twins = [() => spin(30), () => spin(40)];
        const wait = setInterval(() => {
          if (!require('fs').existsSync('go')) return;
          clearInterval(wait);
          for (let i = 0; i < 700; i++) seldom();
          for (let i = 0; i < 70000; i++) often();
          for (let i = 0; i < 500; i++) { twins[0](); twins[1](); twins[1](); }
          require('fs').writeFileSync('done', '');
          setInterval(() => {}, 1000);
        }, 50);
        console.log('ready');";
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("inspector-calls-{release}"));
        let target = Target::start(&scratch, &node, &[], text, &[]);
        let out = scratch.path("a.nodescope");
        let mut recorder =
            begin(&scratch, &target.pid(), &out, &["-d", "1h", "--calls", "-F", "499"]);
        fs::write(scratch.path("go"), "").unwrap();
        wait_until("all calls", Duration::from_secs(60), || {
            Path::new(&scratch.path("done")).exists()
        });
        send("INT", &recorder.id().to_string());
        assert!(
            recorder.wait().unwrap().success(),
            "{}",
            fs::read_to_string(scratch.path("messages")).unwrap()
        );
        let report = json(&["report", "--json", &out]);
        let calls = |name: &str| -> Vec<(u64, Option<u64>)> {
            let rows = report["calls"].as_array().unwrap().iter().filter(|row| row["name"] == name);
            rows.map(|row| (row["calls"].as_u64().unwrap(), row["line"].as_u64())).collect()
        };
        assert_eq!(calls("often"), [(70_000, Some(3))], "{release}");
        assert_eq!(calls("seldom"), [(700, Some(4))], "{release}");
        assert_eq!(calls("spin"), [(72_200, Some(2))], "{release}");
        let row =
            report["calls"].as_array().unwrap().iter().find(|row| row["name"] == "seldom").unwrap();
        assert!(row["mean_s"].as_f64().is_some_and(|mean| mean > 1e-6), "{release}: {row}");
    }
}

#[test]
fn what_cannot_be_recorded_is_explained() {
    let Some(node) = newest() else { return };
    let scratch = Scratch::new("inspector-usage");
    let target = Target::start(&scratch, &node, &[], &part_time(), &[]);
    let (pid, out) = (target.pid(), scratch.path("a.nodescope"));
    fails(
        &["record", &pid, "--calls", "--via", "perf"],
        2,
        "--calls needs the inspector",
        "--via inspector",
    );
    fails(&["record", &pid, "--each", "1s"], 2, "--each needs the inspector", "--via inspector");
    fails(&words(&pid, &out, &["-F", "10000"]), 2, "slow a process down", "--force");
    fails(&words(&pid, &out, &["-e", "page-faults"]), 2, "--event needs perf events", "--via perf");
    fails(&["record", "--via", "inspector", "--", "true"], 2, "needs perf events", "--via perf");
    fails(&["record", "--connect", "nowhere"], 2, "HOST:PORT", "--connect localhost:9229");
    let closed = format!("127.0.0.1:{}", free_port());
    fails(
        &["record", "--connect", &closed, "-o", &out],
        1,
        &format!("{closed}: the connection"),
        "--connect",
    );
    fails(
        &["record", &pid, "--connect", "localhost:9229"],
        2,
        "already names the process",
        "--connect",
    );
    let own = std::process::id().to_string();
    fails(&words(&own, &out, &["--no-children"]), 1, "is not Node", "nodescope ps");
    // Something that listens and is not an inspector.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map(Result::unwrap) {
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\n\r\n");
        }
    });
    fails(
        &["record", "--connect", &address, "-o", &out],
        1,
        "is not an inspector",
        "--connect HOST:PORT",
    );
    assert!(!Path::new(&format!("{out}.part")).exists(), "nothing was recorded");
    assert!(!stdout(&nodescope(&["record", "--help"]).output().unwrap()).is_empty());
}
