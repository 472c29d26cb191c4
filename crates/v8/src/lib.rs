//! Everything nodescope knows about V8. [`name`] takes apart the names that V8 writes into perf maps and symbol tables.
//! [`Reader`] names the frames of a running process that writes none: from a stack and the process's memory, with a
//! [`Layout`] of the version of V8 that runs there. No input or output happens here: memory comes through [`Memory`].

mod awaits;
mod code;
mod frames;
mod function;
mod heap;
pub mod layout;
mod leaf;
pub mod libuv;
mod machine;
mod memory;
pub mod name;
mod positions;
mod reader;
mod reason;
mod regexp;
mod script;
mod script_text;
mod strings;
mod walk;
mod wasm;

pub use awaits::{AwaitChain, Awaiter, ChainEnd, REACTION_JOBS, Suspensions, WaitingChain};
pub use frames::{Inlined, JsFrame, Registers};
pub use function::{Function, FunctionId, FunctionKind};
pub use layout::{Layout, Unsupported, Version};
pub use memory::{Fault, Memory, Piece, Stack};
pub use reader::Reader;
pub use reason::Reason;
pub use script_text::{ScriptText, SeenScript};
pub use walk::{Frame, Kind, Leaf, Start, walk};
