//! What `report` prints about event loops, CPU limits and few samples, as people read it. The recordings are made by
//! hand: every word can be checked.

use std::sync::atomic::{AtomicUsize, Ordering};

use profile::{Category, Process, Role, Thread, TurnKind, UNKNOWN};

use crate::program::{self, Scratch, json, succeeds};
use crate::service::*;

/// Names the application, as `record` does.
fn identified(mut service: Service) -> Service {
    let meta = service.builder.meta();
    meta.format = "recorded by perf events".into();
    meta.way_in = "perf events".into();
    meta.start_unix_ns = Some("1794712502000000000".into());
    meta.losses.frames = 100;
    let (app, folder) = (service.builder.string("deploy-api"), service.builder.string("/srv"));
    let node_version = service.builder.string("24.11.1");
    let container = service.builder.string("web-3");
    let (name, pid) = (service.builder.string("node"), Some(4140));
    let row = Process { pid, name, app, folder, node_version, container, ..Process::default() };
    let process = service.builder.process(row);
    let mut thread = |tid, name, role| {
        let name = service.builder.string(name);
        service.builder.thread(Thread { process, tid: Some(tid), name, role })
    };
    (service.process, service.main) = (process, thread(4140, "node-MainThread", Role::MainLoop));
    service.helper = thread(4141, "V8Worker", Role::V8Platform);
    service
}

fn file(scratch: &Scratch, service: Service) -> String {
    let path = scratch.path("a.nodescope");
    let mut bytes = Vec::new();
    profile::file::write(&service.done(), &mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

/// The sentences above the first table.
fn head(service: Service, options: &[&str]) -> String {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let scratch = Scratch::new(&format!("report-words-{}", CALLS.fetch_add(1, Ordering::Relaxed)));
    let path = file(&scratch, service);
    let text = succeeds(&[&["report", &path][..], options].concat());
    let end = text.find("\n\nWhere the time went").unwrap_or(text.trim_end().len());
    text[..end].to_owned()
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn waiting() -> Service {
    let path = [TIMERS, POLL, DEPLOY, EXEC_SYNC, SPAWN_SYNC, SPAWN, EPOLL];
    let mut service = identified(Service::new(30)).watched(20 * SECOND);
    service.builder.meta().losses.cpu_ns = Some(900 * MS);
    for second in 0..30 {
        let start = second * SECOND;
        service = service.turn(TurnKind::Turn, start, 304 * MS, [4 * MS, MS, 0]);
        service = service.slept(&path, start + 51 * MS, 290 * MS);
        let main = service.main;
        service = service.ran(main, &[TIMERS, POLL, RENDER], start, 3 * INTERVAL);
    }
    service
}

/// Recordings that are kept, with none, one and several findings.
const KEPT: [&str; 5] =
    ["node22-cluster", "node22-gc", "entries-express", "entries-bullmq", "entries-loop"];

/// For a ticket or a language model: short, and nothing that stands out is lost.
#[test]
fn markdown_is_short_and_whole() {
    let scratch = Scratch::new("report-markdown");
    // So many functions stand still as have findings of their own.
    let mut service = identified(Service::new(30)).watched(20 * SECOND);
    let names = ["one", "two", "three", "four", "five", "six", "seven"];
    for (row, name) in (0..).zip(names) {
        let (main, start) = (service.main, row * 3 * SECOND);
        service = service.turn(TurnKind::Turn, start, 400 * MS, [400 * MS, 0, 0]);
        let code: Code = (name, "/srv/jobs.js", 10, Category::App);
        service = service.ran(main, &[TIMERS, code], start, 400 * MS);
    }
    let many = file(&scratch, service);
    let kept: Vec<String> = KEPT.iter().map(|name| program::input(name)).collect();
    for path in kept.iter().chain([&many]) {
        let text = succeeds(&["report", "--markdown", path]);
        assert!(text.len() <= 4096, "{path}: {} bytes", text.len());
        let plain = text.replace('\\', "");
        let report = json(&["report", "--json", path]);
        let findings = report["findings"].as_array().unwrap();
        for line in findings.iter().take(5).flat_map(|row| row["text"].as_array().unwrap()) {
            assert!(plain.contains(line.as_str().unwrap()), "{path}: {line} is not in {text}");
        }
        let more = format!("… and {} more; report -n 0 shows all", findings.len().wrapping_sub(5));
        assert_eq!(plain.contains(&more), findings.len() > 5, "{path}: {text}");
        assert_eq!(plain.contains(" more; report -n 0"), findings.len() > 5, "{path}: {text}");
    }
    assert_eq!(json(&["report", "--json", &many])["findings"].as_array().unwrap().len(), 7);
}

#[test]
fn a_loop_that_waits() {
    assert_eq!(
        lines(&head(waiting(), &[])),
        [
            "deploy-api · pid 4140 · Node 24.11.1 · container web-3 · 30.0 s from 03:15:02 UTC",
            "0.03 cores busy · 90 samples, all frames named, none lost",
            "",
            "1  The event loop stood still 30 times, 304 ms each, once a second: 9.1 s of 30 s.",
            "   Waiting for a child process, not on the CPU: execSync in deployStatus (server.js:2), called by",
            "   poll (server.js:4).",
            "   exec, execFile and spawn do not block the loop.",
            "   The loop was free 67 % of the time; a request waited 0 ms (median), 294 ms (p99), 304 ms (worst).",
            "",
            "Nothing else stands out.",
            "Of your own code, render (views.js:12) caused most: 100 % of all CPU time.",
        ]
    );
    // A part of it, clipped.
    let part = head(waiting(), &["--range", "10s..12s"]);
    assert!(part.starts_with(
        "deploy-api · pid 4140 · Node 24.11.1 · container web-3 · 2.0 s from 03:15:12 UTC"
    ));
    assert!(part.contains("stood still 2 times, 304 ms each: 608 ms of 2 s."), "{part}");
}

#[test]
fn lines_fit_narrow_terminals() {
    let scratch = Scratch::new("report-narrow");
    let path = file(&scratch, waiting());
    let output = program::nodescope(&["report", &path]).env("COLUMNS", "50").output().unwrap();
    let text = program::stdout(&output);
    assert!(text.lines().take(14).all(|line| line.chars().count() <= 50), "{text}");
    assert!(
        text.contains(
            "\n   Waiting for a child process, not on the CPU:\n   execSync in deployStatus"
        ),
        "{text}"
    );
}

#[test]
fn all_stalls_are_counted() {
    let mut service = identified(Service::new(60)).watched(50 * SECOND);
    for row in 0..100 {
        // No rhythm.
        let start = row * 500 * MS + row * row % 7 * 30 * MS;
        service = service.turn(TurnKind::Turn, start, (60 + row) * MS, [(55 + row) * MS, 0, 0]);
        let main = service.main;
        service = service.ran(main, &[TIMERS, POLL, RENDER], start, 5 * INTERVAL);
    }
    let scratch = Scratch::new("report-many");
    let path = file(&scratch, service);
    for rows in ["0", "3"] {
        let text = succeeds(&["report", &path, "-n", rows]);
        assert!(
            text.contains(
                "1  The event loop stood still 100 times, for 60 to 159 ms: 10.9 s of 60 s."
            ),
            "{text}"
        );
        assert_eq!(text.contains("… 97 more; -n 0 shows all"), rows == "3", "{text}");
        let waited = "waited\n    busy  median     p99   worst\n  16.7 %    0 ms  ";
        assert!(text.contains(waited), "a single loop has a row, too: {text}");
    }
    let report = json(&["report", "--json", &path]);
    assert_eq!(report["stalls"].as_array().unwrap().len(), 100);
    let longest = &report["stalls"][0];
    assert_eq!(
        (longest["kind"].as_str(), longest["duration_s"].as_f64()),
        (Some("ran"), Some(0.159))
    );
    assert_eq!(
        (longest["function"].as_str(), longest["line"].as_u64()),
        (Some("render"), Some(12))
    );
    assert_eq!(
        (longest["file"].as_str(), longest["pid"].as_u64()),
        (Some("/srv/views.js"), Some(4140))
    );
    assert_eq!(
        (longest["entry"]["function"].as_str(), longest["run_s"].as_f64()),
        (Some("poll"), Some(0.154))
    );
    assert_eq!(
        (&report["findings"][0]["id"], &report["findings"][0]["count"]),
        (&"stalls".into(), &100.into())
    );
}

#[test]
fn a_cpu_limit_leads() {
    let mut service = identified(Service::new(30)).watched(2 * SECOND);
    for second in 0..30 {
        let start = second * SECOND;
        service = service.turn(TurnKind::Turn, start, 400 * MS, [40 * MS, 350 * MS, 340 * MS]);
        let main = service.main;
        service = service.ran(main, &[TIMERS, POLL, RENDER], start, 4 * INTERVAL);
    }
    let service = service.counted(100 * MS, 650 * MS, Some((9, 640 * MS)));
    let text = head(service, &[]);
    assert_eq!(
        lines(&text)[3..7],
        [
            "1  Held back by the CPU limit, not by slow code: throttled in 90 % of periods, 19.2 s of 30 s.",
            "   30 of 30 stalls (worst 400 ms) were throttling.",
            "   Raise the limit, or use less CPU. Largest users: render (views.js:12) 100 %.",
            "",
        ],
        "{text}"
    );
    assert!(!text.contains("stood still"), "{text}");
}

#[test]
fn a_healthy_service() {
    let service =
        identified(Service::new(30)).watched(24 * SECOND).counted(200 * MS, MS, Some((0, 0)));
    let (main, helper) = (service.main, service.helper);
    let service = service.ran(main, &[TIMERS, POLL, RENDER], 0, 5 * SECOND);
    let service = service.ran(main, &[TIMERS, POLL, RENDER, MARK_COMPACT], 5 * SECOND, 600 * MS);
    let service = service.ran(helper, &[MARK_COMPACT], 0, SECOND);
    let text = head(service, &[]);
    assert_eq!(
        lines(&text)[2..],
        [
            "",
            "Nothing stands out.",
            "The event loop was free 80 % of the time; no turn took 50 ms. Garbage collection took 2 % of the",
            "time of the event loop (11 % of its CPU time); its helper threads used 15 % of all CPU time. Not",
            "throttled.",
            "If replies are slow, look outside the loop: database, upstream services, connection pools.",
            "Of your own code, render (views.js:12) caused most: 85 % of all CPU time.",
        ],
        "{text}"
    );
}

/// The head has one line of quality: how well callers across await are known stands with the entries.
#[test]
fn callers_across_await_are_under_the_entries() {
    let mut service = waiting();
    service.builder.meta().losses.awaits.read = 9;
    let scratch = Scratch::new("report-awaits");
    let text = succeeds(&["report", &file(&scratch, service)]);
    let (head, tables) = text.split_once("What asked for the work").unwrap();
    assert!(!head.contains("after an await"), "{head}");
    let (entries, _) = tables.split_once("\n\n").unwrap();
    assert!(entries.contains("\n9 samples ran after an await: "), "{entries}");
}

#[test]
fn few_samples_name_no_share() {
    let service = identified(Service::new(30)).watched(29 * SECOND);
    let main = service.main;
    let service = service.ran(main, &[TIMERS, POLL, RENDER], 0, 23 * INTERVAL);
    let scratch = Scratch::new("report-few");
    let path = file(&scratch, service);
    let text = succeeds(&["report", &path]);
    let advice = "Only 23 samples: too few to name shares; record longer (-d 2m), at a higher rate (-F 999), or while\nit is busy.";
    assert!(text.contains(advice), "{text}");
    assert!(!text.contains("caused most"), "{text}");
    assert_eq!(json(&["report", "--json", &path])["too_few_samples"], true);
}

#[test]
fn loops_that_were_not_watched_starts_and_stops() {
    let service = identified(Service::new(10))
        .watched(8 * SECOND)
        .unwatched_worker("its stack may not be read");
    let service = service.turn(TurnKind::Startup, 0, 350 * MS, [350 * MS, 0, 0]);
    let service = service.turn(TurnKind::Stopped, SECOND, 2 * SECOND, [UNKNOWN, UNKNOWN, UNKNOWN]);
    let main = service.main;
    let text = head(service.ran(main, &[TIMERS, POLL], 0, SECOND), &[]);
    for sentence in [
        "1 of 2 event loops was watched; of the others, stalls are not known: its stack may not be read.",
        "One synchronous run of 350 ms before the loop began: loading and top-level code.",
        "was stopped for 2 s, from 1 s on: that is a gap, not a stall.",
        "The event loop was free 80 % of the time; no turn took 50 ms.",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    let service = identified(Service::new(10)).unwatched_worker("its libuv is unknown");
    let main = service.main;
    let text = head(service.ran(main, &[TIMERS, POLL], 0, SECOND), &[]);
    assert!(
        text.contains(
            "The event loop was not watched, so stalls are not known: its libuv is unknown."
        ),
        "{text}"
    );
    let service =
        identified(Service::new(1)).watched(0).turn(TurnKind::Startup, 0, SECOND, [SECOND, 0, 0]);
    let main = service.main;
    let text = head(service.ran(main, &[RENDER], 0, SECOND), &[]);
    assert!(
        text.contains("One synchronous run of 1 s: its event loop never began to wait for work."),
        "{text}"
    );
    assert!(!text.contains("stands out"), "{text}");
}

/// A process that only waits has no sample, and stalls.
#[test]
fn a_recording_without_a_cpu_sample_is_shown() {
    let service = identified(Service::new(10)).watched(8 * SECOND);
    let service = service.turn(TurnKind::Turn, SECOND, 900 * MS, [0, 0, 0]);
    let service = service.slept(&[POLL, DEPLOY, EXEC_SYNC, SPAWN_SYNC], SECOND + 51 * MS, 850 * MS);
    let text = head(service, &[]);
    assert!(
        text.contains("pid 4140") && text.contains("No sample: too few to name shares;"),
        "{text}"
    );
    assert!(text.contains("stood still once, for 900 ms, at 1 s."), "{text}");
    assert!(
        text.contains("execSync in deployStatus (server.js:2), called by\n   poll (server.js:4)."),
        "{text}"
    );
}

/// Stalls of every kind, for the page's own tests.
fn every_kind() -> Service {
    let service = waiting().unwatched_worker("its stack may not be read");
    let service = service.turn(TurnKind::Turn, 500 * MS, 120 * MS, [110 * MS, 5 * MS, 0]);
    let main = service.main;
    let service = service.ran(main, &[TIMERS, POLL, CLONE], 500 * MS, 120 * MS);
    let service = service.turn(TurnKind::Turn, 1_500 * MS, 200 * MS, [20 * MS, 170 * MS, 160 * MS]);
    let service = service.ran(main, &[TIMERS, POLL, RENDER], 1_500 * MS, 20 * MS);
    let service = service.turn(TurnKind::Turn, 2_500 * MS, 90 * MS, [UNKNOWN, UNKNOWN, UNKNOWN]);
    let service = service.ran(main, &[TIMERS, CLONE], 2_500 * MS, 90 * MS);
    let service =
        service.turn(TurnKind::Startup, 3_500 * MS, 100 * MS, [UNKNOWN, UNKNOWN, UNKNOWN]);
    service.counted(400 * MS, 10 * MS, Some((0, 0)))
}

/// The file that page/test/loops.test.js reads is this recording; UPDATE_STALLS=1 writes it anew.
#[test]
fn the_pages_tests_read_every_kind() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/browser/stalls.nodescope");
    let made = every_kind().done();
    if std::env::var_os("UPDATE_STALLS").is_some() {
        let mut bytes = Vec::new();
        profile::file::write(&made, &mut bytes).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let kept = profile::file::read(&std::fs::read(path).unwrap()).unwrap();
    assert!(kept == made, "UPDATE_STALLS=1 cargo test -p nodescope --test all report::");
    let kinds = json(&["report", "--json", path]);
    let kinds = kinds["stalls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["kind"].as_str().unwrap().to_owned());
    let kinds: std::collections::BTreeSet<String> = kinds.collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["blocked", "ran", "throttled", "unknown"]);
}
