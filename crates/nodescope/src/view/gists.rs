//! What the list shows of each recording. A recording is read for it once, and again when its file has changed; only
//! the row is kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use profile::Profile;
use serde::Serialize;
use views::Gist;

use super::folder::Stamp;
use crate::failure::Failure;

/// Larger files are read when they are opened, not for the list: a folder of them would keep all cores busy.
const MOST_BYTES: u64 = 64 << 20;

/// What the list shows of a recording.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Summary {
    /// Its figures.
    Gist(Box<Gist>),
    /// Why it cannot be shown.
    Problem(String),
    /// Why it has not been read.
    Unread(String),
}

impl Summary {
    pub(super) fn of(profile: &Profile) -> Arc<Self> {
        Arc::new(Self::Gist(Box::new(views::gist(profile))))
    }

    /// The row has the file's name already.
    pub(super) fn problem(path: &Path, failure: &Failure) -> Arc<Self> {
        let sentence = failure.sentence();
        let name = format!("{}: ", path.display());
        Arc::new(Self::Problem(sentence.strip_prefix(&name).unwrap_or(sentence).to_owned()))
    }

    /// For a file that is too large; `None` for others.
    pub(super) fn unread(stamp: Stamp) -> Option<Arc<Self>> {
        let megabytes = stamp.bytes / 1_000_000;
        let is_large = stamp.bytes > MOST_BYTES;
        is_large
            .then(|| Arc::new(Self::Unread(format!("{megabytes} MB: it is read when you open it"))))
    }
}

/// The rows that are known, each for one state of its file.
#[derive(Default)]
pub(super) struct Gists {
    rows: HashMap<PathBuf, (Stamp, Arc<Summary>)>,
}

impl Gists {
    pub(super) fn get(&self, path: &Path, stamp: Stamp) -> Option<Arc<Summary>> {
        let (known, summary) = self.rows.get(path)?;
        (*known == stamp).then(|| Arc::clone(summary))
    }

    pub(super) fn put(&mut self, path: &Path, stamp: Stamp, summary: &Arc<Summary>) {
        self.rows.insert(path.to_owned(), (stamp, Arc::clone(summary)));
    }
}
