//! Top lists: self is where samples ended, total is where they passed, each counted once.

use profile::{Category, LaneId, ThreadId};
use views::{Selection, TopBy, TopKey, share, top, weigh};

use crate::shop::{listing, select, shop};

fn list(selection: &Selection, by: TopBy) -> Vec<String> {
    let profile = shop();
    listing(&profile, &top(&profile, &weigh(&profile, selection), selection, by))
}

#[test]
fn lists_of_everything() {
    let rows: &[(TopBy, &[&str])] = &[
        (
            TopBy::Function,
            &[
                "memset 30/30",
                "handle 20/50",
                "start 10/90",
                "fib 10/30",
                "parse 10/30",
                "Heap::Scavenge 10/20",
            ],
        ),
        (TopBy::File, &["/srv/app.js 30/80", "/srv/node_modules/fast-json/index.js 10/30"]),
        (TopBy::Package, &["fast-json 10/30"]),
        (
            TopBy::Category,
            &["app 30/80", "gc 20/20", "system 20/20", "node 10/90", "dependency 10/30"],
        ),
        // Three ticks and one share out the ten units of their stack.
        (TopBy::Line, &["/srv/app.js:12 7/7", "/srv/app.js:13 2/2"]),
        (TopBy::Thread, &["node 1 60/60", "node 3 30/30", "libuv-worker 2 10/10"]),
        (TopBy::Process, &["pid 1 70/70", "pid 3 30/30"]),
    ];
    for (by, expected) in rows {
        let mut expected = expected.to_vec();
        let mut lines = list(&Selection::default(), *by);
        let weights = |line: &str| {
            let (own, total) = line.rsplit(' ').next().unwrap().split_once('/').unwrap();
            (own.parse::<u64>().unwrap(), total.parse::<u64>().unwrap())
        };
        assert!(lines.is_sorted_by(|a, b| weights(a) >= weights(b)), "most self first: {lines:#?}");
        lines.sort();
        expected.sort_unstable();
        assert_eq!(lines, expected, "{by:?}");
    }
}

/// fib calls fib calls fib: its ten units count once in its total.
#[test]
fn recursion_counts_once() {
    let selection = select(|selection| selection.range_ns = Some(50..60));
    assert_eq!(list(&selection, TopBy::Function), ["fib 10/10", "start 0/10"]);
    assert_eq!(list(&selection, TopBy::File), ["/srv/app.js 10/10"]);
    assert_eq!(list(&selection, TopBy::Category), ["app 10/10", "node 0/10"]);
}

#[test]
fn hidden_frames_give_their_weight_to_the_caller() {
    let selection = select(|selection| selection.hidden = vec![Category::Gc]);
    let lines = list(&selection, TopBy::Function);
    assert!(lines.contains(&"parse 30/30".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"memset 20/20".to_owned()), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("Heap")), "{lines:#?}");
    assert!(!list(&selection, TopBy::Category).iter().any(|line| line.starts_with("gc")));
    // Threads own their samples whatever is hidden.
    let all = select(|selection| selection.hidden = Category::ALL.to_vec());
    assert_eq!(list(&all, TopBy::Function), Vec::<String>::new());
    assert_eq!(list(&all, TopBy::Thread), list(&Selection::default(), TopBy::Thread));
}

/// A selected category keeps what called it: that is how one finds who causes GC.
#[test]
fn selecting_a_category_shows_its_callers() {
    let selection = select(|selection| selection.categories = Some(vec![Category::Gc]));
    assert_eq!(
        list(&selection, TopBy::Function),
        ["Heap::Scavenge 10/20", "memset 10/10", "start 0/20", "handle 0/20", "parse 0/20"]
    );
    assert_eq!(list(&selection, TopBy::Package), ["fast-json 0/20"]);
}

#[test]
fn samples_stand_beside_weights() {
    let profile = shop();
    let selection = Selection::default();
    let weights = weigh(&profile, &selection);
    let rows = top(&profile, &weights, &selection, TopBy::Function);
    let name = |key: TopKey| match key {
        TopKey::Function(id) => profile.text(profile.functions().row(id).name),
        _ => panic!("a list of functions has other rows"),
    };
    let row = rows.iter().find(|row| name(row.key) == "memset").unwrap();
    assert_eq!((row.self_weight, row.self_samples, row.total_samples), (30, 2, 2));
    assert_eq!(share(row.self_weight, weights.total), 0.3);
}

#[test]
fn self_weights_of_all_categories_are_the_selected_weight_with_a_stack() {
    let profile = shop();
    for thread in [0, 1, 2] {
        let selection = select(|selection| selection.threads = Some(vec![ThreadId(thread)]));
        let weights = weigh(&profile, &selection);
        let rows = top(&profile, &weights, &selection, TopBy::Category);
        let own: u64 = rows.iter().map(|row| row.self_weight).sum();
        // The pool's only sample has no stack.
        assert_eq!(own, if thread == 1 { 0 } else { weights.total });
    }
}

#[test]
fn another_lane_is_another_list() {
    let selection = select(|selection| selection.lane = Some(LaneId(1)));
    assert_eq!(list(&selection, TopBy::Function), ["handle 7/7", "start 0/7"]);
}
