//! Folded stacks: a line for each distinct stack, `root;caller;leaf count`. What stackcollapse-perf.pl and
//! similar tools write, and what most flame graph tools read.

mod read;
mod rules;
mod write;

pub use read::{looks_like, read};
pub use write::{Options, write, write_tree};
