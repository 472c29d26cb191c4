//! New files where files have owners.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

/// A recording reveals much about a service: only its owner may read it. Under sudo that is the person who
/// typed the command.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    let id = |name: &str| std::env::var(name).ok().and_then(|id| id.parse().ok());
    if let (Some(user), Some(group)) = (id("SUDO_UID"), id("SUDO_GID")) {
        // Without the right to give files away, the file stays ours.
        let _ = fchown(&file, Some(user), Some(group));
    }
    Ok(file)
}

/// Whether a file is still the one at that path: another program may have moved it and taken its name.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
    match (file.metadata().map(id), fs::symlink_metadata(path).map(id)) {
        (Ok(ours), Ok(there)) => ours == there,
        _ => false,
    }
}
