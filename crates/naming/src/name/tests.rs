//! What a person reads, row by row. Real names are in corpus/names.tsv.

use super::*;

const MAP: Option<&str> = Some("/tmp/perf-4140.map");
const NODE: Option<&str> = Some("/usr/bin/node");

/// symbol, module, then what a person reads.
type Row = (
    &'static str,
    Option<&'static str>,
    &'static str,
    Option<&'static str>,
    u32,
    u32,
    Tier,
    Category,
);

fn check(rows: &[Row]) {
    for (symbol, module, function, source, line, column, tier, category) in rows {
        let named = name(symbol, *module);
        let read =
            (&*named.function, named.source, named.line, named.column, named.tier, named.category);
        assert_eq!(
            read,
            (*function, *source, *line, *column, *tier, *category),
            "{symbol} {module:?}"
        );
    }
}

#[test]
fn javascript() {
    check(&[
        (
            "JS:*foo /srv/a.js:3:5",
            MAP,
            "foo",
            Some("/srv/a.js"),
            3,
            5,
            Tier::Turbofan,
            Category::App,
        ),
        (
            "JS:~ /srv/a.js:3:5",
            MAP,
            "(anonymous)",
            Some("/srv/a.js"),
            3,
            5,
            Tier::Ignition,
            Category::App,
        ),
        (
            "JS:~ /srv/a.js:1:1",
            MAP,
            "(top level)",
            Some("/srv/a.js"),
            1,
            1,
            Tier::Ignition,
            Category::App,
        ),
        (
            "Function:~ /srv/a.js:1",
            MAP,
            "(anonymous)",
            Some("/srv/a.js"),
            1,
            0,
            Tier::Ignition,
            Category::App,
        ),
        (
            "Eval:~ /srv/a.js:1",
            MAP,
            "(top level)",
            Some("/srv/a.js"),
            1,
            0,
            Tier::Ignition,
            Category::App,
        ),
        (
            "Script:~/srv/a.js",
            MAP,
            "(top level)",
            Some("/srv/a.js"),
            0,
            0,
            Tier::Ignition,
            Category::App,
        ),
        (
            "Script:~vm.js",
            MAP,
            "(top level)",
            Some("vm.js"),
            0,
            0,
            Tier::Ignition,
            Category::NodeCore,
        ),
        (
            "Eval:~",
            MAP,
            "(eval)",
            Some("(generated code)"),
            0,
            0,
            Tier::Ignition,
            Category::Unknown,
        ),
        (
            "Eval:~ :1:1",
            MAP,
            "(eval)",
            Some("(generated code)"),
            1,
            1,
            Tier::Ignition,
            Category::Unknown,
        ),
        (
            "JS:+ :1:1",
            MAP,
            "(eval)",
            Some("(generated code)"),
            1,
            1,
            Tier::Maglev,
            Category::Unknown,
        ),
        ("JS:+f :1:17", MAP, "f", Some("(generated code)"), 1, 17, Tier::Maglev, Category::Unknown),
        (
            "JS:^emit node:events:471:44",
            MAP,
            "emit",
            Some("node:events"),
            471,
            44,
            Tier::Sparkplug,
            Category::NodeCore,
        ),
        (
            "LazyCompile:*get native collection.js:239",
            MAP,
            "get",
            Some("native collection.js"),
            239,
            0,
            Tier::Turbofan,
            Category::Builtin,
        ),
        ("LazyCompile:setMonth", MAP, "setMonth", None, 0, 0, Tier::Unmarked, Category::Builtin),
        ("LazyCompile:", MAP, "(anonymous)", None, 0, 0, Tier::Unmarked, Category::Builtin),
    ]);
}

#[test]
fn other_generated_code() {
    check(&[
        ("Builtin:ArrayMap", MAP, "ArrayMap", None, 0, 0, Tier::None, Category::Builtin),
        ("Builtins_ArrayMap", NODE, "ArrayMap", None, 0, 0, Tier::None, Category::Builtin),
        ("Builtins_RegExpReplace", NODE, "RegExpReplace", None, 0, 0, Tier::None, Category::Regexp),
        (
            "Builtins_AddWideHandler",
            NODE,
            "AddWideHandler",
            None,
            0,
            0,
            Tier::None,
            Category::Builtin,
        ),
        (
            "BytecodeHandler:Add.Wide",
            MAP,
            "AddWideHandler",
            None,
            0,
            0,
            Tier::None,
            Category::Builtin,
        ),
        ("BytecodeHandler:Add", MAP, "AddHandler", None, 0, 0, Tier::None, Category::Builtin),
        ("Stub:CEntryStub", MAP, "Stub:CEntryStub", None, 0, 0, Tier::None, Category::Builtin),
        (
            "Stub:RegExpExecStub",
            MAP,
            "Stub:RegExpExecStub",
            None,
            0,
            0,
            Tier::None,
            Category::Regexp,
        ),
        ("Handler:RegExp", MAP, "Handler:RegExp", None, 0, 0, Tier::None, Category::Builtin),
        ("KeyedLoadIC:", MAP, "KeyedLoadIC:", None, 0, 0, Tier::None, Category::Builtin),
        ("Callback:writev", MAP, "writev", None, 0, 0, Tier::None, Category::NodeCore),
        ("RegExp:a(.)/b", MAP, "/a(.)/b/", None, 0, 0, Tier::None, Category::Regexp),
        (
            "RegExp.> src: 'a(.)' flags: 'g'",
            MAP,
            "/a(.)/",
            None,
            0,
            0,
            Tier::None,
            Category::Regexp,
        ),
        ("JS:fib-3-turbofan", MAP, "fib", None, 0, 0, Tier::WasmTurbofan, Category::Wasm),
        (
            "JS:+__append (generated by ejs):8:20",
            MAP,
            "__append",
            Some("(generated by ejs)"),
            8,
            20,
            Tier::Maglev,
            Category::Dependency,
        ),
        (
            "JS:~ (generated by /srv/my app/views.js):1:1",
            MAP,
            "(eval)",
            Some("(generated by /srv/my app/views.js)"),
            1,
            1,
            Tier::Ignition,
            Category::App,
        ),
        (
            "JS:spin-1-turbofan wasm://wasm/shapes-8d2a",
            MAP,
            "spin",
            Some("wasm://wasm/shapes-8d2a"),
            0,
            0,
            Tier::WasmTurbofan,
            Category::Wasm,
        ),
        (
            "JS:wasm-function[3]-3-liftoff",
            MAP,
            "wasm-function[3]",
            None,
            0,
            0,
            Tier::Liftoff,
            Category::Wasm,
        ),
    ]);
}

#[test]
fn native() {
    check(&[
        ("uv_run", NODE, "uv_run", None, 0, 0, Tier::None, Category::Libuv),
        ("[unknown]", NODE, "[node]", None, 0, 0, Tier::None, Category::Unknown),
        (
            "[unknown]",
            Some("/usr/bin/node (deleted)"),
            "[node]",
            None,
            0,
            0,
            Tier::None,
            Category::Unknown,
        ),
        (
            "[unknown]",
            Some("/usr/lib/libfoo.so.1"),
            "[libfoo.so.1]",
            None,
            0,
            0,
            Tier::None,
            Category::System,
        ),
        (
            "[unknown]",
            Some("[kernel.kallsyms]"),
            "[kernel.kallsyms]",
            None,
            0,
            0,
            Tier::None,
            Category::Kernel,
        ),
        ("[unknown]", MAP, "[JIT]", None, 0, 0, Tier::None, Category::Unknown),
        ("[unknown]", Some("//anon"), "[JIT]", None, 0, 0, Tier::None, Category::Unknown),
        ("[unknown]", Some("[heap]"), "[heap]", None, 0, 0, Tier::None, Category::Unknown),
        ("[unknown]", Some("[unknown]"), "[unknown]", None, 0, 0, Tier::None, Category::Unknown),
        (
            "0x7f3a2b",
            Some("/usr/lib/libfoo.so.1"),
            "[libfoo.so.1]",
            None,
            0,
            0,
            Tier::None,
            Category::System,
        ),
        // A slash and a number do not make a native symbol JavaScript.
        ("foo /srv/x.js:12", NODE, "foo /srv/x.js:12", None, 0, 0, Tier::None, Category::NodeCore),
    ]);
}

#[test]
fn folded_stacks() {
    check(&[
        ("node", None, "node", None, 0, 0, Tier::None, Category::NodeCore),
        ("tcp_sendmsg_[k]", None, "tcp_sendmsg", None, 0, 0, Tier::None, Category::Kernel),
        ("cpuidle_enter_[k]", None, "cpuidle_enter", None, 0, 0, Tier::None, Category::Idle),
        ("[unknown]_[k]", None, "[kernel.kallsyms]", None, 0, 0, Tier::None, Category::Kernel),
        (
            "JS:*foo /srv/a.js:3:5_[j]",
            None,
            "foo",
            Some("/srv/a.js"),
            3,
            5,
            Tier::Turbofan,
            Category::App,
        ),
        ("Builtin:ArrayMap_[j]", None, "ArrayMap", None, 0, 0, Tier::None, Category::Builtin),
        ("lambda_1_[j]", None, "lambda_1", None, 0, 0, Tier::None, Category::Unknown),
        ("uv__read_[i]", None, "uv__read", None, 0, 0, Tier::None, Category::Libuv),
        (
            "v8::internal::Heap::Scavenge",
            None,
            "v8::internal::Heap::Scavenge",
            None,
            0,
            0,
            Tier::None,
            Category::Gc,
        ),
        ("[unknown]", None, "[unknown]", None, 0, 0, Tier::None, Category::Unknown),
        ("0x7f3a2b", None, "[unknown]", None, 0, 0, Tier::None, Category::Unknown),
        ("[libc.so.6]", None, "[libc.so.6]", None, 0, 0, Tier::None, Category::System),
        ("[node]", None, "[node]", None, 0, 0, Tier::None, Category::Unknown),
        ("[perf-4140.map]", None, "[JIT]", None, 0, 0, Tier::None, Category::Unknown),
        (
            "[[kernel.kallsyms]]",
            None,
            "[kernel.kallsyms]",
            None,
            0,
            0,
            Tier::None,
            Category::Kernel,
        ),
        ("[kernel.kallsyms]", None, "[kernel.kallsyms]", None, 0, 0, Tier::None, Category::Kernel),
        (
            "foo /srv/app/x.js:12",
            None,
            "foo",
            Some("/srv/app/x.js"),
            12,
            0,
            Tier::Unmarked,
            Category::App,
        ),
        (
            "*foo /srv/app/x.js:12:3",
            None,
            "foo",
            Some("/srv/app/x.js"),
            12,
            3,
            Tier::Turbofan,
            Category::App,
        ),
        (
            "foo (file:///x.mjs:1:2)",
            None,
            "foo",
            Some("file:///x.mjs"),
            1,
            2,
            Tier::Unmarked,
            Category::App,
        ),
        (
            "next (/srv/(group)/x.js:1:2)",
            None,
            "next",
            Some("/srv/(group)/x.js"),
            1,
            2,
            Tier::Unmarked,
            Category::App,
        ),
        (
            "(anonymous) (/srv/x.ts:7:2)",
            None,
            "(anonymous)",
            Some("/srv/x.ts"),
            7,
            2,
            Tier::Unmarked,
            Category::App,
        ),
        (
            "emit node:events:471:44",
            None,
            "emit",
            Some("node:events"),
            471,
            44,
            Tier::Unmarked,
            Category::NodeCore,
        ),
        (
            "emit events.js:178",
            None,
            "emit",
            Some("events.js"),
            178,
            0,
            Tier::Unmarked,
            Category::NodeCore,
        ),
        (
            "emit (events.js:178:5)",
            None,
            "emit",
            Some("events.js"),
            178,
            5,
            Tier::Unmarked,
            Category::NodeCore,
        ),
        (
            "inlined /usr/src/x.c:12",
            None,
            "inlined /usr/src/x.c:12",
            None,
            0,
            0,
            Tier::None,
            Category::Unknown,
        ),
        ("(garbage collector)", None, "(garbage collector)", None, 0, 0, Tier::None, Category::Gc),
        ("(idle)", None, "(idle)", None, 0, 0, Tier::None, Category::Idle),
    ]);
}

#[test]
fn packages() {
    let rows: &[(&str, Option<&str>, Option<&str>)] = &[
        ("JS:*foo /srv/node_modules/@acme/pad/a.js:3:5", MAP, Some("@acme/pad")),
        ("JS:*foo /srv/a.js:3:5", MAP, None),
        ("Encrypt", Some("/srv/node_modules/bcrypt/lib/bcrypt_lib.node"), Some("bcrypt")),
        ("[unknown]", Some("/srv/node_modules/bcrypt/lib/bcrypt_lib.node"), Some("bcrypt")),
    ];
    for (symbol, module, package) in rows {
        assert_eq!(name(symbol, *module).package, *package, "{symbol}");
    }
}

#[test]
fn call_frames() {
    let rows: &[(&str, &str, u32, u32, &str, Tier, Category)] = &[
        ("foo", "file:///srv/a.mjs", 3, 5, "foo", Tier::Turbofan, Category::App),
        ("", "file:///srv/a.mjs", 3, 5, "(anonymous)", Tier::Turbofan, Category::App),
        ("", "/srv/a.js", 1, 1, "(top level)", Tier::Turbofan, Category::App),
        ("", "", 1, 1, "(eval)", Tier::Turbofan, Category::Unknown),
        ("emit", "node:events", 471, 44, "emit", Tier::Turbofan, Category::NodeCore),
        ("writev", "", 0, 0, "writev", Tier::None, Category::NodeCore),
        ("RegExp: ^a$", "", 0, 0, "/^a$/", Tier::None, Category::Regexp),
        // Code from `eval` may be called anything.
        ("RegExp: ^a$", "", 3, 5, "RegExp: ^a$", Tier::Turbofan, Category::Unknown),
        ("(idle)", "", 3, 5, "(idle)", Tier::Turbofan, Category::Unknown),
        ("(program)", "", 0, 0, "(program)", Tier::None, Category::Unknown),
        ("(program)", "/srv/a.js", 3, 5, "(program)", Tier::Turbofan, Category::App),
        ("(garbage collector)", "", 0, 0, "(garbage collector)", Tier::None, Category::Gc),
    ];
    for (function, source, line, column, name, tier, category) in rows {
        let named = name_call_frame(function, source, *line, *column, Tier::Turbofan);
        assert_eq!(
            (&*named.function, named.tier, named.category),
            (*name, *tier, *category),
            "{function}"
        );
    }
}
