//! What a log's line is made of: fields between commas, numbers, and texts with V8's escapes. Before Node 10
//! texts stand between quotes and may hold commas; later a comma is `\x2C`, but some names still have raw ones.

use std::borrow::Cow;

/// The rest of a line, read field by field.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(Option<&'a [u8]>);

impl<'a> Fields<'a> {
    pub(super) fn of(line: &'a [u8]) -> Self {
        Self(Some(line))
    }

    /// The next field as written; `None` behind the last one.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.0?;
        match memchr::memchr(b',', rest) {
            Some(comma) => {
                self.0 = Some(&rest[comma + 1..]);
                Some(&rest[..comma])
            }
            None => {
                self.0 = None;
                Some(rest)
            }
        }
    }

    /// The next field, which may stand between quotes and then holds its commas.
    pub(super) fn text(&mut self) -> Option<Cow<'a, str>> {
        let rest = self.0?;
        let Some(quoted) = rest.strip_prefix(b"\"") else { return self.next().map(unescape) };
        let end = closing_quote(quoted)?;
        self.0 = quoted[end + 1..].strip_prefix(b",");
        Some(unquote(&quoted[..end]))
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        number(self.next()?)
    }

    /// The next field as an address: `0x7f00`.
    pub(super) fn address(&mut self) -> Option<u64> {
        address(self.next()?)
    }

    /// Everything that is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.0.unwrap_or_default()
    }
}

/// What a code-creation line ends in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CodeText<'a> {
    /// The code's name.
    pub(super) name: Cow<'a, str>,
    /// What compiled it: `~`, `^`, `+`, `*`, as in a perf map.
    pub(super) marker: &'a str,
    /// Whether it belongs to a JavaScript function.
    pub(super) is_function: bool,
}

/// Reads `name` or `name,0xfunction,marker`, where the name may hold commas. `None` for a quote that is open.
pub(super) fn code_text(rest: &[u8]) -> Option<CodeText<'_>> {
    if let Some(quoted) = rest.strip_prefix(b"\"") {
        let end = closing_quote(quoted)?;
        let function = function_at_end(&quoted[end + 1..]);
        let marker = function.map_or("", |(_, marker)| marker);
        return Some(CodeText {
            name: unquote(&quoted[..end]),
            marker,
            is_function: function.is_some(),
        });
    }
    Some(match function_at_end(rest) {
        Some((name, marker)) => CodeText { name: unescape(name), marker, is_function: true },
        None => CodeText { name: unescape(rest), marker: "", is_function: false },
    })
}

/// Splits `…,0xfunction,marker`.
fn function_at_end(text: &[u8]) -> Option<(&[u8], &str)> {
    let comma = memchr::memrchr(b',', text)?;
    let marker = std::str::from_utf8(&text[comma + 1..]).ok().filter(|marker| is_marker(marker))?;
    let before = memchr::memrchr(b',', &text[..comma])?;
    address(&text[before + 1..comma])?;
    Some((&text[..before], marker))
}

fn is_marker(text: &str) -> bool {
    text.len() <= 3 && text.bytes().all(|byte| b"~^+*'o".contains(&byte))
}

pub(super) fn number(digits: &[u8]) -> Option<u64> {
    let digit = |sum: u64, byte: &u8| {
        let value = byte.checked_sub(b'0').filter(|value| *value < 10)?;
        sum.checked_mul(10)?.checked_add(u64::from(value))
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, digit) }
}

/// `0x7f00`; a null pointer is also written as `(nil)` or `0`.
pub(super) fn address(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x") {
        Some(digits) => hexadecimal(digits),
        None => matches!(text, b"0" | b"(nil)" | b"nullptr").then_some(0),
    }
}

pub(super) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |sum, byte| Some(sum << 4 | u64::from(char::from(*byte).to_digit(16)?)))
}

/// A frame of a tick: an address, or how far it is from the one before (`+1f`, `-0x20`).
pub(super) fn frame_address(text: &[u8], previous: u64) -> Option<u64> {
    let distance = |digits: &[u8]| hexadecimal(digits.strip_prefix(b"0x").unwrap_or(digits));
    match text {
        [b'+', digits @ ..] => Some(previous.wrapping_add(distance(digits)?)),
        [b'-', digits @ ..] => Some(previous.wrapping_sub(distance(digits)?)),
        _ => address(text),
    }
}

/// Where the quote ends; a quote inside is written twice.
fn closing_quote(quoted: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr(b'"', &quoted[at..])?;
        if quoted.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

fn unquote(text: &[u8]) -> Cow<'_, str> {
    match unescape(text) {
        text if text.contains("\"\"") => Cow::Owned(text.replace("\"\"", "\"")),
        text => text,
    }
}

/// Undoes `\n`, `\\`, `\x2C` and `\u4E2D`. Any other backslash means itself: Node 10 leaves those of regular
/// expressions as they are.
pub(super) fn unescape(text: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(text);
    if !text.contains('\\') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some((before, escaped)) = rest.split_once('\\') {
        plain.push_str(before);
        let (letter, length) = escape(escaped).unwrap_or(('\\', 0));
        plain.push(letter);
        rest = &escaped[length..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The letter that an escape stands for, and the escape's length behind the backslash.
fn escape(text: &str) -> Option<(char, usize)> {
    match text.as_bytes().first()? {
        b'\\' => Some(('\\', 1)),
        b'n' => Some(('\n', 1)),
        b'x' => Some((char::from_u32(code_unit(text.get(1..3)?)?)?, 3)),
        b'u' => {
            let high = code_unit(text.get(1..5)?)?;
            let low = || code_unit(text.get(5..11)?.strip_prefix("\\u")?);
            if let Some(letter) = char::from_u32(high) {
                return Some((letter, 5));
            }
            let pair = low().filter(|low| high < 0xdc00 && (0xdc00..0xe000).contains(low));
            let pair = pair.and_then(|low| {
                char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
            });
            Some(pair.map_or((char::REPLACEMENT_CHARACTER, 5), |letter| (letter, 11)))
        }
        _ => None,
    }
}

fn code_unit(digits: &str) -> Option<u32> {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())?
}
