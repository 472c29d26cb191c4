//! The one way for a test not to run. Every `tests/all.rs`, and a crate whose unit tests need it, takes this file as a
//! module.

use std::fmt::Display;

/// Says that a test, or a part of it, cannot run here: `WHAT: WHY`. With NODESCOPE_REQUIRE_ALL=1 the test fails.
#[track_caller]
#[allow(clippy::print_stdout, reason = "scripts/test.sh collects these lines")]
pub fn skip(what_and_why: impl Display) {
    let line = format!("skipped: {what_and_why}");
    let requires_all = std::env::var("NODESCOPE_REQUIRE_ALL").is_ok_and(|value| value == "1");
    assert!(!requires_all, "{line}");
    println!("{line}");
}
