//! A small HTTP/1.1 client over a stream that it is given: requests with a time limit, and answers whose heads and
//! bodies have limits, too, because whatever listens on a port or a socket may answer anything. It opens no connection,
//! follows no redirection and knows no encryption.

mod answer;
mod chunked;
mod connection;
mod error;
mod stream;

pub use answer::Head;
pub use connection::{Answer, Connection, Limits, Request};
pub use error::Error;
pub use stream::{Stream, is_timeout};
