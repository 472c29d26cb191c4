//! Systems where files have no users and no numbers, and paths are text.

use std::fs::{File, Metadata};
use std::path::PathBuf;

/// The user that owns a file: none is known.
pub(super) fn owner(_: &File) -> Option<u32> {
    None
}

/// Whether both may be of one file.
pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.file_type() == other.file_type()
}

/// A path as the recording wrote it.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}
