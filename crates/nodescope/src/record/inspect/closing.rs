//! An inspector that was opened for a recording is closed again: when it is over, when it could not begin, and when the
//! recorder is killed.

use std::cell::Cell;
use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use inspector::{Client, Error};
use live::{Job, Message};
use target::{Door, Opening, Refusal};

use super::say;

/// How long a port may take to close: by a timer in the target, then by a call of its own.
const CLOSING: Duration = Duration::from_millis(600);
/// How long a port that opens too late is waited for, to close it.
const LATE: Duration = Duration::from_secs(30);
/// How often it is looked at: the kernel goes through all connections of a machine to tell who listens.
const LOOK_AGAIN: Duration = Duration::from_millis(30);

/// Ctrl-C is not for it.
#[cfg(windows)]
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;

/// An inspector that is open. One that was opened for us is closed when this is dropped.
pub(super) struct OpenDoor {
    door: Door,
    closing: Cell<Option<ClosingProcess>>,
}

impl OpenDoor {
    /// The door of a process, opened if need be; `warn` is called before.
    pub(super) fn of(pid: u32, opening: &Opening, warn: impl FnOnce()) -> Result<Self, Refusal> {
        if let Some(door) = Door::find(pid)? {
            return Ok(Self { door, closing: Cell::default() });
        }
        Door::could_open(pid, opening)?;
        warn();
        let closing = ClosingProcess::start(pid);
        match Door::open(pid, opening) {
            // Somebody else may have opened it meanwhile.
            Ok(door) => Ok(Self { closing: Cell::new(closing.filter(|_| door.opened_by_us())), door }),
            Err(refusal) => {
                if matches!(refusal, Refusal::TimeLimit { .. }) && !shut_late(pid) {
                    closing.into_iter().for_each(ClosingProcess::take_over);
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
        drop(self.closing.take());
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        if self.is_ours() && !is_closed(&self.door) && !shut(&self.door) {
            // Where the target has no timer yet, the closing process goes on.
            self.closing.take().into_iter().for_each(ClosingProcess::take_over);
            say::still_open(self.door.pid(), self.door.port());
        }
    }
}

/// A process of our own that closes an inspector in our place. It is there from before the signal, which cannot be taken
/// back, until the target has a timer that does the same. It learns of our death because its input ends.
struct ClosingProcess {
    child: Child,
}

impl ClosingProcess {
    /// Without one, a recording is as good as it was.
    fn start(pid: u32) -> Option<Self> {
        let mut command = Job::CloseInspector.command().ok()?;
        command.stdin(Stdio::piped());
        // What waits for the end of our output does not wait for this process, and what kills our group does not kill it.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        #[cfg(windows)]
        std::os::windows::process::CommandExt::creation_flags(&mut command, CREATE_NEW_PROCESS_GROUP);
        let mut child = command.spawn().ok()?;
        child.stdin.as_mut()?.write_all(&Message::Close(pid).encode()).ok()?;
        Some(Self { child })
    }

    /// We do not do it any more.
    fn take_over(mut self) {
        drop(self.child.stdin.take());
    }
}

impl Drop for ClosingProcess {
    /// Nothing is left to be done. What goes wrong here is that it has ended already.
    fn drop(&mut self) {
        if let Some(mut input) = self.child.stdin.take() {
            let _ = input.write_all(&Message::Released.encode());
            drop(input);
            let _ = self.child.wait();
        }
    }
}

/// Closes an inspector when the recorder that opened it is killed, which this program was started for.
pub(crate) fn close_inspector() {
    let mut stdin = std::io::stdin().lock();
    let Ok(Some(Message::Close(pid))) = Message::read(&mut stdin) else { return };
    let is_released = matches!(Message::read(&mut stdin), Ok(Some(Message::Released)));
    if !is_released {
        shut_when_open(pid);
    }
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
