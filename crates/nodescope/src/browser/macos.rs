//! Browsers on macOS.

/// What opens a file as a double click would.
pub(super) const OPENER: &str = "open";

/// Whether there is a screen that a browser could show something on: there always is.
pub(crate) fn is_here() -> bool {
    true
}
