//! Names as their authors wrote them: C++ with parameters, as c++filt shows it, and Rust without its hashes.

use std::borrow::Cow;
use std::fmt::{self, Write};

use cpp_demangle::{BorrowedSymbol, DemangleOptions, ParseOptions};

/// Longer names stay as they are: users do not read them, and made-up ones would take forever.
const LONGEST_NAME: usize = 8 << 10;

/// A few letters can stand for gigabytes, because a mangled name refers back to its own parts.
const LONGEST_TEXT: usize = 64 << 10;

/// How deep a name may nest; deeper ones would endanger the stack.
const DEEPEST: u32 = 96;

/// The readable form of a C++ or Rust symbol; any other symbol, and one that is damaged, as it is.
pub fn demangle(symbol: &[u8]) -> Cow<'_, str> {
    let is_mangled = symbol.starts_with(b"_Z") || symbol.starts_with(b"_R");
    if is_mangled && symbol.len() <= LONGEST_NAME {
        let readable = std::str::from_utf8(symbol).ok().and_then(demangle_rust);
        if let Some(text) = readable.or_else(|| demangle_cpp(symbol)) {
            return Cow::Owned(text);
        }
    }
    String::from_utf8_lossy(symbol)
}

fn demangle_rust(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let mut text = Text::default();
    write!(text, "{name:#}").ok()?;
    Some(text.0)
}

/// `_ZN2v84FuncEi.isra.0` has a tail that the compiler appended; c++filt shows it as `[clone .isra.0]`.
fn demangle_cpp(symbol: &[u8]) -> Option<String> {
    let options = ParseOptions::default().recursion_limit(DEEPEST);
    let (name, tail) = BorrowedSymbol::with_tail_and_options(symbol, &options).ok()?;
    if !tail.is_empty() {
        return None;
    }
    let mut text = Text::default();
    name.structured_demangle(&mut text, &DemangleOptions::new().recursion_limit(DEEPEST)).ok()?;
    let text = with_endings(&text.0);
    Some(thunk(&text).unwrap_or(text))
}

/// A jump that corrects `this`, as c++filt writes it: `non-virtual thunk to v8::Task::~Task()`.
fn thunk(text: &str) -> Option<String> {
    let inside = text.strip_prefix("{virtual override thunk(")?.strip_suffix(")}")?;
    let kind = if inside.starts_with("{virtual") { "virtual" } else { "non-virtual" };
    let (_, function) = inside.split_once("}, ")?;
    Some(format!("{kind} thunk to {function}"))
}

/// How c++filt writes the numbers among template arguments: `32ul`, not `(unsigned long)32`.
const ENDINGS: &[(&str, &str)] = &[
    ("(unsigned int)", "u"),
    ("(unsigned long)", "ul"),
    ("(unsigned long long)", "ull"),
    ("(long)", "l"),
    ("(long long)", "ll"),
];

fn with_endings(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('(') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let cast =
            ENDINGS.iter().find_map(|(cast, ending)| Some((rest.strip_prefix(cast)?, *ending)));
        let number = |after: &str| {
            let sign = usize::from(after.starts_with('-'));
            let digits = after[sign..].bytes().take_while(u8::is_ascii_digit).count();
            (digits > 0).then_some(sign + digits)
        };
        if let Some((after, ending)) = cast
            && let Some(length) = number(after)
        {
            out.push_str(&after[..length]);
            out.push_str(ending);
            rest = &after[length..];
        } else {
            out.push('(');
            rest = &rest[1..];
        }
    }
    out + rest
}

/// A text that refuses to grow without end.
#[derive(Default)]
struct Text(String);

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST_TEXT {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_people_wrote_them() {
        let rows: &[(&str, &str)] = &[
            ("uv_run", "uv_run"),
            (
                "_ZN2v88internal4Heap14CollectGarbageENS0_15AllocationSpaceE",
                "v8::internal::Heap::CollectGarbage(v8::internal::AllocationSpace)",
            ),
            ("_ZNK3foo3barEv", "foo::bar() const"),
            ("_ZN3fooILm32ELi4EE3barEv", "foo<32ul, 4>::bar()"),
            ("_ZThn32_N3foo3barEv", "non-virtual thunk to foo::bar()"),
            ("_ZTv0_n24_N3foo3barEv", "virtual thunk to foo::bar()"),
            ("_ZN3fooC1Ev.isra.0", "foo::foo() [clone .isra.0]"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_Z", "_Z"),
            ("_ZN", "_ZN"),
            ("_Zebra", "_Zebra"),
            ("_R", "_R"),
        ];
        for (symbol, text) in rows {
            assert_eq!(demangle(symbol.as_bytes()), *text, "{symbol}");
        }
        assert_eq!(demangle(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn a_name_that_would_grow_stays_as_it_is() {
        let mut bomb = b"_Z1fI1aE".to_vec();
        for _ in 0..60 {
            bomb.extend_from_slice(b"1fIS_S_E");
        }
        assert!(demangle(&bomb).len() <= LONGEST_TEXT);
        let deep = [b"_Z1f".to_vec(), b"P".repeat(7000), b"i".to_vec()].concat();
        assert!(demangle(&deep).len() <= LONGEST_TEXT);
        let long = [b"_Z9000".to_vec(), b"a".repeat(9000), b"v".to_vec()].concat();
        assert_eq!(demangle(&long).len(), long.len());
    }
}
