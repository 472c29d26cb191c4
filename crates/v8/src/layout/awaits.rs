//! Where things stand in what V8 keeps of suspended functions: generators, promises, their reactions, and the contexts
//! of the closures that go on with them.

use std::ops::RangeInclusive;

use super::{Numbers, table::Field};

/// What is known of suspended functions.
#[derive(Clone, Debug)]
pub(crate) struct AwaitLayout {
    pub(crate) function_context: u64,
    pub(crate) shared_builtin: u64,
    /// The context of the closures that resume a function after an `await`: the first type of all contexts.
    pub(crate) await_context: u16,
    pub(crate) contexts: RangeInclusive<u16>,
    pub(crate) plain_context: u16,
    /// How many slots the context of a promise's own resolve function has.
    pub(crate) resolve_slots: i32,
    pub(crate) oddball: u16,
    pub(crate) promise: u16,
    pub(crate) reaction: u16,
    pub(crate) capability: u16,
    pub(crate) async_function: u16,
    pub(crate) async_generator: u16,
    pub(crate) generator: u16,
    pub(crate) request: u16,
    /// What fills memory that no object uses: what stood there before is still there.
    pub(crate) free_space: u16,
    pub(crate) at: AwaitOffsets,
}

/// Offsets from an object's first byte.
#[derive(Clone, Debug)]
pub(crate) struct AwaitOffsets {
    pub(crate) generator_function: u64,
    pub(crate) generator_position: u64,
    pub(crate) generator_continuation: u64,
    pub(crate) async_function_promise: u64,
    pub(crate) async_generator_queue: u64,
    pub(crate) request_promise: u64,
    pub(crate) promise_reactions: u64,
    pub(crate) promise_flags: u64,
    pub(crate) reaction_next: u64,
    pub(crate) reaction_fulfill: u64,
    pub(crate) reaction_target: u64,
    pub(crate) capability_promise: u64,
}

/// Where the slots of a context begin; its length stands before them.
pub(crate) const CONTEXT_LENGTH: u64 = 8;
pub(crate) const CONTEXT_SLOTS: u64 = 16;

/// Slots of every context: the context around it, and the first one of its own (of an await context, its generator).
pub(crate) const PREVIOUS_SLOT: u64 = 1;
pub(crate) const FIRST_SLOT: u64 = 2;

/// Absent where the binary or the table lacks something: then the callers of suspended functions are not known.
pub(super) fn awaits(numbers: &Numbers<'_>) -> Option<AwaitLayout> {
    let row = |field| u64::try_from(numbers.of_table(field).ok()?).ok();
    let kind = |name| numbers.type_of(name).ok();
    let after = |first: u16, field| first.checked_add(u16::try_from(row(field)?).ok()?);
    let await_context = kind("FirstContextType")?;
    let async_function = kind("type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE")?;
    let context = numbers.offset(&["class_JSFunction__context__Context"]).ok()?;
    Some(AwaitLayout {
        function_context: context as u64,
        shared_builtin: row(Field::SharedBuiltin)?,
        await_context,
        contexts: await_context..=kind("LastContextType")?,
        plain_context: after(await_context, Field::FunctionContextType)?,
        resolve_slots: i32::try_from(row(Field::ResolveContextSlots)?).ok()?,
        oddball: kind("type_Oddball__ODDBALL_TYPE")?,
        promise: kind("type_JSPromise__JS_PROMISE_TYPE")?,
        reaction: kind("type_PromiseReaction__PROMISE_REACTION_TYPE")?,
        capability: kind("type_PromiseCapability__PROMISE_CAPABILITY_TYPE")?,
        async_function,
        async_generator: kind("type_JSAsyncGeneratorObject__JS_ASYNC_GENERATOR_OBJECT_TYPE")?,
        generator: async_function.checked_sub(u16::try_from(row(Field::GeneratorType)?).ok()?)?,
        request: kind("type_AsyncGeneratorRequest__ASYNC_GENERATOR_REQUEST_TYPE")?,
        free_space: u16::try_from(row(Field::FreeSpaceType)?).ok()?,
        at: AwaitOffsets {
            generator_function: row(Field::GeneratorFunction)?,
            generator_position: row(Field::GeneratorPosition)?,
            generator_continuation: row(Field::GeneratorContinuation)?,
            async_function_promise: row(Field::AsyncFunctionPromise)?,
            async_generator_queue: row(Field::AsyncGeneratorQueue)?,
            request_promise: row(Field::RequestPromise)?,
            promise_reactions: row(Field::PromiseReactions)?,
            promise_flags: row(Field::PromiseFlags)?,
            reaction_next: row(Field::ReactionNext)?,
            reaction_fulfill: row(Field::ReactionFulfill)?,
            reaction_target: row(Field::ReactionTarget)?,
            capability_promise: row(Field::CapabilityPromise)?,
        },
    })
}
