//! What can go wrong between us and a target.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// Why a target could not be used.
#[derive(Debug, Error)]
pub enum Error {
    /// The connection failed.
    #[error("the connection to the inspector failed: {0}")]
    Io(#[from] io::Error),
    /// The other side has ended it.
    #[error("the inspector has closed the connection")]
    Closed,
    /// Nothing came in time.
    #[error("the process has not answered for {:.1} s: it is stopped, or in one long call", .0.as_secs_f64())]
    NoAnswer(Duration),
    /// Something else listens there.
    #[error("what listens there is not an inspector: {0}")]
    NotInspector(String),
    /// A call was refused.
    #[error("the inspector refused {method}: {what}")]
    Refused {
        /// Which one.
        method: String,
        /// Its message.
        what: String,
    },
    /// Another process answered.
    #[error("the port belongs to process {found}, not to {wanted}")]
    AnotherProcess {
        /// The pid that was expected.
        wanted: u32,
        /// The pid that answered.
        found: u32,
    },
}

impl From<http::Error> for Error {
    fn from(error: http::Error) -> Self {
        match error {
            http::Error::Io(error) => error.into(),
            http::Error::TooLate(limit) => Self::NoAnswer(limit),
            error => Self::malformed(error),
        }
    }
}

impl Error {
    /// Something that was read is not what an inspector writes.
    pub(crate) fn malformed(what: impl std::fmt::Display) -> Self {
        Self::NotInspector(what.to_string())
    }
}
