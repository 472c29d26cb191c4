//! The events of a trace that matter: those that carry profiles, and those that name threads. What an event
//! carries stays text until it is known to be wanted.

use std::fmt;

use profile::Budget;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::cpuprofile::{NodesSeed, NumbersSeed, RawProfile, id_of, time_of};
use crate::json::{self, Number, Text};

/// An event.
pub(super) struct Event<'a> {
    pub(super) kind: Kind,
    pub(super) process: Number,
    pub(super) thread: Number,
    /// In microseconds.
    pub(super) time: Number,
    /// As written, quotes and all: it only has to differ.
    pub(super) id: &'a str,
    arguments: &'a str,
}

/// What an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Begins a profile.
    Profile,
    /// A part of one.
    Chunk,
    /// A whole profile in one event, as Chrome wrote before version 58.
    Whole,
    ThreadName,
    ProcessName,
    /// Node's version.
    Version,
}

const KINDS: &[(&str, Kind)] = &[
    ("Profile", Kind::Profile),
    ("ProfileChunk", Kind::Chunk),
    ("CpuProfile", Kind::Whole),
    ("thread_name", Kind::ThreadName),
    ("process_name", Kind::ProcessName),
    ("version", Kind::Version),
];

/// Reads the events that matter; returns what is wrong with the text.
pub(super) fn read<'a>(text: &'a str, budget: &Budget) -> (Vec<Event<'a>>, Option<String>) {
    let mut events = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = EventsSeed(&mut events, budget)
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    let damage = read.err().map(|error| json::damage(text, &error));
    (events, damage)
}

/// What an event takes, sorted and with a profile or a name of its own.
const EVENT_COST: usize = 512;

/// The list of events, bare or in an object.
struct EventsSeed<'r, 'a>(&'r mut Vec<Event<'a>>, &'r Budget);

impl<'de> DeserializeSeed<'de> for EventsSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EventsSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(event) = list.next_element::<RawEvent<'de>>()? {
            if let Some(event) = event.known() {
                self.0.push(event);
                self.1.take(EVENT_COST);
            }
            // What the events hold needs room, too.
            if self.1.left() < self.1.most() / 8 {
                return Err(A::Error::custom(self.1.sentence()));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<Text<'de>>()? {
            if key.0 == "traceEvents" {
                object.next_value_seed(EventListSeed(self.0, self.1))?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Only the list: no object inside an object.
struct EventListSeed<'r, 'a>(&'r mut Vec<Event<'a>>, &'r Budget);

impl<'de> DeserializeSeed<'de> for EventListSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(EventsSeed(self.0, self.1))
    }
}

#[derive(Deserialize)]
struct RawEvent<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(default)]
    pid: Number,
    #[serde(default)]
    tid: Number,
    #[serde(default)]
    ts: Number,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

impl<'a> RawEvent<'a> {
    fn known(self) -> Option<Event<'a>> {
        let name = self.name?.get().strip_prefix('"')?.strip_suffix('"')?;
        let (_, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
        Some(Event {
            kind: *kind,
            process: self.pid,
            thread: self.tid,
            time: self.ts,
            id: self.id.map_or("", RawValue::get),
            arguments: self.args?.get(),
        })
    }
}

/// The name, or version, that an event gives.
pub(super) fn read_name(event: &Event<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Arguments<'a> {
        #[serde(borrow, alias = "node")]
        name: Option<Text<'a>>,
    }
    let wanted = matches!(event.kind, Kind::ThreadName | Kind::ProcessName | Kind::Version);
    let arguments: Arguments<'_> = serde_json::from_str(event.arguments).ok().filter(|_| wanted)?;
    Some(arguments.name?.0.into_owned())
}

/// Adds what an event knows of a profile; returns what is wrong with it.
pub(super) fn read_chunk<'a>(event: &Event<'a>, raw: &mut RawProfile<'a>) -> Option<String> {
    let mut deserializer = serde_json::Deserializer::from_str(event.arguments);
    let read = ChunkSeed(raw).deserialize(&mut deserializer);
    read.err().map(|error| {
        format!("a chunk of a profile at {} µs was not understood: {error}", event.time.0)
    })
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum ChunkKey {
    Data,
    CpuProfile,
    Nodes,
    Samples,
    TimeDeltas,
    Lines,
    StartTime,
    EndTime,
    #[serde(other)]
    Other,
}

/// `args`, its `data` and its `cpuProfile` hold different keys, so one reader serves all three.
struct ChunkSeed<'r, 'a>(&'r mut RawProfile<'a>);

impl<'de> DeserializeSeed<'de> for ChunkSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ChunkSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a part of a profile")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let raw = self.0;
        while let Some(key) = object.next_key()? {
            match key {
                ChunkKey::Data | ChunkKey::CpuProfile => object.next_value_seed(ChunkSeed(raw))?,
                ChunkKey::Nodes => object.next_value_seed(NodesSeed(raw))?,
                ChunkKey::Samples => {
                    object.next_value_seed(NumbersSeed(&mut raw.samples, id_of, &raw.budget))?;
                }
                ChunkKey::TimeDeltas => {
                    object.next_value_seed(NumbersSeed(
                        &mut raw.time_deltas,
                        |number| number.0,
                        &raw.budget,
                    ))?;
                }
                ChunkKey::Lines => {
                    object.next_value_seed(NumbersSeed(
                        &mut raw.lines,
                        |line| line.as_u32().unwrap_or(0),
                        &raw.budget,
                    ))?;
                }
                ChunkKey::StartTime => raw.start = time_of(object.next_value()?),
                ChunkKey::EndTime => raw.end = time_of(object.next_value()?),
                ChunkKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
