//! The text that V8 compiled under a script's name, and the address of its source map. A transpiler that works while
//! modules are loaded (tsx, vitest, jest) gives V8 another text than the file on disk has: then only V8 knows both.

use std::sync::Arc;

use crate::heap::{Heap, Object, small_integer};
use crate::memory::Memory;
use crate::reader::Reader;
use crate::reason::Reason;
use crate::strings::Text;

/// A script that was seen on a stack.
#[derive(Clone, Debug)]
pub struct SeenScript {
    pub(crate) object: Object,
    /// The number that no other script of its isolate has.
    pub(crate) id: u64,
    /// Path or URL.
    pub name: Arc<str>,
}

/// What V8 compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptText {
    /// The text, so that lines and columns in it are those of functions and frames.
    pub text: String,
    /// Characters that were read, for callers that limit them.
    pub characters: usize,
}

/// A script may start at most this many lines below the start of its file.
const MOST_LINES_BEFORE: usize = 1 << 16;

impl Reader {
    /// The scripts with names that were seen for the first time since the last call.
    pub fn take_new_scripts(&mut self) -> Vec<SeenScript> {
        std::mem::take(&mut self.state.new_scripts)
    }

    /// Takes a script for a new one when it is seen next: it could not be read where it was.
    pub fn forget_script(&mut self, script: &SeenScript) {
        self.state.reported_scripts.remove(&(script.id, script.name.clone()));
    }

    /// The address of a script's source map, of at most `most` characters; `None` where its text names none.
    pub fn map_url(
        &mut self,
        memory: &dyn Memory,
        script: &SeenScript,
        most: usize,
    ) -> Result<Option<String>, Reason> {
        let mut heap = Heap { memory, layout: &self.layout, kept: &mut self.state.kept };
        check(&mut heap, script)?;
        let url = heap.word(script.object.address + heap.layout.at.script_map_url)?;
        let string = heap.object(url)?;
        // `undefined` is an object, too.
        if !heap.is_string(string) {
            return Ok(None);
        }
        if heap.string_length(string)? > most {
            return Err(Reason::TooLarge);
        }
        let url = heap.text(url, most)?.into_string();
        Ok(Some(url).filter(|url| !url.is_empty()))
    }

    /// The text of a script, at most so many characters.
    pub fn script_text(
        &mut self,
        memory: &dyn Memory,
        script: &SeenScript,
        most: usize,
    ) -> Result<ScriptText, Reason> {
        let mut heap = Heap { memory, layout: &self.layout, kept: &mut self.state.kept };
        check(&mut heap, script)?;
        let at = &heap.layout.at;
        let (lines, columns, source) =
            (at.script_line_offset, at.script_column_offset, at.script_source);
        let [lines, columns] = [lines, columns].map(|field| heap.field(script.object, field));
        let number = |word: u64| small_integer(word).unwrap_or(0);
        let (lines, columns) = (number(lines?), number(columns?));
        let source = heap.field(script.object, source)?;
        let mut text = heap.source_text(source, most)?;
        let characters = text.length();
        text.shift(usize::try_from(lines).unwrap_or(0), columns)?;
        Ok(ScriptText { text: text.into_string(), characters })
    }
}

/// Whether the object still is this script.
fn check(heap: &mut Heap<'_>, script: &SeenScript) -> Result<(), Reason> {
    let (id, kind) = (heap.layout.at.script_id, heap.layout.types.script);
    let object = heap.object_of(script.object.address | 1, kind)?;
    let is_same = object == script.object && heap.word(object.address + id)? == script.id;
    if is_same { Ok(()) } else { Err(Reason::Mismatch) }
}

impl Text {
    /// Puts the text where V8 counts it to be: so many lines below, and so many columns to the right in its first line,
    /// or to the left, behind what a tool wrapped around it.
    fn shift(&mut self, lines: usize, columns: i32) -> Result<(), Reason> {
        if lines > MOST_LINES_BEFORE || columns > MOST_LINES_BEFORE as i32 {
            return Err(Reason::TooLarge);
        }
        let cut = usize::try_from(columns.checked_neg().unwrap_or(0)).unwrap_or(0);
        let spaces = usize::try_from(columns).unwrap_or(0);
        let before = std::iter::repeat_n(b'\n', lines).chain(std::iter::repeat_n(b' ', spaces));
        match self {
            Self::One(text) => drop(text.splice(..cut.min(text.len()), before)),
            Self::Two(text) => drop(text.splice(..cut.min(text.len()), before.map(u16::from))),
        }
        Ok(())
    }

    fn length(&self) -> usize {
        match self {
            Self::One(text) => text.len(),
            Self::Two(text) => text.len(),
        }
    }

    /// The text, without a copy where a character is a byte.
    fn into_string(self) -> String {
        match self {
            Self::One(text) if text.is_ascii() => String::from_utf8(text).unwrap_or_default(),
            text => text.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(text: &str, lines: usize, columns: i32) -> Result<String, Reason> {
        let mut text = Text::Two(text.encode_utf16().collect());
        text.shift(lines, columns).map(|()| text.into_string())
    }

    #[test]
    fn a_text_stands_where_v8_counts_it() {
        assert_eq!(shifted("ab\nc", 0, 0).as_deref(), Ok("ab\nc"));
        assert_eq!(shifted("ab\nc", 2, 1).as_deref(), Ok("\n\n ab\nc"));
        assert_eq!(shifted("(()=>{ü\nc})", 0, -6).as_deref(), Ok("ü\nc})"));
        assert_eq!(shifted("ab", 0, -6).as_deref(), Ok(""));
        for columns in [i32::MIN, i32::MAX] {
            let text = shifted("ab", 0, columns);
            assert!(text.is_err() || text.as_deref() == Ok("ab"), "{text:?}");
        }
        assert_eq!(shifted("ab", usize::MAX, 0), Err(Reason::TooLarge));
    }

    #[test]
    fn latin_letters_are_kept() {
        assert_eq!(Text::One(b"a\xfc".to_vec()).into_string(), "aü");
        assert_eq!(Text::One(b"ab".to_vec()).into_string(), "ab");
    }
}
