//! The Node processes of macOS and Windows, as the system lists them: by the name of their program, with the words that
//! started them.

#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

use std::io;

use sys::processes;

#[cfg(target_os = "macos")]
pub(crate) use macos::command_of;
#[cfg(windows)]
pub(crate) use windows::command_of;

/// A process whose program is called node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its pid.
    pub pid: u32,
    /// The pid of the process that started it.
    pub parent_pid: u32,
    /// What started it, without the values of arguments; its program alone where that may not be seen.
    pub command: String,
    /// Its script.
    pub script: Option<String>,
}

/// The Node processes here, without ourselves.
pub fn list() -> io::Result<Vec<Process>> {
    let nodes = processes::list()?.into_iter().filter(|listed| is_node(&listed.program));
    let process = |listed: processes::Listed| {
        let held = processes::Process::open(listed.pid);
        let command = held.map(|process| command_of(&process)).unwrap_or_default();
        let shown = if command.redacted.is_empty() { listed.program } else { command.redacted };
        let (pid, parent_pid, script) = (listed.pid, listed.parent_pid, command.script);
        Process { pid, parent_pid, command: shown, script }
    };
    Ok(nodes.map(process).collect())
}

/// Whether a program is called as Node is: `node`, `node.exe`, `node22`.
pub(crate) fn is_node(program: &str) -> bool {
    let name = program.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let rest = name.strip_prefix("node");
    rest.is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.'))
}
