//! The user that this program runs as.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use elsewhere::effective;
#[cfg(unix)]
pub use unix::effective;
