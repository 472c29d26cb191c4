//! Lines of a text of any size in little memory.

use std::io::{self, Read};

/// Longer lines hold no names.
const LONGEST_LINE: usize = 1 << 20;

/// So much without a line's end is no text: a hostile file may have terabytes of nothing.
const MOST_NOISE: usize = 64 << 20;

const BLOCK: usize = 256 << 10;

/// Hands over each whole line, without its end. A last line without an end is still being written, and
/// is left out.
pub(crate) fn each_line(mut input: impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; BLOCK];
    let (mut filled, mut skipped) = (0, 0);
    loop {
        let read = match input.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = filled + read;
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', &buffer[..end]) {
            if std::mem::take(&mut skipped) == 0 {
                take(&buffer[start..newline]);
            }
            start = newline + 1;
        }
        buffer.copy_within(start..end, 0);
        filled = end - start;
        if filled == buffer.len() && filled >= LONGEST_LINE {
            (filled, skipped) = (0, skipped + filled);
            if skipped > MOST_NOISE {
                return Ok(());
            }
        } else if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
    }
}

/// A hexadecimal number, with or without `0x`, and what follows its blank.
pub(crate) fn split_hex(line: &[u8]) -> Option<(u64, &[u8])> {
    let digits = line.strip_prefix(b"0x").unwrap_or(line);
    let end = digits.iter().position(|byte| *byte == b' ')?;
    let number = std::str::from_utf8(&digits[..end]).ok()?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u64::from_str_radix(number, 16).ok().filter(|_| is_number)?;
    Some((number, &digits[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len());
            self.0.read(&mut buffer[..count])
        }
    }

    #[test]
    fn lines_arrive_whole() {
        for step in [1, 2, 3, 100] {
            let mut lines = Vec::new();
            each_line(Slow(b"one\n\ntwo\r\nthree", step), |line| lines.push(line.to_vec()))
                .unwrap();
            assert_eq!(lines, [b"one".to_vec(), b"".to_vec(), b"two\r".to_vec()], "{step}");
        }
    }

    #[test]
    fn endless_lines_are_left_out() {
        let text = [
            b"a\n".to_vec(),
            vec![b'x'; 5 << 20],
            b"\nb\n".to_vec(),
            vec![b'y'; BLOCK + 1],
            b"\nc\n".to_vec(),
        ];
        let mut lengths = Vec::new();
        each_line(&text.concat()[..], |line| lengths.push(line.len())).unwrap();
        assert_eq!(lengths, [1, 1, BLOCK + 1, 1]);
        each_line(io::repeat(0), |_| panic!("there is no line")).unwrap();
    }

    #[test]
    fn numbers() {
        assert_eq!(split_hex(b"1f 20 a b"), Some((0x1f, &b"20 a b"[..])));
        assert_eq!(split_hex(b"0x1F a"), Some((0x1f, &b"a"[..])));
        for line in [&b""[..], b" 1", b"+1 a", b"1", b"11112222333344445 a", b"g a", b"\xff a"] {
            assert_eq!(split_hex(line), None, "{line:?}");
        }
    }
}
