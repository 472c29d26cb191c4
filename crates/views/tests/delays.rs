//! What a request pays at each loop, and how busy thread pools were.

use profile::{Delay, Pool, TurnKind, UNKNOWN};
use views::{
    Finding, LoopDelay, PoolWork, Report, Selection, delays, findings, pools, turns, weigh_busy,
};

use crate::service::*;

/// Moments of each second of the main loop: so many had this delay in microseconds.
fn met(mut service: Service, rows: &[(u64, u32)]) -> Service {
    for second in 0..service.builder.meta().duration_ns / SECOND {
        for &(delay_us, moments) in rows {
            let (thread, start_ns) = (service.main, second * SECOND);
            let end_ns = start_ns + SECOND;
            service.builder.delay(Delay { thread, start_ns, end_ns, delay_us, moments });
        }
    }
    service
}

fn delay(service: Service) -> LoopDelay {
    delay_in(service, &Selection::default())
}

fn delay_in(service: Service, selection: &Selection) -> LoopDelay {
    let profile = service.done();
    let all = delays(&profile, selection, &turns(&profile, selection));
    assert_eq!(all.len(), 1);
    all[0]
}

fn near(ns: Option<u64>, ms: f64) -> bool {
    ns.is_some_and(|ns| (ns as f64 / 1e6 - ms).abs() < 0.1)
}

#[test]
fn stalls_alone_show_what_is_50_ms_or_more() {
    let mut service = Service::new(30).watched(20 * SECOND);
    for second in 0..30 {
        service = service.turn(TurnKind::Turn, second * SECOND, 304 * MS, [4 * MS, MS, 0]);
    }
    let found = delay(service);
    // 30 × (304 − d) ms of 30 s are a hundredth at d = 294 ms.
    assert!(near(found.p99_ns, 294.0), "{found:?}");
    assert_eq!((found.median_ns, found.worst_ns), (Some(0), Some(304 * MS)));
    assert!(found.utilisation.is_some_and(|part| (part - 1.0 / 3.0).abs() < 1e-9));
}

#[test]
fn what_is_not_known_is_left_out() {
    let found = delay(Service::new(30).watched(24 * SECOND));
    assert_eq!((found.median_ns, found.p99_ns, found.worst_ns), (Some(0), None, None));
    let found = delay(Service::new(30).watched(10 * SECOND));
    assert_eq!((found.median_ns, found.p99_ns), (None, None), "it was busy for most of the time");
    let found = delay(Service::new(30).watched(29_800 * MS));
    assert_eq!(found.p99_ns, Some(0), "it was hardly ever busy");
    let few = met(Service::new(3).watched(2 * SECOND), &[(0, 20), (4096, 10)]);
    assert_eq!(delay(few).p99_ns, None, "90 moments");
}

#[test]
fn moments_show_the_short_turns() {
    let service = met(Service::new(10).watched(0), &[(1000, 10), (2000, 10), (6000, 10)]);
    let found = delay(service);
    assert!(near(found.median_ns, 2.0) && near(found.p99_ns, 6.0), "{found:?}");
    // Half of the time in polls: libuv's own count is believed, not that of the moments.
    let service = met(Service::new(10).watched(5 * SECOND), &[(0, 10), (1000, 19), (6000, 1)]);
    assert_eq!(delay(service).median_ns, Some(0));
}

#[test]
fn stalls_and_moments_add_up() {
    let mut service = met(Service::new(10).watched(0), &[(8000, 30)]);
    service = service.turn(TurnKind::Turn, SECOND, 150 * MS, [150 * MS, 0, 0]);
    let found = delay(service);
    // 1.42 % beyond 8 ms, 1 % beyond 50 ms.
    assert!(near(found.median_ns, 8.0) && near(found.p99_ns, 50.0), "{found:?}");
    assert_eq!(found.worst_ns, Some(150 * MS));
}

#[test]
fn a_part_of_the_recording_has_its_own_figures() {
    let mut service = Service::new(20).watched(10 * SECOND);
    for second in 0..20 {
        let (thread, start_ns, moments) = (service.main, second * SECOND, 30);
        let (end_ns, delay_us) = (start_ns + SECOND, if second < 10 { 0 } else { 20_480 });
        service.builder.delay(Delay { thread, start_ns, end_ns, delay_us, moments });
    }
    let range_ns = Some(10 * SECOND..20 * SECOND);
    let found = delay_in(service, &Selection { range_ns, ..Selection::default() });
    assert!(near(found.median_ns, 20.48) && found.utilisation.is_none(), "{found:?}");
}

#[test]
fn nothing_is_served_before_a_loop_begins_or_while_it_is_stopped() {
    let start = || {
        let service = Service::new(10).watched(5 * SECOND);
        service.turn(TurnKind::Startup, 0, 2 * SECOND, [2 * SECOND, 0, 0])
    };
    let found = delay(start());
    assert_eq!((found.median_ns, found.worst_ns), (Some(0), None), "it polled for 5 of 8 s");
    let found = delay(start().turn(TurnKind::Stopped, 3 * SECOND, 2 * SECOND, [0, 0, 0]));
    assert_eq!(found.median_ns, None, "perhaps it was stopped in its poll");
}

/// A pool of four threads, the same in each second.
fn pooled(mut service: Service, busy: u32, full: u32, queued_dns: u32, queued_fs: u32) -> Service {
    for second in 0..service.builder.meta().duration_ns / SECOND {
        service.builder.pool(Pool {
            process: service.process,
            start_ns: second * SECOND,
            end_ns: (second + 1) * SECOND,
            threads: 4,
            looks: 10,
            busy,
            full,
            most_queued: queued_dns + queued_fs,
            queued_fs,
            queued_dns,
            queued_crypto: 0,
            queued_zlib: 0,
            queued_addon: 0,
            queued_other: 0,
        });
    }
    service
}

#[test]
fn a_full_pool_is_a_finding() {
    let profile = pooled(Service::new(10).watched(9 * SECOND), 30, 8, 90, 30).done();
    let selection = Selection::default();
    let all = pools(&profile, &selection);
    assert_eq!((all[0].threads, all[0].busy, all[0].full, all[0].queued), (4, 3.0, 0.8, 12.0));
    assert_eq!(all[0].work, [(PoolWork::Dns, 9.0), (PoolWork::Fs, 3.0)]);
    let found = findings(&profile, &selection);
    let [only] = &found.list[..] else { panic!("{:?}", found.list) };
    assert!(matches!(&only.finding, Finding::Pool(pool) if *pool == all[0]));
    assert_eq!(only.lost_ns, 8 * SECOND);
    let range_ns = Some(20 * SECOND..30 * SECOND);
    assert_eq!(pools(&profile, &Selection { range_ns, ..selection }), []);
}

/// Whether the loop is the reason is what people ask: findings about other things do not answer it.
#[test]
fn a_finding_that_is_about_no_loop_comes_with_the_loops_figures() {
    let closing = |service: Service| {
        let profile = service.done();
        let (selection, weights) = weigh_busy(&profile, &Selection::default());
        Report::without_lists(&profile, &weights, &selection).closing
    };
    let free = || met(Service::new(10).watched(9 * SECOND), &[(0, 27), (1000, 3)]);
    let paid = "The loop was free 90 % of the time; a request waited 0 ms (median), 1 ms (p99), under 50 ms (worst).";
    let expected = ["Nothing else stands out.", paid];
    assert_eq!(closing(pooled(free(), 30, 8, 90, 30)), expected);
    assert_eq!(closing(free().counted(300 * MS, 650 * MS, Some((9, 640 * MS)))), expected);
    assert_eq!(closing(free().counted(300 * MS, 650 * MS, None)), expected);
    // Without the moments it is still known that no turn took long, and for how long the loop polled.
    assert_eq!(
        closing(pooled(Service::new(10).watched(UNKNOWN), 30, 8, 90, 30))[1],
        "A request arriving at any moment waited under 50 ms."
    );
    let service = pooled(Service::new(10).watched(UNKNOWN), 30, 8, 90, 30);
    assert_eq!(
        closing(service.turn(TurnKind::Turn, SECOND, 60 * MS, [60 * MS, 0, 0]))[1],
        "A request arriving at any moment waited under 50 ms (p99), 60 ms (worst)."
    );
    // What is reported with a finding is not reported again.
    let mut both = pooled(free(), 30, 8, 90, 30);
    both = both.turn(TurnKind::Turn, SECOND, 400 * MS, [400 * MS, 0, 0]);
    assert_eq!(closing(both), ["Nothing else stands out."]);
}

/// Its own threads wait for CPUs: the pool says so already. That other programs use the CPUs is news.
#[test]
fn a_full_pool_explains_why_its_threads_wait() {
    let ids = |run_ns: u64| {
        let service = pooled(Service::new(10).watched(9 * SECOND), 40, 9, 90, 0);
        let found =
            findings(&service.counted(run_ns, 2 * SECOND, None).done(), &Selection::default());
        found.list.iter().map(|found| found.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(1_900_000_000), ["thread-pool"]);
    assert_eq!(ids(500_000_000), ["cpu-wait", "thread-pool"]);
}

#[test]
fn a_pool_with_free_threads_is_none() {
    for (busy, full, queued) in [(40, 0, 0), (40, 1, 40), (40, 5, 4), (0, 0, 0)] {
        let profile = pooled(Service::new(10).watched(9 * SECOND), busy, full, queued, 0).done();
        let found = findings(&profile, &Selection::default());
        assert_eq!(found.list, [], "{busy} {full} {queued}");
        assert_eq!(found.pools.len(), 1);
    }
    let short = pooled(Service::new(0).watched(0), 40, 10, 90, 0).done();
    assert_eq!(findings(&short, &Selection::default()).list, []);
}
