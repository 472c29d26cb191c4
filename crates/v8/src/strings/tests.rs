//! Strings of every shape, in a heap that is made by hand.

use std::cell::RefCell;

use super::*;
use crate::heap::Kept;
use crate::layout::{Layout, Version};
use crate::memory::{Fault, Memory};

/// Objects one behind the other.
struct Made(RefCell<Vec<u8>>);

const BASE: u64 = 0x10000;
const MAP_TYPE: u16 = 300;

/// Instance types of strings.
const FLAT: u16 = 8;
const FLAT_WIDE: u16 = 0;
const CONS: u16 = 33;
const EXTERNAL: u16 = 42;
const UNCACHED_EXTERNAL: u16 = 58;
const SLICED: u16 = 43;
const THIN: u16 = 45;

impl Memory for Made {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        let bytes = self.0.borrow();
        let start = address.checked_sub(BASE).ok_or(Fault)? as usize;
        // A line may reach behind the last object.
        let found = bytes.get(start..).filter(|rest| !rest.is_empty()).ok_or(Fault)?;
        let count = found.len().min(out.len());
        out[..count].copy_from_slice(&found[..count]);
        Ok(())
    }
}

impl Made {
    fn new() -> Self {
        let made = Self(RefCell::default());
        made.map(MAP_TYPE);
        made
    }

    /// Adds words; returns where.
    fn add(&self, words: &[u64]) -> u64 {
        let mut bytes = self.0.borrow_mut();
        let at = BASE + bytes.len() as u64;
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        at
    }

    /// A map; the first one is the map of maps, and its own.
    fn map(&self, kind: u16) -> u64 {
        self.add(&[BASE | 1, u64::from(kind) << 32, 0, 0]) | 1
    }

    fn string(&self, kind: u16, length: u64, words: &[u64]) -> u64 {
        let map = self.map(kind);
        self.add(&[&[map, length << 32], words].concat()) | 1
    }

    fn flat(&self, text: &str) -> u64 {
        self.string(FLAT, text.len() as u64, &words(text.as_bytes()))
    }

    fn wide(&self, text: &str) -> u64 {
        let units: Vec<u16> = text.encode_utf16().collect();
        let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        self.string(FLAT_WIDE, units.len() as u64, &words(&bytes))
    }

    fn text(&self, reference: u64) -> Result<String, Reason> {
        self.heap(|heap| heap.name(reference))
    }

    /// The text of a script, at most 100 characters long.
    fn source(&self, reference: u64) -> Result<String, Reason> {
        self.heap(|heap| heap.source_text(reference, 100).map(|text| text.to_string()))
    }

    /// V8's scavenger keeps a large object where it is, and marks that in the place of its map.
    fn promote(&self, reference: u64) -> u64 {
        let at = (reference - 1 - BASE) as usize;
        self.0.borrow_mut()[at..at + 8].copy_from_slice(&(reference - 1).to_le_bytes());
        reference
    }

    fn heap<T>(&self, read: impl FnOnce(&mut Heap<'_>) -> Result<T, Reason>) -> Result<T, Reason> {
        let constant = |name: &str| {
            Some(match name {
                "class_Map__instance_type__uint16_t" => 12,
                "type_Map__MAP_TYPE" => i64::from(MAP_TYPE),
                "FirstNonstringType" => 128,
                name if name.starts_with("type_") => 200,
                _ => 8,
            })
        };
        let version = Version { major: 14, minor: 6, build: 0, patch: 0 };
        let layout = Layout::new(version, &constant).unwrap();
        read(&mut Heap { memory: self, layout: &layout, kept: &mut Kept::default() })
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    bytes.chunks(8).map(word).collect()
}

#[test]
fn flat_strings_of_both_widths() {
    let made = Made::new();
    assert_eq!(
        made.text(made.flat("a name that is long enough")).unwrap(),
        "a name that is long enough"
    );
    assert_eq!(made.text(made.wide("你好 😀")).unwrap(), "你好 😀");
    assert_eq!(made.text(made.flat("")).unwrap(), "");
}

#[test]
fn sources_are_read_while_they_are_promoted() {
    let made = Made::new();
    for text in ["let a = 1;\n", "let ä = '你好';\n"] {
        let source = if text.is_ascii() { made.flat(text) } else { made.wide(text) };
        assert_eq!(made.source(source).as_deref(), Ok(text));
        assert_eq!(made.source(made.promote(source)).as_deref(), Ok(text));
        assert_eq!(made.text(source), Err(Reason::WrongType));
    }
    let long = made.flat(&"n".repeat(101));
    assert_eq!(made.source(long), Err(Reason::TooLarge));
    assert_eq!(made.source(made.promote(long)), Err(Reason::TooLarge));
    assert_eq!(made.source(made.map(FLAT)), Err(Reason::WrongType));
    assert_eq!(made.source(7 << 32), Err(Reason::WrongType));
}

#[test]
fn strings_made_of_strings() {
    let made = Made::new();
    let cons = made.string(CONS, 9, &[made.flat("one, "), made.wide("zwei")]);
    assert_eq!(made.text(cons).unwrap(), "one, zwei");
    assert_eq!(made.text(made.string(SLICED, 5, &[cons, 3 << 32])).unwrap(), ", zwe");
    assert_eq!(made.text(made.string(THIN, 9, &[cons])).unwrap(), "one, zwei");
    let deep = (0..100)
        .fold(made.flat("x"), |deep, at| made.string(CONS, at + 2, &[deep, made.flat("y")]));
    assert_eq!(made.text(deep).unwrap().len(), 101);
}

#[test]
fn external_strings_have_their_characters_elsewhere() {
    let made = Made::new();
    let data = made.add(&words(b"from the binary"));
    assert_eq!(made.text(made.string(EXTERNAL, 15, &[0, data])).unwrap(), "from the binary");
    assert_eq!(made.text(made.string(UNCACHED_EXTERNAL, 15, &[0, data])), Err(Reason::WrongType));
    assert_eq!(made.text(made.string(EXTERNAL, 15, &[0, 8])), Err(Reason::Unreadable));
}

#[test]
fn long_names_are_cut_and_cycles_end() {
    let made = Made::new();
    assert_eq!(made.text(made.flat(&"n".repeat(LONGEST_NAME + 5000))).unwrap().len(), LONGEST_NAME);
    let map = made.map(THIN);
    let own = BASE + made.0.borrow().len() as u64;
    made.add(&[map, 5 << 32, own | 1]);
    assert_eq!(made.text(own | 1), Err(Reason::TooLarge));
    let map = made.map(CONS);
    let own = BASE + made.0.borrow().len() as u64;
    made.add(&[map, 5 << 32, own | 1, own | 1]);
    assert_eq!(made.text(own | 1), Err(Reason::TooLarge));
}

#[test]
fn what_is_no_string_gives_no_name() {
    let made = Made::new();
    assert_eq!(made.text(made.string(200, 3, &words(b"abc"))), Err(Reason::WrongType));
    assert_eq!(made.text(7 << 32), Err(Reason::WrongType));
    assert_eq!(made.text(BASE + 0x0100_0001), Err(Reason::Unreadable));
}

#[test]
fn an_object_that_moves_is_followed() {
    let made = Made::new();
    let moved = made.flat("moved");
    let left = made.add(&[moved & !1, 0, 0]) | 1;
    assert_eq!(made.text(left).unwrap(), "moved");
}

#[test]
fn texts_become_wide_when_they_must() {
    let mut text = Text::One(Vec::new());
    text.push_one(b"caf\xe9 ");
    assert_eq!(text.to_string(), "café ");
    let wide: Vec<u8> = "你好 😀".encode_utf16().flat_map(u16::to_le_bytes).collect();
    text.push_two(&wide);
    text.push_one(b"!");
    assert_eq!(text.to_string(), "café 你好 😀!");
}
