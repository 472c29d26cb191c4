//! The sentences of findings beside their rules: advice that fits, nothing that is not known, and the same as numbers.

use profile::{Category, TurnKind};
use views::{EntryKind, Report, Selection, weigh_busy};

use crate::finding_rules::{COPY, LIST, PARSE, doing, sibling, spread, words};
use crate::service::*;

/// One pattern that makes a long turn backtracks; many quick matches that add up do not.
#[test]
fn only_a_pattern_that_takes_long_is_said_to_backtrack() {
    let test: Code = ("Builtins_RegExpPrototypeTest", "", 0, Category::Regexp);
    let pattern =
        |name| -> [Code; 5] { [TIMERS, LIST, COPY, test, (name, "", 0, Category::Regexp)] };
    let [one, other] = [pattern(r"/^(\w+\s?)*$/"), pattern(r"/\d+/")];
    let text = |service: Service| words(service).pop().unwrap();
    let quick = "Match less or shorter text; for fixed words, includes and indexOf cost less.";
    assert_eq!(text(doing(&one[2..], "", 4 * SECOND)), quick);
    let long = |other_ms: u64| {
        let mut service = Service::new(10).watched(8 * SECOND);
        let main = service.main;
        for second in 0..4 {
            let start = second * 2 * SECOND;
            service = service.turn(TurnKind::Turn, start, 400 * MS, [400 * MS, 0, 0]);
            service = service.ran(main, &one, start, (400 - other_ms) * MS);
            service = service.ran(main, &other, start + (400 - other_ms) * MS, other_ms * MS);
        }
        text(service)
    };
    assert!(
        long(0).starts_with("A pattern that takes this long mostly backtracks: "),
        "{}",
        long(0)
    );
    assert_eq!(long(200), quick, "many patterns on a long text");
}

/// Hashes have no form with a callback.
#[test]
fn cryptography_names_what_there_is_instead() {
    let node = |name| (name, "node:internal/crypto/x", 60, Category::NodeCore);
    let text = |name| words(doing(&[COPY, node(name)], "", 2 * SECOND)).pop().unwrap();
    let callback =
        "pbkdf2, scrypt, sign and others use the thread pool when they are given a callback.";
    assert_eq!([text("pbkdf2Sync"), text("randomBytes")], [callback, callback]);
    for name in ["update", "Hash.digest", "Cipheriv"] {
        assert!(
            text(name).starts_with("Hashes and ciphers have no form with a callback: "),
            "{name}"
        );
    }
}

/// Standard error is written in the same way: no frame shows which of the two it is.
#[test]
fn a_write_may_be_to_standard_error() {
    let write = ("anon_pipe_write", "", 0, Category::Kernel);
    assert_eq!(
        words(doing(&[COPY, write], "", 2 * SECOND))[..2],
        [
            "Writing to the console took 20 % of the time of the event loop.",
            "process.stdout/stderr.write in list (server.js:10) → copySettings (settings.js:6).",
        ]
    );
}

/// Where the counters of the control group could not be read, a limit may be the reason.
#[test]
fn others_are_blamed_only_where_the_limit_is_known() {
    let text = |limit| {
        words(Service::new(10).watched(9 * SECOND).counted(300 * MS, 650 * MS, limit)).remove(0)
    };
    let waited = "Its threads together waited 6.5 s for a CPU in 10 s: other programs used them";
    assert_eq!(text(Some((0, 0))), format!("{waited}."));
    assert_eq!(text(None), format!("{waited}, or a CPU limit that could not be read."));
}

/// A limit that is reached beside slow code is not reported as if it were all.
#[test]
fn a_limit_does_not_excuse_slow_code() {
    let text = |throttled: u64| {
        let mut service = Service::new(10).watched(3 * SECOND);
        let main = service.main;
        for second in 0..4 {
            let (start, length) = (second * 2 * SECOND, 400 * MS);
            let waited = if second < throttled { 350 * MS } else { 0 };
            service =
                service.turn(TurnKind::Turn, start, length, [length - waited, waited, waited]);
            service = service.ran(main, &[TIMERS, LIST], start, length - waited);
        }
        let service = service.counted(300 * MS, 650 * MS, Some((9, 640 * MS)));
        words(service).into_iter().find(|line| line.contains("by the CPU limit")).unwrap()
    };
    let figures = "throttled in 90 % of periods, 6.4 s of 10 s.";
    assert_eq!(text(3), format!("Held back by the CPU limit, not by slow code: {figures}"));
    assert_eq!(text(1), format!("Held back by the CPU limit: {figures}"));
}

/// A package with a sample or two is in most recordings.
#[test]
fn a_share_that_may_be_noise_is_not_reported() {
    let client: Code = ("send", "/srv/node_modules/amqplib/send.js", 4, Category::Dependency);
    let text = |samples: u64| {
        let service = spread(Service::new(10).watched(9 * SECOND), &[TIMERS, LIST], "", SECOND);
        let service = spread(service, &[TIMERS, client], "amqplib", samples * INTERVAL);
        let profile = service.done();
        let (selection, weights) = weigh_busy(&profile, &Selection::default());
        let closing = Report::without_lists(&profile, &weights, &selection).closing;
        closing.into_iter().filter(|line| line.starts_with("Of ")).collect::<Vec<_>>()
    };
    // Neither are entries, largest causes and largest users.
    let busy = spread(Service::new(10).watched(SECOND), &[TIMERS, LIST], "", 3 * SECOND);
    let busy = spread(busy, &[TIMERS, COPY], "", 2 * INTERVAL);
    assert_eq!(words(busy)[1], "Largest causes: list (server.js:10) 99 %.");
    let own = "Of your own code, list (server.js:10) caused most: ";
    assert_eq!(text(3), [format!("{own}97 % of all CPU time.")]);
    assert_eq!(
        text(20),
        [
            format!("{own}83 % of all CPU time."),
            "Of the npm packages, amqplib caused most: 17 %.".to_owned()
        ],
        "what shares are of is named once"
    );
}

/// What the text states, programs need not parse from it.
#[test]
fn findings_have_their_figures() {
    let row = |service: Service| {
        let profile = service.done();
        let (selection, weights) = weigh_busy(&profile, &Selection::default());
        Report::without_lists(&profile, &weights, &selection).findings.remove(0)
    };
    let on_timeout: Code = ("listOnTimeout", "node:internal/timers", 540, Category::NodeCore);
    let mut service = Service::new(30).watched(26 * SECOND);
    let main = service.main;
    for second in 0..4 {
        let (start, length) = (second * 5 * SECOND, (400 + second * 10) * MS);
        service = service.turn(TurnKind::Turn, start, length, [length, 0, 0]);
        service = service.ran(main, &[on_timeout, LIST, COPY], start, length);
    }
    let stalls = row(service);
    assert_eq!((stalls.count, stalls.worst_s, stalls.every_s), (Some(4), Some(0.43), Some(5.0)));
    assert_eq!((stalls.share, stalls.samples), (Some(1.0), Some(166)));
    assert_eq!(
        stalls.entry.map(|entry| (entry.function, entry.line)),
        Some(("list".to_owned(), Some(10)))
    );
    assert_eq!(stalls.asked_by, Some(EntryKind::Timer));
    let json = row(doing(&[COPY, PARSE], "", 3 * SECOND));
    assert_eq!((json.share, json.samples, json.worst_s), (Some(0.3), Some(300), None));
    assert_eq!(json.entry.map(|entry| entry.function).as_deref(), Some("list"));
    let limit =
        row(Service::new(10).watched(SECOND).counted(300 * MS, 650 * MS, Some((9, 640 * MS))));
    assert_eq!((limit.id, limit.share, limit.samples), ("cpu-limit", Some(0.9), None));
}

/// Workers that do the same collect in the same rhythm, each at times of its own.
#[test]
fn collections_of_several_workers_have_the_rhythm_of_each() {
    let first = |every_ms: [u64; 4], longest_ms: u64| {
        let mut service = Service::new(30);
        for (worker, every_ms) in (0..4).zip(every_ms) {
            let (with, thread) = sibling(service, 5001 + worker, 28 * SECOND);
            service = with;
            service.main = thread;
            for row in 0..3 {
                let start = (u64::from(worker) * 700 + row * every_ms) * MS;
                let length = if row == 2 { longest_ms } else { 310 } * MS;
                service = service.turn(TurnKind::Turn, start, length, [length, 0, 0]);
                service = service.ran(thread, &[TIMERS, COPY, MARK_COMPACT], start, length);
            }
        }
        words(service)[0].clone()
    };
    assert_eq!(
        first([9_800; 4], 340),
        "Full garbage collections stopped each of 4 event loops every 9.8 s for 310 ms (longest 340 ms): 3.8 s of 4 × 30 s."
    );
    assert_eq!(
        first([9_800; 4], 310),
        "Full garbage collections stopped each of 4 event loops every 9.8 s for 310 ms: 3.7 s of 4 × 30 s."
    );
    assert_eq!(
        first([9_800, 9_800, 9_800, 5_000], 310),
        "Full garbage collections stopped 4 event loops 12 times, 310 ms each: 3.7 s of 4 × 30 s.",
        "one of them has another rhythm"
    );
}
