//! Frames that V8 itself named while they ran: the parts of their names, and how these become bytes and parts again.
//! One encoder and one decoder, side by side. Every text has its length in front, so that it may hold anything; numbers
//! are little-endian on every machine. What does not fit into one record of a recording goes into several.

/// The rows of [`JavaScript`] from here on are system calls in which a thread slept, by their numbers.
pub const FIRST_SYSTEM_CALL_ROW: u32 = 0xffff_0000;

/// A frame that V8 itself named while it ran. Frames refer to it by `row`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JavaScript<'a> {
    /// Its place among all such frames, from 0.
    pub row: u32,
    /// What ran.
    pub name: FrameName<'a>,
    /// The line that ran, from 1; 0 when not known.
    pub line: u32,
    /// The column that ran, from 1; 0 when not known.
    pub column: u32,
    /// Whether the compiler put it inside its caller.
    pub inlined: bool,
}

/// What ran in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameName<'a> {
    /// A function.
    Function {
        /// Its number: functions and frames share one count, and no two have the same number.
        row: u32,
        /// What runs it.
        tier: Tier,
        /// The function itself, in the first frame that has it.
        function: Option<Function<'a>>,
    },
    /// A name that has no parts: of a system call. Recordings of older versions have all names in this form, as a perf
    /// map spells them: `JS:*handle /srv/app.js:12:3`.
    Symbol(&'a [u8]),
}

/// A function, as V8's heap describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its own name, else what V8 calls it after where it is assigned to; may be empty.
    pub name: &'a [u8],
    /// The script's path or URL; `None` for code from `eval` and `new Function`. Of WebAssembly, V8's name for the
    /// module.
    pub script: Option<&'a [u8]>,
    /// Of code from `eval` and `new Function`: the script that generated it, where that is known.
    pub generator: Option<&'a [u8]>,
    /// The line of its start, from 1; 0 when not known.
    pub line: u32,
    /// The column of its start, from 1; 0 when not known.
    pub column: u32,
    /// What it is.
    pub kind: FunctionKind,
}

/// What kind of function it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// JavaScript.
    JavaScript,
    /// WebAssembly.
    Wasm {
        /// Its number in its module; `None` where no more is known than that it is WebAssembly.
        index: Option<u32>,
    },
    /// V8's wrapper around a JavaScript function that WebAssembly calls.
    WasmToJs,
    /// V8's wrapper around a WebAssembly function that JavaScript calls.
    JsToWasm,
    /// A regular expression; its name is the pattern.
    Regexp,
}

/// What runs a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Not known.
    Unmarked,
    /// The interpreter.
    Ignition,
    /// The baseline compiler.
    Sparkplug,
    /// The compiler between baseline and TurboFan.
    Maglev,
    /// The optimising compiler.
    Turbofan,
    /// WebAssembly's baseline compiler.
    Liftoff,
    /// WebAssembly's optimising compiler.
    WasmTurbofan,
}

/// A tier's number is its place.
const TIERS: [Tier; 7] = [
    Tier::Unmarked,
    Tier::Ignition,
    Tier::Sparkplug,
    Tier::Maglev,
    Tier::Turbofan,
    Tier::Liftoff,
    Tier::WasmTurbofan,
];

/// The numbers of kinds.
mod kind {
    pub(super) const JAVASCRIPT: u8 = 0;
    pub(super) const WASM: u8 = 1;
    pub(super) const WASM_TO_JS: u8 = 2;
    pub(super) const JS_TO_WASM: u8 = 3;
    pub(super) const REGEXP: u8 = 4;
}

/// Bits of a frame.
const INLINED: u8 = 1;
const HAS_FUNCTION: u8 = 2;

/// Stands for a number or a text that there is none of.
const NONE: u32 = u32::MAX;

/// Longer texts are cut: 64 Ki characters of V8 have at most 192 KiB.
const LONGEST_TEXT: usize = 192 << 10;

/// The bytes of a frame that has a function; none for a name without parts.
pub fn encode(frame: &JavaScript<'_>) -> Vec<u8> {
    let FrameName::Function { row, tier, function } = frame.name else { return Vec::new() };
    let mut out = Vec::with_capacity(64);
    for number in [frame.row, row, frame.line, frame.column] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let tier = TIERS.iter().position(|known| *known == tier).unwrap_or(0) as u8;
    let inlined = if frame.inlined { INLINED } else { 0 };
    out.extend_from_slice(&[tier, inlined | if function.is_some() { HAS_FUNCTION } else { 0 }]);
    if let Some(function) = function {
        encode_function(&function, &mut out);
    }
    out
}

fn encode_function(function: &Function<'_>, out: &mut Vec<u8>) {
    let (kind, index) = match function.kind {
        FunctionKind::JavaScript => (kind::JAVASCRIPT, None),
        FunctionKind::Wasm { index } => (kind::WASM, index),
        FunctionKind::WasmToJs => (kind::WASM_TO_JS, None),
        FunctionKind::JsToWasm => (kind::JS_TO_WASM, None),
        FunctionKind::Regexp => (kind::REGEXP, None),
    };
    out.push(kind);
    for number in [index.unwrap_or(NONE), function.line, function.column] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for text in [Some(function.name), function.script, function.generator] {
        let text = text.map(|text| text.get(..LONGEST_TEXT).unwrap_or(text));
        let length = text.map_or(NONE, |text| text.len() as u32);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(text.unwrap_or_default());
    }
}

/// What [`encode`] wrote; `None` where the bytes are cut off or damaged.
pub fn decode(bytes: &[u8]) -> Option<JavaScript<'_>> {
    let mut bytes = Bytes(bytes);
    let (row, function_row, line, column) =
        (bytes.number()?, bytes.number()?, bytes.number()?, bytes.number()?);
    let tier = *TIERS.get(usize::from(bytes.byte()?))?;
    let flags = bytes.byte()?;
    let function =
        if flags & HAS_FUNCTION != 0 { Some(decode_function(&mut bytes)?) } else { None };
    let name = FrameName::Function { row: function_row, tier, function };
    Some(JavaScript { row, name, line, column, inlined: flags & INLINED != 0 })
}

fn decode_function<'a>(bytes: &mut Bytes<'a>) -> Option<Function<'a>> {
    let (kind, index) = (bytes.byte()?, bytes.number()?);
    let kind = match kind {
        kind::JAVASCRIPT => FunctionKind::JavaScript,
        kind::WASM => FunctionKind::Wasm { index: (index != NONE).then_some(index) },
        kind::WASM_TO_JS => FunctionKind::WasmToJs,
        kind::JS_TO_WASM => FunctionKind::JsToWasm,
        kind::REGEXP => FunctionKind::Regexp,
        _ => return None,
    };
    let (line, column) = (bytes.number()?, bytes.number()?);
    let (name, script, generator) = (bytes.text()??, bytes.text()?, bytes.text()?);
    Some(Function { name, script, generator, line, column, kind })
}

/// What is left to decode.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    /// A text, if there is one; `None` where it is cut off.
    fn text(&mut self) -> Option<Option<&'a [u8]>> {
        let length = self.number()?;
        if length == NONE {
            return Some(None);
        }
        let (text, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(Some(text))
    }
}

/// What fits into a record.
const PART_BYTES: usize = 48 << 10;

/// Marks of a part.
const FIRST: u16 = 1;
const LAST: u16 = 2;

/// Cuts bytes into parts that fit into a record, each with its marks.
pub fn parts(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let count = bytes.len().div_ceil(PART_BYTES);
    bytes.chunks(PART_BYTES).enumerate().map(move |(at, part)| {
        let first = if at == 0 { FIRST } else { 0 };
        let last = if at + 1 == count { LAST } else { 0 };
        (first | last, part)
    })
}

/// Puts parts together again.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    bytes: Vec<u8>,
    is_open: bool,
}

/// More than a frame ever has.
const MOST_BYTES: usize = 1 << 20;

impl Parts {
    /// Takes a part and its marks; gives all bytes after the last. What has no beginning or is too long is left out.
    pub fn take(&mut self, marks: u16, part: &[u8]) -> Option<&[u8]> {
        if marks & FIRST != 0 {
            self.bytes.clear();
            self.is_open = true;
        }
        self.is_open &= self.bytes.len().saturating_add(part.len()) <= MOST_BYTES;
        if !self.is_open {
            self.bytes.clear();
            return None;
        }
        self.bytes.extend_from_slice(part);
        if marks & LAST == 0 {
            return None;
        }
        self.is_open = false;
        Some(&self.bytes)
    }
}

#[cfg(test)]
mod tests;
