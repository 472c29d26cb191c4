//! All tests of this crate in one program, so that they are linked once. A file is a module:
//! `cargo test -p nodescope-symbols --test all large_map::` runs those of one file.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic, and prints what it skipped or measured"
)]

mod large_map;
mod many_stacks;
mod nonsense;
mod packages;
mod perf;
mod recordings;
#[path = "../../../tests/skip.rs"]
mod skip;
mod source_maps;
