//! What is handed out besides the program: a Debian package, the programs for arm64 and macOS, and the heap of static
//! programs. They are made of what the test run has built, or without optimisation, because a build by the profile
//! `dist` takes minutes; `make dist-test` checks the real ones.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::program::running::{Running, installed_node};
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
fn stripped(scratch: &Scratch) -> String {
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
    let shared = |file: &str| fs::read(format!("{root}/usr/share/{file}")).expect(file);
    for (shell, file) in [
        ("bash", "bash-completion/completions/nodescope"),
        ("zsh", "zsh/vendor-completions/_nodescope"),
        ("fish", "fish/vendor_completions.d/nodescope.fish"),
    ] {
        assert!(shared(file) == succeeds(&["completions", shell]).as_bytes(), "{file}");
    }
    has_its_manual(&scratch, &shared);
    let licences = String::from_utf8(shared("doc/nodescope/THIRD-PARTY.txt")).unwrap();
    assert!(licences.contains("zlib-rs ") && licences.contains("Rich Felker"), "{licences}");
    assert!(!shared("doc/nodescope/copyright").is_empty());
    dpkg(&["--remove", "nodescope"]);
    assert!(!Path::new(&format!("{root}/usr/bin/nodescope")).exists());
}

/// A page for each command, as the program writes it.
fn has_its_manual(scratch: &Scratch, shared: &dyn Fn(&str) -> Vec<u8>) {
    let manual = scratch.path("manual");
    succeeds(&["man", "--dir", &manual]);
    let pages: Vec<_> = fs::read_dir(&manual).unwrap().map(|page| page.unwrap().path()).collect();
    assert!(pages.len() > 5, "{pages:?}");
    for page in pages {
        let name = page.file_name().unwrap().to_str().unwrap();
        let mut text = Vec::new();
        let kept = shared(&format!("man/man1/{name}.gz"));
        GzDecoder::new(&*kept).read_to_end(&mut text).unwrap();
        assert!(text == fs::read(&page).unwrap(), "{name}");
    }
}

/// The program for another system or processor: what a variable names, or one that is built without any optimisation.
pub fn program_for(target: &str, variable: &str, name: &str) -> Result<String, String> {
    if let Ok(program) = std::env::var(variable) {
        return Ok(program);
    }
    add_target(target)?;
    let folder = target_folder();
    let out = format!("{folder}/handed-out-{target}");
    make(
        "dist.sh",
        &[target],
        &[("PROFILE", "quick"), ("CARGO_TARGET_DIR", &folder), ("DIST", &out)],
    );
    Ok(format!("{out}/{target}/{name}"))
}

/// Has rustc know a target.
fn add_target(target: &str) -> Result<(), String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/rustup-target.sh");
    let installed = Command::new(script).arg(target).output();
    match installed.is_ok_and(|output| output.status.success()) {
        true => Ok(()),
        false => Err(format!("rustup cannot add the target {target}")),
    }
}

/// Beside the folder of this test's own program, so that builds do not wait for each other; one for all targets, so that
/// what runs while building is built once.
fn target_folder() -> String {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("targets").display().to_string()
}

/// rustc's name for a static program that runs here.
fn static_target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// The static program, without its symbols.
pub fn static_program(scratch: &Scratch) -> Result<String, String> {
    let built = program_for(&static_target(), "NODESCOPE_STATIC", "nodescope")?;
    Ok(scratch.program_for_all(&built, "static"))
}

/// Its allocator is our own, and only there.
#[test]
fn the_heap_of_static_programs_keeps_what_was_written() {
    let target = static_target();
    if let Err(reason) = add_target(&target) {
        return skip(format_args!("the heap of static programs: {reason}"));
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let words = ["test", "--locked", "--package", "nodescope-sys", "--lib", "--target", &target];
    let mut command = Command::new(cargo);
    command.args(words).args(["--", "memory::"]).env("CARGO_TARGET_DIR", target_folder());
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let output_text = stdout(&output);
    assert!(output.status.success(), "{output_text}{}", stderr(&output));
    assert!(
        output_text.contains("memory::musl::tests::blocks_keep_what_was_written ... ok"),
        "{output_text}"
    );
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

/// It finds a Node of this machine, also one of another processor.
fn lists_a_running_node(output_of: &dyn Fn(&[&str]) -> String) {
    let listed = || serde_json::from_str::<Value>(&output_of(&["ps", "--json"])).unwrap();
    let Some(node) = installed_node() else {
        assert!(listed().is_array());
        return skip("arm64: ps of a running Node: node is missing");
    };
    let waits = "setInterval(() => {}, 1000); console.log('ready')";
    let node = Running::start(Command::new(node).args(["-e", waits]));
    let listed = listed();
    let mut listed_pids =
        listed.as_array().unwrap().iter().map(|process| process["pid"].to_string());
    assert!(listed_pids.any(|pid| pid == node.pid()), "{} is not in {listed:#}", node.pid());
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
    let output_of = |words: &[&str]| {
        let output = start(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    };
    assert!(output_of(&["--version"]).contains("aarch64-unknown-linux-musl"));
    let help = output_of(&["record", "--help"]);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Names without an option are for x86-64 so far"), "{help}");

    // The same words and the same bytes as on this processor.
    let file = input("node22-gc");
    assert_eq!(output_of(&["report", &file]), succeeds(&["report", &file]));
    for form in ["html", "folded", "svg"] {
        let words = ["export", &file, "-o", "-", "--to", form];
        assert!(output_of(&words) == succeeds(&words), "{form} differs");
    }
    lists_a_running_node(&output_of);
    // Its exit status depends on what this machine permits.
    let output = start(&["doctor", "--json"]).output().unwrap();
    let checks: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let is_listed =
        |what: &str| checks.as_array().unwrap().iter().any(|check| check["what"] == what);
    assert!(is_listed("perf events"), "{checks:#}");

    let scratch = Scratch::new("arm64");
    let kept = scratch.file("kept.nodescope", &recording());
    let view = View::start_as(start(&["view", "--no-browser", &kept]));
    let cookie = view.enter();
    assert_eq!(view.ask("/", &[("Cookie", &cookie)]).status, 200);
}
