//! Profile → pprof, behind gzip, as `go tool pprof`, Pyroscope and Parca want it: ids count from 1, the main binary
//! is the first mapping, every location has a line, a period type is always set. Times cannot be kept.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use profile::classify::{Home, home_of};
use profile::{
    FrameId, FunctionId, Lane, LaneId, ModuleId, NO_ADDRESS, Profile, StackId, ThreadId, Unit,
    WAITS_LANE,
};
use rustc_hash::FxHashMap;
use views::{Selection, weigh};

use super::fields::{
    function, label, line, location, mapping, profile as field, sample, value_type,
};
use super::wire::Message;
use naming::ANONYMOUS;

/// Writes the selected samples of the selected lane, or of all lanes; returns what pprof cannot carry.
pub fn write(profile: &Profile, selection: &Selection, out: impl Write) -> io::Result<Vec<String>> {
    let mut writer = Writer::new(profile, selection);
    let columns = columns(profile, selection);
    writer.add_sample_types(&columns);
    writer.add_samples(&columns);
    writer.add_meta(&columns);
    let message = writer.finish();
    let mut out = GzEncoder::new(out, Compression::default());
    out.write_all(&message)?;
    out.finish()?.flush()?;
    Ok(notes(profile, selection))
}

/// A value of each sample.
struct Column<'a> {
    lane: LaneId,
    name: &'a str,
    unit: &'static str,
    /// The number of samples instead of their weight.
    counts: bool,
}

/// The lanes as sample types, the main one last: that is the one which pprof shows. Sleeping stacks are no use of the
/// CPU: they are there for users who ask for them.
fn columns<'a>(profile: &'a Profile, selection: &Selection) -> Vec<Column<'a>> {
    let lanes: Vec<LaneId> = match selection.lane {
        Some(lane) => vec![lane],
        None => (0..profile.lanes().len())
            .map(LaneId::from_index)
            .filter(|id| *id == LaneId(0) || profile.text(profile.lane(*id).name) != WAITS_LANE)
            .collect(),
    };
    let column = |id: &LaneId| {
        let lane = profile.lane(*id);
        let (name, unit) = type_of(profile, lane, lanes.len() == 1 || *id == LaneId(0));
        Column { lane: *id, name, unit, counts: false }
    };
    let mut columns: Vec<Column<'_>> =
        lanes.iter().skip(1).chain(lanes.first()).map(column).collect();
    if let [lane] = *lanes
        && profile.lane(lane).counted
        && profile.lane(lane).unit != Unit::Count
    {
        columns.insert(0, Column { lane, name: "samples", unit: "count", counts: true });
    }
    columns
}

/// Name and unit of a lane; of the main one in the words that profile stores know. Two lanes must not become one.
fn type_of<'a>(profile: &'a Profile, lane: &Lane, is_main: bool) -> (&'a str, &'static str) {
    let name = profile.text(lane.name);
    let name = if name.is_empty() { "samples" } else { name };
    match lane.unit {
        Unit::Ns
            if is_main && matches!(name.split(':').next(), Some("cpu-clock" | "task-clock")) =>
        {
            ("cpu", "nanoseconds")
        }
        Unit::Ns => (name, "nanoseconds"),
        Unit::Bytes => (name, "bytes"),
        Unit::Count if is_main => ("samples", "count"),
        Unit::Count | Unit::Event => (name, "count"),
    }
}

struct Writer<'a> {
    profile: &'a Profile,
    selection: &'a Selection,
    message: Message,
    strings: FxHashMap<String, u64>,
    texts: Message,
    modules: FxHashMap<ModuleId, u64>,
    /// A frame of each function, whose symbol is the function's.
    symbols: Vec<Option<FrameId>>,
    functions: FxHashMap<FunctionId, u64>,
    /// Locations by their frames, the innermost first, and by the stack that they end in.
    locations: FxHashMap<Vec<FrameId>, u64>,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile, selection: &'a Selection) -> Self {
        let mut symbols = vec![None; profile.functions().len()];
        for (frame, function) in profile.frames().ids().zip(&profile.frames().function) {
            symbols[function.index()].get_or_insert(frame);
        }
        let mut writer = Self {
            profile,
            symbols,
            selection,
            message: Message::default(),
            strings: FxHashMap::default(),
            texts: Message::default(),
            modules: FxHashMap::default(),
            functions: FxHashMap::default(),
            locations: FxHashMap::default(),
        };
        writer.string("");
        writer.add_main_mapping();
        writer
    }

    fn string(&mut self, text: &str) -> u64 {
        if let Some(row) = self.strings.get(text) {
            return *row;
        }
        let row = self.strings.len() as u64;
        self.texts.bytes(field::STRING, text.as_bytes());
        self.strings.insert(text.to_owned(), row);
        row
    }

    fn value_type(&mut self, name: &str, unit: &str) -> Message {
        let mut message = Message::default();
        message
            .number(value_type::TYPE, self.string(name))
            .number(value_type::UNIT, self.string(unit));
        message
    }

    fn add_sample_types(&mut self, columns: &[Column<'_>]) {
        for column in columns {
            let message = self.value_type(column.name, column.unit);
            self.message.message(field::SAMPLE_TYPE, &message);
        }
    }

    /// The binary of Node, or what comes next to it: pprof takes the first mapping for the program.
    fn add_main_mapping(&mut self) {
        let profile = self.profile;
        let ids = (0..profile.modules().len()).map(ModuleId::from_index);
        let name = |id: ModuleId| profile.module_name(id).unwrap_or_default();
        let main = ids.clone().find(|id| home_of(name(*id)) == Home::Node);
        let main = main.or_else(|| ids.clone().find(|id| home_of(name(*id)) == Home::System));
        match main {
            Some(id) => {
                self.mapping(id);
            }
            None => self.add_mapping(ModuleId::NONE, "node", ""),
        }
    }

    /// The mapping of a module; 0, as pprof wants it, for code of none.
    fn mapping(&mut self, id: ModuleId) -> u64 {
        let Some(module) = id.some().map(|id| self.profile.modules()[id.index()]) else { return 0 };
        if !self.modules.contains_key(&id) {
            let profile = self.profile;
            self.add_mapping(id, profile.text(module.name), profile.text(module.build_id));
        }
        self.modules[&id]
    }

    fn add_mapping(&mut self, id: ModuleId, name: &str, build_id: &str) {
        let number = self.modules.len() as u64 + 1;
        let (name, build_id) = (self.string(name), self.string(build_id));
        let mut message = Message::default();
        message
            .number(mapping::ID, number)
            .number(mapping::FILENAME, name)
            .number(mapping::BUILD_ID, build_id);
        // All that can be named is named: pprof need not look for the binary.
        for has in [
            mapping::HAS_FUNCTIONS,
            mapping::HAS_FILENAMES,
            mapping::HAS_LINE_NUMBERS,
            mapping::HAS_INLINE_FRAMES,
        ] {
            message.number(has, 1);
        }
        self.message.message(field::MAPPING, &message);
        self.modules.insert(id, number);
    }

    fn function(&mut self, id: FunctionId) -> u64 {
        if let Some(number) = self.functions.get(&id) {
            return *number;
        }
        let profile = self.profile;
        let row = profile.functions().row(id);
        let plain = profile.text(row.name);
        let name = match plain {
            ANONYMOUS if row.line > 0 => format!("(anonymous:L#{}:C#{})", row.line, row.column),
            _ => plain.to_owned(),
        };
        let symbol = self.symbols[id.index()]
            .map_or(plain, |frame| profile.text(profile.frames().symbol[frame.index()]));
        let (name, symbol) = (self.string(&name), self.string(symbol));
        let file = self.string(profile.source_path(row.source).unwrap_or_default());
        let number = self.functions.len() as u64 + 1;
        let mut message = Message::default();
        message
            .number(function::ID, number)
            .number(function::NAME, name)
            .number(function::SYSTEM_NAME, symbol);
        message.number(function::FILENAME, file).number(function::START_LINE, row.line.into());
        self.message.message(field::FUNCTION, &message);
        self.functions.insert(id, number);
        number
    }

    /// The location of a frame and of what was inlined into it, the innermost first.
    fn location(&mut self, frames: &[FrameId]) -> u64 {
        if let Some(number) = self.locations.get(frames) {
            return *number;
        }
        let number = self.locations.len() as u64 + 1;
        let rows = self.profile.frames();
        let outermost = rows.row(frames[frames.len() - 1]);
        let module = self.profile.functions().module[outermost.function.index()];
        let mut message = Message::default();
        message.number(location::ID, number).number(location::MAPPING_ID, self.mapping(module));
        message.number(
            location::ADDRESS,
            if outermost.address == NO_ADDRESS { 0 } else { outermost.address },
        );
        for frame in frames.iter().map(|id| rows.row(*id)) {
            let definition = self.profile.functions().row(frame.function);
            // Without the line that ran, the one where the function starts is better than none.
            let (at, column) = if frame.line > 0 {
                (frame.line, frame.column)
            } else {
                (definition.line, definition.column)
            };
            let mut row = Message::default();
            row.number(line::FUNCTION_ID, self.function(frame.function));
            row.number(line::LINE, at.into()).number(line::COLUMN, column.into());
            message.message(location::LINE, &row);
        }
        self.message.message(field::LOCATION, &message);
        self.locations.insert(frames.to_vec(), number);
        number
    }

    fn add_samples(&mut self, columns: &[Column<'_>]) {
        let mut index: FxHashMap<(ThreadId, StackId), usize> = FxHashMap::default();
        let mut rows: Vec<(ThreadId, StackId)> = Vec::new();
        let mut values: Vec<u64> = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let weights = weigh(
                self.profile,
                &Selection { lane: Some(column.lane), ..self.selection.clone() },
            );
            for entry in &weights.entries {
                let row = *index.entry((entry.thread, entry.stack)).or_insert_with(|| {
                    rows.push((entry.thread, entry.stack));
                    values.resize(rows.len() * columns.len(), 0);
                    rows.len() - 1
                });
                values[row * columns.len() + place] =
                    if column.counts { entry.samples } else { entry.weight };
            }
        }
        let mut labels: FxHashMap<ThreadId, Vec<Message>> = FxHashMap::default();
        for ((thread, stack), values) in rows.into_iter().zip(values.chunks(columns.len().max(1))) {
            let labels = labels.entry(thread).or_insert_with(|| self.labels(thread));
            let locations = self.locations_of(stack);
            let mut message = Message::default();
            message.packed(sample::LOCATION_ID, locations.into_iter());
            // pprof's values are signed.
            message.packed(
                sample::VALUE,
                values.iter().map(|value| (*value).min(i64::MAX.cast_unsigned())),
            );
            labels.iter().for_each(|label| {
                message.message(sample::LABEL, label);
            });
            self.message.message(field::SAMPLE, &message);
        }
    }

    /// Leaf first. What was inlined shares the location of the frame that it was put into.
    fn locations_of(&mut self, stack: StackId) -> Vec<u64> {
        let profile = self.profile;
        let visible =
            profile.ancestry(stack).filter(|stack| !self.selection.hides(profile, *stack));
        let frames: Vec<FrameId> =
            visible.map(|stack| profile.stacks().frame[stack.index()]).collect();
        let is_whole = |frame: &FrameId| !profile.frames().inlined[frame.index()];
        frames.split_inclusive(is_whole).map(|frames| self.location(frames)).collect()
    }

    fn labels(&mut self, id: ThreadId) -> Vec<Message> {
        let profile = self.profile;
        let thread = profile.thread(id);
        let process = profile.process(thread.process);
        let texts =
            [("thread", profile.text(thread.name)), ("container", profile.text(process.container))];
        let numbers = [("pid", process.pid), ("tid", thread.tid)];
        let mut labels = Vec::new();
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            let mut message = Message::default();
            message.number(label::KEY, self.string(key)).number(label::STRING, self.string(text));
            labels.push(message);
        }
        for (key, number) in numbers {
            if let Some(number) = number {
                let mut message = Message::default();
                message.number(label::KEY, self.string(key)).number(label::NUMBER, number.into());
                labels.push(message);
            }
        }
        labels
    }

    fn add_meta(&mut self, columns: &[Column<'_>]) {
        let meta = self.profile.meta();
        let start = meta.start_unix_ns.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0);
        self.message
            .number(field::TIME_NANOS, start)
            .number(field::DURATION_NANOS, meta.duration_ns);
        let main = columns.last();
        let (name, unit, period) = match (meta.interval_ns, main) {
            (Some(interval), _) => ("cpu", "nanoseconds", interval),
            (None, Some(column)) => (column.name, column.unit, 1),
            (None, None) => ("samples", "count", 1),
        };
        let period_type = self.value_type(name, unit);
        self.message.message(field::PERIOD_TYPE, &period_type).number(field::PERIOD, period);
        let default = main.map_or(0, |column| self.string(column.name));
        let comment = self.string(concat!("written by nodescope ", env!("CARGO_PKG_VERSION")));
        self.message.packed(field::COMMENT, std::iter::once(comment));
        self.message.number(field::DEFAULT_SAMPLE_TYPE, default);
    }

    fn finish(mut self) -> Vec<u8> {
        self.message.bytes.append(&mut self.texts.bytes);
        self.message.bytes
    }
}

fn notes(profile: &Profile, selection: &Selection) -> Vec<String> {
    let mut notes = Vec::new();
    if selection.lane_in(profile).is_some_and(|lane| profile.lane(lane).timed) {
        notes.push("pprof has no times: equal stacks are added up".into());
    }
    if !profile.markers().is_empty() || !profile.off_cpu().is_empty() {
        notes.push("pprof has no markers: pauses and context switches are left out".into());
    }
    notes
}
