//! What is encoded comes back as it was, and nothing else does.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

const STRANGE: [&str; 8] = [
    "",
    "handle",
    "my tenant script.js",
    "with \"quotes\" (and brackets):1:2",
    "JS:*other /srv/other.js:3:4",
    "line\nend\0 and zero",
    "計算 😀",
    "a-1-liftoff",
];

fn function<'a>(name: &'a str, script: Option<&'a str>) -> Function<'a> {
    let script = script.map(str::as_bytes);
    Function {
        name: name.as_bytes(),
        script,
        generator: None,
        line: 7,
        column: 8,
        kind: FunctionKind::JavaScript,
    }
}

fn frame(function: Option<Function<'_>>) -> JavaScript<'_> {
    let name = FrameName::Function { row: 5, tier: Tier::Maglev, function };
    JavaScript { row: 6, name, line: 1, column: 2, inlined: true }
}

/// Through parts, as a recording has them.
fn through_parts(bytes: &[u8]) -> Vec<u8> {
    let mut joined = Parts::default();
    let mut whole: Vec<Vec<u8>> = Vec::new();
    for (marks, part) in parts(bytes) {
        assert!(part.len() < 60 << 10, "a record has 64 KiB");
        whole.extend(joined.take(marks, part).map(<[u8]>::to_vec));
    }
    assert_eq!(whole.len(), 1);
    whole.pop().unwrap()
}

#[test]
fn every_text_comes_back_as_it_was() {
    let long = "長".repeat(64 << 10);
    for name in STRANGE.into_iter().chain([long.as_str()]) {
        for script in STRANGE.into_iter().chain([long.as_str()]) {
            let generator = Some(long.as_bytes());
            let function = Function { generator, ..function(name, Some(script)) };
            let frame = frame(Some(function));
            assert_eq!(decode(&through_parts(&encode(&frame))), Some(frame));
        }
    }
}

#[test]
fn every_kind_and_tier_comes_back() {
    use FunctionKind::{JavaScript, JsToWasm, Regexp, Wasm, WasmToJs};
    let wasm = [Wasm { index: None }, Wasm { index: Some(3) }, WasmToJs, JsToWasm];
    for kind in wasm.into_iter().chain([JavaScript, Regexp]) {
        for tier in TIERS {
            let function = Some(Function { kind, ..function("f", None) });
            let name = FrameName::Function { row: 0, tier, function };
            let frame = super::JavaScript { row: 1, name, line: 0, column: 0, inlined: false };
            assert_eq!(decode(&encode(&frame)), Some(frame));
        }
    }
    let known = frame(None);
    assert_eq!(decode(&encode(&known)), Some(known));
    let call = super::JavaScript { name: FrameName::Symbol(b"epoll_wait"), ..known };
    assert!(encode(&call).is_empty(), "a name without parts has a record of its own");
}

#[test]
fn what_is_cut_off_is_nothing() {
    let bytes = encode(&frame(Some(function("handle", Some("/srv/app.js")))));
    for end in 0..bytes.len() {
        assert_eq!(decode(&bytes[..end]), None, "cut at {end}");
    }
}

#[test]
fn lengths_and_numbers_that_cannot_be_are_refused() {
    let bytes = encode(&frame(Some(function("handle", None))));
    let (tier, kind, length) = (16, 18, 31);
    assert_eq!(bytes[length..length + 4], 6u32.to_le_bytes());
    for (at, value) in
        [(tier, 7u8), (tier, 255), (kind, 5), (kind, 255), (length + 1, 1), (length + 3, 0x7f)]
    {
        let mut damaged = bytes.clone();
        damaged[at] = value;
        assert_eq!(decode(&damaged), None, "{value} at {at}");
    }
    let mut nameless = bytes;
    nameless[length..length + 4].copy_from_slice(&NONE.to_le_bytes());
    assert_eq!(decode(&nameless), None, "a function has a name, be it empty");
}

#[test]
fn texts_beyond_the_limit_are_cut() {
    let long = "x".repeat(1 << 20);
    let bytes = encode(&frame(Some(Function {
        generator: Some(long.as_bytes()),
        ..function(&long, Some(&long))
    })));
    assert!(bytes.len() < MOST_BYTES);
    let joined = through_parts(&bytes);
    let FrameName::Function { function: Some(function), .. } = decode(&joined).unwrap().name else {
        panic!("it has its function");
    };
    assert_eq!(function.name.len(), LONGEST_TEXT);
}

#[test]
fn parts_without_their_beginning_are_nothing() {
    let mut joined = Parts::default();
    assert_eq!(joined.take(0, b"middle"), None);
    assert_eq!(joined.take(LAST, b"end"), None);
    assert_eq!(joined.take(FIRST, b"lost, because another one begins"), None);
    assert_eq!(joined.take(FIRST, b"ab"), None);
    assert_eq!(joined.take(LAST, b"c"), Some(&b"abc"[..]));
    assert_eq!(joined.take(LAST, b"d"), None);
    assert_eq!(joined.take(FIRST, &[0; 1 << 20]), None);
    assert_eq!(joined.take(LAST, b"too much"), None);
    assert_eq!(joined.take(FIRST | LAST, b"e"), Some(&b"e"[..]));
}
