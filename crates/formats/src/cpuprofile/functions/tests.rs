//! Which function a line belongs to, in small scripts whose functions are listed as V8 lists them.

use super::*;

const A: &str = "file:///srv/a.js";
const B: &str = "file:///srv/b.js";

/// Line 2 is `cook`, 5 to 8 `serve` with a callback in 6 and 7, 9 and 10 `other`.
const TEXT_A: &str = "// é🦀
function cook(n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s; }

const { far } = require('./b.js');
function serve(list) {
  return list.map((one) => {
    return cook(one) + far(one);
  });
}
function other(one) {
  return one + 1; }
";
const TEXT_B: &str = "



exports.far = function far(one) { return near(one);
};

function near(one) {


  return one * 2;
}
function last() { return 1; } function first() { return 2; }
";

fn range(text: &str, name: &str, part: &str) -> String {
    let units = |text: &str| text.encode_utf16().count();
    let start = text.find(part).map_or(0, |at| units(&text[..at]));
    let end = start + units(part);
    format!(
        r#"{{"functionName":"{name}","ranges":[{{"startOffset":{start},"endOffset":{end},"count":1}}],"isBlockCoverage":false}}"#
    )
}

fn part<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).expect("it begins");
    let end = start + text[start..].find(to).expect("it ends") + to.len();
    &text[start..end]
}

fn coverage() -> String {
    let a = [
        range(TEXT_A, "cook", part(TEXT_A, "function cook", "return s; }")),
        range(TEXT_A, "serve", part(TEXT_A, "function serve", "});\n}")),
        range(TEXT_A, "", part(TEXT_A, "(one) => {", "  }")),
        range(TEXT_A, "other", part(TEXT_A, "function other", "+ 1; }")),
    ];
    let b = [
        range(TEXT_B, "far", part(TEXT_B, "function far", "\n}")),
        range(TEXT_B, "near", part(TEXT_B, "function near", "* 2;\n}")),
        range(TEXT_B, "last", part(TEXT_B, "function last", "1; }")),
        range(TEXT_B, "first", part(TEXT_B, "function first", "2; }")),
    ];
    format!(
        r#"[{{"scriptId":"1","url":"{A}","functions":[{}]}},{{"scriptId":"2","url":"{B}","functions":[{}]}}]"#,
        a.join(","),
        b.join(",")
    )
}

fn call(url: &'static str, name: &'static str, line: u32, column: u32) -> Call<'static> {
    Call { name: Text(Cow::Borrowed(name)), url: Text(Cow::Borrowed(url)), line, column }
}

fn text_of(url: &str) -> Option<String> {
    match url {
        A => Some(TEXT_A.to_owned()),
        B => Some(TEXT_B.to_owned()),
        _ => None,
    }
}

fn owner(call: &Call<'_>, line: u32) -> Owner {
    let mut functions = Functions::default();
    assert_eq!(functions.note(&coverage()), None);
    functions.owner(call, line, &mut text_of)
}

#[test]
fn lines_of_a_function_are_its_own() {
    let serve = call(A, "serve", 5, 15);
    assert_eq!(owner(&serve, 5), Owner::Itself);
    assert_eq!(
        owner(&serve, 6),
        Owner::Itself,
        "the callback's parameters are there, not its code"
    );
    assert_eq!(owner(&serve, 9), Owner::Itself);
    assert_eq!(owner(&call(A, "", 1, 1), 4), Owner::Itself, "outside of all functions");
    assert_eq!(owner(&call("node:internal/timers", "run", 5, 1), 7), Owner::Itself);
}

#[test]
fn what_was_inlined_owns_its_lines() {
    let serve = call(A, "serve", 5, 15);
    assert_eq!(
        owner(&serve, 2),
        Owner::Inlined(call(A, "cook", 2, 14)),
        "it is named in the callback"
    );
    assert_eq!(owner(&serve, 7), Owner::Inlined(call(A, "", 6, 19)), "it is inside");
    assert_eq!(owner(&serve, 8), Owner::Inlined(call(A, "", 6, 19)), "its last bracket");
    // In another script, through another function, which has no code there.
    assert_eq!(owner(&serve, 11), Owner::Uncertain, "other() of the same script is there, too");
    let callback = call(A, "", 6, 19);
    assert_eq!(owner(&callback, 2), Owner::Inlined(call(A, "cook", 2, 14)));
    assert_eq!(owner(&call(B, "far", 5, 27), 11), Owner::Inlined(call(B, "near", 8, 14)));
}

#[test]
fn what_is_not_certain_is_reported() {
    let serve = call(A, "serve", 5, 15);
    assert_eq!(
        owner(&serve, 10),
        Owner::Uncertain,
        "no call names other(): it may be called through a variable"
    );
    assert_eq!(owner(&serve, 3), Owner::Uncertain, "nothing is there");
    assert_eq!(owner(&serve, 700), Owner::Uncertain);
    assert_eq!(owner(&call(B, "last", 13, 14), 13), Owner::Uncertain, "two functions on one line");
    assert_eq!(owner(&call("node:internal/timers", "run", 5, 1), 4), Owner::Uncertain);
}

#[test]
fn what_is_not_known_is_reported() {
    let elsewhere = call("file:///srv/c.js", "c", 5, 1);
    assert_eq!(owner(&elsewhere, 7), Owner::Unchecked);
    assert_eq!(owner(&elsewhere, 4), Owner::Uncertain, "before its beginning");
    let mut functions = Functions::default();
    assert_eq!(functions.note(&coverage()), None);
    let mut other_text = |_: &str| Some(TEXT_A.replace("// é🦀", "// another text"));
    assert_eq!(functions.owner(&call(A, "serve", 5, 15), 7, &mut other_text), Owner::Unchecked);
    assert!(!functions.take_lack(), "it is in the list");
    assert_eq!(functions.owner(&elsewhere, 7, &mut text_of), Owner::Unchecked);
    assert!(functions.take_lack() && !functions.take_lack());
    assert!(functions.note("[{]").is_some());
}

#[test]
fn lists_of_several_threads_are_one() {
    let mut functions = Functions::default();
    let list = |function: String| format!(r#"[{{"url":"{A}","functions":[{function}]}}]"#);
    let cook = list(range(TEXT_A, "cook", part(TEXT_A, "function cook", "return s; }")));
    let serve = list(range(TEXT_A, "serve", part(TEXT_A, "function serve", "});\n}")));
    assert_eq!(functions.note(&serve), None);
    let caller = call(A, "serve", 5, 15);
    assert_eq!(functions.owner(&caller, 2, &mut text_of), Owner::Uncertain);
    assert_eq!(functions.note(&cook), None);
    assert_eq!(functions.owner(&caller, 2, &mut text_of), Owner::Inlined(call(A, "cook", 2, 14)));
}

#[test]
fn what_was_seen_to_call_may_have_inlined() {
    let mut functions = Functions::default();
    assert_eq!(functions.note(&coverage()), None);
    let (serve, other) = (call(A, "serve", 5, 15), call(A, "other", 10, 15));
    let internal = call("node:internal/timers", "run", 431, 28);
    assert_eq!(functions.owner(&serve, 11, &mut text_of), Owner::Uncertain);
    assert_eq!(functions.owner(&internal, 2, &mut text_of), Owner::Uncertain);
    functions.note_call(&serve, &other, &mut text_of);
    assert_eq!(
        functions.owner(&serve, 10, &mut text_of),
        Owner::Uncertain,
        "its parameters are there alone"
    );
    functions.note_call(&internal, &serve, &mut text_of);
    // Through serve(), which is not in the stack.
    assert_eq!(functions.owner(&internal, 2, &mut text_of), Owner::Inlined(call(A, "cook", 2, 14)));
    assert_eq!(functions.owner(&internal, 440, &mut text_of), Owner::Itself);
    let early = call("node:internal/timers", "early", 1, 28);
    functions.note_call(&early, &serve, &mut text_of);
    assert_eq!(
        functions.owner(&early, 2, &mut text_of),
        Owner::Uncertain,
        "it may be its own second line"
    );
}

#[test]
fn a_line_that_calls_a_loop_may_hide_it() {
    let mut functions = Functions::default();
    assert_eq!(functions.note(&coverage()), None);
    let mut may_hide = |call: &Call<'_>, line: u32| functions.may_hide(call, line, &mut text_of);
    assert!(may_hide(&call(A, "", 6, 19), 7), "cook() has a loop");
    assert!(!may_hide(&call(A, "serve", 5, 15), 6));
    assert!(!may_hide(&call(B, "far", 5, 27), 5), "near() has none");
    assert!(may_hide(&call(A, "serve", 5, 15), 5), "no line is known, and it calls others");
    assert!(!may_hide(&call(B, "near", 8, 14), 8), "it calls nothing");
    assert!(may_hide(&call("node:internal/timers", "listOnTimeout", 623, 25), 685));
    assert!(!may_hide(&call("node:internal/timers", "insert", 23, 25), 30));
}
