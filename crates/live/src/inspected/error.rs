//! Why a place could not be recorded: the facts. The binary has the sentences for users.

use std::io;

use inspector::Address;
use target::Refusal;

/// Why a place could not be recorded.
#[derive(Debug)]
pub enum Error {
    /// The inspector of a process could not be opened, or must not be.
    Refused(Refusal),
    /// A process could not be talked to.
    Process {
        /// The process.
        pid: u32,
        /// What happened.
        error: inspector::Error,
    },
    /// The target at an address could not be talked to.
    Address {
        /// The address.
        address: Address,
        /// What happened.
        error: inspector::Error,
    },
    /// Node profiles this process already (`--cpu-prof`, `NODE_V8_COVERAGE`).
    ProfilesItself {
        /// The process.
        pid: u32,
    },
    /// What was recorded could not be encoded.
    Chunk(io::Error),
}
