//! Every script that nodescope carries and runs in Node is JavaScript to the oldest Node that it supports.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program;

/// Every .js file below a folder.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_script =
        |path: &PathBuf| path.is_dir() || path.extension().is_some_and(|ending| ending == "js");
    entries
        .filter(is_script)
        .flat_map(|path| if path.is_dir() { scripts(&path) } else { vec![path] })
        .collect()
}

#[test]
fn the_oldest_node_takes_every_script() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let scripts: Vec<PathBuf> =
        sources.filter(|path| path.is_dir()).flat_map(|path| scripts(&path)).collect();
    for name in ["inspector/src/script/guard.js", "nodescope/src/demo/service/server.js"] {
        assert!(scripts.contains(&crates.join(name)), "{scripts:?}");
    }
    let Some((release, node)) = program::running::nodes().into_iter().next() else { return };
    assert!(release.starts_with("18."), "{release}");
    for script in scripts {
        let checked = Command::new(&node).arg("--check").arg(&script).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}
