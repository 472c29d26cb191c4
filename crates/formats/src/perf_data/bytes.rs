//! Numbers and texts of a perf.data file, in either byte order. Reading past the end gives `None`.

/// The byte order of the machine that recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    /// This machine's.
    pub(super) const NATIVE: Self =
        if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// From the magic word.
    pub(super) fn of(first_bytes: &[u8]) -> Option<Self> {
        match first_bytes.first_chunk()? {
            b"PERFILE2" => Some(Self::Little),
            b"2ELIFREP" => Some(Self::Big),
            _ => None,
        }
    }

    pub(super) fn bytes(self, data: &[u8]) -> Bytes<'_> {
        Bytes { data, order: self }
    }

    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }

    /// Words of 64 bits, as many as there are.
    pub(super) fn words(self, data: &[u8]) -> impl Iterator<Item = u64> + use<'_> {
        data.as_chunks().0.iter().map(move |word| self.u64(*word))
    }

    /// A word of bit fields: compilers for big-endian machines also fill each byte from the other end.
    pub(super) fn flags(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_le_bytes(bytes.map(u8::reverse_bits)),
        }
    }
}

/// What is left of a piece of the file.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    data: &'a [u8],
    order: Order,
}

impl<'a> Bytes<'a> {
    pub(super) fn rest(&self) -> &'a [u8] {
        self.data
    }

    /// Other bytes of the same file.
    pub(super) fn with<'b>(&self, data: &'b [u8]) -> Bytes<'b> {
        Bytes { data, order: self.order }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = u64> + use<'a> {
        self.order.words(self.data)
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.data.split_at_checked(count)?;
        self.data = rest;
        Some(taken)
    }

    pub(super) fn take_words(&mut self, count: u64) -> Option<&'a [u8]> {
        self.take(usize::try_from(count).ok()?.checked_mul(8)?)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.data.split_first_chunk()?;
        self.data = rest;
        Some(*taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(|bytes| self.order.u16(bytes))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(|bytes| self.order.u32(bytes))
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(|bytes| self.order.u64(bytes))
    }

    pub(super) fn flags(&mut self) -> Option<u64> {
        self.array().map(|bytes| self.order.flags(bytes))
    }

    /// A text with its length in front, as the features have it.
    pub(super) fn counted_text(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.take(count as usize).map(until_nul)
    }
}

/// A text up to its end.
pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_read_the_same() {
        let little = [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        let big = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2];
        for (order, data) in [(Order::Little, little), (Order::Big, big)] {
            let mut bytes = order.bytes(&data);
            assert_eq!((bytes.u32(), bytes.u64(), bytes.u16()), (Some(1), Some(2), None));
        }
    }

    #[test]
    fn flags_count_from_the_first_declared() {
        let third = 1 << 2;
        assert_eq!(Order::Little.flags([4, 0, 0, 0, 0, 0, 0, 0]), third);
        assert_eq!(Order::Big.flags([0x20, 0, 0, 0, 0, 0, 0, 0]), third);
    }

    #[test]
    fn a_text_must_fit() {
        let data = [3, 0, 0, 0, b'a', 0, b'c', 200, 0, 0, 0, b'x'];
        let mut bytes = Order::Little.bytes(&data);
        assert_eq!(bytes.counted_text(), Some(&b"a"[..]));
        assert_eq!(bytes.counted_text(), None);
    }
}
