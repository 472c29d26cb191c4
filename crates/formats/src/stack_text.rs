//! What all texts of already named stacks share: frames are split off lines, named once, and added with a
//! count. No times, no addresses.

use std::io::{self, BufRead, BufReader, Read};

use profile::{
    Budget, Builder, FrameId, LaneId, LaneInfo, ModuleId, Process, Profile, Role, Sample, StackId,
    Thread, ThreadId, Unit,
};
use rustc_hash::FxHashMap;

use naming::add::{self, Written};
use naming::finish::{infer_roles, settle_quality};

/// A line longer than this is no text.
const LINE_LIMIT: u64 = 16 << 20;

/// Stands for the names of a line for which there is no memory left.
const LEFT_OUT: &str = "(left out)";

/// What a name takes in the table that finds it again, beside its letters.
const NAME_COST: usize = 96;

/// A frame of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TextFrame<'a> {
    /// The name to read the meaning from.
    pub(crate) name: &'a str,
    /// The binary, where the text has it.
    pub(crate) module: Option<&'a str>,
    /// How folded output spells it.
    pub(crate) symbol: &'a str,
}

/// Collects stacks with counts.
pub(crate) struct StackText {
    builder: Builder,
    lane: LaneId,
    threads: FxHashMap<(String, Option<u32>), ThreadId>,
    frames: FxHashMap<String, FrameId>,
}

impl StackText {
    pub(crate) fn new(format: &str, budget: &Budget) -> Self {
        let mut builder = Builder::within(budget);
        builder.meta().format = format.to_owned();
        let lane = LaneInfo { name: "samples", unit: Unit::Count, timed: false, counted: false };
        let lane = builder.lane(lane);
        Self { builder, lane, threads: FxHashMap::default(), frames: FxHashMap::default() }
    }

    /// The row of a frame. Frames are distinguished by their spelling.
    pub(crate) fn frame(&mut self, frame: &TextFrame<'_>) -> FrameId {
        if let Some(&id) = self.frames.get(frame.symbol) {
            return id;
        }
        if self.builder.budget().is_full() && frame.symbol != LEFT_OUT {
            return self.frame(&TextFrame { name: LEFT_OUT, module: None, symbol: LEFT_OUT });
        }
        let builder = &mut self.builder;
        let named = naming::name(frame.name, frame.module);
        let module = frame.module.map_or(ModuleId::NONE, |name| builder.module(name, None));
        let written = Written { symbol: frame.symbol, inlined: frame.symbol.ends_with("_[i]") };
        let id = add::frame(builder, &named, module, &written);
        self.builder.budget().take(frame.symbol.len() + NAME_COST);
        self.frames.insert(frame.symbol.to_owned(), id);
        id
    }

    /// Adds a stack, its root first.
    pub(crate) fn add(
        &mut self,
        comm: &str,
        pid: Option<u32>,
        frames: impl Iterator<Item = FrameId>,
        count: u64,
    ) {
        let thread = self.thread(comm, pid);
        let builder = &mut self.builder;
        let stack = frames.fold(StackId::NONE, |stack, frame| builder.stack(stack, frame));
        builder.sample(self.lane, Sample { time_ns: 0, thread, stack, weight: count });
    }

    fn thread(&mut self, comm: &str, pid: Option<u32>) -> ThreadId {
        let builder = &mut self.builder;
        *self.threads.entry((comm.to_owned(), pid)).or_insert_with(|| {
            let process = Process { pid, ..Process::default() };
            let process = builder.process(process);
            let name = builder.string(comm);
            builder.thread(Thread { process, tid: None, name, role: Role::Other })
        })
    }

    /// Counts a line that was not understood.
    pub(crate) fn skip(&mut self, number: u64, line: &str) {
        let losses = &mut self.builder.meta().losses;
        if losses.skipped == 0 {
            let start: String = line.trim().chars().take(120).collect();
            losses.damage.push(format!("line {number} was not understood: “{start}”"));
        }
        losses.skipped += 1;
    }

    pub(crate) fn damage(&mut self, sentence: String) {
        self.builder.meta().losses.damage.push(sentence);
    }

    pub(crate) fn finish(mut self) -> Profile {
        infer_roles(&mut self.builder);
        settle_quality(&mut self.builder);
        self.builder.finish()
    }
}

/// Hands each line to `take` with its number, without its end. A stream that breaks ends there; a sentence
/// about that is returned.
pub(crate) fn each_line(input: impl Read, mut take: impl FnMut(u64, &str)) -> Option<String> {
    let mut input = BufReader::with_capacity(1 << 20, input);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        match input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => take(number, String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n'])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Some(format!("damaged at line {number}: {error}")),
        }
    }
    None
}
