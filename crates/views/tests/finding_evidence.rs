//! What a finding takes as evidence: waiting is distinguished from working, a start from serving, a few samples from
//! many.

use profile::{
    Category, FunctionId, LaneInfo, ProcessId, Sample, Second, TurnKind, UNKNOWN, Unit, WAITS_LANE,
};
use views::{Finding, Findings, Selection, findings};

use crate::finding_rules::{COPY, LIST, PARSE, SCAVENGE, found, ids, spread, started_by, words};
use crate::service::*;

const TIMEOUT: Code = ("listOnTimeout", "node:internal/timers", 500, Category::NodeCore);
const MAIN: Code = ("(top level)", "node:internal/main/run_main_module", 1, Category::NodeCore);
const LOAD: Code = ("Module._load", "node:internal/modules/cjs/loader", 1000, Category::NodeCore);

/// Other recorders do not record when a loop began to serve: what asked for the modules does.
#[test]
fn modules_that_a_start_loads_are_no_finding() {
    let unwatched = |codes: &[Code]| ids(&found(spread(Service::new(10), codes, "", 4 * SECOND)));
    assert_eq!(unwatched(&[MAIN, LOAD, RENDER]), [""; 0], "a script");
    assert_eq!(unwatched(&[LOAD, RENDER]), [""; 0], "an ES module");
    assert_eq!(unwatched(&[TIMEOUT, LIST, LOAD, RENDER]), ["module-loading"]);
    // What a program reads and compiles to start delays no request.
    let read: Code = ("readFileSync", "node:fs", 441, Category::NodeCore);
    assert_eq!(unwatched(&[MAIN, COPY, read]), [""; 0]);
    assert_eq!(unwatched(&[TIMEOUT, COPY, read]), ["sync-files"]);
    // Where the recorder saw the first poll, it knows. ES modules are evaluated behind it.
    let watched = || Service::new(10).watched(5 * SECOND);
    let begun = watched().turn(TurnKind::Startup, 0, 100 * MS, [100 * MS, 0, 0]);
    assert_eq!(ids(&found(spread(watched(), &[LOAD, RENDER], "", SECOND))), ["module-loading"]);
    assert_eq!(ids(&found(spread(begun, &[LOAD, RENDER], "", SECOND))), [""; 0]);
    let loads = |service: Service| {
        let service = service.turn(TurnKind::Turn, SECOND, 400 * MS, [400 * MS, 0, 0]);
        let main = service.main;
        ids(&found(service.ran(main, &[LOAD, RENDER], SECOND, 400 * MS)))
    };
    assert_eq!(loads(watched()), ["module-loading"]);
    assert_eq!(loads(watched().turn(TurnKind::Startup, 0, 100 * MS, [100 * MS, 0, 0])), [""; 0]);
    // What loads long after the start serves, also where the recorder saw the start.
    let late = Service::new(60).watched(50 * SECOND);
    let late = late.turn(TurnKind::Startup, 0, 100 * MS, [100 * MS, 0, 0]);
    let late = late.turn(TurnKind::Turn, 40 * SECOND, 400 * MS, [400 * MS, 0, 0]);
    let main = late.main;
    let seen = found(late.ran(main, &[LOAD, RENDER], 40 * SECOND, 400 * MS));
    assert_eq!(ids(&seen), ["module-loading"]);
}

/// A loop that blocks in many short calls has turns without samples, while other threads of its process wait for a CPU.
#[test]
fn other_threads_that_wait_for_a_cpu_do_not_excuse_the_loop() {
    let service = spread(Service::new(10).watched(SECOND), &[TIMERS, RENDER], "", 6 * SECOND);
    // Of ten seconds that ran, the loop has six: it waited for six tenths of what was waited for.
    let seen = found(service.counted(1000 * MS, 150 * MS, None));
    assert_eq!(ids(&seen)[0], "busy-loop");
}

/// A perf map may have an old name for an address: that of a script of Node's that was run once.
#[test]
fn the_top_level_of_nodes_own_scripts_works_for_no_function() {
    let old: Code = ("(top level)", "node:internal/modules/esm/get_format", 1, Category::NodeCore);
    let service = Service::new(10).watched(5 * SECOND);
    assert_eq!(ids(&found(spread(service, &[TIMEOUT, COPY, old, RENDER], "", SECOND))), [""; 0]);
}

/// A worker of a pool that waits for its next task in a turn.
fn idle_worker(package: &str) -> Service {
    let path = "/srv/node_modules/pool/worker.js";
    let wait: Code = ("atomicsWaitLoop", path, 80, Category::Dependency);
    let native: Code = ("v8::internal::Builtin_AtomicsWait(int)", "", 0, Category::Runtime);
    let mut service = Service::new(10).watched(5 * SECOND);
    let stack = stack_of(&mut service.builder, &[wait, native], package);
    let (unit, timed, counted) = (Unit::Ns, true, true);
    let lane = service.builder.lane(LaneInfo { name: WAITS_LANE, unit, timed, counted });
    for start in [SECOND, 3 * SECOND] {
        let (thread, weight) = (service.main, 240 * MS);
        let time_ns = start + 51 * MS;
        service.builder.sample(lane, Sample { time_ns, thread, stack, weight });
        service = service.turn(TurnKind::Turn, start, 300 * MS, [5 * MS, 0, 0]);
    }
    service
}

#[test]
fn a_worker_that_waits_for_a_task_is_idle() {
    for package in ["piscina", "tinypool"] {
        let seen = found(idle_worker(package));
        assert_eq!((ids(&seen), seen.turns.stalls.len()), (vec![], 0), "{package}");
        // Its shorter waits are in turns, too: what is left of its time in polls shows nothing.
        assert_eq!((seen.turns.loops[0].polled_ns, seen.delays.len()), (None, 0));
    }
    let seen = found(idle_worker("lock"));
    assert_eq!((ids(&seen), seen.turns.stalls.len(), seen.delays.len()), (vec!["stalls"], 2, 1));
}

/// A loop that is in turns all the time because it waits for a CPU would be free with one.
#[test]
fn a_loop_that_waits_for_a_cpu_is_not_busy() {
    let service =
        |ran: u64| spread(Service::new(10).watched(SECOND), &[TIMERS, RENDER], "", ran * SECOND);
    let waits = |ran: u64| ids(&found(service(ran).counted(ran * 100 * MS, 800 * MS, None)));
    assert_eq!(waits(1), ["cpu-wait"]);
    assert_eq!(waits(9), ["busy-loop", "cpu-wait"], "others of its threads waited");
    let limited = service(2).counted(200 * MS, 700 * MS, Some((9, 640 * MS)));
    let seen = found(limited);
    assert_eq!(ids(&seen), ["cpu-limit"]);
    assert!(seen.list.iter().all(|found| found.finding.function() == FunctionId::NONE));
}

fn stalls(lengths: &[u64], throttled: bool) -> Service {
    let mut service = Service::new(10).watched(9 * SECOND);
    for (second, length) in (0u64..).zip(lengths) {
        let ready = (length - 10) * MS;
        let spent = [10 * MS, ready, if throttled { ready } else { 0 }];
        service = service.turn(TurnKind::Turn, second * SECOND, length * MS, spent);
    }
    service
}

#[test]
fn one_short_stall_is_no_limit_and_no_wait() {
    for (throttled, id) in [(true, "cpu-limit"), (false, "cpu-wait")] {
        assert_eq!(ids(&found(stalls(&[60], throttled))), [""; 0]);
        assert_eq!(ids(&found(stalls(&[120], throttled))), [id]);
        assert_eq!(ids(&found(stalls(&[60, 60, 60], throttled))), [id]);
    }
}

#[test]
fn a_limit_without_stalls_does_not_lead() {
    let service =
        || spread(Service::new(10).watched(5 * SECOND), &[TIMERS, COPY, PARSE], "", 4 * SECOND);
    let limited =
        |service: Service| ids(&found(service.counted(400 * MS, 60 * MS, Some((3, 50 * MS)))));
    assert_eq!(limited(service()), ["json", "cpu-limit"]);
    let one = service().turn(TurnKind::Turn, SECOND, 60 * MS, [5 * MS, 55 * MS, 55 * MS]);
    assert_eq!(limited(one), ["json", "cpu-limit"], "one short stall is little");
}

/// What stalls show is about loops; what the kernel counted is about all threads.
#[test]
fn waiting_is_reported_of_what_waited() {
    let starved = stalls(&[300], false).counted(100 * MS, 40 * MS, None);
    assert_eq!(
        words(starved),
        [
            "In long turns, the event loop waited 290 ms for a CPU in 10 s: other programs used them, or a CPU limit that could not be read.",
            "The loop's only stall (300 ms) was that, not slow code.",
        ]
    );
    let service = spread(Service::new(10).watched(5 * SECOND), &[TIMERS, RENDER], "", SECOND);
    let seen = found(service.counted(100 * MS, 1_100 * MS, None));
    let Finding::CpuWait(wait) = &seen.list[0].finding else { panic!("{:?}", seen.list) };
    assert_eq!((wait.waited_ns, seen.list[0].lost_ns), (Some(11 * SECOND), 4 * SECOND));
}

fn counted(mut service: Service, process: ProcessId, run_ns: u64, ready_ns: u64) -> Service {
    let (start_ns, end_ns) = (0, 10 * SECOND);
    let (periods, throttled_periods, throttled_ns) = (UNKNOWN, UNKNOWN, UNKNOWN);
    let (cpu_pressure_ns, memory_pressure_ns) = (UNKNOWN, UNKNOWN);
    service.builder.second(Second {
        process,
        start_ns,
        end_ns,
        run_ns,
        ready_ns,
        periods,
        throttled_periods,
        throttled_ns,
        cpu_pressure_ns,
        memory_pressure_ns,
    });
    service
}

#[test]
fn each_process_is_asked_whether_it_waited() {
    let two = |busy_run: u64| {
        let service = Service::new(10);
        let own = service.process;
        let (service, _) = started_by(Some(1), service, 5001, 5 * SECOND);
        let other = ProcessId::from_index(1);
        let service = counted(service, own, busy_run * SECOND, 3 * SECOND);
        counted(service, other, SECOND, 2_500 * MS).done()
    };
    let seen = |busy_run: u64| -> (Findings, Option<u32>) {
        let profile = two(busy_run);
        let seen = findings(&profile, &Selection::default());
        let Finding::CpuWait(wait) = &seen.list[0].finding else { panic!("{:?}", seen.list) };
        let pid = wait.process.and_then(|id| profile.process(id).pid);
        (seen, pid)
    };
    let (seen_busy, pid) = seen(9);
    let Finding::CpuWait(wait) = &seen_busy.list[0].finding else { panic!() };
    assert_eq!(pid, Some(5001), "the other one waited longer, and ran much longer");
    assert!(!wait.by_others, "it is the other one that had the CPU");
    let (seen_both, pid) = seen(1);
    let Finding::CpuWait(wait) = &seen_both.list[0].finding else { panic!() };
    assert_eq!((pid, wait.waited_ns, wait.by_others), (None, Some(5_500 * MS), true));
}

/// V8 begins a collection where memory happens to run out.
#[test]
fn one_collection_of_ten_accuses_no_function() {
    let collections = |in_copy: u64| {
        let mut service = Service::new(30).watched(25 * SECOND);
        let main = service.main;
        for row in 0..10 {
            let start = row * 2_800 * MS;
            let path: &[Code] = if row < in_copy { &[TIMERS, COPY, SCAVENGE] } else { &[SCAVENGE] };
            service = service.turn(TurnKind::Turn, start, 110 * MS, [110 * MS, 0, 0]);
            service = service.ran(main, path, start, 110 * MS);
        }
        found_function(&service.done())
    };
    assert_eq!((collections(1), collections(5)), (String::new(), "copySettings".to_owned()));
}

/// Short collections between turns show no function; those that do must agree.
#[test]
fn short_collections_accuse_whom_most_of_them_show() {
    let short = |in_copy: u64, in_list: u64| {
        let service = spread(Service::new(10).watched(5 * SECOND), &[SCAVENGE], "", 2 * SECOND);
        let service = spread(service, &[TIMERS, COPY, SCAVENGE], "", in_copy * INTERVAL);
        found_function(&spread(service, &[TIMERS, LIST, SCAVENGE], "", in_list * INTERVAL).done())
    };
    assert_eq!((short(4, 0), short(5, 5)), (String::new(), String::new()));
    assert_eq!((short(5, 0), short(9, 1)), ("copySettings".to_owned(), "copySettings".to_owned()));
}

fn found_function(profile: &profile::Profile) -> String {
    let seen = findings(profile, &Selection::default());
    assert_eq!(ids(&seen), ["gc"]);
    let function = seen.list[0].finding.function().some();
    function.map_or("", |id| profile.text(profile.functions().name[id.index()])).to_owned()
}

/// A stall of a tenth of a second has ten samples: the text states how many show the kind of work.
#[test]
fn a_kind_of_work_that_few_samples_show_is_reported_with_them() {
    let stall = |count: u64| {
        let mut service = Service::new(30).watched(25 * SECOND);
        let main = service.main;
        for start in (0..count).map(|row| row * 2 * SECOND) {
            service = service.turn(TurnKind::Turn, start, 110 * MS, [110 * MS, 0, 0]);
            service = service.ran(main, &[TIMERS, LIST, PARSE], start, 60 * MS);
            service = service.ran(main, &[TIMERS, LIST], start + 60 * MS, 30 * MS);
        }
        words(service)[1].clone()
    };
    assert_eq!(stall(1), "JSON, 6 of 9 samples: JSON.parse in list (server.js:10).");
    assert_eq!(stall(4), "JSON: JSON.parse in list (server.js:10).");
}

/// A lock of V8's compiler is free again when the helper thread that has it gets a CPU.
#[test]
fn who_sleeps_in_the_compiler_does_not_compile() {
    let compile: Code = ("v8::internal::Compiler::Compile", "", 0, Category::Compiler);
    let asleep = |ready_ns: u64| {
        let service = Service::new(10).watched(8 * SECOND).counted(100 * MS, ready_ns, None);
        let service = service.turn(TurnKind::Turn, SECOND, 250 * MS, [5 * MS, 5 * MS, 0]);
        let service = service.slept(&[TIMERS, compile, EPOLL], SECOND + 51 * MS, 200 * MS);
        let seen = found(service);
        (ids(&seen), seen.turns.stalls[0].kind.word())
    };
    assert_eq!(asleep(700 * MS), (vec!["cpu-wait"], "cpu-wait"));
    assert_eq!(asleep(0), (vec!["stalls"], "blocked"));
}

/// A collection ends when the helper threads have done their part. Those that got no CPU did not collect.
#[test]
fn who_waits_for_helpers_without_a_cpu_waits_for_a_cpu() {
    let asleep = |ready_ns: u64, collected_ns: u64| {
        let service = Service::new(10).watched(8 * SECOND).counted(100 * MS, ready_ns, None);
        let service = service.turn(TurnKind::Turn, SECOND, 300 * MS, [5 * MS, 5 * MS, 0]);
        let path = [TIMERS, COPY, MARK_COMPACT, EPOLL];
        let service = service.slept(&path, SECOND + 51 * MS, 240 * MS);
        let helper = service.helper;
        let service = service.ran(helper, &[MARK_COMPACT], SECOND, collected_ns);
        found(service).turns.stalls[0].kind.word()
    };
    assert_eq!(asleep(700 * MS, 60 * MS), "cpu-wait");
    assert_eq!((asleep(700 * MS, 200 * MS), asleep(0, 60 * MS)), ("gc", "gc"));
}
