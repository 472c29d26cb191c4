//! The notes of a file: name, kind and bytes, one behind the other. The kernel shows its own the same way in
//! /sys/kernel/notes.

use object::{Endian, Endianness};

/// The kind of the note that holds the build id, under the name `GNU`.
const BUILD_ID: u32 = 3;

/// The build id among notes in the byte order of this machine.
pub fn build_id_of_notes(notes: &[u8]) -> Option<&[u8]> {
    build_id_of_notes_in(notes, 4, Endianness::default())
}

pub(crate) fn build_id_of_notes_in(notes: &[u8], align: u64, endian: Endianness) -> Option<&[u8]> {
    let align = if align == 8 { 8 } else { 4 };
    let mut rest = notes;
    while let Some((note, after)) = split_note(rest, align, endian) {
        if note.kind == BUILD_ID && note.name == b"GNU\0" && !note.bytes.is_empty() {
            return Some(note.bytes);
        }
        rest = after;
    }
    None
}

struct Note<'a> {
    kind: u32,
    name: &'a [u8],
    bytes: &'a [u8],
}

/// The first note, and what follows it.
fn split_note(notes: &[u8], align: usize, endian: Endianness) -> Option<(Note<'_>, &[u8])> {
    let word = |at: usize| {
        let bytes = notes.get(at..at + 4)?.try_into().ok()?;
        Some(if endian.is_big_endian() {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    };
    let (name_size, size, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
    let name_end = 12usize.checked_add(name_size)?;
    let start = name_end.checked_next_multiple_of(align)?;
    let end = start.checked_add(size)?;
    let note = Note { kind, name: notes.get(12..name_end)?, bytes: notes.get(start..end)? };
    let next = end.checked_next_multiple_of(align)?;
    Some((note, notes.get(next..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_id_may_stand_behind_other_notes() {
        let word = |value: u32| value.to_ne_bytes().to_vec();
        let other =
            [word(4), word(5), word(1), b"Xen\0".to_vec(), b"abcde\0\0\0".to_vec()].concat();
        let ours = [word(4), word(3), word(3), b"GNU\0".to_vec(), vec![7, 8, 9]].concat();
        let notes = [other, ours].concat();
        assert_eq!(build_id_of_notes(&notes), Some(&[7, 8, 9][..]));
        for end in 0..notes.len() {
            assert_eq!(build_id_of_notes(&notes[..end]), None, "{end}");
        }
    }

    #[test]
    fn sizes_beyond_the_end_are_no_notes() {
        assert_eq!(build_id_of_notes(&[255; 64]), None);
        assert_eq!(build_id_of_notes(&[]), None);
    }
}
