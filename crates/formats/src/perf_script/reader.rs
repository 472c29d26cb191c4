//! Reads chunks of `perf script` text into samples that refer to tables of this reader's own. Several
//! readers work side by side; [`super::merge`] joins what they saw. Texts stay bytes here and are named only
//! once, when they are joined.

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

use super::frame::{self, FrameWords, SourceLine};
use super::header::{self, Header, ThreadWords};
use super::lines::{LineId, Lines, Meaning};
use super::recent::RecentHeaders;
use super::rows::{
    ChunkData, NONE, RawEvent, RawFrame, RawSample, RawStack, RawSwitch, RawSymbol, RawThread, Rows,
};

/// perf's own header has some thirty lines.
const MOST_COMMENTS: usize = 1000;

/// The frames of all chains, with what they refer to.
#[derive(Default)]
struct FrameTable {
    symbols: Vec<Arc<RawSymbol>>,
    symbol_index: HashTable<u32>,
    source_lines: Vec<(Vec<u8>, u32)>,
    frames: Vec<RawFrame>,
    placed: FxHashMap<(u32, u32), u32>,
}

#[derive(Default)]
pub(super) struct Reader {
    lines: Lines,
    threads: Vec<RawThread>,
    thread_index: HashTable<u32>,
    frames: FrameTable,
    events: Vec<RawEvent>,
    /// The rows of each name: without and with time, without and with period.
    event_index: FxHashMap<Vec<u8>, [u32; 4]>,
    stacks: Vec<RawStack>,
    stack_index: HashTable<u32>,
    /// For each stack the frame that was called last from it, and its stack: the best guess for the next time.
    last_called: Vec<(u32, u32)>,
    /// The call chain that is being read, its leaf first.
    chain: Vec<u32>,
    /// What each thread ran last.
    last_chains: Vec<LastChain>,
    last_thread: u32,
    recent: RecentHeaders,
    /// How many rows the chunks so far have carried.
    handed_over: RowCounts,
}

/// How many rows each table has.
#[derive(Default)]
struct RowCounts {
    threads: usize,
    events: usize,
    symbols: usize,
    source_lines: usize,
    frames: usize,
    stacks: usize,
}

/// A thread's last call chain, and the stack at each depth from the root.
#[derive(Default)]
struct LastChain {
    frames: Vec<u32>,
    stacks: Vec<u32>,
}

/// The sample whose call chain is being read.
#[derive(Clone, Copy)]
struct Open {
    sample: RawSample,
    last_line: Option<LineId>,
}

impl FrameTable {
    /// What a line of a call chain means, when it is seen for the first time.
    fn read(&mut self, line: &[u8]) -> Meaning {
        if let Some(words) = frame::parse(line) {
            let symbol = self.symbol(words.symbol, words.module);
            let FrameWords { address, inlined, .. } = words;
            self.frames.push(RawFrame { address, symbol, inlined, source_line: NONE });
            return Meaning::Frame(last_row(&self.frames));
        }
        match frame::parse_source_line(line) {
            Some(SourceLine::At(file, number)) => {
                self.source_lines.push((file.to_vec(), number));
                Meaning::SourceLine(last_row(&self.source_lines))
            }
            Some(SourceLine::Nothing) => Meaning::Nothing,
            None => Meaning::Unknown,
        }
    }

    fn symbol(&mut self, symbol: &[u8], module: Option<&[u8]>) -> u32 {
        let symbols = &mut self.symbols;
        let hash = FxBuildHasher.hash_one((symbol, module));
        let is = |row: &RawSymbol| row.symbol == symbol && row.module.as_deref() == module;
        if let Some(&id) = self.symbol_index.find(hash, |&id| is(&symbols[id as usize])) {
            return id;
        }
        symbols.push(Arc::new(RawSymbol {
            symbol: symbol.to_vec(),
            module: module.map(<[u8]>::to_vec),
        }));
        let hash_of = |&id: &u32| {
            let RawSymbol { symbol, module } = &*symbols[id as usize];
            FxBuildHasher.hash_one((symbol.as_slice(), module.as_deref()))
        };
        *self.symbol_index.insert_unique(hash, last_row(symbols), hash_of).get()
    }

    /// The same frame, at a source line.
    fn placed(&mut self, frame: u32, source_line: u32) -> u32 {
        let frames = &mut self.frames;
        *self.placed.entry((frame, source_line)).or_insert_with(|| {
            frames.push(RawFrame { source_line, ..frames[frame as usize] });
            last_row(frames)
        })
    }
}

impl Reader {
    /// A reader with room for a minute of a busy Node.
    pub(super) fn new() -> Self {
        let (lines, stacks) = (1 << 14, 1 << 15);
        Self {
            lines: Lines::with_capacity(lines),
            frames: FrameTable { frames: Vec::with_capacity(lines), ..FrameTable::default() },
            stacks: Vec::with_capacity(stacks),
            stack_index: HashTable::with_capacity(stacks),
            last_called: Vec::with_capacity(stacks),
            ..Self::default()
        }
    }

    /// Reads a chunk of whole samples.
    pub(super) fn read(&mut self, index: usize, text: &[u8]) -> ChunkData {
        let mut data = ChunkData { index, ..ChunkData::default() };
        let mut open: Option<Open> = None;
        let mut at = 0;
        while at < text.len() {
            if let Some(Open { last_line: Some(line), .. }) = &mut open {
                at += self.follow_guesses(line, &text[at..], &mut data.lines);
            }
            let rest = &text[at..];
            if rest.is_empty() {
                break;
            }
            data.lines += 1;
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
            self.read_line(&rest[..end], &mut open, &mut data);
            at += end;
        }
        data.unclosed = !self.chain.is_empty() && text.ends_with(b"\n");
        self.close(&mut open, &mut data);
        data.new_rows = self.new_rows();
        data
    }

    /// The rows that no chunk has carried yet.
    fn new_rows(&mut self) -> Rows {
        let FrameTable { symbols, source_lines, frames, .. } = &self.frames;
        let now = RowCounts {
            threads: self.threads.len(),
            events: self.events.len(),
            symbols: symbols.len(),
            source_lines: source_lines.len(),
            frames: frames.len(),
            stacks: self.stacks.len(),
        };
        let before = std::mem::replace(&mut self.handed_over, now);
        Rows {
            threads: self.threads[before.threads..].to_vec(),
            events: self.events[before.events..].to_vec(),
            symbols: symbols[before.symbols..].to_vec(),
            source_lines: source_lines[before.source_lines..].to_vec(),
            frames: frames[before.frames..].to_vec(),
            stacks: self.stacks[before.stacks..].to_vec(),
        }
    }

    /// Takes frames as long as each line is followed by the one that followed it the last time: nine of ten
    /// lines go this way. Returns how many bytes were taken.
    fn follow_guesses(&mut self, line: &mut LineId, text: &[u8], lines: &mut u64) -> usize {
        let mut at = 0;
        while let Some((next, length)) = self.lines.guess(*line, &text[at..]) {
            let Meaning::Frame(frame) = self.lines.meaning(next) else { break };
            self.chain.push(frame);
            *line = next;
            *lines += 1;
            at += length;
        }
        at
    }

    fn read_line(&mut self, line: &[u8], open: &mut Option<Open>, data: &mut ChunkData) {
        match line[0] {
            b'\n' => self.close(open, data),
            b'\r' if line == b"\r\n" => self.close(open, data),
            b'#' if data.comments.len() < MOST_COMMENTS => {
                data.comments.push(line.trim_ascii_end().to_vec());
            }
            b'#' => {}
            b'\t' | b' ' if open.is_some() => self.read_chain_line(line, open, data),
            // Texts whose indentation was lost on the way.
            _ if open.is_some() && is_whole_frame(line) => self.read_chain_line(line, open, data),
            _ => self.read_header(line, open, data),
        }
    }

    fn read_chain_line(&mut self, line: &[u8], open: &mut Option<Open>, data: &mut ChunkData) {
        if !line.ends_with(b"\n") && !line.ends_with(b")") {
            data.cut_off = true;
            return;
        }
        let Reader { lines, frames, .. } = self;
        let id = lines.find_or_insert(line, |line| frames.read(line));
        if let Some(Open { last_line, .. }) = open {
            if lines.meaning(id) == Meaning::Unknown && header::parse(line).is_some() {
                return self.read_header(line, open, data);
            }
            if let Some(last) = last_line.filter(|_| line.ends_with(b"\n")) {
                lines.set_follower(last, id);
            }
        }
        self.take_chain_line(id, open, data, line);
    }

    fn take_chain_line(
        &mut self,
        line: LineId,
        open: &mut Option<Open>,
        data: &mut ChunkData,
        text: &[u8],
    ) {
        if let Some(open) = open {
            open.last_line = Some(line);
        }
        match self.lines.meaning(line) {
            Meaning::Frame(frame) => self.chain.push(frame),
            Meaning::SourceLine(place) => {
                if let Some(last) = self.chain.last_mut() {
                    *last = self.frames.placed(*last, place);
                }
            }
            Meaning::Nothing => {}
            Meaning::Unknown => skip(data, text),
        }
    }

    fn read_header(&mut self, line: &[u8], open: &mut Option<Open>, data: &mut ChunkData) {
        if let Some(sample) = self.recent.find(line) {
            self.close(open, data);
            *open = Some(Open { sample, last_line: None });
            return;
        }
        let Some(header) = header::parse(line) else { return skip(data, line) };
        if header.record().is_some() {
            return self.read_record(&header, data);
        }
        self.close(open, data);
        let sample = RawSample {
            time_ns: header.time_ns.unwrap_or(0),
            weight: header.period.unwrap_or(0).max(1),
            thread: self.thread(&header.thread),
            stack: NONE,
            event: self.event(&header),
        };
        if let Some(words) = frame::parse(header.rest).filter(|words| words.module.is_some()) {
            // One line is the whole sample. Its frame is handled like all others.
            let mut text = b"\t".to_vec();
            text.extend_from_slice(header.rest);
            text.push(b'\n');
            debug_assert!(frame::parse(&text) == Some(words));
            let mut whole = Some(Open { sample, last_line: None });
            self.read_chain_line(&text, &mut whole, data);
            return self.close(&mut whole, data);
        }
        self.recent.remember(line, &sample);
        *open = Some(Open { sample, last_line: None });
    }

    fn read_record(&mut self, header: &Header<'_>, data: &mut ChunkData) {
        let words = String::from_utf8_lossy(header.event);
        let last_number =
            || words.split_whitespace().next_back().and_then(|word| word.parse::<u64>().ok());
        match header.record().unwrap_or_default() {
            "PERF_RECORD_LOST" | "PERF_RECORD_LOST_SAMPLES" => {
                data.lost = data.lost.saturating_add(last_number().unwrap_or(1));
            }
            "PERF_RECORD_THROTTLE" => data.throttled += 1,
            "PERF_RECORD_SWITCH" | "PERF_RECORD_SWITCH_CPU_WIDE" => {
                let thread = self.thread(&header.thread);
                let out = words.split_whitespace().nth(1) == Some("OUT");
                data.switches.extend(header.time_ns.map(|time_ns| RawSwitch {
                    time_ns,
                    thread,
                    out,
                }));
            }
            _ => {}
        }
    }

    /// Ends the open sample: its chain becomes a stack.
    fn close(&mut self, open: &mut Option<Open>, data: &mut ChunkData) {
        if let Some(Open { mut sample, .. }) = open.take() {
            sample.stack = self.stack_of_chain(sample.thread);
            data.samples.push(sample);
        }
    }

    /// The stack of the chain. A thread's neighbouring samples share their callers, so the search starts
    /// where the chain leaves the one before.
    fn stack_of_chain(&mut self, thread: u32) -> u32 {
        let mut last = std::mem::take(&mut self.last_chains[thread as usize]);
        let chains = self.chain.iter().rev().zip(last.frames.iter().rev());
        let shared = chains.take_while(|(a, b)| a == b).count();
        last.stacks.truncate(shared);
        let mut stack = last.stacks.last().copied().unwrap_or(NONE);
        for row in (0..self.chain.len() - shared).rev() {
            stack = self.stack(stack, self.chain[row]);
            last.stacks.push(stack);
        }
        std::mem::swap(&mut self.chain, &mut last.frames);
        self.chain.clear();
        self.last_chains[thread as usize] = last;
        stack
    }

    fn stack(&mut self, parent: u32, frame: u32) -> u32 {
        if let Some(guess) = self.last_called.get(parent as usize).filter(|guess| guess.0 == frame)
        {
            return guess.1;
        }
        let stacks = &mut self.stacks;
        let hash_of = |stack: &RawStack| FxBuildHasher.hash_one((stack.parent, stack.frame));
        let stack = RawStack { parent, frame };
        let found = self.stack_index.find(hash_of(&stack), |&id| stacks[id as usize] == stack);
        let id = match found {
            Some(&id) => id,
            None => {
                stacks.push(stack);
                self.last_called.push((NONE, NONE));
                let hash_of_row = |&id: &u32| hash_of(&stacks[id as usize]);
                *self
                    .stack_index
                    .insert_unique(hash_of(&stack), last_row(stacks), hash_of_row)
                    .get()
            }
        };
        if let Some(guess) = self.last_called.get_mut(parent as usize) {
            *guess = (frame, id);
        }
        id
    }

    fn thread(&mut self, words: &ThreadWords<'_>) -> u32 {
        let is = |thread: &RawThread| {
            thread.tid == words.tid && thread.pid == words.pid && thread.comm == words.comm
        };
        let threads = &mut self.threads;
        if threads.get(self.last_thread as usize).is_some_and(is) {
            return self.last_thread;
        }
        let hash = FxBuildHasher.hash_one(words);
        let found = self.thread_index.find(hash, |&id| is(&threads[id as usize])).copied();
        self.last_thread = found.unwrap_or_else(|| {
            let ThreadWords { comm, pid, tid } = *words;
            threads.push(RawThread { comm: comm.to_vec(), pid, tid });
            self.last_chains.push(LastChain::default());
            let id = last_row(threads);
            self.thread_index.insert_unique(hash, id, |&id| {
                let RawThread { comm, pid, tid } = &threads[id as usize];
                FxBuildHasher.hash_one(ThreadWords { comm, pid: *pid, tid: *tid })
            });
            id
        });
        self.last_thread
    }

    fn event(&mut self, header: &Header<'_>) -> u32 {
        let (has_period, has_time) = (header.period.is_some(), header.time_ns.is_some());
        let form = usize::from(has_period) * 2 + usize::from(has_time);
        if let Some(forms) = self.event_index.get(header.event)
            && forms[form] != NONE
        {
            return forms[form];
        }
        self.events.push(RawEvent { name: header.event.to_vec(), has_period, has_time });
        let id = last_row(&self.events);
        self.event_index.entry(header.event.to_vec()).or_insert([NONE; 4])[form] = id;
        id
    }
}

fn is_whole_frame(line: &[u8]) -> bool {
    line[0].is_ascii_hexdigit()
        && frame::parse(line).is_some_and(|words| words.module.is_some() || words.inlined)
}

fn skip(data: &mut ChunkData, line: &[u8]) {
    data.skipped += 1;
    if data.first_skipped.is_none() {
        let end = memchr::memchr(b'\n', line).unwrap_or(line.len()).min(200);
        data.first_skipped = Some((data.lines, line[..end].to_vec()));
    }
}

/// Tables stay below `u32::MAX` rows: an input would need hundreds of gigabytes of distinct lines.
fn last_row<Row>(rows: &[Row]) -> u32 {
    u32::try_from(rows.len() - 1).unwrap_or(NONE - 1)
}
