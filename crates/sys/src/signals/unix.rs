//! Signals of unix.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ENDED;

/// npm and other launchers pass on what the terminal has already sent to us: one Ctrl-C comes twice or more. A user
/// who means it presses later.
const SAME_PRESS_MS: u64 = 500;

/// When each signal was last taken, in milliseconds of a clock that only rises; 0: never.
static TAKEN_MS: [AtomicU64; 32] = [const { AtomicU64::new(0) }; 32];

extern "C" fn note(signal: libc::c_int) {
    let Some(taken) = usize::try_from(signal).ok().and_then(|number| TAKEN_MS.get(number)) else {
        return;
    };
    let (now, before) = (now_ms(), taken.load(Ordering::Relaxed));
    if before != 0 && now.saturating_sub(before) < SAME_PRESS_MS {
        return;
    }
    taken.store(now, Ordering::Relaxed);
    if ENDED.swap(true, Ordering::Relaxed) && before != 0 {
        // SAFETY: both calls are allowed in a handler. The signal arrives when this returns, and ends the program.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Never 0.
fn now_ms() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call is allowed in a handler, and writes the structure only.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let part = |value: i64, unit: u64| u64::try_from(value).unwrap_or(0).saturating_mul(unit);
    (part(time.tv_sec, 1000) + part(time.tv_nsec / 1_000_000, 1)).max(1)
}

/// From now on SIGINT, SIGTERM and SIGHUP only set a flag. One that comes again later ends the program as usual.
pub fn catch_end() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler does what a signal may do at any time; the structure is whole.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// From now on Ctrl-Z does nothing: a process waits for us, and would wait for as long as we are stopped.
pub fn ignore_stop() {
    // SAFETY: no handler is installed; the call cannot fail for a signal that may be ignored.
    unsafe { libc::signal(libc::SIGTSTP, libc::SIG_IGN) };
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Signals concern a whole process, so the test starts itself again, and sends them to that.
    #[test]
    fn one_that_comes_again_at_once_is_the_same() {
        if std::env::var_os("NODESCOPE_TEST_SIGNALS").is_some() {
            catch_end().unwrap();
            println!("\nready");
            std::thread::sleep(PATIENCE);
            return;
        }
        let name = "signals::unix::tests::one_that_comes_again_at_once_is_the_same";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env("NODESCOPE_TEST_SIGNALS", "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(printed.any(|line| line.unwrap() == "ready"));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            let process = libc::pid_t::try_from(child.id()).unwrap();
            // SAFETY: the process is our child, and nothing has waited for it.
            unsafe { libc::kill(process, libc::SIGINT) };
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(status.signal(), Some(libc::SIGINT));
        assert!(start.elapsed() >= Duration::from_millis(SAME_PRESS_MS), "{:?}", start.elapsed());
    }
}
