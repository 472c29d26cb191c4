//! The comment at the end of a script that names its source map: `//# sourceMappingURL=…`, `/*# … */`, and the older
//! `//@ …`. Only the last lines count, as for every reader that does not parse the script; a text that merely
//! mentions such a comment is none.

use memchr::memmem;

/// What the end of a script contains.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Comment<'a> {
    /// Where the map is.
    Url(&'a [u8]),
    /// Nothing.
    None,
    /// Its last line starts before what was given.
    CutOff,
}

const WORD: &[u8] = b"sourceMappingURL=";

/// Looks for the comment at the end of a text, which is the whole script or its end.
pub(super) fn find(text: &[u8], is_whole: bool) -> Comment<'_> {
    let mut rest = text;
    loop {
        let start = memchr::memrchr(b'\n', rest).map_or(0, |newline| newline + 1);
        let line = rest[start..].trim_ascii();
        if let Some(url) = url_in(line) {
            return Comment::Url(url);
        }
        if start == 0 {
            return if is_whole { Comment::None } else { Comment::CutOff };
        }
        let is_passed = [&b"//"[..], b"/*", b"*/"].iter().any(|mark| line.starts_with(mark));
        if !line.is_empty() && !is_passed {
            return Comment::None;
        }
        rest = &rest[..start - 1];
    }
}

/// The address in a line that ends with such a comment.
fn url_in(line: &[u8]) -> Option<&[u8]> {
    let word = memmem::rfind(line, WORD)?;
    let before = line[..word].trim_ascii_end();
    let (before, mark) = before.split_at_checked(before.len().checked_sub(3)?)?;
    let closes = match mark {
        b"//#" | b"//@" => false,
        b"/*#" | b"/*@" => true,
        _ => return None,
    };
    // A string that holds the comment starts before it.
    if before.ends_with(b"\"") || before.ends_with(b"'") || before.ends_with(b"`") {
        return None;
    }
    let value = &line[word + WORD.len()..];
    let value = if closes { value.strip_suffix(b"*/")?.trim_ascii_end() } else { value };
    let is_address =
        |byte: &u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\');
    (!value.is_empty() && value.iter().all(is_address)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments() {
        let rows: &[(&str, Option<&str>)] = &[
            ("a()\n//# sourceMappingURL=a.js.map", Some("a.js.map")),
            ("a()\n//# sourceMappingURL=a.js.map\r\n\r\n", Some("a.js.map")),
            ("a()//# sourceMappingURL=a.js.map", Some("a.js.map")),
            ("a()\n//@ sourceMappingURL=a.js.map\n", Some("a.js.map")),
            ("a()\n/*# sourceMappingURL=a.css.map */\n", Some("a.css.map")),
            ("a()\n//#  sourceMappingURL=a.js.map", Some("a.js.map")),
            ("//# sourceMappingURL=first\n//# sourceMappingURL=last\n", Some("last")),
            ("//# sourceMappingURL=a.map\n//# debugId=4f\n// the end\n/* and\n*/\n", Some("a.map")),
            ("//# sourceMappingURL=a.map\n//# debugId=4f\n// the end\n", Some("a.map")),
            ("//# sourceMappingURL=a.map\na()\n", None),
            ("x = '//# sourceMappingURL=' + name;\n", None),
            ("x = \"//# sourceMappingURL=a.map\"", None),
            ("x = '\\n//# sourceMappingURL=a.map\\n'", None),
            ("sourceMappingURL=a.map", None),
            ("//# sourceMappingURL=", None),
            ("//# sourceMappingURL=a b", None),
            (
                "//# sourceMappingURL=data:application/json;base64,e30=",
                Some("data:application/json;base64,e30="),
            ),
            ("", None),
            ("\n\n", None),
        ];
        for (text, url) in rows {
            let expected = url.map_or(Comment::None, |url| Comment::Url(url.as_bytes()));
            assert_eq!(find(text.as_bytes(), true), expected, "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_script_may_be_enough() {
        assert_eq!(find(b"}\n//# sourceMappingURL=a.map\n", false), Comment::Url(b"a.map"));
        assert_eq!(find(b"a()\n}\n", false), Comment::None);
        assert_eq!(find(b"AAAA", false), Comment::CutOff);
        assert_eq!(find(b"AAAA\n//\n", false), Comment::CutOff);
    }
}
