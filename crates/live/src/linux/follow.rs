//! Follows perf maps while they grow. V8 uses addresses again, and a map has no times: reading it at the end would name
//! old samples wrongly. So each line is stamped with the moment before which it was not there.

use std::io::{self, Read};
use std::path::PathBuf;

use symbols::{CodeAppeared, Disk, Files, OpenFile};

use crate::owners;

/// What is read of a map at once, and how often in one look.
const PIECE_BYTES: u64 = 4 << 20;
const MOST_PIECES: u32 = 8;
/// A longer map is followed from its end on: its older lines are looked up in the map itself.
const LONGEST_PAST: u64 = 256 << 20;
/// Longer lines are not lines of a map.
const LONGEST_LINE: usize = 64 << 10;

/// The map of one process.
pub(super) struct Follower {
    pid: u32,
    root: Option<PathBuf>,
    map: PathBuf,
    file: Option<Box<dyn OpenFile>>,
    /// A line that is not written whole yet.
    rest: Vec<u8>,
    /// Whether its older lines were left out.
    is_cut: bool,
    /// Whether there is more than was read at the last look.
    is_behind: bool,
    /// When the map was looked at last: what is new was written after that.
    looked_ns: u64,
    looks: u32,
}

/// After this many looks for a map, only one in as many is made.
const MANY_LOOKS: u32 = 20;

impl Follower {
    pub(super) fn new(pid: u32, inner_pid: u32, root: Option<PathBuf>) -> Self {
        Self {
            pid,
            root,
            map: PathBuf::from(format!("/tmp/perf-{inner_pid}.map")),
            file: None,
            rest: Vec::new(),
            is_cut: false,
            is_behind: false,
            looked_ns: 0,
            looks: 0,
        }
    }

    /// The process.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether all lines of the map are taken.
    pub(super) fn has_all(&self) -> bool {
        self.file.is_some() && !self.is_cut && !self.is_behind
    }

    /// Takes what was written since the last time. Not being able to is no failure: names are then looked up in the map
    /// when they are needed.
    pub(super) fn look(&mut self, now_ns: u64, take: &mut dyn FnMut(&CodeAppeared<'_>)) {
        let stamp_ns = std::mem::replace(&mut self.looked_ns, now_ns);
        if self.file.is_none() && self.is_time_to_open() {
            self.file = self.open();
        }
        let mut pieces = 0;
        self.is_behind = false;
        while self.take_piece(stamp_ns, take).unwrap_or(false) {
            pieces += 1;
            if pieces == MOST_PIECES {
                // The rest at the next look, as if it had come since the last one.
                (self.is_behind, self.looked_ns) = (true, stamp_ns);
                break;
            }
        }
    }

    /// A map is made when Node starts: where there is none yet, there will hardly be one.
    fn is_time_to_open(&mut self) -> bool {
        self.looks += 1;
        self.looks <= MANY_LOOKS || self.looks.is_multiple_of(MANY_LOOKS)
    }

    fn open(&mut self) -> Option<Box<dyn OpenFile>> {
        let mut file = Disk.open_unlinked(self.root.as_deref(), &self.map).ok()?;
        // Another user's map is not followed; when names are looked up, it is refused once more, and that is reported.
        let mut believed = owners::default_owners();
        believed.add(self.pid, &owners::of_process(self.pid));
        if !believed.believes(self.pid, file.as_ref()) {
            return None;
        }
        let length = file.seek(io::SeekFrom::End(0)).ok()?;
        self.is_cut = length > LONGEST_PAST;
        if !self.is_cut {
            file.rewind().ok()?;
        }
        Some(file)
    }

    /// Takes the next piece; whether there may be more.
    fn take_piece(
        &mut self,
        stamp_ns: u64,
        take: &mut dyn FnMut(&CodeAppeared<'_>),
    ) -> io::Result<bool> {
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
                take(&CodeAppeared {
                    time_ns: stamp_ns,
                    start,
                    size,
                    name: &String::from_utf8_lossy(name),
                });
            }
        }
        Ok(read == PIECE_BYTES)
    }
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
        assert_eq!(
            parse(b"3ef8 40 JS:~a b /x.js:1:1"),
            Some((0x3ef8, 0x40, &b"JS:~a b /x.js:1:1"[..]))
        );
        for line in [&b""[..], b"x 40 a", b"3ef8 0 a", b"3ef8 40", b"3ef8 40 a\0b", b"\xff 1 a"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
