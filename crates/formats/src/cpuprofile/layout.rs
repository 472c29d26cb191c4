//! Which lines of a script belong to which of its functions, and which words each function has: from the script's text
//! and from where V8 reports that functions begin and end. A text that does not fit V8's places is not believed.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::lines::Lines;

/// Stands for the code outside of all functions.
pub(super) const TOP: u32 = u32::MAX;
/// Functions inside of functions inside of …: deeper ones get no words.
const DEEPEST: usize = 64;

/// A function, as V8 lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: String,
    /// In UTF-16 units, from the word `function` where it has one.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) has_run: bool,
}

/// The functions of a script, in its text.
#[derive(Debug)]
pub(super) struct Layout {
    lines: Lines,
    spots: Vec<Spot>,
    /// Line and function: whose code stands on each line. Parameters do not count.
    bodies: Vec<(u32, u32)>,
    /// The words of each function and of those inside it, hashed and sorted.
    words: Vec<Vec<u32>>,
    /// Line and word.
    line_words: Vec<(u32, u32)>,
}

/// Where a function is.
#[derive(Clone, Copy, Debug)]
struct Spot {
    start: usize,
    /// Where V8's profiler reports it: its parameters.
    place: usize,
    body: usize,
    end: usize,
    is_top: bool,
}

impl Layout {
    /// Reads a text; `None` if it is not the one that V8 has. The functions must be sorted, outer ones first.
    pub(super) fn new(text: &str, functions: &[Listed]) -> Option<Self> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let spots: Vec<Spot> =
            functions.iter().map(|function| spot(&units, function)).collect::<Option<_>>()?;
        let lines = Lines::new(text);
        let mut bodies = Vec::new();
        let mut words: Vec<Vec<u32>> = vec![Vec::new(); functions.len()];
        let (mut open, mut next, mut line): (Vec<usize>, usize, u32) = (Vec::new(), 0, 1);
        let (mut word_start, mut line_words) = (None, Vec::new());
        for at in 0..=units.len() {
            let unit = units.get(at).copied().unwrap_or(0);
            if is_word(unit) {
                word_start.get_or_insert(at);
            } else if let Some(start) = word_start.take() {
                let hash = hash_of(&units[start..at]);
                open.iter().take(DEEPEST).for_each(|function| words[*function].push(hash));
                line_words.push((line, hash));
            }
            while open.last().is_some_and(|function| spots[*function].end <= at) {
                open.pop();
            }
            while spots.get(next).is_some_and(|spot| spot.start <= at) {
                open.push(next);
                next += 1;
            }
            line = lines.line_after(line, at as u64);
            bodies.extend(owner(&spots, &open, at, unit).map(|function| (line, function)));
        }
        for pairs in [&mut bodies, &mut line_words] {
            pairs.sort_unstable();
            pairs.dedup();
        }
        for list in &mut words {
            list.sort_unstable();
            list.dedup();
        }
        Some(Self { lines, spots, bodies, words, line_words })
    }

    /// The function whose parameters are there.
    pub(super) fn function_at(&self, line: u32, column: u32) -> Option<u32> {
        let offset = usize::try_from(self.lines.offset(line, column)?).ok()?;
        if offset == 0 {
            return Some(TOP);
        }
        let is_here = |spot: &Spot| !spot.is_top && spot.start <= offset && offset <= spot.body;
        let found = self.spots.iter().rposition(is_here)?;
        u32::try_from(found).ok()
    }

    /// Line and column of a function's parameters.
    pub(super) fn place(&self, function: u32) -> Option<(u32, u32)> {
        self.lines.place(self.spots.get(function as usize)?.place as u64)
    }

    /// Whether a line and column is inside of a function's head.
    pub(super) fn is_head(&self, function: u32, line: u32, column: u32) -> bool {
        let offset = self.lines.offset(line, column);
        let spot = self.spots.get(function as usize);
        spot.zip(offset)
            .is_some_and(|(spot, offset)| spot.start as u64 <= offset && offset <= spot.body as u64)
    }

    /// Whose code is on a line.
    pub(super) fn owners(&self, line: u32) -> impl Iterator<Item = u32> {
        of_line(&self.bodies, line)
    }

    /// The words on a line.
    pub(super) fn words_on(&self, line: u32) -> impl Iterator<Item = u32> {
        of_line(&self.line_words, line)
    }

    /// Whether a function, or one inside it, has a loop.
    pub(super) fn has_loop(&self, function: u32) -> bool {
        let is_there = |word: &str| {
            word_of(word).is_some_and(|word| self.words(function).binary_search(&word).is_ok())
        };
        ["for", "while", "do"].into_iter().any(is_there)
    }

    /// Whether a line is a function's own: it has code there, or nothing has and the line is inside of it.
    pub(super) fn is_own(&self, function: u32, line: u32) -> bool {
        if self.owners(line).any(|owner| owner == function) {
            return true;
        }
        let Some(spot) = self.spots.get(function as usize) else { return function == TOP };
        let line_of = |offset: usize| self.lines.place(offset as u64).map_or(0, |place| place.0);
        let is_in_head = (line_of(spot.start)..=line_of(spot.body)).contains(&line);
        let is_inside = (line_of(spot.start)..=line_of(spot.end.saturating_sub(1))).contains(&line);
        is_in_head || (is_inside && self.owners(line).next().is_none())
    }

    /// The words of a function; the code outside of all functions has none.
    pub(super) fn words(&self, function: u32) -> &[u32] {
        self.words.get(function as usize).map_or(&[], Vec::as_slice)
    }

    /// The functions inside of a function.
    pub(super) fn inside(&self, function: u32) -> impl Iterator<Item = u32> {
        let outer = self.spots.get(function as usize).copied();
        let is_inside = move |spot: &Spot| {
            outer.is_some_and(|outer| outer.start < spot.start && spot.end <= outer.end)
        };
        (0u32..).zip(&self.spots).filter(move |(_, spot)| is_inside(spot)).map(|(row, _)| row)
    }
}

fn of_line(pairs: &[(u32, u32)], line: u32) -> impl Iterator<Item = u32> {
    let first = pairs.partition_point(|pair| pair.0 < line);
    pairs[first..].iter().take_while(move |pair| pair.0 == line).map(|pair| pair.1)
}

/// The word that calls a function: the last of its name, `emit` of `Server.emit` and `get emit`.
pub(super) fn word_of(name: &str) -> Option<u32> {
    let units: Vec<u16> = name.encode_utf16().collect();
    let last = units.split(|unit| !is_word(*unit)).rfind(|word| !word.is_empty())?;
    Some(hash_of(last))
}

/// Whose code a character is: not white space, brackets or parameters. The bracket that ends a function is its own: V8
/// reports that a function that returns nothing returns there.
fn owner(spots: &[Spot], open: &[usize], at: usize, unit: u16) -> Option<u32> {
    let letter = char::from_u32(unit.into()).unwrap_or('x');
    let Some((function, spot)) = open.last().map(|function| (*function, &spots[*function])) else {
        return is_code(letter).then_some(TOP);
    };
    let is_own = at >= spot.body && (is_code(letter) || (letter == '}' && at + 1 == spot.end));
    is_own.then(|| if spot.is_top { TOP } else { u32::try_from(function).unwrap_or(TOP) })
}

fn is_code(letter: char) -> bool {
    !letter.is_whitespace() && !"(){}[];,\0\u{feff}".contains(letter)
}

fn is_word(unit: u16) -> bool {
    unit >= 0x80
        || char::from_u32(unit.into())
            .is_some_and(|it| it.is_ascii_alphanumeric() || it == '_' || it == '$')
}

fn hash_of(word: &[u16]) -> u32 {
    let mut hasher = FxHasher::default();
    word.hash(&mut hasher);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

/// Finds a function in the text; `None` if another text stands there.
fn spot(units: &[u16], function: &Listed) -> Option<Spot> {
    let Listed { name, start, end, .. } = function;
    let (start, end) = (*start, *end);
    let text = units.get(start..end).filter(|text| !text.is_empty())?;
    let is_top = name.is_empty() && start == 0 && end == units.len();
    if is_top {
        return Some(Spot { start, place: 0, body: 0, end, is_top });
    }
    let (first, last) = (letter_at(text, 0), letter_at(text, text.len() - 1));
    if first.is_whitespace() || last.is_whitespace() || ")]};,.=".contains(first) {
        return None;
    }
    let keyword = after_keyword(text);
    if let Some(rest) = keyword {
        let written = first_word(&text[rest..]);
        let is_named = written.is_empty() || String::from_utf16_lossy(written) == *name;
        if last != '}' || !is_named {
            return None;
        }
    }
    let body = body_of(text);
    let bracket = || text[..body].iter().position(|unit| *unit == u16::from(b'('));
    let place = keyword.and_then(|_| bracket()).unwrap_or(0);
    Some(Spot { start, place: start + place, body: start + body, end, is_top })
}

fn letter_at(text: &[u16], at: usize) -> char {
    text.get(at).and_then(|unit| char::from_u32((*unit).into())).unwrap_or('x')
}

/// Where it goes on behind `function` or `async function`.
fn after_keyword(text: &[u16]) -> Option<usize> {
    let skip = |at: usize, word: &str| {
        let found = first_word(text.get(at..)?);
        let is_it = found.iter().copied().eq(word.encode_utf16());
        is_it.then(|| at + word.len())
    };
    let blanks =
        |at: usize| at + text[at..].iter().take_while(|unit| matches!(**unit, 9..=13 | 32)).count();
    let start = skip(0, "async").map_or(0, blanks);
    let rest = skip(start, "function")?;
    let rest = blanks(rest);
    let star = usize::from(letter_at(text, rest) == '*');
    Some(blanks((rest + star).min(text.len())))
}

/// The word at the start of a text; may be empty.
fn first_word(text: &[u16]) -> &[u16] {
    let length = text.iter().take_while(|unit| is_word(**unit)).count();
    &text[..length]
}

/// Where a function's body begins: behind `{` or `=>`, outside of its parameters. Where none is found, at its start.
fn body_of(text: &[u16]) -> usize {
    let (mut at, mut depth) = (0, 0u32);
    while at < text.len() {
        let (letter, next) = (letter_at(text, at), letter_at(text, at + 1));
        match letter {
            '"' | '\'' | '`' => at = behind(text, at + 1, |at| letter_at(text, at) == letter),
            '/' if next == '/' => {
                at = behind(text, at + 2, |at| matches!(text[at], 10 | 13 | 0x2028 | 0x2029));
            }
            '/' if next == '*' => {
                at = behind(text, at + 3, |at| {
                    letter_at(text, at) == '/' && letter_at(text, at - 1) == '*'
                });
            }
            '=' if next == '>' && depth == 0 => {
                let blanks =
                    text[at + 2..].iter().take_while(|unit| matches!(**unit, 9..=13 | 32)).count();
                let brace = usize::from(letter_at(text, at + 2 + blanks) == '{');
                return at + 2 + if brace == 1 { blanks + 1 } else { 0 };
            }
            '{' if depth == 0 => return at + 1,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    0
}

/// Where something ends that begins before `at`; a backslash guards the next character.
fn behind(text: &[u16], at: usize, is_end: impl Fn(usize) -> bool) -> usize {
    let mut at = at;
    while at < text.len() && !is_end(at) {
        at += if letter_at(text, at) == '\\' { 2 } else { 1 };
    }
    at
}
