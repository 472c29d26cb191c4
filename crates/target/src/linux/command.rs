//! What started a process, as /proc shows it.

use std::io;

use crate::command::Command;
use crate::linux::proc::Proc;
use crate::linux::role::Environment;

impl Command {
    /// What started a process, as far as this user may see.
    pub(crate) fn of(proc: &Proc, pid: u32) -> io::Result<Self> {
        let environment = proc.bytes_of(pid, "environ").map(|bytes| Environment::parse(&bytes));
        let node_options = environment.ok().and_then(|environment| environment.node_options);
        Ok(Self::parse(&proc.bytes_of(pid, "cmdline")?, node_options.as_deref()))
    }
}
