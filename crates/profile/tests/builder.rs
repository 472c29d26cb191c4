//! The builder: equal rows are one, times start at 0, and a stack's category comes from its callers.

use profile::{
    Builder, Category, DEEPEST_STACK, Joining, LaneId, LaneInfo, Process, Profile, Role, Sample,
    StackId, Thread, ThreadId, Tier, Unit,
};

use Category::{
    App, Builtin, Compiler, Dependency, Gc, Idle, Kernel, NodeCore, Regexp, Runtime, System, Wasm,
};

use crate::sample::{self, frame, function};

/// Code of a category; JavaScript where it has a tier.
type Code = (Category, Tier);

const JS: Tier = Tier::Turbofan;
const NATIVE: Tier = Tier::None;

/// What is called, from the root; the category of the time at the top.
const INHERITANCE: &[(&str, &[Code], Category)] = &[
    ("the code itself", &[(App, JS)], App),
    ("a library under app", &[(App, JS), (System, NATIVE)], System),
    ("memset under GC", &[(App, JS), (Gc, NATIVE), (System, NATIVE)], Gc),
    ("the kernel under memset under GC", &[(Gc, NATIVE), (System, NATIVE), (Kernel, NATIVE)], Gc),
    ("V8's C++ under the compiler", &[(Compiler, NATIVE), (Runtime, NATIVE)], Compiler),
    ("GC under the compiler", &[(Compiler, NATIVE), (Gc, NATIVE)], Compiler),
    ("the engine under a regexp", &[(App, JS), (Regexp, NATIVE), (Runtime, NATIVE)], Regexp),
    ("the callback of a replace", &[(App, JS), (Regexp, NATIVE), (App, JS)], App),
    ("what that callback calls", &[(Regexp, NATIVE), (App, JS), (System, NATIVE)], System),
    ("a dependency's callback", &[(Regexp, NATIVE), (Dependency, Tier::Ignition)], Dependency),
    (
        "GC that a callback causes",
        &[(Regexp, NATIVE), (App, JS), (Gc, NATIVE), (System, NATIVE)],
        Gc,
    ),
    ("JavaScript whose tier is not known", &[(Gc, NATIVE), (App, Tier::Unmarked)], App),
    ("wasm is no JavaScript", &[(Compiler, NATIVE), (Wasm, Tier::Liftoff)], Compiler),
    ("the kernel's idle loop", &[(Kernel, NATIVE), (Idle, NATIVE), (Kernel, NATIVE)], Idle),
    ("a builtin claims nothing", &[(Builtin, NATIVE), (Runtime, NATIVE)], Runtime),
    ("Node claims nothing", &[(NodeCore, NATIVE), (System, NATIVE)], System),
];

#[test]
fn gc_compiler_regexp_and_idle_claim_what_they_call() {
    for (what, calls, expected) in INHERITANCE {
        let mut builder = Builder::new();
        let mut stack = StackId::NONE;
        for (depth, (category, tier)) in calls.iter().enumerate() {
            let row = function(&mut builder, &format!("f{depth}"), None, None);
            let frame = frame(&mut builder, row, *category, *tier);
            stack = builder.stack(stack, frame);
        }
        let profile = builder.finish();
        assert_eq!(profile.stacks().row(stack).category, *expected, "{what}");
        let own: Vec<Category> =
            profile.ancestry(stack).map(|id| category_of_code(&profile, id)).collect();
        let typed: Vec<Category> = calls.iter().rev().map(|(category, _)| *category).collect();
        assert_eq!(own, typed, "{what}: the frames keep their own");
    }
}

fn category_of_code(profile: &Profile, stack: StackId) -> Category {
    profile.frames().row(profile.stacks().row(stack).frame).category
}

#[test]
fn equal_rows_are_one() {
    let mut builder = Builder::new();
    assert_eq!(builder.string("a"), builder.string("a"));
    assert_eq!(builder.source("/a.js"), builder.source("/a.js"));
    assert_eq!(builder.module("libc", None), builder.module("libc", None));
    assert_ne!(builder.module("libc", None), builder.module("libc", Some("c0ffee")));
    let row = function(&mut builder, "f", Some("/a.js"), None);
    assert_eq!(builder.function(row), builder.function(row));
    let (one, two) = (frame(&mut builder, row, App, JS), frame(&mut builder, row, App, JS));
    assert_eq!(one, two);
    let other = frame(&mut builder, row, App, Tier::Ignition);
    assert_ne!(one, other, "frames of different tiers differ");
    let root = builder.stack(StackId::NONE, one);
    assert_eq!(root, builder.stack(StackId::NONE, two));
    assert_ne!(root, builder.stack(root, one), "recursion is a stack of its own");
    let lane = LaneInfo { name: "cycles", unit: Unit::Event, timed: true, counted: true };
    assert_eq!(builder.lane(lane), builder.lane(lane));
    assert_ne!(builder.lane(lane), builder.lane(LaneInfo { unit: Unit::Count, ..lane }));
    assert_eq!(one_thread(&mut builder, "node"), one_thread(&mut builder, "node"));
    assert_ne!(
        one_thread(&mut builder, "node"),
        one_thread(&mut builder, "api"),
        "a changed name is a new row"
    );
    assert_eq!(builder.finish().processes().len(), 1);
}

#[test]
fn times_are_sorted_and_start_at_zero() {
    let mut builder = Builder::new();
    let thread = one_thread(&mut builder, "node");
    let timed = builder.lane(LaneInfo { name: "a", unit: Unit::Ns, timed: true, counted: true });
    let later = builder.lane(LaneInfo { name: "b", unit: Unit::Ns, timed: true, counted: true });
    let untimed = builder.lane(LaneInfo { name: "c", unit: Unit::Ns, timed: false, counted: true });
    for (lane, time_ns, weight) in [
        (timed, 50, 1),
        (timed, 20, 2),
        (timed, 20, 3),
        (timed, 90, 4),
        (later, 70, 5),
        (untimed, 1, 6),
    ] {
        builder.sample(lane, Sample { time_ns, thread, stack: StackId::NONE, weight });
    }
    let profile = builder.finish();
    let column = |lane: LaneId| profile.lane(lane).samples.clone();
    assert_eq!(column(timed).time_ns, [0, 0, 30, 70]);
    assert_eq!(column(timed).weight, [2, 3, 1, 4], "equal times keep their order");
    assert_eq!(column(later).time_ns, [50], "all lanes have one start");
    assert_eq!(column(untimed).time_ns, [0]);
    assert_eq!(profile.duration_ns(), 70);
}

#[test]
fn an_origin_that_was_set_stays() {
    let mut builder = Builder::new();
    let thread = one_thread(&mut builder, "node");
    let lane = builder.lane(LaneInfo { name: "a", unit: Unit::Ns, timed: true, counted: true });
    builder.sample(lane, Sample { time_ns: 120, thread, stack: StackId::NONE, weight: 1 });
    builder.sample(lane, Sample { time_ns: 90, thread, stack: StackId::NONE, weight: 1 });
    builder.set_origin_ns(100);
    builder.meta().duration_ns = 500;
    let profile = builder.finish();
    assert_eq!(
        profile.lanes()[0].samples.time_ns,
        [0, 20],
        "what was before the start is at the start"
    );
    assert_eq!(profile.duration_ns(), 500, "a known duration is not shortened");
}

/// Joining the same profile twice doubles its samples and nothing else.
#[test]
fn a_profile_appended_twice_has_each_row_once() {
    let one = sample::profile();
    let mut builder = Builder::new();
    builder.append(&one, Joining::default());
    builder.append(&one, Joining::default());
    let two = builder.finish();
    assert_eq!(two.check(), Ok(()));
    assert_eq!(two.strings(), one.strings());
    assert_eq!(two.functions(), one.functions());
    assert_eq!(two.frames(), one.frames());
    assert_eq!(two.stacks(), one.stacks());
    assert_eq!(two.threads(), one.threads());
    for (twice, once) in two.lanes().iter().zip(one.lanes()) {
        assert_eq!(twice.samples.len(), 2 * once.samples.len());
    }
    assert_eq!(two.meta().losses.lost, 2 * one.meta().losses.lost);
    assert_eq!(two.meta().losses.damage.len(), 2);
}

/// The other's times are moved, and its nameless processes get a name: nothing of two runs is mixed.
#[test]
fn a_profile_can_start_later_under_another_name() {
    let run = || {
        let mut builder = Builder::new();
        let process = builder.process(Process::default());
        let name = builder.string("main");
        let thread = builder.thread(Thread { process, tid: None, name, role: Role::MainLoop });
        let lane =
            builder.lane(LaneInfo { name: "cpu", unit: Unit::Ns, timed: true, counted: true });
        builder.sample(lane, Sample { time_ns: 3, thread, stack: StackId::NONE, weight: 1 });
        builder.sample(lane, Sample { time_ns: 8, thread, stack: StackId::NONE, weight: 1 });
        builder.finish()
    };
    let mut builder = Builder::new();
    builder.append(&run(), Joining { later_ns: 0, process_name: Some("a.log") });
    builder.append(&run(), Joining { later_ns: 100, process_name: Some("b.log") });
    let joined = builder.finish();
    assert_eq!(joined.lanes()[0].samples.time_ns, [0, 5, 100, 105]);
    assert_eq!(joined.duration_ns(), 105);
    let names: Vec<&str> =
        joined.processes().iter().map(|process| joined.text(process.name)).collect();
    assert_eq!(names, ["a.log", "b.log"]);
    assert_eq!(joined.threads().len(), 2);
}

fn one_thread(builder: &mut Builder, name: &str) -> ThreadId {
    let process = Process { pid: Some(1), ..Process::default() };
    let process = builder.process(process);
    let name = builder.string(name);
    builder.thread(Thread { process, tid: Some(1), name, role: Role::MainLoop })
}

/// What is beyond the deepest stack is left out and reported; the stacks below it stay.
#[test]
fn no_stack_is_too_deep() {
    let mut builder = Builder::new();
    let row = function(&mut builder, "f", None, None);
    let frame = frame(&mut builder, row, App, JS);
    let deep = (0..DEEPEST_STACK).fold(StackId::NONE, |stack, _| builder.stack(stack, frame));
    assert_eq!(builder.stack(deep, frame), deep);
    let profile = builder.finish();
    assert_eq!(profile.check(), Ok(()));
    assert_eq!(profile.ancestry(deep).count(), usize::from(DEEPEST_STACK));
    assert_eq!(
        profile.meta().losses.damage,
        ["stacks have more than 16384 frames: 1 are left out"]
    );
}
