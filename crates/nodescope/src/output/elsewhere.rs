//! New files where files have no owners.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// A file that was not there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
