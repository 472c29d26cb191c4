//! A line of a call chain in `perf script` text: `address symbol+0xoffset (module)`.

/// A frame as the line has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameWords<'a> {
    pub(super) address: u64,
    /// Without its offset.
    pub(super) symbol: &'a [u8],
    pub(super) module: Option<&'a [u8]>,
    pub(super) inlined: bool,
}

/// The text of a symbol that has an empty name.
pub(super) const NAMELESS: &[u8] = b" ";

/// Reads a frame; `None` when the line is not one.
pub(super) fn parse(line: &[u8]) -> Option<FrameWords<'_>> {
    let line = line.trim_ascii();
    let digits = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let address = parse_hex(&line[..digits])?;
    let rest = &line[digits..];
    if !rest.starts_with(b" ") {
        return None;
    }
    let has_two_blanks = rest.starts_with(b"  ");
    let rest = rest.trim_ascii_start();
    let (symbol, module) = match module_start(rest) {
        Some(start) => (rest[..start].trim_ascii_end(), Some(&rest[start + 1..rest.len() - 1])),
        None => (rest, None),
    };
    if symbol.is_empty() && module.is_none() {
        return None;
    }
    let symbol = match symbol {
        // A symbol without a name. stackcollapse-perf.pl prints the blank.
        b"" if has_two_blanks => NAMELESS,
        b"" => b"[unknown]",
        _ => without_offset(symbol),
    };
    let inlined = module == Some(b"inlined");
    let module = module.filter(|_| !inlined).map(without_offset);
    Some(FrameWords { address, symbol, module, inlined })
}

fn parse_hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let text = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(text, 16).ok()
}

/// Where the last group of parentheses opens. They are counted, so that `(/usr/bin/node (deleted))` stays
/// whole.
fn module_start(rest: &[u8]) -> Option<usize> {
    if !rest.ends_with(b")") {
        return None;
    }
    let mut depth = 0u32;
    for (at, byte) in rest.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 && (at == 0 || rest[at - 1] == b' ') {
            return Some(at);
        }
    }
    None
}

/// Drops `+0x1f` at the end.
fn without_offset(name: &[u8]) -> &[u8] {
    let digits =
        name.iter().rev().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
    match name[..name.len() - digits].strip_suffix(b"+0x") {
        Some(bare) if digits > 0 && !bare.is_empty() => bare,
        _ => name,
    }
}

/// Reads the source line that `-F +srcline` prints under a frame: two blanks, then `file:line`. Addresses in
/// brackets (`libc.so.6[27b25]`) mean nothing.
pub(super) fn parse_source_line(line: &[u8]) -> Option<SourceLine<'_>> {
    let words = line.strip_prefix(b"  ").filter(|words| !words.starts_with(b" "))?.trim_ascii_end();
    if words.ends_with(b"]") && memchr::memchr(b'[', words).is_some() {
        return Some(SourceLine::Nothing);
    }
    let colon = memchr::memrchr(b':', words)?;
    let line = std::str::from_utf8(&words[colon + 1..]).ok()?.parse().ok()?;
    (colon > 0).then(|| SourceLine::At(&words[..colon], line))
}

/// The content of a source line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SourceLine<'a> {
    /// File and line.
    At(&'a [u8], u32),
    /// Only an address.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(
        address: u64,
        symbol: &'static str,
        module: Option<&'static str>,
    ) -> Option<FrameWords<'static>> {
        let module = module.map(str::as_bytes);
        Some(FrameWords { address, symbol: symbol.as_bytes(), module, inlined: false })
    }

    #[test]
    fn frame_variants() {
        let rows = [
            (
                "\tffffffff8103ce3b native_safe_halt ([kernel.kallsyms])",
                frame(0xffffffff8103ce3b, "native_safe_halt", Some("[kernel.kallsyms]")),
            ),
            ("\t    7f00 foo+0x12 (/usr/bin/node)", frame(0x7f00, "foo", Some("/usr/bin/node"))),
            ("  7f00 [unknown] ([unknown])", frame(0x7f00, "[unknown]", Some("[unknown]"))),
            (
                "  7f00 LazyCompile:*get a b /srv/a b.js:1 (/tmp/perf-1.map)",
                frame(0x7f00, "LazyCompile:*get a b /srv/a b.js:1", Some("/tmp/perf-1.map")),
            ),
            (
                "  7f00 RegExp:(a|(b) (/tmp/perf-1.map)",
                frame(0x7f00, "RegExp:(a|(b)", Some("/tmp/perf-1.map")),
            ),
            (
                "  7f00 foo (/usr/lib/x.so (deleted))",
                frame(0x7f00, "foo", Some("/usr/lib/x.so (deleted)")),
            ),
            (
                "  7f00 foo(int) (/opt/My (x86)/node)",
                frame(0x7f00, "foo(int)", Some("/opt/My (x86)/node")),
            ),
            ("  7f00 foo+0x12 (/usr/bin/node+0xfe)", frame(0x7f00, "foo", Some("/usr/bin/node"))),
            ("  7f00 (/usr/bin/node)", frame(0x7f00, "[unknown]", Some("/usr/bin/node"))),
            ("  7f00  (/usr/bin/node)", frame(0x7f00, " ", Some("/usr/bin/node"))),
            ("  7f00 foo+0x1", frame(0x7f00, "foo", None)),
            ("  0 [unknown] ([unknown])", frame(0, "[unknown]", Some("[unknown]"))),
            ("  7f00", None),
            ("  file.cpp:137", None),
            ("  11112222333344445 foo (bar)", None),
            ("", None),
        ];
        for (line, expected) in rows {
            assert_eq!(parse(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn inlined_frames_have_no_module() {
        let frame = parse(b"  7f00 foo (inlined)").unwrap();
        assert!(frame.inlined && frame.module.is_none());
    }

    #[test]
    fn source_lines() {
        assert_eq!(parse_source_line(b"  file.cpp:137"), Some(SourceLine::At(b"file.cpp", 137)));
        assert_eq!(parse_source_line(b"  libc-2.33.so[27b25]"), Some(SourceLine::Nothing));
        assert_eq!(parse_source_line(b"   file.cpp:137"), None);
        assert_eq!(parse_source_line(b"  file.cpp"), None);
    }
}
