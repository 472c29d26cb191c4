//! The perf map that V8 writes with --perf-basic-prof: `HEXSTART HEXSIZE name`, a line for each piece of code.
//! It only grows and has no times, so what was written last for an address counts. Maps can have gigabytes:
//! only what covers a wanted address is kept.

use std::io::{self, Read};
use std::rc::Rc;

use crate::lines::{each_line, split_hex};

/// The names of some addresses.
pub(crate) struct Found {
    /// For each wanted address the name.
    pub(crate) names: Vec<Option<Rc<str>>>,
    /// How many of them had several different names in the course of time: they may be wrong.
    pub(crate) ambiguous: u64,
}

/// A map in which each line covers each address is made up; after this many names nothing more is read.
const MOST_NAMES: u64 = 1 << 30;

/// A longer text is no name.
const LONGEST_NAME: usize = 16 << 10;

/// Names the wanted addresses, which must ascend.
pub(crate) fn find(map: impl Read, wanted: &[u64]) -> io::Result<Found> {
    let mut names: Vec<Option<Rc<str>>> = vec![None; wanted.len()];
    let mut had_others = vec![false; wanted.len()];
    let mut given = 0;
    each_line(map, |line| {
        let Some(Entry { start, end, name }) = parse(line) else { return };
        let first = wanted.partition_point(|address| *address < start);
        let count = wanted[first..].partition_point(|address| *address < end);
        if count == 0 || given > MOST_NAMES {
            return;
        }
        given += count as u64;
        let name: Rc<str> = String::from_utf8_lossy(name).into();
        for row in first..first + count {
            had_others[row] |= names[row].as_ref().is_some_and(|old| *old != name);
            names[row] = Some(Rc::clone(&name));
        }
    })?;
    Ok(Found { names, ambiguous: had_others.into_iter().filter(|had| *had).count() as u64 })
}

struct Entry<'a> {
    start: u64,
    end: u64,
    name: &'a [u8],
}

fn parse(line: &[u8]) -> Option<Entry<'_>> {
    let (start, rest) = split_hex(line)?;
    let (size, name) = split_hex(rest)?;
    let name = name.trim_ascii_end();
    let is_name = !name.is_empty() && name.len() <= LONGEST_NAME;
    is_name.then_some(Entry { start, end: start.saturating_add(size), name })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(map: &str, wanted: &[u64]) -> (Vec<String>, u64) {
        let found = find(map.as_bytes(), wanted).unwrap();
        (
            found.names.iter().map(|name| name.as_deref().unwrap_or("-").to_owned()).collect(),
            found.ambiguous,
        )
    }

    #[test]
    fn the_last_line_for_an_address_counts() {
        let map = "1000 100 a\n1080 100 b c:1:2\n1040 10 d\n1000 8 a\n";
        let wanted =
            [0xfff, 0x1000, 0x1008, 0x1040, 0x104f, 0x1050, 0x107f, 0x1080, 0x117f, 0x1180];
        let expected = ["-", "a", "a", "d", "d", "a", "a", "b c:1:2", "b c:1:2", "-"];
        assert_eq!(names(map, &wanted), (expected.map(str::to_owned).to_vec(), 3));
    }

    #[test]
    fn a_line_is_two_numbers_and_a_name() {
        let entry = |start, end, name: &'static str| Some((start, end, name.as_bytes()));
        for (line, expected) in [
            (
                "7f6ec6a6ec2d a0 JS:*f /my app/a.js:3:5",
                entry(0x7f6e_c6a6_ec2d, 0x7f6e_c6a6_eccd, "JS:*f /my app/a.js:3:5"),
            ),
            ("0x7f 0x20 foo\r", entry(0x7f, 0x9f, "foo")),
            ("7f 20  anonymous", entry(0x7f, 0x9f, " anonymous")),
            ("ffffffffffffffff 2 foo", entry(u64::MAX, u64::MAX, "foo")),
            ("7f 20 ", None),
            ("7f 20", None),
            ("7f", None),
            ("", None),
            (" 7f 20 foo", None),
            ("LazyCompi4f62500 4f0 LazyCompile:~f a.js:3", None),
            ("+7f 20 foo", None),
            ("1ffffffffffffffff 2 foo", None),
        ] {
            let found = parse(line.as_bytes()).map(|Entry { start, end, name }| (start, end, name));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn cut_and_damaged_lines_name_nothing() {
        let map = "1000 10 whole\nzzz\n1000 10\n1000  x\n\n1000 0 empty\n1000 10 \n1000 10 half";
        assert_eq!(names(map, &[0x1000]), (vec!["whole".into()], 0));
        assert_eq!(names("ffffffffffffffff 10 end\n", &[u64::MAX - 1, u64::MAX]).0, ["-", "-"]);
        let bytes = find(&b"10 10 a\xff\r\n"[..], &[0x10]).unwrap();
        assert_eq!(bytes.names[0].as_deref(), Some("a\u{fffd}"));
    }
}
