//! What is recorded: a process of this machine with what is known of it from outside, or a target at an address. Its
//! inspector provides the rest.

use std::path::{Path, PathBuf};

use formats::cpuprofile::Whose;
use inspector::{Address, Identity, ThreadInfo};
use profile::Role;

/// Where a target is.
#[derive(Clone, Debug)]
pub enum Place {
    /// A process of this machine.
    Process(Process),
    /// An inspector that is open.
    Address(Address),
}

/// A process, as it is known from outside.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Its pid here.
    pub pid: u32,
    /// Its pid as it knows itself.
    pub inner_pid: u32,
    /// Its command line, without values.
    pub command: Option<String>,
    /// Its container.
    pub container: Option<String>,
    /// Its application.
    pub app: Option<String>,
    /// Its working folder.
    pub folder: Option<String>,
    /// The ports that it listens on.
    pub ports: Vec<u16>,
    /// Where its files are, if not where ours are.
    pub root: Option<PathBuf>,
}

impl Place {
    /// The process, where it is one of this machine.
    pub fn process(&self) -> Option<&Process> {
        match self {
            Self::Process(process) => Some(process),
            Self::Address(_) => None,
        }
    }
}

/// A target that was met: its samples carry what is known of it, from outside and from itself.
#[derive(Clone, Debug)]
pub(super) struct TargetProcess {
    identity: Identity,
    name: String,
    outside: Option<Process>,
}

impl TargetProcess {
    pub(super) fn new(identity: &Identity, outside: Option<&Process>) -> Self {
        Self { name: short_title(identity), identity: identity.clone(), outside: outside.cloned() }
    }

    /// What it calls itself.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its pid here, or else the one that it reports.
    pub(super) fn pid(&self) -> u32 {
        self.outside.as_ref().map_or(self.identity.pid, |process| process.pid)
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn command(&self) -> Option<String> {
        self.outside.as_ref().and_then(|process| process.command.clone())
    }

    /// Where its files are, if not where ours are.
    pub(super) fn root(&self) -> Option<&Path> {
        self.outside.as_ref().and_then(|process| process.root.as_deref())
    }

    /// One of its threads, as samples have it.
    pub(super) fn thread(&self, thread: &ThreadInfo) -> Whose {
        let is_main = thread.worker.is_none();
        let pid = self.outside.as_ref().map(|process| process.pid);
        let Process { container, app, command, folder, ports, .. } =
            self.outside.clone().unwrap_or_default();
        Whose {
            pid,
            inner_pid: Some(self.identity.pid),
            process: self.name.clone(),
            container,
            node_version: Some(self.identity.node.clone()),
            app,
            command,
            folder,
            ports,
            thread: if is_main { self.name.clone() } else { thread.name.clone() },
            tid: pid.filter(|_| is_main),
            role: if is_main { Role::MainLoop } else { Role::Worker },
        }
    }
}

/// What a process calls itself: mostly `node`, or the whole path of it.
fn short_title(identity: &Identity) -> String {
    let words = identity.title.split(' ').next().unwrap_or_default();
    let title = if words.starts_with('/') {
        words.rsplit('/').next().unwrap_or(words)
    } else {
        &identity.title
    };
    title.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(title: &str, outside: Option<&Process>) -> TargetProcess {
        let identity =
            Identity { pid: 7, node: "v22.1.0".into(), title: title.into(), ..Identity::default() };
        TargetProcess::new(&identity, outside)
    }

    #[test]
    fn titles_are_short() {
        for (title, name) in [
            ("node", "node"),
            ("/usr/bin/node --flag /srv/a.js", "node"),
            ("my shop: worker", "my shop: worker"),
            ("", ""),
        ] {
            assert_eq!(met(title, None).name(), name);
        }
        assert_eq!(met(&"é".repeat(100), None).name().chars().count(), 64);
    }

    #[test]
    fn threads_carry_what_is_known_of_their_process() {
        let outside =
            Process { pid: 4140, app: Some("shop".into()), ports: vec![80], ..Process::default() };
        let process = met("node", Some(&outside));
        let main = process.thread(&ThreadInfo { worker: None, name: "main".into() });
        assert_eq!(
            (process.pid(), main.pid, main.inner_pid, main.tid),
            (4140, Some(4140), Some(7), Some(4140))
        );
        assert_eq!(
            (&*main.thread, main.role, main.app.as_deref()),
            ("node", Role::MainLoop, Some("shop"))
        );
        let worker = process.thread(&ThreadInfo { worker: Some(2), name: "[worker 2]".into() });
        assert_eq!((&*worker.thread, worker.role, worker.tid), ("[worker 2]", Role::Worker, None));
        // At an address, only what it reports is known.
        let far = met("node", None);
        let main = far.thread(&ThreadInfo { worker: None, name: "main".into() });
        assert_eq!((far.pid(), main.pid, main.inner_pid, main.tid), (7, None, Some(7), None));
    }
}
