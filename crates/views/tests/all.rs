//! All tests of this crate in one program, so that they are linked once. A file is a module:
//! `cargo test -p nodescope-views --test all findings::` runs those of one file.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic, and prints what it skipped or measured"
)]

mod delays;
mod entries;
mod finding_evidence;
mod finding_loops;
mod finding_rules;
mod finding_words;
mod findings;
mod lens;
mod recorded_entries;
mod selection;
mod service;
mod shop;
mod top;
mod tree;
mod words;
