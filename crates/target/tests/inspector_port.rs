//! The inspector port of real Nodes: it opens where that is safe, and nowhere else. After every attempt the process
//! lives and no listener of its own has run.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use target::{Holder, InspectorPort, Opening, Refusal};

use crate::nodes::{self, PATIENCE, Running, free_port, node, nodes};
use crate::skip::skip;

const WAITS: &str = "setInterval(() => {}, 1000)";
const LISTENS: &str = "process.on('SIGUSR1', () => console.log('LISTENER'))";
const LISTENED: &str = "const listener = () => console.log('LISTENER'); process.on('SIGUSR1', listener); \
                        setTimeout(() => process.off('SIGUSR1', listener), 50)";

fn open(pid: u32) -> Result<InspectorPort, Refusal> {
    InspectorPort::open(pid, &Opening::within(Duration::from_secs(10)))
}

/// The flag that keeps tests out of each other's way.
fn port_flag() -> (u16, String) {
    let port = free_port();
    (port, format!("--inspect-port={port}"))
}

/// Asks the inspector something, as a client would.
fn ask(inspector: &InspectorPort, path: &str) -> String {
    let mut stream = inspector.connect().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", inspector.address()).unwrap();
    let mut bytes = vec![0; 8192];
    let mut got = 0;
    while !String::from_utf8_lossy(&bytes[..got]).trim_end().ends_with(['}', ']']) {
        let read = stream.read(&mut bytes[got..]).unwrap();
        assert!(read > 0, "it closed the connection");
        got += read;
    }
    String::from_utf8_lossy(&bytes[..got]).into_owned()
}

/// What is refused for a program on every version, with these flags.
fn refusals(flags: &[&str], program: &str) -> Vec<(&'static str, Refusal)> {
    let mut running: Vec<_> = nodes()
        .into_iter()
        .map(|(version, binary)| {
            let (_, port) = port_flag();
            let flags = [flags, &[port.as_str()]].concat();
            (version, Running::node(&binary, &flags, &format!("{WAITS}; {program}")))
        })
        .collect();
    let refuse = |(version, process): &mut (&'static str, Running)| {
        process.settle();
        let refusal = open(process.pid()).err().unwrap_or_else(|| panic!("{version}: it opened"));
        assert!(!refusal.was_signalled(), "{version}: {refusal}");
        assert!(refusal.hint("nodescope").is_some(), "{version}: {refusal}");
        process.assert_untouched();
        (*version, refusal)
    };
    running.iter_mut().map(refuse).collect()
}

#[test]
fn a_plain_process_opens() {
    for (version, binary) in nodes() {
        let (port, flag) = port_flag();
        let mut process = Running::node(&binary, &[&flag], WAITS);
        process.settle();
        assert!(InspectorPort::find(process.pid()).unwrap().is_none(), "{version}");
        InspectorPort::could_open(process.pid(), &Opening::within(Duration::ZERO)).unwrap();
        process.assert_untouched();
        let inspector =
            open(process.pid()).unwrap_or_else(|refusal| panic!("{version}: {refusal}"));
        assert_eq!(
            (inspector.port(), inspector.opened_by_us(), inspector.is_closed()),
            (port, true, false),
            "{version}"
        );
        assert!(ask(&inspector, "/json/list").contains("webSocketDebuggerUrl"), "{version}");
        let again = open(process.pid()).unwrap();
        assert_eq!(
            (again.port(), again.opened_by_us()),
            (port, false),
            "{version}: it was open before"
        );
        process.assert_unharmed();
    }
}

#[test]
fn a_listener_of_its_own_is_left_alone() {
    for (version, refusal) in
        refusals(&[], &format!("{LISTENS}; process.on('SIGTERM', () => {{}})"))
    {
        assert!(matches!(refusal, Refusal::OwnListener(_)), "{version}: {refusal}");
    }
    // Listeners to other signals do not matter.
    for (version, binary) in nodes() {
        let (_, flag) = port_flag();
        let signals = "for (const name of ['HUP', 'TERM', 'USR2', 'WINCH']) process.on('SIG' + name, () => {})";
        let mut process = Running::node(&binary, &[&flag], &format!("{WAITS}; {signals}"));
        process.settle();
        open(process.pid()).unwrap_or_else(|refusal| panic!("{version}: {refusal}"));
        process.assert_unharmed();
    }
}

#[test]
fn a_listener_that_was_removed_would_be_death() {
    for (version, refusal) in refusals(&[], LISTENED) {
        assert!(matches!(refusal, Refusal::Deadly(_)), "{version}: {refusal}");
    }
}

#[test]
fn flags_can_keep_it_shut() {
    let start = |version: &str, flags: &[&str]| {
        let Some(binary) = node(version) else {
            return skip(format_args!("Node {version}: it is not in the cache"));
        };
        let (_, port) = port_flag();
        let mut process = Running::node(&binary, &[flags, &[&port]].concat(), WAITS);
        process.settle();
        let refusal =
            open(process.pid()).err().unwrap_or_else(|| panic!("{version} {flags:?}: it opened"));
        match flags[0] {
            "--disable-sigusr1" => {
                assert!(matches!(refusal, Refusal::Blocked(_)), "{version}: {refusal}");
            }
            _ => assert!(matches!(refusal, Refusal::Confined(_)), "{version}: {refusal}"),
        }
        process.assert_untouched();
    };
    for version in ["22.23.3", "24.21.0", "26.10.0"] {
        start(version, &["--disable-sigusr1"]);
        start(version, &["--permission"]);
    }
    start("20.20.2", &["--experimental-permission", "--allow-fs-read=*"]);
}

#[test]
fn the_permission_to_inspect_counts() {
    for version in ["24.21.0", "26.10.0"] {
        let Some(binary) = node(version) else {
            return skip(format_args!("Node {version}: it is not in the cache"));
        };
        let (port, flag) = port_flag();
        let mut process =
            Running::node(&binary, &["--permission", "--allow-inspector", &flag], WAITS);
        process.settle();
        let inspector =
            open(process.pid()).unwrap_or_else(|refusal| panic!("{version}: {refusal}"));
        assert_eq!(inspector.port(), port);
        process.assert_unharmed();
    }
}

/// Asked again and again from its first moment on, a Node lives, and opens in the end.
#[test]
fn a_young_process_is_left_alone() {
    for (version, binary) in nodes() {
        let (_, flag) = port_flag();
        let mut process = Running::start_node(&binary, &[&flag], WAITS);
        let started = Instant::now();
        let (mut young, mut inspector) = (0, None);
        while inspector.is_none() {
            assert!(started.elapsed() < PATIENCE, "{version}");
            match open(process.pid()) {
                Ok(opened) => inspector = Some(opened),
                Err(Refusal::Young(_)) => young += 1,
                // Before exec(2) it is a copy of this test.
                Err(Refusal::NotNode(_)) => (),
                Err(other) => panic!("{version}: {other}"),
            }
        }
        assert!(young > 0 && started.elapsed() >= Duration::from_millis(900), "{version}");
        process.assert_unharmed();
    }
}

#[test]
fn other_programs_are_left_alone() {
    let mut sleep = Command::new("sleep");
    sleep.arg("60");
    let mut python = Command::new("python3");
    python.args(["-c", "import time; time.sleep(60)"]);
    // Named like Node, and even started like it.
    let mut lookalike = Command::new("bash");
    lookalike.args(["-c", "exec -a node sleep 60"]);
    for command in [sleep, python, lookalike] {
        let name = format!("{command:?}");
        if Command::new(command.get_program()).arg("--version").output().is_err() {
            skip(format_args!("{name}: it is not here"));
            continue;
        }
        let mut process = Running::start(command);
        process.settle();
        let refusal = open(process.pid()).unwrap_err();
        assert!(matches!(refusal, Refusal::NotNode(_)), "{name}: {refusal}");
        process.assert_untouched();
    }
}

#[test]
fn numbers_that_are_no_process_are_refused() {
    for pid in [0, u32::MAX, (-1i32).cast_unsigned(), i32::MIN.cast_unsigned()] {
        assert!(matches!(open(pid), Err(Refusal::NoProcess(_))), "{pid}");
        assert!(matches!(InspectorPort::find(pid), Err(Refusal::NoProcess(_))), "{pid}");
    }
    let own = std::process::id();
    assert!(matches!(open(own), Err(Refusal::Ourselves(_))));
    // Whatever the first process is, it is no Node, or may not be looked at.
    if let Err(refusal) = InspectorPort::could_open(1, &Opening::within(Duration::ZERO)) {
        assert!(matches!(refusal, Refusal::NotNode(1) | Refusal::Hidden(1)), "{refusal}");
    }
}

#[test]
fn who_has_ended_is_not_signalled() {
    let Some((_, binary)) = nodes().pop() else { return };
    let mut child = Command::new(binary).args(["-e", "0"]).spawn().unwrap();
    let pid = child.id();
    let state = || std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    while !state().contains("State:\tZ") {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(matches!(open(pid), Err(Refusal::Ended(_))), "its parent has not waited for it yet");
    child.wait().unwrap();
    assert!(matches!(open(pid), Err(Refusal::Ended(_))));
}

#[test]
fn who_is_stopped_is_not_signalled() {
    for (version, binary) in nodes() {
        let (_, flag) = port_flag();
        let mut process = Running::node(&binary, &[&flag], WAITS);
        process.settle();
        process.signal("-STOP");
        process.wait_for_state("T (stopped)");
        let refusal = open(process.pid()).unwrap_err();
        assert!(matches!(refusal, Refusal::Stopped(_)), "{version}: {refusal}");
        process.signal("-CONT");
        process.assert_untouched();
    }
}

/// The port is looked at first, so the program's log stays clean.
#[test]
fn a_port_that_is_taken_is_reported() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for (version, binary) in nodes() {
        let mut process = Running::node(&binary, &[&format!("--inspect-port={port}")], WAITS);
        process.settle();
        match open(process.pid()).unwrap_err() {
            Refusal::PortTaken {
                port: reported,
                holder: Holder::Process { pid, is_related, .. },
                ..
            } => {
                // The test is the parent of the process, so they are kin.
                assert_eq!(
                    (reported, pid, is_related),
                    (port, std::process::id(), true),
                    "{version}"
                );
            }
            other => panic!("{version}: {other}"),
        }
        process.assert_untouched();
    }
}

/// A port that is taken where only Node sees it: known when no port has come in time.
#[test]
fn a_port_that_turns_out_to_be_taken_is_reported() {
    let Ok(taken) = TcpListener::bind("[::1]:0") else {
        return skip("an IPv6 port: there is no IPv6");
    };
    let port = taken.local_addr().unwrap().port();
    let Some((_, binary)) = nodes().pop() else { return };
    let mut process = Running::node(&binary, &[&format!("--inspect-port=[::1]:{port}")], WAITS);
    process.settle();
    let refusal =
        InspectorPort::open(process.pid(), &Opening::within(Duration::from_secs(1))).unwrap_err();
    assert!(matches!(refusal, Refusal::PortTaken { was_signalled: true, .. }), "{refusal}");
    process.assert_unharmed();
}

#[test]
fn a_pegged_loop_opens() {
    for (version, binary) in nodes() {
        let (port, flag) = port_flag();
        let program = "setTimeout(() => { for (;;); }, 200)";
        let mut process = Running::node(&binary, &[&flag], program);
        process.settle();
        let inspector =
            open(process.pid()).unwrap_or_else(|refusal| panic!("{version}: {refusal}"));
        assert_eq!(inspector.port(), port);
        process.assert_unharmed();
    }
}

#[test]
fn a_long_native_call_does_not_open_and_perf_is_advised() {
    for (version, binary) in nodes() {
        let (port, flag) = port_flag();
        let program = "setTimeout(() => { console.log('hashing'); \
                       require('crypto').pbkdf2Sync('a', 'b', 3e8, 64, 'sha512'); }, 200)";
        let mut process = Running::node(&binary, &[&flag], program);
        process.wait_for("hashing");
        process.settle();
        let refusal =
            InspectorPort::open(process.pid(), &Opening::within(Duration::from_millis(700)))
                .unwrap_err();
        assert!(
            matches!(refusal, Refusal::TimeLimit { .. }) && refusal.was_signalled(),
            "{version}: {refusal}"
        );
        let sentence = refusal.to_string();
        assert!(
            sentence.contains(&format!("port {port} may still open later")),
            "{version}: {sentence}"
        );
        assert!(refusal.hint("nodescope").unwrap().contains("perf"), "{version}");
        process.assert_unharmed();
    }
}

/// The inspector is on a port that cannot be guessed, beside a server of the program.
#[test]
fn an_open_port_is_found_among_others() {
    let server = "require('http').createServer((request, answer) => { console.log('ASKED'); answer.end('{}'); })\
                  .listen(0, '127.0.0.1')";
    for (version, binary) in nodes() {
        let mut process = Running::node(&binary, &["--inspect=0"], server);
        process.wait_for("Debugger listening");
        let inspector = InspectorPort::find(process.pid())
            .unwrap()
            .unwrap_or_else(|| panic!("{version}: not found"));
        let printed = process.printed();
        let port = printed.split("ws://127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();
        assert_eq!(
            (inspector.port().to_string().as_str(), inspector.opened_by_us()),
            (port, false),
            "{version}"
        );
        // Young as it is, it needs no signal.
        assert!(!open(process.pid()).unwrap().opened_by_us(), "{version}");
        process.assert_unharmed();
    }
}

/// A server of the program on the inspector's usual port is asked, and is none.
#[test]
fn a_server_is_not_taken_for_the_inspector() {
    let Some((_, binary)) = nodes().pop() else { return };
    let port = free_port();
    for answer in ["answer.end('{}')", "answer.socket.end('nonsense')", "0"] {
        let server = format!(
            "require('http').createServer((request, answer) => {{ {answer} }})\
             .listen({port}, '127.0.0.1', () => console.log('serving'))"
        );
        let mut process = Running::node(&binary, &[&format!("--inspect-port={port}")], &server);
        // Before that the port is free, and a signal right.
        process.wait_for("serving");
        process.settle();
        assert!(InspectorPort::find(process.pid()).unwrap().is_none(), "{answer}");
        match open(process.pid()).unwrap_err() {
            Refusal::PortTaken { holder: Holder::Itself, .. } => (),
            other => panic!("{answer}: {other}"),
        }
        process.assert_untouched();
    }
}

#[test]
fn a_closed_inspector_is_seen() {
    for (version, binary) in nodes() {
        let (_, flag) = port_flag();
        let program = format!("{WAITS}; process.on('SIGUSR2', () => require('inspector').close())");
        let mut process = Running::node(&binary, &[&flag], &program);
        process.settle();
        let inspector =
            open(process.pid()).unwrap_or_else(|refusal| panic!("{version}: {refusal}"));
        assert!(!inspector.is_closed(), "{version}");
        process.signal("-USR2");
        let end = Instant::now() + PATIENCE;
        while !inspector.is_closed() {
            assert!(Instant::now() < end, "{version}");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(inspector.connect().is_err(), "{version}");
        process.assert_unharmed();
        // And it can be opened again.
        assert!(open(process.pid()).unwrap().opened_by_us(), "{version}");
    }
}

/// musl's Node can stand anywhere in memory.
#[test]
fn a_program_without_a_fixed_place_is_read_too() {
    for version in ["musl-20.18.0", "musl-24.19.0"] {
        let Some(binary) = nodes::musl(version) else {
            skip(format_args!("Node {version}: it is not in the cache, or does not run here"));
            continue;
        };
        for (program, opens) in [(WAITS, true), (LISTENS, false)] {
            let (_, flag) = port_flag();
            let mut process = Running::node(&binary, &[&flag], &format!("{WAITS}; {program}"));
            process.settle();
            match open(process.pid()) {
                Ok(_) => assert!(opens, "{version}"),
                Err(Refusal::OwnListener(_)) => assert!(!opens, "{version}"),
                Err(other) => panic!("{version}: {other}"),
            }
            process.assert_unharmed();
        }
    }
}

/// A stripped binary does not show whether the program listens: the user must state it.
#[test]
fn a_stripped_binary_needs_a_word() {
    let Some((_, binary)) = nodes().pop() else { return };
    let copy = std::env::temp_dir().join(format!("nodescope-port-stripped-{}", std::process::id()));
    std::fs::copy(binary, &copy).unwrap();
    if !Command::new("strip").arg(&copy).status().is_ok_and(|status| status.success()) {
        let _ = std::fs::remove_file(&copy);
        return skip("a stripped program: strip is missing");
    }
    let (_, flag) = port_flag();
    let mut process = Running::node(&copy, &[&flag], WAITS);
    std::fs::remove_file(&copy).unwrap();
    process.settle();
    let refusal = open(process.pid()).unwrap_err();
    assert!(
        matches!(&refusal, Refusal::Unseen { why, .. } if why.contains("stripped")),
        "{refusal}"
    );
    process.assert_untouched();
    let opening = Opening { within: Duration::from_secs(10), has_no_listener: true };
    assert!(InspectorPort::open(process.pid(), &opening).unwrap().opened_by_us());
    process.assert_unharmed();
}
