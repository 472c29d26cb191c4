//! pprof's profile.proto (<https://github.com/google/pprof/blob/main/proto/profile.proto>), behind gzip or not:
//! what Go's tools, Pyroscope, Parca and Datadog exchange. Stacks with values and labels, without times.

mod fields;
mod read;
mod tables;
mod wire;
mod write;

pub use read::{looks_like, read};
pub use write::write;
