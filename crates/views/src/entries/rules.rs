//! Which frame means which entry: one table. A row was seen in a recording of corpus/entries-*, unless it says that it
//! was not.

use profile::{FunctionId, Profile};
use rustc_hash::FxHashMap;

use super::kind::EntryKind::{self, *};

/// A frame that shows what asked for the work of the frames that it called.
pub(super) struct Rule {
    /// The function's name; of native code what its symbol begins with.
    name: &'static str,
    place: Place,
    pub(super) kind: EntryKind,
    pub(super) over: Over,
}

/// Where the function is.
enum Place {
    /// A script of Node's own, without `node:`.
    Node(&'static str),
    /// An npm package, and a part of the script's path: a source map may lead to another folder or ending.
    Package(&'static str, &'static str),
    /// A binary.
    Native,
}

/// Which entry of a caller the frame replaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Any: what is nearest to the work is the most precise.
    Any,
    /// None, or start-up: a module that a request loads is the request's work.
    Startup,
    /// None.
    Nothing,
}

/// What a function means for the stacks that it is on.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Plain,
    /// V8's queue of microtasks: what it calls was not asked for by its callers. Its builtin calls what
    /// `queueMicrotask` was given itself, and everything else by a builtin for promises.
    Microtasks {
        is_builtin: bool,
    },
    Entry(&'static Rule),
}

impl Rule {
    /// Whether it is of a package: then the function behind it is a handler that the package was given.
    pub(super) fn is_of_package(&self) -> bool {
        matches!(self.place, Place::Package(..))
    }

    fn fits(&self, script: Option<&str>, package: &str) -> bool {
        match (&self.place, script) {
            (Place::Node(its), Some(script)) => script.strip_prefix("node:") == Some(its),
            (Place::Package(its, part), Some(script)) => *its == package && script.contains(part),
            (Place::Native, script) => script.is_none(),
            (_, None) => false,
        }
    }
}

const fn node(name: &'static str, script: &'static str, kind: EntryKind) -> Rule {
    Rule { name, place: Place::Node(script), kind, over: Over::Any }
}

const fn package(
    name: &'static str,
    package: &'static str,
    part: &'static str,
    kind: EntryKind,
) -> Rule {
    Rule { name, place: Place::Package(package, part), kind, over: Over::Any }
}

const fn native(name: &'static str, kind: EntryKind) -> Rule {
    Rule { name, place: Place::Native, kind, over: Over::Any }
}

const fn loading(name: &'static str, script: &'static str, over: Over) -> Rule {
    Rule { name, place: Place::Node(script), kind: Loading, over }
}

/// V8's queue of microtasks: as a builtin, as its C++, and as V8's own profiler shows what Node calls.
const MICROTASKS_BUILTIN: &str = "RunMicrotasks";
const MICROTASKS: &[&str] = &[MICROTASKS_BUILTIN, "runMicrotasks"];
const NATIVE_MICROTASKS: &str = "v8::internal::MicrotaskQueue::RunMicrotasks";

/// What the queue of microtasks calls itself.
pub(super) const QUEUED: &Rule = &native(MICROTASKS_BUILTIN, Microtask);

/// The rules. What stands nearest to the work decides, so the order does not matter.
static RULES: &[Rule] = &[
    // HTTP
    node("parserOnIncoming", "_http_server", Http),
    node("parserOnIncomingClient", "_http_client", HttpAnswer),
    node("parserOnHeadersComplete", "_http_common", Socket),
    node("parserOnBody", "_http_common", Socket),
    node("parserOnMessageComplete", "_http_common", Socket),
    node("onServerStream", "internal/http2/compat", Http2),
    node("sessionOnStream", "internal/http2/core", Http2),
    node("onSessionHeaders", "internal/http2/core", Http2),
    node("onStreamTrailers", "internal/http2/core", Http2),
    node("onStreamClose", "internal/http2/core", Http2),
    package("handleRequest", "router", "lib/layer.", Http),
    package("handleError", "router", "lib/layer.", Http),
    package("handle", "express", "lib/router/layer.", Http),
    package("handle_error", "express", "lib/router/layer.", Http),
    package("trim_prefix", "express", "lib/router/index.", Http),
    package("dispatch", "express", "lib/router/route.", Http),
    package("next", "express", "lib/router/route.", Http),
    package("preHandlerCallbackInner", "fastify", "lib/handle-request.", Http),
    package("hookIterator", "fastify", "lib/hooks.", Http),
    package("handleResolve", "fastify", "lib/hooks.", Http),
    package("(anonymous)", "fastify", "lib/wrap-thenable.", Http),
    package("handleRequest", "koa", "lib/application.", Http),
    package("handleResponse", "koa", "lib/application.", Http),
    package("dispatch", "koa-compose", "", Http),
    package("internals.handler", "@hapi/hapi", "lib/handler.", Http),
    package("_lifecycle", "@hapi/hapi", "lib/request.", Http),
    package("exports.send", "@hapi/hapi", "lib/transmit.", Http),
    package("(anonymous)", "@nestjs/core", "router/router-execution-context.", Http),
    package("requestListener", "next", "server/lib/start-server.", Http),
    package("handleRequestImpl", "next", "server/base-server.", Http),
    package("renderToHTMLOrFlightImpl", "next", "server/app-render/app-render.", Http),
    package("handle", "next", "route-modules/app-route/module.", Http),
    package("do", "next", "route-modules/app-route/module.", Http),
    package("receiverOnMessage", "ws", "lib/websocket.", WebSocket),
    package("emitUntyped", "socket.io", "typed-events.", WebSocket),
    package("executeField", "graphql", "execution/execute.", Graphql),
    package("onReceiveHalfClose", "@grpc/grpc-js", "src/server.", Grpc),
    // Queues
    package("processJob", "bullmq", "classes/worker.", Job),
    package("processEachMessage", "kafkajs", "consumer/runner.", Job),
    package("processEachBatch", "kafkajs", "consumer/runner.", Job),
    package("dispatchMessage", "amqplib", "lib/channel.", Job),
    // Tests, builds
    node("run", "internal/test_runner/test", Test),
    package("runWithTimeout", "@vitest/runner", "", Test),
    package("_callCircusTest", "jest-circus", "", Test),
    package("callAsyncCircusFn", "jest-circus", "", Test),
    package("callFn", "mocha", "lib/runnable.", Test),
    package("readAndVerifyFile", "eslint", "lib/eslint/eslint-helpers.", Build),
    package("processResource", "webpack", "NormalModule.", Build),
    // The event loop
    node("listOnTimeout", "internal/timers", Timer),
    node("processImmediate", "internal/timers", Immediate),
    node("processTicksAndRejections", "internal/process/task_queues", NextTick),
    node("runMicrotask", "internal/process/task_queues", Microtask),
    node("onStreamRead", "internal/stream_base_commons", Socket),
    node("endReadableNT", "internal/streams/readable", Socket),
    node("resume_", "internal/streams/readable", Socket),
    node("emitReadable_", "internal/streams/readable", Socket),
    node("afterWriteTick", "internal/streams/writable", Socket),
    node("onconnection", "net", Socket),
    node("afterConnect", "net", Socket),
    node("onWriteComplete", "internal/stream_base_commons", Socket),
    native("node::LibuvStreamWrap::OnUvRead", Socket),
    native("uv__work_done", Pool),
    native("node::fs::After", Pool),
    node("processCallback", "zlib", Pool),
    node("zlibBufferOnEnd", "zlib", Pool),
    node("job.ondone", "internal/crypto/pbkdf2", Pool),
    node("job.ondone", "internal/crypto/scrypt", Pool),
    node("onlookup", "dns", Pool),
    node("onlookupall", "dns", Pool),
    node("(anonymous)", "internal/per_context/messageport", Message),
    package("onMessage", "piscina", "worker.", Message),
    // Modules and the start
    node("(top level)", "internal/main/run_main_module", Startup),
    node("(top level)", "internal/main/eval_string", Startup),
    node("(anonymous)", "internal/main/worker_thread", Startup),
    node("runEntryPointWithESMLoader", "internal/modules/run_main", Startup),
    node("asyncRunEntryPointWithESMLoader", "internal/modules/run_main", Startup),
    loading("require", "internal/modules/helpers", Over::Startup),
    loading("wrapModuleLoad", "internal/modules/cjs/loader", Over::Nothing),
    loading("loadCJSModuleWithModuleLoad", "internal/modules/esm/translators", Over::Startup),
    loading("Module.require", "internal/modules/cjs/loader", Over::Startup),
    loading("Module._load", "internal/modules/cjs/loader", Over::Nothing),
    loading("run", "internal/modules/esm/module_job", Over::Nothing),
    loading("runSync", "internal/modules/esm/module_job", Over::Startup),
];

/// Of each function what it means. A few comparisons a function, none a stack.
pub(super) fn meanings(profile: &Profile) -> Vec<Meaning> {
    let mut by_name: FxHashMap<&str, Vec<&'static Rule>> = FxHashMap::default();
    for rule in RULES {
        by_name.entry(rule.name).or_default().push(rule);
    }
    let natives: Vec<&Rule> =
        RULES.iter().filter(|rule| matches!(rule.place, Place::Native)).collect();
    let functions = profile.functions();
    let meaning = |id: FunctionId| {
        let function = functions.row(id);
        let name = profile.text(function.name);
        let script = profile.source_path(function.source);
        let package = profile.text(function.package);
        if script.is_none() && (MICROTASKS.contains(&name) || name.starts_with(NATIVE_MICROTASKS)) {
            return Meaning::Microtasks { is_builtin: name == MICROTASKS_BUILTIN };
        }
        let named = by_name
            .get(name)
            .and_then(|rules| rules.iter().copied().find(|rule| rule.fits(script, package)));
        let native =
            || natives.iter().copied().find(|rule| script.is_none() && name.starts_with(rule.name));
        named.or_else(native).map_or(Meaning::Plain, Meaning::Entry)
    };
    functions.ids().map(meaning).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Rules that no recording of the corpus has, and why they are there.
    const NOT_RECORDED: &[(&str, &str)] = &[
        ("parserOnBody", "a body that comes behind its headers"),
        ("onStreamClose", "too short to be sampled"),
        ("handleError", "Express's other way to call a handler"),
        ("handle_error", "the same in Express 4"),
        ("processEachBatch", "kafkajs's other way to call a handler"),
        ("onconnection", "too short to be sampled"),
        ("afterConnect", "too short to be sampled"),
        ("job.ondone", "scrypt's, as pbkdf2's"),
        ("onlookupall", "as onlookup"),
        ("(top level)", "node -e"),
        ("(anonymous)", "a worker's own start"),
        ("Module.require", "Node 20 names it so"),
        ("Module._load", "Node 20 names it so"),
        ("runSync", "an ES module by require"),
    ];

    /// The functions of all recordings of corpus/entries-* that mean something, by their rules' names.
    fn seen() -> BTreeSet<*const Rule> {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        let cases = corpus.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let files = cases.map(|case| case.join("input.nodescope")).filter(|file| file.exists());
        let profiles = files.map(|file| profile::file::read(&fs::read(file).unwrap()).unwrap());
        let rules = profiles.flat_map(|profile| meanings(&profile));
        rules
            .filter_map(|meaning| match meaning {
                Meaning::Entry(rule) => Some(std::ptr::from_ref(rule)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn every_rule_was_seen_on_the_real_thing() {
        let seen = seen();
        let missing = RULES.iter().filter(|rule| !seen.contains(&std::ptr::from_ref(*rule)));
        let missing: Vec<&str> = missing.map(|rule| rule.name).collect();
        let known: Vec<&str> = NOT_RECORDED.iter().map(|(name, _)| *name).collect();
        assert_eq!(missing, known);
    }
}
