//! Where names may come from, as the caller wants it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use profile::OwnNames;

use crate::files::{Disk, Files, OpenFile};
use crate::owners::Owners;

/// Where names may come from.
pub struct Sources {
    /// Access to the disk.
    pub files: Box<dyn Files>,
    /// The root folder of the recorded processes, where it is not ours: its files come first.
    pub root: Option<PathBuf>,
    /// The same for single processes, by pid: several containers have several roots.
    pub roots: BTreeMap<u32, PathBuf>,
    /// Files that were opened while they were there, by the path that the recording has: a program that was
    /// replaced since it was started is `/usr/bin/node (deleted)`.
    pub kept: BTreeMap<Vec<u8>, PathBuf>,
    /// The kernel's functions.
    pub kernel: KernelNames,
    /// Perf maps that were given; a process that has none is looked for as /tmp/perf-PID.map.
    pub perf_maps: Vec<ForProcess>,
    /// What processes call themselves in a pid namespace of their own: their perf maps have that number.
    pub inner_pids: BTreeMap<u32, u32>,
    /// Jitdumps that were given, beside those that the recording mentions.
    pub jitdumps: Vec<ForProcess>,
    /// Whose perf maps and jitdumps are believed, unless they were given.
    pub owners: Owners,
    /// Where perf keeps copies of files by their build ids: `~/.debug`.
    pub build_id_cache: Option<PathBuf>,
    /// Whether C++ and Rust names are shown as their authors wrote them.
    pub demangle: bool,
    /// Whether the source maps of scripts that a transpiler made while they were loaded are left alone.
    pub leaves_maps: bool,
    /// Packages that count as the application, beside those that its package.json names.
    pub own: OwnNames,
}

/// A file, and whose names it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForProcess {
    /// The process; `None` for all of them.
    pub pid: Option<u32>,
    /// The file.
    pub path: PathBuf,
}

/// Where the names of the kernel's functions come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelNames {
    /// The kernel that runs now, if it is the recorded one.
    Running,
    /// A copy of its /proc/kallsyms.
    File(PathBuf),
    /// Nowhere.
    None,
}

impl Default for Sources {
    /// The disk of this machine, and nothing in particular.
    fn default() -> Self {
        Self {
            files: Box::new(Disk),
            root: None,
            roots: BTreeMap::new(),
            kept: BTreeMap::new(),
            kernel: KernelNames::Running,
            perf_maps: Vec::new(),
            inner_pids: BTreeMap::new(),
            jitdumps: Vec::new(),
            owners: Owners::default(),
            build_id_cache: None,
            demangle: true,
            leaves_maps: false,
            own: OwnNames::default(),
        }
    }
}

impl Sources {
    /// No names but those in the recording itself: nothing is opened.
    pub fn nowhere() -> Self {
        Self { files: Box::new(NoFiles), kernel: KernelNames::None, ..Self::default() }
    }

    /// The root of a process, where it is not ours.
    pub(crate) fn root_of(&self, pid: Option<u32>) -> Option<&Path> {
        let own = pid.and_then(|pid| self.roots.get(&pid));
        own.or(self.root.as_ref()).map(PathBuf::as_path)
    }
}

/// A machine without files.
struct NoFiles;

impl Files for NoFiles {
    fn open(&self, _: Option<&Path>, _: &Path) -> io::Result<Box<dyn OpenFile>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// The files that were given for a process.
pub(crate) fn given_for(files: &[ForProcess], pid: Option<u32>) -> impl Iterator<Item = &PathBuf> {
    files.iter().filter(move |file| file.pid.is_none() || file.pid == pid).map(|file| &file.path)
}
