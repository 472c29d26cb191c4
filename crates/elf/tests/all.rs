//! All tests of this crate in one program, so that they are linked once. A file is a module:
//! `cargo test -p nodescope-elf --test all damage::` runs those of one file.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic, and prints what it skipped or measured"
)]

mod damage;
mod expressions;
#[path = "../../../tests/skip.rs"]
mod skip;
mod truth;
mod variables;
