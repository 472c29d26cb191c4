//! Call trees, from the roots and from the leaves.

use profile::{Category, Profile, ThreadId};
use regex::Regex;
use views::{CallTree, Direction, Grouping, NodeId, Selection, call_tree, weigh};

use crate::shop::{outline, select, shop};

fn tree(
    profile: &Profile,
    selection: &Selection,
    direction: Direction,
    grouping: Grouping,
) -> CallTree {
    call_tree(profile, &weigh(profile, selection), selection, direction, grouping)
}

fn from_roots(selection: &Selection) -> Vec<String> {
    let profile = shop();
    outline(&profile, &tree(&profile, selection, Direction::FromRoots, Grouping::None))
}

fn from_leaves(selection: &Selection) -> Vec<String> {
    let profile = shop();
    outline(&profile, &tree(&profile, selection, Direction::FromLeaves, Grouping::None))
}

/// `handle` was seen interpreted and optimised: two frames, one node. The sample without a stack is the root's.
#[test]
fn from_the_roots_merged_by_function() {
    let expected = [
        "all 10/100",
        "start 10/90",
        "start;fib 0/30",
        "start;fib;fib 0/10",
        "start;fib;fib;fib 10/10",
        "start;fib;memset 20/20",
        "start;handle 20/50",
        "start;handle;parse 10/30",
        "start;handle;parse;Heap::Scavenge 10/20",
        "start;handle;parse;Heap::Scavenge;memset 10/10",
    ];
    assert_eq!(from_roots(&Selection::default()), expected);
}

/// The functions that ran stand under the root, with all of their weight; their callers follow.
#[test]
fn from_the_leaves() {
    let expected = [
        "Heap::Scavenge 10/10",
        "Heap::Scavenge;parse 0/10",
        "Heap::Scavenge;parse;handle 0/10",
        "Heap::Scavenge;parse;handle;start 0/10",
        "all 10/100",
        "fib 10/10",
        "fib;fib 0/10",
        "fib;fib;fib 0/10",
        "fib;fib;fib;start 0/10",
        "handle 20/20",
        "handle;start 0/20",
        "memset 30/30",
        "memset;Heap::Scavenge 0/10",
        "memset;Heap::Scavenge;parse 0/10",
        "memset;Heap::Scavenge;parse;handle 0/10",
        "memset;Heap::Scavenge;parse;handle;start 0/10",
        "memset;fib 0/20",
        "memset;fib;start 0/20",
        "parse 10/10",
        "parse;handle 0/10",
        "parse;handle;start 0/10",
        "start 10/10",
    ];
    assert_eq!(from_leaves(&Selection::default()), expected);
}

/// A hidden frame gives its weight to its caller; GC hides what it called, too.
#[test]
fn hiding_gives_the_weight_to_the_caller() {
    let without_gc = select(|selection| selection.hidden = vec![Category::Gc]);
    assert_eq!(
        from_roots(&without_gc),
        [
            "all 10/100",
            "start 10/90",
            "start;fib 0/30",
            "start;fib;fib 0/10",
            "start;fib;fib;fib 10/10",
            "start;fib;memset 20/20",
            "start;handle 20/50",
            "start;handle;parse 30/30",
        ]
    );
    // memset under GC is GC's: hiding system libraries leaves it.
    let without_libraries = select(|selection| selection.hidden = vec![Category::System]);
    let lines = from_roots(&without_libraries);
    assert!(lines.contains(&"start;fib 20/30".to_owned()), "{lines:#?}");
    assert!(
        lines.contains(&"start;handle;parse;Heap::Scavenge;memset 10/10".to_owned()),
        "{lines:#?}"
    );
}

#[test]
fn hiding_callers_moves_callees_up() {
    let selection = select(|selection| selection.hidden = vec![Category::NodeCore, Category::App]);
    let expected = [
        "all 50/100",
        "memset 20/20",
        "parse 10/30",
        "parse;Heap::Scavenge 10/20",
        "parse;Heap::Scavenge;memset 10/10",
    ];
    assert_eq!(from_roots(&selection), expected);
    let expected = [
        "Heap::Scavenge 10/10",
        "Heap::Scavenge;parse 0/10",
        "all 50/100",
        "memset 30/30",
        "memset;Heap::Scavenge 0/10",
        "memset;Heap::Scavenge;parse 0/10",
        "parse 10/10",
    ];
    assert_eq!(from_leaves(&selection), expected);
}

#[test]
fn hiding_everything_leaves_the_root() {
    let selection = select(|selection| selection.hidden = Category::ALL.to_vec());
    assert_eq!(from_roots(&selection), ["all 100/100"]);
    assert_eq!(from_leaves(&selection), ["all 100/100"]);
}

/// A selection drops samples, and never frames of the samples that stay.
#[test]
fn selecting_keeps_whole_stacks() {
    let selection = select(|selection| selection.categories = Some(vec![Category::Gc]));
    let expected = [
        "all 0/20",
        "start 0/20",
        "start;handle 0/20",
        "start;handle;parse 0/20",
        "start;handle;parse;Heap::Scavenge 10/20",
        "start;handle;parse;Heap::Scavenge;memset 10/10",
    ];
    assert_eq!(from_roots(&selection), expected);
    let selection = select(|selection| selection.search = Some(Regex::new("fast-json").unwrap()));
    assert_eq!(from_roots(&selection)[0], "all 0/30");
}

#[test]
fn threads_of_one_name_stand_together() {
    let profile = shop();
    let selection = Selection::default();
    let lines =
        outline(&profile, &tree(&profile, &selection, Direction::FromRoots, Grouping::ThreadName));
    let heads: Vec<&String> = lines.iter().filter(|line| !line.contains(';')).collect();
    assert_eq!(heads, ["[libuv-worker] 10/10", "[node] 0/90", "all 0/100"]);
    let lines =
        outline(&profile, &tree(&profile, &selection, Direction::FromLeaves, Grouping::ThreadName));
    assert!(lines.contains(&"parse;handle;start;[node] 0/10".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"[libuv-worker] 10/10".to_owned()), "{lines:#?}");
}

/// Whatever is selected and hidden: children add up to their parents, and both directions to the same sum.
#[test]
fn sums_hold_for_every_selection() {
    let profile = shop();
    let mut selections =
        vec![Selection::default(), select(|selection| selection.range_ns = Some(10..60))];
    for category in Category::ALL {
        selections.push(select(|selection| selection.hidden = vec![*category]));
        selections.push(select(|selection| selection.categories = Some(vec![*category])));
    }
    selections.push(select(|selection| selection.threads = Some(vec![ThreadId(2)])));
    for selection in &selections {
        let total = weigh(&profile, selection).total;
        for direction in [Direction::FromRoots, Direction::FromLeaves] {
            for grouping in [Grouping::None, Grouping::ThreadName] {
                let tree = tree(&profile, selection, direction, grouping);
                check_sums(&tree, total, direction);
            }
        }
    }
}

fn check_sums(tree: &CallTree, total: u64, direction: Direction) {
    assert_eq!(tree.node(NodeId::ROOT).total_weight, total);
    let children = tree.children(|a, b| b.total_weight.cmp(&a.total_weight));
    assert_eq!(children.len(), tree.nodes.len());
    for (node, list) in tree.nodes.iter().zip(&children) {
        let weights: Vec<u64> = list.iter().map(|id| tree.node(*id).total_weight).collect();
        assert!(
            weights.is_sorted_by(|a, b| a >= b),
            "children stand in the order that was asked for"
        );
        let below: u64 = weights.iter().sum();
        match direction {
            Direction::FromRoots => assert_eq!(node.self_weight + below, node.total_weight),
            Direction::FromLeaves => assert!(below <= node.total_weight),
        }
    }
    let own: u64 = tree.nodes.iter().map(|node| node.self_weight).sum();
    assert_eq!(own, total, "every sample ran somewhere, once");
    let samples: u64 = tree.nodes.iter().map(|node| node.self_samples).sum();
    assert_eq!(samples, tree.node(NodeId::ROOT).total_samples);
}
