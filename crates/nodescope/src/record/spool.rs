//! OUT.part: what was recorded so far, on disk. It opens like any recording, also after a full disk or `kill -9`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output;

/// What was recorded so far, on disk.
pub(super) struct Spool {
    pub(super) path: PathBuf,
    file: File,
}

impl Spool {
    /// Beside OUT, so that a full disk is noticed there. The opening is what a file of that kind starts with.
    pub(super) fn create(out: &Path, opening: &[u8]) -> Result<Self, Failure> {
        if out == Path::new("-") {
            return Self::create_aside(opening);
        }
        let mut name = out.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        // An older one is of a recording that was cut off: it is somebody's.
        let file = output::create(&path).map_err(|error| {
            Failure::writing(&path.display().to_string(), &error)
                .hint("choose another OUT, or move the old file away")
        })?;
        Self { path, file }.open(opening)
    }

    /// For stdout. A container's files may be read-only; its shared memory never is.
    fn create_aside(opening: &[u8]) -> Result<Self, Failure> {
        let path = |folder: PathBuf| folder.join(format!("nodescope-{}.part", std::process::id()));
        let (first, second) = (path(std::env::temp_dir()), path(PathBuf::from("/dev/shm")));
        let error = match output::create(&first) {
            Ok(file) => return Self { path: first, file }.open(opening),
            Err(error) => error,
        };
        let file = output::create(&second).map_err(|_| {
            Failure::writing(&first.display().to_string(), &error)
                .hint("TMPDIR=/a/folder/that/can/be/written")
        })?;
        Self { path: second, file }.open(opening)
    }

    fn open(mut self, opening: &[u8]) -> Result<Self, Failure> {
        self.append(opening)?;
        Ok(self)
    }

    /// Writes a chunk and its checksum: what a crash or a bad disk made of it is noticed.
    #[cfg(target_os = "linux")]
    pub(super) fn write(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        if chunk.is_empty() {
            return Ok(());
        }
        self.append(&[chunk, &capture::own::seal(chunk)].concat())
    }

    /// Writes what has a checksum of its own.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file
            .write_all(bytes)
            .map_err(|error| Failure::writing(&self.path.display().to_string(), &error).hint(self.hint()))
    }

    pub(super) fn hint(&self) -> String {
        format!("what was recorded before is there: nodescope report {}", self.path.display())
    }

    pub(super) fn remove(&self) {
        // It is of no use any more; that it cannot be removed is no news.
        let _ = fs::remove_file(&self.path);
    }
}
