//! Follows a log line by line: keeps the map of code, and turns ticks into stacks with what stands there at
//! that moment. Events that concern neither time nor code are ignored.

use memchr::memmem;
use naming::addresses::{Library, LibraryNamer};
use profile::{Budget, Profile};

use super::code::{CodeMap, Found};
use super::fields::{Fields, code_text, frame_address};
use super::lines::Line;
use super::stacks::{RawFrame, RawFrameId};
use super::states::{NEWEST, Version, state};
use super::ticks::Ticks;

/// What every log starts with.
const VERSION: &[u8] = b"v8-version,";

/// What a piece of code takes beside its name.
const CODE_COST: usize = 160;

/// The script that Node starts a worker with, in whichever folder of its version.
const WORKER_SCRIPT: &str = "internal/main/worker_thread";

/// The state of a log that is being read.
pub(super) struct Reader {
    ticks: Ticks,
    map: CodeMap,
    version: Version,
    has_version: bool,
    frames: Vec<RawFrameId>,
}

impl Reader {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            ticks: Ticks::new("V8 --prof log", budget),
            map: CodeMap::default(),
            version: NEWEST,
            has_version: false,
            frames: Vec::new(),
        }
    }

    /// Reads a line. Where one log ended inside a line and another was put behind it, these are two: inside a
    /// text V8 writes no comma.
    pub(super) fn take(&mut self, line: &Line<'_>) {
        match memmem::find(line.text, VERSION).filter(|start| *start > 0) {
            Some(start) => {
                let (end, text) = line.text.split_at(start);
                self.take_one(&Line { number: line.number, text: end, is_whole: false });
                self.take_one(&Line { text, ..*line });
            }
            None => self.take_one(line),
        }
    }

    fn take_one(&mut self, line: &Line<'_>) {
        let mut fields = Fields::of(line.text);
        let tag = fields.next().unwrap_or_default();
        let Some((_, event)) = EVENTS.iter().find(|(name, _)| name.as_bytes() == tag) else {
            if !is_tag(tag) && !line.text.trim_ascii().is_empty() {
                self.skip(line, "was not understood");
            }
            return;
        };
        if !line.is_whole {
            self.skip(line, "is cut off");
        } else if event(self, fields).is_none() {
            self.skip(line, "was not understood");
        }
    }

    pub(super) fn finish(mut self, broken: Option<String>, namer: &dyn LibraryNamer) -> Profile {
        self.ticks.builder.meta().losses.damage.extend(broken);
        self.ticks.finish(namer)
    }

    fn skip(&mut self, line: &Line<'_>, what: &str) {
        let losses = &mut self.ticks.builder.meta().losses;
        if losses.skipped == 0 {
            let text = String::from_utf8_lossy(&line.text[..line.text.len().min(480)]);
            let start: String = text.trim().chars().take(120).collect();
            losses.damage.push(format!("line {} {what}: “{start}”", line.number));
        }
        losses.skipped += 1;
    }

    /// The first line of an isolate's log: `v8-version,12,4,254,21,-node.57,0`.
    fn read_version(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let numbers = [fields.number()?, fields.number()?, fields.number()?, fields.number()?];
        let embedder = fields.text().filter(|text| text.starts_with('-')).unwrap_or_default();
        let numbers_text = numbers.map(|number| number.to_string()).join(".");
        if self.has_version {
            self.ticks.start_isolate();
            self.map = CodeMap::default();
        }
        self.has_version = true;
        self.version = (numbers[0], numbers[1]);
        self.ticks.builder.meta().v8_version.get_or_insert(numbers_text + &embedder);
        Some(())
    }

    /// `shared-library,/lib/libc.so.6,0x7f00,0x7f99,0`. V8 writes a line for each part, all with one start.
    fn read_library(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let path = fields.text()?;
        let (start, end) = (fields.address()?, fields.address()?);
        if self.map.end_of_library(start).unwrap_or(start) < end {
            let library = Library { path: path.into_owned(), size: end - start };
            let library = self.ticks.stacks.library(library);
            self.map.add_library(start, end, library);
        }
        Some(())
    }

    /// `profiler,begin,1000`, and `profiler,end`.
    fn read_profiler(&mut self, mut fields: Fields<'_>) -> Option<()> {
        if fields.text()? == "begin" {
            self.ticks.set_interval(fields.number()?);
        }
        Some(())
    }

    /// `code-creation,JS,12,169657,0x7f00,812,burnA /srv/shares.js:7:15,0x39e3,*`. A callback's kind is -2.
    fn read_creation(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let tag = fields.text()?;
        let (_kind, _time) = (fields.next()?, fields.number()?);
        let (start, size) = (fields.address()?, fields.number()?);
        let text = code_text(fields.rest())?;
        if text.name.contains(WORKER_SCRIPT) {
            self.ticks.set_worker();
        }
        let symbol = [&*tag, ":", text.marker, &*text.name].concat();
        self.ticks.builder.budget().take(symbol.len() + CODE_COST);
        self.map.add(start, size, symbol, text.is_function);
        Some(())
    }

    /// `code-move,0xfrom,0xto`
    fn read_move(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (from, to) = (fields.address()?, fields.address()?);
        self.map.move_code(from, to);
        Some(())
    }

    /// `sfi-move,0xfrom,0xto`: function objects are not looked up here, so that there is nothing to follow.
    fn read_function_move(&mut self, mut fields: Fields<'_>) -> Option<()> {
        fields.address().and(fields.address()).map(|_| ())
    }

    /// `code-delete,0xstart`
    fn read_deletion(&mut self, mut fields: Fields<'_>) -> Option<()> {
        self.map.remove(fields.address()?);
        Some(())
    }

    /// `tick,0xpc,time,isExternal,0xtop,state[,overflow],0xframe,…`
    fn read_tick(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let (pc, time_us) = (fields.address()?, fields.number()?);
        let (is_external, top) = (fields.number()? != 0, fields.address()?);
        let state = state(self.version, fields.number()?);
        self.frames.clear();
        let mut lost = 0;
        // In a callback the pc may be anywhere below it; the callback's own address shows which one it is.
        let mut previous = if is_external { top } else { pc };
        self.push(previous);
        // A function that has not made its frame yet: its caller is only on top of the stack.
        if !is_external && top != 0 && self.map.is_function(top) {
            self.push(top);
        }
        while let Some(field) = fields.next() {
            if field == b"overflow" {
                lost += 1;
                continue;
            }
            previous = frame_address(field, previous)?;
            self.push(previous);
        }
        self.ticks.builder.meta().losses.lost += lost;
        self.ticks.add(time_us, state, &self.frames);
        Some(())
    }

    fn push(&mut self, address: u64) {
        let stacks = &mut self.ticks.stacks;
        let frame = match self.map.find(address) {
            Found::Code(code) => {
                *code.frame.get_or_insert_with(|| stacks.frame(RawFrame::Code(code.symbol.clone())))
            }
            Found::Library(library, place) => stacks.frame(RawFrame::InLibrary(library, place)),
            Found::Nothing => stacks.frame(RawFrame::Nothing),
        };
        self.frames.push(frame);
    }
}

type Event = fn(&mut Reader, Fields<'_>) -> Option<()>;

/// The events that matter, the most frequent first.
const EVENTS: &[(&str, Event)] = &[
    ("tick", Reader::read_tick),
    ("code-creation", Reader::read_creation),
    ("code-move", Reader::read_move),
    ("sfi-move", Reader::read_function_move),
    ("code-delete", Reader::read_deletion),
    ("shared-library", Reader::read_library),
    ("profiler", Reader::read_profiler),
    ("v8-version", Reader::read_version),
];

/// Whether this can be the name of an event: `code-source-info`, `LoadIC`.
fn is_tag(tag: &[u8]) -> bool {
    tag.first().is_some_and(u8::is_ascii_alphabetic)
        && tag.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
}
