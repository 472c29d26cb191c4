//! Access to /proc, or to a folder that looks like it. Reads are bounded, because the files of a process contain
//! what the process wants.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A folder like /proc.
#[derive(Clone, Debug)]
pub struct Proc {
    root: PathBuf,
}

/// Most that is read of a small file: status, stat, cmdline, environ, cgroup.
const MOST_BYTES: u64 = 64 << 10;

/// Of a table that grows with the machine: net/tcp, maps.
const MOST_TABLE_BYTES: u64 = 16 << 20;

/// Sockets and files that a process may have open before we stop to look.
const MOST_ENTRIES: usize = 100_000;

/// As x86 and ARM spell it.
const O_NONBLOCK: i32 = 0o4000;

impl Default for Proc {
    fn default() -> Self {
        Self::new("/proc")
    }
}

impl Proc {
    /// The folder at `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// A file of the machine, such as `uptime`.
    pub(crate) fn text(&self, name: &str) -> io::Result<String> {
        read(&self.root.join(name), MOST_BYTES).map(|bytes| lossy(&bytes))
    }

    /// The processes that exist now.
    pub(crate) fn pids(&self) -> io::Result<Vec<u32>> {
        let entries = fs::read_dir(&self.root)?.flatten();
        let mut pids: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        pids.sort_unstable();
        Ok(pids)
    }

    pub(crate) fn path(&self, pid: u32, name: &str) -> PathBuf {
        self.root.join(pid.to_string()).join(name)
    }

    /// A small file of a process.
    pub(crate) fn bytes_of(&self, pid: u32, name: &str) -> io::Result<Vec<u8>> {
        read(&self.path(pid, name), MOST_BYTES)
    }

    pub(crate) fn text_of(&self, pid: u32, name: &str) -> io::Result<String> {
        self.bytes_of(pid, name).map(|bytes| lossy(&bytes))
    }

    /// A file of a process that may be long.
    pub(crate) fn table_of(&self, pid: u32, name: &str) -> io::Result<String> {
        read(&self.path(pid, name), MOST_TABLE_BYTES).map(|bytes| lossy(&bytes))
    }

    /// Where a link of a process leads, as the kernel spells it.
    pub(crate) fn link_of(&self, pid: u32, name: &str) -> io::Result<PathBuf> {
        fs::read_link(self.path(pid, name))
    }

    /// Where a link of our own leads.
    pub(crate) fn own_link(&self, name: &str) -> io::Result<PathBuf> {
        fs::read_link(self.root.join("self").join(name))
    }

    /// Where all links in a folder of a process lead.
    pub(crate) fn links_of(&self, pid: u32, folder: &str) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.path(pid, folder))?.flatten().take(MOST_ENTRIES);
        Ok(entries.filter_map(|entry| fs::read_link(entry.path()).ok()).collect())
    }
}

/// A regular file, up to a limit. Files of /proc are regular, too; a pipe would let us wait for ever.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file and nothing else. Should a pipe take its place meanwhile, opening it must not wait.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    if !fs::metadata(path)?.is_file() {
        return Err(refuse());
    }
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refuse()) }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
