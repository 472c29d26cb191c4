//! A connection to a server: one request after another, and what comes back, within the caller's limits.

use std::io;
use std::time::{Duration, Instant};

use crate::answer::{Head, Length};
use crate::chunked::Chunks;
use crate::error::Error;
use crate::stream::{Stream, is_timeout};

/// At most this many heads may come before the one that counts: `100 Continue` and the like.
const MOST_INTERIM: u32 = 8;

/// A connection to a server.
#[derive(Debug)]
pub struct Connection<S> {
    stream: S,
    /// What was read and not yet taken.
    read: Vec<u8>,
}

/// What a caller accepts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long it may take until the whole answer is here.
    pub time: Duration,
    /// How long its head may be.
    pub head_bytes: usize,
    /// How long its body may be.
    pub body_bytes: usize,
}

/// What a server is asked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `GET`.
    pub method: &'a str,
    /// `/json/list`.
    pub path: &'a str,
    /// The host's name, as the server knows it.
    pub host: &'a str,
    /// Further fields of the head, each `name: value`.
    pub fields: &'a [&'a str],
    /// The body; without one there is no length in the head.
    pub body: Option<&'a str>,
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its head.
    pub head: Head,
    /// Its whole body.
    pub body: Vec<u8>,
}

impl<'a> Request<'a> {
    /// Asks for a path, and for no other after it.
    pub fn get(path: &'a str, host: &'a str) -> Self {
        Self { method: "GET", path, host, fields: &["Connection: close"], body: None }
    }

    /// Whether what came from outside, such as an id in a path, stays where it belongs.
    fn is_one_request(&self) -> bool {
        let is_word =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
        let is_line = |text: &&str| !text.contains(['\r', '\n']);
        is_word(self.method)
            && is_word(self.path)
            && is_word(self.host)
            && self.fields.iter().all(is_line)
    }

    /// As it is sent.
    pub fn text(&self) -> String {
        let Self { method, path, host, fields, body } = self;
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
        for field in *fields {
            text += &format!("{field}\r\n");
        }
        if let Some(body) = body {
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        text + "\r\n" + body.unwrap_or_default()
    }
}

impl<S: Stream> Connection<S> {
    /// Over a stream that is connected.
    pub fn new(stream: S) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// Asks, and waits for the whole answer. After an error the connection cannot be used again.
    pub fn ask(&mut self, request: &Request<'_>, limits: &Limits) -> Result<Answer, Error> {
        let deadline = Deadline::new(limits.time);
        let head = self.ask_head(request, limits, deadline)?;
        let body = self.body(head.length()?, limits, deadline)?;
        Ok(Answer { head, body })
    }

    /// Asks for another protocol. If the server agrees (101), the stream is handed out, and what the server has sent in
    /// that protocol already.
    pub fn upgrade(
        mut self,
        request: &Request<'_>,
        limits: &Limits,
    ) -> Result<Result<(S, Vec<u8>), Head>, Error> {
        let head = self.ask_head(request, limits, Deadline::new(limits.time))?;
        Ok(if head.status == 101 { Ok((self.stream, self.read)) } else { Err(head) })
    }

    fn ask_head(
        &mut self,
        request: &Request<'_>,
        limits: &Limits,
        deadline: Deadline,
    ) -> Result<Head, Error> {
        if !request.is_one_request() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        }
        self.stream.wait_at_most(limits.time)?;
        self.stream.write_all(request.text().as_bytes()).map_err(|error| {
            match is_timeout(&error) {
                true => Error::TooLate(limits.time),
                false => error.into(),
            }
        })?;
        for _ in 0..=MOST_INTERIM {
            let head = self.head(limits, deadline)?;
            if !matches!(head.status, 100 | 102..=199) {
                return Ok(head);
            }
        }
        Err(Error::TooLong("head"))
    }

    fn head(&mut self, limits: &Limits, deadline: Deadline) -> Result<Head, Error> {
        const END: &[u8] = b"\r\n\r\n";
        let mut looked_at = 0;
        loop {
            let unseen = self.read.get(looked_at..).unwrap_or_default();
            let end =
                unseen.windows(END.len()).position(|four| four == END).map(|end| looked_at + end);
            if end.unwrap_or(self.read.len()) > limits.head_bytes {
                return Err(Error::TooLong("head"));
            }
            if let Some(end) = end {
                let head = Head::parse(self.read.get(..end).unwrap_or_default())?;
                self.read.drain(..end + END.len());
                return Ok(head);
            }
            looked_at = self.read.len().saturating_sub(END.len() - 1);
            if !self.fill(deadline)? {
                return Err(Error::Ended);
            }
        }
    }

    fn body(
        &mut self,
        length: Length,
        limits: &Limits,
        deadline: Deadline,
    ) -> Result<Vec<u8>, Error> {
        match length {
            Length::Bytes(length) if length > limits.body_bytes => Err(Error::TooLong("body")),
            Length::Bytes(length) => {
                while self.read.len() < length {
                    if !self.fill(deadline)? {
                        return Err(Error::Ended);
                    }
                }
                let next = self.read.split_off(length);
                Ok(std::mem::replace(&mut self.read, next))
            }
            Length::Chunked => {
                let (mut chunks, mut body) = (Chunks::default(), Vec::new());
                while !chunks.take(&mut self.read, &mut body, limits.body_bytes)? {
                    if !self.fill(deadline)? {
                        return Err(Error::Ended);
                    }
                }
                Ok(body)
            }
            Length::UntilEnd => {
                while self.read.len() <= limits.body_bytes {
                    if !self.fill(deadline)? {
                        return Ok(std::mem::take(&mut self.read));
                    }
                }
                Err(Error::TooLong("body"))
            }
        }
    }

    /// Reads some more; false at the end of the connection.
    fn fill(&mut self, deadline: Deadline) -> Result<bool, Error> {
        let mut some = [0; 16 << 10];
        loop {
            self.stream.wait_at_most(deadline.left()?)?;
            match self.stream.read(&mut some) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.read.extend_from_slice(some.get(..count).unwrap_or_default());
                    return Ok(true);
                }
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// When the whole answer has to be here.
#[derive(Clone, Copy)]
struct Deadline {
    start: Instant,
    limit: Duration,
}

impl Deadline {
    fn new(limit: Duration) -> Self {
        Self { start: Instant::now(), limit }
    }

    fn left(self) -> Result<Duration, Error> {
        let left = self.limit.saturating_sub(self.start.elapsed());
        if left.is_zero() { Err(Error::TooLate(self.limit)) } else { Ok(left) }
    }
}
