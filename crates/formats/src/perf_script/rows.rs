//! What a reader hands over: samples, and the rows of its own tables that they refer to.

use std::sync::Arc;

/// No row, in this module's own tables.
pub(super) const NONE: u32 = u32::MAX;

/// A thread as a sample's first line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawThread {
    pub(super) comm: Vec<u8>,
    pub(super) pid: Option<u32>,
    pub(super) tid: Option<u32>,
}

/// A symbol and its module, as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RawSymbol {
    pub(super) symbol: Vec<u8>,
    pub(super) module: Option<Vec<u8>>,
}

/// A frame of a call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RawFrame {
    pub(super) address: u64,
    pub(super) symbol: u32,
    pub(super) inlined: bool,
    /// A row of the source lines, or [`NONE`].
    pub(super) source_line: u32,
}

/// An event: its name and whether its samples have periods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawEvent {
    pub(super) name: Vec<u8>,
    pub(super) has_period: bool,
    pub(super) has_time: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RawSample {
    pub(super) time_ns: u64,
    pub(super) weight: u64,
    pub(super) thread: u32,
    pub(super) stack: u32,
    pub(super) event: u32,
}

/// A thread left a CPU or came back.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawSwitch {
    pub(super) time_ns: u64,
    pub(super) thread: u32,
    pub(super) out: bool,
}

/// A frame and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawStack {
    pub(super) parent: u32,
    pub(super) frame: u32,
}

/// Rows of a reader's tables.
#[derive(Default, Debug)]
pub(super) struct Rows {
    pub(super) threads: Vec<RawThread>,
    pub(super) events: Vec<RawEvent>,
    pub(super) symbols: Vec<Arc<RawSymbol>>,
    /// Files and line numbers.
    pub(super) source_lines: Vec<(Vec<u8>, u32)>,
    pub(super) frames: Vec<RawFrame>,
    pub(super) stacks: Vec<RawStack>,
}

/// What rows take with what finds them again, beside their texts: a symbol or a thread, a frame with its line, a stack.
const NAME_COST: usize = 704;
const FRAME_COST: usize = 160;
const STACK_COST: usize = 48;

impl Rows {
    /// The memory that they take here and with their reader, in bytes.
    pub(super) fn cost(&self) -> usize {
        let texts = self
            .symbols
            .iter()
            .map(|row| row.symbol.len() + row.module.as_ref().map_or(0, Vec::len));
        let texts: usize = texts.chain(self.threads.iter().map(|row| row.comm.len())).sum();
        let names =
            self.symbols.len() + self.threads.len() + self.events.len() + self.source_lines.len();
        2 * texts
            + names * NAME_COST
            + self.frames.len() * FRAME_COST
            + self.stacks.len() * STACK_COST
    }

    /// Puts a later chunk's rows behind the earlier ones.
    pub(super) fn append(&mut self, mut later: Self) {
        self.threads.append(&mut later.threads);
        self.events.append(&mut later.events);
        self.symbols.append(&mut later.symbols);
        self.source_lines.append(&mut later.source_lines);
        self.frames.append(&mut later.frames);
        self.stacks.append(&mut later.stacks);
    }
}

/// What a reader learnt from one chunk.
#[derive(Default, Debug)]
pub(super) struct ChunkData {
    pub(super) index: usize,
    /// The rows that this chunk was the first to need.
    pub(super) new_rows: Rows,
    pub(super) samples: Vec<RawSample>,
    pub(super) switches: Vec<RawSwitch>,
    pub(super) comments: Vec<Vec<u8>>,
    pub(super) lost: u64,
    pub(super) throttled: u64,
    pub(super) lines: u64,
    pub(super) skipped: u64,
    /// The first line that was not understood: its number in the chunk, and its text.
    pub(super) first_skipped: Option<(u64, Vec<u8>)>,
    pub(super) cut_off: bool,
    /// Whether the chunk ended inside its last sample, at the end of a line.
    pub(super) unclosed: bool,
}
