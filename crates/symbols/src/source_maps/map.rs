//! A source map: JSON to places. The crate oxc_sourcemap understands the `mappings`; everything around them is read
//! here, leniently and within limits: what is not needed (the text of the sources) is skipped, index maps become one
//! map, and places are looked up in a sorted list, because a table by line would let a small file claim much memory.

use std::borrow::Cow;
use std::fmt;

use oxc_sourcemap::{JSONSourceMap, SourceMap, Token};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use super::address::under_source_root;

/// The most sources, and the most names, of a map.
const MOST_TEXTS: usize = 1 << 20;
/// The most places: 192 MB of them. A bundle of 40 MB has about five million.
const MOST_PLACES: usize = 8 << 20;
/// A longer path or name is none.
const LONGEST_TEXT: usize = 4096;

/// Where each place of a generated script comes from.
pub(super) struct Map {
    /// Sorted by generated line and column.
    places: Vec<Token>,
    sources: Vec<String>,
    names: Vec<String>,
}

/// Where something comes from; lines and columns from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin<'a> {
    pub(super) source: u32,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) name: Option<&'a str>,
    /// The generated column where this place starts, from 1.
    pub(super) starts: u32,
}

/// The map cannot be read. The reason does not quote the map, which may be any file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapError {
    Json,
    Version,
    Mappings,
    TooLarge,
}

impl fmt::Display for MapError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Json => "is not the JSON of a source map",
            Self::Version => "has a version that is not known (3 is)",
            Self::Mappings => "is damaged",
            Self::TooLarge => "is too large",
        })
    }
}

impl Map {
    /// What it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let texts: usize = self
            .sources
            .iter()
            .chain(&self.names)
            .map(|text| text.len() + size_of::<String>())
            .sum();
        self.places.len() * size_of::<Token>() + texts
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, MapError> {
        let text = std::str::from_utf8(bytes).map_err(|_| MapError::Json)?;
        let written: Written<'_> =
            serde_json::from_str(without_guard(text)).map_err(|_| MapError::Json)?;
        let mut map = Map { places: Vec::new(), sources: Vec::new(), names: Vec::new() };
        match &written.sections {
            None => map.add(&written, (0, 0))?,
            Some(sections) => map.add_sections(&written, &sections.0)?,
        }
        let key = |place: &Token| (place.get_dst_line(), place.get_dst_col());
        if !map.places.is_sorted_by_key(key) {
            map.places.sort_by_key(key);
        }
        Ok(map)
    }

    /// Adds a map that starts at that line and column.
    fn add(&mut self, written: &Written<'_>, (line, column): (u32, u32)) -> Result<(), MapError> {
        if written.version.is_some_and(|version| version != 3) {
            return Err(MapError::Version);
        }
        let mappings = written.mappings.as_deref().ok_or(MapError::Json)?;
        let separators = mappings.bytes().filter(|byte| matches!(byte, b',' | b';')).count();
        let texts = self.sources.len().max(self.names.len());
        let new_texts = written.sources.0.len().max(written.names.0.len());
        if separators + self.places.len() > MOST_PLACES || texts + new_texts > MOST_TEXTS {
            return Err(MapError::TooLarge);
        }
        let (first_source, first_name) = (self.sources.len() as u32, self.names.len() as u32);
        let root = written.source_root.as_deref().unwrap_or_default();
        let source = |text: &Text<'_>| under_source_root(root, text.get());
        self.sources.extend(written.sources.0.iter().map(source));
        self.names.extend(written.names.0.iter().map(|text| text.get().to_owned()));
        let places = decode(mappings, written.sources.0.len(), written.names.0.len())?;
        if self.places.is_empty() && (line, column, first_source, first_name) == (0, 0, 0, 0) {
            self.places = places.into_vec();
            return Ok(());
        }
        self.places.extend(places.iter().map(|place| {
            let is_first_line = place.get_dst_line() == 0;
            Token::new(
                place.get_dst_line().saturating_add(line),
                place.get_dst_col().saturating_add(if is_first_line { column } else { 0 }),
                place.get_src_line(),
                place.get_src_col(),
                place.get_source_id().map(|id| id + first_source),
                place.get_name_id().map(|id| id + first_name),
            )
        }));
        Ok(())
    }

    /// An index map: each section ends where the next one starts.
    fn add_sections(
        &mut self,
        index: &Written<'_>,
        sections: &[Section<'_>],
    ) -> Result<(), MapError> {
        if index.version.is_some_and(|version| version != 3) {
            return Err(MapError::Version);
        }
        let mut sections: Vec<&Section<'_>> = sections.iter().collect();
        sections.sort_by_key(|section| section.start());
        for section in sections {
            let start = section.start();
            while self
                .places
                .pop_if(|place| (place.get_dst_line(), place.get_dst_col()) >= start)
                .is_some()
            {}
            // A section that is elsewhere is not fetched, and one inside another does not exist.
            match section.map.as_deref() {
                Some(map) if map.sections.is_none() => self.add(map, start)?,
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn sources(&self) -> &[String] {
        &self.sources
    }

    /// Where a place comes from; line and column from 1.
    pub(super) fn origin(&self, line: u32, column: u32) -> Option<Origin<'_>> {
        let column = column.checked_sub(1)?;
        let places = self.line(line);
        let before =
            places.partition_point(|place| place.get_dst_col() <= column).checked_sub(1)?;
        let first =
            places.partition_point(|place| place.get_dst_col() < places[before].get_dst_col());
        self.origin_of(&places[first])
    }

    /// Where a whole line comes from, if that is one line.
    pub(super) fn origin_of_line(&self, line: u32) -> Option<Origin<'_>> {
        let mut origins = self.line(line).iter().filter_map(|place| self.origin_of(place));
        let first = origins.next()?;
        origins
            .all(|origin| (origin.source, origin.line) == (first.source, first.line))
            .then_some(first)
    }

    /// Whether a line has places within.
    pub(super) fn has_columns(&self, line: u32) -> bool {
        self.line(line).len() > 1
    }

    fn line(&self, line: u32) -> &[Token] {
        let Some(line) = line.checked_sub(1) else { return &[] };
        let start = self.places.partition_point(|place| place.get_dst_line() < line);
        let count = self.places[start..].partition_point(|place| place.get_dst_line() == line);
        &self.places[start..start + count]
    }

    fn origin_of(&self, place: &Token) -> Option<Origin<'_>> {
        let source = place.get_source_id()?;
        let is_usable = |text: &&String| !text.is_empty() && text.len() <= LONGEST_TEXT;
        self.sources.get(source as usize).filter(is_usable)?;
        let name = place.get_name_id().and_then(|id| self.names.get(id as usize)).filter(is_usable);
        Some(Origin {
            source,
            line: place.get_src_line().saturating_add(1),
            column: place.get_src_col().saturating_add(1),
            name: name.map(String::as_str),
            starts: place.get_dst_col().saturating_add(1),
        })
    }
}

/// The sources of a map that carries their texts: name and text of each.
pub(super) fn contents(bytes: &[u8]) -> Vec<(String, String)> {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let Ok(written) = serde_json::from_str::<WithContents<'_>>(without_guard(text)) else {
        return Vec::new();
    };
    let sections = written.sections.as_ref().map_or(&[][..], |sections| &sections.0);
    let inner = sections.iter().filter_map(|section| section.map.as_deref());
    std::iter::once(&written).chain(inner).flat_map(WithContents::texts).collect()
}

/// The places of `mappings`. Only how many sources and names there are matters for them.
fn decode(mappings: &str, sources: usize, names: usize) -> Result<Box<[Token]>, MapError> {
    let map = JSONSourceMap {
        version: 3,
        file: None,
        mappings: mappings.to_owned(),
        source_root: None,
        sources: vec![String::new(); sources],
        sources_content: None,
        names: vec![String::new(); names],
        debug_id: None,
        x_google_ignore_list: None,
    };
    Ok(SourceMap::from_json(map).map_err(|_| MapError::Mappings)?.into_parts().tokens)
}

/// Some servers put `)]}'` in front, so that it is not run as a script.
fn without_guard(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.starts_with(")]}") { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text }
}

/// A map as it is written: what we need of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    version: Option<u32>,
    #[serde(borrow)]
    mappings: Option<Cow<'a, str>>,
    #[serde(borrow)]
    source_root: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    sources: List<Text<'a>>,
    #[serde(borrow, default)]
    names: List<Text<'a>>,
    #[serde(borrow)]
    sections: Option<List<Section<'a>>>,
}

/// The other part of a map, which is needed only to show the text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WithContents<'a> {
    #[serde(borrow)]
    source_root: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    sources: List<Text<'a>>,
    #[serde(borrow, default)]
    sources_content: List<Text<'a>>,
    #[serde(borrow)]
    sections: Option<List<SectionWithContents<'a>>>,
}

#[derive(Deserialize)]
struct SectionWithContents<'a> {
    #[serde(borrow)]
    map: Option<Box<WithContents<'a>>>,
}

impl WithContents<'_> {
    fn texts(&self) -> impl Iterator<Item = (String, String)> {
        let root = self.source_root.as_deref().unwrap_or_default();
        let both = self.sources.0.iter().zip(&self.sources_content.0);
        let is_whole =
            |(source, text): &(&Text<'_>, &Text<'_>)| source.0.is_some() && text.0.is_some();
        both.filter(is_whole).map(move |(source, text)| {
            (under_source_root(root, source.get()), text.get().to_owned())
        })
    }
}

#[derive(Deserialize)]
struct Section<'a> {
    offset: Offset,
    #[serde(borrow)]
    map: Option<Box<Written<'a>>>,
}

#[derive(Deserialize)]
struct Offset {
    line: u32,
    column: u32,
}

impl Section<'_> {
    fn start(&self) -> (u32, u32) {
        (self.offset.line, self.offset.column)
    }
}

/// A text, or `null`.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Option<Cow<'a, str>>);

impl Text<'_> {
    fn get(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A list of at most [`MOST_TEXTS`].
struct List<T>(Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    if list.len() == MOST_TEXTS {
                        return Err(A::Error::custom("too many"));
                    }
                    list.push(item);
                }
                Ok(List(list))
            }
        }
        deserializer.deserialize_seq(ListVisitor(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(json: &str) -> Map {
        Map::parse(json.as_bytes()).unwrap()
    }

    fn place(map: &Map, line: u32, column: u32) -> Option<(&str, u32, u32, Option<&str>)> {
        let origin = map.origin(line, column)?;
        Some((&map.sources()[origin.source as usize], origin.line, origin.column, origin.name))
    }

    const SMALL: &str = r#"{"version":3,"sources":["a.ts",null],"names":["x","alert"],"sourcesContent":["…"],
        "mappings":"AAAA,GAAIA,GAAI,EACR,IAAIA,GAAK,EAAG,CACVC,MAAM;;ACAA,C"}"#;

    #[test]
    fn places_count_from_one() {
        let map = map(SMALL);
        assert_eq!(place(&map, 1, 1), Some(("a.ts", 1, 1, None)));
        assert_eq!(place(&map, 1, 3), Some(("a.ts", 1, 1, None)));
        assert_eq!(place(&map, 1, 4), Some(("a.ts", 1, 5, Some("x"))));
        assert_eq!(place(&map, 1, 1000), Some(("a.ts", 3, 9, None)));
        assert_eq!(
            [place(&map, 1, 0), place(&map, 0, 1), place(&map, 2, 1), place(&map, 9, 1)],
            [None; 4]
        );
        // A source without a name, and a place without a source.
        assert_eq!([place(&map, 3, 1), place(&map, 3, 2)], [None; 2]);
    }

    #[test]
    fn a_line_comes_from_one_line_or_from_none() {
        let map = map(
            r#"{"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA,IAAI;AACA,CACA;;E"}"#,
        );
        assert_eq!(map.origin_of_line(1).map(|origin| origin.line), Some(1));
        assert_eq!(
            [map.origin_of_line(2), map.origin_of_line(3), map.origin_of_line(4)],
            [None; 3]
        );
    }

    #[test]
    fn guards_roots_and_missing_names() {
        let map = map(
            ")]}'\n{\"version\":3,\"sourceRoot\":\"../src/\",\"sources\":[\"a.ts\"],\"mappings\":\"AAAA\"}",
        );
        assert_eq!(place(&map, 1, 1), Some(("../src/a.ts", 1, 1, None)));
    }

    #[test]
    fn maps_may_carry_texts() {
        let rows: &[(&str, &[(&str, &str)])] = &[
            (
                r#"{"version":3,"sources":["a.ts",null,"b.ts"],"sourcesContent":["let a","x",null],"mappings":""}"#,
                &[("a.ts", "let a")],
            ),
            (
                r#"{"sourceRoot":"../src","sources":["a.ts","b.ts"],"sourcesContent":["\u00fc"]}"#,
                &[("../src/a.ts", "ü")],
            ),
            (
                r#"{"sections":[{"offset":{"line":0,"column":0},"map":{"sources":["c"],"sourcesContent":["3"]}}]}"#,
                &[("c", "3")],
            ),
            (r#"{"version":3,"sources":["a.ts"],"mappings":""}"#, &[]),
            ("root:x:0:0:", &[]),
            ("", &[]),
        ];
        for (json, expected) in rows {
            let found = contents(json.as_bytes());
            let found: Vec<(&str, &str)> =
                found.iter().map(|(name, text)| (&**name, &**text)).collect();
            assert_eq!(&found, expected, "{json}");
        }
    }

    #[test]
    fn sections_become_one_map() {
        let map = map(r#"{"version":3,"sections":[
            {"offset":{"line":1,"column":10},"map":{"version":3,"sources":["b.ts"],"names":["b"],"mappings":"AAAAA;AACA"}},
            {"offset":{"line":0,"column":0},"map":{"version":3,"sources":["a.ts"],"names":["a"],"mappings":"AAAAA;AACA,UAAU"}},
            {"offset":{"line":3,"column":0},"url":"https://example.com/c.map"},
            {"offset":{"line":4,"column":2},"map":{"version":3,"sections":[]}}]}"#);
        assert_eq!(place(&map, 1, 1), Some(("a.ts", 1, 1, Some("a"))));
        assert_eq!(place(&map, 2, 10), Some(("a.ts", 2, 1, None)));
        assert_eq!(place(&map, 2, 11), Some(("b.ts", 1, 1, Some("b"))));
        assert_eq!(place(&map, 3, 1), Some(("b.ts", 2, 1, None)));
        assert_eq!(place(&map, 4, 1), None);
    }

    #[test]
    fn broken_maps_are_refused() {
        let with = |mappings: &str| {
            format!(r#"{{"version":3,"sources":["a"],"names":[],"mappings":"{mappings}"}}"#)
        };
        let rows: &[(&str, MapError)] = &[
            ("", MapError::Json),
            ("root:x:0:0:", MapError::Json),
            ("[]", MapError::Json),
            (r#"{"version":3}"#, MapError::Json),
            (r#"{"version":2,"sources":[],"names":[],"mappings":""}"#, MapError::Version),
            (&with("AACA,ACAA"), MapError::Mappings),
            (&with("AAAAC"), MapError::Mappings),
            (&with("AADA"), MapError::Mappings),
            (&with("AA"), MapError::Mappings),
            (&with("gggggggggggggggggggggggggggB"), MapError::Mappings),
            (&with(&",".repeat(MOST_PLACES + 1)), MapError::TooLarge),
            (
                &format!(
                    r#"{{"version":3,"names":[],"mappings":"","sources":[{}""]}}"#,
                    r#""","#.repeat(MOST_TEXTS)
                ),
                MapError::Json,
            ),
            (&"[".repeat(100_000), MapError::Json),
        ];
        for (json, error) in rows {
            let start: String = json.chars().take(60).collect();
            assert_eq!(Map::parse(json.as_bytes()).err(), Some(*error), "{start}");
        }
    }

    #[test]
    fn no_damage_panics() {
        let whole = SMALL.as_bytes();
        let index = format!(
            r#"{{"version":3,"sections":[{{"offset":{{"line":0,"column":0}},"map":{SMALL}}}]}}"#
        );
        for whole in [whole, index.as_bytes()] {
            for end in 0..whole.len() {
                assert!(Map::parse(&whole[..end]).is_err());
            }
            for place in 0..whole.len() {
                for flip in [0x01, 0x02, 0x10, 0x20, 0x40, 0x80, 0xff] {
                    let mut bytes = whole.to_vec();
                    bytes[place] ^= flip;
                    if let Ok(map) = Map::parse(&bytes) {
                        (0..6).for_each(|line| {
                            let _ = (map.origin(line, 7), map.origin_of_line(line));
                        });
                    }
                }
            }
        }
    }
}
