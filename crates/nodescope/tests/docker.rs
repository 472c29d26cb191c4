//! `nodescope` and a real Docker container: from outside by its name, and from inside, where Node is process 1. The
//! daemon is our own, in a folder of its own: nothing here touches the machine's.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::handed_out::{architecture, make, static_program};
use crate::program::running::{
    Folded, NAMES, can_record, copy_program, function, installed_node, is_function, make_root,
    nodes,
};
use crate::program::{Scratch, nodescope, stderr, stdout, succeeds, with_stdin};
use crate::skip::skip;

/// Two functions, called through a builtin, so that the optimising compiler does not make one of them.
const APP: &str = "
function spin(rounds) { let sum = 0; for (let i = 0; i < rounds; i++) sum += Math.sqrt(i); return sum; }
function heavy() { return spin(9e3) + 'heavy'; }
function light() { return spin(3e3) + 'light'; }
const both = () => { 'a'.replace('a', heavy); 'a'.replace('a', light); };
// Compiled code has names.
for (let i = 0; i < 2000; i++) both();
console.log('ready');
const stop = Date.now() + 600000;
while (Date.now() < stop) both();
";

/// Small turns, many of them: more than a tenth of a CPU has time for.
const TIMERS: &str = "
function refresh() { let sum = 0; for (let i = 0; i < 3e6; i++) sum += Math.sqrt(i); return sum; }
setInterval(refresh, 20);
console.log('ready');
";

const IMAGE: &str = "nodescope-test";

/// What a container has with `--cap-add` of PERFMON, SYS_PTRACE and SYSLOG: Docker's own choice, and these.
const WITH_PERFMON: &str = "+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,\
+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap,+perfmon,+sys_ptrace,+syslog";

/// How long the daemon may take to come up, and a process to be seen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Docker daemon with its own files; its containers end with it.
struct Daemon {
    process: Child,
    scratch: Scratch,
}

impl Daemon {
    /// The reason, where none can run.
    fn start() -> Result<Self, String> {
        let client = Command::new("docker").arg("--version").output();
        client.map_err(|error| format!("docker: {error}"))?;
        let scratch = Scratch::short("docker");
        let log = fs::File::create(scratch.path("log")).unwrap();
        let mut command = Command::new("dockerd");
        command.args(["--iptables=false", "--bridge=none", "--storage-driver", "vfs"]);
        for (option, file) in
            [("--data-root", "data"), ("--exec-root", "exec"), ("--pidfile", "pid")]
        {
            command.args([option, &scratch.path(file)]);
        }
        command.args(["--host", &format!("unix://{}", scratch.path("socket"))]);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let process = command.spawn().map_err(|error| format!("dockerd: {error}"))?;
        let mut daemon = Self { process, scratch };
        let start = Instant::now();
        while !daemon.docker(&["version"]).status.success() {
            let has_ended = daemon.process.try_wait().unwrap().is_some();
            if has_ended || start.elapsed() > PATIENCE {
                let log = fs::read_to_string(daemon.scratch.path("log")).unwrap_or_default();
                return Err(format!(
                    "dockerd does not run: {}",
                    log.lines().last().unwrap_or_default()
                ));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(daemon)
    }

    fn host(&self) -> String {
        format!("unix://{}", self.scratch.path("socket"))
    }

    fn docker(&self, words: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.args(["60", "docker"]).args(words).env("DOCKER_HOST", self.host());
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// What docker prints, or why it does not.
    fn output_of(&self, words: &[&str]) -> Result<String, String> {
        let output = self.docker(words);
        match output.status.success() {
            true => Ok(stdout(&output).trim().to_owned()),
            false => Err(format!("docker {}: {}", words[0], stderr(&output).trim())),
        }
    }

    /// Ours, with a way to this daemon.
    fn nodescope(&self, words: &[&str]) -> Output {
        nodescope(words).env("DOCKER_HOST", self.host()).output().unwrap()
    }

    /// An image of Node, its libraries, the app, and ourselves; the version of that Node.
    fn make_image(&self) -> Result<String, String> {
        let root = self.scratch.path("root");
        let fetched = nodes().into_iter().find(|(release, _)| release.starts_with("22.23"));
        let node = fetched.map(|(_, path)| path.display().to_string()).or_else(installed_node);
        let node = node.ok_or("node is missing")?;
        if !make_root(&root, &node) || !copy_program(&root, crate::program::path(), "/nodescope") {
            return Err("no root file system can be made here".to_owned());
        }
        fs::set_permissions(format!("{root}/tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        fs::create_dir(format!("{root}/boxed")).unwrap();
        fs::write(format!("{root}/boxed/app.js"), APP).unwrap();
        fs::write(format!("{root}/boxed/timers.js"), TIMERS).unwrap();
        fs::write(format!("{root}/boxed/package.json"), r#"{"name":"boxed-app"}"#).unwrap();
        // Every container gets a copy of all of it.
        let _ = Command::new("strip").arg(format!("{root}/nodescope")).status();
        let archive = self.scratch.path("root.tar");
        let packed = Command::new("tar").args(["-C", &root, "-cf", &archive, "."]).status();
        if !packed.is_ok_and(|status| status.success()) {
            return Err("tar does not work".to_owned());
        }
        self.output_of(&["import", &archive, IMAGE])?;
        let version =
            Command::new(&node).arg("--version").output().map_err(|error| error.to_string())?;
        Ok(stdout(&version).trim().to_owned())
    }

    /// Starts the app as process 1 of a container; its id.
    fn run(&self, name: &str, options: &[&str], flags: &[&str]) -> Result<String, String> {
        let words: &[&str] = &["run", "--detach", "--net", "none", "--name", name];
        self.output_of(&[words, options, &[IMAGE, "/node"], flags, &["/boxed/app.js"]].concat())
    }

    /// Waits until the program in a container has begun.
    fn wait_for_ready(&self, name: &str) {
        let start = Instant::now();
        while !self.output_of(&["logs", name]).unwrap().contains("ready") {
            assert!(start.elapsed() < PATIENCE, "it does not begin");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Records process 1 from inside of its container, to stdout.
    fn record_inside(&self, name: &str) -> Output {
        self.docker(&[
            "exec",
            name,
            "/nodescope",
            "record",
            "1",
            "-F",
            "999",
            "-d",
            "1s",
            "-o",
            "-",
        ])
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Ok(containers) = self.output_of(&["ps", "--all", "--quiet"]) {
            let ids: Vec<&str> = containers.lines().collect();
            if !ids.is_empty() {
                let _ = self.output_of(&[&["rm", "--force"], &ids[..]].concat());
            }
        }
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let start = Instant::now();
        while self.process.try_wait().is_ok_and(|status| status.is_none())
            && start.elapsed() < PATIENCE
        {
            std::thread::sleep(Duration::from_millis(50));
        }
        if self.process.try_wait().is_ok_and(|status| status.is_some()) {
            return;
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        // The daemon ends it, unless it is killed itself.
        if let Ok(pid) = fs::read_to_string(self.scratch.path("exec/containerd/containerd.pid")) {
            let _ = Command::new("kill").arg(pid.trim()).status();
        }
    }
}

#[test]
fn a_container_is_recorded_from_outside_and_inside() {
    if !can_record() {
        return;
    }
    match Daemon::start().and_then(|daemon| Ok((daemon.make_image()?, daemon))) {
        Ok((version, daemon)) => check(&daemon, &version),
        Err(reason) => skip(format_args!("docker: {reason}")),
    }
}

fn check(daemon: &Daemon, version: &str) {
    // Built before a container runs: that is busy all the time, and other tests measure beside this one.
    let program = static_program(&daemon.scratch);
    // There may be others on this machine.
    let name = format!("web-3-{}", std::process::id());
    let id = match daemon.run(&name, &[], &["--perf-basic-prof"]) {
        Ok(id) => id,
        Err(reason) => return skip(format_args!("docker: {reason}")),
    };
    let pid = it_is_listed(daemon, &name, &id, version);
    it_is_recorded_from_outside(daemon, &name, &id, &pid);
    seccomp_is_explained(daemon, &name);
    match program {
        Ok(program) => it_is_recorded_by_our_image(daemon, &program, &pid),
        Err(reason) => skip(format_args!("our image: {reason}")),
    }
    its_inspector_could_be_opened(daemon, &name, &pid);
    it_is_recorded_by_its_inspector(daemon, &name, &pid);
    daemon.output_of(&["rm", "--force", &name]).unwrap();
    it_is_recorded_from_inside(daemon, &name);
    it_is_recorded_on_read_only_files(daemon, &name);
    its_cpu_limit_is_blamed(daemon, &name);
}

/// By its name and its version; its pid outside.
fn it_is_listed(daemon: &Daemon, name: &str, id: &str, version: &str) -> String {
    let start = Instant::now();
    let process = loop {
        let list: Value =
            serde_json::from_str(&stdout(&daemon.nodescope(&["ps", "--json"]))).unwrap();
        let found = list
            .as_array()
            .unwrap()
            .iter()
            .find(|process| process["container"]["id"] == id)
            .cloned();
        if let Some(process) = found.filter(|process| process["ways"]["names"]["open"] == true) {
            break process;
        }
        assert!(start.elapsed() < PATIENCE, "{id} is not in {list:#}");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(process["container"]["name"], name, "{process:#}");
    assert_eq!(process["inner_pid"], 1);
    assert_eq!((&process["app"], &process["folder"]), (&"boxed-app".into(), &"/".into()));
    assert_eq!(process["node_version"], version);
    assert_eq!(process["perf_map"]["is_fresh"], true);
    let map = process["perf_map"]["path"].as_str().unwrap();
    assert!(map.ends_with("/root/tmp/perf-1.map"), "{map}");
    let table = stdout(&daemon.nodescope(&["ps"]));
    assert!(table.contains("(pid 1)") && table.contains("web-3"), "{table}");
    process["pid"].to_string()
}

/// Its functions come from the map inside, those of C++ from a binary that is only there.
fn it_is_recorded_from_outside(daemon: &Daemon, name: &str, id: &str, pid: &str) {
    let out = daemon.scratch.path("out.folded");
    let output = daemon.nodescope(&["record", "-c", name, "-F", "999", "-d", "2s", "-o", &out]);
    assert!(output.status.success(), "{}", stderr(&output));
    let folded = Folded::read(&out);
    let (heavy, light) = (folded.total("heavy"), folded.total("light"));
    println!("docker: from outside {heavy} samples of heavy, {light} of light");
    let share = heavy / (heavy + light);
    assert!(heavy + light > 200.0 && (0.6..0.9).contains(&share), "{share}: {:#?}", folded.names());
    assert!(!Path::new("/boxed/app.js").exists());
    let is_named =
        |frame: &String| is_function(frame, "heavy") && frame.contains("/boxed/app.js:3");
    assert!(folded.count(|stack| stack.iter().any(is_named)) > 0.0, "{:#?}", folded.names());
    assert!(folded.with("node::Start") > 0.9 * (heavy + light), "{:#?}", folded.names());

    let out = daemon.scratch.path("out.nodescope");
    for words in [&["-c", &id[..12]][..], &[name], &[&id[..12]], &["-c", name, "--match", "app.js"]]
    {
        let words =
            [&["record", "-F", "999", "-d", "500ms", "--overwrite", "-o", &out], words].concat();
        let output = daemon.nodescope(&words);
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        assert!(
            stderr(&output).contains(&format!("(pid {pid})")),
            "{words:?}: {}",
            stderr(&output)
        );
    }
    let output = daemon.nodescope(&["dump", "-c", name]);
    let dump = stdout(&output);
    assert!(
        output.status.success() && dump.contains("(/boxed/app.js:"),
        "{dump}{}",
        stderr(&output)
    );
    let output = daemon.nodescope(&[
        "record",
        "-c",
        "no-such-container",
        "-o",
        &daemon.scratch.path("none.nodescope"),
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("nodescope ps"), "{}", stderr(&output));
}

/// The image that scripts/image.sh makes, run as in README.md. It holds the static program alone, no libraries.
fn it_is_recorded_by_our_image(daemon: &Daemon, program: &str, pid: &str) {
    let archive = daemon.scratch.path("image.tar");
    make("image.sh", &[program, architecture(), &archive], &[]);
    daemon.output_of(&["load", "--input", &archive]).unwrap();
    let version = stdout(&Command::new(program).arg("--version").output().unwrap());
    let out = daemon.scratch.path("by-image");
    fs::create_dir(&out).unwrap();
    let documented = documented_options(&out);
    let documented: Vec<&str> = documented.iter().map(String::as_str).collect();
    it_needs_less_on_newer_engines(daemon, program, &documented, pid);
    let run = |words: &[&str]| {
        let options = &["run", "--net=none"];
        let output = daemon.docker(&[options, &documented[..], &["nodescope"], words].concat());
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(run(&["--version"]), version);
    assert!(run(&["ps"]).contains(pid));
    run(&["record", pid, "-F", "999", "-d", "1s"]);
    let kept: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [kept] = &kept[..] else { panic!("one recording: {kept:?}") };
    assert!(
        succeeds(&["export", &kept.display().to_string(), "-o", "-", "--to", "folded"])
            .contains("heavy")
    );
}

/// Docker knows this capability since 23; Debian 12 has 20.10, where the program gets the same ones without it.
fn it_needs_less_on_newer_engines(daemon: &Daemon, program: &str, documented: &[&str], pid: &str) {
    let less = documented.iter().map(|word| match *word {
        "--cap-add=SYS_ADMIN" => "--cap-add=PERFMON",
        other => other,
    });
    let less: Vec<&str> = less.collect();
    assert_ne!(less, documented);
    let words = ["record", pid, "-F", "999", "-d", "1s", "--to", "folded", "-o", "-"];
    let in_docker = [&["run", "--net=none"], &less[..], &["nodescope"], &words].concat();
    let mut output = daemon.docker(&in_docker);
    if stderr(&output).contains("unknown capability") {
        let mut command = Command::new("setpriv");
        command.args(["--inh-caps=-all", &format!("--bounding-set=-all,{WITH_PERFMON}")]);
        output = match command.arg(program).args(words).output() {
            Ok(output) => output,
            Err(error) => return skip(format_args!("docker with PERFMON: setpriv: {error}")),
        };
    }
    assert!(stdout(&output).contains("heavy"), "{}", stderr(&output));
}

/// What stands between `docker run` and the name of the image, with a folder for recordings.
fn documented_options(out: &str) -> Vec<String> {
    let read = |name: &str| {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
    };
    let readme = read("README.md");
    let line = readme.lines().find(|line| line.starts_with("docker run ")).unwrap();
    assert!(read("docs/install.md").contains(line), "docs/install.md has another line");
    let words = line.split(' ').skip(2).take_while(|word| *word != "nodescope");
    words.map(|word| word.replace("\"$PWD:", &format!("{out}:")).replace('"', "")).collect()
}

/// Docker's own filter forbids perf events inside: that is an error, never an empty profile.
fn seccomp_is_explained(daemon: &Daemon, name: &str) {
    let output = daemon.record_inside(name);
    let messages = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert_eq!(output.stdout, b"");
    assert!(
        messages.contains("seccomp")
            && messages.contains("hint: ")
            && messages.contains("record 1 --via inspector"),
        "{messages}"
    );
    println!(
        "docker: inside, with Docker's own filter: {}",
        messages.lines().next().unwrap_or_default()
    );
    let doctor = stdout(&daemon.docker(&["exec", name, "/nodescope", "doctor"]));
    assert!(doctor.contains("✗ perf events") && doctor.contains("seccomp=unconfined"), "{doctor}");
}

/// From outside through a network that has only a loopback, and from inside with Docker's own filter.
fn its_inspector_could_be_opened(daemon: &Daemon, name: &str, pid: &str) {
    let outside = daemon.nodescope(&["doctor", "--json", pid]);
    let inside = daemon.docker(&["exec", name, "/nodescope", "doctor", "--json", "1"]);
    for output in [outside, inside] {
        let checks: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let mut checks = checks.as_array().unwrap().iter();
        let check = checks.find(|check| check["what"] == "inspector").unwrap();
        assert!(
            check["ok"] == true && check["found"] == "closed; SIGUSR1 would open it",
            "{check}"
        );
    }
}

/// The same ways, taken: nothing is published, and the port is closed again.
fn it_is_recorded_by_its_inspector(daemon: &Daemon, name: &str, pid: &str) {
    let out = daemon.scratch.path("inspector.nodescope");
    let words = ["--via", "inspector", "-d", "2s", "-F", "499"];
    let outside = daemon.nodescope(&[&["record", "-c", name, "-o", &out], &words[..]].concat());
    assert!(outside.status.success(), "{}", stderr(&outside));
    let inside = ["exec", name, "/nodescope", "record", "1", "-o", "-"];
    let inside = daemon.docker(&[&inside, &words[..]].concat());
    assert!(inside.status.success(), "{}", stderr(&inside));
    for (recording, pid) in [(fs::read(&out).unwrap(), pid), (inside.stdout, "1")] {
        let report = with_stdin(&["report", "--json", "-"], &recording);
        let report: Value = serde_json::from_str(&stdout(&report)).unwrap();
        let share = function(&report, "heavy")["total"].as_f64().unwrap();
        println!(
            "docker: by the inspector, {} samples, {share:.2} of them of heavy",
            report["samples"]
        );
        assert!((0.5..0.95).contains(&share), "{}", report["functions"]);
        assert_eq!(report["threads"][0]["pid"].to_string(), pid);
    }
    it_asks_on_a_terminal(daemon, name, pid);
    its_inspector_could_be_opened(daemon, name, pid);
}

/// Under Docker's own filter there are no perf events: the user is asked before a port is opened, and the answer
/// counts.
fn it_asks_on_a_terminal(daemon: &Daemon, name: &str, pid: &str) {
    let typed = |answer: &str| {
        let record =
            format!("docker exec -it {name} /nodescope record 1 -d 1s -o /tmp/asked.nodescope");
        let mut command = Command::new("timeout");
        command
            .args(["60", "script", "-qec", &record, "/dev/null"])
            .env("DOCKER_HOST", daemon.host());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut stdin, mut terminal) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        // Answer only after the question: a terminal throws away what was typed before.
        let mut terminal_text = Vec::new();
        let is_asked =
            |terminal_text: &[u8]| String::from_utf8_lossy(terminal_text).contains("[y/N]");
        let mut byte = [0];
        while !is_asked(&terminal_text) && terminal.read(&mut byte).unwrap() > 0 {
            terminal_text.extend(byte);
        }
        writeln!(stdin, "{answer}").unwrap();
        terminal.read_to_end(&mut terminal_text).unwrap();
        let status = child.wait().unwrap();
        (status.success(), String::from_utf8_lossy(&terminal_text).into_owned())
    };
    let (is_done, terminal_text) = typed("n");
    assert!(!is_done && terminal_text.contains("open it? [y/N]"), "{terminal_text}");
    its_inspector_could_be_opened(daemon, name, pid);
    let (is_done, terminal_text) = typed("y");
    assert!(is_done && terminal_text.contains("asked.nodescope"), "{terminal_text}");
    daemon
        .output_of(&["exec", name, "/node", "-e", "fs.unlinkSync('/tmp/asked.nodescope')"])
        .unwrap();
}

/// As `kubectl exec` does it: recorded there, read here.
fn it_is_recorded_from_inside(daemon: &Daemon, name: &str) {
    let options = ["--security-opt", "seccomp=unconfined", "--cap-add", "SYS_ADMIN"];
    let name = format!("{name}-inside");
    if let Err(reason) = daemon.run(&name, &options, NAMES) {
        return skip(format_args!("docker with capabilities: {reason}"));
    }
    daemon.wait_for_ready(&name);
    let output = daemon.record_inside(&name);
    assert!(output.status.success(), "{}", stderr(&output));
    let report = with_stdin(&["report", "--json", "-"], &output.stdout);
    let report: Value = serde_json::from_str(&stdout(&report)).unwrap();
    let share = |name: &str| function(&report, name)["total"].as_f64().unwrap();
    println!(
        "docker: inside, {} samples, {:.2} of them of heavy",
        report["samples"],
        share("heavy")
    );
    assert!(
        (0.5..0.95).contains(&share("heavy")) && share("light") > 0.1,
        "{}",
        report["functions"]
    );
    assert_eq!(report["threads"][0]["pid"], 1, "{}", report["threads"]);
    let left =
        daemon.output_of(&["exec", &name, "/node", "-p", "fs.readdirSync('/tmp').join()"]).unwrap();
    assert_eq!(left, "perf-1.map", "nothing of ours is left");
    daemon.output_of(&["rm", "--force", &name]).unwrap();
}

/// Nothing can be written there but shared memory.
fn it_is_recorded_on_read_only_files(daemon: &Daemon, name: &str) {
    let options = ["--security-opt", "seccomp=unconfined", "--cap-add", "SYS_ADMIN", "--read-only"];
    let name = format!("{name}-read-only");
    if let Err(reason) = daemon.run(&name, &options, &[]) {
        return skip(format_args!("docker with read-only files: {reason}"));
    }
    daemon.wait_for_ready(&name);
    let output = daemon.record_inside(&name);
    assert!(output.status.success(), "{}", stderr(&output));
    let report = with_stdin(&["report", "--json", "-"], &output.stdout);
    let report: Value = serde_json::from_str(&stdout(&report)).unwrap();
    println!("docker: inside, on read-only files, {} samples", report["samples"]);
    assert!(function(&report, "heavy")["total"].as_f64().unwrap() > 0.5, "{}", report["functions"]);
}

/// A stall for want of a CPU is blamed on no function.
fn its_cpu_limit_is_blamed(daemon: &Daemon, name: &str) {
    let name = format!("{name}-limited");
    let words =
        ["run", "--detach", "--net", "none", "--cpus", "0.1", "--name", &name, IMAGE, "/node"];
    if let Err(reason) = daemon.output_of(&[&words[..], &["/boxed/timers.js"]].concat()) {
        return skip(format_args!("docker with a CPU limit: {reason}"));
    }
    daemon.wait_for_ready(&name);
    let out = daemon.scratch.path("limited.nodescope");
    let output = daemon.nodescope(&["record", "-c", &name, "-d", "5s", "-o", &out]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report = stdout(&daemon.nodescope(&["report", &out]));
    println!(
        "docker: {}",
        report.lines().find(|line| line.contains("CPU limit")).unwrap_or_default()
    );
    assert!(
        report.contains("Held back by the CPU limit, not by slow code: throttled in"),
        "{report}"
    );
    assert!(
        !report.lines().any(|line| line.contains("stood still") && line.contains("refresh")),
        "{report}"
    );
}
