//! From a symbol as a tool wrote it to what a person wants to read: function, source, position, tier,
//! category and package. Joins what [`v8::name`] takes apart with what [`profile::classify`] knows; it
//! keeps no rule of its own about either. The symbol as written is the frame's, not this module's.

use profile::category::{Category, Tier};
use profile::classify::{
    Code, CodeKind, GENERATED_CODE, Home, classify, home_of, is_generated, is_meta, is_unknown,
    module_file_name,
};
use std::borrow::Cow;
use v8::name::{self as v8_name, CodeName};

pub mod parts;

/// A symbol, as a person wants to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The function, without V8's tag and marker.
    pub function: Cow<'a, str>,
    /// The script's path or URL, or a text that names what generated the code.
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

/// What stands behind the path of a file whose lines are not meant.
pub const GENERATED_MARK: &str = " (generated)";

/// Names a symbol, which may be unknown, in a module. A frame of a folded stack has no module; an annotation
/// at its end (`_[k]`) gives the module where it can.
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
    if source.is_none()
        && line == 0
        && let Some(parts) =
            v8_name::parse(function).filter(|parts| parts.kind == v8_name::CodeKind::Regexp)
    {
        return name_generated(function, &parts);
    }
    let kind = match (source, line) {
        (None, 0) if is_meta(function) => CodeKind::Meta,
        (None, 0) => CodeKind::Binding,
        _ => CodeKind::JavaScript,
    };
    let tier = if kind == CodeKind::JavaScript { tier } else { Tier::None };
    let name = readable(function, source, starts_script(line, column));
    let source = script_of(kind, source);
    Named { source, line, column, tier, ..classified(kind, Cow::Borrowed(name), function, source) }
}

/// The pattern of a regular expression, from the name that we give it.
pub fn pattern_of(function: &str) -> Option<&str> {
    function.strip_prefix('/')?.strip_suffix('/')
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
    let annotated = ANNOTATIONS
        .iter()
        .find_map(|(ending, module)| Some((symbol.strip_suffix(ending)?, *module)));
    annotated.unwrap_or((symbol, None))
}

/// `[libc.so.6]` is what stackcollapse-perf.pl writes for an unknown function of that library; `[heap]` and
/// its like are the kernel's own words.
fn name_bracketed<'a>(symbol: &'a str, inside: &'a str) -> Named<'a> {
    let is_file = home_of(symbol) == Home::Kernel
        && !KERNEL_IMAGES.iter().any(|start| inside.starts_with(start));
    let module = if is_file { inside } else { symbol };
    name_in(UNKNOWN, Some(module))
}

/// How the kernel's own images are called between brackets.
const KERNEL_IMAGES: &[&str] = &["kernel.", "guest.kernel.", "bpf"];

const UNKNOWN: &str = "[unknown]";

fn name_native<'a>(symbol: &'a str, module: Option<&'a str>, home: Home) -> Named<'a> {
    let class = classify(&Code { kind: CodeKind::Native, name: symbol, source: None, module });
    let function =
        if is_unknown(symbol) { unknown_in(module, home) } else { Cow::Borrowed(symbol) };
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
        (_, Some(module)) => Cow::Owned(format!("[{}]", module_file_name(module))),
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
        v8_name::CodeKind::BytecodeHandler => {
            classified(CodeKind::Builtin, bytecode_handler(name), "", None)
        }
        // Named after a stub or a property: without the tag the reader could not see that.
        v8_name::CodeKind::Stub => classified(CodeKind::Builtin, whole, name, None),
        v8_name::CodeKind::Handler | v8_name::CodeKind::InlineCache => {
            classified(CodeKind::Builtin, whole, "", None)
        }
        v8_name::CodeKind::Callback => classified(CodeKind::Binding, function, name, None),
        v8_name::CodeKind::Regexp => name_regexp(name),
        v8_name::CodeKind::Wasm => Named {
            tier: tier_of(parts.tier, Tier::None),
            ..classified(CodeKind::Wasm, function, name, parts.script)
        },
    }
}

/// A regular expression, as it stands in a program.
fn name_regexp(pattern: &str) -> Named<'_> {
    classified(CodeKind::Regexp, Cow::Owned(format!("/{pattern}/")), pattern, None)
}

fn name_function<'a>(parts: &CodeName<'a>) -> Named<'a> {
    let CodeName { function, script, line, column, .. } = *parts;
    // V8 compiles a few functions that belong to no script: its own.
    let kind = if script.is_none() && line == 0 { CodeKind::Builtin } else { CodeKind::JavaScript };
    let tier = tier_of(parts.tier, Tier::Unmarked);
    let name = readable(function, script, starts_script(line, column));
    let script = script_of(kind, script);
    Named {
        source: script,
        line,
        column,
        tier,
        ..classified(kind, Cow::Borrowed(name), function, script)
    }
}

fn name_top_level<'a>(parts: &CodeName<'a>) -> Named<'a> {
    let CodeName { function, script, line, column, .. } = *parts;
    let tier = tier_of(parts.tier, Tier::Unmarked);
    let name = readable(function, script, true);
    let script = script_of(CodeKind::JavaScript, script);
    Named {
        source: script,
        line,
        column,
        tier,
        ..classified(CodeKind::JavaScript, Cow::Borrowed(name), function, script)
    }
}

/// JavaScript without a script was generated at run time.
fn script_of(kind: CodeKind, script: Option<&str>) -> Option<&str> {
    script.or((kind == CodeKind::JavaScript).then_some(GENERATED_CODE))
}

/// A nameless function that starts where its script starts is the script itself: Node compiles a CommonJS
/// module as a function. Before Node 20 V8 gives no column, and in a minified file every line is the first.
fn starts_script(line: u32, column: u32) -> bool {
    (line, column) == (1, 1)
}

fn readable<'a>(function: &'a str, source: Option<&str>, is_top_level: bool) -> &'a str {
    match (function, source) {
        ("", None) if is_top_level => EVAL,
        ("", Some(source)) if is_top_level && is_generated(source) => EVAL,
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
mod tests;
