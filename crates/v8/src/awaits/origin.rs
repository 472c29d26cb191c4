//! What began an async function that nothing awaits. A chain ends there, but two things still show whose work it is: a
//! handler of a server was given the request and its reply, and a framework gave `then` a function of its own.

use std::sync::Arc;

use super::{Awaiter, Chain, Suspended};
use crate::function::{Function, FunctionId, FunctionKind};
use crate::heap::{Object, small_integer};
use crate::reason::Reason;

/// Behind the continuation of a generator: its arguments, then its registers.
const ARGUMENTS: u64 = 8;

/// A handler gets `(request, reply)`, one for errors `(error, request, reply)`.
const FIRST_ARGUMENTS: u64 = 4;

/// Of a map: the constructor of its objects, or the map that it was made from.
const MAP_CONSTRUCTOR: u64 = 32;

/// At most this many properties are added to an object, one map after the other, before V8 makes a dictionary of it.
const MOST_MAPS: usize = 1200;

/// What a handler of a server is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// A request of `node:http`.
    Request,
    /// Its reply.
    Reply,
    /// A request of `node:http2`.
    Request2,
    /// Its reply.
    Reply2,
    /// Anything else.
    Other,
}

/// The classes of Node that are such things: their names, and the scripts that they are of.
const CLASSES: [(&str, &str, Given); 4] = [
    ("IncomingMessage", "node:_http_incoming", Given::Request),
    ("ServerResponse", "node:_http_server", Given::Reply),
    ("Http2ServerRequest", "node:internal/http2/compat", Given::Request2),
    ("Http2ServerResponse", "node:internal/http2/compat", Given::Reply2),
];

/// The functions of Node that call handlers.
const HTTP: (&str, &str) = ("parserOnIncoming", "node:_http_server");
const HTTP2: (&str, &str) = ("onServerStream", "node:internal/http2/compat");

/// Functions of packages are of scripts in here.
const PACKAGES: &str = "/node_modules/";

/// A class that was found for a map, and the word that must still be there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownClass {
    word: u64,
    given: Given,
}

impl Chain<'_> {
    /// What began the outermost function, the innermost first. Empty where nothing shows it.
    pub(super) fn origin(&mut self, suspended: &[Suspended]) -> Vec<FunctionId> {
        let generators = suspended.iter().rev().map(|function| function.generator);
        let generators: Vec<u64> = generators.chain(self.resumed).collect();
        let server = generators.into_iter().find_map(|generator| self.server_of(generator).ok()?);
        match server.map(|(name, script)| self.function_of_node(name, script)) {
            Some(function) => function.into_iter().collect(),
            None => self.handlers_of_packages(suspended.len()),
        }
    }

    /// The function of Node that called a handler, by the arguments that this has.
    fn server_of(
        &mut self,
        generator: u64,
    ) -> Result<Option<(&'static str, &'static str)>, Reason> {
        let arguments = self.layout.at.generator_continuation + ARGUMENTS;
        let mut heap = self.heap();
        let array = heap.word(generator + arguments)?;
        let array = heap.object(array)?;
        let mut last = Given::Other;
        for index in 0..FIRST_ARGUMENTS {
            let Ok(word) = self.heap().element(array, index) else { break };
            let given = self.given(word).unwrap_or(Given::Other);
            match (last, given) {
                (Given::Request, Given::Reply) => return Ok(Some(HTTP)),
                (Given::Request2, Given::Reply2) => return Ok(Some(HTTP2)),
                _ => last = given,
            }
        }
        Ok(None)
    }

    /// What an argument is, by the class that it was made by.
    fn given(&mut self, argument: u64) -> Result<Given, Reason> {
        if small_integer(argument).is_some() {
            return Ok(Given::Other);
        }
        let mut heap = self.heap();
        let object = heap.object(argument)?;
        let map = heap.word(object.address)? & !3;
        let word = heap.word(map + MAP_CONSTRUCTOR)?;
        let known = self.reader.state.classes.get(&map).filter(|known| known.word == word);
        if let Some(known) = known {
            return Ok(known.given);
        }
        let given = match self.constructor(word)? {
            Some(constructor) => self.class(constructor)?,
            None => Given::Other,
        };
        self.reader.state.classes.insert(map, KnownClass { word, given });
        Ok(given)
    }

    /// The function that a class is, from the word of a map that leads to it.
    fn constructor(&mut self, mut word: u64) -> Result<Option<Object>, Reason> {
        let mut heap = self.heap();
        for _ in 0..MOST_MAPS {
            if small_integer(word).is_some() {
                return Ok(None);
            }
            let object = heap.object(word)?;
            if object.kind != heap.layout.types.map {
                return Ok(heap.is_function(object).then_some(object));
            }
            word = heap.word(object.address + MAP_CONSTRUCTOR)?;
        }
        Ok(None)
    }

    fn class(&mut self, constructor: Object) -> Result<Given, Reason> {
        let shared = self.heap().shared_of_function(constructor.address | 1)?;
        let id = self.reader.shared(self.memory, shared)?.function;
        let Some(function) = self.reader.function(id) else { return Ok(Given::Other) };
        let is_it = |(name, script, _): &&(&str, &str, Given)| {
            &*function.name == *name && function.script.as_deref() == Some(*script)
        };
        Ok(CLASSES.iter().find(is_it).map_or(Given::Other, |(_, _, given)| *given))
    }

    /// A function of Node by name: where it was seen on a stack, with its place.
    fn function_of_node(&mut self, name: &str, script: &str) -> Option<FunctionId> {
        let is_it = |function: &Function| {
            &*function.name == name && function.script.as_deref() == Some(script)
        };
        if let Some(known) = self.reader.functions().iter().position(is_it) {
            return u32::try_from(known).ok().map(FunctionId);
        }
        let function = Function {
            name: name.into(),
            inferred_name: Arc::default(),
            script: Some(script.into()),
            generator: None,
            line: 0,
            column: 0,
            kind: FunctionKind::JavaScript,
        };
        self.reader.add(function).ok()
    }

    /// The functions of packages that the last promises will call, when the work of the first `callers` callers is
    /// done.
    fn handlers_of_packages(&mut self, callers: usize) -> Vec<FunctionId> {
        let handlers = std::mem::take(&mut self.handlers).into_iter();
        let last: Vec<u64> =
            handlers.filter(|(before, _)| *before == callers).map(|(_, word)| word).collect();
        last.into_iter().filter_map(|word| self.function_of_package(word)).collect()
    }

    fn function_of_package(&mut self, function: u64) -> Option<FunctionId> {
        let shared = self.heap().shared_of_function(function).ok()?;
        let id = self.reader.shared(self.memory, shared).ok()?.function;
        let script = self.reader.function(id)?.script.as_deref()?;
        script.contains(PACKAGES).then_some(id)
    }
}

impl From<FunctionId> for Awaiter {
    /// A function that does not wait at any place of its own.
    fn from(function: FunctionId) -> Self {
        Self { function, line: 0, column: 0 }
    }
}
