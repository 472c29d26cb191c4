//! Follows perf maps while they grow. V8 uses addresses again, and a map has no times: whoever reads it at the end
//! names old samples wrongly. So each line is stamped with the moment at which it was first seen, and the lines
//! become a jitdump, which has times.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use symbols::{Disk, Files, ForProcess, OpenFile};

use crate::owners;

/// What is read of a map at once.
const PIECE_BYTES: u64 = 4 << 20;
/// A longer map is followed from its end on: its older lines are looked up in the map itself.
const LONGEST_PAST: u64 = 256 << 20;
/// A line that is longer is no line.
const LONGEST_LINE: usize = 64 << 10;

/// The map of one process.
pub(super) struct Follower {
    pid: u32,
    root: Option<PathBuf>,
    map: PathBuf,
    file: Option<Box<dyn OpenFile>>,
    /// A line that is not written whole yet.
    rest: Vec<u8>,
    dump: Option<BufWriter<File>>,
    /// When the map was looked at last: what is new was written after that.
    looked_ns: u64,
    looks: u32,
    lines: u64,
}

/// After so many looks for a map, only every so many-th is one.
const MANY_LOOKS: u32 = 20;

impl Follower {
    pub(super) fn new(pid: u32, inner_pid: u32, root: Option<PathBuf>) -> Self {
        Self {
            pid,
            root,
            map: PathBuf::from(format!("/tmp/perf-{inner_pid}.map")),
            file: None,
            rest: Vec::new(),
            dump: None,
            looked_ns: 0,
            looks: 0,
            lines: 0,
        }
    }

    /// Takes what was written since the last time. Not being able to is no failure: names are then looked up in
    /// the map as it is at the end.
    pub(super) fn look(&mut self, now_ns: u64) {
        let stamp_ns = std::mem::replace(&mut self.looked_ns, now_ns);
        if self.file.is_none() && self.is_time_to_open() {
            self.file = self.open();
        }
        while self.take_piece(stamp_ns).unwrap_or(false) {}
    }

    /// A map is made when Node starts: where there is none yet, there will hardly be one.
    fn is_time_to_open(&mut self) -> bool {
        self.looks += 1;
        self.looks <= MANY_LOOKS || self.looks.is_multiple_of(MANY_LOOKS)
    }

    /// The dump, where one was made.
    pub(super) fn finish(&mut self) -> Option<ForProcess> {
        self.dump.as_mut()?.flush().ok()?;
        let file = self.dump.as_ref()?.get_ref().as_raw_fd();
        (self.lines > 0)
            .then(|| ForProcess { pid: Some(self.pid), path: format!("/proc/self/fd/{file}").into() })
    }

    fn open(&self) -> Option<Box<dyn OpenFile>> {
        let mut file = Disk.open_unlinked(self.root.as_deref(), &self.map).ok()?;
        // Another user's map is not followed; when names are looked up, it is refused once more, and that is said.
        let mut believed = owners::default_owners();
        believed.add(self.pid, &owners::of_process(self.pid));
        if !believed.believes(self.pid, file.as_ref()) {
            return None;
        }
        let length = file.seek(io::SeekFrom::End(0)).ok()?;
        if length <= LONGEST_PAST {
            file.rewind().ok()?;
        }
        Some(file)
    }

    /// Takes the next piece; whether there may be more.
    fn take_piece(&mut self, stamp_ns: u64) -> io::Result<bool> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let read = file.as_mut().take(PIECE_BYTES).read_to_end(&mut self.rest)? as u64;
        let rest = std::mem::take(&mut self.rest);
        let mut lines = rest.split_inclusive(|byte| *byte == b'\n');
        for line in &mut lines {
            let Some(line) = line.strip_suffix(b"\n") else {
                self.rest = line[..line.len().min(LONGEST_LINE)].to_vec();
                break;
            };
            if let Some((start, size, name)) = parse(line) {
                self.write(stamp_ns, start, size, name)?;
            }
        }
        Ok(read == PIECE_BYTES)
    }

    /// One piece of code, as a jitdump tells it.
    fn write(&mut self, time_ns: u64, start: u64, size: u64, name: &[u8]) -> io::Result<()> {
        if self.dump.is_none() {
            self.dump = Some(BufWriter::with_capacity(1 << 16, begin(self.pid)?));
        }
        let Some(dump) = &mut self.dump else { return Ok(()) };
        let length = u32::try_from(16 + 40 + name.len() + 1).unwrap_or(0);
        for number in [0, length] {
            dump.write_all(&number.to_ne_bytes())?;
        }
        dump.write_all(&time_ns.to_ne_bytes())?;
        for number in [self.pid, self.pid] {
            dump.write_all(&number.to_ne_bytes())?;
        }
        for number in [start, start, size, self.lines] {
            dump.write_all(&number.to_ne_bytes())?;
        }
        dump.write_all(name)?;
        self.lines += 1;
        dump.write_all(&[0])
    }
}

/// A jitdump with its head. It has no name, so that nothing is left of it, however the recording ends.
fn begin(pid: u32) -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("nodescope-{}-{pid}.jit", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    let mut head = Vec::new();
    for number in [0x4a69_5444, 1, 40, 0, 0, pid] {
        head.extend_from_slice(&number.to_ne_bytes());
    }
    for number in [0u64, 0] {
        head.extend_from_slice(&number.to_ne_bytes());
    }
    file.write_all(&head)?;
    Ok(file)
}

/// `<hex start> <hex size> <name>`.
fn parse(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let number = |part: &[u8]| u64::from_str_radix(std::str::from_utf8(part).ok()?, 16).ok();
    let (start, size) = (number(parts.next()?)?, number(parts.next()?)?);
    let name = parts.next()?;
    (size > 0 && name.len() < LONGEST_LINE && !name.contains(&0)).then_some((start, size, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_map() {
        assert_eq!(parse(b"3ef8 40 JS:~a b /x.js:1:1"), Some((0x3ef8, 0x40, &b"JS:~a b /x.js:1:1"[..])));
        for line in [&b""[..], b"x 40 a", b"3ef8 0 a", b"3ef8 40", b"3ef8 40 a\0b", b"\xff 1 a"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
