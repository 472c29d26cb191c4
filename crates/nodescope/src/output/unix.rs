//! New files where files have owners.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::Path;

/// A recording tells much about a service: only its owner may read it. Under sudo that is the person who
/// typed the command.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let id = |name: &str| std::env::var(name).ok().and_then(|id| id.parse().ok());
    if let (Some(user), Some(group)) = (id("SUDO_UID"), id("SUDO_GID")) {
        // Without the right to give files away, the file stays ours.
        let _ = fchown(&file, Some(user), Some(group));
    }
    Ok(file)
}
