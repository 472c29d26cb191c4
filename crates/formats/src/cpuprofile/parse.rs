//! The JSON of a profile → [`RawProfile`]. Lists are filled while they are read, so that what stands before a
//! damage is kept; nothing here recurses, and unknown keys are passed over.

use std::fmt;

use profile::Budget;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::head;
use super::raw::{Call, NO_ID, NUMBER_COST, RawProfile};
use crate::json::{self, Number, Text};

/// Reads a whole text; returns what is wrong with it.
pub(super) fn parse<'a>(text: &'a str, raw: &mut RawProfile<'a>) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut head = None;
    let read = deserializer.deserialize_map(ProfileVisitor { raw, head: &mut head });
    let error = read.and_then(|()| deserializer.end()).err();
    let damage = error.map(|error| json::damage(text, &error));
    damage.or(head.and_then(|head| head::read(head.get(), raw)))
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum ProfileKey {
    Nodes,
    Head,
    Samples,
    TimeDeltas,
    Timestamps,
    StartTime,
    EndTime,
    #[serde(other)]
    Other,
}

struct ProfileVisitor<'r, 'a> {
    raw: &'r mut RawProfile<'a>,
    head: &'r mut Option<&'a RawValue>,
}

impl<'de> Visitor<'de> for ProfileVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a profile")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { raw, head } = self;
        while let Some(key) = object.next_key()? {
            match key {
                ProfileKey::Nodes => object.next_value_seed(NodesSeed(raw))?,
                ProfileKey::Head => *head = Some(object.next_value()?),
                ProfileKey::Samples => {
                    object.next_value_seed(NumbersSeed(&mut raw.samples, id_of, &raw.budget))?;
                }
                ProfileKey::TimeDeltas => {
                    object.next_value_seed(NumbersSeed(
                        &mut raw.time_deltas,
                        |number| number.0,
                        &raw.budget,
                    ))?;
                }
                ProfileKey::Timestamps => {
                    object.next_value_seed(NumbersSeed(
                        &mut raw.timestamps,
                        |number| number.0,
                        &raw.budget,
                    ))?;
                }
                ProfileKey::StartTime => raw.start = time_of(object.next_value()?),
                ProfileKey::EndTime => raw.end = time_of(object.next_value()?),
                ProfileKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The id that a number is.
pub(crate) fn id_of(number: Number) -> u32 {
    number.as_u32().unwrap_or(NO_ID)
}

/// The time that a number is.
pub(crate) fn time_of(number: Number) -> Option<f64> {
    Some(number.0).filter(|time| time.is_finite())
}

/// Adds the nodes of a list.
pub(crate) struct NodesSeed<'r, 'a>(pub(crate) &'r mut RawProfile<'a>);

impl<'de> DeserializeSeed<'de> for NodesSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NodesSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(NodeSeed(self.0))?.is_some() {
            take_from::<A::Error>(&self.0.budget, 0)?;
        }
        Ok(())
    }
}

struct NodeSeed<'r, 'a>(&'r mut RawProfile<'a>);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum NodeKey {
    Id,
    CallFrame,
    HitCount,
    Children,
    Parent,
    PositionTicks,
    #[serde(other)]
    Other,
}

/// Where a function is defined; lines and columns from 0, -1 where not known.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CallFrame<'a> {
    #[serde(borrow)]
    pub(super) function_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) url: Option<Text<'a>>,
    pub(super) line_number: Number,
    pub(super) column_number: Number,
}

impl<'a> CallFrame<'a> {
    /// The function; `first` is the number of the first line.
    pub(super) fn call(self, first: u32) -> Call<'a> {
        let from_one =
            |number: Number| number.as_u32().map_or(0, |number| number.saturating_add(1 - first));
        Call {
            name: self.function_name.unwrap_or_default(),
            url: self.url.unwrap_or_default(),
            line: from_one(self.line_number),
            column: from_one(self.column_number),
        }
    }
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(super) struct Tick {
    line: Number,
    ticks: Number,
}

impl Tick {
    /// Line and ticks.
    pub(super) fn row(&self) -> (u32, u32) {
        (self.line.as_u32().unwrap_or(0), self.ticks.as_u32().unwrap_or(0))
    }
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a node")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let raw = self.0;
        let mut is_empty = true;
        let (mut id, mut parent, mut hits) = (None, None, Number(0.0));
        let mut frame = CallFrame::default();
        while let Some(key) = object.next_key()? {
            is_empty = false;
            match key {
                NodeKey::Id => id = object.next_value::<Number>()?.as_u32(),
                NodeKey::Parent => parent = object.next_value::<Number>()?.as_u32(),
                NodeKey::HitCount => hits = object.next_value()?,
                NodeKey::CallFrame => frame = object.next_value()?,
                NodeKey::Children => {
                    object.next_value_seed(NumbersSeed(&mut raw.children, id_of, &raw.budget))?;
                }
                NodeKey::PositionTicks => {
                    object.next_value_seed(TicksSeed(&mut raw.ticks, &raw.budget))?;
                }
                NodeKey::Other => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        if is_empty {
            return Ok(());
        }
        let call = raw.call(frame.call(0));
        raw.node(id, parent, call, hits);
        Ok(())
    }
}

/// Counts memory; an error where there is none left.
fn take_from<E: Error>(budget: &Budget, bytes: usize) -> Result<(), E> {
    budget.take(bytes);
    if budget.is_full() { Err(E::custom(budget.sentence())) } else { Ok(()) }
}

/// Adds the numbers of a list, each as what it means.
pub(crate) struct NumbersSeed<'r, T>(
    pub(crate) &'r mut Vec<T>,
    pub(crate) fn(Number) -> T,
    pub(crate) &'r Budget,
);

impl<'de, T> DeserializeSeed<'de> for NumbersSeed<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T> Visitor<'de> for NumbersSeed<'_, T> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of numbers")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(number) = list.next_element()? {
            self.0.push(self.1(number));
            take_from::<A::Error>(self.2, NUMBER_COST)?;
        }
        Ok(())
    }
}

struct TicksSeed<'r>(&'r mut Vec<(u32, u32)>, &'r Budget);

impl<'de> DeserializeSeed<'de> for TicksSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TicksSeed<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of lines and ticks")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(tick) = list.next_element::<Tick>()? {
            self.0.push(tick.row());
            take_from::<A::Error>(self.1, NUMBER_COST)?;
        }
        Ok(())
    }
}
