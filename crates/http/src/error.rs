//! Why a server could not be asked.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// Why a server could not be asked.
#[derive(Debug, Error)]
pub enum Error {
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The whole answer did not come in time.
    #[error("no whole answer came within {:.1} s", .0.as_secs_f64())]
    TooLate(Duration),
    /// The connection ended before the answer did.
    #[error("it ended the connection")]
    Ended,
    /// The answer is longer than the caller takes.
    #[error("its {0} is too long")]
    TooLong(&'static str),
    /// The answer is not HTTP.
    #[error("its answer is not HTTP: {0}")]
    Malformed(String),
}
