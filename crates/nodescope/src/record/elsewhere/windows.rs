//! How an inspector is opened on Windows: by a routine that Node offers, which no program listens to.

use crate::cli::WayIn;

/// What opens one that is closed.
pub(super) const OPTIONS: &str = "--via inspector";

/// When these are right, behind a command: always.
pub(super) const CONDITION: &str = "";

/// Whether a yes at the terminal is enough.
pub(super) fn may_be_asked(_: &WayIn) -> bool {
    true
}
