//! Protobuf's wire format, as much of it as profile.proto needs: varints, and bytes with a length. By hand,
//! because a library decodes a message whole or not at all, and a damaged file should show what came before.

/// A field's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A number.
    Number(u64),
    /// A text, a message or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The number; 0 for anything else.
    pub(super) fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Bytes(_) => 0,
        }
    }

    /// The bytes; none for a number.
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Value::Number(_) => &[],
            Value::Bytes(bytes) => bytes,
        }
    }

    /// The numbers of a repeated field, packed or not.
    pub(super) fn numbers(self) -> impl Iterator<Item = u64> {
        let (single, mut packed) = match self {
            Value::Number(number) => (Some(number), &[][..]),
            Value::Bytes(bytes) => (None, bytes),
        };
        single.into_iter().chain(std::iter::from_fn(move || varint(&mut packed)))
    }
}

/// The fields of a message, up to the first damage.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    length: usize,
    /// Where the message is damaged.
    pub(super) damaged_at: Option<usize>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message, length: message.len(), damaged_at: None }
    }

    /// What was not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn next_field(&mut self) -> Option<(u32, Value<'a>)> {
        let key = varint(&mut self.rest)?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut self.rest)?),
            1 => Value::Bytes(take(&mut self.rest, 8)?),
            2 => {
                let length = varint(&mut self.rest)?;
                Value::Bytes(take(&mut self.rest, usize::try_from(length).ok()?)?)
            }
            5 => Value::Bytes(take(&mut self.rest, 4)?),
            _ => return None,
        };
        Some((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.damaged_at.is_some() {
            return None;
        }
        let start = self.length - self.rest.len();
        let field = self.next_field();
        if field.is_none() {
            self.damaged_at = Some(start);
        }
        field
    }
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for (place, byte) in rest.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            *rest = &rest[place + 1..];
            return Some(number);
        }
    }
    None
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

/// A message that is being written. Numbers that are 0 are left out, as proto3 does.
#[derive(Default)]
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
}

impl Message {
    pub(super) fn number(&mut self, field: u32, number: u64) -> &mut Self {
        if number != 0 {
            self.key(field, 0);
            put_varint(&mut self.bytes, number);
        }
        self
    }

    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.key(field, 2);
        put_varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(super) fn message(&mut self, field: u32, message: &Message) -> &mut Self {
        self.bytes(field, &message.bytes)
    }

    /// A repeated number, packed.
    pub(super) fn packed(&mut self, field: u32, numbers: impl Iterator<Item = u64>) -> &mut Self {
        let mut packed = Vec::new();
        numbers.for_each(|number| put_varint(&mut packed, number));
        self.bytes(field, &packed)
    }

    fn key(&mut self, field: u32, kind: u32) {
        put_varint(&mut self.bytes, u64::from(field << 3 | kind));
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = Message::default();
        message
            .number(1, 300)
            .bytes(2, b"text")
            .packed(3, [1, 0, u64::MAX].into_iter())
            .number(4, 0);
        let fields: Vec<_> = Fields::of(&message.bytes).collect();
        assert_eq!(fields[..2], [(1, Value::Number(300)), (2, Value::Bytes(b"text"))]);
        assert_eq!(fields[2].1.numbers().collect::<Vec<_>>(), [1, 0, u64::MAX]);
        assert_eq!(fields.len(), 3);
        for end in 1..message.bytes.len() {
            let mut fields = Fields::of(&message.bytes[..end]);
            let whole = fields.by_ref().count();
            assert!(fields.damaged_at.is_some() || [3, 9].contains(&end), "{end}: {whole}");
        }
    }
}
