//! What started a process of macOS.

use sys::processes::Process;

use crate::command::Command;

/// What started a process; nothing where this user may not see that.
pub(crate) fn command_of(process: &Process) -> Command {
    let words = process.arguments().unwrap_or_default();
    Command::parse(words.join("\0").as_bytes(), None)
}
