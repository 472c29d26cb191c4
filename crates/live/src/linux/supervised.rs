//! A helper process, as the process that started it sees it: how it is started, what it sends, whether it hangs, and
//! how it ends.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::own_process::ErrorOutput;
use super::watchdog::{Patience, Watchdog};
use crate::job::Job;
use crate::message::{Incoming, Message};

/// How long the messages of a program that has ended may take: they are there at once.
const REST: Duration = Duration::from_millis(150);
const PAUSE: Duration = Duration::from_millis(50);

/// Another program, as we see it. It ends with this.
pub(super) struct Supervised {
    child: Child,
    /// Its end is the end of the work.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    error_output: Option<ErrorOutput>,
    watchdog: Watchdog,
    incoming: Incoming,
}

impl Supervised {
    /// Starts one, and sends it what it has to do.
    pub(super) fn start(job: &Job, order: &Message, patience: Patience) -> io::Result<Self> {
        let error_output = ErrorOutput::new().ok();
        let stderr = error_output.as_ref().and_then(|output| output.stdio().ok());
        let mut child = job
            .command()?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // To find the names of a backtrace takes so long that the crash would be taken for a hang.
            .env("RUST_BACKTRACE", "0")
            .stderr(stderr.unwrap_or_else(Stdio::inherit))
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let watchdog = Watchdog::new(child.id(), patience);
        let incoming = Incoming::default();
        let mut started = Self { child, stdin, stdout, error_output, watchdog, incoming };
        started.send(order);
        Ok(started)
    }

    /// Sends it a message. That it has ended is found out when its output is read.
    pub(super) fn send(&mut self, message: &Message) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(&message.encode());
        }
    }

    /// Nothing more will be sent to it.
    pub(super) fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits until it has sent something, or has ended.
    pub(super) fn wait(&self, most: Duration) {
        // What is wrong with it shows when it is read.
        let _ = sys::perf::wait(&[self.stdout.as_raw_fd()], most);
    }

    /// Takes in what was sent; whether there may be more.
    pub(super) fn receive(&mut self, most: Duration) -> io::Result<bool> {
        if !sys::perf::wait(&[self.stdout.as_raw_fd()], most)? {
            return Ok(true);
        }
        let mut piece = [0; 1 << 16];
        let read = self.stdout.read(&mut piece)?;
        self.incoming.push(piece.get(..read).unwrap_or_default());
        self.watchdog.restart_silence();
        Ok(read > 0)
    }

    /// The next whole message of what was sent.
    pub(super) fn next(&mut self) -> io::Result<Option<Message>> {
        self.incoming.next_message()
    }

    /// Its silence counts from now on.
    pub(super) fn restart_silence(&mut self) {
        self.watchdog.restart_silence();
    }

    /// Whether it hangs.
    pub(super) fn is_stuck(&mut self) -> bool {
        self.watchdog.is_stuck()
    }

    /// Waits for its end by itself.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        self.child.wait().ok()
    }

    /// Ends it, unless it has done so, and takes in all that it has sent.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        // It may have ended by itself.
        let _ = self.child.kill();
        let status = self.child.wait().ok();
        let end = Instant::now() + REST;
        while self.receive(PAUSE).unwrap_or(false) && Instant::now() < end {}
        status
    }

    /// Why it ended by itself.
    pub(super) fn cause(&self, status: Option<ExitStatus>) -> String {
        let cause = self.error_output.as_ref().map(|output| output.cause(status));
        cause.unwrap_or_else(|| "it has ended".to_owned())
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // It has ended, or has to.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
