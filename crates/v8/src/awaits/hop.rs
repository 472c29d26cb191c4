//! One link of a chain: from a promise to the one that will be settled after it, and the caller between them. What a
//! closure leads to is shown by its context: V8's builtins have contexts of a shape of their own.

use super::{Awaiter, Chain, ChainEnd, Next, Suspended};
use crate::heap::{Heap, Object, small_integer};
use crate::layout::awaits::{CONTEXT_LENGTH, CONTEXT_SLOTS, FIRST_SLOT};
use crate::reader::Shared;
use crate::reason::Reason;

/// Bits of a promise's flags: zero while it is pending.
const STATUS: i32 = 3;

/// A reaction has what a rejection calls just before what a result calls.
const REJECT_BEFORE_FULFILL: u64 = 8;

/// In the context of `Promise.all` and its like: how many are left, and what is settled in the end; it has so many
/// slots.
const ELEMENT_SLOTS: i32 = 5;
const REMAINING_SLOT: u64 = FIRST_SLOT;
const CAPABILITY_SLOT: u64 = FIRST_SLOT + 1;

/// In the context of a resolve function: the promise, and whether it was called.
const PROMISE_SLOT: u64 = FIRST_SLOT;
const ALREADY_RESOLVED_SLOT: u64 = FIRST_SLOT + 1;

impl Heap<'_> {
    pub(super) fn is_function(&self, object: Object) -> bool {
        self.layout.types.function.contains(&object.kind)
    }

    pub(super) fn slot(&mut self, context: Object, slot: u64) -> Result<u64, Reason> {
        self.word(context.address + CONTEXT_SLOTS + slot * 8)
    }

    pub(super) fn slots(&mut self, context: Object) -> Result<i32, Reason> {
        small_integer(self.word(context.address + CONTEXT_LENGTH)?).ok_or(Reason::WrongType)
    }

    /// Whether a promise is still to be settled.
    pub(super) fn check_pending(&mut self, promise: Object, flags: u64) -> Result<(), ChainEnd> {
        let flags = small_integer(self.word(promise.address + flags)?).ok_or(Reason::WrongType)?;
        if flags & STATUS == 0 { Ok(()) } else { Err(ChainEnd::Settled) }
    }

    fn is_of(&mut self, reference: u64, kind: u16) -> bool {
        self.object_of(reference, kind).is_ok()
    }
}

impl Chain<'_> {
    /// From a promise to the next; a caller between them is added.
    pub(super) fn hop(&mut self, promise: Object, suspended: &mut Vec<Suspended>) -> Next {
        let reaction = self.reaction_of(promise, suspended.len())?;
        let (fulfill, target) = (self.layout.at.reaction_fulfill, self.layout.at.reaction_target);
        let reject = fulfill - REJECT_BEFORE_FULFILL;
        let mut heap = self.heap();
        let handler = heap.word(reaction.address + fulfill)?;
        let target = heap.word(reaction.address + target)?;
        let function = heap.object(handler)?;
        if !heap.is_function(function) {
            let handler = heap.word(reaction.address + reject)?;
            self.handlers.push((suspended.len(), handler));
            return self.target(target);
        }
        let context = self.context_of(function)?;
        if context.kind == self.layout.await_context {
            let generator = self.generator_of(context)?;
            suspended.push(self.suspended(generator, suspended.len())?);
            return self.promise_of(generator);
        }
        if self.is_builtin(function)? {
            let settled = self.promise_of_closure(context)?;
            return settled.map_or_else(|| self.target(target), Ok);
        }
        if let Some(coroutine) = self.coroutine(handler) {
            suspended.push(self.suspended(coroutine.generator, suspended.len())?);
            return Ok(coroutine.promise);
        }
        self.handlers.push((suspended.len(), handler));
        self.target(target)
    }

    /// Where a promise keeps what waits for it, and what stands there.
    pub(super) fn reactions_of(&mut self, promise: Object) -> Option<(u64, u64)> {
        let address = promise.address + self.layout.at.promise_reactions;
        Some((address, self.heap().word(address).ok()?))
    }

    /// The only reaction of a pending promise.
    fn reaction_of(&mut self, promise: Object, callers: usize) -> Result<Object, ChainEnd> {
        let at = self.layout.at.clone();
        let kind = self.layout.reaction;
        let mut heap = self.heap();
        heap.check_pending(promise, at.promise_flags)?;
        let reactions = heap.word(promise.address + at.promise_reactions)?;
        if small_integer(reactions).is_some() {
            return Err(ChainEnd::Root);
        }
        let reaction = heap.object_of(reactions, kind)?;
        if small_integer(heap.word(reaction.address + at.reaction_next)?).is_none() {
            return Err(ChainEnd::Several);
        }
        // Flags have other bits that change; a promise that is settled has no reactions.
        self.rely_on(promise.address + at.promise_reactions, reactions, callers);
        Ok(reaction)
    }

    pub(super) fn context_of(&mut self, function: Object) -> Result<Object, Reason> {
        let offset = self.layout.function_context;
        let mut heap = self.heap();
        let context = heap.word(function.address + offset)?;
        heap.object(context)
    }

    pub(super) fn is_builtin(&mut self, function: Object) -> Result<bool, Reason> {
        let offset = self.layout.shared_builtin;
        let mut heap = self.heap();
        let shared = heap.field(function, heap.layout.at.function_shared)?;
        let shared = heap.object_of(shared, heap.layout.types.shared)?;
        let number = small_integer(heap.word(shared.address + offset)?);
        Ok(number.is_some_and(|number| number >= 0))
    }

    /// The promise that one of V8's closures settles, if it is of a kind that is known.
    pub(super) fn promise_of_closure(&mut self, context: Object) -> Result<Option<Object>, Reason> {
        let layout = self.layout.clone();
        let mut heap = self.heap();
        let slots = heap.slots(context)?;
        if context.kind != layout.plain_context || slots <= CAPABILITY_SLOT as i32 {
            return Ok(None);
        }
        let first = heap.slot(context, PROMISE_SLOT)?;
        if slots == layout.resolve_slots && heap.is_of(first, layout.promise) {
            let called = heap.slot(context, ALREADY_RESOLVED_SLOT)?;
            let is_flag = heap.is_of(called, layout.oddball);
            return if is_flag { heap.object(first).map(Some) } else { Ok(None) };
        }
        let capability = heap.slot(context, CAPABILITY_SLOT)?;
        let is_element = small_integer(heap.slot(context, REMAINING_SLOT)?).is_some();
        if slots != ELEMENT_SLOTS || !is_element || !heap.is_of(capability, layout.capability) {
            return Ok(None);
        }
        let capability = heap.object(capability)?;
        let promise = heap.word(capability.address + layout.at.capability_promise)?;
        heap.object_of(promise, layout.promise).map(Some)
    }

    /// The promise that a reaction settles by itself: that of `then`.
    pub(super) fn target(&mut self, target: u64) -> Next {
        let layout = self.layout.clone();
        let mut heap = self.heap();
        let mut object = heap.object(target)?;
        if object.kind == layout.capability {
            let promise = heap.word(object.address + layout.at.capability_promise)?;
            object = heap.object(promise)?;
        }
        match object.kind {
            kind if kind == layout.promise => Ok(object),
            kind if kind == layout.oddball => Err(ChainEnd::Root),
            _ => Err(ChainEnd::Unread(Reason::WrongType)),
        }
    }

    /// The generator of an await context.
    pub(super) fn generator_of(&mut self, context: Object) -> Result<Object, Reason> {
        let kinds = [self.layout.async_function, self.layout.async_generator];
        let mut heap = self.heap();
        let generator = heap.slot(context, FIRST_SLOT)?;
        let generator = heap.object(generator)?;
        if kinds.contains(&generator.kind) { Ok(generator) } else { Err(Reason::WrongType) }
    }

    /// The promise that an async function settles when it ends, or an async generator with its next value.
    pub(super) fn promise_of(&mut self, generator: Object) -> Next {
        let layout = self.layout.clone();
        let mut heap = self.heap();
        let mut promise = generator.address + layout.at.async_function_promise;
        if generator.kind == layout.async_generator {
            let queue = heap.word(generator.address + layout.at.async_generator_queue)?;
            let queue = heap.object(queue)?;
            // One that runs or waits has been asked for a value; without a question it has given the answer.
            if queue.kind == layout.oddball {
                return Err(ChainEnd::Settled);
            }
            if queue.kind != layout.request {
                return Err(ChainEnd::Unread(Reason::WrongType));
            }
            promise = queue.address + layout.at.request_promise;
        }
        let promise = heap.word(promise)?;
        Ok(heap.object_of(promise, layout.promise)?)
    }

    /// A function that is suspended.
    pub(super) fn suspended(
        &mut self,
        generator: Object,
        callers: usize,
    ) -> Result<Suspended, ChainEnd> {
        let at = self.layout.at.clone();
        let mut heap = self.heap();
        let continuation = heap.word(generator.address + at.generator_continuation)?;
        let position = heap.word(generator.address + at.generator_position)?;
        if small_integer(continuation).is_none_or(|continuation| continuation < 0) {
            return Err(ChainEnd::NotSuspended);
        }
        let function = heap.word(generator.address + at.generator_function)?;
        self.rely_on(generator.address + at.generator_continuation, continuation, callers);
        self.rely_on(generator.address + at.generator_position, position, callers);
        Ok(Suspended { generator: generator.address, function, position })
    }

    /// Its name, and where it waits.
    pub(super) fn name(&mut self, suspended: &Suspended) -> Result<Awaiter, Reason> {
        let mut heap = self.heap();
        let shared = heap.shared_of_function(suspended.function)?;
        let bytecode = heap.bytecode_of_shared(shared).ok();
        let named = self.reader.shared(self.memory, shared)?;
        let place = bytecode.and_then(|bytecode| self.place(named, bytecode, suspended.position));
        let (line, column) = place.unwrap_or((0, 0));
        Ok(Awaiter { function: named.function, line, column })
    }

    /// The line and column of the bytecode at which a function is suspended.
    fn place(&mut self, shared: Shared, bytecode: Object, position: u64) -> Option<(u32, u32)> {
        let (state, layout) = (&mut self.reader.state, &self.reader.layout);
        let first = layout.at.bytecode_data as i64 - 1;
        let offset = u32::try_from(i64::from(small_integer(position)?) - first).ok()?;
        let positions = state.positions(self.memory, layout, (bytecode, shared.script_id))?;
        let offset = positions.find(offset)?.offset()?;
        state.place(self.memory, layout, shared.script?, offset)
    }
}
