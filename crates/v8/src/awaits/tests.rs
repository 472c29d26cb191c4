//! Chains of every shape, in a heap and on a stack that are made by hand.

use std::cell::{Cell, RefCell};

use super::*;
use crate::layout::{Layout, Version};
use crate::memory::Fault;

const BASE: u64 = 0x10000;
const STACK: u64 = 0x70_0000;
const JOB: u64 = 0x500;

/// Instance types.
const MAP: u16 = 300;
const SHARED: u16 = 301;
const FUNCTION: u16 = 2000;
const ODDBALL: u16 = 131;
const STRING: u16 = 8;
const AWAIT: u16 = 221;
const PLAIN: u16 = AWAIT + 5;
const PROMISE: u16 = 2117;
const REACTION: u16 = 160;
const CAPABILITY: u16 = 159;
const ASYNC_FUNCTION: u16 = 2112;
const ASYNC_GENERATOR: u16 = 2113;
const GENERATOR: u16 = 2111;
const REQUEST: u16 = 145;
const BYTECODE: u16 = 402;
const BYTES: u16 = 403;
const SCRIPT: u16 = 404;
const ARRAY: u16 = 405;
const OBJECT: u16 = 1058;

fn constant(name: &str) -> Option<i64> {
    Some(match name {
        "class_Map__instance_type__uint16_t" => 12,
        "class_JSFunction__shared__SharedFunctionInfo" => 32,
        "class_JSFunction__context__Context" => 40,
        "class_SharedFunctionInfo__name_or_scope_info__Object" => 24,
        "class_SharedFunctionInfo__script__Tagged_HeapObject_" => 40,
        "class_SharedFunctionInfo__script_or_debug_info__HeapObject" => return None,
        "off_fp_context_or_frame_type" => -8,
        "off_fp_function" => -16,
        "FirstNonstringType" => 128,
        "FirstJSFunctionType" => FUNCTION.into(),
        "LastJSFunctionType" => (FUNCTION + 16).into(),
        "FirstContextType" => AWAIT.into(),
        "LastContextType" => (AWAIT + 9).into(),
        "type_Map__MAP_TYPE" => MAP.into(),
        "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE" => SHARED.into(),
        "type_Oddball__ODDBALL_TYPE" => ODDBALL.into(),
        "type_JSPromise__JS_PROMISE_TYPE" => PROMISE.into(),
        "type_PromiseReaction__PROMISE_REACTION_TYPE" => REACTION.into(),
        "type_PromiseCapability__PROMISE_CAPABILITY_TYPE" => CAPABILITY.into(),
        "type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE" => ASYNC_FUNCTION.into(),
        "type_JSAsyncGeneratorObject__JS_ASYNC_GENERATOR_OBJECT_TYPE" => ASYNC_GENERATOR.into(),
        "type_AsyncGeneratorRequest__ASYNC_GENERATOR_REQUEST_TYPE" => REQUEST.into(),
        "type_BytecodeArray__BYTECODE_ARRAY_TYPE" => BYTECODE.into(),
        "type_ByteArray__BYTE_ARRAY_TYPE" => BYTES.into(),
        "type_Script__SCRIPT_TYPE" => SCRIPT.into(),
        "type_FixedArray__FIXED_ARRAY_TYPE" => ARRAY.into(),
        "class_FixedArray__data__uintptr_t" | "class_Script__name__Object" => 16,
        "class_Script__line_ends__Object" => 56,
        name if name.starts_with("type_") => 400,
        _ => 8,
    })
}

/// Objects one behind the other; one word changes after the first look at it.
#[derive(Default)]
struct Made {
    bytes: RefCell<Vec<u8>>,
    /// The stack as it is when all is read.
    stack: RefCell<Vec<u8>>,
    changing: Cell<Option<u64>>,
}

impl Memory for Made {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        let (bytes, base) = match address >= STACK {
            true => (self.stack.borrow(), STACK),
            false => (self.bytes.borrow(), BASE),
        };
        let start = address.checked_sub(base).ok_or(Fault)? as usize;
        let found = bytes.get(start..).filter(|rest| !rest.is_empty()).ok_or(Fault)?;
        let count = found.len().min(out.len());
        out[..count].copy_from_slice(&found[..count]);
        if self.changing.get() == Some(address) && out.len() == 8 {
            out.fill(0);
        }
        Ok(())
    }
}

fn number(value: i32) -> u64 {
    u64::from(value as u32) << 32
}

impl Made {
    fn new() -> Self {
        let made = Self::default();
        made.add(&[BASE | 1, u64::from(MAP) << 32, 0, 0]);
        made
    }

    fn add(&self, words: &[u64]) -> u64 {
        let mut bytes = self.bytes.borrow_mut();
        let at = BASE + bytes.len() as u64;
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        at | 1
    }

    fn set(&self, object: u64, offset: u64, word: u64) {
        let at = (object - 1 + offset - BASE) as usize;
        self.bytes.borrow_mut()[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// An object of a type, with a map of its own.
    fn object(&self, kind: u16, fields: &[u64]) -> u64 {
        let map = self.add(&[BASE | 1, u64::from(kind) << 32, 0, 0]);
        self.add(&[&[map], fields].concat())
    }

    fn undefined(&self) -> u64 {
        self.object(ODDBALL, &[0; 5])
    }

    fn string(&self, text: &str) -> u64 {
        let word = |letters: &[u8]| {
            let mut word = [0; 8];
            word[..letters.len()].copy_from_slice(letters);
            u64::from_le_bytes(word)
        };
        let words: Vec<u64> = text.as_bytes().chunks(8).map(word).collect();
        self.object(STRING, &[&[(text.len() as u64) << 32], &words[..], &[0, 0]].concat())
    }

    /// A function that has neither bytecode nor a script where it is a builtin.
    fn function(&self, name: &str, builtin: i32, context: u64) -> u64 {
        self.function_of((name, "app.js"), builtin, context)
    }

    fn function_of(&self, (name, file): (&str, &str), builtin: i32, context: u64) -> u64 {
        let name = self.string(name);
        let (code, script) = match builtin < 0 {
            true => (self.bytecode(), self.script(file)),
            false => (number(0), self.undefined()),
        };
        let shared = self.object(SHARED, &[code, number(builtin), name, 0, script, 0, 0]);
        self.object(FUNCTION, &[0, 0, 0, shared, context, 0, 0])
    }

    /// Bytecode that belongs to its script's first character.
    fn bytecode(&self) -> u64 {
        let positions =
            self.object(BYTES, &[number(2), u64::from_le_bytes([4, 4, 0, 0, 0, 0, 0, 0])]);
        self.object(BYTECODE, &[number(80), 0, positions, 0, 0])
    }

    fn script(&self, file: &str) -> u64 {
        let (source, name) = (self.string("await x"), self.string(file));
        let no_lines = self.undefined();
        let start = number(0);
        self.object(SCRIPT, &[source, name, start, start, 0, 0, no_lines, number(5), start, 0])
    }

    fn promise(&self) -> u64 {
        self.object(PROMISE, &[0, 0, number(0), number(0), 0, 0])
    }

    /// An async function of a name that is suspended, and its promise.
    fn suspended(&self, name: &str) -> (u64, u64) {
        let function = self.function(name, -1, self.undefined());
        let promise = self.promise();
        let fields = [0, 0, function, 0, 0, number(60), 0, number(1), 0, promise, 0, 0];
        (self.object(ASYNC_FUNCTION, &fields), promise)
    }

    fn promise_of(&self, generator: u64) -> u64 {
        let mut bytes = [0; 8];
        self.read(generator - 1 + 80, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    }

    /// An object of a class, which got a property after it was made: its map was made from another.
    fn made_by(&self, class: (&str, &str)) -> u64 {
        let constructor = self.function_of(class, -1, self.undefined());
        let kind = u64::from(OBJECT) << 32;
        let first = self.add(&[BASE | 1, kind, 0, 0, constructor]);
        let map = self.add(&[BASE | 1, kind, 0, 0, first]);
        self.add(&[map, 0, 0])
    }

    /// Gives an async function its arguments.
    fn give(&self, generator: u64, arguments: &[u64]) {
        let length = number(arguments.len() as i32);
        self.set(generator, 72, self.object(ARRAY, &[&[length], arguments].concat()));
    }

    /// A context with these slots from the third on.
    fn context(&self, kind: u16, slots: &[u64]) -> u64 {
        let length = number(slots.len() as i32 + 2);
        self.object(kind, &[&[length, 0, 0], slots].concat())
    }

    fn await_closure(&self, generator: u64) -> u64 {
        self.function("", 7, self.context(AWAIT, &[generator]))
    }

    /// Lets a handler wait for a promise.
    fn react(&self, promise: u64, handler: u64, target: u64) -> u64 {
        let reaction = self.object(REACTION, &[0, number(0), 0, handler, target]);
        self.set(promise, 24, reaction);
        reaction
    }

    fn awaits(&self, promise: u64, generator: u64) -> u64 {
        self.react(promise, self.await_closure(generator), self.undefined())
    }

    /// What waits for an async function that was resumed and runs.
    fn chain(&self, generator: u64) -> (Vec<String>, ChainEnd) {
        let word = |at: u64| {
            let mut bytes = [0; 8];
            self.read(at, &mut bytes).unwrap();
            u64::from_le_bytes(bytes)
        };
        let closure = self.await_closure(generator);
        let runs = word(generator - 1 + 24);
        self.chain_of((runs, generator), (word(closure - 1 + 40), closure), 0)
    }

    /// The same of a stack: what runs, with its generator in a register; the handler's context and function; and what
    /// the job settles.
    fn chain_of(
        &self,
        (runs, generator): (u64, u64),
        (context, handler): (u64, u64),
        target: u64,
    ) -> (Vec<String>, ChainEnd) {
        let words = [generator, runs, 1, 0, 0, handler, context, 0, 0, target, 0x10, 0, 0];
        let stack: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if self.stack.borrow().is_empty() {
            self.stack.replace(stack.clone());
        }
        let frame = |pc, fp, kind| Frame { pc, fp: Some(fp), is_return_address: true, kind };
        let frames = [
            frame(0x100, STACK + 24, Kind::Generated),
            frame(0x400, STACK + 56, Kind::Builtin),
            frame(JOB, STACK + 88, Kind::Builtin),
        ];
        let version = Version { major: 14, minor: 6, build: 0, patch: 0 };
        let mut reader = Reader::new(Layout::new(version, &constant).unwrap());
        let stack = Stack::new(STACK, &stack);
        let is_job = |pc: u64| pc == JOB - 1;
        let chain = reader.await_chain(self, &stack, &frames, Some(&is_job)).unwrap();
        let name = |awaiter: &Awaiter| reader.function(awaiter.function).unwrap().name.to_string();
        let names = chain.awaiters.iter().map(name).collect();
        assert_eq!(chain.resumed, if target == 0 { 1 } else { 2 });
        (names, chain.end)
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn functions_that_await_each_other() {
    let made = Made::new();
    let [(leaf, of_leaf), (inner, of_inner), (outer, _)] =
        ["leaf", "inner", "outer"].map(|name| made.suspended(name));
    assert_eq!(made.chain(leaf), (vec![], ChainEnd::Root));
    made.awaits(of_leaf, inner);
    made.awaits(of_inner, outer);
    assert_eq!(made.chain(leaf), (names(&["inner", "outer"]), ChainEnd::Root));
    made.set(outer, 64, number(-2));
    assert_eq!(made.chain(leaf), (names(&["inner"]), ChainEnd::NotSuspended));
    made.set(of_leaf, 32, number(1));
    assert_eq!(made.chain(leaf), (vec![], ChainEnd::Settled));
}

#[test]
fn closures_of_promises_lead_on() {
    let made = Made::new();
    let [(leaf, of_leaf), (outer, _)] = ["leaf", "outer"].map(|name| made.suspended(name));
    let (all, flag) = (made.promise(), made.undefined());
    made.awaits(all, outer);
    let expected = (names(&["outer"]), ChainEnd::Root);
    let capability = made.object(CAPABILITY, &[all, 0, 0]);
    let element = made.context(PLAIN, &[number(2), capability, flag]);
    made.react(of_leaf, made.function("", 9, element), flag);
    assert_eq!(made.chain(leaf), expected, "Promise.all");
    let resolve = made.context(PLAIN, &[all, flag]);
    made.react(of_leaf, made.function("", 9, resolve), flag);
    assert_eq!(made.chain(leaf), expected, "a resolve function");
    made.react(of_leaf, made.function("then", -1, resolve), all);
    assert_eq!(made.chain(leaf), expected, "then");
    made.react(of_leaf, flag, capability);
    assert_eq!(made.chain(leaf), expected, "catch of a subclass");
    made.react(of_leaf, made.function("", 9, made.context(PLAIN, &[all])), flag);
    assert_eq!(made.chain(leaf), (vec![], ChainEnd::Root), "a closure of another shape");
}

const REQUEST_CLASS: (&str, &str) = ("IncomingMessage", "node:_http_incoming");
const REPLY_CLASS: (&str, &str) = ("ServerResponse", "node:_http_server");

#[test]
fn a_handler_is_known_by_what_it_was_given() {
    let made = Made::new();
    let [(leaf, of_leaf), (outer, _)] = ["leaf", "outer"].map(|name| made.suspended(name));
    let (request, reply) = (made.made_by(REQUEST_CLASS), made.made_by(REPLY_CLASS));
    let by_node = names(&["parserOnIncoming"]);
    made.give(leaf, &[request, reply]);
    assert_eq!(made.chain(leaf), (by_node, ChainEnd::Root));
    made.give(leaf, &[number(0), request, reply, made.undefined()]);
    made.awaits(of_leaf, outer);
    let expected = names(&["outer", "parserOnIncoming"]);
    assert_eq!(made.chain(leaf), (expected.clone(), ChainEnd::Root), "one that another awaits");
    made.give(leaf, &[]);
    made.give(outer, &[request, reply]);
    assert_eq!(made.chain(leaf), (expected, ChainEnd::Root), "the one that awaits");
    let of_http2 = ["Http2ServerRequest", "Http2ServerResponse"]
        .map(|class| made.made_by((class, "node:internal/http2/compat")));
    made.give(outer, &of_http2);
    let expected = names(&["outer", "onServerStream"]);
    assert_eq!(made.chain(leaf), (expected, ChainEnd::Root), "HTTP/2");
}

#[test]
fn what_only_looks_like_a_request_is_none() {
    let made = Made::new();
    let (leaf, of_leaf) = made.suspended("leaf");
    let (request, reply) = (made.made_by(REQUEST_CLASS), made.made_by(REPLY_CLASS));
    let own = made.made_by(("ServerResponse", "/srv/app.js"));
    let undefined = made.undefined();
    for arguments in
        [&[request, own][..], &[reply, request], &[request, undefined, reply], &[reply]]
    {
        made.give(leaf, arguments);
        assert_eq!(made.chain(leaf), (vec![], ChainEnd::Root), "{arguments:x?}");
    }
    // What waited for it has been woken up since: it may run for another by now.
    made.give(leaf, &[request, reply]);
    made.set(of_leaf, 32, number(1));
    assert_eq!(made.chain(leaf), (vec![], ChainEnd::Settled));
}

#[test]
fn a_framework_is_known_by_what_it_gave_to_then() {
    let made = Made::new();
    let [(leaf, of_leaf), (outer, of_outer)] = ["leaf", "outer"].map(|name| made.suspended(name));
    let (settled, last, undefined) = (made.promise(), made.promise(), made.undefined());
    let of_package = |name: &str| {
        made.function_of((name, "/srv/node_modules/koa/lib/application.js"), -1, undefined)
    };
    made.react(of_leaf, of_package("handleResponse"), settled);
    let caught = made.react(settled, undefined, last);
    made.set(caught, 24, of_package("onerror"));
    let expected = names(&["handleResponse", "onerror"]);
    assert_eq!(made.chain(leaf), (expected, ChainEnd::Root));
    made.react(of_leaf, made.function("own", -1, undefined), settled);
    made.set(caught, 24, undefined);
    assert_eq!(made.chain(leaf), (vec![], ChainEnd::Root), "the program's own");
    // Where a function awaits the rest, what stands before that is no origin.
    made.react(of_leaf, of_package("wrap"), settled);
    made.awaits(settled, outer);
    assert_eq!(made.chain(leaf), (names(&["outer"]), ChainEnd::Root));
    made.react(of_outer, of_package("handleResponse"), last);
    let expected = names(&["outer", "handleResponse"]);
    assert_eq!(made.chain(leaf), (expected, ChainEnd::Root));
}

#[test]
fn async_generators_have_a_queue_of_questions() {
    let made = Made::new();
    let [(outer, _), (values, _)] = ["outer", "values"].map(|name| made.suspended(name));
    let promise = made.promise();
    made.awaits(promise, outer);
    let request = made.object(REQUEST, &[0, 0, 0, promise]);
    let function = made.function("values", -1, values);
    let fields = [0, 0, function, 0, 0, number(60), 0, number(1), 0, request];
    let generator = made.object(ASYNC_GENERATOR, &fields);
    assert_eq!(made.chain(generator), (names(&["outer"]), ChainEnd::Root));
    made.set(generator, 80, made.undefined());
    assert_eq!(made.chain(generator), (vec![], ChainEnd::Settled), "it has answered");
}

#[test]
fn callbacks_and_transpiled_functions() {
    let made = Made::new();
    let [(outer, _), (other, _)] = ["outer", "other"].map(|name| made.suspended(name));
    let (derived, flag) = (made.promise(), made.undefined());
    made.awaits(derived, outer);
    let around = made.context(PLAIN, &[flag]);
    let callback = made.function("cb", -1, around);
    let handler = (around, callback);
    made.stack.borrow_mut().clear();
    assert_eq!(made.chain_of((0, 0), handler, derived), (names(&["outer"]), ChainEnd::Root));
    // What TypeScript writes: the context has the generator and the resolve function of the promise.
    let promise = made.promise();
    made.awaits(promise, other);
    let resolve = made.function("", 9, made.context(PLAIN, &[promise, flag]));
    let generator = made.object(GENERATOR, &[0; 10]);
    let own = made.context(PLAIN, &[resolve, generator]);
    made.set(own, 24, around);
    let next = made.function("_next", -1, own);
    made.stack.borrow_mut().clear();
    assert_eq!(
        made.chain_of((0, 0), (own, next), made.promise()),
        (names(&["other"]), ChainEnd::Root)
    );
    let stranger = made.function("other", -1, own);
    let alone = made.promise();
    made.stack.borrow_mut().clear();
    assert_eq!(made.chain_of((0, 0), (own, stranger), alone), (vec![], ChainEnd::Root));
}

#[test]
fn what_is_not_certain_ends_the_chain() {
    let made = Made::new();
    let [(leaf, of_leaf), (inner, of_inner)] = ["leaf", "inner"].map(|name| made.suspended(name));
    let reaction = made.awaits(of_leaf, inner);
    made.set(reaction, 16, reaction);
    assert_eq!(made.chain(leaf), (vec![], ChainEnd::Several));
    made.set(reaction, 16, number(0));
    made.awaits(of_inner, leaf);
    assert_eq!(made.chain(leaf), (names(&["inner", "leaf"]), ChainEnd::Cycle));
    made.set(of_inner, 24, made.promise());
    let wrong = ChainEnd::Unread(Reason::WrongType);
    assert_eq!(made.chain(leaf), (names(&["inner"]), wrong));
    let long = (0..100).fold(of_inner, |promise, _| {
        let (next, of_next) = made.suspended("next");
        made.awaits(promise, next);
        of_next
    });
    assert_eq!(made.chain(leaf).1, ChainEnd::TooLong);
    assert_ne!(long, of_inner);
    made.changing.set(Some(of_inner - 1 + 24));
    assert_eq!(made.chain(leaf), (names(&["inner"]), ChainEnd::Changed));
    made.changing.set(Some(of_leaf - 1 + 24));
    assert_eq!(made.chain(leaf), (vec![], ChainEnd::Changed));
}

#[test]
fn a_generator_that_stands_where_another_was_is_not_believed() {
    let made = Made::new();
    let [(leaf, of_leaf), (inner, _)] = ["leaf", "inner"].map(|name| made.suspended(name));
    made.awaits(of_leaf, inner);
    let context = made.context(AWAIT, &[leaf]);
    let closure = made.function("", 7, context);
    let runs = made.function("else", -1, context);
    let mismatch = ChainEnd::Unread(Reason::Mismatch);
    assert_eq!(made.chain_of((runs, leaf), (context, closure), 0), (vec![], mismatch));
}

#[test]
fn a_frame_without_its_generator_must_still_be_there() {
    let made = Made::new();
    let [(leaf, of_leaf), (inner, _)] = ["leaf", "inner"].map(|name| made.suspended(name));
    made.awaits(of_leaf, inner);
    let context = made.context(AWAIT, &[leaf]);
    let closure = made.function("", 7, context);
    let mut bytes = [0; 8];
    made.read(leaf - 1 + 24, &mut bytes).unwrap();
    let runs = u64::from_le_bytes(bytes);
    let chain = || made.chain_of((runs, 0), (context, closure), 0);
    assert_eq!(chain(), (names(&["inner"]), ChainEnd::Root));
    made.stack.borrow_mut()[40] ^= 8;
    assert_eq!(chain(), (vec![], ChainEnd::Changed), "another function runs there now");
}

impl Made {
    /// What is suspended in all memory: chains of names, and how many of each; `most` bytes are read.
    fn waiting(&self, most: u64) -> (Vec<(Vec<String>, ChainEnd, u32)>, Suspensions) {
        let version = Version { major: 14, minor: 6, build: 0, patch: 0 };
        let mut reader = Reader::new(Layout::new(version, &constant).unwrap());
        let all = BASE..BASE + self.bytes.borrow().len() as u64;
        let found = reader.suspended(self, &[all], &mut |bytes| bytes < most);
        let name = |awaiter: &Awaiter| reader.function(awaiter.function).unwrap().name.to_string();
        let chain = |chain: &WaitingChain| {
            (chain.awaiters.iter().map(name).collect(), chain.end, chain.count)
        };
        let mut chains: Vec<(Vec<String>, ChainEnd, u32)> =
            found.chains.iter().map(chain).collect();
        chains.sort_by(|a, b| a.0.cmp(&b.0));
        (chains, found)
    }
}

#[test]
fn suspended_functions_are_found_wherever_they_stand() {
    let made = Made::new();
    let [(leaf, of_leaf), (_, of_other), (all, _), (ended, _), (_, of_done)] =
        ["leaf", "other", "all", "ended", "done"].map(|name| made.suspended(name));
    made.awaits(of_leaf, all);
    made.awaits(of_other, all);
    made.set(ended, 64, number(-2));
    // Its promise is settled: it is garbage.
    made.set(of_done, 32, number(1));
    let (chains, found) = made.waiting(u64::MAX);
    let both = |name: &str| (names(&[name, "all"]), ChainEnd::Root, 1);
    assert_eq!(chains, [both("leaf"), both("other")]);
    // The one that awaits both counts once.
    assert_eq!((found.functions, found.waiting, found.is_cut), (3, 2, false));
    assert_eq!(found.places.iter().map(|(_, count)| count).sum::<u32>(), 3);
    assert_eq!(made.waiting(0).1, Suspensions { is_cut: true, ..Suspensions::default() });
    // Two that await each other.
    made.awaits(made.promise_of(all), leaf);
    let (chains, found) = made.waiting(u64::MAX);
    assert_eq!((chains[0].0.len(), chains[0].1), (3, ChainEnd::Cycle), "{chains:?}");
    assert_eq!((found.functions, found.waiting), (3, 1));
}

#[test]
fn what_v8_has_freed_is_not_waiting() {
    const FREE_SPACE: u16 = 273;
    for (unit, is_object_behind) in [(1, true), (8, true), (1, false)] {
        let made = Made::new();
        let map = made.add(&[BASE | 1, u64::from(FREE_SPACE) << 32, 0, 0]);
        let free = made.add(&[map, 0]);
        made.suspended("dead");
        let end = BASE + made.bytes.borrow().len() as u64;
        made.set(free, 8, number(((end - (free - 1)) / unit) as i32));
        made.suspended(if is_object_behind { "alive" } else { "x" });
        if !is_object_behind {
            // A size that leads to no object is not believed.
            made.set(free, 8, number((end + 8 - (free - 1)) as i32));
        }
        let (chains, _) = made.waiting(u64::MAX);
        let found: Vec<&str> = chains.iter().map(|chain| chain.0[0].as_str()).collect();
        assert_eq!(found, if is_object_behind { vec!["alive"] } else { vec!["dead", "x"] });
    }
}
