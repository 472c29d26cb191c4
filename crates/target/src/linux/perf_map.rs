//! The perf map that a process writes: whether it is there. It is never read here.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::linux::proc::Proc;

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

/// The map of a process that knows itself as `inner_pid`. A link is nobody's map: it could lead out of the
/// container.
pub(crate) fn perf_map(proc: &Proc, pid: u32, inner_pid: u32, uptime_s: f64) -> io::Result<Option<PerfMap>> {
    let folder = proc.path(pid, "root").join("tmp");
    let path = folder.join(format!("perf-{inner_pid}.map"));
    match fs::symlink_metadata(&folder) {
        Ok(meta) if meta.is_dir() => (),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        _ => return Ok(None),
    }
    let meta = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file);
    let started = Duration::try_from_secs_f64(uptime_s + TOLERANCE_S).unwrap_or_default();
    let started = SystemTime::now().checked_sub(started);
    Ok(meta.map(|meta| {
        let is_fresh = meta.modified().ok() >= started;
        PerfMap { path, bytes: meta.len(), is_fresh }
    }))
}
