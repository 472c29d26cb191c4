//! What is known of a process from outside, before its inspector tells more.

use std::path::PathBuf;

/// A process that is recorded.
#[derive(Clone, Debug, Default)]
pub(in crate::record) struct Process {
    pub(in crate::record) pid: u32,
    /// Its pid as it knows itself.
    pub(in crate::record) inner_pid: u32,
    /// Its command line, without values.
    pub(in crate::record) command: Option<String>,
    pub(in crate::record) container: Option<String>,
    /// Its application, working folder and ports.
    pub(in crate::record) app: Option<String>,
    pub(in crate::record) folder: Option<String>,
    pub(in crate::record) ports: Vec<u16>,
    /// Where its files are, if not where ours are.
    pub(in crate::record) root: Option<PathBuf>,
}
