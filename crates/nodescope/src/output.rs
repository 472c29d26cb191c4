//! Where results go: stdout, or a file that appears whole or not at all.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
#[cfg(not(unix))]
pub(crate) use elsewhere::{create, is_at};
#[cfg(unix)]
pub(crate) use unix::{create, is_at};

/// So many names are tried for a file that is not whole yet.
const MOST_NAMES: u32 = 100;

/// Prints a text on stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::writing("stdout", &error))
}

/// Lets `write` fill the file at `path`, or stdout for `-`.
pub(crate) fn write_to(
    path: &Path,
    is_binary: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        return write_to_stdout(is_binary, write);
    }
    let name = path.display().to_string();
    write_file(path, write).map_err(|error| Failure::writing(&name, &error))
}

/// A binary form may hold bytes that control a terminal.
pub(crate) fn refuse_terminal(is_binary: bool) -> Result<(), Failure> {
    match is_binary && io::stdout().is_terminal() {
        true => {
            Err(Failure::usage("this form is binary, and stdout is a terminal").hint("-o FILE"))
        }
        false => Ok(()),
    }
}

fn write_to_stdout(
    is_binary: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    refuse_terminal(is_binary)?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(|error| Failure::writing("stdout", &error))
}

/// Fills a new file beside the place and moves it there: a link planted in the way is replaced, not
/// followed, and a full disk leaves the old file as it was. Devices and pipes are written to directly.
fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        let mut out = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        return write(&mut out).and_then(|()| out.flush());
    }
    if path.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    let (beside, file) = create_beside(path)?;
    let filled = fill(file, write).and_then(|()| fs::rename(&beside, path));
    if filled.is_err() {
        // The half file is of no use; the user learns of the first failure only.
        let _ = fs::remove_file(&beside);
    }
    filled
}

fn fill(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write(&mut out)?;
    out.flush()
}

/// A new file for what is not whole yet. A program that was killed leaves its own behind, and ours may have its pid.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for number in 0..MOST_NAMES {
        let beside = temporary_name(path, number);
        match create(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn temporary_name(path: &Path, number: u32) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{number}.part", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn what_a_killed_program_left_is_not_in_the_way() {
        let folder = std::env::temp_dir().join(format!("nodescope-output-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.svg");
        fs::write(temporary_name(&path, 0), "half").unwrap();
        write_file(&path, |out| out.write_all(b"whole")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read(temporary_name(&path, 0)).unwrap(), b"half");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
