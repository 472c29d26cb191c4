//! The log of `node --prof` (`isolate-0x…-v8.log`) → Profile, and the JSON that `node --prof-process
//! --preprocess` makes of it. The log is in order: code appears, moves and goes while ticks pass by, so an
//! address means what stood there when its tick was taken. Memory grows with the code that is alive, the
//! distinct stacks and the ticks, not with the bytes of the input. C++ has no names in a log: they come from the
//! libraries where these are found; else the library stands for its functions, which count as unnamed.

mod code;
mod fields;
mod lines;
mod preprocessed;
mod reader;
mod stacks;
mod states;
mod ticks;

use std::io::Read;

use naming::addresses::LibraryNamer;
use profile::{Budget, Profile};

pub use preprocessed::{looks_like as looks_like_preprocessed, read as read_preprocessed};

/// Reads a log, or several behind each other: each starts with its own `v8-version` line and is an isolate of
/// its own. The input never fails: what cannot be understood is counted in the profile's losses.
pub fn read(input: impl Read, budget: &Budget, namer: &dyn LibraryNamer) -> Profile {
    let mut reader = reader::Reader::new(budget);
    let broken = lines::each_line(input, |line| reader.take(&line));
    reader.finish(broken, namer)
}

/// Whether these are the first bytes of a log.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(b"v8-version,") || first_bytes.starts_with(b"shared-library,")
}

#[cfg(test)]
mod tests;
