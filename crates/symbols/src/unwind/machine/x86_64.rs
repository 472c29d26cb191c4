//! How code of x86-64 calls and jumps, as far as the bytes show.

/// The longest call: a prefix, the code, two bytes that encode where the address is, and four of a distance.
pub(in crate::unwind) const LONGEST_CALL: usize = 7;
/// The longest jump to another file, with what may stand before it.
pub(in crate::unwind) const LONGEST_JUMP: usize = 8;

const DIRECT_CALL: u8 = 0xe8;
const DIRECT_JUMP: u8 = 0xe9;
const INDIRECT: u8 = 0xff;
/// A jump that has a condition: two bytes, of which the second encodes which.
const CONDITIONAL: u8 = 0x0f;
const CONDITION: u8 = 0x80;
/// What a direct call or jump takes: its code, and a distance from its end.
const DIRECT_BYTES: usize = 5;

/// A jump to a place at a distance that stands in the code.
pub(in crate::unwind) struct Jump {
    /// Where it leads, from the start of the code that was looked at.
    pub(in crate::unwind) leads_to: i64,
    pub(in crate::unwind) has_condition: bool,
}

/// The distance of a direct call whose last byte is the last of these: from there to the function.
pub(in crate::unwind) fn direct_call_at_end(bytes: &[u8; LONGEST_CALL]) -> Option<i32> {
    let (code, distance) = bytes.last_chunk::<DIRECT_BYTES>()?.split_first()?;
    (*code == DIRECT_CALL).then(|| distance_of(distance))
}

/// Whether the last bytes may be a call by register or memory.
pub(in crate::unwind) fn ends_with_indirect_call(bytes: &[u8; LONGEST_CALL]) -> bool {
    let is_call = |length: usize| {
        let (opcode, mode) = (bytes[LONGEST_CALL - length], bytes[LONGEST_CALL - length + 1]);
        opcode == INDIRECT && mode >> 3 & 7 == 2 && length == length_of_indirect(mode)
    };
    (2..=LONGEST_CALL).any(is_call)
}

/// The bytes of `call r/m64` by its second one, which encodes where the address comes from.
fn length_of_indirect(mode: u8) -> usize {
    let (kind, operand) = (mode >> 6, mode & 7);
    let scaled = usize::from(kind != 3 && operand == 4);
    let distance = match (kind, operand) {
        (0, 5) | (2, _) => 4,
        (1, _) => 1,
        _ => 0,
    };
    2 + scaled + distance
}

/// All that may be a direct jump in these bytes.
pub(in crate::unwind) fn jumps(code: &[u8]) -> impl Iterator<Item = Jump> {
    code.windows(DIRECT_BYTES).enumerate().filter_map(|(at, bytes)| {
        let (opcode, distance) = bytes.split_first()?;
        let before = at.checked_sub(1).and_then(|before| code.get(before));
        let has_condition = before == Some(&CONDITIONAL) && opcode & 0xf0 == CONDITION;
        let leads_to = (at + DIRECT_BYTES) as i64 + i64::from(distance_of(distance));
        (*opcode == DIRECT_JUMP || has_condition).then_some(Jump { leads_to, has_condition })
    })
}

/// `jmp *distance(%rip)`, perhaps behind `endbr64` or `bnd`: how a linker calls functions of other files.
pub(in crate::unwind) fn is_jump_out(bytes: &[u8; LONGEST_JUMP]) -> bool {
    let bytes = bytes.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(bytes);
    let bytes = bytes.strip_prefix(&[0xf2]).unwrap_or(bytes);
    bytes.starts_with(&[INDIRECT, 0x25])
}

fn distance_of(bytes: &[u8]) -> i32 {
    bytes.first_chunk().map_or(0, |distance| i32::from_le_bytes(*distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_end(call: &[u8]) -> [u8; LONGEST_CALL] {
        let mut bytes = [0x90; LONGEST_CALL];
        bytes[LONGEST_CALL - call.len()..].copy_from_slice(call);
        bytes
    }

    #[test]
    fn calls_are_distinguished_from_other_bytes() {
        for call in [
            &[0xff, 0xd0][..],
            &[0x41, 0xff, 0xd4],
            &[0xff, 0x15, 1, 2, 3, 4],
            &[0xff, 0x50, 0x18],
            &[0xff, 0x54, 0x24, 0x08],
            &[0xff, 0x90, 1, 2, 3, 4],
            &[0xff, 0x94, 0x24, 1, 2, 3, 4],
            &[0xff, 0x14, 0x25],
        ] {
            assert!(ends_with_indirect_call(&at_end(call)), "{call:x?}");
        }
        for other in [[0x90; LONGEST_CALL], [0xff; LONGEST_CALL], [0, 0, 0, 0, 0, 0xff, 0xe0]] {
            assert!(!ends_with_indirect_call(&other), "{other:x?}");
        }
        assert_eq!(direct_call_at_end(&at_end(&[0xe8, 0x10, 0, 0, 0])), Some(0x10));
        assert_eq!(direct_call_at_end(&at_end(&[0xe8, 0xf0, 0xff, 0xff, 0xff])), Some(-0x10));
        assert_eq!(direct_call_at_end(&at_end(&[0xe9, 0x10, 0, 0, 0])), None);
    }

    #[test]
    fn jumps_lead_from_their_ends() {
        let found = |code: &[u8]| -> Vec<(i64, bool)> {
            jumps(code).map(|jump| (jump.leads_to, jump.has_condition)).collect()
        };
        assert_eq!(found(&[0x90, 0xe9, 0x10, 0, 0, 0]), [(22, false)]);
        assert_eq!(found(&[0x0f, 0x84, 0xfa, 0xff, 0xff, 0xff]), [(0, true)]);
        assert_eq!(found(&[0xe9, 0xf6, 0xff, 0xff, 0xff, 0x84]), [(-5, false)]);
        assert_eq!([found(&[0xe9, 1, 0, 0]), found(&[]), found(&[0x84, 0, 0, 0, 0])], [[]; 3]);
    }

    #[test]
    fn jumps_to_other_files() {
        for jump in [
            [0xff, 0x25, 1, 2, 3, 4, 0, 0],
            [0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 2],
            [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1],
        ] {
            assert!(is_jump_out(&jump), "{jump:x?}");
        }
        assert!(!is_jump_out(&[0x55, 0x48, 0x89, 0xe5, 0xff, 0x25, 0, 0]));
    }
}
