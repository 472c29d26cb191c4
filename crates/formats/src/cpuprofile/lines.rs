//! Lines of a script's text. V8 counts in UTF-16 units, and its lines end as JavaScript's do.

/// Where the lines of a text begin, in UTF-16 units, and where it ends.
#[derive(Debug)]
pub(super) struct Lines {
    starts: Vec<u64>,
    end: u64,
}

impl Lines {
    pub(super) fn new(text: &str) -> Self {
        let (mut starts, mut at, mut last) = (vec![0], 0, '\0');
        for letter in text.chars() {
            at += letter.len_utf16() as u64;
            match letter {
                '\n' if last == '\r' => *starts.last_mut().unwrap_or(&mut 0) = at,
                '\n' | '\r' | '\u{2028}' | '\u{2029}' => starts.push(at),
                _ => {}
            }
            last = letter;
        }
        Self { starts, end: at }
    }

    pub(super) fn offset(&self, line: u32, column: u32) -> Option<u64> {
        let start = self.starts.get(line.checked_sub(1)? as usize)?;
        Some(start + u64::from(column.saturating_sub(1)))
    }

    /// Line and column, both from 1.
    pub(super) fn place(&self, offset: u64) -> Option<(u32, u32)> {
        let line = self.starts.partition_point(|start| *start <= offset);
        let column = offset - self.starts.get(line.checked_sub(1)?)?;
        (offset < self.end).then_some((u32::try_from(line).ok()?, u32::try_from(column + 1).ok()?))
    }

    /// The line of an offset that is not before that line.
    pub(super) fn line_after(&self, line: u32, offset: u64) -> u32 {
        let is_behind =
            |line: u32| self.starts.get(line as usize).is_some_and(|start| *start <= offset);
        if is_behind(line) { line + 1 } else { line }
    }
}
