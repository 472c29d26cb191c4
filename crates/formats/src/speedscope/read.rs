//! speedscope JSON → Profile. Each profile of the file is a thread; those of one unit share a lane. Lists are
//! read entry by entry, and stacks go straight into the table, so that a file costs little more than its text.

use std::borrow::Cow;
use std::io::Read;

use profile::{
    Budget, Builder, FrameId, LaneId, LaneInfo, NO_ADDRESS, Process, Profile, Role, Sample,
    StackId, Thread, ThreadId, Unit, classify,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::events::{Event, OpenStack};
use crate::code_place::{self, CodePlace};
use crate::json::{self, each, mend};
use naming::finish::{infer_roles, settle_quality};

/// The file. `profiles` and `shared` come in any order.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    shared: Option<Shared<'a>>,
    #[serde(borrow)]
    profiles: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Shared<'a> {
    #[serde(borrow)]
    frames: Option<&'a RawValue>,
}

/// A shared frame; positions are numbers, where they are anything.
#[derive(Default, Deserialize)]
struct FrameRow<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    file: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    line: Option<&'a RawValue>,
    #[serde(borrow, default)]
    col: Option<&'a RawValue>,
}

impl FrameRow<'_> {
    fn is_empty(&self) -> bool {
        self.name.is_empty() && self.file.is_none() && self.line.is_none() && self.col.is_none()
    }
}

/// One profile. Its lists stay text until the rest is known.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProfileRow<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    unit: Cow<'a, str>,
    #[serde(default)]
    start_value: f64,
    #[serde(default)]
    end_value: f64,
    #[serde(borrow)]
    samples: Option<&'a RawValue>,
    #[serde(borrow)]
    weights: Option<&'a RawValue>,
    #[serde(borrow)]
    events: Option<&'a RawValue>,
}

/// Whether a JSON text is speedscope's: it names the schema, or it has both of its lists. speedscope itself writes
/// the address of the schema at the very end.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    let has = |word: &str| memchr::memmem::find(first_bytes, word.as_bytes()).is_some();
    let is_object = first_bytes.trim_ascii_start().starts_with(b"{");
    let is_other = || has("\"traceEvents\"") || has("\"nodes\"") && has("\"callFrame\"");
    let is_profile = || has("\"profiles\"") && (has("\"evented\"") || has("\"sampled\""));
    let has_frames = || has("\"shared\"") && has("\"frames\"");
    is_object
        && (has("https://www.speedscope.app/file-format-schema.json")
            || (has("\"exporter\":\"speedscope") || is_profile() || has_frames()) && !is_other())
}

/// Reads speedscope JSON. A text that is cut off gives what came before.
pub fn read(input: impl Read, budget: &Budget) -> Profile {
    let (mut text, broken) = json::read_text(input, budget);
    let mut reader = Reader::new(budget);
    let damage = mend(&mut text, |text| serde_json::from_str::<File<'_>>(text).map(|_| ()));
    reader.builder.meta().losses.damage.extend(broken.or(damage));
    if let Ok(file) = serde_json::from_str::<File<'_>>(&text) {
        reader.read(&file);
    }
    reader.finish()
}

struct Reader {
    builder: Builder,
    budget: Budget,
    /// The frame of each shared row.
    frames: Vec<FrameId>,
    /// Frames that samples name and the file does not have.
    missing_frames: u64,
    /// The frame that stands for those.
    nameless: Option<FrameId>,
    /// Samples whose weight the file does not have.
    unweighed: u64,
    misfits: u64,
    /// What could not be read, beyond the first few of which each has a sentence.
    other_damage: u64,
}

/// How many sentences report what could not be read: a file may hold millions of broken profiles.
const MOST_SENTENCES: usize = 8;

impl Reader {
    fn new(budget: &Budget) -> Self {
        let mut builder = Builder::within(budget);
        builder.meta().format = "speedscope".into();
        let (frames, nameless) = (Vec::new(), None);
        let (missing_frames, unweighed, misfits, other_damage) = (0, 0, 0, 0);
        let budget = budget.clone();
        Self { builder, budget, frames, missing_frames, nameless, unweighed, misfits, other_damage }
    }

    fn read(&mut self, file: &File<'_>) {
        if let Some(list) = file.shared.as_ref().and_then(|shared| shared.frames) {
            let read = each(list, &self.budget.clone(), |row: FrameRow<'_>| {
                let frame = if row.is_empty() {
                    self.nameless()
                } else {
                    add_frame(&mut self.builder, &row)
                };
                self.frames.push(frame);
            });
            self.note(read, "the shared frames");
        }
        if let Some(list) = file.profiles {
            let read = each(list, &self.budget.clone(), |text: &RawValue| {
                if !text.get().starts_with('{') {
                    self.report_damage(|| "a profile is not an object".into());
                    return;
                }
                match serde_json::from_str::<ProfileRow<'_>>(text.get()) {
                    Ok(profile) => self.add_profile(&profile),
                    Err(error) => self.note(Err(error), "a profile"),
                }
            });
            self.note(read, "the profiles");
        }
    }

    fn nameless(&mut self) -> FrameId {
        *self.nameless.get_or_insert_with(|| add_frame(&mut self.builder, &FrameRow::default()))
    }

    fn note(&mut self, read: serde_json::Result<()>, what: &str) {
        if let Err(error) = read {
            self.report_damage(|| format!("{what} could not be read to the end: {error}"));
        }
    }

    fn report_damage(&mut self, sentence: impl FnOnce() -> String) {
        let damage = &mut self.builder.meta().losses.damage;
        if damage.len() < MOST_SENTENCES {
            damage.push(sentence());
        } else {
            self.other_damage += 1;
        }
    }

    fn add_profile(&mut self, row: &ProfileRow<'_>) {
        if row.samples.is_none() && row.events.is_none() {
            return;
        }
        let scale = Scale::of(&row.unit);
        let is_evented = row.kind == "evented" || row.kind.is_empty() && row.events.is_some();
        let lane = self.builder.lane(LaneInfo {
            name: scale.lane,
            unit: scale.unit,
            timed: scale.unit == Unit::Ns,
            counted: scale.unit == Unit::Ns && !is_evented,
        });
        let thread = add_thread(&mut self.builder, &row.name);
        if is_evented {
            self.add_events(row, &scale, lane, thread);
        } else {
            self.add_samples(row, &scale, lane, thread);
        }
    }

    /// Samples stand one behind another: each starts where the weights before it end.
    fn add_samples(&mut self, row: &ProfileRow<'_>, scale: &Scale, lane: LaneId, thread: ThreadId) {
        let mut weights: Vec<f64> = Vec::new();
        if let Some(list) = row.weights {
            let read = each(list, &self.budget, |weight| {
                self.budget.take(size_of::<f64>());
                weights.push(weight);
            });
            self.note(read, "the weights");
        }
        let mut weights = weights.into_iter();
        let mut now = row.start_value;
        let Some(list) = row.samples else { return };
        let mut broken = Ok(());
        let read = each(list, &self.budget.clone(), |frames: &RawValue| {
            let mut stack = StackId::NONE;
            let frames = each(frames, &self.budget.clone(), |frame: f64| {
                let frame = self.frame(frame);
                stack = self.builder.stack(stack, frame);
            });
            if broken.is_ok() {
                broken = frames;
            }
            let weight = weights.next().unwrap_or_else(|| {
                self.unweighed += 1;
                1.0
            });
            let sample =
                Sample { time_ns: scale.whole(now), thread, stack, weight: scale.whole(weight) };
            self.builder.sample(lane, sample);
            now += weight.max(0.0);
        });
        self.note(broken, "a sample");
        self.note(read, "the samples");
    }

    fn add_events(&mut self, row: &ProfileRow<'_>, scale: &Scale, lane: LaneId, thread: ThreadId) {
        let mut open = OpenStack::default();
        let mut now = row.start_value;
        let mut started = false;
        let pass = |builder: &mut Builder, stack: StackId, from: f64, to: f64| {
            // Both ends are rounded, not the length: nothing is lost between two events.
            let (start_ns, weight) =
                (scale.whole(from), scale.whole(to).saturating_sub(scale.whole(from)));
            if stack.some().is_some() && weight > 0 {
                builder.sample(lane, Sample { time_ns: start_ns, thread, stack, weight });
            }
        };
        if let Some(list) = row.events {
            let read = each(list, &self.budget.clone(), |event: Event<'_>| {
                if event.at < now && started {
                    open.misfits += 1;
                }
                let at = if started { event.at.max(now) } else { event.at };
                started = true;
                let (before, frame) = (open.top(), self.frame(event.frame));
                match event.kind {
                    "O" => open.open(&mut self.builder, frame),
                    "C" => open.close(frame),
                    _ => open.misfits += 1,
                }
                // An event that changes nothing ends no sample.
                if open.top() != before || before == StackId::NONE {
                    pass(&mut self.builder, before, now, at);
                    now = at;
                }
            });
            self.note(read, "the events");
        }
        pass(&mut self.builder, open.top(), now, row.end_value.max(now));
        self.misfits += open.misfits;
        if open.left_open() > 0 {
            self.report_damage(|| {
                format!("{} frames of “{}” are never closed", open.left_open(), row.name)
            });
        }
    }

    /// The frame of a shared row; one that is not there has no name.
    fn frame(&mut self, number: f64) -> FrameId {
        let row = if number >= 0.0 { number as usize } else { usize::MAX };
        if let Some(frame) = self.frames.get(row) {
            return *frame;
        }
        self.missing_frames += 1;
        self.nameless()
    }

    fn finish(mut self) -> Profile {
        let losses = &mut self.builder.meta().losses;
        let sentences = [
            (self.missing_frames, "frames of samples are not among the shared frames"),
            (self.unweighed, "samples have no weight and count as 1"),
            (self.misfits, "events do not fit the ones before them"),
            (self.other_damage, "other parts could not be read"),
        ];
        for (count, what) in sentences.iter().filter(|(count, _)| *count > 0) {
            losses.damage.push(format!("{count} {what}"));
        }
        self.builder.clip_far_threads();
        infer_roles(&mut self.builder);
        settle_quality(&mut self.builder);
        self.builder.finish()
    }
}

fn add_frame(builder: &mut Builder, row: &FrameRow<'_>) -> FrameId {
    let number = |text: Option<&RawValue>| -> u32 {
        let number = text.and_then(|text| text.get().parse::<f64>().ok()).unwrap_or(0.0);
        number as u32
    };
    let place = CodePlace {
        name: &row.name,
        symbol: "",
        file: row.file.as_deref().unwrap_or_default(),
        module: "",
        definition: (number(row.line), number(row.col)),
        ran: (0, 0),
        address: NO_ADDRESS,
        inlined: false,
    };
    code_place::frame(builder, &place)
}

/// `node pid: 12 tid: 13` is how speedscope itself names the threads of a perf recording.
fn add_thread(builder: &mut Builder, name: &str) -> ThreadId {
    let (rest, tid) = split_number(name, "tid: ");
    let (comm, pid) = split_number(rest, "pid: ");
    let process = builder.process(Process { pid, ..Process::default() });
    let is_main = pid.and_then(|pid| Some(pid == tid?));
    let role = classify::role_of_thread(comm, is_main).unwrap_or(Role::Other);
    let name = builder.string(comm);
    builder.thread(Thread { process, tid, name, role })
}

fn split_number<'a>(text: &'a str, key: &str) -> (&'a str, Option<u32>) {
    let parts = text
        .rsplit_once(key)
        .and_then(|(rest, digits)| Some((rest.trim_end(), digits.parse().ok()?)));
    parts.map_or((text, None), |(rest, number)| (rest, Some(number)))
}

/// What a profile's numbers count.
struct Scale {
    unit: Unit,
    lane: &'static str,
    factor: f64,
}

impl Scale {
    fn of(unit: &str) -> Self {
        let (unit, lane, factor) = match unit {
            "nanoseconds" => (Unit::Ns, "time", 1.0),
            "microseconds" => (Unit::Ns, "time", 1e3),
            "milliseconds" => (Unit::Ns, "time", 1e6),
            "seconds" => (Unit::Ns, "time", 1e9),
            "bytes" => (Unit::Bytes, "bytes", 1.0),
            _ => (Unit::Count, "samples", 1.0),
        };
        Self { unit, lane, factor }
    }

    /// In the model's unit; what is negative counts nothing.
    fn whole(&self, number: f64) -> u64 {
        (number * self.factor).round() as u64
    }
}
