//! What Unix knows of files: owners, numbers, and paths of any bytes.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The user that owns a file.
pub(super) fn owner(file: &File) -> Option<u32> {
    file.metadata().ok().map(|meta| meta.uid())
}

/// Whether both are of one file.
pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// A path as the recording wrote it.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}
