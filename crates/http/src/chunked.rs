//! Bodies in chunks (RFC 9112, 7.1): each has its length before it, in hexadecimal digits, and one of length 0 is the
//! last.

use crate::error::Error;

/// No line between chunks is longer: they have a length, and extensions that servers do not use.
const LONGEST_LINE: usize = 4096;

/// What is known of a body whose chunks come one after another.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    state: State,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// The line with a length comes next.
    #[default]
    Length,
    /// How many bytes of a chunk are missing.
    Data(usize),
    /// The end of the line behind a chunk comes next.
    DataEnd,
    /// Lines behind the last chunk, until an empty one.
    Trailer,
}

impl Chunks {
    /// Moves what it can from `read` to `body`; returns whether the body is whole. `most` is how long a body may be.
    pub(crate) fn take(
        &mut self,
        read: &mut Vec<u8>,
        body: &mut Vec<u8>,
        most: usize,
    ) -> Result<bool, Error> {
        let mut at = 0;
        let is_whole = self.walk(read, &mut at, body, most);
        read.drain(..at);
        is_whole
    }

    fn walk(
        &mut self,
        read: &[u8],
        at: &mut usize,
        body: &mut Vec<u8>,
        most: usize,
    ) -> Result<bool, Error> {
        loop {
            let rest = read.get(*at..).unwrap_or_default();
            if let State::Data(missing) = self.state {
                let data = rest.get(..missing).unwrap_or(rest);
                body.extend_from_slice(data);
                *at += data.len();
                self.state = if data.len() == missing {
                    State::DataEnd
                } else {
                    State::Data(missing - data.len())
                };
                if data.len() < missing {
                    return Ok(false);
                }
                continue;
            }
            let Some(line) = line(rest)? else { return Ok(false) };
            *at += line.len() + 2;
            match self.state {
                State::Length => match length(line)? {
                    0 => self.state = State::Trailer,
                    length if length > most.saturating_sub(body.len()) => {
                        return Err(Error::TooLong("body"));
                    }
                    length => self.state = State::Data(length),
                },
                State::DataEnd if line.is_empty() => self.state = State::Length,
                State::Trailer if line.is_empty() => return Ok(true),
                State::Trailer => {}
                State::DataEnd | State::Data(_) => {
                    return Err(Error::Malformed("a chunk is longer than it says".into()));
                }
            }
        }
    }
}

/// The next line, without its end, if all of it is here.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, Error> {
    match bytes.windows(2).take(LONGEST_LINE).position(|two| two == b"\r\n") {
        Some(end) => Ok(bytes.get(..end)),
        None if bytes.len() > LONGEST_LINE => Err(Error::TooLong("line between chunks")),
        None => Ok(None),
    }
}

/// The length in `1f;extension`.
fn length(line: &[u8]) -> Result<usize, Error> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let malformed =
        || Error::Malformed(format!("a chunk of length {}", String::from_utf8_lossy(digits)));
    let text = std::str::from_utf8(digits).map_err(|_| malformed())?;
    match text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => usize::from_str_radix(text, 16).map_err(|_| malformed()),
        false => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of bytes that arrive in pieces of that size.
    fn decoded(bytes: &[u8], piece: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut chunks, mut read, mut body) = (Chunks::default(), Vec::new(), Vec::new());
        let mut is_whole = false;
        for piece in bytes.chunks(piece) {
            read.extend_from_slice(piece);
            is_whole = is_whole || chunks.take(&mut read, &mut body, 1000).ok()?;
        }
        is_whole.then_some((body, read))
    }

    #[test]
    fn chunks_are_joined_however_they_come() {
        let bytes = b"3\r\nabc\r\n0A;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nnext";
        for piece in 1..=bytes.len() {
            assert_eq!(
                decoded(bytes, piece),
                Some((b"abc0123456789".to_vec(), b"next".to_vec())),
                "{piece}"
            );
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in [
            &b"3\r\nabcd\r\n0\r\n\r\n"[..],
            b"-1\r\n",
            b"+3\r\nabc\r\n0\r\n\r\n",
            b"\r\n0\r\n\r\n0\r\n",
            b"ffffffffffffffff\r\nabc",
            b"fffffffffffffffffff\r\nabc",
            b"3e9\r\nabc",
            b"x\r\n",
        ] {
            assert_eq!(decoded(wrong, 7), None, "{}", String::from_utf8_lossy(wrong));
        }
        assert_eq!(decoded(&[b'1'; 10_000], 100), None, "a line without an end");
        assert_eq!(decoded(b"3\r\nabc\r\n", 100), None, "it ends early");
    }
}
