//! The async functions that are suspended now, of a whole process: where a service waits that does nothing. Their
//! generators are searched for in the memory that V8's heap may be in. From each one the way goes up to the function
//! that awaits it, so that all chains are known; each function counts once, and a chain begins where no other does.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::scan::{Piece, pages};
use super::{Awaiter, Chain, ChainEnd, MOST_HOPS, Next, Suspended};
use crate::heap::Object;
use crate::memory::Memory;
use crate::reader::Reader;
use crate::reason::Reason;

/// More functions than people look at.
const MOST_FUNCTIONS: usize = 1 << 18;

/// At most this many places and chains are returned.
const MOST_SHOWN: usize = 1 << 10;

/// What is known of memory is read again after this many functions.
const BATCH: usize = 512;

/// The async functions that are suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspensions {
    /// How many there are.
    pub functions: u32,
    /// How many of them await no other one.
    pub waiting: u32,
    /// Where they wait, and how many there; the most first. Each function counts once.
    pub places: Vec<(Awaiter, u32)>,
    /// What awaits what, the most first.
    pub chains: Vec<WaitingChain>,
    /// So much memory was read.
    pub bytes: u64,
    /// Whether the search ended before all was read.
    pub is_cut: bool,
}

/// Functions that wait at the same places for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingChain {
    /// How many such chains there are.
    pub count: u32,
    /// The innermost first.
    pub awaiters: Vec<Awaiter>,
    /// Why there are no more.
    pub end: ChainEnd,
}

/// One function, and the one that awaits it.
struct Node {
    place: Awaiter,
    /// The caller's generator, or why there is none.
    caller: Result<u64, ChainEnd>,
}

impl Reader {
    /// Searches some ranges of memory for async functions that are suspended. `may_go_on` gets how many bytes were
    /// read so far, now and then. Nothing is found where the layout of generators is not known.
    pub fn suspended(
        &mut self,
        memory: &dyn Memory,
        ranges: &[Range<u64>],
        may_go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Suspensions {
        let Some(layout) = self.layout.awaits.clone() else { return Suspensions::default() };
        self.begin_batch();
        let mut chain = Chain::new(self, memory, layout);
        let mut found = Suspensions::default();
        let generators = chain.search(ranges, &mut found, may_go_on);
        let nodes = chain.nodes(&generators, &mut found, may_go_on);
        (found.places, found.chains) = (places(&nodes), chains(&nodes));
        found.functions = found.places.iter().map(|(_, count)| count).sum();
        found.waiting = found.chains.iter().map(|chain| chain.count).sum();
        found.places.truncate(MOST_SHOWN);
        found.chains.truncate(MOST_SHOWN);
        found
    }
}

impl Chain<'_> {
    /// The generators in some ranges.
    fn search(
        &mut self,
        ranges: &[Range<u64>],
        found: &mut Suspensions,
        may_go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Vec<Object> {
        let (mut generators, mut bytes) = (Vec::new(), Vec::new());
        for page in ranges.iter().cloned().flat_map(pages) {
            if generators.len() >= MOST_FUNCTIONS || !may_go_on(found.bytes) {
                found.is_cut = true;
                break;
            }
            // What was unmapped meanwhile has no objects.
            let Some(piece) = Piece::read(self.memory, &page, &mut bytes) else { continue };
            found.bytes += page.end - page.start;
            generators.extend(self.generators(&piece));
        }
        generators
    }

    /// What some generators and those that await them wait for, by the addresses of generators.
    fn nodes(
        &mut self,
        generators: &[Object],
        found: &mut Suspensions,
        may_go_on: &mut dyn FnMut(u64) -> bool,
    ) -> FxHashMap<u64, Node> {
        let mut nodes = FxHashMap::default();
        for (row, generator) in generators.iter().enumerate() {
            if row % BATCH == 0 {
                self.reader.begin_batch();
                if !may_go_on(found.bytes) {
                    found.is_cut = true;
                    break;
                }
            }
            let mut next = self.begin(*generator).ok();
            while let Some((function, promise)) = next.take() {
                if nodes.len() < MOST_FUNCTIONS && !nodes.contains_key(&function.generator) {
                    next = self.add(function, promise, &mut nodes);
                }
            }
        }
        nodes
    }

    /// A generator that is suspended, and the promise that it settles in the end.
    fn begin(&mut self, generator: Object) -> Result<(Suspended, Next), ChainEnd> {
        self.links.clear();
        self.handlers.clear();
        let flags = self.layout.at.promise_flags;
        let generator = self.heap().object_of(generator.address | 1, generator.kind)?;
        let function = self.suspended(generator, 0)?;
        let promise = self.promise_of(generator)?;
        // One that has ended is not waited for any more: what is left of it is garbage.
        self.heap().check_pending(promise, flags)?;
        Ok((function, Ok(promise)))
    }

    /// Adds a function; what awaits it.
    fn add(
        &mut self,
        function: Suspended,
        promise: Next,
        nodes: &mut FxHashMap<u64, Node>,
    ) -> Option<(Suspended, Next)> {
        let mut caller = promise.and_then(|promise| self.caller_of(promise));
        match self.first_changed() {
            Some(0) => return None,
            Some(_) => caller = Err(ChainEnd::Changed),
            // A race that another has won: what waited for it goes on.
            None if matches!(caller, Err(ChainEnd::Settled)) => caller = Err(ChainEnd::Root),
            None => {}
        }
        self.links.clear();
        self.handlers.clear();
        // Where the line is not known, its memory may be that of another function by now: no name is better.
        let place = self.name(&function).ok().filter(|place| place.line > 0)?;
        let above = caller.as_ref().map(|(caller, _)| caller.generator).map_err(|end| *end);
        nodes.insert(function.generator, Node { place, caller: above });
        caller.ok()
    }

    /// The function that awaits a promise, perhaps through others, and the promise that it settles itself.
    fn caller_of(&mut self, mut promise: Object) -> Result<(Suspended, Next), ChainEnd> {
        let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
        for _ in 0..MOST_HOPS {
            if !seen.insert(promise.address) {
                return Err(ChainEnd::Cycle);
            }
            let next = self.hop(promise, &mut found);
            if let Some(caller) = found.pop() {
                return Ok((caller, next));
            }
            promise = next?;
        }
        Err(ChainEnd::TooLong)
    }
}

/// Where functions wait, the most first.
fn places(nodes: &FxHashMap<u64, Node>) -> Vec<(Awaiter, u32)> {
    let mut counts = FxHashMap::<Awaiter, u32>::default();
    for node in nodes.values() {
        *counts.entry(node.place).or_default() += 1;
    }
    let mut places: Vec<(Awaiter, u32)> = counts.into_iter().collect();
    places.sort_unstable_by_key(|(place, count)| (std::cmp::Reverse(*count), *place));
    places
}

/// The chains from all functions that await no other one; then those that await each other in a circle.
fn chains(nodes: &FxHashMap<u64, Node>) -> Vec<WaitingChain> {
    let callers: FxHashSet<u64> = nodes.values().filter_map(|node| node.caller.ok()).collect();
    let (mut counts, mut seen) = (FxHashMap::<_, u32>::default(), FxHashSet::default());
    let (inner, outer): (Vec<u64>, Vec<u64>) =
        nodes.keys().copied().partition(|generator| !callers.contains(generator));
    for first in inner.into_iter().chain(outer) {
        if !callers.contains(&first) || !seen.contains(&first) {
            *counts.entry(chain_from(nodes, first, &mut seen)).or_default() += 1;
        }
    }
    let chain = |((awaiters, end), count)| WaitingChain { count, awaiters, end };
    let mut chains: Vec<WaitingChain> = counts.into_iter().map(chain).collect();
    chains.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.awaiters.cmp(&b.awaiters)));
    chains
}

/// The way from a function to the outermost that awaits it.
fn chain_from(
    nodes: &FxHashMap<u64, Node>,
    first: u64,
    seen: &mut FxHashSet<u64>,
) -> (Vec<Awaiter>, ChainEnd) {
    let (mut awaiters, mut own) = (Vec::new(), Vec::new());
    let mut next = Ok(first);
    let end = loop {
        let generator = match next {
            Ok(generator) => generator,
            Err(end) => break end,
        };
        let Some(node) = nodes.get(&generator) else { break Reason::Unreadable.into() };
        if own.contains(&generator) {
            break ChainEnd::Cycle;
        }
        if own.len() >= MOST_HOPS {
            break ChainEnd::TooLong;
        }
        own.push(generator);
        awaiters.push(node.place);
        next = node.caller;
    };
    seen.extend(own);
    (awaiters, end)
}
