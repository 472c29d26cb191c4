//! What started a process of Windows.

use sys::processes::Process;

use crate::command::Command;
use crate::windows_words::split;

/// What started a process; nothing where this user may not see that.
pub(crate) fn command_of(process: &Process) -> Command {
    let words = split(&process.command_line().unwrap_or_default());
    Command::parse(words.join("\0").as_bytes(), None)
}
