//! All tests of this crate in one program, so that they are linked once. A file is a module:
//! `cargo test -p nodescope --test all beside::` runs those of one file.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic, and prints what it skipped or measured"
)]

mod await_chains;
mod awaiting;
mod awaits;
mod beside;
mod builds;
mod cli;
mod deep_stacks;
mod demo;
mod diff;
mod docker;
mod doctor;
mod dump;
mod entries;
mod export;
mod file_size;
mod findings;
mod full_disk;
mod generated_code;
mod handed_out;
mod hostile_memory;
mod identity;
mod inspector;
mod inspector_inlined;
mod inspector_shares;
mod javascript_names;
mod live;
mod loops;
mod map_owner;
mod musl;
mod names;
mod own_crashes;
mod packages;
mod perf_data;
mod pools;
mod prof_log;
mod program;
mod ps;
mod rate;
mod record;
mod record_output;
mod redact;
mod releases;
mod report;
mod requests;
mod rings;
mod scripts;
#[path = "../../views/tests/service/mod.rs"]
mod service;
#[path = "../../../tests/skip.rs"]
mod skip;
mod source_lines;
mod source_maps;
mod stacks;
mod stall_words;
mod strange_names;
mod tidy;
mod top;
mod transpilers;
mod versions;
mod view;
mod wasm;
mod windows;
mod with_source;
mod workloads;
