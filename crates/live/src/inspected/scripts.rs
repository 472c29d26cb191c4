//! The texts of scripts, read from the disk of the process that runs them: V8 names functions by their place in
//! the text.

use std::io::Read;
use std::path::Path;

use symbols::{Disk, Files, source_maps};

/// A script's text is read up to this length where calls are counted: it is asked for the places of functions.
pub(super) const LONGEST_FOR_CALLS: u64 = 32 << 20;

/// The same for the lines of its functions, which takes several times as much memory.
pub(super) const LONGEST_FOR_LINES: u64 = 8 << 20;

/// The text of a script, where it is a file.
pub(super) fn text(root: Option<&Path>, url: &str, longest_bytes: u64) -> Option<String> {
    let path = source_maps::script_path(url)?;
    let file = Disk.open(root, Path::new(&path)).ok()?;
    let mut text = String::new();
    file.take(longest_bytes).read_to_string(&mut text).ok()?;
    Some(text)
}
