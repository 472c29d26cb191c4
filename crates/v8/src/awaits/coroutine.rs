//! Async functions that a transpiler wrote as generators: TypeScript's `__awaiter`, Babel's `asyncToGenerator`. Their
//! `await` gives `then` a function of a known name, whose context has the generator and the resolve function of the
//! promise that the caller waits for. V8's own traces end there.

use super::Chain;
use crate::heap::Object;
use crate::layout::awaits::{FIRST_SLOT, PREVIOUS_SLOT};

/// A generator that such a function goes on with, and the promise that it settles in the end.
pub(super) struct Coroutine {
    pub(super) generator: Object,
    pub(super) promise: Object,
}

/// What the functions are called that go on after an `await`.
const NAMES: [&str; 4] = ["fulfilled", "rejected", "_next", "_throw"];

/// The contexts of such functions have fewer slots.
const MOST_SLOTS: i32 = 24;

impl Chain<'_> {
    /// What a function goes on with, if all of it is as a transpiler writes it.
    pub(super) fn coroutine(&mut self, function: u64) -> Option<Coroutine> {
        let shared = self.heap().shared_of_function(function).ok()?;
        let named = self.reader.shared(self.memory, shared).ok()?.function;
        if !NAMES.contains(&&*self.reader.function(named)?.name) {
            return None;
        }
        let function = self.heap().object(function).ok()?;
        let context = self.context_of(function).ok()?;
        let inner = self.objects_of(context)?;
        let promise = self.only_promise(&inner)?;
        let around = self.heap().slot(context, PREVIOUS_SLOT).ok()?;
        let around = self.heap().object(around).ok()?;
        let generator = match self.only_generator(&inner) {
            Some(generator) => generator,
            None => {
                let outer = self.objects_of(around)?;
                self.only_generator(&outer)?
            }
        };
        Some(Coroutine { generator, promise })
    }

    /// What the slots of a function's context hold.
    fn objects_of(&mut self, context: Object) -> Option<Vec<Object>> {
        let kind = self.layout.plain_context;
        let mut heap = self.heap();
        let count = heap.slots(context).ok().filter(|count| (0..=MOST_SLOTS).contains(count))?;
        if context.kind != kind {
            return None;
        }
        let slots = (FIRST_SLOT..u64::try_from(count).ok()?).filter_map(|slot| {
            let word = heap.slot(context, slot).ok()?;
            heap.object(word).ok()
        });
        Some(slots.collect())
    }

    fn only_generator(&self, objects: &[Object]) -> Option<Object> {
        let mut found = objects.iter().filter(|object| object.kind == self.layout.generator);
        let generator = *found.next()?;
        found.next().is_none().then_some(generator)
    }

    /// The promise of the resolve and reject functions among some objects, if there is one and no other.
    fn only_promise(&mut self, objects: &[Object]) -> Option<Object> {
        let mut promises = Vec::new();
        for object in objects {
            if !self.heap().is_function(*object) || !self.is_builtin(*object).unwrap_or(false) {
                continue;
            }
            let Ok(context) = self.context_of(*object) else { continue };
            promises.extend(self.promise_of_closure(context).ok().flatten());
        }
        let promise = *promises.first()?;
        promises.iter().all(|other| *other == promise).then_some(promise)
    }
}
