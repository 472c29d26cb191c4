//! The rules on recordings of real programs with the real packages: corpus/entries-*. Each function of a program that
//! works is called in one way only, so its samples must have that entry.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use profile::{FunctionId, Profile, StackId};
use views::{Entries, Selection, entries, weigh};

/// A case, a function that works, what asked for its work, and how many of a hundred samples must show it.
type Row = (&'static str, &'static str, &'static str, u64);

const ROWS: &[Row] = &[
    ("http", "workAnswer", "http-answer answered", 100),
    ("http", "workBody", "socket onData", 100),
    ("http", "workLoaded", "await query", 90),
    ("http", "workStart", "http serve", 100),
    ("http", "workSync", "http serve", 100),
    ("https", "workLoaded", "http list", 100),
    ("https", "workStart", "http serve", 100),
    ("https", "workSync", "http serve", 100),
    ("loop", "workCrypto", "pool onKey", 100),
    ("loop", "workDns", "pool onFound", 100),
    ("loop", "workImmediate", "immediate later", 100),
    ("loop", "workMessage", "message onMessage", 100),
    ("loop", "workMicrotask", "microtask micro", 100),
    ("loop", "workRead", "pool onRead", 100),
    ("loop", "workSocket", "socket onData", 100),
    ("loop", "workStat", "pool onStat", 100),
    ("loop", "workTick", "nexttick tick", 100),
    ("loop", "workTimer", "timer poll", 100),
    ("loop", "workZlib", "pool onZipped", 100),
    ("http2", "workLoaded", "http2 list", 100),
    ("http2", "workSync", "http2 list", 100),
    ("express", "workLoaded", "http list", 100),
    ("express", "workStart", "http list", 100),
    ("express", "workSync", "http sync", 100),
    ("express4", "workLoaded", "http list", 100),
    ("express4", "workStart", "http list", 100),
    ("express4", "workSync", "http sync", 100),
    ("fastify", "workHook", "http check", 100),
    ("fastify", "workHookLoaded", "http check", 100),
    ("fastify", "workLoaded", "http list", 100),
    ("fastify", "workStart", "http list", 100),
    ("fastify", "workSync", "http sync", 100),
    ("koa", "workLoaded", "http list", 100),
    ("koa", "workStart", "http list", 100),
    ("hapi", "workLoaded", "http list", 100),
    ("hapi", "workStart", "http list", 100),
    ("nest", "workLoaded", "http list", 100),
    ("nest", "workStart", "http list", 100),
    ("next", "workLoaded", "http GET", 100),
    ("next", "workPage", "await Page", 100),
    ("next", "workStart", "http GET", 100),
    ("ws", "workLoaded", "websocket onMessage", 100),
    ("ws", "workMessage", "websocket onMessage", 100),
    ("socketio", "workEvent", "websocket onOrder", 100),
    ("socketio", "workLoaded", "websocket onOrder", 100),
    ("graphql", "workName", "graphql name", 100),
    ("graphql", "workOrders", "graphql orders", 100),
    ("graphql", "workStart", "graphql orders", 100),
    ("grpc", "workCall", "grpc getOrder", 100),
    ("grpc", "workLoaded", "grpc getOrder", 100),
    ("bullmq", "workJob", "job resize", 100),
    ("bullmq", "workLoaded", "job resize", 100),
    ("kafkajs", "workLoaded", "job onOrder", 100),
    ("kafkajs", "workMessage", "job onOrder", 100),
    ("amqplib", "workLoaded", "job onOrder", 100),
    ("amqplib", "workMessage", "job onOrder", 100),
    ("piscina", "workLoaded", "message resize", 100),
    ("piscina", "workTask", "message resize", 100),
    ("startup", "workMain", "startup (top level)", 100),
    ("startup", "workModule", "loading (top level)", 100),
    ("startup-esm", "workLater", "await (top level)", 100),
    ("startup-esm", "workMain", "startup (top level)", 100),
    ("startup-esm", "workModule", "loading (top level)", 100),
    ("node-test", "workLoaded", "test loads", 100),
    ("node-test", "workStart", "test loads", 100),
    ("node-test", "workTest", "test lists", 100),
    ("mocha", "workLoaded", "test loads", 100),
    ("mocha", "workStart", "test loads", 100),
    ("mocha", "workTest", "test lists", 100),
    ("jest", "workLoaded", "test loads", 100),
    ("jest", "workStart", "test loads", 100),
    ("jest", "workTest", "test lists", 100),
    ("vitest", "workLoaded", "test loads", 100),
    ("vitest", "workStart", "test loads", 100),
    ("vitest", "workTest", "test lists", 100),
    ("eslint", "workRule", "build createSlow", 100),
    ("webpack", "workFile", "build loadFile", 100),
];

fn recording(name: &str) -> Option<Profile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let bytes = fs::read(folder.join(format!("entries-{name}/input.nodescope"))).ok()?;
    profile::file::read(&bytes).ok()
}

/// The samples of a function that works, by the entry of their stacks: `http list`, and `http (express)`.
fn by_entry(profile: &Profile, entries: &Entries, function: &str) -> BTreeMap<String, u64> {
    let weights = weigh(profile, &Selection::of_logical());
    let mut sums = BTreeMap::new();
    for entry in &weights.entries {
        if works(profile, entry.stack, function) {
            *sums.entry(words(profile, entries, entry.stack)).or_default() += entry.samples;
        }
    }
    sums
}

fn works(profile: &Profile, stack: StackId, function: &str) -> bool {
    let name = |id: FunctionId| profile.text(profile.functions().name[id.index()]);
    let frame = |id: StackId| profile.stacks().frame[id.index()];
    profile.ancestry(stack).any(|id| name(profile.frames().function[frame(id).index()]) == function)
}

fn words(profile: &Profile, entries: &Entries, stack: StackId) -> String {
    let entry = entries.of(stack);
    let function = entry.function.some().map(|id| profile.functions().name[id.index()]);
    let name = function.or(entry.package.some()).map_or("-", |id| profile.text(id));
    format!("{} {name}", entry.kind.word())
}

#[test]
fn every_case_is_known_and_every_function_has_its_entry() {
    let mut missing = Vec::new();
    for (case, function, expected, percent) in ROWS {
        let Some(profile) = recording(case) else { panic!("corpus/entries-{case} is not there") };
        let found = by_entry(&profile, &entries(&profile), function);
        let all: u64 = found.values().sum();
        let right = found.get(*expected).copied().unwrap_or(0);
        if all < 3 || right * 100 < all * percent {
            missing.push(format!("{case}: {function} should be {expected}, but is {found:?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
