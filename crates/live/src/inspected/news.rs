//! What a session reports while it runs, and the recipient that takes the reports.

use std::time::Duration;

use super::Error;

/// What takes the chunks of a session.
pub trait Recipient {
    /// Takes news. Chunks come in the order of the file.
    fn receive(&mut self, news: News<'_>);

    /// Whether the session has to end: it is asked every 50 ms.
    fn wants_end(&self) -> bool;
}

/// Something that a session reports.
#[derive(Debug)]
pub enum News<'a> {
    /// The next bytes of the file.
    Chunk(&'a [u8]),
    /// How many samples there are by now, without the last one of each thread.
    Samples(u64),
    /// The inspector of a process is opened now, which it writes into its log.
    Opening {
        /// The process.
        pid: u32,
        /// For how long; `None` means until the end.
        time: Option<Duration>,
    },
    /// A process has not opened its inspector in time. The session waits for it, to close it again.
    OpensLate {
        /// The process.
        pid: u32,
    },
    /// An inspector that was opened for the session could not be closed.
    StillOpen {
        /// The process.
        pid: u32,
        /// Its port.
        port: u16,
    },
    /// Profiling begins now.
    Starting(Start<'a>),
    /// The only process has ended, or its inspector was closed by another client.
    Ended {
        /// What it calls itself.
        name: &'a str,
        /// The process.
        pid: u32,
    },
    /// One of several places could not be recorded; the others are.
    Failed(&'a Error),
}

/// A process whose profiling begins.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// What it calls itself.
    pub name: &'a str,
    /// The process.
    pub pid: u32,
    /// For how long it is recorded; `None` means until the end.
    pub time: Option<Duration>,
    /// How much is in its heap.
    pub heap_bytes: f64,
    /// For how long it will stand still at most, estimated from that.
    pub stop_ms: f64,
}
