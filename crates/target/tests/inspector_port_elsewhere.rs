//! The inspector port of a Node that lives elsewhere: in a network of its own, as the first process of its
//! namespace, in a user namespace without root, in a cluster that shares one port.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use target::{Holder, InspectorPort, Opening, Refusal};

use crate::nodes::{self, Running, node, nodes};
use crate::skip::skip;

const WAITS: &str = "setInterval(() => {}, 1000); console.log('ready')";

/// Where libtest finds these tests.
const MODULE: &str = "inspector_port_elsewhere";

/// Marks a process as a copy of this test.
const INNER: &str = "NODESCOPE_INSPECTOR_PORT_INNER";

fn open(pid: u32) -> Result<InspectorPort, Refusal> {
    InspectorPort::open(pid, &Opening::within(Duration::from_secs(10)))
}

/// Whether programs can be started in other namespaces here.
fn can_unshare(what: &[&str]) -> bool {
    let done = Command::new("unshare").args(what).args(["ip", "link", "set", "lo", "up"]).output();
    let can = done.is_ok_and(|output| output.status.success());
    if !can {
        skip(format_args!("unshare {what:?}: it is not permitted, or ip is missing"));
    }
    can
}

/// A program in a network of its own.
fn in_own_network(loopback: &str, binary: &Path, words: &[&str]) -> Running {
    let mut command = Command::new("unshare");
    let script = format!("ip link set lo {loopback} && exec \"$0\" \"$@\"");
    command.args(["--net", "sh", "-c", &script]).arg(binary).args(words);
    Running::start(command)
}

/// Whether the inspector answers.
fn answers(inspector: &InspectorPort) -> bool {
    let mut stream = inspector.connect().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    write!(stream, "GET /json/version HTTP/1.1\r\nHost: {}\r\n\r\n", inspector.address()).unwrap();
    let mut start = [0; 15];
    stream.read_exact(&mut start).unwrap();
    start == *b"HTTP/1.0 200 OK"
}

#[test]
fn another_network_is_entered() {
    if !can_unshare(&["--net"]) {
        return;
    }
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    for (version, binary) in nodes() {
        let mut process = in_own_network("up", &binary, &["-e", WAITS]);
        process.wait_for("ready");
        process.settle();
        let inspector =
            open(process.pid()).unwrap_or_else(|refusal| panic!("{version}: {refusal}"));
        assert_eq!((inspector.port(), inspector.opened_by_us()), (9229, true), "{version}");
        assert!(answers(&inspector), "{version}");
        let found = InspectorPort::find(process.pid()).unwrap().unwrap();
        assert!(!found.opened_by_us() && answers(&found), "{version}");
        process.assert_unharmed();
        for ours in ["/proc/self/ns/net", "/proc/thread-self/ns/net"] {
            assert_eq!(
                fs::read_link(ours).unwrap(),
                own,
                "{version}: only a throwaway thread was there"
            );
        }
    }
}

/// A program may choose the port while it runs, where nothing outside shows it; and a server of its own may open at the
/// same moment.
#[test]
fn the_port_is_where_the_program_wants_it() {
    if !can_unshare(&["--net"]) {
        return;
    }
    let program = "process.debugPort = 4711; const http = require('http'), inspector = require('inspector'); \
                   const timer = setInterval(() => { \
                     if (!inspector.url()) return; \
                     clearInterval(timer); \
                     http.createServer((request, answer) => answer.end('{}')).listen(80); \
                   }, 1); console.log('ready')";
    for (version, binary) in nodes() {
        let mut process = in_own_network("up", &binary, &["-e", program]);
        process.wait_for("ready");
        process.settle();
        let inspector =
            open(process.pid()).unwrap_or_else(|refusal| panic!("{version}: {refusal}"));
        assert_eq!((inspector.port(), inspector.opened_by_us()), (4711, true), "{version}");
        assert!(answers(&inspector), "{version}");
        process.assert_unharmed();
    }
}

/// What could not be closed again is not opened.
#[test]
fn a_network_that_is_down_is_reported() {
    if !can_unshare(&["--net"]) {
        return;
    }
    for (version, binary) in nodes() {
        let mut process = in_own_network("down", &binary, &["-e", WAITS]);
        process.wait_for("ready");
        process.settle();
        let refusal = open(process.pid()).unwrap_err();
        assert!(matches!(refusal, Refusal::Unreachable { .. }), "{version}: {refusal}");
        assert!(refusal.to_string().contains("loopback interface is down"), "{version}: {refusal}");
        process.assert_untouched();
    }
}

/// A user without root may not enter another network.
#[test]
fn another_network_needs_a_right() {
    if std::env::var_os(INNER).is_some() {
        return another_network_as_nobody();
    }
    if !can_unshare(&["--net"]) {
        return;
    }
    let Some(nobody) = Nobody::new("network") else { return };
    let Some(binary) = nobody.node() else { return };
    let mut command = Command::new("unshare");
    let script = "ip link set lo up && exec setpriv --reuid=65534 --clear-groups \"$0\" \"$@\"";
    command.args(["--net", "sh", "-c", script]).arg(&binary).args(["-e", WAITS]);
    let mut process = Running::start(command);
    process.wait_for("ready");
    process.settle();
    nobody.runs("another_network_needs_a_right", &process.pid().to_string());
    process.assert_untouched();
}

fn another_network_as_nobody() {
    let pid = std::env::var(INNER).unwrap().parse().unwrap();
    let refusal = open(pid).unwrap_err();
    assert!(matches!(refusal, Refusal::Unreachable { .. }), "{refusal}");
    assert!(refusal.to_string().contains("may not enter"), "{refusal}");
}

/// As in a rootless container: the user who made the namespaces may enter them.
#[test]
fn a_user_enters_namespaces_of_their_own() {
    if std::env::var_os(INNER).is_some() {
        return a_rootless_container_as_nobody();
    }
    let Some(nobody) = Nobody::new("rootless") else { return };
    if nobody.node().is_some() {
        nobody.runs("a_user_enters_namespaces_of_their_own", "1");
    }
}

fn a_rootless_container_as_nobody() {
    if !can_unshare(&["--user", "--map-root-user", "--net"]) {
        return;
    }
    let binary = std::env::current_exe().unwrap().with_file_name("node");
    for loopback in ["up", "down"] {
        let mut command = Command::new("unshare");
        let script = format!("ip link set lo {loopback} && exec \"$0\" \"$@\"");
        command.args(["--user", "--map-root-user", "--net", "sh", "-c", &script]);
        command.arg(&binary).args(["-e", WAITS]);
        let mut process = Running::start(command);
        process.wait_for("ready");
        process.settle();
        match open(process.pid()) {
            Ok(inspector) => {
                assert!(loopback == "up" && inspector.opened_by_us() && answers(&inspector));
            }
            Err(refusal) => {
                assert!(loopback == "down", "{refusal}");
                assert!(refusal.to_string().contains("loopback interface is down"), "{refusal}");
            }
        }
        process.assert_unharmed();
    }
}

/// The binaries of this test and of Node where a user without rights can run them.
struct Nobody(PathBuf);

impl Nobody {
    fn new(name: &str) -> Option<Self> {
        let can =
            Command::new("setpriv").args(["--reuid=65534", "--clear-groups", "true"]).output();
        if !can.is_ok_and(|output| output.status.success()) {
            skip("another user: setpriv is missing, or this is not root");
            return None;
        }
        let folder = PathBuf::from(format!("/tmp/nodescope-port-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(Command::new("chmod").arg("755").arg(&folder).status().unwrap().success());
        install(&std::env::current_exe().unwrap(), &folder.join("test"));
        Some(Self(folder))
    }

    /// A Node that every user may run.
    fn node(&self) -> Option<PathBuf> {
        let Some(binary) = node("24.21.0") else {
            skip("Node 24.21.0: it is not in the cache");
            return None;
        };
        let copy = self.0.join("node");
        install(&binary, &copy);
        Some(copy)
    }

    /// Runs one of these tests as that user.
    fn runs(&self, test: &str, word: &str) {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--clear-groups"]).arg(self.0.join("test"));
        command
            .args(["--exact", &format!("{MODULE}::{test}"), "--nocapture"])
            .env(INNER, word)
            .current_dir("/");
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        printed
            .lines()
            .filter(|line| line.starts_with("skipped: "))
            .for_each(|line| println!("{line}"));
        assert!(
            output.status.success() && printed.contains("1 passed"),
            "{printed}{}",
            text(&output.stderr)
        );
    }
}

/// Copies a program so that every user may run it. Another process writes the copy: were it this one, a test that
/// starts a program at that moment would hold it open, and an open file cannot be run.
fn install(program: &Path, copy: &Path) {
    let is_copied = Command::new("install").args(["-m", "755"]).args([program, copy]).status();
    assert!(is_copied.unwrap().success());
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Drop for Nobody {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// As with kubectl exec: the application is pid 1, and we run beside it.
#[test]
fn the_first_process_of_a_namespace_opens() {
    if std::env::var_os(INNER).is_some() {
        let inspector = open(1).unwrap();
        assert!(inspector.opened_by_us() && answers(&inspector));
        return;
    }
    if !can_unshare(&["--pid", "--fork", "--mount-proc", "--net"]) {
        return;
    }
    let test = format!("{MODULE}::the_first_process_of_a_namespace_opens");
    for (version, binary) in nodes() {
        let program = "setTimeout(() => { \
                         const [test, ...words] = process.argv.slice(1); \
                         const child = require('child_process').spawn(test, words, { stdio: 'inherit' }); \
                         child.on('exit', code => console.log('lives, and the test left with', code)); \
                       }, 1300)";
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "--net"]);
        command.args(["sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""]).arg(&binary);
        command.args(["-e", program]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", &test, "--nocapture"]).env(INNER, "1");
        let process = Running::start(command);
        process.wait_for("lives, and the test left with");
        let printed = process.printed();
        assert!(
            printed.contains("left with 0") && printed.contains("1 passed"),
            "{version}: {printed}"
        );
    }
}

/// All want port 9229: the first one gets it, and after it the next.
#[test]
fn a_cluster_opens_one_after_another() {
    if !can_unshare(&["--net"]) {
        return;
    }
    let folder =
        std::env::temp_dir().join(format!("nodescope-port-{}-cluster", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let script = folder.join("cluster.js");
    let close = folder.join("close");
    let program = "const cluster = require('cluster'), fs = require('fs'), inspector = require('inspector');
        if (cluster.isPrimary) {
          for (let i = 0; i < 4; i++) cluster.fork();
          cluster.on('exit', () => console.log('LISTENER: a worker died'));
        } else {
          console.log('worker', process.pid, '.');
          setInterval(() => { if (inspector.url() && fs.existsSync(process.argv[2])) inspector.close(); }, 50);
        }";
    fs::write(&script, program).unwrap();
    for (version, binary) in nodes() {
        let words = [script.display().to_string(), close.display().to_string()];
        let mut process = in_own_network("up", &binary, &[&words[0], &words[1]]);
        let pids = || -> Vec<u32> {
            let printed = process.printed();
            printed.lines().filter_map(|line| line.split(' ').nth(1)?.parse().ok()).collect()
        };
        while pids().len() < 4 {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(nodes::SETTLED);
        let workers = pids();
        let refusal = open(process.pid()).unwrap_err();
        assert!(
            matches!(refusal, Refusal::Primary(_)),
            "{version}: it would signal all workers: {refusal}"
        );
        process.assert_untouched();
        let first = open(workers[0]).unwrap_or_else(|refusal| panic!("{version}: {refusal}"));
        for worker in &workers[1..] {
            let refusal = open(*worker).unwrap_err();
            match &refusal {
                Refusal::PortTaken {
                    port: 9229,
                    holder: Holder::Process { pid, is_related: true, .. },
                    ..
                } => {
                    assert_eq!(*pid, workers[0], "{version}");
                }
                other => panic!("{version}: {other}"),
            }
            assert!(refusal.hint("nodescope").unwrap().contains("one after another"), "{version}");
        }
        fs::write(&close, "").unwrap();
        while !first.is_closed() {
            std::thread::sleep(Duration::from_millis(20));
        }
        fs::remove_file(&close).unwrap();
        let second = open(workers[1]).unwrap_or_else(|refusal| panic!("{version}: {refusal}"));
        assert!(
            second.opened_by_us() && answers(&second) && second.pid() == workers[1],
            "{version}"
        );
        process.assert_unharmed();
    }
    fs::remove_dir_all(&folder).unwrap();
}
