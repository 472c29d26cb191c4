//! Whether a program is Node, and which version: from its ELF file, which is never run. A file is looked at
//! once, however many processes run it.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use elf::{Elf, Parts};
use memchr::memmem;
use v8::Layout;
use v8::layout::is_asked_for;

use crate::linux::proc::{Proc, open_regular};

/// What a program turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Node {
        version: Option<String>,
        /// Why the objects of its V8 cannot be read for names; empty where they can.
        unreadable: String,
    },
    Other,
    /// This user may not look.
    Hidden,
}

/// What one file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    /// It has `node::Start`, or asks a library for it.
    starts_node: bool,
    /// It needs libnode, or is libnode.
    names_library: bool,
    version: Option<String>,
    /// Why the objects of its V8 cannot be read; empty where they can.
    unreadable: String,
}

/// The files that were looked at, by device, inode and time of change.
#[derive(Debug, Default)]
pub(crate) struct Binaries {
    known: HashMap<(u64, u64, i64, i64), Content>,
}

/// `node::Start(int, char**)`: Node exports all it has, for addons. Bun and Deno offer addons napi_… and uv_…, too,
/// but not this function.
const NODE_START: &[u8] = b"\0_ZN4node5StartEiPPc\0";

/// Where there is no V8 to be seen.
const NO_V8: &str = "its V8 cannot be found";

const LIBRARY: &str = "libnode.so";

/// Every release knows where its source is: …/v22.1.0/node-v22.1.0.tar.gz.
const RELEASE: &[u8] = b"/node-v";
const RELEASE_ENDS: [&str; 2] = ["-headers.tar.gz", ".tar.gz"];

const LONGEST_RELEASE: usize = 128;

const PIECE: u64 = 1 << 20;
/// Pieces overlap, so that no text is cut in two.
const OVERLAP: u64 = 256;
/// More texts in one piece that look like versions are made up.
const MOST_BARE: usize = 1000;
/// Node's constants are below 60 MB.
const MOST_CONSTANTS: u64 = 1 << 28;

impl Binaries {
    /// What a process runs.
    pub(crate) fn look(&mut self, proc: &Proc, pid: u32) -> io::Result<Program> {
        let exe = match open_regular(&proc.path(pid, "exe")) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(Program::Hidden);
            }
            Err(error) => return Err(error),
        };
        let content = self.content(&exe)?;
        Ok(match content {
            Content { names_library: true, .. } => self.look_into_library(proc, pid),
            Content { starts_node: true, version, unreadable, .. } => {
                Program::Node { version, unreadable }
            }
            Content { .. } => Program::Other,
        })
    }

    /// A program that is linked to libnode is Node when it has the library mapped.
    fn look_into_library(&mut self, proc: &Proc, pid: u32) -> Program {
        let Ok(maps) = proc.table_of(pid, "maps") else { return Program::Hidden };
        let paths = maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| path));
        let is_library =
            |path: &&str| path.rsplit('/').next().is_some_and(|name| name.starts_with(LIBRARY));
        let Some(path) = paths.into_iter().find(is_library) else { return Program::Other };
        let library = open_regular(&proc.path(pid, "root").join(path));
        match library.and_then(|file| self.content(&file)) {
            Ok(Content { starts_node: true, version, unreadable, .. }) => {
                Program::Node { version, unreadable }
            }
            Ok(_) => Program::Other,
            Err(_) => Program::Node { version: None, unreadable: NO_V8.to_owned() },
        }
    }

    fn content(&mut self, file: &File) -> io::Result<Content> {
        let meta = file.metadata()?;
        let key = (meta.dev(), meta.ino(), meta.mtime(), meta.mtime_nsec());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let content = content_of(file)?;
        self.known.insert(key, content.clone());
        Ok(content)
    }
}

fn content_of(file: &File) -> io::Result<Content> {
    let parts = Parts::new(file.try_clone()?)?;
    let Ok(elf) = Elf::parse(&parts) else { return Ok(Content::default()) };
    let names = elf.names().unwrap_or_default();
    let names_library = memmem::find(names, format!("\0{LIBRARY}").as_bytes()).is_some();
    let starts_node = memmem::find(names, NODE_START).is_some();
    // A version that cannot be read does not make it another program.
    let version =
        if starts_node { version_in(file, &elf.constants()).unwrap_or_default() } else { None };
    let unreadable = if starts_node { unreadable(&elf) } else { String::new() };
    Ok(Content { starts_node, names_library, version, unreadable })
}

/// Why `record` will not be able to read names: it asks the same of the same constants.
fn unreadable<'a>(elf: &Elf<'a, &'a Parts<File>>) -> String {
    let variables = elf.variables(is_asked_for);
    match Layout::of_binary(&|name| variables.number(name).map(i64::from)) {
        None => NO_V8.to_owned(),
        Some(Err(error)) => error.to_string(),
        Some(Ok(_)) => String::new(),
    }
}

/// The version among the constants: the address of the release, or, in the builds of distributions, a text that
/// is a version and nothing else, if there is only one.
fn version_in(mut file: &File, constants: &[Range<u64>]) -> io::Result<Option<String>> {
    let mut bare = BTreeSet::new();
    let mut left = MOST_CONSTANTS;
    let mut piece = Vec::new();
    for range in constants {
        let mut at = range.start;
        while at < range.end && left > 0 {
            let size = (range.end - at).min(PIECE).min(left);
            left -= size;
            piece.clear();
            file.seek(SeekFrom::Start(at))?;
            file.take(size).read_to_end(&mut piece)?;
            let mut releases =
                memmem::find_iter(&piece, RELEASE).filter_map(|place| release_at(&piece[place..]));
            if let Some(version) = releases.next() {
                return Ok(Some(version));
            }
            // Two that differ settle nothing; more need not be kept.
            bare.extend(bare_at(&piece).filter(|_| at == range.start));
            let others =
                memmem::find_iter(&piece, b"\0v").filter_map(|place| bare_at(&piece[place + 1..]));
            bare.extend(others.take(if bare.len() < 2 { MOST_BARE } else { 0 }));
            if (piece.len() as u64) < size || at + size == range.end {
                break;
            }
            at += size - OVERLAP.min(size / 2);
        }
    }
    Ok(bare.pop_first().filter(|_| bare.is_empty()))
}

/// `/node-v22.1.0.tar.gz` → `v22.1.0`.
fn release_at(bytes: &[u8]) -> Option<String> {
    let text = &bytes[RELEASE.len() - 1..bytes.len().min(LONGEST_RELEASE)];
    let end =
        text.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b".-+".contains(byte))?;
    let text = std::str::from_utf8(&text[..end]).ok()?;
    let version = RELEASE_ENDS.iter().find_map(|end| text.strip_suffix(end))?;
    is_version(version.split('-').next()?).then(|| version.to_owned())
}

/// `v22.1.0` and a zero behind it.
fn bare_at(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().take(16).position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    is_version(text).then(|| text.to_owned())
}

fn is_version(text: &str) -> bool {
    let is_number = |part: &str| {
        (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    text.strip_prefix('v')
        .is_some_and(|text| text.split('.').count() == 3 && text.split('.').all(is_number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn versions_are_read_as_they_are_spelt() {
        assert_eq!(release_at(b"/node-v22.1.0.tar.gz\0").as_deref(), Some("v22.1.0"));
        assert_eq!(release_at(b"/node-v22.1.0-headers.tar.gz\0").as_deref(), Some("v22.1.0"));
        assert_eq!(release_at(b"/node-v27.0.0-rc.1.tar.gz\0").as_deref(), Some("v27.0.0-rc.1"));
        for other in ["/node-vx\0", "/node-v22.1.0", "/node-v1.2.3/lib\0", "/node-v"] {
            assert_eq!(release_at(other.as_bytes()), None, "{other}");
        }
        assert_eq!(bare_at(b"v0.12.18\0").as_deref(), Some("v0.12.18"));
        assert_eq!(bare_at(b"v10.12\0"), None);
    }

    /// All that are installed: on the PATH, and beside each other below /opt.
    #[test]
    fn real_binaries_contain_their_version() {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).map(|folder| folder.join("node"));
        let beside = std::fs::read_dir("/opt").into_iter().flatten().flatten();
        let beside = beside.map(|entry| entry.path().join("bin/node"));
        for path in on_path.chain(beside).filter(|path| path.is_file()) {
            // What is called node may be a script.
            if std::fs::read(&path).unwrap().starts_with(b"#!") {
                continue;
            }
            let found = content_of(&File::open(&path).unwrap()).unwrap();
            let output = Command::new(&path).arg("--version").output().unwrap();
            let version = String::from_utf8(output.stdout).unwrap().trim().to_owned();
            assert_eq!(
                (found.starts_node, found.version),
                (true, Some(version)),
                "{}",
                path.display()
            );
        }
    }

    #[test]
    fn other_programs_are_not_node() {
        for path in ["/bin/sh", "/bin/sleep", "/proc/self/exe", "/etc/passwd"] {
            let content = content_of(&File::open(Path::new(path)).unwrap()).unwrap();
            assert_eq!(content, Content::default(), "{path}");
        }
    }
}
