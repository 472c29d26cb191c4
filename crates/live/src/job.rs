//! The one way to start ourselves once more: a variable names the job. What the job needs to know comes as a
//! [`crate::Message`] on its stdin, where it has one of its own.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the job.
const VARIABLE: &str = "NODESCOPE_JOB";

/// What a program was started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// Reads rings and memory, and names samples.
    ReadNames,
    /// Looks at the threads of a process, once.
    LookAtThreads,
    /// Closes an inspector when the recorder that opened it is killed.
    CloseInspector,
    /// Waits until this file is gone, then becomes the command in its arguments, whose stdin it has.
    StandIn(PathBuf),
}

/// The words for jobs without a file.
const WORDS: [(Job, &str); 3] = [
    (Job::ReadNames, "read-names"),
    (Job::LookAtThreads, "look-at-threads"),
    (Job::CloseInspector, "close-inspector"),
];

/// In front of the file.
const STAND_IN: &str = "stand-in:";

impl Job {
    /// The job that this program was started for, if it is one.
    pub fn own() -> Option<Self> {
        Self::parse(&std::env::var_os(VARIABLE)?)
    }

    /// Ourselves, started once more for a job.
    pub fn command(&self) -> io::Result<Command> {
        let mut command = Command::new(own_program()?);
        command.env(VARIABLE, self.text());
        Ok(command)
    }

    /// Keeps a program that this one becomes from taking the job for its own.
    pub fn forget(command: &mut Command) {
        command.env_remove(VARIABLE);
    }

    fn text(&self) -> OsString {
        let word = WORDS.iter().find(|(job, _)| job == self).map(|(_, word)| OsString::from(word));
        match self {
            Self::StandIn(path) => {
                let mut text = OsString::from(STAND_IN);
                text.push(path);
                text
            }
            _ => word.unwrap_or_default(),
        }
    }

    fn parse(text: &OsStr) -> Option<Self> {
        let known = WORDS.iter().find(|(_, word)| text == *word).map(|(job, _)| job.clone());
        known.or_else(|| stand_in_path(text).map(Self::StandIn))
    }
}

/// Where this program is. One that was replaced on disk while it runs is still there for itself.
fn own_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let kept = Path::new("/proc/self/exe");
    Ok(if !path.exists() && kept.exists() { kept.to_owned() } else { path })
}

#[cfg(unix)]
fn stand_in_path(text: &OsStr) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    text.as_bytes().strip_prefix(STAND_IN.as_bytes()).map(|path| OsStr::from_bytes(path).into())
}

/// Commands are started on Linux only.
#[cfg(not(unix))]
fn stand_in_path(text: &OsStr) -> Option<PathBuf> {
    text.to_str()?.strip_prefix(STAND_IN).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_understood_by_the_program_that_is_started() {
        let jobs = WORDS.iter().map(|(job, _)| job.clone());
        for job in jobs.chain([Job::StandIn("/tmp/a b:c.gate".into())]) {
            assert_eq!(Job::parse(&job.text()), Some(job));
        }
        for text in ["", "read", "read-names ", "stand-in"] {
            assert_eq!(Job::parse(text.as_ref()), None, "{text}");
        }
    }
}
