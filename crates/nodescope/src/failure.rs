//! What went wrong, as people read it: a sentence, and the command to type next.

use std::io::{self, Write};
use std::process::ExitCode;

/// A failed command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Said on stderr, with a hint.
    Said { what: String, hint: Option<String>, code: u8 },
    /// The reader of our output went away: nobody is left to tell.
    BrokenPipe,
    /// A command that we started failed, and said why itself.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "commands are started on Linux only"))]
    Ended(u8),
}

impl Failure {
    /// The command could not do its job.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self::Said { what: what.into(), hint: None, code: 1 }
    }

    /// The command was typed wrongly.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::Said { what: what.into(), hint: None, code: 2 }
    }

    /// The same, with what to type next.
    pub(crate) fn hint(self, text: impl Into<String>) -> Self {
        match self {
            Self::Said { what, code, .. } => Self::Said { what, hint: Some(text.into()), code },
            Self::BrokenPipe | Self::Ended(_) => self,
        }
    }

    /// Writing to `place` failed.
    pub(crate) fn writing(place: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::failed(format!("cannot write {place}: {error}"))
    }

    /// What happened, for somebody who is not at the terminal.
    pub(crate) fn sentence(&self) -> &str {
        match self {
            Self::Said { what, .. } => what,
            Self::BrokenPipe | Self::Ended(_) => "it cannot be read",
        }
    }

    /// Tells the person and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        let (what, hint, code) = match self {
            Self::Said { what, hint, code } => (what, hint, code),
            Self::Ended(code) => return ExitCode::from(*code),
            Self::BrokenPipe => return ExitCode::SUCCESS,
        };
        let mut err = io::stderr().lock();
        // When stderr is gone too, there is nobody to tell.
        let _ = writeln!(err, "nodescope: {}", crate::text::printable(what));
        if let Some(hint) = hint {
            let _ = writeln!(err, "hint: {}", crate::text::printable(hint));
        }
        ExitCode::from(*code)
    }
}

/// Says something on stderr that does not stop the command.
pub(crate) fn warn(sentence: &str) {
    let _ = writeln!(io::stderr().lock(), "nodescope: {}", crate::text::printable(sentence));
}
