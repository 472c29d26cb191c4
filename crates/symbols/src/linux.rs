//! Processes that run: their samples are walked and named while they are fresh. Only Linux lets us read their memory.

mod engine;
mod live;
mod remote;

pub use live::{Found, Host, Note, ProcessMemory, Suspended, Walker, Whereabouts};
pub use remote::RemoteMemory;
