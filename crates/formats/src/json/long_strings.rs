//! A stream of JSON that ends where one string is longer than anything that a recording holds.

use std::io::{self, Read};

/// The text of a script with its source map may stand in a trace; nothing is longer.
const LONGEST_STRING: u64 = 64 << 20;

/// Passes a text on, up to a string that does not end in time.
pub(crate) struct LongStrings<R> {
    input: R,
    /// How long the string is that is open.
    open: Option<u64>,
    is_escaped: bool,
}

impl<R> LongStrings<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, open: None, is_escaped: false }
    }

    /// Goes on over the next bytes.
    fn follow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(length) = self.open else {
                let Some(at) = memchr::memchr(b'"', bytes) else { return };
                self.open = Some(0);
                bytes = &bytes[at + 1..];
                continue;
            };
            if std::mem::take(&mut self.is_escaped) {
                bytes = &bytes[1..];
                continue;
            }
            let at = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
            self.open = Some(length + at as u64);
            match bytes.get(at) {
                Some(b'"') => self.open = None,
                Some(_) => self.is_escaped = true,
                None => return,
            }
            bytes = &bytes[at + 1..];
        }
    }
}

impl<R: Read> Read for LongStrings<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.open.is_some_and(|length| length > LONGEST_STRING) {
            let most = LONGEST_STRING >> 20;
            return Err(io::Error::other(format!(
                "a text has more than {most} MB, and the rest was left out"
            )));
        }
        let count = self.input.read(buffer)?;
        self.follow(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_followed_wherever_a_stream_is_cut() {
        let text = br#"{"a":"b\"c\\","d":[1,"e"],"f":"open"#;
        for step in [1, 2, 3, 100] {
            let mut strings = LongStrings::new(&b""[..]);
            for piece in text.chunks(step) {
                strings.follow(piece);
            }
            assert_eq!(strings.open, Some(4), "{step}");
            strings.follow(b"\"}");
            assert_eq!(strings.open, None);
        }
    }

    #[test]
    fn an_endless_string_ends_the_stream() {
        let endless = (&b"[\"a\",\""[..]).chain(io::repeat(b'x'));
        let mut bytes = Vec::new();
        assert!(LongStrings::new(endless).read_to_end(&mut bytes).is_err());
        assert!(bytes.len() as u64 <= 2 * LONGEST_STRING, "{}", bytes.len());
    }
}
