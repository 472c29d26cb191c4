//! Recursions that go deeper than the copy that is taken of a stack: what is shown ends in its true root, or in a frame
//! that shows that it goes on.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::program::running::{Folded, can_record, is_function, some_nodes};
use crate::program::{Scratch, json, nodescope, stderr, succeeds};

/// Three recursions, each with an entry and an end of its own; two entries share the last one.
const DEEP: &str = "
const now = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
function spin(ms) { const end = now() + ms; let sum = 0; while (now() < end) for (let i = 0; i < 2e4; i++) sum += Math.sqrt(i); return sum; }
function end600() { return spin(12) + 1; }
function end1700() { return spin(12) + 2; }
function end10000() { return spin(12) + 3; }
function end900a() { return spin(9) + 4; }
function end900b() { return spin(9) + 5; }
function deep600(n) { return n === 0 ? end600() : deep600(n - 1) + 1; }
function deep1700(n) { return n === 0 ? end1700() : deep1700(n - 1) + 1; }
function deep10000(n) { return n === 0 ? end10000() : deep10000(n - 1) + 1; }
function deep900(n, end) { return n === 0 ? end() : deep900(n - 1, end) + 1; }
function enter600() { return deep600(600) + 1; }
function enter1700() { return deep1700(1700) + 1; }
function enter10000() { return deep10000(10000) + 1; }
function enter900a() { return deep900(900, end900a) + 1; }
function enter900b() { return deep900(900, end900b) + 1; }
const all = [enter600, enter1700, enter10000, enter900a, enter900b];
(function turn() { for (const enter of all) enter(); if (now() < 1800) setImmediate(turn); })();
";

/// The end of a recursion, the recursion, and what has called it.
const RECURSIONS: [[&str; 3]; 5] = [
    ["end600", "deep600", "enter600"],
    ["end1700", "deep1700", "enter1700"],
    ["end10000", "deep10000", "enter10000"],
    ["end900a", "deep900", "enter900a"],
    ["end900b", "deep900", "enter900b"],
];

const CUT: &str = "… deeper than the copy";

/// Stacks of one recursion, in samples.
#[derive(Debug, Default)]
struct Count {
    complete: f64,
    cut: f64,
    wrong: Vec<String>,
}

/// The stacks that have the end of a recursion: what it is, from the root on.
fn count(folded: &Folded, [end, deep, enter]: [&str; 3]) -> Count {
    let mut count = Count::default();
    folded.each(|stack, weight_ns| {
        let at = |name: &str| stack.iter().position(|frame| is_function(frame, name));
        if at(end).is_none() {
            return;
        }
        // The first name is the thread's.
        let is_cut = stack.get(1).is_some_and(|frame| frame == CUT);
        let others = RECURSIONS.iter().flatten().filter(|name| ![end, deep, enter].contains(name));
        let is_mixed = others.clone().any(|name| at(name).is_some());
        let marks = stack.iter().filter(|frame| *frame == CUT).count();
        let is_complete = at(enter).is_some_and(|entry| at(deep) == Some(entry + 1)) && marks == 0;
        match (is_mixed, is_complete, is_cut) {
            (false, true, false) => count.complete += weight_ns,
            (false, false, true) if marks == 1 && at(enter).is_none() => count.cut += weight_ns,
            _ => count.wrong.push(stack.iter().take(6).cloned().collect::<Vec<_>>().join(";")),
        }
    });
    count
}

#[test]
fn recursions_have_their_root_or_show_that_it_is_missing() {
    if !can_record() {
        return;
    }
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("deep-{release}"));
        let script = scratch.file("deep.js", DEEP.as_bytes());
        let (out, text) = (scratch.path("a.nodescope"), scratch.path("a.folded"));
        let node = node.display().to_string();
        let words = ["record", "-F", "199", "-o", &out, "--", &node, "--stack-size=3900", &script];
        let output = nodescope(&words).current_dir(&scratch.0).output().unwrap();
        assert!(output.status.success(), "Node {release}: {}", stderr(&output));
        succeeds(&["export", &out, "-o", &text]);
        let folded = Folded::read(&text);
        for recursion in RECURSIONS {
            let Count { complete, cut, wrong } = count(&folded, recursion);
            let share = complete / (complete + cut) * 100.0;
            println!(
                "Node {release}: {}: {share:.1} % of {:.0} ms completed",
                recursion[1],
                (complete + cut) / 1e6
            );
            assert!(wrong.is_empty(), "Node {release}: {recursion:?}: {wrong:#?}");
            assert!(
                complete + cut > 1e8,
                "Node {release}: {recursion:?} was seen for {} ns",
                complete + cut
            );
        }
        let losses = &json(&["report", "--json", &out])["losses"];
        let cut = losses["stacks_cut"].as_u64().unwrap();
        println!("Node {release}: {cut} stacks are cut");
        assert!(cut > 50, "{losses}");
        let report = succeeds(&["report", &out]);
        assert!(report.contains("went deeper than the copy taken with the sample"), "{report}");
    }
}
