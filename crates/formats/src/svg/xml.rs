//! The one place where texts become XML. Names come from outside and may hold anything.

use std::fmt::Write;

/// The text between tags or in an attribute. What XML forbids or moves a cursor becomes U+FFFD.
pub(super) fn escape(text: &str) -> String {
    let mut xml = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => xml.push(char::REPLACEMENT_CHARACTER),
            _ if character.is_control() => xml.push(char::REPLACEMENT_CHARACTER),
            _ => xml.push(character),
        }
    }
    xml
}

/// A number with at most `decimals` decimals, and without zeros at its end.
pub(super) fn number(value: f64, decimals: usize) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write!(text, "{value:.decimals$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_what_xml_forbids_are_only_text() {
        let rows = [
            ("parse /app/a.js:12", "parse /app/a.js:12"),
            ("<script>&]]>--\"", "&lt;script&gt;&amp;]]&gt;--&quot;"),
            ("a\nb\u{1b}[31m\0", "a\u{fffd}b\u{fffd}[31m\u{fffd}"),
            ("\u{fffe}\u{ffff}\u{9b}", "\u{fffd}\u{fffd}\u{fffd}"),
            ("処理 👍", "処理 👍"),
        ];
        for (text, expected) in rows {
            assert_eq!(escape(text), expected);
        }
    }

    #[test]
    fn numbers_are_short() {
        let rows = [(0.0, "0"), (100.0, "100"), (12.345_678, "12.3457"), (0.1, "0.1")];
        for (value, expected) in rows {
            assert_eq!(number(value, 4), expected);
        }
        assert_eq!(number(f64::NAN, 1), "0");
    }
}
