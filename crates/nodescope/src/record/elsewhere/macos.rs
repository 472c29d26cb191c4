//! How an inspector is opened on macOS: the system shows that a program handles SIGUSR1, not whether the handler is
//! Node's own. So the user has to say that.

use crate::cli::WayIn;

/// What opens one that is closed.
pub(super) const OPTIONS: &str = "--via inspector --no-sigusr1-listener";

/// When these are right, behind a command.
pub(super) const CONDITION: &str = ", if the program never listens to SIGUSR1 itself";

/// Whether a yes at the terminal is enough.
pub(super) fn may_be_asked(way: &WayIn) -> bool {
    way.no_sigusr1_listener
}

#[cfg(test)]
mod tests {
    use super::super::again;

    #[test]
    fn the_printed_command_is_not_refused() {
        let command = again("4140");
        assert!(
            command.contains("record 4140 --via inspector --no-sigusr1-listener, if "),
            "{command}"
        );
    }
}
