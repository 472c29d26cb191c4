//! The names of generated code, from jitdumps: each once, in one block of memory. A large program has millions of
//! pieces of code, and most of them run under no sample.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// What all names may take together. A map of 130 MB has 100 MB of them.
const MOST_BYTES: usize = 144 << 20;

/// All names, by row.
#[derive(Default)]
pub(crate) struct CodeNames {
    text: String,
    ends: Vec<u32>,
    index: HashTable<u32>,
}

impl CodeNames {
    /// The row of a name; `None` where there is no room for another one.
    pub(crate) fn id(&mut self, name: &str) -> Option<u32> {
        let Self { text, ends, index } = self;
        if let Some(row) = index.find(hash(name), |row| get(text, ends, *row) == name) {
            return Some(*row);
        }
        if text.len() + name.len() > MOST_BYTES {
            return None;
        }
        text.push_str(name);
        let row = u32::try_from(ends.len()).ok()?;
        ends.push(u32::try_from(text.len()).ok()?);
        index.insert_unique(hash(name), row, |row| hash(get(text, ends, *row)));
        Some(row)
    }

    /// What they take in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * 2 * size_of::<u32>()
    }

    /// The name of a row.
    pub(crate) fn get(&self, row: u32) -> &str {
        get(&self.text, &self.ends, row)
    }
}

fn get<'a>(text: &'a str, ends: &[u32], row: u32) -> &'a str {
    let start =
        row.checked_sub(1).and_then(|before| ends.get(before as usize)).copied().unwrap_or(0);
    let end = ends.get(row as usize).copied().unwrap_or(start);
    text.get(start as usize..end as usize).unwrap_or_default()
}

fn hash(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_row() {
        let mut names = CodeNames::default();
        assert_eq!(
            [names.id("a"), names.id(""), names.id("bc"), names.id("a")],
            [Some(0), Some(1), Some(2), Some(0)]
        );
        assert_eq!([names.get(0), names.get(1), names.get(2), names.get(3)], ["a", "", "bc", ""]);
        let long = "x".repeat(MOST_BYTES - 2);
        assert_eq!([names.id(&long), names.id("bc")], [None, Some(2)]);
    }
}
