//! What stands out, and in which order: stalls by how they were spent, the CPU limit, garbage collection by what the
//! loop lost, and loops that were not watched.

use profile::{Category, FunctionId, Marker, MarkerKind, Profile, StringId, TurnKind, UNKNOWN};
use views::{
    Finding, Found, Selection, Stall, StallGroup, StallKind, cores_busy, findings, gc, turns, weigh,
};

use crate::service::*;

fn name(profile: &Profile, id: FunctionId) -> &str {
    id.some().map_or("", |id| profile.text(profile.functions().name[id.index()]))
}

fn group(found: &Found) -> &StallGroup {
    match &found.finding {
        Finding::Stalls(group) => group,
        Finding::Called(called) => &called.stalls[0],
        other => panic!("not stalls: {other:?}"),
    }
}

/// execSync in a timer, once a second, for half a minute.
fn waiting() -> Service {
    let path = [TIMERS, POLL, DEPLOY, EXEC_SYNC, SPAWN_SYNC, SPAWN, EPOLL];
    let mut service = Service::new(30).watched(20 * SECOND);
    for second in 0..30 {
        let start = second * SECOND;
        service = service.turn(TurnKind::Turn, start, 304 * MS + second % 5 * MS, [4 * MS, MS, 0]);
        service = service.slept(&path, start + 51 * MS, 290 * MS);
        // What little ran is not what it waited for.
        let main = service.main;
        service = service.ran(main, &[TIMERS, RENDER], start, INTERVAL);
    }
    service
}

#[test]
fn a_stall_that_waits_names_the_call_and_its_callers() {
    let profile = waiting().done();
    let found = findings(&profile, &Selection::default());
    assert_eq!(found.turns.stalls.len(), 30, "all of them, not the first twenty");
    let group = group(&found.list[0]);
    assert_eq!(found.list[0].id, "sync-child-process");
    let every_ns = group.rhythm.every_ns;
    assert_eq!((group.kind, group.count, every_ns), (StallKind::Blocked, 30, Some(SECOND)));
    assert_eq!(name(&profile, group.function), "deployStatus");
    assert_eq!(name(&profile, group.entry), "poll");
    assert_eq!(group.wait.as_ref().unwrap().text(), "a child process: execSync");
    assert_eq!(found.list.len(), 1, "{:?}", found.list);
    assert!((9 * SECOND..10 * SECOND).contains(&found.list[0].lost_ns));
}

#[test]
fn what_was_waited_for_is_a_table_of_rules() {
    let rows: &[(&[Code], &str)] = &[
        (&[POLL, EXEC_SYNC, SPAWN_SYNC, SPAWN, EPOLL], "a child process: execSync"),
        (&[POLL, CLONE, SPAWN_SYNC, SPAWN, EPOLL], "a child process: spawnSync"),
        (
            &[
                POLL,
                ("readFileSync", "node:fs", 441, Category::NodeCore),
                ("openSync", "node:fs", 570, Category::NodeCore),
                ("__GI___libc_open", "", 0, Category::System),
            ],
            "a file: readFileSync",
        ),
        (
            &[
                POLL,
                ("CEntry_Return1", "", 0, Category::Builtin),
                ("v8::internal::Builtin_AtomicsWait(int)", "", 0, Category::Runtime),
                ("absl::CondVar::WaitCommon", "", 0, Category::NodeCore),
            ],
            "Atomics.wait",
        ),
        (
            &[POLL, ("pbkdf2Sync", "node:internal/crypto/pbkdf2", 50, Category::NodeCore)],
            "pbkdf2Sync",
        ),
        (
            &[POLL, ("Lock(int)", "", 0, Category::Addon), ("futex_wait", "", 0, Category::System)],
            "Lock",
        ),
        // Of code that is not the application's, the outermost call is Node's own: no name is better.
        (&[TIMERS, ("futex_wait", "", 0, Category::System)], ""),
    ];
    for (path, expected) in rows {
        let service = Service::new(2).watched(SECOND);
        let service = service.turn(TurnKind::Turn, SECOND, 300 * MS, [0, 0, 0]);
        let profile = service.slept(path, SECOND + 51 * MS, 250 * MS).done();
        let stall = turns(&profile, &Selection::default()).stalls.remove(0);
        assert_eq!(stall.kind, StallKind::Blocked, "{path:?}");
        assert_eq!(stall.wait.unwrap().text(), *expected, "{path:?}");
    }
}

#[test]
fn a_stall_that_ran_names_the_function_of_the_application() {
    let service = Service::new(10).watched(9 * SECOND);
    let service = service.turn(TurnKind::Turn, SECOND, 300 * MS, [290 * MS, 10 * MS, 0]);
    let main = service.main;
    let service = service.ran(main, &[TIMERS, POLL, RENDER, CLONE, EPOLL], SECOND, 200 * MS);
    let profile = service.ran(main, &[TIMERS, POLL], SECOND + 200 * MS, 100 * MS).done();
    let found = findings(&profile, &Selection::default());
    let (group, stall) = (group(&found.list[0]), &found.turns.stalls[0]);
    assert_eq!((group.kind, stall.start_ns, stall.end_ns), (StallKind::Ran, SECOND, 1_300 * MS));
    assert_eq!((name(&profile, group.function), name(&profile, group.entry)), ("render", "poll"));
    assert_eq!((group.samples, group.of_samples), (20, 30));
    // Half of it selected is half of it reported.
    let half = Selection { range_ns: Some(SECOND..SECOND + 150 * MS), ..Selection::default() };
    let stall = &findings(&profile, &half).turns.stalls[0];
    assert_eq!((stall.duration_ns(), stall.spent.unwrap().run_ns), (150 * MS, 145 * MS));
    let elsewhere = Selection { threads: Some(vec![profile::ThreadId(1)]), ..Selection::default() };
    assert_eq!(findings(&profile, &elsewhere).list, []);
}

#[test]
fn garbage_collection_in_a_stall_is_distinguished_from_the_code() {
    let service = Service::new(10).watched(9 * SECOND);
    let service = service.turn(TurnKind::Turn, SECOND, 300 * MS, [300 * MS, 0, 0]);
    let main = service.main;
    let profile = service.ran(main, &[TIMERS, RENDER, MARK_COMPACT], SECOND, 300 * MS).done();
    let stall = &turns(&profile, &Selection::default()).stalls[0];
    assert_eq!(stall.kind, StallKind::Collected);
    assert_eq!(name(&profile, stall.culprit.unwrap().function), "render");
}

/// A small function that runs a tenth of the time is not blamed for stalls that the CPU limit made.
#[test]
fn the_cpu_limit_leads_and_accuses_no_function() {
    let mut service = Service::new(30).watched(2 * SECOND);
    for second in 0..30 {
        let start = second * SECOND;
        service = service.turn(TurnKind::Turn, start, 400 * MS, [40 * MS, 350 * MS, 340 * MS]);
        let main = service.main;
        service = service.ran(main, &[TIMERS, RENDER], start, 40 * MS);
    }
    let service = service.turn(TurnKind::Turn, 29_500 * MS, 100 * MS, [100 * MS, 0, 0]);
    let profile = service.counted(100 * MS, 650 * MS, Some((9, 640 * MS))).done();
    let found = findings(&profile, &Selection::default());
    assert!(
        found.turns.stalls.iter().filter(|stall| stall.kind == StallKind::Throttled).count() == 30
    );
    assert!(
        found
            .turns
            .stalls
            .iter()
            .all(|stall| stall.kind != StallKind::Throttled || stall.culprit.is_none())
    );
    let Finding::CpuLimit(limit) = found.list[0].finding else { panic!("{:?}", found.list) };
    assert_eq!((limit.stalls, limit.all_stalls, limit.throttled_share), (30, 31, Some(0.9)));
    // Throttled time is a part of the waiting: nothing is counted twice.
    assert_eq!(found.list[0].lost_ns, 30 * 640 * MS);
    assert!(
        !found.list.iter().any(|found| matches!(found.finding, Finding::CpuWait(_))),
        "{:?}",
        found.list
    );
}

/// Throttled now and then, while the code really blocks: the code comes first.
#[test]
fn a_limit_that_costs_less_does_not_lead() {
    let service = Service::new(10).watched(2 * SECOND);
    let service = service.turn(TurnKind::Turn, 0, 5 * SECOND, [5 * SECOND, 0, 0]);
    let profile = service.counted(900 * MS, 60 * MS, Some((3, 50 * MS))).done();
    let found = findings(&profile, &Selection::default());
    assert!(matches!(found.list[0].finding, Finding::Stalls(_)), "{:?}", found.list);
    assert!(matches!(found.list[1].finding, Finding::CpuLimit(_)), "{:?}", found.list);
    let rare = Service::new(10).watched(9 * SECOND).counted(100 * MS, MS, Some((1, 5 * MS))).done();
    assert_eq!(findings(&rare, &Selection::default()).list, []);
}

/// The kernel counts a period as throttled when it is over: at its edges the same time looks like another program's.
#[test]
fn the_edges_of_throttled_periods_are_not_blamed_on_others() {
    let with_starved = |ready: u64| {
        let mut service = Service::new(10).watched(SECOND);
        for second in 0..9 {
            service = service.turn(
                TurnKind::Turn,
                second * SECOND,
                400 * MS,
                [40 * MS, 350 * MS, 340 * MS],
            );
        }
        let service =
            service.turn(TurnKind::Turn, 9_200 * MS, ready + 10 * MS, [10 * MS, ready, 0]);
        findings(
            &service.counted(100 * MS, 650 * MS, Some((9, 340 * MS))).done(),
            &Selection::default(),
        )
    };
    let blames_others = |found: &views::Findings| {
        found.list.iter().any(|found| matches!(found.finding, Finding::CpuWait(_)))
    };
    assert!(!blames_others(&with_starved(80 * MS)), "a little is an edge");
    assert!(blames_others(&with_starved(1_200 * MS)), "much is not");
}

#[test]
fn waiting_for_a_cpu_without_a_limit_is_the_other_programs() {
    let service = Service::new(10).watched(SECOND);
    let service = service.turn(TurnKind::Turn, SECOND, 400 * MS, [100 * MS, 300 * MS, UNKNOWN]);
    let profile = service.counted(100 * MS, 880 * MS, None).done();
    let found = findings(&profile, &Selection::default());
    let Finding::CpuWait(wait) = found.list[0].finding else { panic!("{:?}", found.list) };
    assert_eq!((wait.stalls, wait.by_others, found.list[0].lost_ns), (1, true, 8_800 * MS));
    assert_eq!(found.turns.stalls[0].culprit, None);
}

#[test]
fn starting_and_stopping_are_no_stalls() {
    let service = Service::new(10).watched(8 * SECOND);
    let service = service.turn(TurnKind::Startup, 0, 350 * MS, [350 * MS, 0, 0]);
    let service = service.turn(TurnKind::Stopped, SECOND, 2 * SECOND, [UNKNOWN, UNKNOWN, UNKNOWN]);
    let profile =
        service.turn(TurnKind::Stopped, SECOND, 2 * SECOND, [UNKNOWN, UNKNOWN, UNKNOWN]).done();
    let found = findings(&profile, &Selection::default());
    assert_eq!((&found.list[..], &found.turns.stalls[..]), (&[][..], &[][..]));
    assert_eq!((found.turns.runs.len(), found.turns.runs[0].is_all), (1, false));
    assert_eq!(found.turns.stops.len(), 1, "both loops of a process report the same stop");
    let script =
        Service::new(1).watched(0).turn(TurnKind::Startup, 0, SECOND, [SECOND, 0, 0]).done();
    assert!(turns(&script, &Selection::default()).runs[0].is_all);
}

#[test]
fn loops_that_were_not_watched_are_counted() {
    let service =
        Service::new(10).watched(9 * SECOND).unwatched_worker("its stack may not be read");
    let turns = turns(&service.done(), &Selection::default());
    assert_eq!((turns.loops.len(), turns.watched().count()), (2, 1));
    assert_ne!(turns.loops[1].problem, StringId::NONE);
    // A worker that no table has is not watched either.
    let mut service = Service::new(10).watched(9 * SECOND);
    service.builder.set_role(service.worker, profile::Role::Worker);
    let turns = views::turns(&service.done(), &Selection::default());
    assert_eq!((turns.loops.len(), turns.watched().count()), (2, 1));
    // Nothing is reported where nothing is known.
    assert_eq!(views::turns(&Service::new(10).done(), &Selection::default()).loops, []);
}

/// Recordings of before: markers alone, and nothing is known of how a turn was spent.
#[test]
fn old_recordings_have_stalls_without_their_spending() {
    let mut service = Service::new(10);
    let (thread, kind) = (service.main, MarkerKind::LoopTurn);
    for row in 0..25 {
        let start_ns = row * 200 * MS;
        let text = StringId::NONE;
        service.builder.marker(Marker { kind, thread, start_ns, end_ns: start_ns + 60 * MS, text });
    }
    let text = service.builder.string("12 turns");
    let (start_ns, end_ns) = (6 * SECOND, 7 * SECOND);
    service.builder.marker(Marker { kind, thread, start_ns, end_ns, text });
    let profile = service.ran(thread, &[TIMERS, RENDER], 0, SECOND).done();
    let turns = turns(&profile, &Selection::default());
    assert_eq!((turns.stalls.len(), turns.watched().count()), (25, 1));
    let is_plain = |stall: &Stall| stall.kind == StallKind::Unknown && stall.spent.is_none();
    assert!(turns.stalls.iter().all(is_plain));
    assert_eq!(name(&profile, turns.stalls[0].culprit.unwrap().function), "render");
}

/// The main thread spends a tenth of its time on garbage collection, the helpers many times that.
#[test]
fn garbage_collection_is_judged_by_what_the_loop_lost() {
    let service = Service::new(10).watched(5 * SECOND);
    let (main, helper) = (service.main, service.helper);
    let service = service.ran(main, &[TIMERS, RENDER], 0, 3_600 * MS);
    // Ten milliseconds each: no pause that can be seen.
    let collect = |service: Service, row: u64| {
        service.ran(main, &[TIMERS, RENDER, MARK_COMPACT], 4 * SECOND + row * 100 * MS, INTERVAL)
    };
    let service = (0..40).fold(service, collect);
    let helped = service.ran(helper, &[MARK_COMPACT], 0, 6 * SECOND).done();
    let seen = findings(&helped, &Selection::default());
    assert_eq!(seen.list, [], "helper threads cost the loop nothing");
    let main_loop = &seen.gc.loops[0];
    assert!(
        (main_loop.of_cpu - 0.1).abs() < 1e-9 && (main_loop.of_time.unwrap() - 0.04).abs() < 1e-9
    );
    assert!((seen.gc.helpers - 0.6).abs() < 1e-9 && (seen.gc.all - 0.64).abs() < 1e-9);
    // A search for something else changes nothing.
    let search = Selection { categories: Some(vec![Category::Gc]), ..Selection::default() };
    assert_eq!(gc(&helped, &search, &seen.turns), seen.gc);

    let service = Service::new(10).watched(5 * SECOND);
    let lost = service.ran(main, &[TIMERS, RENDER, MARK_COMPACT], 0, 2 * SECOND).done();
    let seen = findings(&lost, &Selection::default());
    assert!(
        matches!(&seen.list[0].finding, Finding::Gc(its) if its.worst.of_time == Some(0.2)),
        "{:?}",
        seen.list
    );
}

#[test]
fn a_loop_full_of_short_turns_is_saturated() {
    let busy = Service::new(10).watched(SECOND).done();
    let found = findings(&busy, &Selection::default());
    assert!(matches!(found.list[0].finding, Finding::Busy(_)), "{:?}", found.list);
    assert_eq!(
        findings(&Service::new(10).watched(3 * SECOND).done(), &Selection::default()).list,
        []
    );
    // Where long turns took the time, they are reported instead.
    let stalled = Service::new(10).watched(SECOND);
    let stalled = stalled.turn(TurnKind::Turn, 0, 8 * SECOND, [8 * SECOND, 0, 0]).done();
    let found = findings(&stalled, &Selection::default());
    assert!(
        found.list.len() == 1 && matches!(found.list[0].finding, Finding::Stalls(_)),
        "{:?}",
        found.list
    );
}

/// The kernel counted more than was sampled: its count is the headline, as long as it is of what is selected.
#[test]
fn cores_are_what_the_kernel_counted() {
    let service = Service::new(10).counted(500 * MS, 0, None);
    let main = service.main;
    let mut service = service.ran(main, &[TIMERS, RENDER], 0, SECOND);
    service.builder.meta().losses.cpu_ns = Some(4 * SECOND);
    let profile = service.done();
    let cores = |selection: &Selection| {
        let busy = cores_busy(&profile, selection, &weigh(&profile, selection)).unwrap();
        (busy.cores, busy.is_counted)
    };
    assert_eq!(cores(&Selection::default()), (0.4, true));
    assert_eq!(
        cores(&Selection { range_ns: Some(0..2 * SECOND), ..Selection::default() }),
        (0.5, true)
    );
    assert_eq!(
        cores(&Selection { threads: Some(vec![main]), ..Selection::default() }),
        (0.1, false)
    );
}

/// Sleeping stacks are not what ran, even where nothing ran.
#[test]
fn the_lane_of_waits_has_to_be_asked_for() {
    let profile = Service::new(2).watched(0).slept(&[POLL, EPOLL], 0, SECOND).done();
    assert_eq!(weigh(&profile, &Selection::default()).samples, 0);
    let waits = Selection { lane: profile.lane_named("waits"), ..Selection::default() };
    assert_eq!(weigh(&profile, &waits).samples, 1);
}

/// Files come from anywhere: the largest numbers overflow nothing.
#[test]
fn hostile_numbers_do_no_harm() {
    const MOST: u64 = u64::MAX - 1;
    for values in [[MOST, MOST, MOST], [0, MOST, MOST], [MOST, 0, UNKNOWN], [UNKNOWN, MOST, 0]] {
        let mut service = Service::new(1).watched(MOST).counted(MOST, MOST, Some((MOST, MOST)));
        let (main, row) = (service.main, MOST - 2 * SECOND);
        for (kind, start_ns) in [
            (TurnKind::Turn, 0),
            (TurnKind::Turn, row),
            (TurnKind::Startup, 1),
            (TurnKind::Stopped, 2),
        ] {
            service = service.turn(kind, start_ns, MOST - start_ns, values);
        }
        let service =
            service.counted(MOST, MOST, Some((MOST, MOST))).slept(&[POLL, EPOLL], row, MOST);
        let profile = service.ran(main, &[TIMERS, RENDER, MARK_COMPACT], 0, SECOND).done();
        for range_ns in [None, Some(0..MOST), Some(row..MOST), Some(5..6), Some(MOST..MOST)] {
            let selection = Selection { range_ns, ..Selection::default() };
            let found = findings(&profile, &selection);
            assert!(found.turns.stalls.iter().all(|stall| stall.start_ns < stall.end_ns));
            cores_busy(&profile, &selection, &weigh(&profile, &selection));
        }
    }
}
