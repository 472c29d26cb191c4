//! The recordings in a folder and the folders below it, recognised by their names or, where those are not enough, by
//! their first bytes. Bounded, because some users will name their home folder.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How deep folders are looked into.
const DEEPEST: usize = 4;
/// How many files and folders are looked at, and how many are opened.
const MOST_ENTRIES: usize = 20_000;
const MOST_OPENED: usize = 2_000;
/// How many recordings are shown: the newest.
const MOST_LISTED: usize = 1_000;

/// Names that only recordings have.
const SURE: &[&str] = &[
    ".nodescope",
    ".nodescope.part",
    ".cpuprofile",
    ".folded",
    ".collapsed",
    ".speedscope.json",
    ".pb.gz",
    ".pprof",
    "perf.data",
];
/// Names that a recording may have, and other files, too. A name without any ending is one of them.
const MAYBE: &[&str] = &[
    "data", "txt", "json", "log", "out", "old", "part", "perf", "pb", "prof", "stacks", "trace",
    "gz", "zst", "zstd",
];
const COMPRESSED: &[&str] = &[".gz", ".zst", ".zstd"];
/// Folders with many files and no recordings.
const NEVER: &[&str] = &["node_modules"];

/// A file that looks like a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
}

impl Stamp {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self { bytes: meta.len(), modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH) }
    }
}

/// What the first bytes of files showed, so that a file is opened once.
pub(super) type Opened = HashMap<PathBuf, (Stamp, bool)>;

/// The recordings in a folder, the newest first.
pub(super) fn recordings(folder: &Path, opened: &mut Opened) -> Vec<Found> {
    let mut walk =
        Walk { opened, entries_left: MOST_ENTRIES, opens_left: MOST_OPENED, found: Vec::new() };
    walk.enter(folder, 1);
    let mut found = walk.found;
    found.sort_by(|one, other| {
        other.stamp.modified.cmp(&one.stamp.modified).then_with(|| one.path.cmp(&other.path))
    });
    found.truncate(MOST_LISTED);
    found
}

struct Walk<'a> {
    opened: &'a mut Opened,
    entries_left: usize,
    opens_left: usize,
    found: Vec<Found>,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut folders = Vec::new();
        for entry in entries.flatten() {
            if self.entries_left == 0 {
                break;
            }
            self.entries_left -= 1;
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link to a folder may lead anywhere, also back here.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if name.starts_with('.') || NEVER.contains(&name.as_str()) {
                continue;
            }
            if is_folder {
                folders.push(entry.path());
            } else {
                self.look_at(entry.path(), &name);
            }
        }
        if depth < DEEPEST {
            folders.iter().for_each(|folder| self.enter(folder, depth + 1));
        }
    }

    fn look_at(&mut self, path: PathBuf, name: &str) {
        let kind = kind_of(name);
        if kind == Kind::Other {
            return;
        }
        let Ok(meta) = fs::metadata(&path) else { return };
        if !meta.is_file() || meta.len() == 0 {
            return;
        }
        let stamp = Stamp::of(&meta);
        if kind == Kind::Sure || self.is_recording(&path, stamp) {
            self.found.push(Found { path, stamp });
        }
    }

    fn is_recording(&mut self, path: &Path, stamp: Stamp) -> bool {
        if let Some((known, is_recording)) = self.opened.get(path)
            && *known == stamp
        {
            return *is_recording;
        }
        if self.opens_left == 0 {
            return false;
        }
        self.opens_left -= 1;
        let is_recording = File::open(path).is_ok_and(formats::is_recording);
        self.opened.insert(path.to_owned(), (stamp, is_recording));
        is_recording
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sure,
    Maybe,
    Other,
}

fn kind_of(name: &str) -> Kind {
    let name = name.to_lowercase();
    let plain = COMPRESSED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let is_sure = |name: &str| SURE.iter().any(|ending| name.ends_with(ending));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match () {
        () if is_sure(&name) || is_sure(plain) => Kind::Sure,
        () if ending.is_empty() || MAYBE.contains(&ending) => Kind::Maybe,
        () => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_the_kind() {
        let rows = [
            ("nodescope-api-1-20261115-031502.nodescope", Kind::Sure),
            ("a.nodescope.part", Kind::Sure),
            ("perf.data", Kind::Sure),
            ("api.perf.data.gz", Kind::Sure),
            ("CPU.20261115.031502.1.0.001.cpuprofile", Kind::Sure),
            ("out.folded.zst", Kind::Sure),
            ("profile.pb.gz", Kind::Sure),
            ("a.speedscope.json", Kind::Sure),
            ("perf.data.old", Kind::Maybe),
            ("isolate0x55d-4140-v8.log", Kind::Maybe),
            ("trace.json", Kind::Maybe),
            ("perf.txt.gz", Kind::Maybe),
            ("recording", Kind::Maybe),
            ("page.html", Kind::Other),
            ("flame.svg", Kind::Other),
            ("server.js", Kind::Other),
            ("README.md", Kind::Other),
        ];
        for (name, expected) in rows {
            assert_eq!(kind_of(name), expected, "{name}");
        }
    }
}
