//! From a symbol as a tool wrote it to what a person wants to read: function, source, position, tier,
//! category and package. Joins what [`v8::name`] takes apart with what [`profile::classify`] knows; it
//! keeps no rule of its own about either. The symbol as written is the frame's, not this module's.

use profile::category::{Category, Tier};
use profile::classify::{Code, CodeKind, Home, classify, home_of, is_meta, is_unknown};
use std::borrow::Cow;
use v8::name::{self as v8_name, CodeName};

/// A symbol, as a person wants to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The function, without V8's tag and marker.
    pub function: Cow<'a, str>,
    /// The script's path or URL.
    pub source: Option<&'a str>,
    /// The function's line, from 1; 0 unknown.
    pub line: u32,
    /// The function's column, from 1; 0 unknown.
    pub column: u32,
    /// What compiled it; [`Tier::None`] for what is not JavaScript or WebAssembly.
    pub tier: Tier,
    /// Where it belongs.
    pub category: Category,
    /// Its npm package.
    pub package: Option<&'a str>,
}

/// The function's name when it has none.
pub const ANONYMOUS: &str = "(anonymous)";

/// The code of a script or module outside its functions.
pub const TOP_LEVEL: &str = "(top level)";

/// The code of an `eval` outside its functions.
pub const EVAL: &str = "(eval)";

/// Code that was generated at run time and has no name.
pub const GENERATED: &str = "[JIT]";

/// Names a symbol, which may be unknown, in a module. A frame of a folded stack has no module; an annotation
/// at its end (`_[k]`) says what it can.
pub fn name<'a>(symbol: &'a str, module: Option<&'a str>) -> Named<'a> {
    if module.is_some() {
        return name_in(symbol, module);
    }
    let (symbol, module) = split_annotation(symbol);
    match symbol.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inside) if module.is_none() => name_bracketed(symbol, inside),
        _ => name_in(symbol, module),
    }
}

/// Names a function by its parts, as a .cpuprofile and a --prof log have them. `source` is empty and `line`
/// is 0 where there is none.
pub fn name_call_frame<'a>(
    function: &'a str,
    source: &'a str,
    line: u32,
    column: u32,
    tier: Tier,
) -> Named<'a> {
    let source = (!source.is_empty()).then_some(source);
    let kind = match (source, line) {
        (None, 0) if is_meta(function) => CodeKind::Meta,
        (None, 0) => CodeKind::Binding,
        _ => CodeKind::JavaScript,
    };
    let tier = if kind == CodeKind::JavaScript { tier } else { Tier::None };
    let name = readable(function, source, starts_script(line, column));
    Named { source, line, column, tier, ..classified(kind, Cow::Borrowed(name), function, source) }
}

fn name_in<'a>(symbol: &'a str, module: Option<&'a str>) -> Named<'a> {
    if let Some(parts) = v8_name::parse(symbol) {
        return name_generated(symbol, &parts);
    }
    let home = module.map_or(Home::Nowhere, home_of);
    if matches!(home, Home::Nowhere | Home::Generated) {
        if let Some(parts) = v8_name::parse_untagged(symbol) {
            return name_generated(symbol, &parts);
        }
        if is_meta(symbol) {
            return classified(CodeKind::Meta, Cow::Borrowed(symbol), symbol, None);
        }
    }
    name_native(symbol, module, home)
}

/// What stackcollapse-perf.pl appends to a name, and the module that it stands for.
const ANNOTATIONS: &[(&str, Option<&str>)] = &[
    ("_[k]", Some("[kernel.kallsyms]")),
    ("_[j]", Some(GENERATED)),
    ("_[i]", None), // inlined
    ("_[w]", None), // on a waker's stack
];

fn split_annotation(symbol: &str) -> (&str, Option<&'static str>) {
    let annotated =
        ANNOTATIONS.iter().find_map(|(ending, module)| Some((symbol.strip_suffix(ending)?, *module)));
    annotated.unwrap_or((symbol, None))
}

/// `[libc.so.6]` is what stackcollapse-perf.pl writes for an unknown function of that library; `[heap]` and
/// its like are the kernel's own words.
fn name_bracketed<'a>(symbol: &'a str, inside: &'a str) -> Named<'a> {
    let is_file =
        home_of(symbol) == Home::Kernel && !KERNEL_IMAGES.iter().any(|start| inside.starts_with(start));
    let module = if is_file { inside } else { symbol };
    name_in(UNKNOWN, Some(module))
}

/// How the kernel's own images are called between brackets.
const KERNEL_IMAGES: &[&str] = &["kernel.", "guest.kernel.", "bpf"];

const UNKNOWN: &str = "[unknown]";

fn name_native<'a>(symbol: &'a str, module: Option<&'a str>, home: Home) -> Named<'a> {
    let class = classify(&Code { kind: CodeKind::Native, name: symbol, source: None, module });
    let function = if is_unknown(symbol) { unknown_in(module, home) } else { Cow::Borrowed(symbol) };
    Named {
        function,
        source: None,
        line: 0,
        column: 0,
        tier: Tier::None,
        category: class.category,
        package: class.package,
    }
}

/// What stands for all the unknown functions of a module.
fn unknown_in<'a>(module: Option<&'a str>, home: Home) -> Cow<'a, str> {
    match (home, module) {
        (Home::Generated, _) => Cow::Borrowed(GENERATED),
        (_, Some(module)) if module.starts_with('[') => Cow::Borrowed(module),
        (Home::Nowhere, _) | (_, None) => Cow::Borrowed(UNKNOWN),
        (_, Some(module)) => {
            let file = module.rsplit(['/', '\\']).next().unwrap_or(module);
            Cow::Owned(format!("[{file}]"))
        }
    }
}

fn name_generated<'a>(symbol: &'a str, parts: &CodeName<'a>) -> Named<'a> {
    let name = parts.function;
    let whole = Cow::Borrowed(symbol);
    let function = if name.is_empty() { whole.clone() } else { Cow::Borrowed(name) };
    match parts.kind {
        v8_name::CodeKind::Function => name_function(parts),
        v8_name::CodeKind::Script | v8_name::CodeKind::Eval => name_top_level(parts),
        v8_name::CodeKind::Builtin => classified(CodeKind::Builtin, function, name, None),
        v8_name::CodeKind::BytecodeHandler => classified(CodeKind::Builtin, bytecode_handler(name), "", None),
        // Named after a stub or a property: without the tag nobody would know.
        v8_name::CodeKind::Stub => classified(CodeKind::Builtin, whole, name, None),
        v8_name::CodeKind::Handler | v8_name::CodeKind::InlineCache => {
            classified(CodeKind::Builtin, whole, "", None)
        }
        v8_name::CodeKind::Callback => classified(CodeKind::Binding, function, name, None),
        v8_name::CodeKind::Regexp => {
            classified(CodeKind::Regexp, Cow::Owned(format!("/{name}/")), name, None)
        }
        v8_name::CodeKind::Wasm => Named {
            tier: tier_of(parts.tier, Tier::None),
            ..classified(CodeKind::Wasm, function, name, None)
        },
    }
}

fn name_function<'a>(parts: &CodeName<'a>) -> Named<'a> {
    let CodeName { function, script, line, column, .. } = *parts;
    // V8 compiles a few functions that belong to no script: its own.
    let kind = if script.is_none() && line == 0 { CodeKind::Builtin } else { CodeKind::JavaScript };
    let tier = tier_of(parts.tier, Tier::Unmarked);
    let name = readable(function, script, starts_script(line, column));
    Named { source: script, line, column, tier, ..classified(kind, Cow::Borrowed(name), function, script) }
}

fn name_top_level<'a>(parts: &CodeName<'a>) -> Named<'a> {
    let CodeName { function, script, line, column, .. } = *parts;
    let tier = tier_of(parts.tier, Tier::Unmarked);
    let name = readable(function, script, true);
    Named {
        source: script,
        line,
        column,
        tier,
        ..classified(CodeKind::JavaScript, Cow::Borrowed(name), function, script)
    }
}

/// A nameless function that starts where its script starts is the script itself: Node compiles a CommonJS
/// module as a function. Before Node 20 V8 gives no column, and in a minified file every line is the first.
fn starts_script(line: u32, column: u32) -> bool {
    (line, column) == (1, 1)
}

fn readable<'a>(function: &'a str, source: Option<&str>, is_top_level: bool) -> &'a str {
    match (function, source) {
        ("", None) if is_top_level => EVAL,
        ("", Some(_)) if is_top_level => TOP_LEVEL,
        ("", _) => ANONYMOUS,
        _ => function,
    }
}

/// As the symbol table calls it: `Add.Wide` of a perf map is `AddWideHandler`, and never the builtin `Add`.
fn bytecode_handler(name: &str) -> Cow<'_, str> {
    if name.ends_with("Handler") {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(name.replace('.', "") + "Handler")
    }
}

fn tier_of(tier: v8_name::Tier, unmarked: Tier) -> Tier {
    match tier {
        v8_name::Tier::Unmarked => unmarked,
        v8_name::Tier::Ignition => Tier::Ignition,
        v8_name::Tier::Sparkplug => Tier::Sparkplug,
        v8_name::Tier::Maglev => Tier::Maglev,
        v8_name::Tier::Turbofan => Tier::Turbofan,
        v8_name::Tier::Liftoff => Tier::Liftoff,
        v8_name::Tier::WasmTurbofan => Tier::WasmTurbofan,
    }
}

/// A name without position, module and tier.
fn classified<'a>(
    kind: CodeKind,
    function: Cow<'a, str>,
    name: &'a str,
    source: Option<&'a str>,
) -> Named<'a> {
    let class = classify(&Code { kind, name, source, module: None });
    Named {
        function,
        source,
        line: 0,
        column: 0,
        tier: Tier::None,
        category: class.category,
        package: class.package,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: Option<&str> = Some("/tmp/perf-4140.map");
    const NODE: Option<&str> = Some("/usr/bin/node");

    /// symbol, module, then what a person reads.
    type Row =
        (&'static str, Option<&'static str>, &'static str, Option<&'static str>, u32, u32, Tier, Category);

    fn check(rows: &[Row]) {
        for (symbol, module, function, source, line, column, tier, category) in rows {
            let named = name(symbol, *module);
            let read = (&*named.function, named.source, named.line, named.column, named.tier, named.category);
            assert_eq!(read, (*function, *source, *line, *column, *tier, *category), "{symbol} {module:?}");
        }
    }

    #[test]
    fn javascript() {
        check(&[
            ("JS:*foo /srv/a.js:3:5", MAP, "foo", Some("/srv/a.js"), 3, 5, Tier::Turbofan, Category::App),
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
            ("Script:~/srv/a.js", MAP, "(top level)", Some("/srv/a.js"), 0, 0, Tier::Ignition, Category::App),
            ("Script:~vm.js", MAP, "(top level)", Some("vm.js"), 0, 0, Tier::Ignition, Category::NodeCore),
            ("Eval:~", MAP, "(eval)", None, 0, 0, Tier::Ignition, Category::App),
            ("Eval:~ :1:1", MAP, "(eval)", None, 1, 1, Tier::Ignition, Category::App),
            ("JS:+ :1:1", MAP, "(eval)", None, 1, 1, Tier::Maglev, Category::App),
            ("JS:+f :1:17", MAP, "f", None, 1, 17, Tier::Maglev, Category::App),
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
            ("Builtins_AddWideHandler", NODE, "AddWideHandler", None, 0, 0, Tier::None, Category::Builtin),
            ("BytecodeHandler:Add.Wide", MAP, "AddWideHandler", None, 0, 0, Tier::None, Category::Builtin),
            ("BytecodeHandler:Add", MAP, "AddHandler", None, 0, 0, Tier::None, Category::Builtin),
            ("Stub:CEntryStub", MAP, "Stub:CEntryStub", None, 0, 0, Tier::None, Category::Builtin),
            ("Stub:RegExpExecStub", MAP, "Stub:RegExpExecStub", None, 0, 0, Tier::None, Category::Regexp),
            ("Handler:RegExp", MAP, "Handler:RegExp", None, 0, 0, Tier::None, Category::Builtin),
            ("KeyedLoadIC:", MAP, "KeyedLoadIC:", None, 0, 0, Tier::None, Category::Builtin),
            ("Callback:writev", MAP, "writev", None, 0, 0, Tier::None, Category::NodeCore),
            ("RegExp:a(.)/b", MAP, "/a(.)/b/", None, 0, 0, Tier::None, Category::Regexp),
            ("RegExp.> src: 'a(.)' flags: 'g'", MAP, "/a(.)/", None, 0, 0, Tier::None, Category::Regexp),
            ("JS:fib-3-turbofan", MAP, "fib", None, 0, 0, Tier::WasmTurbofan, Category::Wasm),
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
            ("[[kernel.kallsyms]]", None, "[kernel.kallsyms]", None, 0, 0, Tier::None, Category::Kernel),
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
            ("", "", 1, 1, "(eval)", Tier::Turbofan, Category::App),
            ("emit", "node:events", 471, 44, "emit", Tier::Turbofan, Category::NodeCore),
            ("writev", "", 0, 0, "writev", Tier::None, Category::NodeCore),
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
}
