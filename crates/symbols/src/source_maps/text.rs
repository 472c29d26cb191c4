//! The text of a generated script, by line and column as V8 counts them: columns are UTF-16 units.

/// A script's text with what finds a place in it.
pub(super) struct ScriptText {
    text: String,
    line_starts: Vec<usize>,
    /// The UTF-16 units before each block of bytes; empty where a unit is a byte.
    units: Vec<usize>,
}

/// Minified scripts have lines of megabytes: no place is counted from the start of its line.
const BLOCK: usize = 4096;

impl ScriptText {
    /// What it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + (self.line_starts.len() + self.units.len()) * size_of::<usize>()
    }

    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let line_starts = std::iter::once(0).chain(line_ends(text.as_bytes())).collect();
        let mut units = Vec::new();
        if !text.is_ascii() {
            let mut sum = 0;
            let mut next = 0;
            for (place, letter) in text.char_indices() {
                if place >= next {
                    units.push(sum);
                    next += BLOCK;
                }
                sum += letter.len_utf16();
            }
        }
        Self { text, line_starts, units }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.text == other.text
    }

    /// The line before a place, and what follows the place; line and column from 1. `None` where there is no such
    /// place.
    pub(super) fn around(&self, line: u32, column: u32) -> Option<(&str, &str)> {
        let row = line.checked_sub(1)? as usize;
        let start = *self.line_starts.get(row)?;
        let end = self.line_starts.get(row + 1).copied().unwrap_or(self.text.len());
        let place = self.advance(start, column.checked_sub(1)? as usize)?;
        if place > end {
            return None;
        }
        Some((self.text.get(start..place)?, self.text.get(place..end)?))
    }

    /// The byte that many units behind another.
    fn advance(&self, start: usize, count: usize) -> Option<usize> {
        if self.units.is_empty() {
            return start.checked_add(count);
        }
        let wanted = self.units_before(start).checked_add(count)?;
        let block = self.units.partition_point(|units| *units <= wanted).checked_sub(1)?;
        let from = self.block_start(block);
        let mut units = self.units[block];
        for (place, letter) in self.text[from..].char_indices() {
            if units >= wanted {
                return Some(from + place);
            }
            units += letter.len_utf16();
        }
        (units == wanted).then_some(self.text.len())
    }

    fn units_before(&self, place: usize) -> usize {
        let block = (place / BLOCK).min(self.units.len() - 1);
        let from = self.block_start(block);
        self.units[block] + self.text[from..place].chars().map(char::len_utf16).sum::<usize>()
    }

    /// The first letter that starts in a block.
    fn block_start(&self, block: usize) -> usize {
        let place = block * BLOCK;
        (place..self.text.len())
            .find(|place| self.text.is_char_boundary(*place))
            .unwrap_or(self.text.len())
    }
}

/// Where lines start, but for the first: JavaScript has four ways to end one.
fn line_ends(text: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memchr3_iter(b'\n', b'\r', 0xe2, text).filter_map(|place| match &text[place..] {
        [b'\r', b'\n', ..] => None,
        [b'\n' | b'\r', ..] => Some(place + 1),
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => Some(place + 3),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &ScriptText, line: u32, column: u32) -> Option<String> {
        text.around(line, column).map(|(_, after)| after.chars().take(3).collect())
    }

    #[test]
    fn columns_are_utf16_units() {
        let text = ScriptText::new("ab\n\"ü𝒳\"cd\r\n".into());
        assert_eq!(after(&text, 1, 1).as_deref(), Some("ab\n"));
        assert_eq!(after(&text, 1, 3).as_deref(), Some("\n"));
        assert_eq!(after(&text, 1, 5), None);
        assert_eq!(after(&text, 2, 6).as_deref(), Some("cd\r"));
        assert_eq!(
            [after(&text, 0, 1), after(&text, 4, 1), after(&text, 1, 0)],
            [None, None, None]
        );
        assert_eq!(after(&text, u32::MAX, u32::MAX), None);
        let text = ScriptText::new("a\rb\r\nc\u{2028}d".into());
        let lines: Vec<_> = (1..6).map(|line| after(&text, line, 1)).collect();
        assert_eq!(lines.iter().flatten().map(|line| &line[..1]).collect::<String>(), "abcd");
    }

    #[test]
    fn long_lines_are_counted_right() {
        let mut line = String::new();
        let mut columns = Vec::new();
        let mut units = 0;
        for (row, letter) in "aü漢𝒳;".chars().cycle().take(30_000).enumerate() {
            if row % 997 == 0 {
                columns.push((units + 1, line.len()));
            }
            units += letter.len_utf16() as u32;
            line.push(letter);
        }
        for prefix in ["", "ü\n", &"x".repeat(5000)] {
            let is_second = prefix.ends_with('\n');
            let shift = if is_second { 0 } else { prefix.len() as u32 };
            let text = ScriptText::new(format!("{prefix}{line}\nend").into());
            for (column, offset) in &columns {
                let (_, after) =
                    text.around(if is_second { 2 } else { 1 }, column + shift).unwrap();
                assert_eq!(after, format!("{}\n", &line[*offset..]), "{prefix:.3} {column}");
            }
        }
    }
}
