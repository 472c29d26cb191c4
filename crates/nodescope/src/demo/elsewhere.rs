//! The demo where nodescope cannot record.

use std::path::Path;

use super::Outcome;
use crate::cli;
use crate::failure::Failure;

/// There is nothing to try.
pub(super) fn run(_: &cli::Demo, _: &Path) -> Result<Outcome, Failure> {
    let why = Failure::failed("nodescope records on Linux only, so far");
    Ok(Outcome::NotHere(
        why.hint("what was recorded there can be read here: nodescope report FILE"),
    ))
}
