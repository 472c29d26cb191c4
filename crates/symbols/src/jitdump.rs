//! The jitdump that V8 writes with --perf-prof: which code stood where from when on. The code itself is
//! skipped. Written in the byte order of the machine that ran it; both are read.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

/// One thing that happened to generated code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// Code appeared.
    Load { start: u64, size: u64, name: Cow<'a, str> },
    /// Code went elsewhere.
    Move { from: u64, to: u64, size: u64 },
}

/// What a jitdump's head contains.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Jitdump {
    /// Whether its times count a processor's own ticks, which nothing can be compared with.
    pub(crate) foreign_clock: bool,
}

/// `JiTD` as a number.
const MAGIC: u32 = 0x4a69_5444;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const CLOSE: u32 = 3;

/// The parts of fixed size: of the file's head, of each record's head, and of a load and a move behind it.
const HEAD: usize = 40;
const RECORD_HEAD: usize = 16;
const LOAD_SIZE: usize = 40;
const MOVE_SIZE: usize = 48;

/// The flag of a clock that is the processor's own.
const ARCH_CLOCK: u64 = 1;

/// Longer names are made up.
const LONGEST_NAME: usize = 64 << 10;

/// The code is in the dump, too, but a busy day is less than this.
const MOST_BYTES: u64 = 8 << 30;

/// Reads a dump up to its end, or up to where it makes no sense: it may still be written. Reports each change with its
/// time; several threads compile and write in turn, so times may go back.
pub(crate) fn read(
    input: impl Read,
    mut report: impl FnMut(u64, Change<'_>),
) -> io::Result<Jitdump> {
    let mut reader = Reader {
        input: BufReader::with_capacity(1 << 16, input.take(MOST_BYTES)),
        big_endian: false,
    };
    let mut dump = Jitdump::default();
    let Some(head) = reader.bytes::<HEAD>()? else { return Err(no_jitdump()) };
    reader.big_endian = match head.first_chunk().map(|magic| u32::from_le_bytes(*magic)) {
        Some(MAGIC) => false,
        Some(magic) if magic.swap_bytes() == MAGIC => true,
        _ => return Err(no_jitdump()),
    };
    dump.foreign_clock = reader.u64(&head, 32) & ARCH_CLOCK != 0;
    let rest_of_head = u64::from(reader.u32(&head, 8)).saturating_sub(HEAD as u64);
    reader.skip(rest_of_head)?;
    let mut name = Vec::new();
    while reader.record(&mut name, &mut report)? {}
    Ok(dump)
}

fn no_jitdump() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is not a jitdump")
}

struct Reader<R> {
    input: R,
    big_endian: bool,
}

impl<R: BufRead> Reader<R> {
    /// Takes one record. False at the end.
    fn record(
        &mut self,
        name: &mut Vec<u8>,
        report: &mut impl FnMut(u64, Change<'_>),
    ) -> io::Result<bool> {
        let Some(head) = self.bytes::<RECORD_HEAD>()? else { return Ok(false) };
        let (kind, size, time_ns) = (self.u32(&head, 0), self.u32(&head, 4), self.u64(&head, 8));
        let Some(left) = u64::from(size).checked_sub(RECORD_HEAD as u64) else { return Ok(false) };
        let change = match kind {
            CLOSE => return Ok(false),
            LOAD => self.load(left, name)?,
            MOVE => self.moved(left)?,
            _ => return self.skip(left).map(|()| true),
        };
        let Some(change) = change else { return Ok(false) };
        report(time_ns, change);
        Ok(true)
    }

    fn load<'a>(&mut self, left: u64, name: &'a mut Vec<u8>) -> io::Result<Option<Change<'a>>> {
        let Some(left) = left.checked_sub(LOAD_SIZE as u64) else { return Ok(None) };
        let Some(body) = self.bytes::<LOAD_SIZE>()? else { return Ok(None) };
        let (start, size) = (self.u64(&body, 16), self.u64(&body, 24));
        name.clear();
        let most = left.min(LONGEST_NAME as u64);
        let read = (&mut self.input).take(most).read_until(0, name)? as u64;
        if name.pop() != Some(0) {
            return Ok(None);
        }
        self.skip(left - read)?;
        Ok(Some(Change::Load { start, size, name: String::from_utf8_lossy(name) }))
    }

    fn moved(&mut self, left: u64) -> io::Result<Option<Change<'static>>> {
        let Some(left) = left.checked_sub(MOVE_SIZE as u64) else { return Ok(None) };
        let Some(body) = self.bytes::<MOVE_SIZE>()? else { return Ok(None) };
        let (from, to, size) = (self.u64(&body, 16), self.u64(&body, 24), self.u64(&body, 32));
        self.skip(left)?;
        Ok(Some(Change::Move { from, to, size }))
    }

    /// The next `N` bytes; `None` where the input ends before.
    fn bytes<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        let mut bytes = [0; N];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        io::copy(&mut (&mut self.input).take(count), &mut io::sink()).map(|_| ())
    }

    fn u32(&self, bytes: &[u8], at: usize) -> u32 {
        let word = bytes[at..].first_chunk().copied().unwrap_or_default();
        if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    fn u64(&self, bytes: &[u8], at: usize) -> u64 {
        let word = bytes[at..].first_chunk().copied().unwrap_or_default();
        if self.big_endian { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Writes a dump in one of the byte orders.
    pub(crate) struct Writer {
        pub(crate) bytes: Vec<u8>,
        big_endian: bool,
    }

    impl Writer {
        pub(crate) fn new(big_endian: bool) -> Self {
            let mut writer = Self { bytes: Vec::new(), big_endian };
            writer.words(&[MAGIC, 1, HEAD as u32, 62, 0, 7]);
            writer.longs(&[0, 0]);
            writer
        }

        fn words(&mut self, words: &[u32]) {
            for word in words {
                self.bytes.extend(if self.big_endian {
                    word.to_be_bytes()
                } else {
                    word.to_le_bytes()
                });
            }
        }

        fn longs(&mut self, longs: &[u64]) {
            for long in longs {
                self.bytes.extend(if self.big_endian {
                    long.to_be_bytes()
                } else {
                    long.to_le_bytes()
                });
            }
        }

        pub(crate) fn load(&mut self, time_ns: u64, start: u64, size: u64, name: &str) {
            let total = RECORD_HEAD + LOAD_SIZE + name.len() + 1 + size as usize;
            self.words(&[LOAD, total as u32]);
            self.longs(&[time_ns]);
            self.words(&[7, 8]);
            self.longs(&[start, start, size, 1]);
            self.bytes.extend(name.as_bytes());
            self.bytes.extend(vec![0; 1 + size as usize]);
        }

        pub(crate) fn moved(&mut self, time_ns: u64, from: u64, to: u64, size: u64) {
            self.words(&[MOVE, (RECORD_HEAD + MOVE_SIZE) as u32]);
            self.longs(&[time_ns]);
            self.words(&[7, 8]);
            self.longs(&[to, from, to, size, 1]);
        }
    }

    #[test]
    fn both_byte_orders() {
        for big_endian in [false, true] {
            let mut writer = Writer::new(big_endian);
            writer.load(20, 0x1000, 16, "JS:*foo a.js:1:2");
            writer.words(&[2, 24]); // debug info
            writer.longs(&[10, 0]);
            writer.moved(30, 0x1000, 0x2000, 16);
            writer.load(10, 0x3000, 4, "early");
            let mut reported = Vec::new();
            let dump = read(&writer.bytes[..], |time_ns, change| {
                reported.push(format!("{time_ns} {change:?}"));
            })
            .unwrap();
            let expected = [
                (20, Change::Load { start: 0x1000, size: 16, name: "JS:*foo a.js:1:2".into() }),
                (30, Change::Move { from: 0x1000, to: 0x2000, size: 16 }),
                (10, Change::Load { start: 0x3000, size: 4, name: "early".into() }),
            ];
            assert_eq!(reported, expected.map(|(time_ns, change)| format!("{time_ns} {change:?}")));
            assert_eq!(dump, Jitdump { foreign_clock: false });
            for end in HEAD..writer.bytes.len() {
                let mut count = 0;
                read(&writer.bytes[..end], |_, _| count += 1).unwrap();
                assert!(count < 4, "{end}");
            }
            for at in 0..writer.bytes.len() {
                for value in [0, 1, 0xff] {
                    let mut damaged = writer.bytes.clone();
                    damaged[at] = value;
                    let _ = read(&damaged[..], |_, _| ());
                }
            }
        }
        assert!(read(&b"no dump"[..], |_, _| ()).is_err());
    }
}
