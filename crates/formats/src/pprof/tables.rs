//! pprof's tables by their ids, which may be any number, and the frames that a location stands for.

use profile::{Budget, Builder, DEEPEST_STACK, FrameId, NO_ADDRESS};
use rustc_hash::FxHashMap;

use super::fields::{function, line, location, mapping, profile as field};
use super::wire::Fields;
use crate::code_place::{self, CodePlace};
use naming::ANONYMOUS;

/// The texts of a profile, by number.
pub(super) struct Texts<'a>(Vec<&'a [u8]>);

/// A text that a file can hold a lot of costs as much memory as it may: empty ones are the cheapest.
const MOST_TEXTS: usize = 16 << 20;

impl<'a> Texts<'a> {
    pub(super) fn of(message: &'a [u8], budget: &Budget) -> Self {
        let texts = Fields::of(message).filter(|(number, _)| *number == field::STRING);
        let texts = texts.take(MOST_TEXTS).take_while(|_| !budget.is_full());
        Self(texts.map(|(_, value)| value.bytes()).inspect(|_| budget.take(TEXT_COST)).collect())
    }

    /// A text; empty where there is none.
    pub(super) fn get(&self, number: u64) -> std::borrow::Cow<'a, str> {
        let bytes = usize::try_from(number).ok().and_then(|row| self.0.get(row));
        String::from_utf8_lossy(bytes.copied().unwrap_or_default())
    }
}

/// What a row of these tables takes at most, and a text.
const ROW_COST: usize = 64;
const TEXT_COST: usize = 24;

/// Messages by their id.
type ById<'a> = FxHashMap<u64, &'a [u8]>;

/// Mappings, locations and functions.
pub(super) struct Tables<'a> {
    mappings: ById<'a>,
    functions: ById<'a>,
    locations: ById<'a>,
    /// For each function, the only place that was seen in it, if that is where it starts.
    starts: FxHashMap<u64, Option<(u32, u32)>>,
}

impl<'a> Tables<'a> {
    pub(super) fn of(message: &'a [u8], budget: &Budget) -> Self {
        let by_id = |table: u32, id: u32| -> ById<'a> {
            let rows = Fields::of(message).filter(|(number, _)| *number == table);
            let mut found = ById::default();
            for (_, value) in rows.take_while(|_| !budget.is_full()) {
                if found.insert(number_in(value.bytes(), id), value.bytes()).is_none() {
                    budget.take(ROW_COST);
                }
            }
            found
        };
        let mut tables = Self {
            mappings: by_id(field::MAPPING, mapping::ID),
            functions: by_id(field::FUNCTION, function::ID),
            locations: by_id(field::LOCATION, location::ID),
            starts: FxHashMap::default(),
        };
        tables.find_starts(budget);
        tables
    }

    /// A function that was only ever seen on its first line was not seen on a line at all: the writer knew no
    /// other number.
    fn find_starts(&mut self, budget: &Budget) {
        let lines = self.locations.values().flat_map(|message| lines_of(message));
        for (_, value) in lines.take_while(|_| !budget.is_full()) {
            let row = Line::of(value);
            let start = self
                .functions
                .get(&row.function)
                .map_or(0, |message| number_in(message, function::START_LINE));
            let place = Some((row.line, row.column))
                .filter(|(line, _)| start > 0 && u64::from(*line) == start);
            self.starts
                .entry(row.function)
                .and_modify(|known| *known = known.filter(|known| Some(*known) == place))
                .or_insert_with(|| {
                    budget.take(ROW_COST);
                    place
                });
        }
    }

    /// The id of a location; one for all that are not there.
    pub(super) fn location_or_none(&self, id: u64) -> u64 {
        if self.locations.contains_key(&id) { id } else { u64::MAX }
    }

    /// The frames of a location, the outermost first: a location has a line for each inlined function.
    pub(super) fn frames(&self, builder: &mut Builder, texts: &Texts<'_>, id: u64) -> Vec<FrameId> {
        let message = self.locations.get(&id).copied().unwrap_or_default();
        let address = number_in(message, location::ADDRESS);
        let address = if address == 0 { NO_ADDRESS } else { address };
        let binary = self
            .mappings
            .get(&number_in(message, location::MAPPING_ID))
            .copied()
            .unwrap_or_default();
        let module = texts.get(number_in(binary, mapping::FILENAME));
        let lines = lines_of(message).take(DEEPEST_STACK.into());
        let lines: Vec<Line> = lines.map(|(_, value)| Line::of(value)).collect();
        if lines.is_empty() {
            let name = if module.is_empty() && address != NO_ADDRESS {
                format!("{address:#x}")
            } else {
                "[unknown]".into()
            };
            let place = CodePlace {
                name: &name,
                symbol: "",
                file: "",
                module: &module,
                definition: (0, 0),
                ran: (0, 0),
                address,
                inlined: false,
            };
            return vec![code_place::frame(builder, &place)];
        }
        let outermost = lines.len() - 1;
        let frame = |(row, line): (usize, &Line)| {
            self.frame(builder, texts, line, (&module, address, row < outermost))
        };
        lines.iter().enumerate().rev().map(frame).collect()
    }

    fn frame(
        &self,
        builder: &mut Builder,
        texts: &Texts<'_>,
        line: &Line,
        (module, address, inlined): (&str, u64, bool),
    ) -> FrameId {
        let message = self.functions.get(&line.function).copied().unwrap_or_default();
        let name = texts.get(number_in(message, function::NAME));
        let system_name = texts.get(number_in(message, function::SYSTEM_NAME));
        let file = texts.get(number_in(message, function::FILENAME));
        let start_line = small(number_in(message, function::START_LINE));
        let name = if name.is_empty() { &system_name } else { &name };
        let is_state = file.is_empty() && module.is_empty();
        let state = STATES.iter().find(|(theirs, _)| is_state && theirs == name);
        let name: &str = state.map_or(name, |(_, ours)| ours);
        let (name, definition, ran) =
            match (place_of_anonymous(name), self.starts.get(&line.function).copied().flatten()) {
                (Some(place), _) if place.0 == line.line => (ANONYMOUS, place, (0, 0)),
                (Some(place), _) => (ANONYMOUS, place, (line.line, line.column)),
                (None, Some(start)) => (name, start, (0, 0)),
                (None, None) => (name, (start_line, 0), (line.line, line.column)),
            };
        code_place::frame(
            builder,
            &CodePlace {
                name,
                symbol: &system_name,
                file: &file,
                module,
                definition,
                ran,
                address,
                inlined,
            },
        )
    }
}

/// How @datadog/pprof calls the states of V8's profiler.
const STATES: &[(&str, &str)] =
    &[("Garbage Collection", "(garbage collector)"), ("Program", "(program)"), ("Idle", "(idle)")];

/// A line of a location.
#[derive(Clone, Copy)]
struct Line {
    function: u64,
    line: u32,
    column: u32,
}

impl Line {
    fn of(message: &[u8]) -> Self {
        let number = |field| number_in(message, field);
        Self {
            function: number(line::FUNCTION_ID),
            line: small(number(line::LINE)),
            column: small(number(line::COLUMN)),
        }
    }
}

fn lines_of(location: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    Fields::of(location)
        .filter(|(number, _)| *number == location::LINE)
        .map(|(number, value)| (number, value.bytes()))
}

/// The last value of a number in a message, as protobuf wants it; 0 where there is none.
pub(super) fn number_in(message: &[u8], field: u32) -> u64 {
    Fields::of(message)
        .filter(|(number, _)| *number == field)
        .last()
        .map_or(0, |(_, value)| value.number())
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// `(anonymous:L#12:C#3)`, as @datadog/pprof and we write functions without a name.
fn place_of_anonymous(name: &str) -> Option<(u32, u32)> {
    let place = name.strip_prefix("(anonymous:L#")?.strip_suffix(')')?;
    let (line, column) = place.split_once(":C#")?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_functions_have_a_place() {
        assert_eq!(place_of_anonymous("(anonymous:L#12:C#3)"), Some((12, 3)));
        assert_eq!(place_of_anonymous("(anonymous)"), None);
        assert_eq!(place_of_anonymous("(anonymous:L#x:C#3)"), None);
    }
}
