//! Profile → speedscope JSON: the selected samples of one lane, a profile for each thread, in the order of time.
//! A frame is a function, so that speedscope's totals are those of the report.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use profile::{FrameId, FunctionId, Lane, Profile, StackId, ThreadId, Unit};
use views::{Selection, selected_rows};

/// Writes the selected samples; returns what speedscope's format cannot carry.
pub fn write(profile: &Profile, selection: &Selection, out: impl Write) -> io::Result<Vec<String>> {
    let Some(lane) = selection.lane_in(profile).map(|id| profile.lane(id)) else {
        return Ok(Vec::new());
    };
    let rows = by_thread(profile, selection, lane);
    if frames_in(profile, lane, &rows) > MOST_FRAMES {
        return Err(io::Error::other(
            "speedscope repeats the whole stack in every sample: with stacks this deep that is more than a gigabyte",
        ));
    }
    let mut writer =
        Writer { profile, selection, lane, numbers: Vec::new(), functions: Vec::new() };
    writer.number_functions(&rows);
    let mut out = BufWriter::with_capacity(1 << 16, out);
    writer.write(&rows, &mut out)?;
    out.flush()?;
    Ok(notes(profile, lane))
}

/// The most frames in all samples together, a few bytes each: speedscope opens no larger files.
const MOST_FRAMES: u64 = 1 << 28;

fn frames_in(profile: &Profile, lane: &Lane, rows: &[(ThreadId, Vec<usize>)]) -> u64 {
    let stacks = profile.stacks();
    let mut depths: Vec<u16> = Vec::with_capacity(stacks.len());
    for parent in &stacks.parent {
        depths.push(parent.some().map_or(1, |parent| depths[parent.index()] + 1));
    }
    let depth =
        |row: &usize| lane.samples.stack[*row].some().map_or(0, |stack| depths[stack.index()]);
    rows.iter().flat_map(|(_, rows)| rows).map(|row| u64::from(depth(row))).sum()
}

/// The selected rows of each thread that has some.
fn by_thread(profile: &Profile, selection: &Selection, lane: &Lane) -> Vec<(ThreadId, Vec<usize>)> {
    let mut threads: Vec<Vec<usize>> = vec![Vec::new(); profile.threads().len()];
    for row in selected_rows(profile, selection) {
        threads[lane.samples.thread[row].index()].push(row);
    }
    let threads = threads.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
    threads.map(|(row, rows)| (ThreadId::from_index(row), rows)).collect()
}

struct Writer<'a> {
    profile: &'a Profile,
    selection: &'a Selection,
    lane: &'a Lane,
    /// The number of each function among the shared frames, or `NOT_SEEN`.
    numbers: Vec<u32>,
    /// The functions that occur, each with a frame of it.
    functions: Vec<(FunctionId, FrameId)>,
}

const NOT_SEEN: u32 = u32::MAX;

impl Writer<'_> {
    /// Numbers the functions that occur, in the order in which they first do.
    fn number_functions(&mut self, rows: &[(ThreadId, Vec<usize>)]) {
        let profile = self.profile;
        self.numbers = vec![NOT_SEEN; profile.functions().len()];
        let mut seen = vec![false; profile.stacks().len()];
        for row in rows.iter().flat_map(|(_, rows)| rows) {
            for stack in
                profile.ancestry(self.selection.stack(profile, self.lane.samples.stack[*row]))
            {
                if std::mem::replace(&mut seen[stack.index()], true) {
                    break;
                }
                let function = self.function(stack);
                if !self.selection.hides(profile, stack)
                    && self.numbers[function.index()] == NOT_SEEN
                {
                    self.numbers[function.index()] = FunctionId::from_index(self.functions.len()).0;
                    self.functions.push((function, profile.stacks().frame[stack.index()]));
                }
            }
        }
    }

    fn function(&self, stack: StackId) -> FunctionId {
        let frame: FrameId = self.profile.stacks().frame[stack.index()];
        self.profile.frames().function[frame.index()]
    }

    fn write(&self, rows: &[(ThreadId, Vec<usize>)], out: &mut impl Write) -> io::Result<()> {
        let meta = self.profile.meta();
        write!(out, "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",")?;
        write!(out, "\"exporter\":\"nodescope@{}\",", env!("CARGO_PKG_VERSION"))?;
        write!(out, "\"name\":{},", json(meta.command.as_deref().unwrap_or(&meta.format)))?;
        write!(out, "\"activeProfileIndex\":{},", self.busiest(rows))?;
        // Frames first: a file that is cut off can still name what it has.
        write!(out, "\"shared\":{{\"frames\":[")?;
        for (row, (function, frame)) in self.functions.iter().enumerate() {
            self.write_frame(row, *function, *frame, out)?;
        }
        write!(out, "]}},\"profiles\":[")?;
        for (place, (thread, rows)) in rows.iter().enumerate() {
            self.write_thread(place, *thread, rows, out)?;
        }
        writeln!(out, "]}}")
    }

    /// The thread that speedscope opens on: the one with the most weight.
    fn busiest(&self, rows: &[(ThreadId, Vec<usize>)]) -> usize {
        let weight = |rows: &[usize]| {
            rows.iter().fold(0u64, |sum, row| sum.saturating_add(self.lane.samples.weight[*row]))
        };
        let weights = rows.iter().map(|(_, rows)| weight(rows)).enumerate();
        weights
            .max_by_key(|(place, weight)| (*weight, usize::MAX - place))
            .map_or(0, |(place, _)| place)
    }

    fn write_frame(
        &self,
        row: usize,
        id: FunctionId,
        frame: FrameId,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let profile = self.profile;
        let function = profile.functions().row(id);
        let comma = if row > 0 { "," } else { "" };
        write!(out, "{comma}\n{{\"name\":{}", json(&function_name(profile, id, frame)))?;
        let file =
            profile.source_path(function.source).or_else(|| profile.module_name(function.module));
        if let Some(file) = file {
            write!(out, ",\"file\":{}", json(file))?;
        }
        for (key, number) in [("line", function.line), ("col", function.column)] {
            if number > 0 {
                write!(out, ",\"{key}\":{number}")?;
            }
        }
        write!(out, "}}")
    }

    fn write_thread(
        &self,
        place: usize,
        thread: ThreadId,
        rows: &[usize],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let samples = &self.lane.samples;
        let total = rows.iter().fold(0u64, |sum, row| sum.saturating_add(samples.weight[*row]));
        let is_time = self.lane.unit == Unit::Ns && self.lane.timed;
        let start = rows.first().filter(|_| is_time).map_or(0, |row| samples.time_ns[*row]);
        let comma = if place > 0 { "," } else { "" };
        write!(
            out,
            "{comma}\n{{\"type\":\"sampled\",\"name\":{},",
            json(&thread_name(self.profile, thread))
        )?;
        write!(out, "\"unit\":\"{}\",", unit(self.lane.unit))?;
        write!(out, "\"startValue\":{start},\"endValue\":{},", start.saturating_add(total))?;
        write!(out, "\"weights\":[")?;
        for (place, row) in rows.iter().enumerate() {
            write!(out, "{}{}", if place > 0 { "," } else { "" }, samples.weight[*row])?;
        }
        write!(out, "],\"samples\":[")?;
        let mut numbers = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            let stack = self.selection.stack(self.profile, samples.stack[*row]);
            let visible = self.profile.ancestry(stack);
            let visible = visible.filter(|stack| !self.selection.hides(self.profile, *stack));
            numbers.extend(visible.map(|stack| self.numbers[self.function(stack).index()]));
            write!(out, "{}[", if place > 0 { "," } else { "" })?;
            for (depth, number) in numbers.drain(..).rev().enumerate() {
                write!(out, "{}{number}", if depth > 0 { "," } else { "" })?;
            }
            write!(out, "]")?;
        }
        write!(out, "]}}")
    }
}

/// The name of a function; where that alone would be read as something else, its symbol: `LoadIC` may be
/// anything, `Builtins_LoadIC` is V8's.
fn function_name(profile: &Profile, id: FunctionId, frame: FrameId) -> Cow<'_, str> {
    let function = profile.functions().row(id);
    let name = profile.text(function.name);
    let is_read_right = |text: &str| {
        let named = naming::name(text, profile.module_name(function.module));
        named.function == name && named.category == profile.frames().category[frame.index()]
    };
    if function.source.some().is_some() || is_read_right(name) {
        return Cow::Borrowed(name);
    }
    let symbol = profile.text(profile.frames().symbol[frame.index()]);
    let spellings = [Cow::Borrowed(symbol), Cow::Owned(format!("Builtins_{name}"))];
    spellings.into_iter().find(|text| is_read_right(text)).unwrap_or(Cow::Borrowed(name))
}

/// As speedscope itself names the threads of a perf recording.
fn thread_name(profile: &Profile, id: ThreadId) -> String {
    let thread = profile.thread(id);
    let mut parts = vec![profile.text(thread.name).to_owned()];
    parts.extend(profile.process(thread.process).pid.map(|pid| format!("pid: {pid}")));
    parts.extend(thread.tid.map(|tid| format!("tid: {tid}")));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "nanoseconds",
        Unit::Bytes => "bytes",
        Unit::Count | Unit::Event => "none",
    }
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn notes(profile: &Profile, lane: &Lane) -> Vec<String> {
    let mut notes = Vec::new();
    if lane.timed {
        notes.push(
            "speedscope puts the samples of a thread one behind another: gaps between them are lost".into(),
        );
    }
    if lane.unit == Unit::Event {
        notes.push(format!(
            "speedscope has no unit for {}: its weights have none",
            profile.text(lane.name)
        ));
    }
    if !profile.markers().is_empty() || !profile.off_cpu().is_empty() {
        notes.push("speedscope has no markers: pauses and context switches are left out".into());
    }
    notes
}
