//! Numbers in the place of texts: the same text of one kind has the same number.

use rustc_hash::{FxHashMap, FxHashSet};

/// Shorter words reveal nothing: they also occur in sentences of our own.
const SHORTEST_WORD: usize = 3;

#[derive(Default)]
pub(super) struct StandIns {
    numbers: FxHashMap<&'static str, FxHashMap<String, usize>>,
    /// The words that were replaced.
    words: FxHashSet<String>,
}

impl StandIns {
    /// The stand-in for a text: `fn17`.
    pub(super) fn of(&mut self, kind: &'static str, text: &str) -> String {
        format!("{kind}{}", self.number(kind, text))
    }

    /// Its number alone, from 1.
    pub(super) fn number(&mut self, kind: &'static str, text: &str) -> usize {
        let numbers = self.numbers.entry(kind).or_default();
        let next = numbers.len() + 1;
        let number = *numbers.entry(text.to_owned()).or_insert(next);
        if number == next {
            self.words.extend(words_of(text).map(str::to_owned));
        }
        number
    }

    /// Whether a sentence has a path, or a word that was replaced.
    pub(super) fn is_revealing(&self, sentence: &str) -> bool {
        sentence.contains(['/', '\\']) || words_of(sentence).any(|word| self.words.contains(word))
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$';
    text.split(is_between).filter(|word| word.len() >= SHORTEST_WORD)
}
