//! What nodescope's own processes send to each other: one type, and here alone how it becomes bytes and is understood
//! again. Both are the same program on the same machine, but one that crashed may have written anything: no bytes make
//! a reader fail, loop, or take more memory than they have.
//!
//! ```text
//! length u32   of what follows
//! kind u8
//! fields       numbers are little-endian; bytes and lists have their count in front (u32)
//! ```

use std::io::{self, Read};

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// To a reader of names: what it has to do.
    Read(ReadOrder),
    /// To a reader of names: what is sampled, and later what was mapped meanwhile.
    Records(Vec<u8>),
    /// To a program that looks at threads: what it has to do.
    Look(LookOrder),
    /// To a program that closes an inspector: whose.
    Close(u32),
    /// To the same: nothing is left to be done.
    Released,
    /// From a reader of names: what it has found.
    Batch(Batch),
    /// From a program that looks at threads: it goes on.
    Alive,
    /// A JavaScript frame.
    Frame(NamedFrame),
    /// A script whose text is not the file's.
    Script(RanScript),
    /// A thread, and where it was.
    Thread(Seen),
    /// What stands in the way.
    Hint(Hint),
    /// The async functions that are suspended.
    Suspended(SuspendedFunctions),
}

/// What a reader of names gets when it is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOrder {
    /// The rings, as the sampler passes them.
    pub rings: String,
    /// The number that the samples of each event carry.
    pub events: Vec<u64>,
    /// The number of the first frame.
    pub next_row: u32,
    /// Whether nothing of the target's memory is read.
    pub leaves_memory: bool,
    /// The threads for which nothing is read.
    pub excluded_tids: Vec<u32>,
    /// The number of the journal's file.
    pub journal: Option<i32>,
    /// The processes whose event loops are watched from before the first sample.
    pub watched: Vec<u32>,
    /// How long the rings may be left alone, in microseconds.
    pub pause_us: u32,
    /// The same while samples come at the higher rate.
    pub fast_pause_us: u32,
}

/// What a reader of names hands over at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Whole records.
    pub records: Vec<u8>,
    /// How many of them are samples.
    pub samples: u32,
    /// The number of the next frame.
    pub next_row: u32,
    /// The thread for which memory will be read for the first time, or 0.
    pub trying: u32,
    /// How many records of the rings were handed over with this, in all.
    pub taken: u64,
}

/// What a program that looks at threads gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookOrder {
    /// The process.
    pub pid: u32,
    /// What it calls itself.
    pub name: String,
    /// What may be read.
    pub depth: Depth,
    /// The number of the first frame.
    pub next_row: u32,
    /// Whether suspended functions are searched for.
    pub wants_suspended: bool,
}

/// What may be read of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Stacks and V8's heap.
    Heap,
    /// Stacks.
    Stacks,
    /// Nothing of its memory.
    Nothing,
}

const DEPTHS: [Depth; 3] = [Depth::Heap, Depth::Stacks, Depth::Nothing];

/// A script whose text is not the file's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RanScript {
    /// Its name.
    pub name: Vec<u8>,
    /// Where its source map is, by its own comment.
    pub map_url: Vec<u8>,
    /// What ran.
    pub text: Vec<u8>,
}

/// A JavaScript frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFrame {
    /// Its number.
    pub row: u32,
    /// As a recording has it.
    pub bytes: Vec<u8>,
}

/// A thread, and where it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The thread.
    pub tid: u32,
    /// Whether it was sampled, not asleep.
    pub is_running: bool,
    /// What it sleeps in.
    pub syscall: Option<u32>,
    /// Whose each address is, as a number that its reader understands, and the address.
    pub chain: Vec<(u8, u64)>,
    /// Why there is no more of the stack.
    pub why: Option<String>,
}

/// The async functions of a process that are suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuspendedFunctions {
    /// Whether they could be searched for.
    pub is_known: bool,
    /// How many there are.
    pub functions: u32,
    /// How many of them await no other one.
    pub waiting: u32,
    /// Rows of frames, and how many wait there.
    pub places: Vec<(u32, u32)>,
    /// What awaits what.
    pub chains: Vec<WaitingChain>,
    /// So much memory was searched.
    pub bytes: u64,
    /// Whether that was not all.
    pub is_cut: bool,
}

/// Functions that wait at the same places for each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitingChain {
    /// How many such chains there are.
    pub count: u32,
    /// Rows of frames, the innermost first.
    pub rows: Vec<u32>,
    /// Why there are no more, by the number of the reason.
    pub end: u8,
}

/// What stands in the way, and what to type about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// What happened, and why.
    pub what: String,
    /// The command to type next.
    pub hint: String,
}

/// No message is longer: a length beyond it is made up.
const MOST_BYTES: usize = 1 << 30;

impl Message {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Output(vec![0; 4]);
        match self {
            Self::Read(order) => out.kind(0).read_order(order),
            Self::Records(records) => out.kind(1).bytes(records),
            Self::Look(order) => {
                let depth = DEPTHS.iter().position(|depth| *depth == order.depth).unwrap_or(0);
                out.kind(2)
                    .u32(order.pid)
                    .bytes(order.name.as_bytes())
                    .u8(depth as u8)
                    .u32(order.next_row)
                    .u8(order.wants_suspended.into())
            }
            Self::Close(pid) => out.kind(3).u32(*pid),
            Self::Released => out.kind(4),
            Self::Batch(batch) => {
                let Batch { records, samples, next_row, trying, taken } = batch;
                out.kind(5).u32(*samples).u32(*next_row).u32(*trying).u64(*taken).bytes(records)
            }
            Self::Alive => out.kind(6),
            Self::Frame(frame) => {
                let NamedFrame { row, bytes } = frame;
                out.kind(7).u32(*row).bytes(bytes)
            }
            Self::Script(script) => {
                out.kind(8).bytes(&script.name).bytes(&script.map_url).bytes(&script.text)
            }
            Self::Thread(seen) => out.kind(9).seen(seen),
            Self::Hint(hint) => {
                out.kind(10).bytes(hint.what.as_bytes()).bytes(hint.hint.as_bytes())
            }
            Self::Suspended(found) => out.kind(11).suspended(found),
        };
        let length = (out.0.len() - 4) as u32;
        out.0[..4].copy_from_slice(&length.to_le_bytes());
        out.0
    }

    /// Waits for the next one; none where the other side has ended.
    pub fn read(input: &mut impl Read) -> io::Result<Option<Self>> {
        let mut length = [0; 4];
        match input.read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            result => result?,
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MOST_BYTES {
            return Err(damaged());
        }
        let mut body = Vec::new();
        input.take(length as u64).read_to_end(&mut body)?;
        if body.len() < length {
            return Ok(None);
        }
        Self::decode(&body).map(Some).ok_or_else(damaged)
    }

    /// What follows the length.
    fn decode(body: &[u8]) -> Option<Self> {
        let mut input = Input(body);
        let message = match input.u8()? {
            0 => Self::Read(input.read_order()?),
            1 => Self::Records(input.bytes()?),
            2 => Self::Look(LookOrder {
                pid: input.u32()?,
                name: input.text()?,
                depth: *DEPTHS.get(usize::from(input.u8()?))?,
                next_row: input.u32()?,
                wants_suspended: input.bool()?,
            }),
            3 => Self::Close(input.u32()?),
            4 => Self::Released,
            5 => Self::Batch(Batch {
                samples: input.u32()?,
                next_row: input.u32()?,
                trying: input.u32()?,
                taken: input.u64()?,
                records: input.bytes()?,
            }),
            6 => Self::Alive,
            7 => Self::Frame(NamedFrame { row: input.u32()?, bytes: input.bytes()? }),
            8 => Self::Script(RanScript {
                name: input.bytes()?,
                map_url: input.bytes()?,
                text: input.bytes()?,
            }),
            9 => Self::Thread(input.seen()?),
            10 => Self::Hint(Hint { what: input.text()?, hint: input.text()? }),
            11 => Self::Suspended(input.suspended()?),
            _ => return None,
        };
        input.0.is_empty().then_some(message)
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it sent something that is not a message")
}

/// Messages out of bytes that arrive in pieces.
#[derive(Debug, Default)]
pub struct Incoming(Vec<u8>);

impl Incoming {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }

    /// The next whole message.
    pub fn next_message(&mut self) -> io::Result<Option<Message>> {
        let Some((length, rest)) = self.0.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > MOST_BYTES {
            return Err(damaged());
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message = Message::decode(body).ok_or_else(damaged)?;
        self.0.drain(..4 + length);
        Ok(Some(message))
    }
}

/// Bytes in the making.
struct Output(Vec<u8>);

impl Output {
    fn kind(&mut self, kind: u8) -> &mut Self {
        self.u8(kind)
    }

    fn u8(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
        self
    }

    fn list<T>(
        &mut self,
        rows: &[T],
        put: impl for<'a> Fn(&'a mut Self, &T) -> &'a mut Self,
    ) -> &mut Self {
        self.u32(rows.len() as u32);
        for row in rows {
            put(self, row);
        }
        self
    }

    fn option(&mut self, number: Option<u32>) -> &mut Self {
        self.u8(number.is_some().into()).u32(number.unwrap_or(0))
    }

    fn read_order(&mut self, order: &ReadOrder) -> &mut Self {
        self.bytes(order.rings.as_bytes()).list(&order.events, |out, event| out.u64(*event));
        self.u32(order.next_row).u8(order.leaves_memory.into());
        self.list(&order.excluded_tids, |out, tid| out.u32(*tid));
        self.option(order.journal.map(i32::cast_unsigned))
            .list(&order.watched, |out, pid| out.u32(*pid))
            .u32(order.pause_us)
            .u32(order.fast_pause_us)
    }

    fn suspended(&mut self, found: &SuspendedFunctions) -> &mut Self {
        self.u8(found.is_known.into()).u32(found.functions).u32(found.waiting);
        self.list(&found.places, |out, (row, count)| out.u32(*row).u32(*count));
        self.list(&found.chains, |out, chain| {
            out.u32(chain.count).u8(chain.end).list(&chain.rows, |out, row| out.u32(*row))
        });
        self.u64(found.bytes).u8(found.is_cut.into())
    }

    fn seen(&mut self, seen: &Seen) -> &mut Self {
        self.u32(seen.tid).u8(seen.is_running.into()).option(seen.syscall);
        self.list(&seen.chain, |out, (context, address)| out.u8(*context).u64(*address));
        self.u8(seen.why.is_some().into()).bytes(seen.why.as_deref().unwrap_or_default().as_bytes())
    }
}

/// Bytes that are understood.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let count = self.u32()? as usize;
        let bytes = self.0.get(..count)?.to_vec();
        self.0 = self.0.get(count..)?;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?).ok()
    }

    fn option(&mut self) -> Option<Option<u32>> {
        let (is_some, number) = (self.bool()?, self.u32()?);
        Some(is_some.then_some(number))
    }

    /// A made-up count ends where the bytes do.
    fn list<T>(&mut self, row: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut rows = Vec::new();
        for _ in 0..self.u32()? {
            rows.push(row(self)?);
        }
        Some(rows)
    }

    fn read_order(&mut self) -> Option<ReadOrder> {
        Some(ReadOrder {
            rings: self.text()?,
            events: self.list(Self::u64)?,
            next_row: self.u32()?,
            leaves_memory: self.bool()?,
            excluded_tids: self.list(Self::u32)?,
            journal: self.option()?.map(u32::cast_signed),
            watched: self.list(Self::u32)?,
            pause_us: self.u32()?,
            fast_pause_us: self.u32()?,
        })
    }

    fn suspended(&mut self) -> Option<SuspendedFunctions> {
        let chain = |input: &mut Self| {
            let (count, end) = (input.u32()?, input.u8()?);
            Some(WaitingChain { count, end, rows: input.list(Self::u32)? })
        };
        Some(SuspendedFunctions {
            is_known: self.bool()?,
            functions: self.u32()?,
            waiting: self.u32()?,
            places: self.list(|input| Some((input.u32()?, input.u32()?)))?,
            chains: self.list(chain)?,
            bytes: self.u64()?,
            is_cut: self.bool()?,
        })
    }

    fn seen(&mut self) -> Option<Seen> {
        let (tid, is_running, syscall) = (self.u32()?, self.bool()?, self.option()?);
        let chain = self.list(|input| Some((input.u8()?, input.u64()?)))?;
        let (has_why, why) = (self.bool()?, self.text()?);
        Some(Seen { tid, is_running, syscall, chain, why: has_why.then_some(why) })
    }
}

#[cfg(test)]
mod tests;
