//! `nodescope record` on real Node processes: the right functions with the right shares, and nothing lost, however
//! a recording ends.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::running::{
    NAMES, PATIENCE, Running, SHARES, can_record, children_of, function, installed_node, make_root,
    remove_map, wait_for_begin, wait_for_samples,
};
use crate::program::{Scratch, fails, json, nodescope, stderr};
use crate::skip::skip;

#[test]
fn a_command_has_its_shares_and_its_status() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-command");
    let (script, out, used) = (
        scratch.file("shares.js", SHARES.as_bytes()),
        scratch.path("a.nodescope"),
        scratch.path("used"),
    );
    let words =
        [&["record", "-F", "999", "-o", &out, "--", "node"], NAMES, &[&script, "3000", &used]]
            .concat();
    let output = nodescope(&words).current_dir(&scratch.0).output().unwrap();
    remove_map(&output);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("until it ends, 999 times a second"), "{}", stderr(&output));
    assert!(!Path::new(&format!("{out}.part")).exists());
    let used: Value = serde_json::from_str(&fs::read_to_string(used).unwrap()).unwrap();
    let report = json(&["report", "--json", &out, "--thread", "main"]);
    let samples = |name: &str| function(&report, name)["total_samples"].as_f64().unwrap();
    let (heavy, light) = (samples("heavy"), samples("light"));
    let n = heavy + light;
    assert!(n >= 2000.0, "only {n} samples");
    let share = |heavy: f64, light: f64| heavy / (heavy + light);
    let p = share(used["heavy"].as_f64().unwrap(), used["light"].as_f64().unwrap());
    let found = share(heavy, light);
    println!("heavy is {p:.4} by its own clock, {found:.4} by {n} samples");
    assert!(
        (found - p).abs() <= 4.0 * (p * (1.0 - p) / n).sqrt(),
        "{found} of {n} samples, {p} by its clock"
    );
    // The optimising compiler makes one function of the loop and its callers.
    let own: f64 = report["functions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| ["spin", "heavy", "light"].iter().any(|name| row["name"] == *name))
        .map(|row| row["self"].as_f64().unwrap())
        .sum();
    assert!(own > 0.8, "{own}");
}

/// Each round has a function of its own, and V8 puts the next one where the last one was: a map that is read at the
/// end knows only the last.
#[test]
fn code_keeps_its_name_when_its_place_is_used_again() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-reuse");
    // CPU time, not time: other programs may want the CPU, too.
    let text = "const now = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
        const end = now() + 4000; let n = 0;
        while (now() < end) {
          const body = `return function round${n++}() { let s = 0; while (now() < stop) for (let i = 0; i < 1e4; i++) s += Math.sqrt(i); return s; }`;
          new Function('stop', 'now', body)(now() + 100, now)();
          if (n % 5 === 0) gc();
        }
        require('fs').writeFileSync(process.argv[2], String(n));";
    let (script, out, rounds) =
        (scratch.file("reuse.js", text.as_bytes()), scratch.path("a.nodescope"), scratch.path("n"));
    let words = [
        &["record", "-F", "499", "-o", &out, "--", "node", "--expose-gc"],
        NAMES,
        &[&script, &rounds],
    ]
    .concat();
    let output = nodescope(&words).current_dir(&scratch.0).output().unwrap();
    remove_map(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    let rounds: usize = fs::read_to_string(rounds).unwrap().parse().unwrap();
    let report = json(&["report", "--json", &out]);
    let functions = report["functions"].as_array().unwrap();
    let named =
        functions.iter().filter(|row| row["name"].as_str().unwrap().starts_with("round")).count();
    println!("{named} of {rounds} rounds have their name");
    assert!(rounds >= 20 && named * 10 >= rounds * 9, "{named} of {rounds} rounds");
}

#[test]
fn a_process_shows_its_kernel_time_and_its_pool() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-pid");
    let text = "const { pbkdf2 } = require('crypto'), fs = require('fs');
        (function hash() { pbkdf2('a', 'b', 20000, 32, 'sha512', hash); })();
        (function stat() { for (let i = 0; i < 500; i++) fs.statSync('/tmp'); setImmediate(stat); })();";
    let node = Running::node(&scratch, &[], text, &[]);
    let out = scratch.path("b.nodescope");
    let output = nodescope(&["record", &node.pid(), "-d", "1500ms", "-F", "499", "-o", &out])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    let roles: Vec<&str> = report["threads"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["role"].as_str())
        .collect();
    assert!(
        roles.iter().any(|role| role.contains("main"))
            && roles.iter().any(|role| role.contains("pool")),
        "{roles:?}"
    );
    let names: Vec<&str> = report["functions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert!(names.iter().any(|name| name.contains("sha512")), "{names:?}");
    if stderr(&output).contains("without the kernel's time") {
        skip("the kernel's part: its time may not be seen here");
    } else {
        let kernel =
            report["categories"].as_array().unwrap().iter().find(|row| row["category"] == "kernel");
        assert!(
            kernel.is_some_and(|row| row["self"].as_f64().unwrap() > 0.02),
            "{}",
            report["categories"]
        );
    }
}

#[test]
fn ctrl_c_keeps_what_was_seen() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-interrupt");
    let node = Running::node(&scratch, &[], SHARES, &["20000"]);
    for (signal, name) in [("INT", "a.nodescope"), ("TERM", "b.folded")] {
        let out = scratch.path(name);
        let recorder = nodescope(&["record", &node.pid(), "-d", "1h", "--overwrite", "-o", &out])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_samples(&format!("{out}.part"), 20);
        // npm passes on what the terminal has already sent: one Ctrl-C comes twice.
        for _ in 0..2 {
            let mut kill = Command::new("kill");
            kill.args([&format!("-{signal}"), &recorder.id().to_string()]).status().unwrap();
        }
        let start = Instant::now();
        let output = recorder.wait_with_output().unwrap();
        assert!(output.status.success() && start.elapsed() < PATIENCE, "{}", stderr(&output));
        assert!(fs::metadata(&out).unwrap().len() > 100, "{signal}");
    }
}

/// What was on disk when the recorder was killed opens as it is.
#[test]
fn a_killed_recorder_leaves_its_part() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-killed");
    // Its names are in what was written, so it may end, too.
    let node = Running::node(&scratch, &[], SHARES, &["20000"]);
    let out = scratch.path("a.nodescope");
    let mut recorder = nodescope(&["record", &node.pid(), "-d", "1h", "-F", "499", "-o", &out])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let part = format!("{out}.part");
    wait_for_samples(&part, 250);
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let report = json(&["report", "--json", &part]);
    assert!(report["samples"].as_u64().unwrap() > 100, "{}", report["samples"]);
    function(&report, "heavy");
    assert_eq!(report["losses"]["damage"], serde_json::json!([]));
    // A bad disk is noticed, and what came before is kept.
    let mut bytes = fs::read(&part).unwrap();
    let place = bytes.len() * 9 / 10;
    bytes[place] ^= 1;
    let damaged = json(&["report", "--json", &scratch.file("damaged.part", &bytes)]);
    assert!(
        damaged["losses"]["damage"].to_string().contains("the checksum does not match"),
        "{}",
        damaged["losses"]
    );
    // How much comes before depends on how large the last chunks are.
    let kept = damaged["samples"].as_u64().unwrap();
    assert!(kept > 0 && kept < report["samples"].as_u64().unwrap(), "{kept}");
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_target_that_ends_is_recorded_to_its_end() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-ends");
    let node = Running::node(&scratch, &[], SHARES, &["1500"]);
    let (out, start) = (scratch.path("a.nodescope"), Instant::now());
    let output = nodescope(&["record", &node.pid(), "-d", "1h", "-o", &out]).output().unwrap();
    assert!(output.status.success() && start.elapsed() < PATIENCE, "{}", stderr(&output));
    assert!(json(&["report", "--json", &out])["samples"].as_u64().unwrap() > 50);
}

#[test]
fn children_are_followed_unless_not_wanted() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-children");
    let text = "const cluster = require('cluster');
        if (cluster.isPrimary) { cluster.fork(); cluster.fork(); setTimeout(() => cluster.fork(), 900); }
        else { const parent = process.ppid, end = Date.now() + 60000; while (Date.now() < end && process.ppid === parent); }
        setTimeout(() => process.exit(), 60000);";
    let node = Running::node(&scratch, &[], text, &[]);
    let pids = |time: &str, options: &[&str]| {
        let out = scratch.path("a.nodescope");
        let pid = node.pid();
        let words =
            [&["record", &pid, "-d", time, "-F", "499", "--overwrite", "-o", &out], options]
                .concat();
        let output = nodescope(&words).output().unwrap();
        let messages = stderr(&output);
        if messages.contains("used no CPU") {
            return 0;
        }
        let threads = json(&["report", "--json", &out])["threads"].as_array().unwrap().clone();
        let mut pids: Vec<u64> = threads.iter().filter_map(|row| row["pid"].as_u64()).collect();
        pids.sort_unstable();
        pids.dedup();
        pids.len()
    };
    // On a busy machine the third one may begin late.
    let mut all = pids("1500ms", &[]);
    if all < 3 {
        all = pids("8s", &[]);
    }
    assert!(all >= 3, "two workers at the start and one later: {all}");
    assert!(pids("500ms", &["--no-children"]) <= 1);
}

/// What stands where a perf map should be may be anything: a pipe that waits, a file of terabytes, a link to a secret.
#[test]
fn hostile_maps_cost_nothing() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-hostile");
    let node = Running::node(&scratch, &[], SHARES, &["20000"]);
    let map = format!("/tmp/perf-{}.map", node.pid());
    let secret = scratch.file("secret", b"1000 ffffffffffff not for others\n");
    for (command, arguments) in [
        ("mkfifo", vec![&map]),
        ("truncate", vec![&"-s5T".to_owned(), &map]),
        ("ln", vec![&"-s".to_owned(), &secret, &map]),
    ] {
        assert!(Command::new(command).args(&arguments).status().unwrap().success());
        let (out, start) = (scratch.path("a.folded"), Instant::now());
        let output = nodescope(&[
            "record",
            &node.pid(),
            "-d",
            "700ms",
            "-F",
            "499",
            "--overwrite",
            "-o",
            &out,
        ])
        .output()
        .unwrap();
        assert!(
            output.status.success() && start.elapsed() < PATIENCE,
            "{command}: {}",
            stderr(&output)
        );
        let text = fs::read_to_string(&out).unwrap();
        assert!(text.len() > 100 && !text.contains("not for others"), "{command}: {text}");
        fs::remove_file(&map).unwrap();
    }
}

/// By words of the command line; two that fit are listed, unless all are wanted.
#[test]
fn a_process_is_found_by_its_words() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-words");
    let word = scratch.path("program.js");
    let one = Running::node(&scratch, &[], SHARES, &["20000"]);
    let samples = |options: &[&str]| {
        let out = scratch.path("a.nodescope");
        let words =
            [&["record", "-d", "700ms", "-F", "499", "--overwrite", "-o", &out], options].concat();
        let output = nodescope(&words).output().unwrap();
        assert!(output.status.success(), "{options:?}: {}", stderr(&output));
        let threads = json(&["report", "--json", &out])["threads"].as_array().unwrap().clone();
        let mut pids: Vec<String> = threads.iter().map(|row| row["pid"].to_string()).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    };
    assert_eq!(samples(&[&word]), [one.pid()]);
    assert_eq!(
        samples(&["--match", &format!("^node .*{}", word.rsplit('/').nth(1).unwrap())]),
        [one.pid()]
    );
    let two = Running::node(&scratch, &[], SHARES, &["20000"]);
    fails(
        &["record", &word, "-o", &scratch.path("b.nodescope")],
        2,
        "2 processes could be meant",
        "or --all",
    );
    let mut both = [one.pid(), two.pid()];
    both.sort_unstable();
    assert_eq!(samples(&[&word, "--all"]), both);
}

#[test]
fn what_cannot_be_recorded_is_explained() {
    let scratch = Scratch::new("record-refused");
    let out = scratch.path("a.nodescope");
    fails(&["record", "999999999", "-o", &out], 1, "there is no process 999999999", "ps");
    fails(
        &["record", "nobody runs this", "-o", &out],
        1,
        "no Node process here matches",
        "nodescope ps",
    );
    fails(
        &["record", "--match", "(", "-o", &out],
        2,
        "--match ( is not a regular expression",
        "--match",
    );
    fails(&["record", "1", "-d", "soon", "-o", &out], 2, "-d soon is not a time", "-d 30s");
    fails(
        &["record", "1", "-o", "a.xyz"],
        2,
        "does not say what to write",
        "end it with .nodescope, .svg",
    );
    fails(&["record", "1", "-o", &out, "--", "node"], 2, "no process can be named beside it", "");
    assert!(!Path::new(&out).exists() && !Path::new(&format!("{out}.part")).exists());
    let missing = nodescope(&["record", "-o", &out, "--", "/does/not/exist"]).output().unwrap();
    assert!(
        !missing.status.success() && stderr(&missing).contains("cannot start /does/not/exist"),
        "{}",
        stderr(&missing)
    );
}

/// Without root: the own process, its user code, and how much of the kernel's time is missing.
#[test]
fn nobody_sees_what_is_theirs() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::for_all("record-nobody");
    let Some(node) = installed_node() else { return skip("an installed Node: node is missing") };
    let text = "const fs = require('fs'); const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
        while (spent() < 2000) for (let i = 0; i < 1e3; i++) fs.statSync('/usr');";
    let script = scratch.file("stat.js", text.as_bytes());
    let out = scratch.path("a.nodescope");
    let binary = scratch.program_for_all(crate::program::path(), "nodescope");
    let node = scratch.program_for_all(&node, "node");
    let permitted = Command::new("chmod").args(["-R", "a+rwX", &scratch.path("")]).status();
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        &binary,
        "record",
        "-F",
        "499",
        "-o",
        &out,
        "--",
        &node,
        &script,
    ]);
    let output = command.current_dir(&scratch.0).env("TMPDIR", scratch.path("")).output();
    let (Ok(_), Ok(output)) = (permitted, output) else {
        return skip("another user: setpriv is missing");
    };
    let messages = stderr(&output);
    if messages.contains("setpriv:") {
        return skip("another user: this is not root");
    }
    if !output.status.success() {
        assert!(
            messages.contains("you may not sample") && messages.contains("hint:"),
            "{messages}"
        );
        return skip(format_args!("another user: nobody may not sample here: {messages}"));
    }
    assert!(messages.contains("without the kernel's time"), "{messages}");
    let report = json(&["report", "--json", &out]);
    assert!(report["losses"]["hidden_kernel_s"].as_f64().unwrap() > 0.2, "{}", report["losses"]);
    assert!(report["categories"].as_array().unwrap().iter().all(|row| row["category"] != "kernel"));
}

/// Another user's process is refused with what would help, and nothing is left behind.
#[test]
fn another_users_process_is_refused() {
    let scratch = Scratch::for_all("record-other");
    let node = Running::node(&scratch, &[], SHARES, &["20000"]);
    let out = scratch.path("a.nodescope");
    let binary = scratch.program_for_all(crate::program::path(), "nodescope");
    Command::new("chmod").args(["-R", "a+rwX", &scratch.path("")]).status().unwrap();
    let words = [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        &binary,
        "record",
        &node.pid(),
        "-o",
        &out,
    ];
    let Ok(output) = Command::new("setpriv").args(words).output() else {
        return skip("another user: setpriv is missing");
    };
    let messages = stderr(&output);
    if messages.contains("setpriv:") {
        return skip("another user: this is not root");
    }
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(
        messages.contains("it belongs to another user") && messages.contains("with sudo"),
        "{messages}"
    );
    assert!(!Path::new(&out).exists() && !Path::new(&format!("{out}.part")).exists());
}

/// A process with a root and pids of its own, as in a container: names come from its own files.
#[test]
fn a_process_in_its_own_root_has_its_names() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-root");
    let root = scratch.path("root");
    let Some(node) = installed_node() else { return skip("an installed Node: node is missing") };
    if !make_root(&root, &node) {
        return skip("another root: no file system can be made here");
    }
    fs::write(format!("{root}/shares.js"), SHARES).unwrap();
    let words = ["--pid", "--mount", "--fork", "--mount-proc", "chroot", &root, "/node"];
    let program = [&words[..], NAMES, &["/shares.js", "8000"]].concat();
    let Ok(mut child) = Command::new("unshare").args(program).spawn() else {
        return skip("another namespace: unshare is missing");
    };
    // unshare waits for the process, which is its child; without it, it ends.
    let pid = loop {
        match (children_of(child.id()).first(), child.try_wait().unwrap()) {
            (Some(pid), _) => break *pid,
            (None, Some(_)) => return skip("another namespace: unshare is not permitted"),
            (None, None) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    wait_for_begin(pid);
    let pid = pid.to_string();
    let out = scratch.path("a.nodescope");
    let output =
        nodescope(&["record", &pid, "-d", "1500ms", "-F", "499", "-o", &out]).output().unwrap();
    Command::new("kill").args(["-9", &pid]).status().unwrap();
    let _ = child.wait();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    assert_eq!(function(&report, "heavy")["file"], "/shares.js");
    assert!(
        report["losses"]["unnamed_frames"].as_f64().unwrap()
            < report["losses"]["frames"].as_f64().unwrap() * 0.05
    );
}

/// The page is written beside the recording, and the browser, if there is one, gets it.
#[test]
fn the_page_is_opened() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-open");
    let (out, opened) = (scratch.path("a.nodescope"), scratch.path("opened"));
    let browser =
        scratch.file("browser.sh", format!("#!/bin/sh\necho \"$1\" > '{opened}'\n").as_bytes());
    let mut rights = fs::metadata(&browser).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o755);
    fs::set_permissions(&browser, rights).unwrap();
    let node = Running::node(&scratch, &[], SHARES, &["20000"]);
    let words = ["record", &node.pid(), "-d", "300ms", "-F", "499", "--open", "-o", &out];
    let output = nodescope(&words).env("BROWSER", &browser).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let page = scratch.path("a.html");
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"), "it is a page");
    let deadline = Instant::now() + PATIENCE;
    while !fs::read_to_string(&opened).is_ok_and(|path| path.trim() == page) {
        assert!(Instant::now() < deadline, "the browser was not started: {}", stderr(&output));
        std::thread::sleep(Duration::from_millis(20));
    }
    fails(&["record", &node.pid(), "--open", "-o", "-"], 2, "cannot be opened in a browser", "");
}

/// The kernel reports the paths of what is mapped, so its records are as long as these are: nothing may depend on that.
#[test]
fn the_length_of_paths_does_not_matter() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("record-lengths");
    let Some(node) = installed_node() else { return skip("an installed Node: node is missing") };
    for length in [0, 99, 103, 200] {
        let folder = scratch.path(&"n".repeat(length));
        fs::create_dir_all(&folder).unwrap();
        let (own, script, out) = (
            format!("{folder}/node"),
            format!("{folder}/shares.js"),
            format!("{folder}/a.nodescope"),
        );
        // A link has a path of its own; on another disk there is none.
        if fs::hard_link(&node, &own).is_err() {
            fs::copy(&node, &own).unwrap();
        }
        fs::write(&script, SHARES).unwrap();
        let mut command =
            nodescope(&["record", "-F", "999", "-o", &out, "--", &own, &script, "400"]);
        let output = command.env("TMPDIR", &folder).current_dir(&folder).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{length}: {}", stderr(&output));
        let report = json(&["report", "--json", &out]);
        let (share, losses) =
            (function(&report, "heavy")["total"].as_f64().unwrap(), &report["losses"]);
        assert!(
            share > 0.3 && losses["helper_crashes"] == 0,
            "{length}: {share} in heavy, {losses}"
        );
        fs::remove_file(&own).unwrap();
    }
}
