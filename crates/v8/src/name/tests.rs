//! Every layout of a name, row by row. Real names are in corpus/names.tsv.

use super::*;

/// symbol, kind, tier, function, script, line, column
type Row = (&'static str, CodeKind, Tier, &'static str, Option<&'static str>, u32, u32);

fn check(rows: &[Row]) {
    for (symbol, kind, tier, function, script, line, column) in rows {
        let expected = CodeName {
            kind: *kind,
            tier: *tier,
            function,
            script: *script,
            line: *line,
            column: *column,
        };
        assert_eq!(parse(symbol), Some(expected), "{symbol}");
    }
}

#[test]
fn tags_and_markers() {
    use CodeKind::{Eval, Function, Script};
    use Tier::{Ignition, Maglev, Sparkplug, Turbofan, Unmarked};
    check(&[
        ("JS:~f /a.js:3:5", Function, Ignition, "f", Some("/a.js"), 3, 5),
        ("JS:^f /a.js:3:5", Function, Sparkplug, "f", Some("/a.js"), 3, 5),
        ("JS:+f /a.js:3:5", Function, Maglev, "f", Some("/a.js"), 3, 5),
        ("JS:*f /a.js:3:5", Function, Turbofan, "f", Some("/a.js"), 3, 5),
        ("JS:+'f /a.js:3:5", Function, Maglev, "f", Some("/a.js"), 3, 5),
        ("JS:*'f /a.js:3:5", Function, Turbofan, "f", Some("/a.js"), 3, 5),
        ("JS:o+f /a.js:3:5", Function, Maglev, "f", Some("/a.js"), 3, 5),
        ("JS:o*f /a.js:3:5", Function, Turbofan, "f", Some("/a.js"), 3, 5),
        ("JS:o*'f /a.js:3:5", Function, Turbofan, "f", Some("/a.js"), 3, 5),
        ("JS:^'f' /a.js:3:5", Function, Sparkplug, "'f'", Some("/a.js"), 3, 5),
        ("JS:f /a.js:3:5", Function, Unmarked, "f", Some("/a.js"), 3, 5),
        ("JS:~of /a.js:3:5", Function, Ignition, "of", Some("/a.js"), 3, 5),
        ("JS:of /a.js:3:5", Function, Unmarked, "of", Some("/a.js"), 3, 5),
        ("LazyCompile:~f /a.js:3", Function, Ignition, "f", Some("/a.js"), 3, 0),
        ("LazyCompile:f /a.js:3", Function, Unmarked, "f", Some("/a.js"), 3, 0),
        ("LazyCompile:f", Function, Unmarked, "f", None, 0, 0),
        ("LazyCompile:", Function, Unmarked, "", None, 0, 0),
        ("Function:^f /a.js:3", Function, Sparkplug, "f", Some("/a.js"), 3, 0),
        ("InterpretedFunction:f /a.js:3", Function, Ignition, "f", Some("/a.js"), 3, 0),
        ("Script:~ /a.js:1:1", Script, Ignition, "", Some("/a.js"), 1, 1),
        ("Script:~f /a.js:3", Script, Ignition, "f", Some("/a.js"), 3, 0),
        ("Script:~/srv/my app/a.js", Script, Ignition, "", Some("/srv/my app/a.js"), 0, 0),
        ("Script:~vm.js", Script, Ignition, "", Some("vm.js"), 0, 0),
        ("Script:~native array.js", Script, Ignition, "", Some("native array.js"), 0, 0),
        ("Eval:~ /a.js:1:1", Eval, Ignition, "", Some("/a.js"), 1, 1),
        ("Eval:~ :1:1", Eval, Ignition, "", None, 1, 1),
        ("Eval:~", Eval, Ignition, "", None, 0, 0),
    ]);
}

#[test]
fn functions_and_scripts() {
    use CodeKind::Function;
    use Tier::Ignition;
    check(&[
        ("JS:~ /a.js:3:5", Function, Ignition, "", Some("/a.js"), 3, 5),
        ("JS:~ :3:5", Function, Ignition, "", None, 3, 5),
        ("JS:~f :3:5", Function, Ignition, "f", None, 3, 5),
        ("LazyCompile:~ :-1", Function, Ignition, "", None, 1, 0),
        ("JS:~/odd/f :3:5", Function, Ignition, "/odd/f", None, 3, 5),
        ("JS:~get size /a.js:3:5", Function, Ignition, "get size", Some("/a.js"), 3, 5),
        ("JS:~get node:net:3:5", Function, Ignition, "get", Some("node:net"), 3, 5),
        ("JS:~get #x :3:5", Function, Ignition, "get #x", None, 3, 5),
        (
            "JS:~<static_initializer> /a.js:3:5",
            Function,
            Ignition,
            "<static_initializer>",
            Some("/a.js"),
            3,
            5,
        ),
        ("JS:~a b c /my app/a b.js:3:5", Function, Ignition, "a b c", Some("/my app/a b.js"), 3, 5),
        (
            "JS:~GET /users /srv/my app/a.js:3:5",
            Function,
            Ignition,
            "GET /users",
            Some("/srv/my app/a.js"),
            3,
            5,
        ),
        ("JS:~o./odd/a.js:3 /a.js:3:5", Function, Ignition, "o./odd/a.js:3", Some("/a.js"), 3, 5),
        ("JS:~für /große/ä.js:3:5", Function, Ignition, "für", Some("/große/ä.js"), 3, 5),
        (
            "JS:~f file:///my%20app/x y.mjs:3:5",
            Function,
            Ignition,
            "f",
            Some("file:///my%20app/x y.mjs"),
            3,
            5,
        ),
        (
            "JS:~f webpack://shop/./src/a b.ts:3:5",
            Function,
            Ignition,
            "f",
            Some("webpack://shop/./src/a b.ts"),
            3,
            5,
        ),
        (
            "JS:~f https://esm.sh/lodash@4:3:5",
            Function,
            Ignition,
            "f",
            Some("https://esm.sh/lodash@4"),
            3,
            5,
        ),
        (
            "JS:~f data:text/javascript,1 + 1:3:5",
            Function,
            Ignition,
            "f",
            Some("data:text/javascript,1 + 1"),
            3,
            5,
        ),
        ("JS:~f C:\\my app\\a.js:3:5", Function, Ignition, "f", Some("C:\\my app\\a.js"), 3, 5),
        ("JS:~f C:/my app/a.js:3:5", Function, Ignition, "f", Some("C:/my app/a.js"), 3, 5),
        ("JS:~f \\\\share\\a.js:3:5", Function, Ignition, "f", Some("\\\\share\\a.js"), 3, 5),
        ("JS:~f node:internal/url:3:5", Function, Ignition, "f", Some("node:internal/url"), 3, 5),
        ("JS:~f events.js:3", Function, Ignition, "f", Some("events.js"), 3, 0),
        ("JS:~get size events.js:3", Function, Ignition, "get size", Some("events.js"), 3, 0),
        ("JS:~ events.js:3", Function, Ignition, "", Some("events.js"), 3, 0),
        ("JS:~f relative/path.js:3:5", Function, Ignition, "f", Some("relative/path.js"), 3, 5),
        ("JS:~f native array.js:3", Function, Ignition, "f", Some("native array.js"), 3, 0),
        ("JS:~ native array.js:3", Function, Ignition, "", Some("native array.js"), 3, 0),
        (
            "JS:~get global native regexp.js:3",
            Function,
            Ignition,
            "get global",
            Some("native regexp.js"),
            3,
            0,
        ),
        ("JS:~f [eval]:3:5", Function, Ignition, "f", Some("[eval]"), 3, 5),
        ("JS:~ [eval]-wrapper:3:5", Function, Ignition, "", Some("[eval]-wrapper"), 3, 5),
        ("JS:~f [worker eval]:3:5", Function, Ignition, "f", Some("[worker eval]"), 3, 5),
        (
            "JS:~get x [worker eval]-wrapper:3:5",
            Function,
            Ignition,
            "get x",
            Some("[worker eval]-wrapper"),
            3,
            5,
        ),
        (
            "JS:~f evalmachine.<anonymous>:3:5",
            Function,
            Ignition,
            "f",
            Some("evalmachine.<anonymous>"),
            3,
            5,
        ),
        ("JS:~f REPL7:3:5", Function, Ignition, "f", Some("REPL7"), 3, 5),
    ]);
}

#[test]
fn cut_names() {
    use CodeKind::{Function, Script};
    use Tier::{Ignition, Unmarked};
    check(&[
        ("JS:~f /a/b.js:3:", Function, Ignition, "f", Some("/a/b.js"), 3, 0),
        ("JS:~f /a/b.js:", Function, Ignition, "f", Some("/a/b.js"), 0, 0),
        ("JS:~f /a/b", Function, Ignition, "f", Some("/a/b"), 0, 0),
        ("JS:~f /", Function, Ignition, "f", Some("/"), 0, 0),
        ("JS:~f ", Function, Ignition, "f", None, 0, 0),
        ("JS:~f", Function, Ignition, "f", None, 0, 0),
        ("JS:", Function, Unmarked, "", None, 0, 0),
        ("Script:~f /a/b", Script, Ignition, "f", Some("/a/b"), 0, 0),
        ("JS:~f /a.js:3:99999999999", Function, Ignition, "f", Some("/a.js:3:99999999999"), 0, 0),
    ]);
}

#[test]
fn other_kinds() {
    use CodeKind::{Builtin, BytecodeHandler, Callback, Handler, InlineCache, Regexp, Stub, Wasm};
    use Tier::{Liftoff, Unmarked, WasmTurbofan};
    check(&[
        ("Builtin:ArrayMap", Builtin, Unmarked, "ArrayMap", None, 0, 0),
        (
            "Builtin:A builtin from the snapshot",
            Builtin,
            Unmarked,
            "A builtin from the snapshot",
            None,
            0,
            0,
        ),
        ("Builtins_ArrayMap", Builtin, Unmarked, "ArrayMap", None, 0, 0),
        ("Builtins_LdaZeroHandler", BytecodeHandler, Unmarked, "LdaZeroHandler", None, 0, 0),
        (
            "Builtins_AtomicsMutexAsyncUnlockRejectHandler",
            Builtin,
            Unmarked,
            "AtomicsMutexAsyncUnlockRejectHandler",
            None,
            0,
            0,
        ),
        ("BytecodeHandler:Add.ExtraWide", BytecodeHandler, Unmarked, "Add.ExtraWide", None, 0, 0),
        (
            "Stub:BinaryOpICStub(ADD:Smi*Smi->Smi)",
            Stub,
            Unmarked,
            "BinaryOpICStub(ADD:Smi*Smi->Smi)",
            None,
            0,
            0,
        ),
        (
            "Stub:CallICStub(args(4), METHOD, ",
            Stub,
            Unmarked,
            "CallICStub(args(4), METHOD, ",
            None,
            0,
            0,
        ),
        ("Stub:js-to-wasm:i:i", Stub, Unmarked, "js-to-wasm:i:i", None, 0, 0),
        (
            "Handler:symbol(\"x\" hash 1cb9da9b)",
            Handler,
            Unmarked,
            "symbol(\"x\" hash 1cb9da9b)",
            None,
            0,
            0,
        ),
        ("Callback:writev", Callback, Unmarked, "writev", None, 0, 0),
        ("KeyedLoadIC:", InlineCache, Unmarked, "", None, 0, 0),
        ("LoadIC:/odd/name.js:3", InlineCache, Unmarked, "/odd/name.js:3", None, 0, 0),
        ("StorePreMonomorphic:0", InlineCache, Unmarked, "0", None, 0, 0),
        ("RegExp:^foo (bar)+ [/]baz:3$", Regexp, Unmarked, "^foo (bar)+ [/]baz:3$", None, 0, 0),
        ("RegExp:*", Regexp, Unmarked, "*", None, 0, 0),
        ("RegExp: ^foo$", Regexp, Unmarked, "^foo$", None, 0, 0),
        ("RegExp.> src: '[&<>'\"]' flags: 'g'", Regexp, Unmarked, "[&<>'\"]", None, 0, 0),
        ("RegExp.< src: '^' flags: ''", Regexp, Unmarked, "^", None, 0, 0),
        ("RegExp.< src: 'cut", Regexp, Unmarked, "cut", None, 0, 0),
        ("RegExp.> src: a.b flags: g", Regexp, Unmarked, "a.b", None, 0, 0),
        ("JS:fib-3-liftoff", Wasm, Liftoff, "fib", None, 0, 0),
        ("JS:fib-3-turbofan", Wasm, WasmTurbofan, "fib", None, 0, 0),
        (
            "Function:wasm-function[3]-3-turbofan",
            Wasm,
            WasmTurbofan,
            "wasm-function[3]",
            None,
            0,
            0,
        ),
        ("JS:wasm-function[?]-<anonymous>-none", Wasm, Unmarked, "wasm-function[?]", None, 0, 0),
        (
            "JS:a b-7-liftoff wasm://wasm/m-8d2a",
            Wasm,
            Liftoff,
            "a b",
            Some("wasm://wasm/m-8d2a"),
            0,
            0,
        ),
        ("JS:wasm-to-js-<anonymous>-turbofan", Wasm, WasmTurbofan, "wasm-to-js", None, 0, 0),
        (
            "Function:WASM_function#0:module: (wasm):0",
            Wasm,
            WasmTurbofan,
            "WASM_function#0:module:",
            None,
            0,
            0,
        ),
    ]);
}

#[test]
fn native_symbols() {
    let symbols = [
        "",
        ":",
        "::",
        "JS",
        "main",
        "RegExp",
        "RegExp.prototype",
        "RegExp.> ",
        "v8::internal::Heap::Scavenge",
        "node::Start(int, char**)",
        "Handler::Run",
        "Script::Compile",
        "_ZN2v88internal4Heap8ScavengeEv",
        "foo /srv/a.js:3:5",
        "js:~foo /srv/a.js:3:5",
    ];
    for symbol in symbols {
        assert_eq!(parse(symbol), None, "{symbol}");
    }
}

#[test]
fn untagged_names() {
    type Parts = (&'static str, &'static str, u32, u32);
    let rows: &[(&str, Option<Parts>)] = &[
        ("f /a.js:3", Some(("f", "/a.js", 3, 0))),
        ("f /a.js:3:5", Some(("f", "/a.js", 3, 5))),
        ("*f /a.js:3:5", Some(("f", "/a.js", 3, 5))),
        ("f (/a.js:3:5)", Some(("f", "/a.js", 3, 5))),
        ("f (/(group)/a.js:3:5)", Some(("f", "/(group)/a.js", 3, 5))),
        ("(anonymous) (file:///a:3:5)", Some(("(anonymous)", "file:///a", 3, 5))),
        ("/a.js:3:5", Some(("", "/a.js", 3, 5))),
        ("node:fs:3:5", Some(("", "node:fs", 3, 5))),
        ("f events.js:3", Some(("f", "events.js", 3, 0))),
        ("f /a.js", None),
        ("f /a.c:3", None),
        ("f a:3", None),
        ("f", None),
        ("", None),
        (")", None),
        (" ()", None),
    ];
    for (text, expected) in rows {
        let parts = parse_untagged(text);
        let read = parts
            .map(|name| (name.function, name.script.unwrap_or_default(), name.line, name.column));
        assert_eq!(read, *expected, "{text}");
    }
}
