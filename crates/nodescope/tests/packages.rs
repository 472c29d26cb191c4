//! Whose code, on running programs: a monorepo with a linked workspace and two versions of one package, by perf events,
//! through the inspector, and in a root of its own.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;

use serde_json::Value;

use crate::program::running::{Running, can_record, installed_node, make_root};
use crate::program::{Scratch, json, nodescope, stderr, succeeds};
use crate::skip::skip;

/// What every package of the test exports: it is busy for a moment, then calls what it depends on.
fn module(calls: &[&str]) -> String {
    let calls: Vec<String> =
        calls.iter().map(|name| format!("require('{name}').work();")).collect();
    format!(
        "exports.work = function work() {{\n  const end = Date.now() + 3;\n  while (Date.now() < end);\n  {}\n}};\n",
        calls.join(" ")
    )
}

const FILES: &[(&str, &str, &[&str])] = &[
    (
        "apps/web",
        r#"{"name":"@acme/web","version":"2.0.0","dependencies":{"@acme/ui":"*","validator":"7","old":"1","@private/core":"5"}}"#,
        &["@acme/ui", "validator", "old", "@private/core"],
    ),
    ("packages/ui", r#"{"name":"@acme/ui","version":"0.3.0"}"#, &[]),
    (
        "node_modules/validator",
        r#"{"name":"validator","version":"7.0.1","dependencies":{"lodash":"^4"}}"#,
        &["lodash"],
    ),
    ("node_modules/lodash", r#"{"name":"lodash","version":"4.17.21"}"#, &[]),
    (
        "node_modules/old",
        r#"{"name":"old","version":"1.0.0","dependencies":{"lodash":"^3"}}"#,
        &["lodash"],
    ),
    ("node_modules/old/node_modules/lodash", r#"{"name":"lodash","version":"3.10.1"}"#, &[]),
    ("node_modules/@private/core", r#"{"name":"@private/core","version":"5.0.0"}"#, &[]),
];

/// A monorepo in a folder.
fn make(scratch: &Scratch) {
    for (folder, package, calls) in FILES {
        let folder = scratch.0.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("package.json"), package).unwrap();
        fs::write(folder.join("index.js"), module(calls)).unwrap();
    }
    fs::write(
        scratch.0.join("apps/web/server.js"),
        "const { work } = require('./index.js');\nsetInterval(work, 1);\nconsole.log('ready');\n",
    )
    .unwrap();
    fs::write(scratch.0.join("package.json"), r#"{"name":"mono","workspaces":["packages/*"]}"#)
        .unwrap();
    fs::create_dir_all(scratch.0.join("node_modules/@acme")).unwrap();
    symlink("../../packages/ui", scratch.0.join("node_modules/@acme/ui")).unwrap();
}

/// Node's own profiler often counts an optimised function that calls a builtin, such as Date.now, as its caller: then the
/// package has no time.
fn start(scratch: &Scratch) -> Running {
    let mut command = Command::new("node");
    command.args(["--no-opt", "--no-maglev", "server.js"]);
    Running::start(command.current_dir(scratch.0.join("apps/web")))
}

/// `name version category own, pulled in by …` of each package that is not Node's.
fn rows(report: &Value) -> Vec<String> {
    let row = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or("?").to_owned();
        let by: Vec<&str> =
            row["pulled_in_by"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let own = if row["own"] == true { "own" } else { "other" };
        format!(
            "{} {} {} {own}: {}",
            text("name"),
            text("version"),
            text("category"),
            by.join(", ")
        )
    };
    let mut rows: Vec<String> = report["packages"].as_array().unwrap().iter().map(row).collect();
    rows.sort();
    rows
}

const EXPECTED: [&str; 7] = [
    "@acme/ui 0.3.0 app own: @acme/web 2.0.0",
    "@acme/web 2.0.0 app own: ",
    "@private/core 5.0.0 dependency other: @acme/web 2.0.0",
    "lodash 3.10.1 dependency other: old 1.0.0",
    "lodash 4.17.21 dependency other: validator 7.0.1",
    "old 1.0.0 dependency other: @acme/web 2.0.0",
    "validator 7.0.1 dependency other: @acme/web 2.0.0",
];

fn with_own_core() -> Vec<&'static str> {
    let mut expected = EXPECTED.to_vec();
    expected[2] = "@private/core 5.0.0 app own: @acme/web 2.0.0";
    expected
}

#[test]
fn a_monorepo_has_packages_with_versions() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("packages");
    make(&scratch);
    let node = start(&scratch);
    for way in ["perf", "inspector"] {
        let out = scratch.path(&format!("{way}.nodescope"));
        let words = ["record", &node.pid(), "-d", "2s", "-F", "499", "--via", way, "-o", &out];
        let output = nodescope(&words).output().unwrap();
        assert!(output.status.success(), "{way}: {}", stderr(&output));
        // What the recorder saw is in the file: what changes on the disk later does not matter.
        let moved = scratch.0.join("node_modules/lodash/package.json");
        fs::write(&moved, r#"{"name":"lodash","version":"9.9.9"}"#).unwrap();
        assert_eq!(rows(&json(&["report", "--json", &out])), EXPECTED, "{way}");
        let own = json(&["report", "--json", "--own", "@private/*", &out]);
        assert_eq!(rows(&own), with_own_core(), "{way}");
        assert_eq!(own["samples"], json(&["report", "--json", &out])["samples"]);
        let text = succeeds(&["report", &out]);
        assert!(text.contains("lodash 4.17.21") && text.contains("validator 7.0.1"), "{text}");
        fs::write(&moved, r#"{"name":"lodash","version":"4.17.21"}"#).unwrap();
    }
    let out = scratch.path("own.nodescope");
    let words = ["record", &node.pid(), "-d", "1s", "-F", "499", "--own", "@private/*", "-o", &out];
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(rows(&json(&["report", "--json", &out])), with_own_core());
}

/// The recorder's own disk has none of these folders.
#[test]
fn versions_are_read_through_the_root_of_the_process() {
    let Some(node) = installed_node().filter(|_| can_record()) else { return };
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skip("packages in a root of their own: only root can change it");
    }
    let scratch = Scratch::new("packages-root");
    make(&scratch);
    let root = scratch.0.display().to_string();
    if !make_root(&root, &node) {
        return skip("packages in a root of their own: node could not be copied");
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--root", &root, "--wd", "/apps/web", "/node", "server.js"]);
    let running = Running::start(&mut command);
    let out = scratch.path("a.nodescope");
    let words = ["record", &running.pid(), "-d", "2s", "-F", "499", "-o", &out];
    let output = nodescope(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(rows(&json(&["report", "--json", &out])), EXPECTED);
}
