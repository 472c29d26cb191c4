//! As much of HTTP/1.1 as a page on the same machine needs: one request on a connection, no body, one answer. What is
//! not written as browsers write it is refused rather than guessed at.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A longer head is refused. Other servers of this machine may have left cookies: they come along.
const MOST_HEAD_BYTES: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
/// How long a head may take in all.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a reader of an answer may do nothing.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// How much unwanted input is read, so that the client gets its answer, and how long that may take.
const MOST_DRAINED: u64 = 256 << 10;
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Behind the question mark.
    pub(crate) query: Option<String>,
    /// Names in small letters.
    headers: Vec<(String, String)>,
}

impl Request {
    /// Every value of a header.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// An answer, whole.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) policy: Option<Arc<str>>,
    /// Further headers.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Arc<[u8]>,
}

impl Response {
    /// A sentence for people.
    pub(crate) fn sentence(status: u16, sentence: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{sentence}\n").into_bytes().into())
    }

    pub(crate) fn new(status: u16, kind: &'static str, body: Arc<[u8]>) -> Self {
        Self { status, kind, policy: None, headers: Vec::new(), body }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The headers of every answer: keep nothing, guess nothing, send no referrer, show it in no other page.
const ALWAYS: &str = "Cache-Control: no-store\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    X-Frame-Options: DENY\r\n\
    Connection: close\r\n";

/// For what is no page: it may do nothing at all.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// Reads a request. `None` where the client asks for nothing: browsers open connections that they may need later.
pub(crate) fn read(stream: &mut TcpStream) -> Option<Result<Request, Response>> {
    match read_head(stream, Instant::now() + HEAD_TIME) {
        Ok(head) if head.is_empty() => None,
        Ok(head) => Some(parse(&head)),
        Err(HeadError::TooLong) => Some(Err(Response::sentence(431, "the request is too long"))),
        Err(HeadError::TooSlow) => Some(Err(Response::sentence(408, "the request took too long"))),
        Err(HeadError::Gone) => None,
    }
}

enum HeadError {
    TooLong,
    TooSlow,
    Gone,
}

/// All bytes up to the empty line, which is not among them; nothing where the other side sends nothing.
fn read_head(stream: &mut TcpStream, deadline: Instant) -> Result<Vec<u8>, HeadError> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return if head.is_empty() { Ok(head) } else { Err(HeadError::TooSlow) };
        }
        let count = match stream.read(&mut part) {
            Ok(0) if head.is_empty() => return Ok(head),
            Ok(0) => return Err(HeadError::Gone),
            Ok(count) => count,
            Err(error) if is_waiting(&error) => continue,
            Err(_) => return Err(HeadError::Gone),
        };
        let from = head.len().saturating_sub(3);
        head.extend_from_slice(&part[..count]);
        if let Some(end) = head[from..].windows(4).position(|four| four == b"\r\n\r\n") {
            head.truncate(from + end);
            return if head.len() > MOST_HEAD_BYTES { Err(HeadError::TooLong) } else { Ok(head) };
        }
        if head.len() > MOST_HEAD_BYTES {
            return Err(HeadError::TooLong);
        }
    }
}

fn is_waiting(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// Understands a head: a request line and headers, each ended by a carriage return and a line feed.
pub(crate) fn parse(head: &[u8]) -> Result<Request, Response> {
    let wrong = || Response::sentence(400, "a browser would not send this request");
    let text = std::str::from_utf8(head).map_err(|_| wrong())?;
    let mut lines = text.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words[..] else { return Err(wrong()) };
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    if !is_token(method) || !target.starts_with('/') || !target.bytes().all(is_plain) {
        return Err(wrong());
    }
    let mut headers = Vec::new();
    for line in lines {
        if headers.len() == MOST_HEADERS {
            return Err(Response::sentence(431, "the request has too many headers"));
        }
        let (name, value) =
            line.split_once(':').filter(|(name, _)| is_token(name)).ok_or_else(wrong)?;
        let value = value.trim_matches([' ', '\t']);
        if value.chars().any(|letter| letter.is_control() && letter != '\t') {
            return Err(wrong());
        }
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let (path, query) =
        target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.map(str::to_owned),
        headers,
    };
    let has_body = request.all("transfer-encoding").next().is_some()
        || request.all("content-length").any(|length| length != "0");
    let asks = matches!(request.method.as_str(), "GET" | "HEAD");
    if has_body && asks {
        Err(Response::sentence(400, "GET and HEAD have no body"))
    } else {
        Ok(request)
    }
}

/// As RFC 9110 wants names and methods.
fn is_token(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

/// Writes an answer, and ends the connection so that the other side gets all of it.
pub(crate) fn answer(stream: &mut TcpStream, response: &Response, is_head: bool) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_TIME))?;
    // One write for what is small; what is large is not copied.
    let mut head = head_of(response).into_bytes();
    let body: &[u8] = if is_head { &[] } else { &response.body };
    let joined = body.len().min(64 << 10);
    head.extend_from_slice(&body[..joined]);
    stream.write_all(&head)?;
    stream.write_all(&body[joined..])?;
    stream.flush()?;
    stream.shutdown(std::net::Shutdown::Write)?;
    drain(stream)
}

fn head_of(response: &Response) -> String {
    let Response { status, kind, policy, headers, body } = response;
    let policy = policy.as_deref().unwrap_or(NOTHING);
    let mut head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Content-Security-Policy: {policy}\r\n{ALWAYS}",
        reason(*status),
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    }
}

/// What is still on its way to a closed connection would make the system throw our answer away.
fn drain(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(DRAIN_TIME))?;
    let deadline = Instant::now() + DRAIN_TIME;
    let mut part = [0; 4096];
    let mut left = MOST_DRAINED;
    while left > 0 && Instant::now() < deadline {
        match stream.read(&mut part)? {
            0 => break,
            count => left = left.saturating_sub(count as u64),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn status(head: &str) -> u16 {
        parse(head.as_bytes()).map_or_else(|refused| refused.status, |_| 200)
    }

    #[test]
    fn a_request_of_a_browser_is_understood() {
        let request =
            parse(b"GET /a?b=c?d HTTP/1.1\r\nHost: localhost:80\r\nCOOKIE:  a=b; c=d \r\nX:")
                .unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/a"));
        assert_eq!(request.query.as_deref(), Some("b=c?d"));
        assert_eq!(request.all("cookie").collect::<Vec<_>>(), ["a=b; c=d"]);
        assert_eq!(request.all("x").collect::<Vec<_>>(), [""]);
        assert_eq!(request.all("host").collect::<Vec<_>>(), ["localhost:80"]);
        assert_eq!(status("POST / HTTP/1.1\r\nContent-Length: 4"), 200);
    }

    #[test]
    fn everything_else_is_refused() {
        let many = format!("GET / HTTP/1.1{}", "\r\nA: b".repeat(MOST_HEADERS + 1));
        let rows = [
            ("", 400),
            ("GET /", 400),
            ("GET / HTTP/2", 400),
            ("GET  / HTTP/1.1", 400),
            ("G(T / HTTP/1.1", 400),
            ("GET http://127.0.0.1/ HTTP/1.1", 400),
            ("GET * HTTP/1.1", 400),
            ("GET /\u{e9} HTTP/1.1", 400),
            ("GET /\t HTTP/1.1", 400),
            ("GET / HTTP/1.1\r\nHost", 400),
            ("GET / HTTP/1.1\r\nHost : a", 400),
            ("GET / HTTP/1.1\r\n folded: a", 400),
            ("GET / HTTP/1.1\nHost: a", 400),
            ("GET / HTTP/1.1\r\nHost: a\nX: b", 400),
            ("GET / HTTP/1.1\r\nHost: a\u{0}b", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 4", 400),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked", 400),
            (many.as_str(), 431),
        ];
        for (head, expected) in rows {
            assert_eq!(status(head), expected, "{head}");
        }
        assert!(parse(b"GET /\xff HTTP/1.1").is_err());
    }

    #[test]
    fn no_damage_panics() {
        let whole =
            b"GET /recording/1?x=y HTTP/1.1\r\nHost: [::1]:80\r\nCookie: a=b; c=d\r\nOrigin: null";
        for end in 0..whole.len() {
            let _ = parse(&whole[..end]);
        }
        for place in 0..whole.len() {
            for flip in 1..=255 {
                let mut bytes = whole.to_vec();
                bytes[place] ^= flip;
                if let Ok(request) = parse(&bytes) {
                    assert!(
                        request.path.starts_with('/')
                            && !request.path.contains([' ', '\r', '\n', '?'])
                    );
                }
            }
        }
    }

    #[test]
    fn every_answer_keeps_to_itself() {
        let head = head_of(&Response::sentence(404, "no").with("Allow", "GET"));
        assert!(
            head.starts_with(
                "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"
            ),
            "{head}"
        );
        for line in [
            "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'; sandbox",
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: no-referrer",
            "Cache-Control: no-store",
            "Cross-Origin-Resource-Policy: same-origin",
            "Allow: GET",
        ] {
            assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}\n{head}");
        }
        assert!(!head.to_lowercase().contains("access-control"), "{head}");
    }
}
