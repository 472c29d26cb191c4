//! Every kind of finding: what it takes for one, what is just not enough, its text, and that the same time is reported
//! once.

use std::collections::BTreeSet;

use profile::{
    Category, Delay, Function, LaneInfo, Loop, ModuleId, Package, PackageUse, Process, Role,
    Sample, SourceId, StringId, Thread, ThreadId, TurnKind, UNKNOWN, Unit,
};
use views::{
    Collection, Finding, Findings, Report, Selection, Work, finding_ids, findings, weigh_busy,
};

use crate::service::*;

pub const LIST: Code = ("list", "/srv/server.js", 10, Category::App);
pub const COPY: Code = ("copySettings", "/srv/settings.js", 6, Category::App);
pub const PARSE: Code = ("v8::internal::Builtin_JsonParse(int)", "", 0, Category::Runtime);
const STRINGIFY: Code = ("v8::internal::Builtin_JsonStringify(int)", "", 0, Category::Runtime);
pub const SCAVENGE: Code = ("Heap::Scavenge", "", 0, Category::Gc);

pub fn found(service: Service) -> Findings {
    findings(&service.done(), &Selection::default())
}

pub fn ids(found: &Findings) -> Vec<&'static str> {
    found.list.iter().map(|found| found.id).collect()
}

pub fn words(service: Service) -> Vec<String> {
    let profile = service.done();
    let (selection, weights) = weigh_busy(&profile, &Selection::default());
    let report = Report::without_lists(&profile, &weights, &selection);
    let text = report.findings.into_iter().flat_map(|row| row.text);
    // What a request pays has tests of its own.
    text.filter(|line| !line.contains("; a request ") && !line.starts_with("A request ")).collect()
}

/// Samples of a stack with functions of a package, spread evenly over the whole time.
pub fn spread(mut service: Service, codes: &[Code], package: &str, time_ns: u64) -> Service {
    let stack = stack_of(&mut service.builder, codes, package);
    let info = LaneInfo { name: "cpu-clock", unit: Unit::Ns, timed: true, counted: true };
    let (lane, thread) = (service.builder.lane(info), service.main);
    let count = time_ns / INTERVAL;
    let step_ns = service.builder.meta().duration_ns / count.max(1);
    for row in 0..count {
        let sample = Sample { time_ns: row * step_ns, thread, stack, weight: INTERVAL };
        service.builder.sample(lane, sample);
    }
    service
}

/// Another process of the same program, whose loop was watched and was free for so long.
pub fn sibling(service: Service, pid: u32, polled_ns: u64) -> (Service, ThreadId) {
    started_by(None, service, pid, polled_ns)
}

/// The same where it is known who started it.
pub fn started_by(
    parent_pid: Option<u32>,
    mut service: Service,
    pid: u32,
    polled_ns: u64,
) -> (Service, ThreadId) {
    let builder = &mut service.builder;
    let name = builder.string("node");
    let process = Process { pid: Some(pid), name, parent_pid, ..Process::default() };
    let process = builder.process(process);
    let role = Role::MainLoop;
    let thread = builder.thread(Thread { process, tid: Some(pid), name, role });
    let end_ns = builder.meta().duration_ns;
    let problem = StringId::NONE;
    builder.event_loop(Loop { thread, start_ns: 0, end_ns, polled_ns, turns: UNKNOWN, problem });
    (service, thread)
}

/// A loop that is free for most of its time, and does this for a part of it, in short turns.
pub fn doing(codes: &[Code], package: &str, time_ns: u64) -> Service {
    let stack: Vec<Code> = [&[TIMERS, LIST], codes].concat();
    spread(Service::new(10).watched(5 * SECOND), &stack, package, time_ns)
}

/// Each kind of work, its frame, what is enough of ten seconds, what is not, and what it is called.
#[test]
fn each_kind_of_work_has_a_threshold() {
    let node = |name, script| (name, script, 60, Category::NodeCore);
    let native = |name, category| (name, "", 0, category);
    let lodash = ("cloneDeep", "/srv/node_modules/lodash/lodash.js", 9, Category::Dependency);
    let rows: &[(Code, &str, [u64; 2], &str, &str)] = &[
        (EXEC_SYNC, "", [800, 300], "sync-child-process", "execSync"),
        (node("readFileSync", "node:fs"), "", [1500, 800], "sync-files", "readFileSync"),
        (
            node("pbkdf2Sync", "node:internal/crypto/pbkdf2"),
            "",
            [1500, 800],
            "sync-crypto",
            "pbkdf2Sync",
        ),
        (node("gzipSync", "node:zlib"), "", [1500, 800], "sync-compression", ""),
        (
            node("log", "node:internal/console/constructor"),
            "",
            [1500, 800],
            "console-output",
            "console.log",
        ),
        (
            native("anon_pipe_write", Category::Kernel),
            "",
            [1500, 800],
            "console-output",
            "process.stdout/stderr.write",
        ),
        (native("Builtins_RegExpPrototypeTest", Category::Regexp), "", [2500, 1800], "regexp", ""),
        (PARSE, "", [2500, 1800], "json", "JSON.parse"),
        (STRINGIFY, "", [2500, 1800], "json", "JSON.stringify"),
        (
            native("node::worker::StructuredClone", Category::NodeCore),
            "",
            [2500, 1800],
            "deep-copy",
            "structuredClone",
        ),
        (lodash, "lodash", [2500, 1800], "deep-copy", "cloneDeep"),
        (
            node("Module._load", "node:internal/modules/cjs/loader"),
            "",
            [800, 300],
            "module-loading",
            "require",
        ),
        (
            native("v8::internal::Compiler::Compile", Category::Compiler),
            "",
            [2500, 1800],
            "compiling",
            "",
        ),
    ];
    for (code, package, [enough, little], id, call) in rows {
        let seen = found(doing(&[COPY, *code], package, enough * MS));
        assert_eq!(ids(&seen), [*id], "{code:?}");
        let Finding::Called(called) = &seen.list[0].finding else { panic!("{:?}", seen.list) };
        let calls: Vec<&str> = called.callers[0].calls.iter().map(String::as_str).collect();
        assert_eq!(calls.join(","), *call, "{code:?}");
        assert_eq!(seen.list[0].lost_ns, enough * MS, "{code:?}");
        assert_eq!(ids(&found(doing(&[COPY, *code], package, little * MS))), [""; 0], "{code:?}");
    }
}

#[test]
fn work_is_reported_with_its_callers() {
    let service = doing(&[COPY, PARSE], "", 2 * SECOND);
    let service = spread(service, &[TIMERS, LIST, COPY, STRINGIFY], "", SECOND);
    assert_eq!(
        words(service),
        [
            "JSON took 30 % of the time of the event loop.",
            "JSON.parse and JSON.stringify in list (server.js:10) → copySettings (settings.js:6).",
            "Send or keep less of it, or parse it in a worker thread.",
        ]
    );
}

/// The code of a pattern stands below V8's functions for all patterns.
#[test]
fn a_regular_expression_is_reported_with_its_pattern() {
    let test: Code = ("Builtins_RegExpPrototypeTest", "", 0, Category::Regexp);
    let pattern: Code = (r"/^(\w+\s?)*$/", "", 0, Category::Regexp);
    assert_eq!(
        words(doing(&[COPY, test, pattern], "", 4 * SECOND))[1],
        r"/^(\w+\s?)*$/ in list (server.js:10) → copySettings (settings.js:6)."
    );
}

/// Few samples prove nothing, whatever their share is.
#[test]
fn few_samples_are_no_evidence() {
    let short = Service::new(1).watched(500 * MS);
    let short = spread(short, &[TIMERS, LIST, PARSE], "", 290 * MS);
    assert_eq!(ids(&found(short)), [""; 0]);
}

/// A stall that is mostly one kind of work is reported with that work, and not once more.
#[test]
fn stalls_belong_to_their_work() {
    let mut service = Service::new(10).watched(8 * SECOND);
    let main = service.main;
    for second in 0..4 {
        let start = second * 2 * SECOND;
        service = service.turn(TurnKind::Turn, start, 400 * MS, [390 * MS, 10 * MS, 0]);
        service = service.ran(main, &[TIMERS, LIST, COPY, PARSE], start, 300 * MS);
        service = service.ran(main, &[TIMERS, LIST, COPY], start + 300 * MS, 100 * MS);
    }
    let profile = service.done();
    let seen = findings(&profile, &Selection::default());
    assert_eq!(ids(&seen), ["json"]);
    assert_eq!(seen.list[0].lost_ns, 1_600 * MS);
    let Finding::Called(called) = &seen.list[0].finding else { panic!("{:?}", seen.list) };
    assert_eq!((called.stalls[0].count, called.stalls[0].work), (4, Work::Json));
}

/// A regular expression that a callback leaves is the callback's own work again; a module that is loaded is not.
#[test]
fn functions_of_people_do_their_own_work() {
    let replace: Code = ("Builtins_RegExpReplace", "", 0, Category::Regexp);
    let seen = found(doing(&[COPY, replace, RENDER], "", 4 * SECOND));
    assert_eq!(ids(&seen), [""; 0], "what render does is no regular expression");
    let load: Code = ("Module._load", "node:internal/modules/cjs/loader", 1000, Category::NodeCore);
    let seen = found(doing(&[COPY, load, RENDER], "", 4 * SECOND));
    assert_eq!(ids(&seen), ["module-loading"], "what a module does while it is loaded is loading");
}

/// Modules are loaded before a loop serves.
#[test]
fn a_start_is_no_finding() {
    let load: Code = ("Module._load", "node:internal/modules/cjs/loader", 1000, Category::NodeCore);
    let service = Service::new(10).watched(6 * SECOND);
    let main = service.main;
    let service = service.turn(TurnKind::Startup, 0, 3 * SECOND, [3 * SECOND, 0, 0]);
    assert_eq!(ids(&found(service.ran(main, &[load, RENDER], 0, 3 * SECOND))), [""; 0]);
}

/// The path from the entry to the function that nearly all of a stall went through.
#[test]
fn stalls_have_a_path() {
    let nightly: Code = ("nightlyReport", "/srv/server.js", 13, Category::App);
    let nameless: Code = ("(anonymous)", "/srv/server.js", 14, Category::App);
    let aggregate: Code = ("aggregateOrders", "/srv/orders.js", 9, Category::App);
    let summarise: Code = ("summarise", "/srv/orders.js", 3, Category::App);
    let compare: Code = ("compare", "/srv/orders.js", 30, Category::App);
    let mut service = Service::new(30).watched(26 * SECOND);
    let main = service.main;
    for row in 0..8 {
        let start = row * 3_700 * MS;
        let path = [TIMERS, nightly, nameless, aggregate, summarise, compare];
        service = service.turn(TurnKind::Turn, start, 400 * MS, [400 * MS, 0, 0]);
        // What it calls takes turns; in one of them a helper has nearly all.
        let (own, helper) = if row == 5 { (50, 350) } else { (250, 150) };
        service = service.ran(main, &path[..5], start, own * MS);
        service = service.ran(main, &path, start + own * MS, helper * MS);
    }
    assert_eq!(
        words(service),
        [
            "The event loop stood still 8 times, 400 ms each, every 3.7 s: 3.2 s of 30 s.",
            "On the CPU, 98 % of it in nightlyReport (server.js:13) → aggregateOrders → summarise (orders.js:3).",
        ]
    );
}

/// One short stall in ten seconds is nothing to look at; a long one, or several, are.
#[test]
fn one_short_stall_is_no_finding() {
    let stalls = |lengths: &[u64]| {
        let mut service = Service::new(10).watched(9 * SECOND);
        let main = service.main;
        for (start, length) in (0u64..).zip(lengths) {
            let start = start * SECOND;
            service = service.turn(TurnKind::Turn, start, length * MS, [length * MS, 0, 0]);
            service = service.ran(main, &[TIMERS, LIST], start, length * MS);
        }
        ids(&found(service))
    };
    assert_eq!((stalls(&[60]), stalls(&[60, 60])), (vec![], vec![]));
    assert_eq!((stalls(&[110]), stalls(&[60, 60, 60])), (vec!["stalls"], vec!["stalls"]));
}

/// Full collections that stop a loop now and then cost little of its time, and are felt.
#[test]
fn long_collections_are_reported_with_their_rhythm() {
    let mut service = Service::new(30).watched(25 * SECOND);
    let main = service.main;
    for row in 0..3 {
        let start = (row * 9_800 + 500) * MS;
        service = service.turn(TurnKind::Turn, start, 310 * MS, [310 * MS, 0, 0]);
        service = service.ran(main, &[TIMERS, COPY, MARK_COMPACT], start, 310 * MS);
    }
    // Scavenges that are shorter than two intervals are in the sums alone.
    for row in 0..40 {
        service = service.ran(main, &[TIMERS, RENDER, SCAVENGE], (row * 700 + 300) * MS, INTERVAL);
    }
    let profile = service.done();
    let seen = findings(&profile, &Selection::default());
    assert_eq!((ids(&seen), seen.gc.pauses.len()), (vec!["gc"], 3));
    let Finding::Gc(gc) = &seen.list[0].finding else { panic!("{:?}", seen.list) };
    assert_eq!((gc.kind, gc.paused_ns), (Some(Collection::Full), 930 * MS));
    let (selection, weights) = weigh_busy(&profile, &Selection::default());
    let report = Report::without_lists(&profile, &weights, &selection);
    assert_eq!(
        report.findings[0].text[..3],
        [
            "Full garbage collections stopped the event loop 3 times, 310 ms each: 930 ms of 30 s.",
            "All began while copySettings (settings.js:6) allocated. CPU samples do not show what stays alive.",
            "All collections together took 4 % of the time of the event loop (100 % of its CPU time).",
        ]
    );
}

/// V8 also collects in tasks of its own, between turns: then no function is running, but most was allocated by one.
#[test]
fn collections_that_no_function_began_have_one_that_allocated() {
    let mut service = Service::new(30).watched(25 * SECOND);
    let main = service.main;
    for row in 0..3 {
        let start = (row * 9_800 + 500) * MS;
        service = service.turn(TurnKind::Turn, start, 110 * MS, [110 * MS, 0, 0]);
        service = service.ran(main, &[SCAVENGE], start, 110 * MS);
    }
    service = service.ran(main, &[TIMERS, COPY, SCAVENGE], 2 * SECOND, SECOND);
    assert_eq!(
        words(service)[..2],
        [
            "Collections of young objects stopped the event loop 3 times, 110 ms each: 330 ms of 30 s.",
            "copySettings (settings.js:6) allocated during 75 % of all collections. CPU samples do not show what stays alive.",
        ]
    );
}

/// Many short collections have no pause to report, and cost much together.
#[test]
fn short_collections_are_reported_by_their_share() {
    let service = doing(&[COPY, SCAVENGE], "", 2 * SECOND);
    let text = words(service);
    assert_eq!(
        text[0],
        "Garbage collection took 20 % of the time of the event loop (100 % of its CPU time)."
    );
    assert!(
        text.contains(&"They were many short collections, mostly of young objects.".to_owned()),
        "{text:?}"
    );
    assert_eq!(
        ids(&found(doing(&[COPY, SCAVENGE], "", SECOND))),
        [""; 0],
        "a tenth is not surely more"
    );
}

/// A loop that waits for V8's helper threads is in a collection.
#[test]
fn waiting_for_the_collectors_threads_is_a_collection() {
    let service = Service::new(10).watched(9 * SECOND);
    let service = service.turn(TurnKind::Turn, SECOND, 300 * MS, [20 * MS, 0, 0]);
    let service = service.slept(&[TIMERS, COPY, MARK_COMPACT, EPOLL], SECOND + 51 * MS, 240 * MS);
    let seen = found(service);
    assert_eq!(ids(&seen), ["gc"]);
    let Finding::Gc(gc) = &seen.list[0].finding else { panic!("{:?}", seen.list) };
    assert_eq!(
        gc.rhythm.unwrap().longest_ns,
        280 * MS,
        "what it waited for, and not what ran before"
    );
}

/// The same where it waits for the CPU that they run on: there are fewer CPUs than threads.
#[test]
fn waiting_for_the_collectors_cpu_is_a_collection() {
    let stall = |collected_ms: u64, own: Code, own_ms: u64| {
        let service = Service::new(10).watched(9 * SECOND);
        let (main, helper) = (service.main, service.helper);
        let service = service.turn(TurnKind::Turn, SECOND, 300 * MS, [60 * MS, 240 * MS, 0]);
        let service = service.ran(main, &[TIMERS, COPY, own], SECOND, own_ms * MS);
        found(service.ran(helper, &[MARK_COMPACT], SECOND, collected_ms * MS))
    };
    let seen = stall(200, MARK_COMPACT, 40);
    assert_eq!(ids(&seen), ["gc"]);
    assert_eq!(seen.gc.loops[0].waited_ns, 240 * MS);
    assert_eq!(seen.gc.loops[0].of_time, Some(0.028), "what ran, and what waited");
    assert_eq!(ids(&stall(20, MARK_COMPACT, 40)), ["cpu-wait"], "the helpers hardly ran");
    assert_eq!(ids(&stall(200, RENDER, 120)), ["cpu-wait"], "the loop did something else");
}

#[test]
fn a_hot_package_names_who_calls_it() {
    let render: Code = ("render", "/srv/node_modules/ejs/lib/ejs.js", 400, Category::Dependency);
    let escape: Code =
        ("escapeXML", "/srv/node_modules/ejs/lib/utils.js", 80, Category::Dependency);
    let stack = [COPY, render, escape];
    assert_eq!(
        words(doing(&stack, "ejs", 4 * SECOND)),
        [
            "The package ejs took 40 % of the time of the event loop.",
            "100 % of that was for list (server.js:10) → copySettings (settings.js:6) → render of ejs.",
        ]
    );
    assert_eq!(ids(&found(doing(&stack, "ejs", 2 * SECOND))), [""; 0]);
    // What it does that has a finding of its own is reported there.
    let seen = found(doing(&[COPY, render, PARSE], "ejs", 4 * SECOND));
    assert_eq!(ids(&seen), ["json"]);
}

/// Who is to change something: the package has a version, and others pulled it in.
#[test]
fn a_hot_package_has_a_version_and_users() {
    let render: Code = ("render", "/srv/node_modules/ejs/lib/ejs.js", 400, Category::Dependency);
    let text = |users: &[(&str, &str)]| {
        let mut service = doing(&[COPY, render], "ejs", 4 * SECOND);
        let builder = &mut service.builder;
        let mut package = |name: &str, version: &str| {
            let (name, version) = (builder.string(name), builder.string(version));
            let row = Package { name, version, folder: name, own: false };
            (builder.package(row), row)
        };
        let (ejs, row) = package("ejs", "3.1.10");
        let users: Vec<_> = users.iter().map(|(name, version)| package(name, version).0).collect();
        let (name, source, module) = (row.name, SourceId::NONE, ModuleId::NONE);
        let (package, version) = (row.name, row.version);
        builder.function(Function { name, source, line: 1, column: 0, module, package, version });
        users.into_iter().for_each(|by| builder.package_use(PackageUse { by, package: ejs }));
        words(service)[..2].to_vec()
    };
    let cost = "The package ejs 3.1.10 took 40 % of the time of the event loop.";
    let views = ("@acme/views", "2.0.1");
    assert_eq!(text(&[views]), [cost, "It was pulled in by @acme/views 2.0.1."]);
    assert_eq!(
        text(&[views, ("mailer", "1.2.0")]),
        [cost, "It was pulled in by @acme/views 2.0.1 and another package."]
    );
    assert_eq!(
        text(&[views, ("mailer", "1.2.0"), ("zine", "0.1.0")])[1],
        "It was pulled in by @acme/views 2.0.1 and 2 other packages."
    );
}

#[test]
fn a_busy_loop_names_its_causes_once() {
    let service = Service::new(10).watched(SECOND);
    let busy = spread(service, &[TIMERS, RENDER], "", 6 * SECOND);
    let busy = spread(busy, &[TIMERS, POLL], "", 3 * SECOND);
    assert_eq!(
        words(busy),
        [
            "The event loop was busy 90 % of the time, mostly with short turns: what arrives has to queue.",
            "Largest causes: render (views.js:12) 67 %, poll (server.js:4) 33 %.",
        ]
    );
    // An immediate that asks for the next one keeps the loop busy, and does almost nothing itself.
    let turning = spread(Service::new(10).watched(SECOND), &[TIMERS], "", 8 * SECOND);
    assert_eq!(
        words(spread(turning, &[TIMERS, POLL], "", SECOND))[1..],
        [
            "Largest causes: poll (server.js:4) 11 %.",
            "89 % of it was for none of your functions: packages, Node, and the loop itself where it never waits.",
        ]
    );
    let service = Service::new(10).watched(SECOND);
    let service = spread(service, &[TIMERS, RENDER, PARSE], "", 8 * SECOND);
    assert_eq!(ids(&found(service)), ["json"], "most of it is JSON: that is reported");
}

/// A loop with room, in turns that are long enough: half of all requests wait for the rest of one.
#[test]
fn a_long_median_is_a_busy_loop_with_room() {
    let turns = |polled: u64, delay_us: u64| {
        let mut service = Service::new(10).watched(polled * SECOND);
        for second in 0..10 {
            let (thread, start_ns, moments) = (service.main, second * SECOND, 30);
            let end_ns = start_ns + SECOND;
            service.builder.delay(Delay { thread, start_ns, end_ns, delay_us, moments });
        }
        spread(service, &[TIMERS, RENDER], "", (10 - polled) * SECOND)
    };
    assert_eq!(
        words(turns(3, 20_480)),
        [
            "The event loop was busy 70 % of the time, mostly with short turns: half of all requests waited 20 ms or longer.",
            "Largest causes: render (views.js:12) 100 %.",
        ]
    );
    assert_eq!(ids(&found(turns(3, 8_192))), [""; 0], "below 10 ms");
    assert_eq!(ids(&found(turns(6, 20_480))), [""; 0], "most requests find it free");
    // Where the process waits for a CPU, that makes its turns long.
    let waiting = turns(3, 20_480).counted(200 * MS, 500 * MS, None);
    assert_eq!(ids(&found(waiting)), ["cpu-wait"]);
    // With a cause that would leave the loop free for half of the time, that comes first.
    let collecting = spread(turns(3, 20_480), &[TIMERS, RENDER, SCAVENGE], "", 3 * SECOND);
    assert_eq!(ids(&found(collecting)), ["gc", "busy-loop"]);
}

#[test]
fn one_bad_worker_is_distinguished_from_too_much_load() {
    let cluster = |polled: [u64; 3]| {
        // The service itself is the primary process: it has the lowest pid.
        let service = Service::new(10).watched(10 * SECOND);
        let (service, _) = sibling(service, 5001, polled[0] * SECOND);
        let (service, bad) = sibling(service, 5002, polled[1] * SECOND);
        let (service, _) = sibling(service, 5003, polled[2] * SECOND);
        service.ran(bad, &[TIMERS, LIST, RENDER], 0, 6 * SECOND)
    };
    let seen = found(cluster([9, 3, 9]));
    assert_eq!(ids(&seen), ["bad-worker"]);
    assert_eq!(
        words(cluster([9, 3, 9]))[0],
        "Pid 5002 was busy 70 % of the time, the 2 other workers about 10 %: one bad process, not too much load."
    );
    assert_eq!(words(cluster([9, 3, 9]))[1..], ["Largest causes: render (views.js:12) 100 %."]);
    assert_eq!(ids(&found(cluster([3, 3, 4]))), [""; 0], "all are busy");
    // A cause is reported with it, and not once more.
    let saturated = cluster([9, 1, 9]);
    let Finding::BadWorker(worker) = &found(saturated).list[0].finding else { panic!() };
    assert_eq!(worker.cause.as_ref().unwrap().id, "busy-loop");
}

/// Only the parent shows which process started the others: a worker may have the lowest pid.
#[test]
fn a_bad_worker_may_have_the_lowest_pid() {
    let recorded = |parents: [u32; 4], polled: [u64; 4]| {
        let mut service = Service::new(10);
        for (row, (parent, polled)) in (0..).zip(parents.into_iter().zip(polled)) {
            (service, _) = started_by(Some(parent), service, 5001 + row, polled * SECOND);
        }
        words(service)
    };
    let bad = "Pid 5001 was busy 70 % of the time, the 3 other workers about 10 %: one bad process, not too much load.";
    assert_eq!(recorded([1, 1, 1, 1], [3, 9, 9, 9]), [bad], "started by what was not recorded");
    assert_eq!(recorded([1, 5001, 5001, 5001], [3, 9, 9, 9]), [""; 0], "it started the others");
    let of_two = bad.replace("the 3 other", "the 2 other");
    assert_eq!(recorded([1, 5001, 1, 1], [3, 9, 9, 9]), [of_two], "it started a helper");
}

#[test]
fn waiting_for_memory_is_a_finding() {
    let mut service = Service::new(10).watched(9 * SECOND);
    service.builder.second(profile::Second {
        process: service.process,
        start_ns: 0,
        end_ns: 10 * SECOND,
        run_ns: SECOND,
        ready_ns: 0,
        periods: UNKNOWN,
        throttled_periods: UNKNOWN,
        throttled_ns: UNKNOWN,
        cpu_pressure_ns: 0,
        memory_pressure_ns: 2 * SECOND,
    });
    assert_eq!(ids(&found(service)), ["memory-pressure"]);
}

/// Programs rely on these names, and docs/report.md has a row for each.
#[test]
fn every_finding_is_documented() {
    let text = include_str!("../../../docs/report.md");
    let ids: Vec<&str> = finding_ids().collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "a name twice");
    for id in ids {
        assert!(text.contains(&format!("| `{id}` |")), "docs/report.md has no row for {id}");
    }
}

/// A sort calls its comparator, which has no name: the function that sorts has the work of both.
#[test]
fn a_callback_without_a_name_counts_for_its_caller() {
    let sort: Code = ("Builtins_ArrayPrototypeSort", "", 0, Category::Builtin);
    let compare: Code = ("(anonymous)", "/srv/views.js", 14, Category::App);
    let elsewhere: Code = ("(anonymous)", "/srv/other.js", 3, Category::App);
    let busy = |callback: Code| {
        let service = Service::new(10).watched(SECOND);
        let service = spread(service, &[TIMERS, RENDER], "", 4 * SECOND);
        words(spread(service, &[TIMERS, RENDER, sort, callback], "", 5 * SECOND))[1].clone()
    };
    assert_eq!(busy(compare), "Largest causes: render (views.js:12) 100 %.");
    assert_eq!(
        busy(elsewhere),
        "Largest causes: (anonymous) (other.js:3) 56 %, render (views.js:12) 44 %."
    );
}

/// Without its collections the loop would have time: they are the cause, although other turns have more of it.
#[test]
fn a_loop_that_is_busy_collecting_is_reported_so_first() {
    let busy = |own: u64, collecting: u64| {
        let service = Service::new(10).watched((10 - own - collecting) * SECOND);
        let service = spread(service, &[TIMERS, RENDER], "", own * SECOND);
        ids(&found(spread(service, &[TIMERS, RENDER, SCAVENGE], "", collecting * SECOND)))
    };
    assert_eq!(busy(5, 4), ["gc", "busy-loop"]);
    assert_eq!(busy(8, 2), ["busy-loop", "gc"], "collections alone do not make it so busy");
}
