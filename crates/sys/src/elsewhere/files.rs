//! Opening files inside of another root: no kernel but Linux's finds the way there itself.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a file as a process with that root would: not here.
pub fn open_in(_: &Path, _: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
