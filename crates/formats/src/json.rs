//! What the readers of JSON share: the outermost keys of a text's start, which distinguish the formats; values
//! that do not insist on a type; lists that are read entry by entry instead of being kept; and the sentence for
//! a text that ends or breaks.

mod long_strings;
mod mend;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};
use std::marker::PhantomData;

use profile::Budget;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use long_strings::LongStrings;
pub(crate) use mend::mend;

/// The whole input as text, and why it is not whole. Bytes that are no UTF-8 become replacement characters:
/// they can only stand in names.
pub(crate) fn read_text(input: impl Read, budget: &Budget) -> (String, Option<String>) {
    let mut bytes = Vec::new();
    let broken = read_bytes(LongStrings::new(input), &mut bytes, budget).err();
    let sentence = broken.map(|error| format!("damaged after byte {}: {error}", bytes.len()));
    let text = String::from_utf8(bytes).unwrap_or_else(|error| match error.as_bytes().len() {
        0..=LARGE_TEXT => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        _ => mended_in_place(error.into_bytes()),
    });
    (text, sentence)
}

/// A text that is larger is not copied.
const LARGE_TEXT: usize = 64 << 20;

/// The whole input, as far as it fits: a quarter of the memory is left for what is made of it.
pub(crate) fn read_bytes(
    mut input: impl Read,
    bytes: &mut Vec<u8>,
    budget: &Budget,
) -> io::Result<()> {
    const STEP_BYTES: u64 = 1 << 20;
    loop {
        let read = input.by_ref().take(STEP_BYTES).read_to_end(bytes)?;
        budget.take(read);
        if read == 0 {
            return Ok(());
        }
        if budget.left() < budget.most() / 4 {
            return Err(io::Error::other(budget.sentence()));
        }
    }
}

/// Puts a question mark in place of each byte that is no UTF-8.
fn mended_in_place(mut bytes: Vec<u8>) -> String {
    let mut from = 0;
    while let Some(Err(error)) = bytes.get(from..).map(std::str::from_utf8) {
        let start = from + error.valid_up_to();
        let end = error.error_len().map_or(bytes.len(), |length| start + length);
        if let Some(bad) = bytes.get_mut(start..end) {
            bad.fill(b'?');
        }
        from = end;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// What is wrong with a text, by byte instead of line and column: these texts are one line.
pub(crate) fn damage(text: &str, error: &serde_json::Error) -> String {
    let byte = damaged_byte(text, error);
    let sentence = error.to_string();
    let what = sentence.split(" at line ").next().unwrap_or_default();
    format!("damaged at byte {byte}: {what}")
}

fn damaged_byte(text: &str, error: &serde_json::Error) -> usize {
    let lines_before: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    (lines_before + error.column()).min(text.len())
}

/// Hands each entry of a list to `take`; an entry of another type ends the list, and so does memory that is full.
pub(crate) fn each<'a, T: Deserialize<'a>>(
    list: &'a RawValue,
    budget: &Budget,
    take: impl FnMut(T),
) -> serde_json::Result<()> {
    serde_json::Deserializer::from_str(list.get()).deserialize_seq(Each {
        take,
        budget,
        of: PhantomData,
    })
}

struct Each<'b, T, F> {
    take: F,
    budget: &'b Budget,
    of: PhantomData<T>,
}

impl<'a, T: Deserialize<'a>, F: FnMut(T)> Visitor<'a> for Each<'_, T, F> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(entry) = list.next_element()? {
            (self.take)(entry);
            if self.budget.is_full() {
                return Err(A::Error::custom(self.budget.sentence()));
            }
        }
        Ok(())
    }
}

/// The keys of the outermost object, or of the first object of the outermost list, as far as the start of a
/// text shows them.
pub(crate) fn outermost_keys(start: &[u8]) -> Vec<&[u8]> {
    let mut keys = Vec::new();
    let (mut depth, mut at) = (0u32, 0);
    let is_list = start.trim_ascii_start().starts_with(b"[");
    let keys_depth = if is_list { 2 } else { 1 };
    while let Some(byte) = start.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if is_list && depth < keys_depth {
                    break;
                }
            }
            b'"' => {
                let end = string_end(start, at);
                let is_key =
                    start[end..].get(1..).unwrap_or_default().trim_ascii_start().starts_with(b":");
                if depth == keys_depth && is_key {
                    keys.push(&start[at..end]);
                }
                at = end + 1;
            }
            _ => {}
        }
    }
    keys
}

/// Where the string that starts here ends: its closing quote, or the end of the text.
pub(crate) fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// A string; half a surrogate pair, which JavaScript may write, is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, because as a string serde_json refuses halves of surrogate pairs.
        deserializer.deserialize_bytes(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Text(String::from_utf8_lossy(bytes)))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
    }
}

/// A number, or anything else as NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

impl Default for Number {
    fn default() -> Self {
        Self(f64::NAN)
    }
}

impl Number {
    /// As a row number, an id or a count.
    pub(crate) fn as_u32(self) -> Option<u32> {
        let fits = self.0 >= 0.0 && self.0 < f64::from(u32::MAX);
        fits.then_some(self.0 as u32)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
        Ok(Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
        Ok(Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Number, E> {
        Ok(Number(text.parse().unwrap_or(f64::NAN)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
        Ok(Number::default())
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Number, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Number::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Number, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Number::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_outermost_object() {
        let keys = |text: &'static str| -> Vec<&str> {
            outermost_keys(text.as_bytes())
                .iter()
                .map(|key| std::str::from_utf8(key).unwrap_or("?"))
                .collect()
        };
        assert_eq!(keys(r#" {"a":{"b":1},"c" : "d", "e\"":[{"f":2}]"#), ["a", "c", "e\\\""]);
        assert_eq!(keys(r#"[{"ph":"P","args":{"x":1}},{"y":1}]"#), ["ph", "args"]);
        assert_eq!(keys(r#"{"cut"#), Vec::<&str>::new());
        assert_eq!(keys(r#"{"cut\"#), Vec::<&str>::new());
        assert_eq!(keys("}}}}]"), Vec::<&str>::new());
    }

    #[test]
    fn values_of_any_type() {
        let number = |text: &str| serde_json::from_str::<Number>(text).map(Number::as_u32).ok();
        for (text, expected) in [
            ("12", Some(12)),
            ("12.5", Some(12)),
            ("\"12\"", Some(12)),
            ("-1", None),
            ("1e300", None),
            ("null", None),
            ("[1,[2]]", None),
            ("{\"a\":1}", None),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        let text = |json: &str| {
            serde_json::from_str::<Text<'_>>(json).map(|text| text.0.into_owned()).ok()
        };
        assert_eq!(text(r#""a\ud800b""#).as_deref(), Some("a\u{fffd}\u{fffd}\u{fffd}b"));
        assert_eq!(text("\"主程序\"").as_deref(), Some("主程序"));
    }

    #[test]
    fn damage_is_found_by_byte() {
        let text = "[1,\n 2,\n x]";
        let error = serde_json::from_str::<Vec<u32>>(text).err().map(|error| damage(text, &error));
        assert_eq!(error.as_deref(), Some("damaged at byte 10: expected value"));
    }
}
