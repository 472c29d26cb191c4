//! Whether a helper process hangs: a page of the target may block every reader for ever. A helper hangs when it is
//! silent for long, and neither because others have the CPU nor because a disk is slow: then it goes on in between.

use std::time::{Duration, Instant};

use super::proc::{self, Doing};

/// How long a program may be silent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// A silence that makes us look at it.
    pub(super) silence: Duration,
    /// How long it may then stand still.
    pub(super) standstill: Duration,
    /// The same while it waits for a disk: a file of its own, or memory of the target that was swapped out.
    pub(super) slow_disk: Duration,
}

/// Watches one program.
#[derive(Debug)]
pub(super) struct Watchdog {
    pid: u32,
    patience: Patience,
    last_message: Instant,
    /// When it was last seen to go on silently, and the kernel's count of its work at the last look.
    moved: Instant,
    account: Option<String>,
}

/// What the kernel reports of a program.
struct State {
    /// Changes whenever it runs.
    account: String,
    is_running: bool,
    waits_for_disk: bool,
}

impl Watchdog {
    pub(super) fn new(pid: u32, patience: Patience) -> Self {
        let now = Instant::now();
        Self { pid, patience, last_message: now, moved: now, account: None }
    }

    /// It has sent something, or has just been asked to begin.
    pub(super) fn restart_silence(&mut self) {
        self.last_message = Instant::now();
    }

    /// Whether it hangs.
    pub(super) fn is_stuck(&mut self) -> bool {
        let pid = self.pid;
        self.judge(Instant::now(), || {
            let doing = proc::doing(pid);
            State {
                account: proc::account(pid).unwrap_or_default(),
                is_running: doing == Doing::Running,
                waits_for_disk: doing == Doing::WaitingForDisk,
            }
        })
    }

    fn judge(&mut self, now: Instant, look: impl FnOnce() -> State) -> bool {
        if now.saturating_duration_since(self.last_message) <= self.patience.silence {
            self.account = None;
            return false;
        }
        let State { account, is_running, waits_for_disk } = look();
        let before = self.account.replace(account.clone());
        if before != Some(account) || is_running {
            self.moved = now;
        }
        let most = if waits_for_disk { self.patience.slow_disk } else { self.patience.standstill };
        now.saturating_duration_since(self.moved) > most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        silence: Duration::from_millis(100),
        standstill: Duration::from_millis(50),
        slow_disk: Duration::from_secs(2),
    };

    /// Looks every 10 ms at a program that has just sent something; when it counts as stuck, in milliseconds.
    fn stuck_after(state: impl Fn(u64) -> (u64, bool, bool)) -> Option<u64> {
        let mut dog = Watchdog::new(1, PATIENCE);
        let start = dog.last_message;
        (0..400).map(|look| look * 10).find(|at_ms| {
            let (account, is_running, waits_for_disk) = state(*at_ms);
            let state = || State { account: account.to_string(), is_running, waits_for_disk };
            dog.judge(start + Duration::from_millis(*at_ms), state)
        })
    }

    #[test]
    fn a_program_that_stands_still_is_stuck() {
        assert_eq!(stuck_after(|_| (7, false, false)), Some(170));
        assert_eq!(stuck_after(|_| (7, false, true)), Some(2120), "a disk may be slow");
        assert_eq!(stuck_after(|_| (7, true, false)), None, "it waits for a CPU");
        assert_eq!(stuck_after(|at_ms| (at_ms, false, false)), None, "it goes on");
        assert_eq!(stuck_after(|at_ms| (at_ms.min(500), false, false)), Some(560), "it went on");
        assert_eq!(stuck_after(|at_ms| (7, false, at_ms < 600)), Some(600), "the disk is done");
    }

    #[test]
    fn a_message_restarts_the_silence() {
        let mut dog = Watchdog::new(1, PATIENCE);
        let still = || State { account: String::new(), is_running: false, waits_for_disk: false };
        let at = |ms: u64| Duration::from_millis(ms);
        let start = dog.last_message;
        assert!(!dog.judge(start + at(110), still) && dog.judge(start + at(170), still));
        dog.last_message = start + at(200);
        assert!(!dog.judge(start + at(290), still) && !dog.judge(start + at(310), still));
        assert!(dog.judge(start + at(370), still));
    }

    #[test]
    fn a_program_that_sleeps_is_found_by_its_state() {
        let mut child =
            std::process::Command::new("sleep").arg("60").spawn().expect("it can be started");
        let mut dog = Watchdog::new(child.id(), PATIENCE);
        let end = Instant::now() + Duration::from_secs(20);
        while !dog.is_stuck() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        let is_stuck = dog.is_stuck();
        dog.restart_silence();
        let is_active = !dog.is_stuck();
        child.kill().and_then(|()| child.wait()).expect("it is ours");
        assert!(is_stuck && is_active);
    }
}
