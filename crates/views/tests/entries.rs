//! What asked for the work of hand-made stacks.
//!
//! A stack is written from its root: `uv_run! > listOnTimeout@node:internal/timers > poll`. Behind `@` stands the
//! script, `·` is a blank, `!` marks native code, and what has neither is a function of the application. `>` calls, `~`
//! awaits, and `?` was inferred to await.

use profile::{
    Builder, CallKind, Category, Frame, FrameId, Function, LaneInfo, ModuleId, NO_ADDRESS, Process,
    Profile, Role, Sample, SourceId, StackId, StringId, Thread, Tier, Unit,
};
use views::{Entries, EntryPoint, Selection, entries, entry_rows, weigh};

/// So many samples, the stack as it was, and with the functions that await it.
type Row = (u64, &'static str, Option<&'static str>);

fn recording(rows: &[Row]) -> (Profile, Vec<StackId>) {
    let mut builder = Builder::new();
    let process = builder.process(Process { pid: Some(1), ..Process::default() });
    let name = builder.string("node");
    let thread = builder.thread(Thread { process, tid: Some(1), name, role: Role::MainLoop });
    let lane = LaneInfo { name: "cpu-clock", unit: Unit::Ns, timed: true, counted: true };
    let lane = builder.lane(lane);
    let mut ids = Vec::new();
    for (samples, physical, logical) in rows {
        let logical =
            logical.map_or(StackId::NONE, |text| stack(&mut builder, text, StackId::NONE));
        let stack = stack(&mut builder, physical, logical);
        ids.push(stack);
        for time_ns in 0..*samples {
            builder.sample(lane, Sample { time_ns, thread, stack, weight: 10 });
        }
    }
    let profile = builder.finish();
    assert_eq!(profile.check(), Ok(()));
    (profile, ids)
}

fn stack(builder: &mut Builder, text: &str, logical: StackId) -> StackId {
    let mut words = text.split_whitespace().peekable();
    let (mut parent, mut call) = (StackId::NONE, CallKind::Call);
    while let Some(word) = words.next() {
        let frame = frame(builder, &word.replace('·', " "));
        let is_last = words.peek().is_none();
        let logical = if is_last { logical } else { StackId::NONE };
        parent = builder.stack_of(parent, frame, call, logical);
        call = match words.next() {
            Some("~") => CallKind::Await,
            Some("?") => CallKind::InferredAwait,
            _ => CallKind::Call,
        };
    }
    parent
}

fn frame(builder: &mut Builder, word: &str) -> FrameId {
    let is_native = word.ends_with('!');
    let (name, script) =
        word.trim_end_matches('!').split_once('@').unwrap_or((word, "/srv/app.js"));
    let name = name.trim_end_matches('!');
    let package = profile::classify::package_of(script);
    let category = match package {
        _ if is_native => Category::Runtime,
        Some(_) => Category::Dependency,
        None if script.starts_with("node:") => Category::NodeCore,
        None => Category::App,
    };
    let function = Function {
        name: builder.string(name),
        source: if is_native { SourceId::NONE } else { builder.source(script) },
        line: 1,
        column: 0,
        module: ModuleId::NONE,
        package: builder.optional_string(package.filter(|_| !is_native)),
        version: StringId::NONE,
    };
    let (function, symbol) = (builder.function(function), builder.string(name));
    builder.frame(Frame {
        function,
        line: 0,
        column: 0,
        category,
        tier: if is_native { Tier::None } else { Tier::Ignition },
        inlined: false,
        address: NO_ADDRESS,
        symbol,
    })
}

/// `timer poll`, `http (express)`, `await list`; inferred ones with a question mark.
fn words(profile: &Profile, entry: &EntryPoint) -> String {
    let name = |id: StringId| profile.text(id).to_owned();
    let function = entry.function.some().map(|id| name(profile.functions().row(id).name));
    let package = entry.package.some().map(|id| format!("({})", name(id)));
    let mark = if entry.is_inferred { " ?" } else { "" };
    let what = function.or(package).unwrap_or_else(|| "-".to_owned());
    format!("{} {what}{mark}", entry.kind.word())
}

fn found(rows: &[Row]) -> Vec<String> {
    let (profile, ids) = recording(rows);
    let entries: Entries = entries(&profile);
    let word = |id: &StackId| {
        let physical = words(&profile, &entries.of(*id));
        assert_eq!(physical, words(&profile, &entries.of(profile.logical(*id))), "both stacks");
        physical
    };
    ids.iter().map(word).collect()
}

const TIMER: &str = "uv_run! > processTimers@node:internal/timers > listOnTimeout@node:internal/timers > poll > work";

#[test]
fn frames_show_the_kind_and_the_function_behind_it() {
    let rows: &[(&str, &str)] = &[
        (TIMER, "timer poll"),
        ("uv_run! > processImmediate@node:internal/timers > later", "immediate later"),
        (
            "uv_run! > processTimers@node:internal/timers > listOnTimeout@node:internal/timers > \
             runNextTicks@node:internal/process/task_queues > \
             processTicksAndRejections@node:internal/process/task_queues > tick",
            "nexttick tick",
        ),
        (
            "uv_run! > parserOnHeadersComplete@node:_http_common > parserOnIncoming@node:_http_server > emit@node:events > list > work",
            "http list",
        ),
        ("uv_run! > parserOnIncoming@node:_http_server > emit@node:events", "http -"),
        (
            "uv_run! > parserOnIncoming@node:_http_server > app@/srv/node_modules/express/lib/express.js",
            "http (express)",
        ),
        // The nearest rule's function is the route, not what every request passes.
        (
            "parserOnIncoming@node:_http_server > handleRequest@/srv/node_modules/router/lib/layer.js > log > \
             handleRequest@/srv/node_modules/router/lib/layer.js > list > work",
            "http list",
        ),
        // A module that a request loads is the request's work; one that the main script loads is loading.
        (
            "parserOnIncoming@node:_http_server > list > Module.require@node:internal/modules/cjs/loader > top",
            "http list",
        ),
        (
            "(top·level)@node:internal/main/run_main_module > Module._load@node:internal/modules/cjs/loader > main > work",
            "startup main",
        ),
        (
            "(top·level)@node:internal/main/run_main_module > Module._load@node:internal/modules/cjs/loader > main > \
             Module.require@node:internal/modules/cjs/loader > Module._load@node:internal/modules/cjs/loader > shop",
            "loading shop",
        ),
        ("uv_run! > uv__work_done! > makeCallback@node:fs > afterStat", "pool afterStat"),
        ("uv_run! > node::fs::AfterInteger(uv_fs_s*)! > afterOpen", "pool afterOpen"),
        ("uv_run! > onexit@node:internal/child_process > exited", "other exited"),
        ("uv_run! > uv__io_poll!", "none -"),
        ("uv_run! > listOnTimeout@/srv/app.js > poll", "other listOnTimeout"),
    ];
    for (stack, expected) in rows {
        assert_eq!(found(&[(1, stack, None)]), [*expected], "{stack}");
    }
}

/// Rule 0: what emptied the queue of microtasks did not ask for what was in it.
#[test]
fn frames_below_the_queue_of_microtasks_are_not_asked() {
    let queue = "listOnTimeout@node:internal/timers > runNextTicks@node:internal/process/task_queues > \
        RunMicrotasks! > PromiseFulfillReactionJob! > list > work";
    assert_eq!(found(&[(9, queue, None)]), ["await list"]);
    let of_v8 = "processImmediate@node:internal/timers > v8::internal::MicrotaskQueue::RunMicrotasks(v8::internal::Isolate*)! > list";
    assert_eq!(found(&[(9, of_v8, None)]), ["await list"]);
    let queued = "RunMicrotasks! > runMicrotask@node:internal/process/task_queues > later";
    assert_eq!(found(&[(9, queued, None)]), ["microtask later"]);
    let queued = "RunMicrotasks! > later > work";
    assert_eq!(found(&[(9, queued, None)]), ["microtask later"]);
    let twice = "RunMicrotasks! > PromiseFulfillReactionJob! > list > RunMicrotasks! > PromiseFulfillReactionJob! > other";
    assert_eq!(found(&[(9, twice, None)]), ["await other"]);
}

#[test]
fn functions_that_await_show_the_entry() {
    let nest = "(anonymous)@/srv/node_modules/@nestjs/core/router/router-execution-context.js ~ list ~ load > parse";
    let rows = [(3, "RunMicrotasks! > PromiseFulfillReactionJob! > load > parse", Some(nest))];
    assert_eq!(found(&rows), ["http list"]);
    let inferred = "(anonymous)@/srv/node_modules/@nestjs/core/router/router-execution-context.js ~ list ? load > parse";
    assert_eq!(
        found(&[(3, "RunMicrotasks! > PromiseFulfillReactionJob! > load > parse", Some(inferred))]),
        ["http list ?"]
    );
    // The main script goes on for ever.
    let script = "runEntryPointWithESMLoader@node:internal/modules/run_main ~ run@node:internal/modules/esm/module_job > main";
    assert_eq!(
        found(&[(3, "RunMicrotasks! > PromiseFulfillReactionJob! > main", Some(script))]),
        ["startup main"]
    );
    let later = "runEntryPointWithESMLoader@node:internal/modules/run_main ~ main ~ load";
    assert_eq!(
        found(&[(3, "RunMicrotasks! > PromiseFulfillReactionJob! > load", Some(later))]),
        ["await main"]
    );
}

const LIST: &str = "parserOnIncoming@node:_http_server > emit@node:events > list > query";
const RESUMED: &str = "RunMicrotasks! > PromiseFulfillReactionJob! > load > parse";

#[test]
fn a_function_keeps_the_entry_under_which_it_was_seen_to_start() {
    let chain = Some("list ~ load > parse");
    assert_eq!(found(&[(5, LIST, None), (9, RESUMED, chain)]), ["http list", "http list ?"]);
    assert_eq!(found(&[(4, LIST, None), (9, RESUMED, chain)]), ["http list", "await list"]);
    // Two functions in between make no difference, and neither does the order.
    let deep = Some("list ~ middle ~ load > parse");
    assert_eq!(found(&[(9, RESUMED, deep), (5, LIST, None)]), ["http list ?", "http list"]);
    // What the main script started is not start-up for ever.
    let main = "(top·level)@node:internal/main/run_main_module > main > list";
    assert_eq!(found(&[(50, main, None), (9, RESUMED, chain)])[1], "await list");
}

/// What a resumed function starts has its entry, although that was inferred.
#[test]
fn what_starts_after_an_await_is_found_in_the_second_round() {
    let starts = "RunMicrotasks! > PromiseFulfillReactionJob! > list > refresh > work";
    let goes_on = "RunMicrotasks! > PromiseFulfillReactionJob! > refresh > work";
    let rows = [(5, LIST, None), (6, starts, Some("list > refresh > work")), (7, goes_on, None)];
    assert_eq!(found(&rows), ["http list", "http list ?", "http list ?"]);
}

/// A route behind a function that every request passes.
#[test]
fn an_inferred_entry_names_the_handler() {
    let start = "parserOnIncoming@node:_http_server > dispatch@/srv/node_modules/koa-compose/index.js > log > \
        dispatch@/srv/node_modules/koa-compose/index.js > list > work";
    let rows = [(5, start, None), (9, RESUMED, Some("log ~ list ~ load > parse"))];
    assert_eq!(found(&rows), ["http list", "http list ?"]);
    let rows = [(5, start, None), (9, RESUMED, Some("log ~ other ~ load > parse"))];
    assert_eq!(found(&rows), ["http list", "http log ?"]);
}

#[test]
fn what_was_seen_under_several_entries_is_shared_out() {
    let timer = "listOnTimeout@node:internal/timers > poll > refresh";
    let request = "parserOnIncoming@node:_http_server > list > refresh";
    let mut rows: Vec<Row> = vec![(15, timer, None), (5, request, None)];
    let leaves = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let stacks = leaves.map(|leaf| -> &'static str {
        Box::leak(
            format!("RunMicrotasks! > PromiseFulfillReactionJob! > refresh > {leaf}")
                .into_boxed_str(),
        )
    });
    rows.extend(stacks.iter().map(|stack| (10, *stack, None)));
    let (profile, _) = recording(&rows);
    let selection = Selection::default();
    let weights = weigh(&profile, &selection);
    let groups = entry_rows(&profile, &weights, &entries(&profile));
    let shown: Vec<String> = groups
        .iter()
        .map(|group| {
            format!(
                "{} {} {:.2} {:.2}",
                group.kind.word(),
                group.samples,
                group.share,
                group.inferred
            )
        })
        .collect();
    assert_eq!(shown, ["timer 75 0.75 0.60", "http 25 0.25 0.20"]);
    let poll = &groups[0].functions[0];
    assert_eq!((poll.function.as_deref(), poll.line, poll.samples), (Some("poll"), Some(1), 75));
    assert_eq!(poll.file.as_deref(), Some("/srv/app.js"));
}

#[test]
fn rows_add_up_and_what_is_not_javascript_comes_last() {
    let rows = [(1, TIMER, None), (6, "uv_run! > uv__io_poll!", None), (3, LIST, None)];
    let (profile, _) = recording(&rows);
    let weights = weigh(&profile, &Selection::default());
    let groups = entry_rows(&profile, &weights, &entries(&profile));
    let kinds: Vec<&str> = groups.iter().map(|group| group.kind.word()).collect();
    assert_eq!(kinds, ["http", "timer", "none"]);
    assert!((groups.iter().map(|group| group.share).sum::<f64>() - 1.0).abs() < 1e-9);
    assert_eq!(groups.iter().map(|group| group.samples).sum::<u64>(), 10);
}
