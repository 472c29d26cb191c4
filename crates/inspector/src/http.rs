//! The inspector's list of targets: `GET /json/list`. Its server takes requests for numbers and `localhost` only, so
//! that is the host that we name, however the port was reached.

use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::error::Error;
use crate::stream::{Stream, is_patience};

/// An answer is a few hundred bytes.
const LONGEST_ANSWER: usize = 1 << 20;

/// A target that an inspector offers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Listed {
    /// Its id, which is also the path of its address.
    pub id: String,
    /// What it runs, mostly `server.js[4140]`.
    #[serde(default)]
    pub title: String,
}

/// Asks what can be debugged there. The connection is of no use afterwards.
pub fn list(stream: &mut impl Stream, limit: Duration) -> Result<Vec<Listed>, Error> {
    let request = "GET /json/list HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let (head, body) = ask(stream, request, limit)?;
    let mut body = body;
    let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(usize::MAX);
    let deadline = Instant::now() + limit;
    while body.len() < length && fill(stream, &mut body, deadline, limit)? {}
    body.truncate(length);
    if !head.starts_with("HTTP/1.") || head.split(' ').nth(1) != Some("200") {
        return Err(Error::malformed(head.lines().next().unwrap_or_default()));
    }
    serde_json::from_slice(&body).map_err(Error::malformed)
}

/// Sends a request; returns the head of the answer, and what came behind it.
pub(crate) fn ask(
    stream: &mut impl Stream,
    request: &str,
    limit: Duration,
) -> Result<(String, Vec<u8>), Error> {
    let deadline = Instant::now() + limit;
    stream.wait_at_most(limit)?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let body = bytes.split_off(end + 4);
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), body));
        }
        if !fill(stream, &mut bytes, deadline, limit)? {
            return Err(Error::malformed("it ended the connection"));
        }
    }
}

/// The value of a line of the head.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Reads some more; false at the end.
fn fill(
    stream: &mut impl Stream,
    bytes: &mut Vec<u8>,
    deadline: Instant,
    limit: Duration,
) -> Result<bool, Error> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Error::NoAnswer(limit));
    }
    stream.wait_at_most(left)?;
    let mut some = [0; 4096];
    match stream.read(&mut some) {
        Ok(0) => Ok(false),
        Ok(count) if bytes.len() + count > LONGEST_ANSWER => Err(Error::malformed("its answer is too long")),
        Ok(count) => {
            bytes.extend_from_slice(&some[..count]);
            Ok(true)
        }
        Err(error) if is_patience(&error) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
