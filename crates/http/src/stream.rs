//! What a client connects over: anything that can be read and written with a time limit.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection to a server.
pub trait Stream: Read + Write {
    /// From now on reading and writing wait no longer than this.
    fn wait_at_most(&self, limit: Duration) -> io::Result<()>;
}

/// The shortest limit that a socket takes: 0 would mean for ever.
const SHORTEST: Duration = Duration::from_micros(100);

impl Stream for TcpStream {
    fn wait_at_most(&self, limit: Duration) -> io::Result<()> {
        let limit = limit.max(SHORTEST);
        self.set_read_timeout(Some(limit))?;
        self.set_write_timeout(Some(limit))
    }
}

#[cfg(unix)]
impl Stream for std::os::unix::net::UnixStream {
    fn wait_at_most(&self, limit: Duration) -> io::Result<()> {
        let limit = limit.max(SHORTEST);
        self.set_read_timeout(Some(limit))?;
        self.set_write_timeout(Some(limit))
    }
}

impl<S: Stream> Stream for &mut S {
    fn wait_at_most(&self, limit: Duration) -> io::Result<()> {
        S::wait_at_most(self, limit)
    }
}

/// Whether an error only means that nothing came in time.
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
