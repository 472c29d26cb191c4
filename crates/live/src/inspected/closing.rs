//! An inspector that was opened for a recording is closed again: when it is over, when it could not begin, and when the
//! recorder is killed.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::cell::Cell;
use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use inspector::{Client, Error};
#[cfg(target_os = "linux")]
use sys::pidfd::Pidfd as HeldProcess;
#[cfg(not(target_os = "linux"))]
use sys::processes::Process as HeldProcess;
use target::{InspectorPort, Opening, Refusal};

use super::{News, Recipient};
use crate::{Job, Message};
#[cfg(unix)]
use unix::start_in_own_group;
#[cfg(windows)]
use windows::start_in_own_group;

/// How long a port may take to close: by a timer in the target, then by a call of its own.
const CLOSING: Duration = Duration::from_millis(600);
/// How long a recorder waits for a port that opens too late, to close it: a user sees it wait.
const LATE: Duration = Duration::from_secs(30);
/// How long a cleanup process does. A target that is in one long native call opens its port when that is over, for the
/// signal cannot be taken back; a process that waits costs next to nothing.
const VERY_LATE: Duration = Duration::from_secs(3600);
/// How often either asks whether it is open, and how seldom at last.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How often a port is looked at: the kernel goes through all connections of a machine to list listening sockets.
const LOOK_AGAIN: Duration = Duration::from_millis(30);

/// An inspector that is open. One that was opened for us is closed when this is dropped.
pub(super) struct OpenInspector {
    port: InspectorPort,
    cleanup: Cell<Option<CleanupProcess>>,
    is_left: bool,
}

impl OpenInspector {
    /// The inspector of a process, opened for that time if need be: the recipient is informed before.
    pub(super) fn of(
        pid: u32,
        opening: &Opening,
        time: Option<Duration>,
        recipient: &mut dyn Recipient,
    ) -> Result<Self, Refusal> {
        if let Some(port) = InspectorPort::find(pid)? {
            return Ok(Self { port, cleanup: Cell::default(), is_left: false });
        }
        InspectorPort::could_open(pid, opening)?;
        recipient.receive(News::Opening { pid, time });
        let cleanup = CleanupProcess::start(pid);
        match InspectorPort::open(pid, opening) {
            // Another client may have opened it meanwhile.
            Ok(port) => {
                let cleanup = Cell::new(cleanup.filter(|_| port.opened_by_us()));
                Ok(Self { port, cleanup, is_left: false })
            }
            Err(refusal) => {
                if matches!(refusal, Refusal::TimeLimit { .. }) && !close_late(pid, recipient) {
                    cleanup.into_iter().for_each(CleanupProcess::take_over);
                }
                Err(refusal)
            }
        }
    }

    /// A connection to it.
    pub(super) fn connect(&self) -> Result<TcpStream, Error> {
        Ok(self.port.connect()?)
    }

    /// Whether we have to close it.
    pub(super) fn is_ours(&self) -> bool {
        self.port.opened_by_us()
    }

    /// The target itself closes it now if we are killed.
    pub(super) fn hand_over(&self) {
        drop(self.cleanup.take());
    }

    /// The port has turned out to be another process's: it is not ours to close. The cleanup process looks for the
    /// right one.
    pub(super) fn disown(&mut self) {
        self.is_left = true;
        self.cleanup.take().into_iter().for_each(CleanupProcess::take_over);
    }

    /// Leaves it: one that was opened for us is closed. The port, where it is still open.
    pub(super) fn leave(&mut self) -> Option<u16> {
        let is_left = std::mem::replace(&mut self.is_left, true);
        if is_left || !self.is_ours() || is_closed(&self.port) || close(&self.port) {
            return None;
        }
        // Where the target has no timer yet, the cleanup process goes on.
        self.cleanup.take().into_iter().for_each(CleanupProcess::take_over);
        Some(self.port.port())
    }
}

impl Drop for OpenInspector {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A process of our own that closes an inspector in our place. It is there from before the signal, which cannot be
/// taken back, until the target has a timer that does the same. The end of its input means that we have ended.
struct CleanupProcess {
    child: Child,
}

impl CleanupProcess {
    /// Starts one. A recording can do without it.
    fn start(pid: u32) -> Option<Self> {
        let mut command = Job::CloseInspector.command().ok()?;
        command.stdin(Stdio::piped());
        // A program that reads our output to its end does not wait for it, and killing our group does not kill it.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        start_in_own_group(&mut command);
        let mut child = command.spawn().ok()?;
        child.stdin.as_mut()?.write_all(&Message::Close(pid).encode()).ok()?;
        Some(Self { child })
    }

    /// From now on it closes the inspector, not we.
    fn take_over(mut self) {
        drop(self.child.stdin.take());
    }
}

impl Drop for CleanupProcess {
    /// Signals that nothing is left to be done. A failure here means that it has ended already.
    fn drop(&mut self) {
        if let Some(mut input) = self.child.stdin.take() {
            let _ = input.write_all(&Message::Released.encode());
            drop(input);
            let _ = self.child.wait();
        }
    }
}

/// The job of a cleanup process: closes an inspector when the recorder that opened it is killed.
pub fn close_inspector() {
    let mut stdin = std::io::stdin().lock();
    let Ok(Some(Message::Close(pid))) = Message::read(&mut stdin) else { return };
    // Another process may have its pid later, and an inspector that is not ours to close.
    let held = HeldProcess::open(pid);
    let is_released = matches!(Message::read(&mut stdin), Ok(Some(Message::Released)));
    if is_released {
        return;
    }
    match held {
        Ok(held) => close_when_open(pid, VERY_LATE, || held.has_ended()),
        Err(_) => close_when_open(pid, LATE, || false),
    };
}

/// Closes an inspector that opens too late, because a signal cannot be taken back; whether it did.
fn close_late(pid: u32, recipient: &mut dyn Recipient) -> bool {
    recipient.receive(News::OpensLate { pid });
    close_when_open(pid, LATE, || recipient.wants_end())
}

/// Waits for an inspector to open, and closes it; whether it did, or the process has ended.
fn close_when_open(pid: u32, limit: Duration, wants_end: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < limit && !wants_end() {
        match InspectorPort::find(pid) {
            Ok(Some(port)) if close(&port) => return true,
            Err(Refusal::Ended(_) | Refusal::NoProcess(_)) => return true,
            _ => std::thread::sleep((start.elapsed() / 30).clamp(ASK_AGAIN.0, ASK_AGAIN.1)),
        }
    }
    false
}

/// Whether it closes in time.
fn is_closed(port: &InspectorPort) -> bool {
    let deadline = Instant::now() + CLOSING;
    while !port.is_closed() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    true
}

/// Closes an inspector by a connection of its own; whether it did.
fn close(port: &InspectorPort) -> bool {
    let ask = || -> Result<(), Error> {
        let listed = inspector::list(&mut port.connect()?, CLOSING)?;
        let path = listed.first().map(|listed| format!("/{}", listed.id)).unwrap_or_default();
        inspector::close_inspector(Client::connect(port.connect()?, &path, CLOSING)?, CLOSING)
    };
    ask().is_ok() && is_closed(port)
}
