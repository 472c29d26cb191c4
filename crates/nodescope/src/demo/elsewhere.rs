//! The demo where there are no perf events.

use std::path::Path;

use super::Outcome;
use crate::cli;
use crate::export::Form;
use crate::failure::Failure;
use crate::invoked;

/// There is nothing to try.
pub(super) fn run(_: &cli::Demo, _: Form, _: &Path) -> Result<Outcome, Failure> {
    let why = Failure::failed("the demo records by perf events, which are of Linux");
    let hint =
        format!("a Node of this machine is recorded by its pid: {} record PID", invoked::name());
    Ok(Outcome::NotHere(why.hint(hint)))
}
