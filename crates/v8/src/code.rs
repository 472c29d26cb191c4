//! Machine code: from an instruction to the code object around it, what compiled it, which function it is, and what
//! was inlined. Nothing in a code space marks where objects start, so the search goes back from the instruction, to
//! the header whose code object points back and covers it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::heap::{Heap, Object, untagged};
use crate::layout::OBJECT_BYTES;
use crate::name::Tier;
use crate::positions::{Position, Positions};
use crate::reason::Reason;

/// One piece of machine code.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// The code object.
    object: Object,
    /// Its header in front of the instructions.
    stream: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// `None` when it is no function's.
    pub(crate) tier: Option<Tier>,
    /// Whether it is a wrapper around a WebAssembly function that JavaScript calls.
    pub(crate) is_js_to_wasm: bool,
    /// Deoptimisation data, or the bytecode of baseline code.
    pub(crate) data: u64,
    /// Source positions, or the offsets of baseline code.
    table: u64,
    batch: u64,
    /// The number of the script that its tables were read for.
    script_id: u64,
    /// Decoded when first asked for.
    positions: Option<Arc<Positions>>,
    offsets: Option<Arc<[u8]>>,
    /// Where the way to its function led last time.
    way: [u64; 3],
}

/// The code that was found so far, by its first instruction.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    found: BTreeMap<u64, Code>,
    /// Instructions without code, in this batch.
    absent: Vec<u64>,
}

/// One function inside another's code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inlining {
    pub(crate) shared: Object,
    /// Where its caller calls it.
    pub(crate) call: Position,
}

/// The largest function that is looked for.
const FARTHEST: u64 = 2 << 20;
const FIRST_PIECE: u64 = 4 << 10;
const LARGEST_PIECE: u64 = 64 << 10;

/// Words that look like maps but are none, before a search gives up.
const MOST_STRANGE_WORDS: usize = 64;

const MOST_CODES: usize = 1 << 14;
const MOST_ABSENT: usize = 1 << 8;

/// Functions inlined into each other.
pub(crate) const DEEPEST_INLINING: usize = 64;
const INLINING_BYTES: usize = 16;
const THE_FUNCTION_ITSELF: u32 = u32::MAX;

impl Codes {
    pub(crate) fn begin_batch(&mut self) {
        self.absent.clear();
        if self.found.len() > MOST_CODES {
            self.found.clear();
        }
    }

    /// The code around an instruction.
    pub(crate) fn at(
        &mut self,
        heap: &mut Heap<'_>,
        pc: u64,
        batch: u64,
    ) -> Result<&mut Code, Reason> {
        let known = self.found.range(..=pc).next_back().map(|(start, code)| (*start, code.end));
        let known = known.filter(|(_, end)| pc < *end).map(|(start, _)| start);
        if let Some(start) = known
            && !self.found.get_mut(&start).is_some_and(|code| code.is_fresh(heap, batch))
        {
            self.found.remove(&start);
        }
        if known.is_none_or(|start| !self.found.contains_key(&start)) {
            self.search(heap, pc, batch)?;
        }
        let code = self.found.range_mut(..=pc).next_back().map(|(_, code)| code);
        code.filter(|code| pc < code.end).ok_or(Reason::NoCode)
    }

    /// What is known of the code around an instruction.
    pub(crate) fn known(&self, pc: u64) -> Option<&Code> {
        self.found.range(..=pc).next_back().map(|(_, code)| code).filter(|code| pc < code.end)
    }

    /// Takes nothing for granted around an instruction.
    pub(crate) fn forget(&mut self, pc: u64) {
        if let Some(start) = self.found.range(..=pc).next_back().map(|(start, _)| *start) {
            self.found.remove(&start);
        }
        self.absent.retain(|absent| *absent != pc);
    }

    fn search(&mut self, heap: &mut Heap<'_>, pc: u64, batch: u64) -> Result<(), Reason> {
        if self.absent.contains(&pc) {
            return Err(Reason::NoCode);
        }
        match search(heap, pc, batch) {
            Some(code) => {
                self.found.insert(code.start, code);
                Ok(())
            }
            None => {
                if self.absent.len() < MOST_ABSENT {
                    self.absent.push(pc);
                }
                Err(Reason::NoCode)
            }
        }
    }
}

/// Looks at every place before an instruction where a header may stand, the nearest first.
fn search(heap: &mut Heap<'_>, pc: u64, batch: u64) -> Option<Code> {
    let (header, step) = (heap.layout.code.stream_header, heap.layout.code.alignment);
    // Instructions start at multiples of `step`, so headers stand at such distances.
    let mut candidate = (pc - pc % step).checked_sub(header)?;
    let last = candidate.saturating_sub(FARTHEST);
    let mut size = FIRST_PIECE;
    let mut strange = 0;
    let mut bytes = Vec::new();
    while candidate > last {
        // A piece ends behind the candidate's first word and starts at a boundary of pages.
        let end = candidate + 8;
        let start = (end - 1 - (end - 1) % FIRST_PIECE).saturating_sub(size - FIRST_PIECE);
        bytes.resize((end - start) as usize, 0);
        if heap.memory.read(start, &mut bytes).is_err() {
            // The piece may reach into a hole before the code.
            if size == FIRST_PIECE {
                return None;
            }
            size = FIRST_PIECE;
            continue;
        }
        while candidate >= start {
            let word = bytes.get((candidate - start) as usize..)?.first_chunk()?;
            match code_behind(heap, candidate, u64::from_le_bytes(*word), batch) {
                Ok(code) if (code.start..code.end).contains(&pc) => return Some(code),
                Err(Reason::WrongType) => strange += 1,
                _ => {}
            }
            candidate = candidate.checked_sub(step).filter(|_| strange < MOST_STRANGE_WORDS)?;
        }
        size = (size * 2).min(LARGEST_PIECE);
    }
    None
}

/// The code whose header starts with a word, if that is the right map. Words that look like maps but are none are of
/// the wrong type; others are just instructions.
fn code_behind(heap: &mut Heap<'_>, header: u64, word: u64, batch: u64) -> Result<Code, Reason> {
    if word & 3 != 1 || untagged(word).is_none() {
        return Err(Reason::NoCode);
    }
    let kind = heap.kind_of_map(word).ok_or(Reason::WrongType)?;
    if kind != heap.layout.types.stream {
        return Err(Reason::NoCode);
    }
    Code::read(heap, header, batch).map_err(|_| Reason::NoCode)
}

impl Code {
    /// The code whose instructions follow a header, if both sides agree.
    fn read(heap: &mut Heap<'_>, stream: u64, batch: u64) -> Result<Self, Reason> {
        let layout = heap.layout.code.clone();
        let object = match layout.stream_code {
            Some(offset) => {
                let code = heap.word(stream + offset)?;
                heap.object_of(code, heap.layout.types.code)?
            }
            None => heap.object_of(stream | 1, heap.layout.types.code)?,
        };
        let start = stream + layout.stream_header;
        if !points_back(heap, object, stream, start)? {
            return Err(Reason::Mismatch);
        }
        let size = u64::from(heap.half(object.address + layout.size as u64)?);
        if size == 0 || size > FARTHEST {
            return Err(Reason::TooLarge);
        }
        let flags = heap.half(object.address + layout.flags as u64)?;
        let kind = flags >> layout.kind_shift & layout.kind_mask >> layout.kind_shift;
        let tier = match kind.checked_sub(layout.interpreted) {
            Some(0) => Some(Tier::Ignition),
            Some(1) => Some(Tier::Sparkplug),
            Some(2) => Some(Tier::Maglev),
            Some(3) => Some(Tier::Turbofan),
            _ => None,
        };
        Ok(Self {
            object,
            stream,
            start,
            end: start + size,
            tier,
            is_js_to_wasm: heap.layout.wasm.as_ref().is_some_and(|wasm| wasm.from_js_kind == kind),
            data: heap.field(object, layout.data)?,
            table: heap.field(object, layout.positions)?,
            batch,
            script_id: 0,
            positions: None,
            offsets: None,
            way: [0; 3],
        })
    }

    /// Looks once a batch whether it is still what was read.
    fn is_fresh(&mut self, heap: &mut Heap<'_>, batch: u64) -> bool {
        if self.batch == batch {
            return true;
        }
        let Ok(now) = Self::read(heap, self.stream, batch) else { return false };
        let is_same = (now.object, now.end, now.data, now.table)
            == (self.object, self.end, self.data, self.table);
        self.batch = batch;
        is_same
    }

    /// What will probably be read to see whether it is still the same, and which function it is.
    pub(crate) fn addresses(&self) -> [u64; 6] {
        let [data, wrapper, shared] = self.way;
        [
            self.stream,
            self.object.address,
            self.object.address + OBJECT_BYTES as u64 - 1,
            data,
            wrapper,
            shared,
        ]
    }

    /// The function that optimised code was made of.
    pub(crate) fn shared(&mut self, heap: &mut Heap<'_>) -> Result<Object, Reason> {
        let data = heap.object(self.data)?;
        let element = heap.element(data, heap.layout.code.deopt_shared)?;
        let outer = heap.object(element)?;
        let shared = if Some(outer.kind) == heap.layout.types.shared_wrapper {
            let inner = heap.word(outer.address + heap.layout.at.shared_wrapper_shared)?;
            heap.object_of(inner, heap.layout.types.shared)?
        } else {
            outer
        };
        self.way = [data.address, outer.address, shared.address];
        if shared.kind == heap.layout.types.shared { Ok(shared) } else { Err(Reason::WrongType) }
    }

    /// The bytecode of baseline code.
    pub(crate) fn bytecode(&self, heap: &mut Heap<'_>) -> Result<Object, Reason> {
        let data = heap.object(self.data)?;
        heap.bytecode_in(data)
    }

    /// Forgets what was read for a function of another script.
    pub(crate) fn belong_to(&mut self, script_id: u64) {
        if self.script_id != script_id {
            (self.positions, self.offsets) = (None, None);
            self.script_id = script_id;
        }
    }

    /// The position of an instruction of optimised code.
    pub(crate) fn position(&mut self, heap: &mut Heap<'_>, pc: u64) -> Option<Position> {
        if self.positions.is_none() {
            let bytes = heap.bytes(self.table).ok()?;
            self.positions =
                Some(Arc::new(Positions::decode(&bytes, heap.layout.unsigned_positions)));
        }
        let offset = u32::try_from(pc.checked_sub(self.start)?).ok()?;
        self.positions.as_ref()?.find(offset)
    }

    /// The table of baseline code: how long each bytecode's instructions are.
    pub(crate) fn offsets(&mut self, heap: &mut Heap<'_>) -> Option<Arc<[u8]>> {
        if self.offsets.is_none() {
            self.offsets = Some(Arc::from(heap.bytes(self.table).ok()?));
        }
        self.offsets.clone()
    }

    /// The inlined function that a position belongs to, and where it is called.
    pub(crate) fn inlining(&mut self, heap: &mut Heap<'_>, id: u32) -> Result<Inlining, Reason> {
        let layout = &heap.layout.code;
        let (literals, positions) = (layout.deopt_literals, layout.deopt_inlining);
        let data = heap.object(self.data)?;
        let positions = heap.element(data, positions)?;
        let positions = heap.bytes(positions)?;
        let entry = positions
            .get(id as usize * INLINING_BYTES..)
            .and_then(|rest| rest.first_chunk::<INLINING_BYTES>());
        let entry = entry.ok_or(Reason::Mismatch)?;
        let [p0, p1, p2, p3, p4, p5, p6, p7, f0, f1, f2, f3, ..] = *entry;
        let call = Position::from_bits(u64::from_le_bytes([p0, p1, p2, p3, p4, p5, p6, p7]));
        let function = u32::from_le_bytes([f0, f1, f2, f3]);
        if function == THE_FUNCTION_ITSELF {
            return Ok(Inlining { shared: self.shared(heap)?, call });
        }
        let literals = heap.element(data, literals)?;
        let literals = heap.object(literals)?;
        let shared = heap.element(literals, u64::from(function))?;
        let shared = heap.object_of(shared, heap.layout.types.shared)?;
        Ok(Inlining { shared, call })
    }
}

/// Whether a code object names this header and these instructions as its own.
fn points_back(heap: &mut Heap<'_>, code: Object, stream: u64, start: u64) -> Result<bool, Reason> {
    let layout = heap.layout.code.clone();
    let same_stream = match layout.stream {
        Some(offset) => untagged(heap.field(code, offset)?) == Some(stream),
        None => code.address == stream,
    };
    let same_start = match layout.start {
        Some(offset) => heap.field(code, offset)? == start,
        None => true,
    };
    Ok(same_stream && same_start)
}
