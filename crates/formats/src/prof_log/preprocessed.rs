//! The JSON of `node --prof-process --preprocess`: `{code: […], functions: […], ticks: [{tm, vm, s: […]}]}`.
//! A tick's `s` holds pairs of a row of `code` and an offset, the innermost first. Read as a stream, so that a
//! file that is cut off still shows what came before.

use std::fmt;
use std::io::{BufReader, Read};
use std::marker::PhantomData;

use naming::addresses::NoLibraries;
use profile::{Budget, DEEPEST_STACK, Profile};
use serde::Deserialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::stacks::{RawFrame, RawFrameId};
use super::states::{NEWEST, state};
use super::ticks::Ticks;
use crate::json::LongStrings;

/// Reads the JSON. The input never fails: what cannot be understood is reported in the profile's losses.
pub fn read(input: impl Read, budget: &Budget) -> Profile {
    let ticks = Ticks::new("V8 --prof log, preprocessed", budget);
    let mut reader = Reader { ticks, code: Vec::new() };
    let input = BufReader::with_capacity(1 << 16, LongStrings::new(input));
    let mut json = serde_json::Deserializer::from_reader(input);
    if let Err(error) = Document(&mut reader).deserialize(&mut json) {
        reader.ticks.builder.meta().losses.damage.push(format!("damaged: {error}"));
    }
    reader.ticks.finish(&NoLibraries)
}

/// Whether these are the first bytes of such a file: an object whose first key is `code`, a list.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    let mut rest = first_bytes.trim_ascii_start();
    [&b"{"[..], b"\"code\"", b":", b"["].iter().all(|part| {
        let found = rest.strip_prefix(*part);
        rest = found.unwrap_or_default().trim_ascii_start();
        found.is_some()
    })
}

struct Reader {
    ticks: Ticks,
    code: Vec<Code>,
}

/// A row of `code`, and its frame once a tick was seen in it.
struct Code {
    row: CodeRow,
    frame: Option<RawFrameId>,
}

#[derive(Deserialize)]
struct CodeRow {
    #[serde(default)]
    name: String,
    #[serde(rename = "type", default)]
    origin: String,
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
struct TickRow {
    tm: f64,
    vm: u64,
    s: Pairs,
}

/// The numbers of a tick, as far as they make a stack.
struct Pairs(Vec<f64>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut pairs = Vec::new();
        Each::row(|number: f64| {
            if pairs.len() < 2 * usize::from(DEEPEST_STACK) {
                pairs.push(number);
            }
        })
        .deserialize(deserializer)?;
        Ok(Self(pairs))
    }
}

/// What a row of `code` takes beside its texts.
const CODE_COST: usize = 160;

/// How the JSON calls V8's tiers, and how a perf map marks them.
const KINDS: &[(&str, &str)] = &[
    ("Unopt", "~"),
    ("Ignition", "~"),
    ("Sparkplug", "^"),
    ("Baseline", "^"),
    ("Turboprop", "+"),
    ("Maglev", "+"),
    ("Opt", "*"),
];

impl Reader {
    fn add(&mut self, tick: &TickRow) {
        // An unknown address has the row -1, which becomes one that no table has.
        let frames: Vec<RawFrameId> = tick.s.0.chunks(2).map(|pair| self.frame(pair[0])).collect();
        self.ticks.add(tick.tm.max(0.0) as u64, state(NEWEST, tick.vm), &frames);
    }

    fn frame(&mut self, row: f64) -> RawFrameId {
        let code = if row < 0.0 { None } else { self.code.get_mut(row as usize) };
        let stacks = &mut self.ticks.stacks;
        let Some(Code { row, frame }) = code else { return stacks.frame(RawFrame::Nothing) };
        *frame.get_or_insert_with(|| stacks.frame(row.frame()))
    }
}

impl CodeRow {
    fn frame(&self) -> RawFrame {
        match self.origin.as_str() {
            "SHARED_LIB" => RawFrame::Library(self.name.clone()),
            "CPP" => RawFrame::Native(self.name.clone()),
            "JS" => {
                let marker = KINDS
                    .iter()
                    .find(|(kind, _)| *kind == self.kind)
                    .map_or("", |(_, marker)| marker);
                RawFrame::Code(["JS:", marker, &self.name].concat())
            }
            _ => RawFrame::Code([&self.kind, ":", &*self.name].concat()),
        }
    }
}

/// The whole file.
struct Document<'a>(&'a mut Reader);

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with code and ticks")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "code" => map.next_value_seed(Each::row(|row: CodeRow| {
                    let texts = row.name.len() + row.origin.len() + row.kind.len();
                    self.0.ticks.builder.budget().take(CODE_COST + texts);
                    self.0.code.push(Code { row, frame: None });
                }))?,
                "ticks" => map.next_value_seed(Each::row(|tick: TickRow| self.0.add(&tick)))?,
                _ => map.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
        Ok(())
    }
}

/// A list whose rows are handed on one by one.
struct Each<Row, F>(F, PhantomData<Row>);

impl<Row, F: FnMut(Row)> Each<Row, F> {
    fn row(take: F) -> Self {
        Self(take, PhantomData)
    }
}

impl<'de, Row: Deserialize<'de>, F: FnMut(Row)> DeserializeSeed<'de> for Each<Row, F> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, Row: Deserialize<'de>, F: FnMut(Row)> Visitor<'de> for Each<Row, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(row) = list.next_element()? {
            (self.0)(row);
        }
        Ok(())
    }
}
