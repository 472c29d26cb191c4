//! Questions before an inspector is opened or a file is replaced: never unasked, and only where a user can answer.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use super::inspect::WHO_CAN_ATTACH;
use crate::failure::{Failure, is_quiet, warn};

/// Whether a user is there to answer.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && !is_quiet()
}

/// Asks whether the inspector of a process may be opened, after a sentence that gives the reason.
pub(super) fn ask_to_open(why: &str, pid: u32) -> Result<bool, Failure> {
    warn(why);
    warn(&format!(
        "Node's own profiler works: nodescope can open the inspector of process {pid} for the time of the recording. \
         Node writes that into the application's log, and meanwhile {WHO_CAN_ATTACH}"
    ));
    confirms("open it?")
}

/// Asks whether a file may be replaced; without a terminal the answer is no.
pub(super) fn ask_to_replace(path: &Path) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    let path = crate::text::printable(&path.display().to_string());
    confirms(&format!("{path} exists already. Replace it?"))
}

fn confirms(question: &str) -> Result<bool, Failure> {
    let _ = write!(io::stderr().lock(), "nodescope: {question} [y/N] ");
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::failed(error.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
