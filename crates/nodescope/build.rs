//! Tells the program which commit it was built from, and for which target: `nodescope --version` prints both. The
//! commit is that of the clone, or what NODESCOPE_COMMIT says; elsewhere it is "unknown".

use std::env;
use std::path::Path;
use std::process::Command;

/// As many digits as the version shows. git's own abbreviation depends on what else a clone holds.
const DIGITS: usize = 7;

fn main() {
    say("rerun-if-changed=build.rs");
    say("rerun-if-env-changed=NODESCOPE_COMMIT");
    let commit = env::var("NODESCOPE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = commit.or_else(commit_of_the_clone).unwrap_or_else(|| "unknown".to_owned());
    let commit: String = commit.chars().take(DIGITS).collect();
    say(&format!("rustc-env=NODESCOPE_COMMIT={commit}"));
    let target = env::var("TARGET").unwrap_or_else(|_| "unknown target".to_owned());
    say(&format!("rustc-env=NODESCOPE_TARGET={target}"));
}

/// The commit that is checked out. A folder that merely stands in the clone of something else has none.
fn commit_of_the_clone() -> Option<String> {
    if git(&["rev-parse", "--show-prefix"])? != "crates/nodescope/" {
        return None;
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let reference = git(&["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
    for name in ["HEAD", &reference, "packed-refs", "logs/HEAD"] {
        watch(name);
    }
    Some(commit)
}

/// Runs this again when that file of git changes. A file that does not exist would run it every time.
fn watch(name: &str) {
    let path = git(&["rev-parse", "--path-format=absolute", "--git-path", name]);
    if let Some(path) = path.filter(|path| Path::new(path).is_file()) {
        say(&format!("rerun-if-changed={path}"));
    }
}

fn git(words: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    // A hook of git sets them, perhaps for another clone.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(variable);
    }
    let output = git.args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

#[allow(clippy::print_stdout, reason = "cargo reads it")]
fn say(instruction: &str) {
    println!("cargo::{instruction}");
}
