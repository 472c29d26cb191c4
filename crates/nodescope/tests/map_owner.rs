//! Perf maps lie where every user may write: only those of the target's user and of root are believed.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::program::running::{NAMES, Running, can_record, has_function, installed_node};
use crate::program::{Scratch, input, json, nodescope, run, stderr};
use crate::skip::skip;

/// The Unix user nobody, and a user that no machine has.
const NOBODY: u32 = 65534;
const STRANGER: u32 = 54321;

const BUSY: &str = "
console.log('ready');
function honest(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }
(function again() { honest(1e6); setImmediate(again); })();";

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        skip("files of other users: only root can make them");
    }
    is_root
}

/// A map that names all code of a process, and is gone with the test.
struct Forged(PathBuf);

impl Forged {
    fn new(pid: &str, owner: u32) -> Self {
        let path = PathBuf::from(format!("/tmp/perf-{pid}.map"));
        // A test that was killed has left it.
        if fs::symlink_metadata(&path).is_ok_and(|old| old.uid() == STRANGER) {
            fs::remove_file(&path).unwrap();
        }
        let mut file = fs::File::create_new(&path).unwrap();
        file.write_all(b"1000 7fffffffe000 forged\n").unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
        Self(path)
    }
}

impl Drop for Forged {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Records a process without its heap; the report, and what the recorder printed.
fn recorded(scratch: &Scratch, pid: &str) -> (Value, String) {
    let out = scratch.path("a.nodescope");
    let words = ["record", pid, "--no-heap", "-d", "1s", "-F", "499", "-o", &out];
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    fs::remove_file(&out).unwrap();
    (report, stderr(&output))
}

#[test]
fn a_map_of_another_user_names_nothing() {
    if !can_record() || !is_root() {
        return;
    }
    let scratch = Scratch::new("map-owner");
    let script = scratch.file("busy.js", BUSY.as_bytes());
    let node = Running::start(Command::new("node").arg(script));
    for (owner, is_believed) in [(STRANGER, false), (0, true)] {
        let _map = Forged::new(&node.pid(), owner);
        let (report, messages) = recorded(&scratch, &node.pid());
        assert_eq!(has_function(&report, "forged"), is_believed, "{owner}: {messages}");
        let sentence =
            format!("it belongs to user {STRANGER}, neither root nor the user of the process");
        assert_eq!(messages.matches(&sentence).count(), usize::from(!is_believed), "{messages}");
        let unnamed =
            &report["losses"]["unnamed"]["generated code whose perf map belongs to another user"];
        assert_eq!(unnamed.as_u64().unwrap_or(0) > 0, !is_believed, "{}", report["losses"]);
    }
}

#[test]
fn the_own_map_of_another_user_is_believed() {
    if !can_record() || !is_root() {
        return;
    }
    let scratch = Scratch::for_all("map-own");
    // A folder where the user nobody may write V8's log, too.
    let folder = scratch.path("log");
    fs::create_dir(&folder).unwrap();
    chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    let Some(node) = installed_node() else { return skip("an installed Node: node is missing") };
    let mut command = Command::new(scratch.program_for_all(&node, "node"));
    command.args(NAMES).args(["-e", BUSY]).current_dir(&folder).uid(NOBODY).gid(NOBODY);
    let node = Running::start(&mut command);
    let map = format!("/tmp/perf-{}.map", node.pid());
    assert_eq!(fs::metadata(&map).unwrap().uid(), NOBODY);
    let (report, messages) = recorded(&scratch, &node.pid());
    assert!(has_function(&report, "honest") && !messages.contains("belongs to user"), "{messages}");
    // Root wrote it, or another user did.
    chown(&map, Some(STRANGER), Some(STRANGER)).unwrap();
    let (report, messages) = recorded(&scratch, &node.pid());
    assert!(
        !has_function(&report, "honest") && messages.contains("belongs to user 54321"),
        "{messages}"
    );
}

/// A command that becomes another user's program when it is started.
#[test]
fn a_command_may_change_its_user() {
    if !can_record() || !is_root() {
        return;
    }
    let scratch = Scratch::for_all("map-change");
    let Some(node) = installed_node() else { return skip("an installed Node: node is missing") };
    let node = scratch.program_for_all(&node, "node");
    let folder = scratch.path("log");
    fs::create_dir(&folder).unwrap();
    chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    let text = "process.setgid(65534); process.setuid(65534);
        const { spawnSync } = require('child_process');
        const work = 'const end = Date.now() + 1500; function honest() { while (Date.now() < end); } honest();';
        spawnSync(process.execPath, [...process.argv.slice(2), '-e', work], { cwd: process.argv[1] });";
    let out = scratch.path("a.nodescope");
    let words = [
        &["record", "--no-heap", "-F", "499", "-o", &out, "--", &node, "-e", text, &folder],
        NAMES,
    ]
    .concat();
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    for thread in report["threads"].as_array().unwrap() {
        let _ = fs::remove_file(format!("/tmp/perf-{}.map", thread["pid"]));
    }
    assert!(has_function(&report, "honest"), "{}", stderr(&output));
}

/// The process of an older recording is over: then it is the user who reads that counts, or the process whose root is
/// given. A map that the user names is read, no matter who wrote it.
#[test]
fn the_map_of_an_older_recording_is_compared_too() {
    if !is_root() {
        return;
    }
    let input = input("perf-data-zstd");
    let map = Forged::new("18018", STRANGER);
    let given = map.0.display().to_string();
    let own_root = format!("/proc/{}/root", std::process::id());
    for (words, is_believed) in [
        (vec!["report", "--json", &input], false),
        (vec!["report", "--json", &input, "--root", &own_root], false),
        (vec!["report", "--json", &input, "--root", "/"], true),
        (vec!["report", "--json", &input, "--perf-map", &given], true),
    ] {
        assert_eq!(has_function(&json(&words), "forged"), is_believed, "{words:?}");
        assert_eq!(
            stderr(&run(&words)).contains("belongs to user 54321"),
            !is_believed,
            "{words:?}"
        );
    }
    chown(&map.0, Some(0), Some(0)).unwrap();
    assert!(has_function(&json(&["report", "--json", &input]), "forged"));
}
