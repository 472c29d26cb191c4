//! Every text of a profile, stored once, in one block of memory.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::ids::StringId;

/// The texts of a finished profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    /// The text of a row; empty for [`StringId::NONE`].
    pub fn get(&self, id: StringId) -> &str {
        let Some(&end) = self.ends.get(id.index()) else { return "" };
        let start = id.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..end]
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All texts, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.get(StringId::from_index(row)))
    }

    /// The texts from that row on.
    pub(crate) fn tail(&self, from: usize) -> impl Iterator<Item = &str> {
        (from..self.len()).map(|row| self.get(StringId::from_index(row)))
    }

    /// Adds a text without looking whether it is there already.
    pub(crate) fn push(&mut self, text: &str) -> StringId {
        self.text.push_str(text);
        self.ends.push(self.text.len());
        StringId::from_index(self.ends.len() - 1)
    }
}

/// Strings with the index that finds a text's row.
#[derive(Default)]
pub(crate) struct Interner {
    pub(crate) strings: Strings,
    index: HashTable<StringId>,
}

impl Interner {
    pub(crate) fn intern(&mut self, text: &str) -> StringId {
        let Interner { strings, index } = self;
        let found = index.find(hash(text), |&id| strings.get(id) == text);
        if let Some(&id) = found {
            return id;
        }
        let id = strings.push(text);
        index.insert_unique(hash(text), id, |&id| hash(strings.get(id)));
        id
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_row() {
        let mut interner = Interner::default();
        let (a, b) = (interner.intern("a"), interner.intern(""));
        assert_eq!(interner.intern("a"), a);
        assert_ne!(a, b);
        assert_eq!(interner.strings.get(b), "");
        assert_eq!(interner.strings.get(StringId::NONE), "");
        assert_eq!(interner.strings.iter().collect::<Vec<_>>(), ["a", ""]);
    }
}
