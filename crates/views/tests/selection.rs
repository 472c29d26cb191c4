//! Which samples a selection keeps.

use std::ops::Range;

use profile::{Category, LaneId, ProcessId, ThreadId};
use regex::Regex;
use views::{Selection, share, weigh};

use crate::shop::{select, shop};

/// The selected weight and the number of samples.
fn weight(selection: &Selection) -> (u64, u64) {
    let profile = shop();
    let weights = weigh(&profile, selection);
    let sum = weights
        .entries
        .iter()
        .fold((0, 0), |sum, entry| (sum.0 + entry.weight, sum.1 + entry.samples));
    assert_eq!(sum, (weights.total, weights.samples), "the entries add up");
    sum
}

#[test]
fn without_options_all_of_the_main_lane_is_meant() {
    assert_eq!(weight(&Selection::default()), (100, 9));
}

#[test]
fn ranges_are_half_open() {
    let rows: &[(Range<u64>, u64)] = &[
        (0..0, 0),
        (0..1, 10),
        (0..10, 10),
        (0..11, 20),
        (1..10, 0),
        (9..10, 0),
        (10..11, 10),
        (10..30, 20),
        (0..80, 80),
        (80..81, 20),
        (81..u64::MAX, 0),
        (0..u64::MAX, 100),
        (u64::MAX..u64::MAX, 0),
    ];
    for (range, expected) in rows {
        let selection = select(|selection| selection.range_ns = Some(range.clone()));
        assert_eq!(weight(&selection).0, *expected, "{range:?}");
    }
}

/// A sample on a border belongs to one of two neighbours, never to both or to none.
#[test]
fn neighbouring_ranges_add_up() {
    for border in 0..=90 {
        let part =
            |range: Range<u64>| weight(&select(|selection| selection.range_ns = Some(range))).0;
        assert_eq!(part(0..border) + part(border..91), 100, "{border}");
    }
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "users will ask for it")]
fn a_range_that_goes_backwards_is_empty() {
    assert_eq!(weight(&select(|selection| selection.range_ns = Some(50..20))), (0, 0));
}

/// Rows of threads, rows of processes, and the weight that both leave.
type Narrowed = (Option<&'static [u32]>, Option<&'static [u32]>, u64);

#[test]
fn threads_and_processes_narrow_together() {
    let rows: &[Narrowed] = &[
        (Some(&[0]), None, 60),
        (Some(&[1]), None, 10),
        (Some(&[0, 2]), None, 90),
        (Some(&[]), None, 0),
        (None, Some(&[0]), 70),
        (None, Some(&[1]), 30),
        (None, Some(&[0, 1]), 100),
        (Some(&[0]), Some(&[0]), 60),
        (Some(&[0]), Some(&[1]), 0),
    ];
    for (threads, processes, expected) in rows {
        let selection = select(|selection| {
            selection.threads = threads.map(|ids| ids.iter().copied().map(ThreadId).collect());
            selection.processes = processes.map(|ids| ids.iter().copied().map(ProcessId).collect());
        });
        assert_eq!(weight(&selection).0, *expected, "threads {threads:?}, processes {processes:?}");
    }
}

/// By the category of the time, not of the code: memset under GC is GC.
#[test]
fn categories_select_by_the_stack() {
    let rows: &[(&[Category], u64)] = &[
        (&[Category::Gc], 20),
        (&[Category::System], 20),
        (&[Category::App], 30),
        (&[Category::Dependency], 10),
        (&[Category::NodeCore], 10),
        (&[Category::App, Category::Gc], 50),
        (&[Category::Kernel], 0),
        (&[], 0),
        (Category::ALL, 90),
    ];
    for (categories, expected) in rows {
        let selection = select(|selection| selection.categories = Some(categories.to_vec()));
        assert_eq!(weight(&selection).0, *expected, "{categories:?}");
    }
}

/// Function, file or package of any frame; a sample without a stack matches nothing.
#[test]
fn search_looks_at_the_whole_stack() {
    let rows = [
        ("^parse$", 30),
        ("parse|fib", 60),
        ("fast-json", 30),
        ("node_modules", 30),
        ("app\\.js", 80),
        ("Scavenge", 20),
        ("memset", 30),
        ("start", 90),
        ("", 90),
        ("PARSE", 0),
        ("(?i)PARSE", 30),
        ("libuv-worker", 0),
    ];
    for (pattern, expected) in rows {
        let selection = select(|selection| selection.search = Some(Regex::new(pattern).unwrap()));
        assert_eq!(weight(&selection).0, expected, "{pattern}");
    }
}

#[test]
fn all_options_narrow_together() {
    let selection = select(|selection| {
        selection.range_ns = Some(20..50);
        selection.threads = Some(vec![ThreadId(0)]);
        selection.categories = Some(vec![Category::Gc]);
        selection.search = Some(Regex::new("memset").unwrap());
    });
    assert_eq!(weight(&selection), (10, 1));
}

#[test]
fn hiding_keeps_every_sample() {
    assert_eq!(weight(&select(|selection| selection.hidden = Category::ALL.to_vec())), (100, 9));
}

/// In a lane that counts samples, a row of weight 7 is seven samples.
#[test]
fn a_lane_that_counts_gives_its_weights_as_samples() {
    assert_eq!(weight(&select(|selection| selection.lane = Some(LaneId(1)))), (7, 7));
}

#[test]
fn a_profile_without_lanes_has_no_weight() {
    let empty = profile::Builder::new().finish();
    let weights = weigh(&empty, &Selection::default());
    assert_eq!((weights.lane, weights.total, weights.samples), (None, 0, 0));
}

#[test]
fn shares_are_of_the_selected_weight() {
    assert_eq!(share(1, 4), 0.25);
    assert_eq!(share(4, 4), 1.0);
    assert_eq!(share(0, 4), 0.0);
    assert_eq!(share(0, 0), 0.0, "of nothing, nothing");
    assert_eq!(share(u64::MAX, u64::MAX), 1.0);
}
