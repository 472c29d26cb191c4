//! What is handed out besides the program: a Debian package, and the program for arm64. They are made of what the test
//! run has built, because a build by the profile `dist` takes minutes; `make dist-test` checks the real ones.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{Scratch, input, recording, stderr, stdout, succeeds};
use crate::skip::skip;
use crate::view::View;

/// A script of the folder scripts, which must succeed; what it prints.
pub fn make(script: &str, words: &[&str], variables: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(script);
    let output = Command::new(path).args(words).envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{script} {words:?}: {}", stderr(&output));
    stdout(&output)
}

/// The program under test without its symbols, which are most of it.
pub fn stripped(scratch: &Scratch) -> String {
    let program = scratch.program_for_all(crate::program::path(), "stripped");
    let _ = Command::new("strip").arg(&program).status();
    program
}

/// How Debian and Docker call this processor.
pub fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

#[test]
fn the_debian_package_is_installed() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return skip("a Debian package: dpkg-deb is not here");
    }
    let scratch = Scratch::new("deb");
    let deb = scratch.path("nodescope.deb");
    make("deb.sh", &[&stripped(&scratch), architecture(), &deb], &[]);
    let root = scratch.path("root");
    for folder in ["info", "updates"] {
        fs::create_dir_all(format!("{root}/var/lib/dpkg/{folder}")).unwrap();
    }
    fs::write(format!("{root}/var/lib/dpkg/status"), "").unwrap();
    let dpkg = |words: &[&str]| {
        let mut command = Command::new("dpkg");
        command.args([
            "--force-not-root",
            "--force-bad-path",
            "--force-architecture",
            "--root",
            &root,
        ]);
        let output = command.arg("--log=/dev/null").args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    };
    dpkg(&["--install", &deb]);
    let installed = Command::new(format!("{root}/usr/bin/nodescope")).arg("--version").output();
    assert_eq!(stdout(&installed.unwrap()), succeeds(&["--version"]));
    let completions = format!("{root}/usr/share/bash-completion/completions/nodescope");
    assert_eq!(fs::read_to_string(completions).unwrap(), succeeds(&["completions", "bash"]));
    for file in [
        "zsh/vendor-completions/_nodescope",
        "fish/vendor_completions.d/nodescope.fish",
        "man/man1/nodescope.1.gz",
        "man/man1/nodescope-record.1.gz",
        "doc/nodescope/copyright",
    ] {
        assert!(Path::new(&format!("{root}/usr/share/{file}")).exists(), "{file}");
    }
    dpkg(&["--remove", "nodescope"]);
    assert!(!Path::new(&format!("{root}/usr/bin/nodescope")).exists());
}

/// The program for another system or processor: what a variable names, or one that is built without any optimisation.
pub fn program_for(target: &str, variable: &str, name: &str) -> Result<String, String> {
    if let Ok(program) = std::env::var(variable) {
        return Ok(program);
    }
    let installed = Command::new("rustup").args(["target", "add", target]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return Err(format!("rustup cannot add the target {target}"));
    }
    // Beside the folder of this test's own program, so that builds do not wait for each other; one for all targets, so
    // that what runs while building is built once.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("targets");
    let folder = folder.display().to_string();
    let out = format!("{folder}/handed-out-{target}");
    make(
        "dist.sh",
        &[target],
        &[("PROFILE", "quick"), ("CARGO_TARGET_DIR", &folder), ("DIST", &out)],
    );
    Ok(format!("{out}/{target}/{name}"))
}

/// The static program for arm64.
fn arm64_program() -> Result<String, String> {
    program_for("aarch64-unknown-linux-musl", "NODESCOPE_ARM64", "nodescope")
}

/// The emulator of Debian's qemu-user or qemu-user-static.
fn emulator() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    ["qemu-aarch64", "qemu-aarch64-static"].into_iter().find(runs)
}

#[test]
fn the_program_for_arm64_reads_and_shows() {
    let Some(qemu) = emulator() else { return skip("arm64: qemu-aarch64 is not here") };
    let program = match arm64_program() {
        Ok(program) => program,
        Err(reason) => return skip(format_args!("arm64: {reason}")),
    };
    let start = |words: &[&str]| {
        let mut command = Command::new(qemu);
        command.arg(&program).args(words).env_remove("COLUMNS");
        command
    };
    let says = |words: &[&str]| {
        let output = start(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    };
    assert!(says(&["--version"]).contains("aarch64-unknown-linux-musl"));
    let help = says(&["record", "--help"]);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Names without an option are for x86-64 so far"), "{help}");

    // The same words and the same bytes as on this processor.
    let file = input("node22-gc");
    assert_eq!(says(&["report", &file]), succeeds(&["report", &file]));
    for form in ["html", "folded", "svg"] {
        let words = ["export", &file, "-o", "-", "--to", form];
        assert!(says(&words) == succeeds(&words), "{form} differs");
    }
    let listed: Value = serde_json::from_str(&says(&["ps", "--json"])).unwrap();
    assert!(listed.is_array(), "{listed}");
    // Its exit status depends on what this machine permits.
    let output = start(&["doctor", "--json"]).output().unwrap();
    let checks: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let is_told = |what: &str| checks.as_array().unwrap().iter().any(|check| check["what"] == what);
    assert!(is_told("perf events"), "{checks:#}");

    let scratch = Scratch::new("arm64");
    let kept = scratch.file("kept.nodescope", &recording());
    let view = View::start_as(start(&["view", "--no-browser", &kept]));
    let cookie = view.enter();
    assert_eq!(view.ask("/", &[("Cookie", &cookie)]).status, 200);
}
