//! A log's lines as bytes. The text of a whole script stands on one line, so that a line may be long: of
//! what is longer than any name or stack, only the start is kept.

use std::io::{self, BufRead, BufReader, Read};

/// What is kept of a line.
const LINE_LIMIT: usize = 1 << 20;

/// One line.
pub(super) struct Line<'a> {
    /// Its number, from 1.
    pub(super) number: u64,
    /// Its text, without its end.
    pub(super) text: &'a [u8],
    /// Whether all of it is here: nothing was too long, and the input did not end in it.
    pub(super) is_whole: bool,
}

/// Hands each line to `take`. A stream that breaks ends there; a sentence about that is returned.
pub(super) fn each_line(input: impl Read, mut take: impl FnMut(Line<'_>)) -> Option<String> {
    let mut input = BufReader::with_capacity(1 << 20, input);
    let mut kept = Vec::new();
    let mut number = 1;
    loop {
        kept.clear();
        let ended = match read_line(&mut input, &mut kept) {
            Ok(ended) => ended,
            Err(error) => return Some(format!("damaged at line {number}: {error}")),
        };
        if kept.is_empty() && ended == End::Input {
            return None;
        }
        let is_whole = ended == End::Line;
        let text = kept.strip_suffix(b"\r").unwrap_or(&kept);
        take(Line { number, text, is_whole });
        if ended == End::Input {
            return None;
        }
        number += 1;
    }
}

/// How a line ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Line,
    TooLong,
    Input,
}

fn read_line(input: &mut impl BufRead, kept: &mut Vec<u8>) -> io::Result<End> {
    let mut is_long = false;
    loop {
        let buffer = match input.fill_buf() {
            Ok([]) => return Ok(End::Input),
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let newline = memchr::memchr(b'\n', buffer);
        let part = &buffer[..newline.unwrap_or(buffer.len())];
        let room = LINE_LIMIT - kept.len();
        is_long |= part.len() > room;
        kept.extend_from_slice(&part[..part.len().min(room)]);
        let used = newline.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if newline.is_some() {
            return Ok(if is_long { End::TooLong } else { End::Line });
        }
    }
}
