//! Gives the program the commit and the target that it was built from and for: `nodescope --version` prints both. The
//! commit is that of the clone, with `-dirty` where files differ from it, or the value of NODESCOPE_COMMIT; elsewhere
//! it is "unknown".

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// As many digits as the version shows. git's own abbreviation depends on what else a clone holds.
const DIGITS: usize = 7;

fn main() {
    instruct("rerun-if-changed=build.rs");
    instruct("rerun-if-env-changed=NODESCOPE_COMMIT");
    let commit = env::var("NODESCOPE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = commit.map(|commit| short(&commit)).or_else(commit_of_the_clone);
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    instruct(&format!("rustc-env=NODESCOPE_COMMIT={commit}"));
    let target = env::var("TARGET").unwrap_or_else(|_| "unknown target".to_owned());
    instruct(&format!("rustc-env=NODESCOPE_TARGET={target}"));
}

fn short(commit: &str) -> String {
    commit.chars().take(DIGITS).collect()
}

/// The commit that is checked out, and whether files differ from it. A folder that merely stands in the clone of something else has none.
fn commit_of_the_clone() -> Option<String> {
    if git(&["rev-parse", "--show-prefix"])? != "crates/nodescope/" {
        return None;
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let reference = git(&["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
    for name in ["HEAD", &reference, "packed-refs", "logs/HEAD"] {
        watch(name);
    }
    watch_sources();
    let changed = git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"]);
    let mark = if changed.is_some_and(|files| !files.is_empty()) { "-dirty" } else { "" };
    Some(short(&commit) + mark)
}

/// Runs this again when a file changes that the program is made of.
fn watch_sources() {
    let crates = fs::read_dir("..").into_iter().flatten().flatten();
    let sources = crates.map(|folder| folder.path().join("src"));
    let others = ["../../Cargo.lock", "../../page/dist"].map(PathBuf::from);
    for path in sources.chain(others).filter(|path| path.exists()) {
        instruct(&format!("rerun-if-changed={}", path.display()));
    }
}

/// Runs this again when that file of git changes. A file that does not exist would run it every time.
fn watch(name: &str) {
    let path = git(&["rev-parse", "--path-format=absolute", "--git-path", name]);
    if let Some(path) = path.filter(|path| Path::new(path).is_file()) {
        instruct(&format!("rerun-if-changed={path}"));
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
fn instruct(instruction: &str) {
    println!("cargo::{instruction}");
}
