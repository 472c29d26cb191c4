//! All tests of this crate in one program, so that they are linked once. A file is a module:
//! `cargo test -p nodescope-formats --test all corpus::` runs those of one file.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic, and prints what it skipped or measured"
)]

mod cases;
mod corpus;
mod cpuprofile;
mod exchange;
mod far_times;
mod findings;
mod memory;
mod perf_data;
mod robust;
#[path = "../../../tests/skip.rs"]
mod skip;
mod stackcollapse;
mod truth;
