//! What was sampled and how: perf's descriptions of events, and which samples belong to which.

use rustc_hash::FxHashMap;
use trace::{Event, Measure};

use super::bytes::Order;

/// Parts of a sample, in `sample_type`.
pub(super) mod part {
    pub(in super::super) const IP: u64 = 1 << 0;
    pub(in super::super) const TID: u64 = 1 << 1;
    pub(in super::super) const TIME: u64 = 1 << 2;
    pub(in super::super) const ADDR: u64 = 1 << 3;
    pub(in super::super) const READ: u64 = 1 << 4;
    pub(in super::super) const CALLCHAIN: u64 = 1 << 5;
    pub(in super::super) const ID: u64 = 1 << 6;
    pub(in super::super) const CPU: u64 = 1 << 7;
    pub(in super::super) const PERIOD: u64 = 1 << 8;
    pub(in super::super) const STREAM_ID: u64 = 1 << 9;
    pub(in super::super) const RAW: u64 = 1 << 10;
    pub(in super::super) const BRANCH_STACK: u64 = 1 << 11;
    pub(in super::super) const REGS_USER: u64 = 1 << 12;
    pub(in super::super) const STACK_USER: u64 = 1 << 13;
    pub(in super::super) const IDENTIFIER: u64 = 1 << 16;
}

/// In `branch_sample_type`: a word stands in front of the branches.
pub(super) const BRANCH_HW_INDEX: u64 = 1 << 17;

const FLAG_FREQUENCY: u64 = 1 << 10;
const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const TASK_CLOCK: u64 = 1;

/// No recording samples more kinds of events at once.
const MOST_EVENTS: usize = 10_000;
/// Events times CPUs of the largest machines.
const MOST_IDS: usize = 4 << 20;

const HARDWARE: &[&str] = &[
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];
const SOFTWARE: &[&str] = &[
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
];

/// An event, as perf_event_open got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    kind: u32,
    config: u64,
    period_or_frequency: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    flags: u64,
    pub(super) branch_sample_type: u64,
    pub(super) user_registers: u64,
    name: Option<Vec<u8>>,
}

impl Attribute {
    fn parse(order: Order, data: &[u8]) -> Option<Self> {
        let mut bytes = order.bytes(data);
        let (kind, size) = (bytes.u32()?, bytes.u32()?);
        let (config, period_or_frequency) = (bytes.u64()?, bytes.u64()?);
        let (sample_type, read_format, flags) = (bytes.u64()?, bytes.u64()?, bytes.flags()?);
        // Older perfs end here or there: what is not written is 0.
        let (_wakeup, _breakpoint) = (bytes.u32(), bytes.u32());
        let (_config1, _config2) = (bytes.u64(), bytes.u64());
        let within =
            |end: u32, value: Option<u64>| value.filter(|_| size == 0 || size >= end).unwrap_or(0);
        let branch_sample_type = within(80, bytes.u64());
        let user_registers = within(88, bytes.u64());
        Some(Self {
            kind,
            config,
            period_or_frequency,
            sample_type,
            read_format,
            flags,
            branch_sample_type,
            user_registers,
            name: None,
        })
    }

    pub(super) fn has(&self, part: u64) -> bool {
        self.sample_type & part != 0
    }

    /// Whether records other than samples end with a thread, a time and an id.
    pub(super) fn sample_id_all(&self) -> bool {
        self.flags & FLAG_SAMPLE_ID_ALL != 0
    }

    fn name(&self) -> Vec<u8> {
        let known = match self.kind {
            TYPE_HARDWARE => HARDWARE.get(self.config as usize),
            TYPE_SOFTWARE => SOFTWARE.get(self.config as usize),
            _ => None,
        };
        let made_up = || format!("event {}:{:#x}", self.kind, self.config);
        let derived = || known.map_or_else(made_up, |name| (*name).to_owned()).into_bytes();
        self.name.clone().unwrap_or_else(derived)
    }

    fn measure(&self) -> Measure {
        let is_clock = self.kind == TYPE_SOFTWARE && matches!(self.config, CPU_CLOCK | TASK_CLOCK);
        if is_clock { Measure::Ns } else { Measure::Event }
    }

    fn interval_ns(&self) -> Option<u64> {
        match (self.flags & FLAG_FREQUENCY != 0, self.measure()) {
            (true, _) => 1_000_000_000u64.checked_div(self.period_or_frequency),
            (false, Measure::Ns) => Some(self.period_or_frequency),
            (false, Measure::Event) => None,
        }
    }

    pub(super) fn event<'a>(&self, row: u32, name: &'a [u8]) -> Event<'a> {
        Event {
            row,
            name,
            measure: self.measure(),
            timed: self.has(part::TIME),
            has_period: self.has(part::PERIOD) || self.flags & FLAG_FREQUENCY == 0,
            interval_ns: self.interval_ns(),
        }
    }

    /// The period of a sample that does not carry its own: perf leaves it out where it never changes.
    pub(super) fn fixed_period(&self) -> u64 {
        if self.flags & FLAG_FREQUENCY == 0 { self.period_or_frequency } else { 1 }
    }
}

/// The events of a recording.
#[derive(Default)]
pub(super) struct Attributes {
    rows: Vec<Attribute>,
    by_id: FxHashMap<u64, u32>,
}

impl Attributes {
    /// Adds an event and the ids that its samples carry; gives its row.
    pub(super) fn add(&mut self, order: Order, attribute: &[u8], ids: &[u8]) -> Option<u32> {
        let attribute =
            Attribute::parse(order, attribute).filter(|_| self.rows.len() < MOST_EVENTS)?;
        let row = u32::try_from(self.rows.len()).ok()?;
        self.rows.push(attribute);
        self.add_ids(row, order.words(ids));
        Some(row)
    }

    pub(super) fn add_ids(&mut self, row: u32, ids: impl Iterator<Item = u64>) {
        let room = MOST_IDS.saturating_sub(self.by_id.len());
        self.by_id.extend(ids.take(room).map(|id| (id, row)));
    }

    /// Gives the event of an id a better name, and returns its row.
    pub(super) fn rename(&mut self, id: u64, name: &[u8]) -> Option<u32> {
        let row = *self.by_id.get(&id)?;
        self.rename_row(row, name);
        Some(row)
    }

    pub(super) fn rename_row(&mut self, row: u32, name: &[u8]) {
        if let Some(attribute) = self.rows.get_mut(row as usize) {
            attribute.name = Some(name.to_vec());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn first(&self) -> Option<&Attribute> {
        self.rows.first()
    }

    /// The event of a record that carries this id. Without ids, or with an unknown one, it is the first.
    #[inline]
    pub(super) fn of_id(&self, id: Option<u64>) -> Option<(u32, &Attribute)> {
        let several = self.rows.len() > 1;
        let row = id.filter(|_| several).and_then(|id| self.by_id.get(&id).copied()).unwrap_or(0);
        Some((row, self.rows.get(row as usize)?))
    }

    pub(super) fn name_of(&self, row: u32) -> Option<(&Attribute, Vec<u8>)> {
        self.rows.get(row as usize).map(|attribute| (attribute, attribute.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u32, config: u64, frequency: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&64u32.to_le_bytes());
        let sample_type = part::IP | part::TIME | part::PERIOD;
        for word in [config, frequency, sample_type, 0, FLAG_FREQUENCY | FLAG_SAMPLE_ID_ALL] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn an_event_is_known_by_its_numbers_until_it_is_named() {
        let mut attributes = Attributes::default();
        let id = 7u64.to_le_bytes();
        let row = attributes.add(Order::Little, &attribute(1, 0, 99), &id).expect("it is whole");
        let (attribute, name) = attributes.name_of(row).expect("it was added");
        let event = attribute.event(row, &name);
        assert_eq!(event.name, b"cpu-clock");
        assert_eq!(event.measure, Measure::Ns);
        assert_eq!(event.interval_ns, Some(10_101_010));
        assert_eq!(attributes.rename(7, b"cpu-clock:ppp"), Some(0));
        assert_eq!(attributes.name_of(0).expect("it is there").1, b"cpu-clock:ppp");
        assert_eq!(attributes.rename(8, b"x"), None);
    }

    #[test]
    fn a_cut_off_event_is_none() {
        let whole = attribute(0, 0, 99);
        for length in 0..whole.len() {
            assert_eq!(
                Attributes::default().add(Order::Little, &whole[..length], &[]),
                None,
                "{length}"
            );
        }
    }
}
