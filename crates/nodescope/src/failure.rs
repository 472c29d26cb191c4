//! What went wrong, as people read it: a sentence, and the command to type next.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::style;
use crate::text::{printable, wrap_words};

/// Whether the user asked for silence.
static QUIET: AtomicBool = AtomicBool::new(false);

/// A failed command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Printed on stderr, with a hint.
    Message { what: String, hint: Option<String>, code: u8 },
    /// The reader of our output is gone: there is nothing to print.
    BrokenPipe,
    /// A command that we started failed, and printed why itself.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "commands are started on Linux only")
    )]
    Ended(u8),
}

impl Failure {
    /// The command could not do its job.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self::Message { what: what.into(), hint: None, code: 1 }
    }

    /// The command was typed wrongly.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::Message { what: what.into(), hint: None, code: 2 }
    }

    /// The same, with what to type next.
    pub(crate) fn hint(self, text: impl Into<String>) -> Self {
        match self {
            Self::Message { what, code, .. } => {
                Self::Message { what, hint: Some(text.into()), code }
            }
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

    /// What happened, for a reader who is not at the terminal.
    pub(crate) fn sentence(&self) -> &str {
        match self {
            Self::Message { what, .. } => what,
            Self::BrokenPipe | Self::Ended(_) => "it cannot be read",
        }
    }

    /// Prints it for the user and returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        let (what, hint, code) = match self {
            Self::Message { what, hint, code } => (what, hint, code),
            Self::Ended(code) => return ExitCode::from(*code),
            Self::BrokenPipe => return ExitCode::SUCCESS,
        };
        print_line("nodescope", what);
        if let Some(hint) = hint {
            print_line("hint", hint);
        }
        ExitCode::from(*code)
    }
}

/// From now on, only errors and alerts are printed.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints something on stderr that does not stop the command.
pub(crate) fn warn(sentence: &str) {
    if !is_quiet() {
        alert(sentence);
    }
}

/// The same, also for a user who asked for silence.
pub(crate) fn alert(sentence: &str) {
    print_line("nodescope", sentence);
}

/// A line on stderr; on a terminal it is broken between words.
fn print_line(prefix: &str, sentence: &str) {
    let line = format!("{prefix}: {}", printable(sentence));
    let line =
        style::stderr_width().map_or_else(|| line.clone(), |columns| wrap_words(&line, columns));
    // Where stderr is closed, the sentence is lost: there is no other place for it.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
