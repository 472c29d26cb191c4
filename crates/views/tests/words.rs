//! What the report says, word for word: sentences, findings, what the page gets, and what changed between two
//! recordings.

use profile::{AwaitCounts, FunctionId, Profile, Role, TurnKind};
use views::{
    Compared, Comparison, Figure, Measure, Report, Selection, compare, compare_all, gist,
    page_report, weigh_busy,
};

use crate::service::*;

fn report(profile: &Profile, selection: &Selection) -> Report {
    let (selection, weights) = weigh_busy(profile, selection);
    Report::new(profile, &weights, &selection)
}

fn texts(report: &Report) -> Vec<&str> {
    report.findings.iter().flat_map(|row| &row.text).map(String::as_str).collect()
}

/// execSync in a timer, once a second, for half a minute.
fn waiting() -> Service {
    let path = [TIMERS, POLL, DEPLOY, EXEC_SYNC, SPAWN_SYNC, SPAWN, EPOLL];
    let mut service = Service::new(30).watched(20 * SECOND);
    for second in 0..30 {
        let start = second * SECOND;
        service = service.turn(TurnKind::Turn, start, 304 * MS, [4 * MS, MS, 0]);
        service = service.slept(&path, start + 51 * MS, 290 * MS);
        let main = service.main;
        service = service.ran(main, &[TIMERS, RENDER], start, 2 * INTERVAL);
    }
    service
}

#[test]
fn a_loop_that_waits() {
    let profile = waiting().done();
    let report = report(&profile, &Selection::default());
    assert_eq!(
        texts(&report),
        [
            "The event loop stood still 30 times, 304 ms each, once a second: 9.1 s of 30 s.",
            "Waiting for a child process, not on the CPU: execSync in deployStatus (server.js:2), called by poll (server.js:4).",
            "exec, execFile and spawn do not block the loop.",
            "The loop was free 67 % of the time; a request waited 0 ms (median), 294 ms (p99), 304 ms (worst).",
        ]
    );
    assert_eq!(
        report.closing,
        [
            "Nothing else stands out.",
            "Of your own code, render (views.js:12) caused most: 100 % of all CPU time.",
        ]
    );
    let sentences: Vec<String> = report.sentences().into_iter().map(|it| it.text).collect();
    assert_eq!(sentences, ["0.02 cores busy · 60 samples of cpu-clock, none known to be lost"]);
    let mentioned: Vec<&str> = report.mentions.iter().map(|it| it.words.as_str()).collect();
    assert_eq!(
        mentioned,
        ["render (views.js:12)", "deployStatus (server.js:2)", "poll (server.js:4)"]
    );
}

#[test]
fn a_list_says_what_the_report_says_first() {
    let text = |figure: &Option<Figure>| figure.as_ref().map(|figure| figure.text.clone());
    let row = gist(&waiting().done());
    assert_eq!(
        row.finding,
        "The event loop stood still 30 times, 304 ms each, once a second: 9.1 s of 30 s."
    );
    assert_eq!((row.stands_out, row.more_findings), (true, 0));
    let figures = [&row.length, &row.cores, &row.worst_stall, &row.gc].map(text);
    let expected = ["30.0 s", "0.02", "304 ms", "0 %"];
    assert_eq!(figures, expected.map(|text| Some(text.to_owned())));
    assert_eq!(row.worst_stall.map(|stall| stall.value), Some(0.304));
    // A loop that was watched and never blocked is another thing than one that was not watched.
    let calm = gist(&Service::new(30).watched(29 * SECOND).done());
    assert_eq!(text(&calm.worst_stall).as_deref(), Some("none"));
    assert_eq!(calm.finding.split(':').next(), Some("No sample"));
    assert_eq!((text(&calm.gc), calm.stands_out), (None, false));
    let unwatched = gist(&Service::new(30).done());
    assert_eq!(unwatched.worst_stall, None);
}

#[test]
fn garbage_collection_is_judged_by_the_loop() {
    // A quarter of the loop's time, and as much again on helper threads, which does not stop it.
    let service = Service::new(4).watched(2 * SECOND);
    let (main, helper) = (service.main, service.helper);
    let profile = service
        .ran(main, &[TIMERS, RENDER, MARK_COMPACT], 0, SECOND)
        .ran(main, &[TIMERS, RENDER], SECOND, SECOND)
        .ran(helper, &[MARK_COMPACT], 0, SECOND)
        .done();
    let report = report(&profile, &Selection::default());
    let texts = texts(&report);
    assert!(
        texts.contains(
            &"Garbage collection took 25 % of the time of the event loop (50 % of its CPU time)."
        ),
        "{texts:?}"
    );
    assert!((report.gc.all - 2.0 / 3.0).abs() < 1e-9, "{:?}", report.gc);
}

#[test]
fn a_cpu_limit_comes_with_its_largest_users() {
    let service = Service::new(10).watched(SECOND).counted(300 * MS, 650 * MS, Some((9, 640 * MS)));
    let main = service.main;
    let profile = service.ran(main, &[TIMERS, RENDER], 0, 3 * SECOND).done();
    let report = report(&profile, &Selection::default());
    let texts = texts(&report);
    assert_eq!(
        texts.first(),
        Some(
            &"Held back by the CPU limit, not by slow code: throttled in 90 % of periods, 6.4 s of 10 s."
        )
    );
    assert!(
        texts.contains(
            &"Raise the limit, or use less CPU. Largest users: render (views.js:12) 100 %."
        ),
        "{texts:?}"
    );
}

#[test]
fn cautions_are_distinguished_from_what_is_well() {
    let mut service = Service::new(2);
    service.builder.meta().losses.lost = 50;
    service.builder.meta().losses.hidden_kernel_ns = 200 * MS;
    service.builder.meta().losses.notes.push("the recorder was stopped".to_owned());
    let main = service.main;
    let profile = service.ran(main, &[TIMERS, RENDER], 0, SECOND).done();
    let page = page_report(&profile);
    let cautions: Vec<(&str, bool)> =
        page.sentences.iter().map(|it| (it.text.as_str(), it.is_caution)).collect();
    assert_eq!(
        cautions,
        [
            ("0.50 cores busy · 100 samples of cpu-clock, 50 lost", true),
            (
                "200.0 ms of CPU time in the kernel is not in these numbers: sudo would show it.",
                true
            ),
        ]
    );
    assert_eq!(page.warnings, ["the recorder was stopped"]);
}

/// One line of quality: how well entries are known is reported with the entries, unless much is not known.
#[test]
fn callers_across_await_are_reported_with_the_entries() {
    let page = |late: u64| {
        let mut service = Service::new(2);
        let awaits = AwaitCounts { read: 40, inferred: 50 - late, late, ..AwaitCounts::default() };
        service.builder.meta().losses.awaits = awaits;
        let main = service.main;
        page_report(&service.ran(main, &[TIMERS, RENDER], 0, SECOND).done())
    };
    let calm = page(10);
    assert_eq!(calm.sentences.len(), 1, "{:?}", calm.sentences);
    assert_eq!(
        calm.notes,
        [
            "90 samples ran after an await: their callers were read for 44 %, inferred from other samples for 44 %, unknown for 11 %."
        ]
    );
    let caution = "Callers across await are not known for 30 % of all samples: these stand alone, as “after await”.";
    let sentences = page(30).sentences;
    assert_eq!((sentences[1].text.as_str(), sentences[1].is_caution), (caution, true));
}

#[test]
fn the_page_shows_what_the_report_says() {
    let profile = waiting()
        .turn(TurnKind::Turn, 20 * SECOND + 500 * MS, 200 * MS, [10 * MS, 180 * MS, 170 * MS])
        .done();
    let report = report(&profile, &Selection::default());
    let page = page_report(&profile);
    assert_eq!((&page.headline, &page.closing), (&report.headline, &report.closing));
    let findings: Vec<(&str, &Vec<String>)> =
        report.findings.iter().map(|row| (row.id, &row.text)).collect();
    let on_page: Vec<(&str, &Vec<String>)> =
        page.findings.iter().map(|row| (row.id, &row.text)).collect();
    assert_eq!(on_page, findings);
    assert_eq!(page.stalls.len(), report.stalls.len());
    assert_eq!(
        page.stalls[0].text,
        "304 ms at 0.000 s, waiting for a child process: execSync in deployStatus"
    );
    let last = page.stalls.last().unwrap();
    assert_eq!(last.text, "200 ms at 20.500 s, held back by the CPU limit");
    assert_eq!(last.function, None, "the CPU limit accuses no function");
    assert_eq!((page.stalls[0].kind, last.kind), ("blocked", "throttled"));
    assert!(page.busy.is_empty(), "the loop was watched");
}

#[test]
fn the_page_knows_where_each_finding_is() {
    let service = waiting();
    let main = service.main;
    let profile = service
        .turn(TurnKind::Turn, 20 * SECOND + 500 * MS, 200 * MS, [10 * MS, 180 * MS, 170 * MS])
        .turn(TurnKind::Stopped, 25 * SECOND + 500 * MS, 300 * MS, [0, 0, 0])
        .done();
    let page = page_report(&profile);
    let found = |id: &str| page.findings.iter().find(|row| row.id == id).unwrap();
    let child = found("sync-child-process");
    assert_eq!((child.threads.as_slice(), child.spans.len()), ([main].as_slice(), 30));
    assert!(child.spans.iter().all(|span| (span.thread, span.duration_ns()) == (main, 304 * MS)));
    let name = |id: FunctionId| profile.text(profile.functions().name[id.index()]);
    assert_eq!(child.function.map(name), Some("deployStatus"));
    let limit = found("cpu-limit");
    assert!(limit.threads.is_empty() && limit.function.is_none(), "it is about the process");
    let [span] = limit.spans[..] else { panic!("{:?}", limit.spans) };
    assert_eq!((span.start_ns, span.duration_ns()), (20 * SECOND + 500 * MS, 200 * MS));
    let [stop] = page.stops[..] else { panic!("{:?}", page.stops) };
    assert_eq!((stop.start_ns, stop.duration_ns()), (25 * SECOND + 500 * MS, 300 * MS));
}

#[test]
fn the_page_knows_which_seconds_were_throttled() {
    let service = Service::new(10).watched(SECOND).counted(300 * MS, 650 * MS, Some((9, 640 * MS)));
    let page = page_report(&service.done());
    let held_back: Vec<(u64, u64)> =
        page.throttled.iter().map(|row| (row.start_ns / SECOND, row.throttled_ns)).collect();
    assert_eq!(held_back, (0..10).map(|second| (second, 640 * MS)).collect::<Vec<_>>());
    assert!(page_report(&Service::new(2).done()).throttled.is_empty());
}

#[test]
fn a_function_keeps_its_name_in_a_sentence() {
    let service = Service::new(10).watched(9 * SECOND);
    let main = service.main;
    let spent = [profile::UNKNOWN; 3];
    let nameless: Code = ("(anonymous)", "/srv/a.js", 7, profile::Category::App);
    let profile = service
        .turn(TurnKind::Turn, 0, 190 * MS, spent)
        .ran(main, &[TIMERS, CLONE], 0, 190 * MS)
        .turn(TurnKind::Turn, SECOND, 180 * MS, spent)
        .ran(main, &[TIMERS, nameless], SECOND, 180 * MS)
        .done();
    let report = report(&profile, &Selection::default());
    let expected = "19 of 19 samples in cloneDeep (lodash/cloneDeep.js:3).";
    assert!(texts(&report).contains(&expected), "{:?}", texts(&report));
    let words: Vec<String> =
        page_report(&profile).stalls.into_iter().map(|stall| stall.text).collect();
    assert_eq!(
        words,
        ["190 ms at 0.000 s in cloneDeep", "180 ms at 1.000 s in (anonymous) a.js:7"]
    );
}

#[test]
fn the_page_gets_more_findings_than_the_report_shows() {
    let mut service = Service::new(30).watched(25 * SECOND);
    let main = service.main;
    let names = ["one", "two", "three", "four", "five", "six", "seven"];
    for (row, name) in (0u64..).zip(names) {
        let code: Code = (name, "/srv/a.js", 1, profile::Category::App);
        let start = row * 2 * SECOND;
        let length = (7 - row) * 100 * MS;
        service = service.turn(TurnKind::Turn, start, length, [length, 0, 0]);
        service = service.ran(main, &[TIMERS, code], start, length);
    }
    let page = page_report(&service.done());
    let starts: Vec<u64> = page.findings.iter().map(|row| row.spans[0].start_ns / SECOND).collect();
    assert_eq!(starts, [0, 2, 4, 6, 8, 10, 12]);
    assert_eq!(views::report::more_findings(2), "… and 2 more; report -n 0 shows all");
}

#[test]
fn a_loop_that_was_not_watched_is_busy_without_a_pause() {
    let mut service = Service::new(3);
    service.builder.meta().interval_ns = Some(INTERVAL);
    let (main, helper) = (service.main, service.helper);
    let profile = service
        .ran(main, &[TIMERS, RENDER], 0, 30 * MS)
        .ran(main, &[TIMERS, RENDER], SECOND, 200 * MS)
        .ran(main, &[TIMERS, POLL], 2 * SECOND, 300 * MS)
        .ran(helper, &[MARK_COMPACT], 0, SECOND)
        .done();
    let page = page_report(&profile);
    let texts: Vec<&str> = page.busy.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(texts, ["300 ms at 2.000 s in poll", "200 ms at 1.000 s in render"]);
    assert!(page.watched.is_empty() && page.stalls.is_empty());
}

/// Ten seconds in which `render` has a part of each second, and `poll` the rest.
fn shop(render: u64, extra: Option<Code>, render_line: u32) -> Profile {
    let mut service = Service::new(10);
    let (main, helper) = (service.main, service.helper);
    let render_code: Code = (RENDER.0, RENDER.1, render_line, RENDER.3);
    for second in 0..10 {
        let start = second * SECOND;
        service = service.ran(main, &[TIMERS, render_code], start, render * INTERVAL);
        let behind = start + render * INTERVAL;
        service = service.ran(main, &[TIMERS, POLL], behind, (90 - render) * INTERVAL);
        let code = extra.unwrap_or(POLL);
        service = service.ran(main, &[TIMERS, code], start + 90 * INTERVAL, 10 * INTERVAL);
        service = service.ran(helper, &[MARK_COMPACT], start, 50 * INTERVAL);
    }
    service.done()
}

fn changes(comparison: &Comparison) -> Vec<(&str, &str, &str)> {
    comparison
        .changes
        .iter()
        .map(|change| (change.name.as_str(), change.verdict, change.text.as_str()))
        .collect()
}

#[test]
fn what_changed_between_two_recordings_is_distinguished_from_noise() {
    let (before, now) = (shop(20, None, 12), shop(50, Some(CLONE), 14));
    let loops = compare(&before, &now, Compared::Loops, Measure::Rate);
    assert_eq!(
        loops.text,
        "The main loop used 1.00 cores before and 1.00 after: the same within noise."
    );
    assert_eq!(loops.intro, "Largest changes of own time, beyond noise:");
    assert_eq!(
        changes(&loops),
        [
            ("poll", "less", "−0.40 cores, 0.80 → 0.40"),
            ("render", "more", "+0.30 cores, 0.20 → 0.50"),
            ("cloneDeep", "new", "new, 0.10 cores"),
        ],
        "a function that moved by two lines is the same one"
    );
    let all = compare_all(&before, &now);
    let has = |found: &Comparison, text| changes(found).contains(&("cloneDeep", "new", text));
    assert!(has(&all.loop_shares, "new, 10.0 %"), "of the loop");
    assert!(has(&all.thread_shares, "new, 6.7 %"), "of all threads");
    assert!(has(&all.threads, "new, 0.10 cores"), "in a second, whatever else runs");
    let back = compare(&now, &before, Compared::Loops, Measure::Rate);
    let gone = back.changes.iter().find(|change| change.verdict == "gone").unwrap();
    assert_eq!((gone.name.as_str(), gone.text.as_str()), ("cloneDeep", "gone, 0.10 cores"));
    assert_eq!(gone.function.index(), before.functions().len(), "behind those of the newer one");
    let same = compare(&now, &now, Compared::Threads, Measure::Rate);
    assert!(same.changes.is_empty());
    assert_eq!(same.intro, "No function changed by more than noise.");
}

/// A fix looks like a fix: what it did not touch has a larger share, and used as much as before.
#[test]
fn a_fix_leaves_the_rest_as_it_was() {
    let half = |render: u64| {
        let mut service = Service::new(10);
        let main = service.main;
        for second in 0..10 {
            let start = second * SECOND;
            service = service.ran(main, &[TIMERS, POLL], start, 40 * INTERVAL);
            let behind = start + 40 * INTERVAL;
            service = service.ran(main, &[TIMERS, RENDER], behind, render * INTERVAL);
        }
        service.done()
    };
    let (before, now) = (half(50), half(10));
    let fixed = compare(&before, &now, Compared::Loops, Measure::Rate);
    assert_eq!(fixed.text, "The main loop used 0.40 cores less (44 %): 0.90 before, 0.50 after.");
    assert_eq!(changes(&fixed), [("render", "less", "−0.40 cores, 0.50 → 0.10")]);
    let shares = compare(&before, &now, Compared::Loops, Measure::Share);
    assert_eq!(shares.text, fixed.text, "the whole is given as rates");
    assert_eq!(shares.changes.len(), 2, "{:?}", shares.changes);
}

#[test]
fn few_samples_prove_no_change() {
    let one = |code: Code| {
        let service = Service::new(10);
        let main = service.main;
        service.ran(main, &[TIMERS, code], SECOND, 2 * INTERVAL).done()
    };
    let found = compare(&one(RENDER), &one(POLL), Compared::Loops, Measure::Rate);
    assert!(found.changes.is_empty(), "{:?}", found.changes);
}

#[test]
fn the_main_loop_is_compared_with_the_main_loop() {
    // The newer recording has one thread: all of it is the main loop.
    let mut service = Service::new(10);
    service.builder.set_role(service.main, Role::MainLoop);
    let main = service.main;
    let now = service.ran(main, &[TIMERS, POLL], 0, 9 * SECOND).done();
    let found = compare(&shop(0, None, 12), &now, Compared::Loops, Measure::Rate);
    assert!(
        found.changes.is_empty(),
        "the helper's collections are no change: {:?}",
        found.changes
    );
}
