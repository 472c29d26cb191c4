//! The client's half of a WebSocket (RFC 6455), as far as Node's inspector speaks it: text messages of any length,
//! masked on their way there, whole on their way back. A frame that has come in part only stays where it is until the
//! rest comes, so a time limit never breaks a message.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use http::{Connection, Limits, Request, Stream, is_timeout};

use crate::error::Error;
use crate::list::{HOST, LONGEST_HEAD};

/// No profile is that long: a peer that claims so would exhaust our memory.
const LONGEST_MESSAGE: u64 = 1 << 30;
/// How much is read at once.
const CHUNK: usize = 1 << 16;

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A connection that has become a WebSocket.
pub(crate) struct WebSocket<S> {
    stream: S,
    /// What was read and not yet taken.
    read: Vec<u8>,
    /// The start of a message whose other frames are to come.
    message: Vec<u8>,
    random: Random,
}

/// A frame, without its payload.
struct Frame {
    is_last: bool,
    kind: u8,
    /// Where its payload stands in what was read.
    payload: std::ops::Range<usize>,
}

impl<S: Stream> WebSocket<S> {
    /// Asks for a WebSocket at a path.
    pub(crate) fn open(stream: S, path: &str, limit: Duration) -> Result<Self, Error> {
        let mut random = Random::new();
        let key = base64(&[random.next().to_le_bytes(), random.next().to_le_bytes()].concat());
        let key = format!("Sec-WebSocket-Key: {key}");
        let fields =
            ["Upgrade: websocket", "Connection: Upgrade", &key, "Sec-WebSocket-Version: 13"];
        let request = Request { fields: &fields, ..Request::get(path, HOST) };
        let limits = Limits { time: limit, head_bytes: LONGEST_HEAD, body_bytes: 0 };
        match Connection::new(stream).upgrade(&request, &limits)? {
            Ok((stream, read)) => Ok(Self { stream, read, message: Vec::new(), random }),
            Err(head) => Err(Error::malformed(head.line)),
        }
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, text: &str, limit: Duration) -> Result<(), Error> {
        self.send_frame(TEXT, text.as_bytes(), limit)
    }

    /// Sends a close frame, and waits until the other side has closed: Node crashes when a connection ends while it
    /// still sends its own.
    pub(crate) fn close(&mut self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut left = limit;
        let mut is_there = self.send_frame(CLOSE, &1000u16.to_be_bytes(), limit).is_ok();
        while is_there && !left.is_zero() {
            self.read.clear();
            is_there = self.fill(left).is_ok();
            left = deadline.saturating_duration_since(Instant::now());
        }
    }

    /// The next message, or none in that time.
    pub(crate) fn receive(&mut self, within: Duration) -> Result<Option<String>, Error> {
        let deadline = Instant::now() + within;
        loop {
            while let Some(frame) = self.next_frame()? {
                if let Some(text) = self.take(&frame)? {
                    return Ok(Some(text));
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.fill(left)? {
                return Ok(None);
            }
        }
    }

    /// What a frame means; the last one of a message makes it whole.
    fn take(&mut self, frame: &Frame) -> Result<Option<String>, Error> {
        let payload = self.read[frame.payload.clone()].to_vec();
        self.read.drain(..frame.payload.end);
        match frame.kind {
            CLOSE => Err(Error::Closed),
            PING => self.send_frame(PONG, &payload, Duration::from_secs(1)).map(|()| None),
            TEXT | CONTINUATION if self.message.is_empty() && frame.is_last => {
                text_of(payload).map(Some)
            }
            TEXT | CONTINUATION => {
                self.message.extend(payload);
                let is_long = self.message.len() as u64 > LONGEST_MESSAGE;
                match frame.is_last {
                    _ if is_long => Err(Error::malformed("a message is too long")),
                    true => text_of(std::mem::take(&mut self.message)).map(Some),
                    false => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// The next frame, if all of it is here.
    fn next_frame(&self) -> Result<Option<Frame>, Error> {
        let &[first, second, ..] = &self.read[..] else { return Ok(None) };
        let (length, start) = match second & 127 {
            126 => (number(&self.read, 2..4), 4),
            127 => (number(&self.read, 2..10), 10),
            length => (Some(u64::from(length)), 2),
        };
        let Some(length) = length else { return Ok(None) };
        if second & 128 != 0 || length > LONGEST_MESSAGE {
            return Err(Error::malformed("a frame is not a server's"));
        }
        let end = start + usize::try_from(length).map_err(Error::malformed)?;
        let frame = Frame { is_last: first & 128 != 0, kind: first & 15, payload: start..end };
        Ok((self.read.len() >= end).then_some(frame))
    }

    /// Reads some more; false when nothing came.
    fn fill(&mut self, limit: Duration) -> Result<bool, Error> {
        self.stream.wait_at_most(limit)?;
        let length = self.read.len();
        self.read.resize(length + CHUNK, 0);
        let result = self.stream.read(&mut self.read[length..]);
        self.read.truncate(length + result.as_ref().copied().unwrap_or(0));
        match result {
            Ok(0) => Err(Error::Closed),
            Ok(_) => Ok(true),
            Err(error) if is_timeout(&error) => Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Err(Error::Closed),
            Err(error) => Err(error.into()),
        }
    }

    fn send_frame(&mut self, kind: u8, payload: &[u8], limit: Duration) -> Result<(), Error> {
        let mask = (self.random.next() as u32).to_le_bytes();
        let mut frame = vec![128 | kind];
        match payload.len() {
            length @ 0..=125 => frame.push(128 | length as u8),
            length @ 126..=65535 => {
                frame.push(128 | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            length => {
                frame.push(128 | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.stream.wait_at_most(limit)?;
        self.stream.write_all(&frame).map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset => Error::Closed,
            _ if is_timeout(&error) => Error::NoAnswer(limit),
            _ => error.into(),
        })
    }
}

fn text_of(bytes: Vec<u8>) -> Result<String, Error> {
    // Names that were cut in the middle of a letter do occur.
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn number(bytes: &[u8], range: std::ops::Range<usize>) -> Option<u64> {
    Some(bytes.get(range)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Masks keep proxies from misreading what we send. On one machine there is no proxy, so std's seeds are good enough.
struct Random {
    state: RandomState,
    count: u64,
}

impl Random {
    fn new() -> Self {
        Self { state: RandomState::new(), count: 0 }
    }

    fn next(&mut self) -> u64 {
        self.count += 1;
        let mut hasher = self.state.build_hasher();
        hasher.write_u64(self.count);
        hasher.finish()
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    const SOON: Duration = Duration::from_millis(50);

    fn pair() -> (WebSocket<UnixStream>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let socket = WebSocket {
            stream: ours,
            read: Vec::new(),
            message: Vec::new(),
            random: Random::new(),
        };
        (socket, theirs)
    }

    #[test]
    fn base64_is_padded() {
        assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        assert_eq!(base64(b"any"), "YW55");
    }

    #[test]
    fn messages_of_every_length_come_whole() {
        let (mut socket, mut theirs) = pair();
        for length in [0, 1, 125, 126, 65_535, 65_536, 300_000] {
            let text = "é".repeat(length / 2) + &"a".repeat(length % 2);
            let mut frame = vec![0x81];
            match length {
                0..=125 => frame.push(length as u8),
                126..=65_535 => {
                    frame.extend([vec![126], (length as u16).to_be_bytes().to_vec()].concat());
                }
                _ => frame.extend([vec![127], (length as u64).to_be_bytes().to_vec()].concat()),
            }
            frame.extend(text.as_bytes());
            let writer = std::thread::spawn(move || {
                // In two parts, with a pause in which a limit passes.
                let middle = frame.len() / 2;
                theirs.write_all(&frame[..middle]).expect("it reads");
                std::thread::sleep(SOON * 2);
                theirs.write_all(&frame[middle..]).expect("it reads");
                theirs
            });
            let mut found = None;
            while found.is_none() {
                found = socket.receive(SOON).expect("nothing is wrong");
            }
            assert_eq!(found, Some(text));
            theirs = writer.join().expect("it does not panic");
        }
        assert_eq!(socket.receive(SOON).expect("nothing is wrong"), None);
    }

    #[test]
    fn fragments_pings_and_the_end() {
        let (mut socket, mut theirs) = pair();
        theirs
            .write_all(&[0x01, 2, b'a', b'b', 0x89, 1, b'!', 0x80, 1, b'c', 0x88, 0])
            .expect("it reads");
        assert_eq!(socket.receive(SOON).expect("nothing is wrong").as_deref(), Some("abc"));
        assert!(matches!(socket.receive(SOON), Err(Error::Closed)));
        let mut pong = [0; 7];
        theirs.read_exact(&mut pong).expect("a pong");
        assert_eq!((pong[0], pong[1], pong[6] ^ pong[2]), (0x8a, 0x81, b'!'));
    }

    #[test]
    fn nonsense_is_refused() {
        for bytes in
            [&[0x81, 0x81, 0, 0, 0, 0, 0][..], &[0x81, 127, 255, 255, 255, 255, 0, 0, 0, 0]]
        {
            let (mut socket, mut theirs) = pair();
            theirs.write_all(bytes).expect("it reads");
            assert!(matches!(socket.receive(SOON), Err(Error::NotInspector(_))));
        }
        let (mut socket, theirs) = pair();
        drop(theirs);
        assert!(matches!(socket.receive(SOON), Err(Error::Closed)));
    }
}
