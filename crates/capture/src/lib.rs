//! perf events of running processes, as a stream in perf.data's pipe form: whatever reads such a file reads a
//! recording of ours, also one that was cut off by a full disk or `kill -9`. Only Linux has
//! them: elsewhere this crate is empty.

#![cfg(target_os = "linux")]

mod changes;
mod clock;
mod events;
mod rings;
mod sampler;
mod state;
mod stream;
mod switches;
mod waits;

pub use changes::{Change, change, processes};
pub use events::{EventError, ExtraEvent};
pub use rings::{Rings, compact, new_processes, period, records, strip};
pub use sampler::{AttachError, Options, Sampler, Scope, cpus};
pub use state::{describe, mappings};
pub use stream::own;
pub use waits::{WAITS_ID, waits_event};
