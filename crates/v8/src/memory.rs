//! The memory that V8's objects are read from: a trait, so that a live process, a core file and a recorded fixture
//! are the same to the rest of the crate. A failed read is an error, never a zero.

/// Something whose bytes can be read by address.
pub trait Memory {
    /// Fills `out` as a whole, or fails.
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault>;

    /// Fills several ranges, and returns for each whether it was read as a whole. A live process can do this with one
    /// system call.
    fn read_many(&self, pieces: &mut [Piece<'_>]) -> Vec<bool> {
        pieces.iter_mut().map(|piece| self.read(piece.address, piece.out).is_ok()).collect()
    }
}

/// A range that is wanted, and where its bytes go.
#[derive(Debug)]
pub struct Piece<'a> {
    /// The first address.
    pub address: u64,
    /// As many bytes as are wanted.
    pub out: &'a mut [u8],
}

/// The bytes could not be read as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

/// A copy of a thread's stack.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'a> {
    base: u64,
    bytes: &'a [u8],
}

impl<'a> Stack<'a> {
    /// A copy that starts at an address, which is the stack pointer.
    pub fn new(base: u64, bytes: &'a [u8]) -> Self {
        Self { base, bytes }
    }

    /// The word at an address, unless it lies outside the copy.
    pub fn word(&self, address: u64) -> Option<u64> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        Some(u64::from_le_bytes(*self.bytes.get(start..)?.first_chunk()?))
    }

    /// The lowest address.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Whether a word stands between two addresses.
    pub(crate) fn has_word(&self, word: u64, between: std::ops::Range<u64>) -> bool {
        between.step_by(8).any(|address| self.word(address) == Some(word))
    }

    /// The word at a distance from an address.
    pub fn word_near(&self, address: u64, distance: i64) -> Option<u64> {
        self.word(address.checked_add_signed(distance)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_the_copy_are_absent() {
        let bytes: Vec<u8> = (0..20).collect();
        let stack = Stack::new(100, &bytes);
        assert_eq!(stack.word(100), Some(0x0706_0504_0302_0100));
        assert_eq!(stack.word_near(104, 8), Some(0x1312_1110_0f0e_0d0c));
        for address in [99, 113, 120, u64::MAX] {
            assert_eq!(stack.word(address), None);
        }
        assert_eq!(stack.word_near(4, -8), None);
    }
}
