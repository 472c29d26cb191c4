//! perf events of running processes, as a stream in perf.data's pipe form: whatever reads such a file reads a
//! recording of ours, also one that was cut off by a full disk or `kill -9`.

#[cfg(target_os = "linux")]
mod changes;
#[cfg(target_os = "linux")]
mod events;
#[cfg(target_os = "linux")]
mod rings;
#[cfg(target_os = "linux")]
mod sampler;
#[cfg(target_os = "linux")]
mod state;
#[cfg(target_os = "linux")]
mod stream;
#[cfg(target_os = "linux")]
mod waits;

#[cfg(target_os = "linux")]
pub use changes::{Change, change, processes};
#[cfg(target_os = "linux")]
pub use events::{EventError, ExtraEvent};
#[cfg(target_os = "linux")]
pub use rings::{Rings, new_processes, records, strip};
#[cfg(target_os = "linux")]
pub use sampler::{AttachError, Options, Sampler, Scope};
#[cfg(target_os = "linux")]
pub use state::{describe, mappings};
#[cfg(target_os = "linux")]
pub use stream::own;
#[cfg(target_os = "linux")]
pub use waits::{WAITS_ID, waits_event};
