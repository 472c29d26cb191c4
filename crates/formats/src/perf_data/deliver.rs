//! Records, in the order of their times, to the sink.

use trace::{
    About, BuildId, Comm, Context, CpuTime, Delay, Exit, Facts, Fork, FrameName, JavaScript,
    LoopWatch, Loss, Mmap, PoolUse, ScriptPart, Second, ShortWaits, Sink, Switch, Turn, TurnKind,
    javascript,
};

use super::attributes::{Attribute, Attributes, part};
use super::batches::{Message, each_record};
use super::bytes::{Bytes, Order, until_nul};
use super::features::{self, Feature};
use super::sample::{self, Lists, context_of};

/// The records that we read; perf's user-space ones start at 64.
pub(super) mod kind {
    pub(in super::super) use trace::own_records::*;

    pub(in super::super) const MMAP: u32 = 1;
    pub(in super::super) const LOST: u32 = 2;
    pub(in super::super) const COMM: u32 = 3;
    pub(in super::super) const EXIT: u32 = 4;
    pub(in super::super) const THROTTLE: u32 = 5;
    pub(in super::super) const FORK: u32 = 7;
    pub(in super::super) const SAMPLE: u32 = 9;
    pub(in super::super) const MMAP2: u32 = 10;
    pub(in super::super) const LOST_SAMPLES: u32 = 13;
    pub(in super::super) const SWITCH: u32 = 14;
    pub(in super::super) const SWITCH_CPU_WIDE: u32 = 15;
    pub(in super::super) const USER_START: u32 = 64;
    pub(in super::super) const ATTRIBUTE: u32 = 64;
    pub(in super::super) const TRACING_DATA: u32 = 66;
    pub(in super::super) const BUILD_ID: u32 = 67;
    pub(in super::super) const FINISHED_ROUND: u32 = 68;
    pub(in super::super) const AUXTRACE: u32 = 71;
    pub(in super::super) const EVENT_UPDATE: u32 = 78;
    pub(in super::super) const FEATURE: u32 = 80;
    pub(in super::super) const COMPRESSED: u32 = 81;
    pub(in super::super) const COMPRESSED2: u32 = 83;
}

/// Flags whose meaning depends on the record.
const MISC_DATA: u16 = 1 << 13;
const MISC_EXEC: u16 = 1 << 13;
const MISC_OUT: u16 = 1 << 13;
/// The same for one that would have gone on.
const MISC_PREEMPTED: u16 = 1 << 14;
const MISC_BUILD_ID: u16 = 1 << 14;

/// In a mapping's protection.
const EXECUTABLE: u32 = 4;
/// The kind of an update that carries a name.
const UPDATE_NAME: u64 = 2;

/// A record, taken apart.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) kind: u32,
    pub(super) misc: u16,
    pub(super) body: Bytes<'a>,
}

impl<'a> Record<'a> {
    pub(super) fn parse(order: Order, record: &'a [u8]) -> Option<Self> {
        let mut body = order.bytes(record);
        let (kind, misc, _size) = (body.u32()?, body.u16()?, body.u16()?);
        Some(Self { kind, misc, body })
    }
}

/// The events of a recording. The reader needs them to put records in order, the consumer to understand them.
#[derive(Default)]
pub(super) struct Events {
    pub(super) order: Order,
    attributes: Attributes,
}

impl Events {
    pub(super) fn add(&mut self, attribute: &[u8], ids: &[u8]) {
        self.attributes.add(self.order, attribute, ids);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.attributes.len() == 0
    }

    /// Learns what a record of perf's own contains about events and their ids.
    pub(super) fn learn(&mut self, record: &Record<'_>) -> Option<()> {
        let mut body = record.body;
        match record.kind {
            kind::ATTRIBUTE => {
                let (attribute, ids) = attribute_of(self.order, record)?;
                self.add(attribute, ids);
            }
            kind::FEATURE => {
                let number = u32::try_from(body.u64()?).ok()?;
                if let Some(Feature::Events(bytes)) = features::parse(number, body) {
                    self.learn_ids(bytes);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn learn_ids(&mut self, bytes: Bytes<'_>) {
        let known = self.attributes.len();
        features::events(bytes, |row, _, ids| {
            if (row as usize) < known {
                self.attributes.add_ids(row, ids.words());
            }
        });
    }

    /// When a record happened; 0 where it has no time.
    #[inline]
    pub(super) fn time_of(&self, record: &Record<'_>) -> u64 {
        let Some(first) = self.attributes.first() else { return 0 };
        let time = if record.kind == kind::SAMPLE {
            let id =
                if self.attributes.len() > 1 { sample::id_of(first, record.body) } else { None };
            self.attributes
                .of_id(id)
                .and_then(|(_, attribute)| sample::time_of(attribute, record.body))
        } else {
            self.trailer(record).map(|trailer| trailer.time_ns)
        };
        time.unwrap_or(0)
    }

    /// What stands at the end of records other than samples.
    fn trailer(&self, record: &Record<'_>) -> Option<Trailer> {
        let first = self.attributes.first()?;
        let body = record.body.rest();
        let id =
            body.last_chunk().filter(|_| first.has(part::IDENTIFIER)).map(|id| self.order.u64(*id));
        let (_, attribute) = self.attributes.of_id(id)?;
        Trailer::read(attribute, record.body)
    }
}

/// An event and its ids, from a record of the pipe form.
fn attribute_of<'a>(order: Order, record: &Record<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let mut body = record.body;
    let size = body.rest().get(4..8)?.first_chunk().map(|size| order.u32(*size))?;
    Some((body.take(size as usize)?, body.rest()))
}

/// The consumer: decodes records and passes them to the sink.
pub(super) struct Deliver<'a> {
    events: Events,
    sink: &'a mut dyn Sink,
    lists: Lists,
    names: javascript::Parts,
    /// Records that are shorter than they should be.
    short: u64,
}

/// What the consumer knows, without the sink.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) events: Events,
    lists: Lists,
    names: javascript::Parts,
}

impl<'a> Deliver<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Self {
        Self::with(Kept::default(), sink)
    }

    pub(super) fn with(Kept { events, lists, names }: Kept, sink: &'a mut dyn Sink) -> Self {
        Self { events, sink, lists, names, short: 0 }
    }

    pub(super) fn keep(self) -> Kept {
        Kept { events: self.events, lists: self.lists, names: self.names }
    }

    /// Takes what the reader sends; returns memory that is free again.
    pub(super) fn take(&mut self, message: Message) -> Option<Vec<u8>> {
        match message {
            Message::Order(order) => self.events.order = order,
            Message::Attribute { attribute, ids } => self.add_attribute(&attribute, &ids),
            Message::Feature(number, bytes) => {
                self.feature(number, self.events.order.bytes(&bytes));
            }
            Message::Damage(sentence) => self.sink.damage(sentence),
            Message::Records(bytes) => {
                each_record(self.events.order, &bytes, |record| self.record(record));
                return Some(bytes);
            }
        }
        None
    }

    fn add_attribute(&mut self, attribute: &[u8], ids: &[u8]) {
        match self.events.attributes.add(self.events.order, attribute, ids) {
            Some(row) => self.report_event(row),
            None => self.short += 1,
        }
    }

    fn report_event(&mut self, row: u32) {
        if let Some((attribute, name)) = self.events.attributes.name_of(row) {
            self.sink.event(&attribute.event(row, &name));
        }
    }

    /// Hands a record over.
    pub(super) fn record(&mut self, record: &[u8]) {
        let Some(record) = Record::parse(self.events.order, record) else { return };
        if record.kind >= kind::USER_START {
            // Damage there costs a name, not a sample.
            let _ = self.side_record(&record);
        } else if self.hand_over(record).is_none() {
            self.short += 1;
        }
    }

    /// Reports how many records could not be read.
    pub(super) fn finish(&mut self) {
        if self.short > 0 {
            self.sink.damage(format!("{} records are shorter than they should be", self.short));
        }
    }

    fn hand_over(&mut self, record: Record<'_>) -> Option<()> {
        let Record { kind, misc, mut body } = record;
        match kind {
            kind::SAMPLE => self.sample(misc, body)?,
            kind::MMAP | kind::MMAP2 => self.mmap(&record)?,
            kind::COMM => self.comm(&record)?,
            kind::FORK => {
                let (pid, parent_pid, tid, parent_tid) =
                    (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
                let time_ns = body.u64()?;
                self.sink.fork(&Fork { time_ns, pid, tid, parent_pid, parent_tid });
            }
            kind::EXIT => {
                let (pid, _, tid, _) = (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
                self.sink.exit(&Exit { time_ns: body.u64()?, pid, tid });
            }
            kind::LOST => {
                let (_id, count) = (body.u64()?, body.u64()?);
                self.sink.lost(count);
            }
            kind::LOST_SAMPLES => self.sink.lost(body.u64()?),
            kind::THROTTLE => self.sink.throttled(),
            kind::SWITCH | kind::SWITCH_CPU_WIDE => {
                let Trailer { time_ns, thread: Some((pid, tid)) } = self.events.trailer(&record)?
                else {
                    return Some(());
                };
                let (out, preempted) = (misc & MISC_OUT != 0, misc & MISC_PREEMPTED != 0);
                self.sink.switch(&Switch { time_ns, pid, tid, out, preempted });
            }
            _ => {}
        }
        Some(())
    }

    fn sample(&mut self, misc: u16, body: Bytes<'_>) -> Option<()> {
        let Events { order, attributes } = &self.events;
        let first = attributes.first()?;
        let id = if attributes.len() > 1 { sample::id_of(first, body) } else { None };
        let event = attributes.of_id(id)?;
        let sample = sample::parse(*order, event, misc, body, &mut self.lists)?;
        self.sink.sample(&sample);
        Some(())
    }

    fn mmap(&mut self, record: &Record<'_>) -> Option<()> {
        let Record { kind, misc, mut body } = *record;
        let time_ns = self.events.time_of(record);
        let (pid, _tid) = (body.u32()?, body.u32()?);
        let (start, length, offset) = (body.u64()?, body.u64()?, body.u64()?);
        let (mut build_id, mut executable) = (None, misc & MISC_DATA == 0);
        if kind == kind::MMAP2 {
            let file = body.take(24)?;
            if misc & MISC_BUILD_ID != 0 {
                build_id = file[4..].get(..usize::from(file[0])).map(BuildId);
            }
            executable = body.u32()? & EXECUTABLE != 0;
            let _flags = body.u32()?;
        }
        let path = until_nul(body.rest());
        // The mappings of a guest do not concern this machine's addresses.
        if context_of(misc) == Context::Elsewhere && misc & 7 != 0 {
            return Some(());
        }
        let pid = (pid != u32::MAX && context_of(misc) != Context::Kernel).then_some(pid);
        self.sink.mmap(&Mmap { time_ns, pid, start, length, offset, path, build_id, executable });
        Some(())
    }

    fn comm(&mut self, record: &Record<'_>) -> Option<()> {
        let mut body = record.body;
        let time_ns = self.events.time_of(record);
        let (pid, tid) = (body.u32()?, body.u32()?);
        let (name, exec) = (until_nul(body.rest()), record.misc & MISC_EXEC != 0);
        self.sink.comm(&Comm { time_ns, pid, tid, name, exec });
        Some(())
    }

    /// A record that perf itself wrote: it holds for the whole recording.
    fn side_record(&mut self, record: &Record<'_>) -> Option<()> {
        let Record { kind, misc, mut body } = *record;
        match kind {
            kind::ATTRIBUTE => {
                let (attribute, ids) = attribute_of(self.events.order, record)?;
                self.add_attribute(attribute, ids);
            }
            kind::EVENT_UPDATE => {
                let (what, id) = (body.u64()?, body.u64()?);
                if what == UPDATE_NAME
                    && let Some(row) = self.events.attributes.rename(id, until_nul(body.rest()))
                {
                    self.report_event(row);
                }
            }
            kind::BUILD_ID => {
                if let Some((path, id)) = features::build_id(misc, body) {
                    self.sink.build_id(path, id);
                }
            }
            kind::FEATURE => {
                let number = u32::try_from(body.u64()?).ok()?;
                self.feature(number, body);
            }
            _ => self.own_record(record)?,
        }
        Some(())
    }

    /// A record that our own recorder wrote.
    fn own_record(&mut self, record: &Record<'_>) -> Option<()> {
        let Record { kind, misc, mut body } = *record;
        match kind {
            kind::FACTS => self.sink.facts(&facts(body)?),
            kind::LOOP_WATCH => self.sink.loop_watch(&loop_watch(body)?),
            kind::SHORT_WAITS => self.sink.short_waits(&short_waits(body)?),
            kind::TURN => self.sink.turn(&turn(misc, body)?),
            kind::SECOND => self.sink.second(&second(body)?),
            kind::DELAY => self.sink.delay(&delay(body)?),
            kind::POOL => self.sink.pool(&pool(body)?),
            kind::JAVASCRIPT => {
                let (row, line, column) = (body.u32()?, body.u32()?, body.u32()?);
                let (inlined, name) = (body.u32()? != 0, FrameName::Symbol(until_nul(body.rest())));
                self.sink.javascript(&JavaScript { row, name, line, column, inlined });
            }
            kind::NAMED => {
                if let Some(bytes) = self.names.take(misc, counted(body)?) {
                    self.sink.javascript(&javascript::decode(bytes)?);
                }
            }
            kind::SCRIPT => {
                let bytes = counted(body)?;
                self.sink.script(&match misc {
                    0 => ScriptPart::Name(bytes),
                    1 => ScriptPart::MapUrl(bytes),
                    _ => ScriptPart::Text(bytes),
                });
            }
            kind::NOTE => {
                self.sink.note(String::from_utf8_lossy(until_nul(body.rest())).into_owned());
            }
            kind::UNNAMED => {
                let count = body.u64()?;
                self.sink.unnamed(until_nul(body.rest()), count);
            }
            kind::LOSS => {
                let (number, count) = (u32::try_from(body.u64()?).ok()?, body.u64()?);
                self.sink.loss(Loss::of(number)?, count);
            }
            kind::CPU_TIME => {
                self.sink
                    .cpu_time(&CpuTime { used_ns: body.u64()?, hidden_kernel_ns: body.u64()? });
            }
            _ => {}
        }
        Some(())
    }

    /// One of the things that perf writes beside the records.
    fn feature(&mut self, number: u32, bytes: Bytes<'_>) {
        match features::parse(number, bytes) {
            Some(Feature::About(about)) => self.sink.about(&about),
            Some(Feature::CommandLine(command)) => {
                self.sink.about(&About { command: Some(&command), ..About::default() });
            }
            Some(Feature::BuildIds(bytes)) => features::build_ids(bytes, |misc, body| {
                if let Some((path, id)) = features::build_id(misc, body) {
                    self.sink.build_id(path, id);
                }
            }),
            Some(Feature::Events(bytes)) => {
                self.events.learn_ids(bytes);
                let known = self.events.attributes.len();
                features::events(bytes, |row, name, _| {
                    if (row as usize) < known {
                        self.events.attributes.rename_row(row, name);
                        self.report_event(row);
                    }
                });
            }
            None => {}
        }
    }
}

/// Bytes behind their length.
fn counted(mut body: Bytes<'_>) -> Option<&[u8]> {
    let length = usize::try_from(body.u32()?).ok()?;
    body.rest().get(..length)
}

/// A number, unless it stands for one that is not known.
fn known(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number != u64::MAX)
}

/// A recording that is older has fewer texts: those that are missing are empty.
fn facts(mut body: Bytes<'_>) -> Option<Facts<'_>> {
    let (pid, inner_pid) = (body.u32()?, body.u32()?);
    let mut rest = body.rest();
    // A recording that is older has fewer texts: those that are missing are empty.
    let mut text = || {
        let (text, after) = split_nul(rest);
        rest = after;
        text
    };
    Some(Facts {
        pid,
        inner_pid,
        container: text(),
        node_version: text(),
        app: text(),
        command: text(),
        folder: text(),
        ports: text(),
        unnamed: text(),
        parent: text(),
    })
}

fn loop_watch(mut body: Bytes<'_>) -> Option<LoopWatch<'_>> {
    Some(LoopWatch {
        pid: body.u32()?,
        tid: body.u32()?,
        start_ns: body.u64()?,
        end_ns: body.u64()?,
        polled_ns: known(body.u64()?),
        turns: known(body.u64()?),
        problem: until_nul(body.rest()),
    })
}

fn short_waits(mut body: Bytes<'_>) -> Option<ShortWaits> {
    Some(ShortWaits {
        pid: body.u32()?,
        tid: body.u32()?,
        time_ns: body.u64()?,
        count: body.u64()?,
        total_ns: body.u64()?,
    })
}

fn turn(misc: u16, mut body: Bytes<'_>) -> Option<Turn> {
    let kinds = [TurnKind::Turn, TurnKind::Startup, TurnKind::Stopped, TurnKind::Quick];
    Some(Turn {
        kind: *kinds.get(usize::from(misc))?,
        pid: body.u32()?,
        tid: body.u32()?,
        start_ns: body.u64()?,
        end_ns: body.u64()?,
        turns: body.u64()?,
        run_ns: body.u64()?,
        ready_ns: body.u64()?,
        throttled_ns: known(body.u64()?),
    })
}

fn second(mut body: Bytes<'_>) -> Option<Second> {
    Some(Second {
        pid: body.u32()?,
        cpu_limit_millis: Some(body.u32()?).filter(|limit| *limit != u32::MAX),
        start_ns: body.u64()?,
        end_ns: body.u64()?,
        run_ns: body.u64()?,
        ready_ns: body.u64()?,
        periods: known(body.u64()?),
        throttled_periods: known(body.u64()?),
        throttled_ns: known(body.u64()?),
        cpu_pressure_ns: known(body.u64()?),
        memory_pressure_ns: known(body.u64()?),
    })
}

fn delay(mut body: Bytes<'_>) -> Option<Delay> {
    Some(Delay {
        pid: body.u32()?,
        tid: body.u32()?,
        start_ns: body.u64()?,
        end_ns: body.u64()?,
        delay_us: body.u64()?,
        moments: u32::try_from(body.u64()?).ok()?,
    })
}

fn pool(mut body: Bytes<'_>) -> Option<PoolUse> {
    let mut pool = PoolUse {
        pid: body.u32()?,
        threads: body.u32()?,
        start_ns: body.u64()?,
        end_ns: body.u64()?,
        looks: body.u32()?,
        busy: body.u32()?,
        full: body.u32()?,
        most_queued: body.u32()?,
        ..PoolUse::default()
    };
    for count in &mut pool.queued {
        *count = body.u32()?;
    }
    Some(pool)
}

/// A text, and what stands behind its end.
fn split_nul(bytes: &[u8]) -> (&[u8], &[u8]) {
    let text = until_nul(bytes);
    (text, bytes.get(text.len() + 1..).unwrap_or_default())
}

/// What stands at the end of a record.
struct Trailer {
    time_ns: u64,
    thread: Option<(u32, u32)>,
}

impl Trailer {
    fn read(attribute: &Attribute, body: Bytes<'_>) -> Option<Self> {
        if !attribute.sample_id_all() {
            return None;
        }
        let parts = [part::TID, part::TIME, part::ID, part::STREAM_ID, part::CPU, part::IDENTIFIER];
        let size = parts.iter().filter(|part| attribute.has(**part)).count() * 8;
        let start = body.rest().len().checked_sub(size)?;
        let mut bytes = body.with(&body.rest()[start..]);
        let thread =
            if attribute.has(part::TID) { Some((bytes.u32()?, bytes.u32()?)) } else { None };
        let time_ns = if attribute.has(part::TIME) { bytes.u64()? } else { 0 };
        Some(Self { time_ns, thread })
    }
}
