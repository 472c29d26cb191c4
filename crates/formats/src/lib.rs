//! Foreign bytes in, Profile out, and back. One file for each format; [`import()`] distinguishes them by their
//! content. Nothing here opens files or prints: readers take `impl Read`, writers `impl Write`, and what is
//! wrong with an input is an [`ImportError`] or a sentence in the profile's losses.

pub mod bpftrace;
mod code_place;
pub mod cpuprofile;
mod decompress;
pub mod dtrace;
pub mod firefox;
pub mod folded;
mod import;
mod json;
pub mod perf_data;
pub mod perf_script;
pub mod pprof;
pub mod prof_log;
pub mod speedscope;
mod stack_text;
pub mod svg;
pub mod trace_events;

pub use import::{ImportError, ImportOptions, import, is_recording};
