//! The perf map that a process writes: whether it is there. It is never read here.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::linux::proc::Proc;
use crate::linux::status::Status;

/// A perf map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PerfMap {
    /// Its path from here, through the root folder of the process.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Whether it was written since the process started; else it is left over from another one.
    pub is_fresh: bool,
}

/// Two clocks, read one after the other.
const TOLERANCE_S: f64 = 2.0;

/// The user id of root.
const ROOT: u32 = 0;

/// The map of a process. A link counts for none: it could lead out of the container. Another user's file does not,
/// either: every user may write into that folder, and a recording believes no such map.
pub(crate) fn perf_map(
    proc: &Proc,
    pid: u32,
    status: &Status,
    uptime_s: f64,
) -> io::Result<Option<PerfMap>> {
    let folder = proc.path(pid, "root").join("tmp");
    let path = folder.join(format!("perf-{}.map", status.inner_pid));
    match fs::symlink_metadata(&folder) {
        Ok(meta) if meta.is_dir() => (),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        _ => return Ok(None),
    }
    let is_believed = |meta: &fs::Metadata| {
        meta.is_file() && (meta.uid() == ROOT || status.uids.contains(&meta.uid()))
    };
    let meta = fs::symlink_metadata(&path).ok().filter(is_believed);
    let started = Duration::try_from_secs_f64(uptime_s + TOLERANCE_S).unwrap_or_default();
    let started = SystemTime::now().checked_sub(started);
    Ok(meta.map(|meta| {
        let is_fresh = meta.modified().ok() >= started;
        PerfMap { path, bytes: meta.len(), is_fresh }
    }))
}
