//! The demo where there are no perf events.

use std::path::Path;

use super::Outcome;
use crate::cli;
use crate::failure::Failure;

/// There is nothing to try.
pub(super) fn run(_: &cli::Demo, _: &Path) -> Result<Outcome, Failure> {
    let why = Failure::failed("the demo records by perf events, which are of Linux");
    Ok(Outcome::NotHere(
        why.hint("a Node of this machine is recorded by its pid: nodescope record PID"),
    ))
}
