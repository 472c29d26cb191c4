//! The inspector's list of targets: `GET /json/list`. Its server takes requests for numbers and `localhost` only, so
//! that is the host that we name, however the port was reached.

use std::time::Duration;

use http::{Connection, Limits, Request, Stream};
use serde::Deserialize;

use crate::error::Error;

/// The host of every request.
pub(crate) const HOST: &str = "localhost";
/// A head is some hundred bytes.
pub(crate) const LONGEST_HEAD: usize = 64 << 10;
/// A list is a few hundred bytes.
const LONGEST_LIST: usize = 1 << 20;

/// A target that an inspector offers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Listed {
    /// Its id, which is also the path of its address.
    pub id: String,
    /// What it runs, mostly `server.js[4140]`.
    #[serde(default)]
    pub title: String,
}

/// Asks what can be debugged there. The connection cannot be used afterwards.
pub fn list(stream: &mut impl Stream, limit: Duration) -> Result<Vec<Listed>, Error> {
    let limits = Limits { time: limit, head_bytes: LONGEST_HEAD, body_bytes: LONGEST_LIST };
    let answer = Connection::new(stream).ask(&Request::get("/json/list", HOST), &limits)?;
    if answer.head.status != 200 {
        return Err(Error::malformed(answer.head.line));
    }
    serde_json::from_slice(&answer.body).map_err(Error::malformed)
}
