//! Speaks the V8 inspector protocol over a stream that it is given: the list of targets, a WebSocket, calls with a
//! time limit each, and what a profiler sends to a target. Callers open the port, connect to it and verify that it
//! is closed. `Debugger.enable` is never sent: a `debugger;` statement would pause the target.

mod address;
mod answers;
mod client;
mod error;
mod list;
mod message;
mod pace;
mod recorder;
mod script;
#[cfg(test)]
#[path = "../../../tests/skip.rs"]
mod skip;
mod threads;
mod websocket;

pub use address::{Address, AddressError};
pub use client::Client;
pub use error::Error;
pub use http::Stream;
pub use list::{Listed, list};
pub use message::Session;
pub use recorder::{Ending, Identity, Options, Recorder, close_inspector};
pub use threads::{Calls, Functions, Moment, Piece, Stall, ThreadInfo, Window};
