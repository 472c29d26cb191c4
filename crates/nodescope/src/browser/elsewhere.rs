//! Browsers where the desktop is one of several, or missing.

/// What opens a file as a double click would.
pub(super) const OPENER: &str = "xdg-open";

/// Whether there is a screen that a browser could show something on.
pub(crate) fn is_here() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set)
}
