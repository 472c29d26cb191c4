//! The callers of a function that runs after an `await`. Its stack begins at the queue of microtasks, but V8 keeps who
//! waits for it, and follows that for the `at async` lines of errors. We follow the same way from outside:
//!
//! ```text
//! the resumed function's generator → its promise → the one reaction → a closure → the generator of the next caller
//! ```
//!
//! The way begins with words of the copied stack and ends where V8's does: where no function waits, or several do. An
//! object is believed only after its map. At the end every link is read once more, so that all of them stood at the
//! same moment; the chain is cut at the first that did not.

mod coroutine;
mod hop;
mod origin;
mod scan;
mod suspended;
#[cfg(test)]
mod tests;

use crate::function::FunctionId;
use crate::heap::{Heap, Object, untagged};
use crate::layout::awaits::AwaitLayout;
use crate::memory::{Memory, Piece, Stack};
use crate::reader::Reader;
use crate::reason::Reason;
use crate::walk::{Frame, Kind};

pub(crate) use origin::KnownClass;
pub use suspended::{Suspensions, WaitingChain};

/// The symbols of the builtins that call what was given to `then`, or the closure that ends an `await`.
pub const REACTION_JOBS: [&str; 2] =
    ["Builtins_PromiseFulfillReactionJob", "Builtins_PromiseRejectReactionJob"];

/// A function that is suspended at an `await`, and waits for the one that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Awaiter {
    /// The function.
    pub function: FunctionId,
    /// The line of the `await`, from 1; 0 unknown.
    pub line: u32,
    /// The column of the `await`, from 1; 0 unknown.
    pub column: u32,
}

/// What waits for a stack that the queue of microtasks has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwaitChain {
    /// How many frames, from the innermost on, run since the `await`: the rest is V8's queue and what empties it.
    pub resumed: usize,
    /// The innermost first; behind the last that waits may stand what began it.
    pub awaiters: Vec<Awaiter>,
    /// Why there are no more.
    pub end: ChainEnd,
    /// What shows whether the resumed function still runs: an address, and the word that was there. It changes when the
    /// function has ended.
    pub runs: Option<(u64, u64)>,
}

/// Why a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChainEnd {
    /// No function waits for the last one: this is where the work began.
    Root,
    /// Several wait for the same promise.
    Several,
    /// The promise is settled: what waited for it has been woken up since the sample.
    Settled,
    /// A function that should wait runs or has ended: it was woken up since the sample.
    NotSuspended,
    /// A link was another one when it was read again.
    Changed,
    /// The chain comes back to where it was.
    Cycle,
    /// There may be more: the number of links that are followed is limited.
    TooLong,
    /// An object was not what it should be.
    Unread(Reason),
}

impl From<Reason> for ChainEnd {
    fn from(reason: Reason) -> Self {
        Self::Unread(reason)
    }
}

impl ChainEnd {
    /// Whether callers may be missing because the chain was read too late, or could not be.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::Root | Self::Several)
    }

    /// What people read.
    pub fn label(self) -> &'static str {
        match self {
            Self::Root => "nothing waited for it",
            Self::Several => "several functions waited for the same promise",
            Self::Settled | Self::NotSuspended => {
                "the function had ended before its callers were read"
            }
            Self::Changed => "the callers changed while they were read",
            Self::Cycle => "a promise waits for itself",
            Self::TooLong => "the chain is too long",
            Self::Unread(reason) => reason.label(),
        }
    }
}

/// At most this many promises are followed.
const MOST_HOPS: usize = 64;

impl Reader {
    /// Who waits for what runs on a stack, whose frames are given from the innermost on. `is_job` recognises the
    /// instructions of [`REACTION_JOBS`], where the binary has symbols; without it only functions are known that an
    /// `await` resumed, not those given to `then`. `None` for a stack that no promise has begun.
    pub fn await_chain(
        &mut self,
        memory: &dyn Memory,
        stack: &Stack<'_>,
        frames: &[Frame],
        is_job: Option<&dyn Fn(u64) -> bool>,
    ) -> Option<AwaitChain> {
        let layout = self.layout.awaits.clone()?;
        let mut chain = Chain::new(self, memory, layout);
        let mut suspended = Vec::new();
        let (resumed, first) = chain.start(stack, frames, is_job)?;
        let runs = first.as_ref().ok().and_then(|first| chain.reactions_of(*first));
        let mut end = match first.and_then(|first| chain.follow(first, &mut suspended)) {
            Ok(end) | Err(end) => end,
        };
        let mut origin = match end.is_loss() {
            false => chain.origin(&suspended),
            true => Vec::new(),
        };
        if let Some(count) = chain.first_changed() {
            suspended.truncate(count);
            origin.clear();
            end = ChainEnd::Changed;
        }
        // Names stay where they are: what wakes up soon was read first.
        let mut awaiters = Vec::with_capacity(suspended.len());
        for function in &suspended {
            match chain.name(function) {
                Ok(awaiter) => awaiters.push(awaiter),
                Err(reason) => {
                    end = reason.into();
                    origin.clear();
                    break;
                }
            }
        }
        awaiters.extend(origin.into_iter().map(Awaiter::from));
        Some(AwaitChain { resumed, awaiters, end, runs })
    }
}

/// A chain that is being read.
struct Chain<'a> {
    reader: &'a mut Reader,
    memory: &'a dyn Memory,
    layout: AwaitLayout,
    links: Vec<Link>,
    /// The generator of the function that was resumed, where one was.
    resumed: Option<u64>,
    /// What `then` was given on the way: how many callers were found before it, and the function.
    handlers: Vec<(usize, u64)>,
}

/// A word that the chain rests on.
struct Link {
    address: u64,
    word: u64,
    /// How many callers were found before it was needed.
    callers: usize,
}

/// A function that is suspended, without its name: its generator, its closure, and the bytecode at which it waits.
#[derive(Clone, Copy)]
struct Suspended {
    generator: u64,
    function: u64,
    position: u64,
}

/// Where a chain goes on: at a promise.
type Next = Result<Object, ChainEnd>;

impl<'a> Chain<'a> {
    fn new(reader: &'a mut Reader, memory: &'a dyn Memory, layout: AwaitLayout) -> Self {
        let (links, handlers) = (Vec::new(), Vec::new());
        Self { reader, memory, layout, links, resumed: None, handlers }
    }
}

impl Chain<'_> {
    fn heap(&mut self) -> Heap<'_> {
        Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut self.reader.state.kept }
    }

    /// How many frames were resumed, and the promise that the outermost of them will settle.
    fn start(
        &mut self,
        stack: &Stack<'_>,
        frames: &[Frame],
        is_job: Option<&dyn Fn(u64) -> bool>,
    ) -> Option<(usize, Next)> {
        let Some(is_job) = is_job else {
            let mut frames_in = frames.iter().enumerate();
            return frames_in.find_map(|(at, frame)| {
                let generator = self.awaited(stack, frame).ok()??;
                Some((at, self.resumed(stack, frames.get(..=at)?, generator)?))
            });
        };
        let of_job = |frame: &Frame| frame.kind == Kind::Builtin && is_job(frame.instruction());
        let job = frames.iter().position(of_job)?;
        let (handler, at) = (frames.get(job.checked_sub(1)?)?, job - 1);
        match self.awaited(stack, handler) {
            Ok(Some(generator)) => Some((at, self.resumed(stack, frames.get(..=at)?, generator)?)),
            Ok(None) => Some((job, self.called_back(stack, (handler, frames.get(job)?)))),
            Err(reason) => Some((job, Err(reason.into()))),
        }
    }

    /// The generator that a frame of V8's own closure resumes after an `await`; `None` for frames of other functions.
    /// What stands in place of an object that has moved is neither.
    fn awaited(&mut self, stack: &Stack<'_>, frame: &Frame) -> Result<Option<Object>, Reason> {
        let slots = self.reader.layout.frame.clone();
        let Some(fp) = frame.fp.filter(|_| frame.kind == Kind::Builtin) else { return Ok(None) };
        let word = |distance| stack.word_near(fp, distance).ok_or(Reason::StackCut);
        let (context, function) = (word(slots.context)?, word(slots.function)?);
        if untagged(context).is_none() {
            return Ok(None); // a frame of V8's own
        }
        let (kinds, offset) = (self.layout.contexts.clone(), self.layout.function_context);
        let mut heap = self.heap();
        let context = heap.object(context)?;
        let function = heap.object(function)?;
        if !heap.is_function(function) || !kinds.contains(&context.kind) {
            return Err(Reason::WrongType);
        }
        let held = heap.word(function.address + offset)?;
        let is_its = heap.object(held)? == context;
        match context.kind == *kinds.start() {
            false => Ok(None),
            true if is_its => self.generator_of(context).map(Some),
            true => Err(Reason::Mismatch),
        }
    }

    /// The promise of a generator that was resumed by the last of some frames, and runs in the one before. `None`
    /// before and after the function itself runs.
    ///
    /// Memory is used again, and another generator may stand where it was. So the frame must be that of its function,
    /// and have the generator itself; without it, the closure's frame must still be on the stack when all is read.
    fn resumed(&mut self, stack: &Stack<'_>, frames: &[Frame], generator: Object) -> Option<Next> {
        let [inner @ .., frame, closure] = frames else { return None };
        let distance = self.reader.layout.frame.function;
        let is_code = matches!(frame.kind, Kind::Generated | Kind::Builtin);
        let fp = frame.fp.filter(|_| is_code)?;
        let function = stack.word_near(fp, distance)?;
        let offset = self.layout.at.generator_function;
        let mut heap = self.heap();
        let own = heap.word(generator.address + offset).and_then(|own| heap.object(own));
        let same = own.and_then(|own| Ok(heap.object(function)? == own));
        let lowest = inner.last().and_then(|inner| inner.fp).unwrap_or(stack.base());
        if !stack.has_word(generator.address | 1, lowest.max(stack.base())..fp) {
            self.rely_on_frame(stack, closure);
        }
        self.resumed = Some(generator.address);
        Some(match same {
            Ok(true) => self.promise_of(generator),
            Ok(false) => Err(ChainEnd::Unread(Reason::Mismatch)),
            Err(reason) => Err(reason.into()),
        })
    }

    /// A frame must still be on the stack when all is read: what it refers to has then neither moved nor died. A thread
    /// that has left it runs something else in the same place, or nothing.
    fn rely_on_frame(&mut self, stack: &Stack<'_>, frame: &Frame) {
        let slots = self.reader.layout.frame.clone();
        for distance in [slots.context, slots.function] {
            let address = frame.fp.and_then(|fp| fp.checked_add_signed(distance));
            if let Some((address, word)) = address.and_then(|at| Some((at, stack.word(at)?))) {
                self.rely_on(address, word, 0);
            }
        }
    }

    /// The promise that what `then` was given settles. Transpiled async functions keep theirs elsewhere.
    fn called_back(&mut self, stack: &Stack<'_>, (handler, job): (&Frame, &Frame)) -> Next {
        let slot = self.reader.layout.frame.function;
        let word = |frame: &Frame| {
            let word = frame.fp.and_then(|fp| stack.word_near(fp, slot));
            word.ok_or(ChainEnd::Unread(Reason::StackCut))
        };
        self.rely_on_frame(stack, handler);
        self.rely_on_frame(stack, job);
        // Where even the function is gone, so is the promise.
        let function = word(handler)?;
        self.heap().shared_of_function(function)?;
        if let Some(coroutine) = self.coroutine(function) {
            return Ok(coroutine.promise);
        }
        let target = word(job)?;
        self.target(target)
    }

    /// Goes from promise to promise.
    fn follow(
        &mut self,
        mut promise: Object,
        suspended: &mut Vec<Suspended>,
    ) -> Result<ChainEnd, ChainEnd> {
        let mut seen = Vec::new();
        for _ in 0..MOST_HOPS {
            if seen.contains(&promise.address) {
                return Ok(ChainEnd::Cycle);
            }
            seen.push(promise.address);
            promise = self.hop(promise, suspended)?;
        }
        Ok(ChainEnd::TooLong)
    }

    /// Remembers a word that must not change until all is read.
    fn rely_on(&mut self, address: u64, word: u64, callers: usize) {
        self.links.push(Link { address, word, callers });
    }

    /// Reads all links again with one call. How many callers were found before the first that has changed.
    fn first_changed(&self) -> Option<usize> {
        let mut words = vec![[0; 8]; self.links.len()];
        let pieces = self.links.iter().zip(&mut words);
        let mut pieces: Vec<Piece<'_>> =
            pieces.map(|(link, out)| Piece { address: link.address, out: &mut out[..] }).collect();
        let read = self.memory.read_many(&mut pieces);
        let again = self.links.iter().zip(words.iter().zip(read));
        let is_other = |(link, (word, read)): &(&Link, (&[u8; 8], bool))| {
            !read || u64::from_le_bytes(**word) != link.word
        };
        again.filter(is_other).map(|(link, _)| link.callers).min()
    }
}
