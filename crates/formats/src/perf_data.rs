//! perf.data → [`Sink`], without perf: the file form and the pipe form, both byte orders, zstd inside. The
//! stream is read once from front to back; what stands at its end (names of events, build ids) reaches the sink last.

mod attributes;
mod batches;
mod bytes;
mod compressed;
mod deliver;
mod features;
mod input;
mod live;
mod rounds;
mod sample;

use std::io::Read;
use std::num::NonZero;

use trace::Sink;

use batches::{Batches, Message, each_record, on_one_thread, on_two_threads};
use bytes::{Bytes, Order};
use compressed::Compressed;
use deliver::{Events, Record, kind};
use input::{Input, Next};
pub use live::{InOrder, Live};
use rounds::Rounds;

/// What the file form's header takes in all versions of perf since 2010.
const FILE_HEADER_BYTES: u64 = 104;
/// What the pipe form's header takes.
const PIPE_HEADER_BYTES: u64 = 16;
/// The descriptions of events between the header and the data, and what stands behind the data.
const MOST_ASIDE: u64 = 256 << 20;

/// Whether the first bytes are perf's.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    Order::of(first_bytes).is_some()
}

/// Reads a recording into a sink, on one thread or two. The input never fails: where it is damaged, the sink
/// learns of it, and has got what came before.
pub fn read(input: impl Read, threads: NonZero<usize>, sink: &mut (dyn Sink + Send)) {
    let read = |batches: &mut Batches<'_>| Reader::new(input, batches).read();
    if threads.get() == 1 { on_one_thread(sink, read) } else { on_two_threads(sink, read) }
}

/// Why reading ended early.
struct Damage(String);

fn damage<T>(at: u64, what: &str) -> Result<T, Damage> {
    Err(Damage(format!("damaged at byte {at}: {what}")))
}

/// A section of the file: where it starts, and how long it is.
#[derive(Clone, Copy)]
struct Section {
    offset: u64,
    size: u64,
}

impl Section {
    fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(Self { offset: bytes.u64()?, size: bytes.u64()? })
    }

    fn end(self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// The section's bytes, in a part of the file that starts at `start`.
    fn within(self, part: &[u8], start: u64) -> Option<&[u8]> {
        let from = usize::try_from(self.offset.checked_sub(start)?).ok()?;
        part.get(from..from.checked_add(usize::try_from(self.size).ok()?)?)
    }
}

/// What the file form starts with.
struct FileHeader {
    attribute_size: u64,
    attributes: Section,
    data: Section,
    /// A bit for each feature that stands behind the data.
    features: [u64; 4],
}

impl FileHeader {
    /// From what stands behind the magic word and the header's size.
    fn parse(mut bytes: Bytes<'_>) -> Option<Self> {
        let attribute_size = bytes.u64()?;
        let (attributes, data) = (Section::read(&mut bytes)?, Section::read(&mut bytes)?);
        let _event_types = Section::read(&mut bytes)?;
        let features = [bytes.u64()?, bytes.u64()?, bytes.u64()?, bytes.u64()?];
        Some(Self { attribute_size, attributes, data, features })
    }
}

struct Reader<'a, 'b, R> {
    input: Input<R>,
    order: Order,
    rounds: Rounds,
    compressed: Compressed,
    events: Events,
    batches: &'a mut Batches<'b>,
    /// What was read since the last checksum, in a recording that has some.
    chunk: Option<crc32fast::Hasher>,
}

impl<'a, 'b, R: Read> Reader<'a, 'b, R> {
    fn new(input: R, batches: &'a mut Batches<'b>) -> Self {
        Self {
            input: Input::new(input),
            order: Order::default(),
            rounds: Rounds::default(),
            compressed: Compressed::default(),
            events: Events::default(),
            batches,
            chunk: None,
        }
    }

    fn read(mut self) {
        let end = self.run();
        self.flush();
        if let Err(Damage(sentence)) = end {
            self.batches.send(Message::Damage(sentence));
        }
    }

    fn run(&mut self) -> Result<(), Damage> {
        let start = self.input.take(PIPE_HEADER_BYTES);
        let Some(order) = Order::of(&start) else { return damage(0, "it is not perf's") };
        self.order = order;
        self.events.order = order;
        self.batches.send(Message::Order(order));
        let size = order.bytes(&start[8..]).u64();
        if size == Some(PIPE_HEADER_BYTES) { self.read_records(None) } else { self.read_file() }
    }

    fn read_file(&mut self) -> Result<(), Damage> {
        let head = self.input.take(FILE_HEADER_BYTES - PIPE_HEADER_BYTES);
        let Some(header) = FileHeader::parse(self.order.bytes(&head)) else {
            return damage(self.input.position(), "the header is cut off");
        };
        self.read_attributes(&header)?;
        // perf writes the size when it ends: a recording that was killed has none.
        if header.data.size == 0 {
            self.batches
                .send(Message::Damage("perf was killed before it finished the file".into()));
            return self.read_records(None);
        }
        self.read_records(Some(header.data.end()))?;
        self.flush();
        self.read_features(&header.features)
    }

    /// Everything between the header and the data: the descriptions of events and their ids.
    fn read_attributes(&mut self, header: &FileHeader) -> Result<(), Damage> {
        let FileHeader { attribute_size, attributes, data, .. } = *header;
        let start = self.input.position();
        if data.offset < start || attributes.end() > data.offset || data.offset - start > MOST_ASIDE
        {
            return damage(24, "the sections are not where perf puts them");
        }
        let aside = self.input.take(data.offset - start);
        let size = usize::try_from(attribute_size).ok().filter(|size| *size > 16);
        let (Some(rows), Some(size)) = (attributes.within(&aside, start), size) else {
            return damage(start, "the descriptions of events are cut off");
        };
        for row in rows.chunks_exact(size) {
            let (attribute, ids) = row.split_at(row.len() - 16);
            let ids =
                Section::read(&mut self.order.bytes(ids)).and_then(|ids| ids.within(&aside, start));
            let ids = ids.unwrap_or_default();
            self.events.add(attribute, ids);
            self.batches
                .send(Message::Attribute { attribute: attribute.to_vec(), ids: ids.to_vec() });
        }
        if self.events.is_empty() { damage(start, "it describes no event") } else { Ok(()) }
    }

    /// Reads records up to a place in the input, or to its end.
    fn read_records(&mut self, end: Option<u64>) -> Result<(), Damage> {
        while end.is_none_or(|end| self.input.position() < end) {
            let at = self.input.position();
            let size = match self.input.next_record(self.order) {
                Next::Record(size) => size,
                Next::Nonsense => return damage(at, "a record is too short to be one"),
                Next::End if end.is_none() && self.input.error().is_none() => return Ok(()),
                Next::End | Next::CutOff => {
                    let error = self.input.error().unwrap_or("the file is cut off").to_owned();
                    return damage(at, &error);
                }
            };
            if let Err(what) = self.take_record(size) {
                return damage(at, &what);
            }
        }
        Ok(())
    }

    /// Takes the next record of the input.
    fn take_record(&mut self, size: usize) -> Result<(), String> {
        let Self { input, order, rounds, compressed, events, batches, chunk } = self;
        let mut ordering = Ordering { events, rounds, batches };
        let bytes = input.peek(size);
        let Some(Record { kind, mut body, .. }) = Record::parse(*order, bytes) else {
            return Ok(());
        };
        if let Some(chunk) = chunk.as_mut().filter(|_| kind != kind::CHECKSUM) {
            chunk.update(bytes);
        }
        let mut skip = 0;
        match kind {
            kind::CHECKSUM => {
                let read = chunk.replace(crc32fast::Hasher::new()).map(crc32fast::Hasher::finalize);
                if read.is_some_and(|read| body.u64() != Some(u64::from(read))) {
                    return Err("the data before it differs from what perf wrote".to_owned());
                }
            }
            kind::COMPRESSED => ordering.take_compressed(body.rest(), compressed)?,
            kind::COMPRESSED2 => {
                let size = body.u64().and_then(|size| usize::try_from(size).ok());
                let piece = size
                    .and_then(|size| body.take(size))
                    .ok_or("a compressed record is cut off")?;
                ordering.take_compressed(piece, compressed)?;
            }
            // What these two announce stands behind them, outside of any record.
            kind::AUXTRACE => skip = body.u64().unwrap_or(0),
            kind::TRACING_DATA => {
                skip = body.u32().map_or(0, |size| u64::from(size).next_multiple_of(8));
            }
            _ => ordering.take_plain(bytes),
        }
        input.advance(size);
        if input.skip(skip) { Ok(()) } else { Err("what a record announces is cut off".to_owned()) }
    }

    /// Hands over whatever is still waiting.
    fn flush(&mut self) {
        let Self { rounds, compressed, events, batches, .. } = self;
        Ordering { events, rounds, batches }.take_plain_records(compressed.finish());
        rounds.flush_all(|record| batches.record(record));
        batches.flush();
    }

    /// What stands behind the data: a table of sections, one for each feature, and their bytes.
    fn read_features(&mut self, features: &[u64; 4]) -> Result<(), Damage> {
        let start = self.input.position();
        let rest = self.input.take(MOST_ASIDE);
        let mut table = self.order.bytes(&rest);
        let is_set = |number: &u32| features[*number as usize / 64] >> (number % 64) & 1 == 1;
        for number in (0..256).filter(is_set) {
            let section =
                Section::read(&mut table).and_then(|section| section.within(&rest, start));
            let Some(bytes) = section else {
                return damage(start, "the descriptions at the end are cut off");
            };
            self.batches.send(Message::Feature(number, bytes.to_vec()));
        }
        Ok(())
    }
}

/// Puts records into the order of their times.
struct Ordering<'a, 'b> {
    events: &'a mut Events,
    rounds: &'a mut Rounds,
    batches: &'a mut Batches<'b>,
}

impl Ordering<'_, '_> {
    /// Takes a piece of zstd, and the records that are whole with it.
    fn take_compressed(&mut self, piece: &[u8], compressed: &mut Compressed) -> Result<(), String> {
        let result = compressed.add(piece);
        self.rounds.set_lag(compressed.lag_bytes());
        self.take_plain_records(compressed.plain());
        result
    }

    /// Takes the whole records at the start of a buffer away.
    fn take_plain_records(&mut self, plain: &mut Vec<u8>) {
        let taken = each_record(self.events.order, plain, |record| self.take_plain(record));
        plain.drain(..taken);
    }

    /// Takes a record that is not compressed: at once, or when it is its turn.
    fn take_plain(&mut self, bytes: &[u8]) {
        let Self { events, rounds, batches } = self;
        let Some(record) = Record::parse(events.order, bytes) else { return };
        if record.kind == kind::FINISHED_ROUND {
            return rounds.end_round(|record| batches.record(record));
        }
        if record.kind >= kind::USER_START {
            // A record that is cut short is ignored here; the consumer counts it.
            let _ = events.learn(&record);
            return batches.record(bytes);
        }
        match events.time_of(&record) {
            0 | u64::MAX => batches.record(bytes),
            time_ns => rounds.add(time_ns, bytes, |record| batches.record(record)),
        }
    }
}
