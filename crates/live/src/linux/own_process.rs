//! A helper process that ends before it should: what it printed last, and how it ended. That is a bug of ours, never
//! the target's fault, and is reported as such.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

/// How much is kept of what it printed last.
const MOST_BYTES: usize = 64 << 10;

/// For tests of what happens then: panics where a variable is set. Programs that are released do not look at it.
pub(super) fn crash_if_asked(variable: &str) {
    assert!(!cfg!(debug_assertions) || std::env::var_os(variable).is_none(), "a test wants it");
}

/// Takes what a program prints on stderr, which is nothing as long as all is well.
pub(super) struct ErrorOutput(File);

impl ErrorOutput {
    pub(super) fn new() -> io::Result<Self> {
        sys::files::memory_file().map(Self)
    }

    /// For the program's stderr.
    pub(super) fn stdio(&self) -> io::Result<Stdio> {
        self.0.try_clone().map(Stdio::from)
    }

    /// Why it ended, as part of a sentence.
    pub(super) fn cause(&self, status: Option<ExitStatus>) -> String {
        let mut bytes = vec![0; MOST_BYTES];
        let length = self.0.read_at(&mut bytes, 0).unwrap_or(0);
        cause(status, &String::from_utf8_lossy(&bytes[..length]))
    }
}

/// The message of a panic and where it was; else the signal; else the first line that was printed.
fn cause(status: Option<ExitStatus>, printed: &str) -> String {
    let mut lines = printed.lines();
    let place = lines.find_map(|line| line.split_once("panicked at ").map(|(_, place)| place));
    if let Some(place) = place {
        let message = lines.next().unwrap_or_default().trim();
        return format!("{message} at {}", place.trim_end_matches(':'));
    }
    match status.and_then(|status| status.signal()) {
        Some(signal) => signal_text(signal),
        None => match printed.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => line.trim_start_matches("nodescope: ").to_owned(),
            None => {
                let code = status.and_then(|status| status.code());
                code.map_or("it has ended".to_owned(), |code| {
                    format!("it ended with status {code}")
                })
            }
        },
    }
}

/// The signals that end programs, and what they mean.
const SIGNALS: [(i32, &str); 5] = [
    (6, "SIGABRT: it aborted"),
    (7, "SIGBUS: a bad access to memory"),
    (9, "SIGKILL: another program, or the kernel for lack of memory, has ended it"),
    (11, "SIGSEGV: a bad access to memory"),
    (15, "SIGTERM: another program has ended it"),
];

fn signal_text(signal: i32) -> String {
    let known = SIGNALS.iter().find(|(number, _)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(_, text)| (*text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_a_panic_or_a_signal_or_what_was_printed() {
        let signal = |number: i32| Some(ExitStatus::from_raw(number));
        let code = |number: i32| Some(ExitStatus::from_raw(number << 8));
        let panic = "\nthread 'main' (77) panicked at crates/a/src/b.rs:91:60:\nattempt to subtract with overflow\nnote: run with\n";
        for status in [signal(6), code(101), None] {
            assert_eq!(
                cause(status, panic),
                "attempt to subtract with overflow at crates/a/src/b.rs:91:60"
            );
        }
        assert!(cause(signal(9), "").starts_with("SIGKILL: another program"));
        assert_eq!(cause(signal(31), "noise"), "signal 31");
        assert_eq!(cause(code(1), "nodescope: cannot read names: no\n"), "cannot read names: no");
        assert_eq!(cause(code(7), " \n"), "it ended with status 7");
        assert_eq!(cause(None, ""), "it has ended");
        assert_eq!(cause(code(101), "panicked at "), " at ");
    }

    #[test]
    fn the_error_output_is_that_of_a_program() {
        let output = ErrorOutput::new().expect("the kernel has memory files");
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", "echo nodescope: it is over >&2; exit 3"])
            .stderr(output.stdio().expect("it is open"));
        assert_eq!(output.cause(command.status().ok()), "it is over");
    }
}
