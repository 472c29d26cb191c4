//! An inspector that was opened for a recording is closed again: when it is over, when it could not begin, and when the
//! recorder is killed.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use inspector::{Client, Error};
use target::{Door, Opening, Refusal};

use super::say;
#[cfg(unix)]
use unix::start_in_own_group;
#[cfg(windows)]
use windows::start_in_own_group;

/// How long a port may take to close: by a timer in the target, then by a call of its own.
const CLOSING: Duration = Duration::from_millis(600);
/// How long a port that opens too late is waited for, to close it.
const LATE: Duration = Duration::from_secs(30);
/// How often it is looked at: the kernel goes through all connections of a machine to tell who listens.
const LOOK_AGAIN: Duration = Duration::from_millis(30);
/// Tells a copy of ourselves that it is an heir, and of which process.
const HEIR: &str = "NODESCOPE_HEIR_OF";

/// An inspector that is open. One that was opened for us is closed when this is dropped.
pub(super) struct OpenDoor {
    door: Door,
    heir: Cell<Option<Heir>>,
}

impl OpenDoor {
    /// The door of a process, opened if need be; `warn` is called before.
    pub(super) fn of(pid: u32, opening: &Opening, warn: impl FnOnce()) -> Result<Self, Refusal> {
        if let Some(door) = Door::find(pid)? {
            return Ok(Self { door, heir: Cell::default() });
        }
        Door::could_open(pid, opening)?;
        warn();
        let heir = Heir::appoint(pid);
        match Door::open(pid, opening) {
            // Somebody else may have opened it meanwhile.
            Ok(door) => Ok(Self { heir: Cell::new(heir.filter(|_| door.opened_by_us())), door }),
            Err(refusal) => {
                if matches!(refusal, Refusal::TimeLimit { .. }) && !shut_late(pid) {
                    heir.into_iter().for_each(Heir::take_over);
                }
                Err(refusal)
            }
        }
    }

    /// A connection to it.
    pub(super) fn connect(&self) -> Result<TcpStream, Error> {
        Ok(self.door.connect()?)
    }

    /// Whether it is on us to close it.
    pub(super) fn is_ours(&self) -> bool {
        self.door.opened_by_us()
    }

    /// The target itself closes it now if we are killed.
    pub(super) fn hand_over(&self) {
        drop(self.heir.take());
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        if self.is_ours() && !is_closed(&self.door) && !shut(&self.door) {
            // Where the target has no timer yet, the heir goes on.
            self.heir.take().into_iter().for_each(Heir::take_over);
            say::still_open(self.door.pid(), self.door.port());
        }
    }
}

/// A process of our own that closes an inspector in our place. It is there from before the signal, which cannot be taken
/// back, until the target has a timer that does the same. It learns of our death because its input ends.
struct Heir {
    child: Child,
}

impl Heir {
    /// Without one, a recording is as good as it was.
    fn appoint(pid: u32) -> Option<Self> {
        let mut command = Command::new(std::env::current_exe().ok()?);
        command.env(HEIR, pid.to_string()).stdin(Stdio::piped());
        // Who waits for the end of our output does not wait for the heir, and who kills our group does not kill it.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        start_in_own_group(&mut command);
        Some(Self { child: command.spawn().ok()? })
    }

    /// We do not do it any more.
    fn take_over(mut self) {
        drop(self.child.stdin.take());
    }
}

impl Drop for Heir {
    /// Nothing is left to be done. What goes wrong here is that it has ended already.
    fn drop(&mut self) {
        if let Some(mut input) = self.child.stdin.take() {
            let _ = input.write_all(b".");
            drop(input);
            let _ = self.child.wait();
        }
    }
}

/// Whether this process is an heir; if so, it has done its work.
pub(crate) fn inherit() -> bool {
    let Some(pid) = std::env::var(HEIR).ok().and_then(|pid| pid.parse().ok()) else { return false };
    let is_released = std::io::stdin().read(&mut [0]).is_ok_and(|length| length > 0);
    if !is_released {
        shut_when_open(pid);
    }
    true
}

/// Closes an inspector that opens too late, because a signal cannot be taken back; whether it did.
fn shut_late(pid: u32) -> bool {
    crate::failure::warn(&format!(
        "process {pid} has not opened its inspector yet; waiting for it, to close it again (Ctrl-C leaves that to the background)"
    ));
    shut_when_open(pid)
}

/// Waits for an inspector to open, and closes it; whether it did, or the process has ended.
fn shut_when_open(pid: u32) -> bool {
    let deadline = Instant::now() + LATE;
    while Instant::now() < deadline && !sys::signals::ended() {
        match Door::find(pid) {
            Ok(Some(door)) if shut(&door) => return true,
            Err(Refusal::Ended(_) | Refusal::NoProcess(_)) => return true,
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
    }
    false
}

/// Whether it closes in time.
fn is_closed(door: &Door) -> bool {
    let deadline = Instant::now() + CLOSING;
    while !door.is_closed() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    true
}

/// Closes an inspector by a conversation of its own; whether it did.
fn shut(door: &Door) -> bool {
    let ask = || -> Result<(), Error> {
        let listed = inspector::list(&mut door.connect()?, CLOSING)?;
        let path = listed.first().map(|listed| format!("/{}", listed.id)).unwrap_or_default();
        inspector::close_inspector(Client::connect(door.connect()?, &path, CLOSING)?, CLOSING)
    };
    ask().is_ok() && is_closed(door)
}
