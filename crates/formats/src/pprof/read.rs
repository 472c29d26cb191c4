//! pprof → Profile. Each sample type is a lane; the one that pprof shows by default is the main one. The file is
//! walked once for each table instead of being decoded into a copy.

use std::borrow::Cow;
use std::io::Read;

use profile::{
    Budget, Builder, DEEPEST_STACK, FrameId, LaneId, LaneInfo, Process, Profile, Role, Sample,
    StackId, Thread, ThreadId, Unit, classify,
};
use rustc_hash::FxHashMap;

use super::fields::{label, profile as field, sample, value_type};
use super::tables::{Tables, Texts, number_in};
use super::wire::{Fields, Value};
use crate::json;
use naming::finish::{infer_roles, settle_quality};

/// What the stacks of a file may add up to for each of its bytes, before it is taken for a bomb.
const STACKS_PER_BYTE: usize = 1;
const FREE_STACKS: usize = 1 << 20;
/// What it takes to find a stack or a thread again.
const KNOWN_COST: usize = 64;
/// No profiler measures more at once.
const MOST_TYPES: usize = 64;

/// Whether bytes are a profile.proto: whole fields of the known numbers and kinds, a sample type first or soon,
/// and all sizes fit. Text and other binaries fail within a few fields.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    let mut fields = Fields::of(first_bytes);
    let (mut seen, mut sample_types, mut tables) = (0u32, 0u32, 0u32);
    for (number, value) in fields.by_ref().take(200) {
        let is_message = matches!(value, Value::Bytes(_));
        let fits = match number {
            field::SAMPLE_TYPE | field::PERIOD_TYPE => is_message && is_value_type(value.bytes()),
            field::SAMPLE | field::MAPPING | field::LOCATION | field::FUNCTION => {
                is_message && is_message_of(value.bytes(), 10)
            }
            field::STRING => is_message,
            field::TIME_NANOS..=field::LAST => number == field::COMMENT || !is_message,
            7 | 8 => !is_message,
            _ => false,
        };
        if !fits {
            return false;
        }
        sample_types += u32::from(number == field::SAMPLE_TYPE);
        tables += u32::from(matches!(number, field::SAMPLE..=field::STRING));
        seen += 1;
    }
    // A field that does not end within the first bytes is no damage, but it is no sign either.
    seen >= 2 && sample_types > 0 && tables > 0
}

fn is_value_type(message: &[u8]) -> bool {
    message.len() <= 22 && is_message_of(message, value_type::UNIT)
}

fn is_message_of(message: &[u8], most_fields: u32) -> bool {
    let mut fields = Fields::of(message);
    fields.by_ref().all(|(number, _)| number <= most_fields) && fields.damaged_at.is_none()
}

/// Reads a pprof profile. A file that is cut off gives what came before.
pub fn read(input: impl Read, budget: &Budget) -> Profile {
    let mut bytes = Vec::new();
    let broken = json::read_bytes(input, &mut bytes, budget).err();
    let mut builder = Builder::within(budget);
    builder.meta().format = "pprof".into();
    let mut fields = Fields::of(&bytes);
    fields.by_ref().for_each(drop);
    let damage = match (broken, fields.damaged_at) {
        (Some(error), _) => Some(format!("damaged after byte {}: {error}", bytes.len())),
        (None, Some(at)) => {
            Some(format!("damaged at byte {at}: it is cut off, or no protobuf from there on"))
        }
        (None, None) => None,
    };
    builder.meta().losses.damage.extend(damage);
    let mut reader = Reader::new(builder, &bytes);
    reader.read_meta();
    reader.read_samples();
    reader.finish()
}

struct Reader<'a> {
    builder: Builder,
    bytes: &'a [u8],
    texts: Texts<'a>,
    tables: Tables<'a>,
    lanes: Vec<(LaneId, u64)>,
    frames: FxHashMap<u64, Vec<FrameId>>,
    /// The stack of a location above another stack.
    stacks: FxHashMap<(StackId, u64), StackId>,
    threads: FxHashMap<&'a [u8], ThreadId>,
    stacks_left: usize,
    negative: u64,
    too_deep: u64,
}

impl<'a> Reader<'a> {
    fn new(builder: Builder, bytes: &'a [u8]) -> Self {
        let budget = builder.budget().clone();
        Self {
            builder,
            bytes,
            texts: Texts::of(bytes, &budget),
            tables: Tables::of(bytes, &budget),
            lanes: Vec::new(),
            frames: FxHashMap::default(),
            stacks: FxHashMap::default(),
            threads: FxHashMap::default(),
            stacks_left: bytes.len().saturating_mul(STACKS_PER_BYTE).saturating_add(FREE_STACKS),
            negative: 0,
            too_deep: 0,
        }
    }

    /// Everything that is not a table, in one walk.
    fn read_meta(&mut self) {
        let mut types: Vec<(u64, u64)> = Vec::new();
        let (mut start, mut duration_ns, mut period, mut default, mut period_unit) =
            (0, 0, 0, 0, 0);
        for (number, value) in Fields::of(self.bytes) {
            match number {
                field::SAMPLE_TYPE if types.len() < MOST_TYPES => {
                    let part = |field| number_in(value.bytes(), field);
                    types.push((part(value_type::TYPE), part(value_type::UNIT)));
                }
                field::TIME_NANOS => start = value.number(),
                field::DURATION_NANOS => duration_ns = value.number(),
                field::PERIOD_TYPE => period_unit = number_in(value.bytes(), value_type::UNIT),
                field::PERIOD => period = value.number(),
                field::DEFAULT_SAMPLE_TYPE => default = value.number(),
                _ => {}
            }
        }
        let scale = time_scale(&self.texts.get(period_unit));
        let meta = self.builder.meta();
        meta.start_unix_ns = (start > 0).then(|| start.to_string());
        // A negative number is none.
        meta.duration_ns = i64::try_from(duration_ns).map_or(0, |_| duration_ns);
        meta.interval_ns =
            scale.map(|scale| period.saturating_mul(scale)).filter(|interval| *interval > 0);
        self.add_lanes(&types, default);
    }

    /// The main lane first: the default sample type, or the last, as pprof has it; where that has no values, the
    /// first one that has.
    fn add_lanes(&mut self, types: &[(u64, u64)], default: u64) {
        let main = types.iter().position(|(name, _)| default > 0 && *name == default);
        let main = main.unwrap_or(types.len().saturating_sub(1));
        let has_values = self.types_with_values(types.len());
        let main = match has_values.get(main) {
            Some(false) => has_values.iter().position(|has| *has).unwrap_or(main),
            _ => main,
        };
        let mut order: Vec<usize> = (0..types.len()).collect();
        order.sort_by_key(|row| *row != main);
        self.lanes = vec![(LaneId(0), 1); types.len()];
        for row in order {
            let (name, unit) = (self.texts.get(types[row].0), self.texts.get(types[row].1));
            let (unit, scale) = unit_of(&name, &unit);
            let name =
                if name.is_empty() { Cow::Owned(format!("value {}", row + 1)) } else { name };
            let info = LaneInfo { name: &name, unit, timed: false, counted: false };
            self.lanes[row] = (self.builder.lane(info), scale);
        }
    }

    /// Which of the sample types have a value in any sample.
    fn types_with_values(&self, types: usize) -> Vec<bool> {
        let mut has_values = vec![false; types];
        for (_, value) in Fields::of(self.bytes).filter(|(number, _)| *number == field::SAMPLE) {
            let fields = Fields::of(value.bytes()).filter(|(number, _)| *number == sample::VALUE);
            let numbers = fields.flat_map(|(_, value)| value.numbers());
            for (has, number) in has_values.iter_mut().zip(numbers) {
                *has |= number.cast_signed() > 0;
            }
            if has_values.iter().all(|has| *has) {
                break;
            }
        }
        has_values
    }

    fn read_samples(&mut self) {
        let mut locations = Vec::new();
        let mut values = Vec::new();
        for (_, value) in Fields::of(self.bytes).filter(|(number, _)| *number == field::SAMPLE) {
            if self.builder.budget().is_full() {
                let sentence = self.builder.budget().sentence();
                self.builder.meta().losses.damage.push(sentence);
                return;
            }
            let message = value.bytes();
            let numbers = |field| {
                Fields::of(message)
                    .filter(move |(number, _)| *number == field)
                    .flat_map(|(_, value)| value.numbers())
            };
            values.clear();
            values.extend(numbers(sample::VALUE).take(self.lanes.len()).map(u64::cast_signed));
            if values.iter().all(|value| *value == 0) {
                continue;
            }
            // Locations stand leaf first. What is too far from the root is counted, not kept.
            let too_many =
                numbers(sample::LOCATION_ID).count().saturating_sub(DEEPEST_STACK.into());
            self.too_deep += too_many as u64;
            locations.clear();
            let ids = numbers(sample::LOCATION_ID).skip(too_many);
            locations.extend(ids.map(|id| self.tables.location_or_none(id)));
            let thread = self.thread(message);
            let Some(stack) = self.stack(&locations) else { return };
            for ((lane, scale), value) in self.lanes.iter().zip(&values) {
                self.negative += u64::from(*value < 0);
                let weight = u64::try_from(*value).unwrap_or(0).saturating_mul(*scale);
                if weight > 0 {
                    self.builder.sample(*lane, Sample { time_ns: 0, thread, stack, weight });
                }
            }
        }
    }

    /// Locations stand leaf first. `None` when the file grows beyond the limit.
    fn stack(&mut self, locations: &[u64]) -> Option<StackId> {
        let mut stack = StackId::NONE;
        for id in locations.iter().rev() {
            if let Some(known) = self.stacks.get(&(stack, *id)) {
                stack = *known;
                continue;
            }
            let Reader { builder, texts, tables, frames, .. } = self;
            let frames = frames.entry(*id).or_insert_with(|| tables.frames(builder, texts, *id));
            self.stacks_left = self.stacks_left.checked_sub(frames.len()).or_else(|| {
                builder
                    .meta()
                    .losses
                    .damage
                    .push("its stacks take too much memory: the rest is left out".into());
                None
            })?;
            let caller = stack;
            stack = frames.iter().fold(stack, |stack, frame| builder.stack(stack, *frame));
            builder.budget().take(KNOWN_COST);
            self.stacks.insert((caller, *id), stack);
        }
        Some(stack)
    }

    fn thread(&mut self, message: &'a [u8]) -> ThreadId {
        // Labels stand together, so what is between the first and the last identifies a thread.
        let labels = labels_of(message);
        if let Some(id) = self.threads.get(labels) {
            return *id;
        }
        let who = Who::of(message, &self.texts);
        let builder = &mut self.builder;
        let container = builder.optional_string(who.container.as_deref());
        let process = Process { pid: who.pid, container, ..Process::default() };
        let name = who.thread.as_deref().unwrap_or_default();
        let is_main = who.pid.and_then(|pid| Some(pid == who.tid?));
        let role = classify::role_of_thread(name, is_main).unwrap_or(Role::Other);
        let (process, name) = (builder.process(process), builder.string(name));
        let id = builder.thread(Thread { process, tid: who.tid, name, role });
        builder.budget().take(KNOWN_COST);
        self.threads.insert(labels, id);
        id
    }

    fn finish(mut self) -> Profile {
        if self.negative > 0 {
            let sentence =
                format!("{} negative values (is it a difference?) count as 0", self.negative);
            self.builder.meta().losses.damage.push(sentence);
        }
        if self.too_deep > 0 {
            let sentence = format!(
                "samples have more than {DEEPEST_STACK} locations: {} are left out",
                self.too_deep
            );
            self.builder.meta().losses.damage.push(sentence);
        }
        infer_roles(&mut self.builder);
        settle_quality(&mut self.builder);
        self.builder.finish()
    }
}

/// From the first label of a sample to the end of it.
fn labels_of(message: &[u8]) -> &[u8] {
    let mut fields = Fields::of(message);
    let mut rest = fields.rest();
    while let Some((number, _)) = fields.next() {
        if number == sample::LABEL {
            return rest;
        }
        rest = fields.rest();
    }
    &[]
}

/// Whose sample it is, by its labels.
#[derive(Default)]
struct Who<'a> {
    thread: Option<Cow<'a, str>>,
    container: Option<Cow<'a, str>>,
    pid: Option<u32>,
    tid: Option<u32>,
}

impl<'a> Who<'a> {
    fn of(message: &[u8], texts: &Texts<'a>) -> Self {
        let mut who = Self::default();
        for (_, value) in Fields::of(message).filter(|(number, _)| *number == sample::LABEL) {
            let message = value.bytes();
            // A label without a text is a number, and 0 is not written.
            let text = number_in(message, label::STRING);
            let number =
                u32::try_from(number_in(message, label::NUMBER)).ok().filter(|_| text == 0);
            let text = texts.get(text);
            let number = number.or_else(|| text.parse().ok());
            match &*texts.get(number_in(message, label::KEY)) {
                "thread" | "thread name" | "thread_name" | "comm" => who.thread = Some(text),
                "container" | "container_name" => who.container = Some(text),
                "pid" | "process id" | "process_id" => who.pid = number,
                "tid" | "thread id" | "thread_id" | "os thread id" => who.tid = number,
                _ => {}
            }
        }
        who
    }
}

/// What a sample type counts, and how much of ours one of it is.
fn unit_of(name: &str, unit: &str) -> (Unit, u64) {
    if let Some(scale) = time_scale(unit) {
        return (Unit::Ns, scale);
    }
    match unit {
        "bytes" | "byte" | "B" => (Unit::Bytes, 1),
        "kilobytes" | "KB" => (Unit::Bytes, 1 << 10),
        "megabytes" | "MB" => (Unit::Bytes, 1 << 20),
        _ if matches!(name, "samples" | "sample") => (Unit::Count, 1),
        _ => (Unit::Event, 1),
    }
}

fn time_scale(unit: &str) -> Option<u64> {
    Some(match unit {
        "nanoseconds" | "nanosecond" | "ns" => 1,
        "microseconds" | "microsecond" | "us" => 1_000,
        "milliseconds" | "millisecond" | "ms" => 1_000_000,
        "seconds" | "second" | "s" => 1_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of up to 127 bytes, as protobuf writes it.
    fn message(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    /// The sample types `wall` and `cpu`, and one sample with these values.
    fn profile(values: [u8; 2], default: u8) -> Profile {
        let texts: Vec<u8> = ["", "wall", "cpu", "nanoseconds", "main"]
            .iter()
            .flat_map(|text| message(6, text.as_bytes()))
            .collect();
        let parts = [
            message(1, &[8, 1, 16, 3]),
            message(1, &[8, 2, 16, 3]),
            message(2, &[10, 1, 1, 18, 2, values[0], values[1]]),
            message(4, &[8, 1, 34, 2, 8, 1]),
            message(5, &[8, 1, 16, 4]),
            texts,
            vec![14 << 3, default],
        ];
        read(&*parts.concat(), &Budget::default())
    }

    #[test]
    fn the_main_lane_has_samples() {
        let main = |profile: &Profile| {
            let lane = &profile.lanes()[0];
            (profile.text(lane.name).to_owned(), lane.samples.weight.clone())
        };
        assert_eq!(main(&profile([5, 7], 0)), ("cpu".into(), vec![7]));
        assert_eq!(main(&profile([5, 7], 1)), ("wall".into(), vec![5]));
        assert_eq!(main(&profile([5, 0], 0)), ("wall".into(), vec![5]), "the last type is empty");
        assert_eq!(main(&profile([0, 7], 1)), ("cpu".into(), vec![7]), "the default type is empty");
        assert!(profile([0, 0], 1).lanes()[0].samples.is_empty());
    }
}
