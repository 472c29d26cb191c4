//! What users learn about each release of Node, and about programs that are not Node: `ps`, `doctor`, `record` and the
//! README have one answer.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::running::{Running, cache, can_record};
use crate::program::{Scratch, json, nodescope, run, stderr, stdout};
use crate::skip::skip;

/// Every line, and the first of 18, which has another V8.
const RELEASES: [&str; 8] =
    ["18.0.0", "18.20.8", "20.20.2", "22.23.3", "23.11.1", "24.21.0", "25.9.0", "26.10.0"];

/// Of a line that is no longer maintained: the layout table lacks its V8.
const UNKNOWN: &str = "23.11.1";

/// Busy for half of the time, in a function of its own.
const BUSY: &str = "
function simmer(ms) { const end = Date.now() + ms; let sum = 0;
  while (Date.now() < end) for (let i = 0; i < 1e4; i++) sum += Math.sqrt(i);
  return sum; }
console.log('ready');
setInterval(() => simmer(50), 100);
";

const WAITING: &str = "console.log('ready'); setInterval(() => {}, 1000)";

fn release(version: &str) -> Option<PathBuf> {
    let path = cache().join(format!("node-{version}/node"));
    if !path.exists() {
        skip(format_args!("Node {version}: scripts/install-test-tools.sh fetches it"));
    }
    Some(path).filter(|path| path.exists())
}

fn start(program: &Path, arguments: &[&str], folder: &Path) -> Running {
    Running::start(
        Command::new(program).args(arguments).current_dir(folder).env_remove("NODE_OPTIONS"),
    )
}

fn known() -> Vec<u32> {
    v8::layout::known_nodes().collect()
}

fn names_of(checks: &Value) -> &Value {
    let mut all = checks.as_array().unwrap().iter();
    all.find(|check| check["what"] == "JavaScript names").unwrap()
}

#[test]
fn ps_and_doctor_promise_what_record_can_read() {
    let scratch = Scratch::new("releases");
    let script = scratch.file("waiting.js", WAITING.as_bytes());
    let nodes: Vec<(&str, Running)> = RELEASES
        .iter()
        .filter_map(|version| Some((*version, start(&release(version)?, &[&script], &scratch.0))))
        .collect();
    let list = json(&["ps", "--json"]);
    for (version, node) in &nodes {
        let pid = u64::from(node.0.id());
        let process =
            list.as_array().unwrap().iter().find(|process| process["pid"] == pid).unwrap();
        let major: u32 = version.split('.').next().unwrap().parse().unwrap();
        let way = &process["ways"]["names"];
        assert_eq!(way["open"], known().contains(&major), "{version}: {way}");
        let doctor = json(&["doctor", "--json", &node.pid()]);
        let names = names_of(&doctor);
        assert_eq!((&names["ok"], &names["found"]), (&way["open"], &way["why"]), "{version}");
        if *version == UNKNOWN {
            let list = v8::layout::known_node_list();
            let why = way["why"].as_str().unwrap();
            assert!(
                why.contains("does not know V8 12.9.") && why.ends_with(&format!("Node {list}")),
                "{why}"
            );
            assert!(names["fix"].as_str().unwrap().contains("--via inspector"), "{names}");
        }
    }
}

#[test]
fn the_first_release_of_a_line_has_names() {
    let Some(node) = release("18.0.0").filter(|_| can_record()) else { return };
    let scratch = Scratch::new("releases-first");
    let (script, out) = (scratch.file("busy.js", BUSY.as_bytes()), scratch.path("a.nodescope"));
    let busy = start(&node, &[&script], &scratch.0);
    let output = run(&["record", &busy.pid(), "-F", "499", "-d", "2s", "-o", &out]);
    assert!(
        output.status.success() && !stderr(&output).contains("does not know"),
        "{}",
        stderr(&output)
    );
    let report = json(&["report", "--json", &out]);
    assert_eq!(report["own_functions"][0]["name"], "simmer", "{report}");
    assert_eq!(report["own_functions"][0]["file"], script.as_str());
}

#[test]
fn an_unknown_v8_keeps_native_names_and_has_one_message() {
    let Some(node) = release(UNKNOWN).filter(|_| can_record()) else { return };
    let scratch = Scratch::new("releases-unknown");
    let (script, out) = (scratch.file("busy.js", BUSY.as_bytes()), scratch.path("a.nodescope"));
    let busy = start(&node, &[&script], &scratch.0);
    // SIGUSR1 is not for a process in its first second.
    let can_be_opened = || {
        let list = json(&["ps", "--json"]);
        let mut own =
            list.as_array().unwrap().iter().filter(|row| row["pid"] == u64::from(busy.0.id()));
        own.any(|row| row["ways"]["inspector"]["state"] == "can-be-opened")
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while !can_be_opened() {
        assert!(Instant::now() < deadline, "it listens to no SIGUSR1");
    }
    let output = run(&["record", &busy.pid(), "-F", "499", "-d", "2s", "-o", &out]);
    assert!(output.status.success(), "{}", stderr(&output));
    let messages = stderr(&output);
    assert_eq!(messages.matches("nodescope does not know V8 12.9.").count(), 1, "{messages}");
    assert!(messages.contains("--via inspector"), "{messages}");
    assert!(!stdout(&output).contains("--perf-basic-prof"), "{}", stdout(&output));
    let report = json(&["report", "--json", &out]);
    let functions = report["functions"].as_array().unwrap();
    let is_native = |row: &&Value| row["name"].as_str().unwrap().contains("uv_run");
    assert!(functions.iter().any(|row| is_native(&row)), "{functions:#?}");
    assert!(!functions.iter().any(|row| row["name"] == "simmer"), "{functions:#?}");
    let notes = report["losses"]["notes"].to_string();
    assert_eq!(notes.matches("does not know V8").count(), 1, "{notes}");
    let again = run(&["report", &out]);
    assert_eq!((stdout(&again) + &stderr(&again)).matches("does not know V8").count(), 1);
}

#[test]
fn bun_and_deno_are_not_node() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("releases-others");
    let script = scratch.file("busy.js", BUSY.as_bytes());
    for (name, version, arguments, package) in [
        ("bun", "bun-1.4.4", &[][..], "@oven/bun-linux-x64"),
        ("deno", "deno-2.9.6", &["run", "-A"], "@deno/linux-x64-glibc"),
    ] {
        let fetched = cache().join(version).join(name);
        if !fetched.exists() {
            skip(format_args!("{name}: scripts/install-test-tools.sh fetches it"));
            continue;
        }
        // As npm installs it: it must not be taken for a package of the application.
        let program = scratch.0.join("node_modules").join(package).join("bin").join(name);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::hard_link(&fetched, &program)
            .or_else(|_| fs::copy(&fetched, &program).map(drop))
            .unwrap();
        let busy = start(&program, &[arguments, &[&script]].concat(), &scratch.0);
        let out = scratch.path(&format!("{name}.nodescope"));
        let output = run(&["record", &busy.pid(), "-F", "499", "-d", "1s", "-o", &out]);
        assert!(output.status.success(), "{}", stderr(&output));
        let printed = stdout(&output) + &stderr(&output);
        let sentence = format!("process {} is {name}, not Node", busy.pid());
        assert_eq!(printed.matches(&sentence).count(), 1, "{printed}");
        assert!(
            !printed.contains("--perf-basic-prof") && !printed.contains("--via inspector"),
            "{printed}"
        );
        let again = run(&["report", &out]);
        let printed = stdout(&again) + &stderr(&again);
        assert!(
            printed.matches(&sentence).count() == 1 && !printed.contains("--perf-basic-prof"),
            "{printed}"
        );
        let report = json(&["report", "--json", &out]);
        let packages = report["packages"].as_array().unwrap();
        assert!(
            !packages.iter().any(|row| row["name"].as_str().unwrap().contains(name)),
            "{packages:?}"
        );
        assert!(!json(&["ps", "--json"]).to_string().contains(&format!("\"pid\":{},", busy.pid())));
        let doctor = nodescope(&["doctor", &busy.pid()]).output().unwrap();
        assert!(stderr(&doctor).contains(&sentence), "{}", stderr(&doctor));
    }
}

/// Wherever the README lists releases that have names, it is the list of the table.
#[test]
fn the_readme_names_the_same_releases() {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let text = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let list = format!("Node {}", v8::layout::known_node_list());
    assert_eq!(text.matches("Node 18, ").count(), text.matches(&list).count(), "{list}");
    assert!(text.contains(&list), "{list}");
}
