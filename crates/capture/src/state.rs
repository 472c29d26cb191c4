//! What a process was before it was sampled: its threads' names and its mappings, as records.

use std::fs;
use std::io;

use crate::stream::{MISC_USER, kind, record};

/// The threads of a process.
pub(crate) fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let folder = fs::read_dir(format!("/proc/{pid}/task"))?;
    let number = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    Ok(folder.filter_map(number).collect())
}

/// The names of all threads, and all code that is mapped.
pub fn describe(pid: u32) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    for tid in threads(pid)? {
        // A thread may have ended meanwhile.
        let Ok(name) = fs::read(format!("/proc/{pid}/task/{tid}/comm")) else { continue };
        let name = name.strip_suffix(b"\n").unwrap_or(&name);
        let mut body = ids(pid, tid);
        body.extend_from_slice(&padded(name));
        body.extend_from_slice(&trailer(pid, tid));
        out.extend(record(kind::COMM, 0, &body));
    }
    out.extend(mappings(pid)?);
    Ok(out)
}

/// All code that a process has mapped now, as records.
pub fn mappings(pid: u32) -> io::Result<Vec<u8>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    Ok(maps.lines().filter_map(|line| mapping(pid, line)).flatten().collect())
}

/// `7f00-7f10 r-xp 00001000 fe:00 123 /usr/lib/libc.so.6`, if code may run there.
fn mapping(pid: u32, line: &str) -> Option<Vec<u8>> {
    let (range, rest) = line.split_once(' ')?;
    let (rights, rest) = rest.split_once(' ')?;
    let (offset, rest) = rest.split_once(' ')?;
    let (_device, rest) = rest.split_once(' ')?;
    let (inode, path) = rest.split_once(' ')?;
    if rights.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end, offset) = (number(start)?, number(end)?, number(offset)?);
    let path = path.trim_start();
    let path = if path.is_empty() { "//anon" } else { path };
    let mut body = ids(pid, pid);
    for word in [start, end.checked_sub(start)?, offset, 0, inode.parse().unwrap_or(0), 0] {
        body.extend_from_slice(&word.to_ne_bytes());
    }
    // Read and execute; a private mapping.
    for word in [5u32, 2u32] {
        body.extend_from_slice(&word.to_ne_bytes());
    }
    body.extend_from_slice(&padded(path.as_bytes()));
    body.extend_from_slice(&trailer(pid, pid));
    Some(record(kind::MMAP2, MISC_USER, &body))
}

fn ids(pid: u32, tid: u32) -> Vec<u8> {
    [pid.to_ne_bytes(), tid.to_ne_bytes()].concat()
}

/// A text with its end, filled up to eight bytes.
fn padded(text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.resize((text.len() + 1).next_multiple_of(8), 0);
    bytes
}

/// What our event appends to every record: thread, time 0 (before everything), CPU, id.
fn trailer(pid: u32, tid: u32) -> Vec<u8> {
    let mut bytes = ids(pid, tid);
    bytes.resize(32, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::kinds;

    #[test]
    fn our_own_state_has_names_and_code() {
        let bytes = describe(std::process::id()).expect("we are here");
        let count = |wanted| kinds(&bytes).filter(|kind| *kind == wanted).count();
        assert!(count(kind::COMM) >= 1 && count(kind::MMAP2) >= 2);
    }

    #[test]
    fn only_code_is_recorded() {
        assert!(mapping(1, "7f00-7f10 rw-p 00000000 00:00 0 [heap]").is_none());
        assert!(mapping(1, "7f00-7f10 r-xp 00001000 fe:00 123    /a b.so (deleted)").is_some());
        assert!(mapping(1, "nonsense").is_none());
    }
}
