//! The names that V8 writes into perf maps, jitdump files and its binary's symbol table, Node 0.11 to 26.
//! Pure text in, borrowed parts out: `JS:*next /srv/app/router.js:177:16` becomes function, script, line,
//! column, kind and tier. It knows nothing of categories or packages, and `None` means "a native symbol".
//!
//! Nothing here may panic: maps are cut at 512 or 4096 bytes, written by several threads at once, and read
//! while their last line is still being written.

/// One name, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeName<'a> {
    /// What kind of code it is.
    pub kind: CodeKind,
    /// What compiled it, if the name shows it.
    pub tier: Tier,
    /// The function as V8 calls it; empty when it has no name. Of a regular expression, its source.
    pub function: &'a str,
    /// The script's path or URL. Code from `eval` and `new Function` has a position but no script.
    pub script: Option<&'a str>,
    /// The function's line, from 1; 0 unknown.
    pub line: u32,
    /// The function's column, from 1; 0 unknown (before Node 20).
    pub column: u32,
}

/// The kinds of code that V8 names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// A JavaScript function.
    Function,
    /// A script's top level, or a function compiled along with it.
    Script,
    /// The top level of `eval` or of a CommonJS module, or a function compiled along with it.
    Eval,
    /// A builtin: `Array.prototype.map`, or one of V8's own trampolines.
    Builtin,
    /// The interpreter's code for one bytecode.
    BytecodeHandler,
    /// A code stub (before Node 12), or a wrapper around WebAssembly (later).
    Stub,
    /// An inline cache's handler, named after the property (before Node 12).
    Handler,
    /// A C++ function that JavaScript calls.
    Callback,
    /// An inline cache, named after the property (before Node 10).
    InlineCache,
    /// A regular expression's machine code.
    Regexp,
    /// A WebAssembly function.
    Wasm,
}

/// What compiled a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// The name does not show it.
    Unmarked,
    /// `~`: the interpreter, or the unoptimising compiler before Node 8.
    Ignition,
    /// `^`
    Sparkplug,
    /// `+`, also Turboprop in Node 16.
    Maglev,
    /// `*`, also Crankshaft before Node 8.
    Turbofan,
    /// WebAssembly's baseline compiler.
    Liftoff,
    /// WebAssembly's optimising compiler.
    WasmTurbofan,
}

/// Takes one of V8's names apart; `None` is a native symbol.
pub fn parse(symbol: &str) -> Option<CodeName<'_>> {
    if let Some(name) = symbol.strip_prefix(EMBEDDED_BUILTIN) {
        return Some(embedded_builtin(name));
    }
    if let Some(text) = symbol.strip_prefix("RegExp.") {
        return new_regexp(text);
    }
    let (tag, text) = symbol.split_once(':')?;
    if text.starts_with(':') {
        return None; // C++: `Handler::Run`, `Script::Compile`
    }
    match TAGS.iter().find(|row| row.0 == tag) {
        Some(&(_, kind @ (CodeKind::Function | CodeKind::Script | CodeKind::Eval), tier)) => {
            Some(javascript(kind, tier, text))
        }
        // V8's own profiler puts a blank behind the tag.
        Some(&(_, kind @ CodeKind::Regexp, _)) => {
            Some(nameless(kind, text.strip_prefix(' ').unwrap_or(text)))
        }
        Some(&(_, kind, _)) => Some(nameless(kind, text)),
        None => INLINE_CACHES.contains(&tag).then(|| nameless(CodeKind::InlineCache, text)),
    }
}

/// Takes apart a JavaScript name that other tools wrote without V8's tag: `next /srv/router.js:177:16`,
/// `*next /srv/router.js:177`, `next (file:///srv/router.js:177:16)`. `None` when it is anything else.
pub fn parse_untagged(text: &str) -> Option<CodeName<'_>> {
    let (tier, text) = split_marker(text);
    let (name, place) =
        text.strip_suffix(')').and_then(|open| open.split_once(" (")).unwrap_or(("", text));
    let Place { function, script, line, column } = Place::of(place);
    if line == 0 || !is_javascript(script?) {
        return None;
    }
    let function = if function.is_empty() { name } else { function };
    Some(CodeName { kind: CodeKind::Function, tier, function, script, line, column })
}

/// In front of the builtins that are embedded in node's binary, from Node 11.
const EMBEDDED_BUILTIN: &str = "Builtins_";

/// V8's tags. The tier is that of a name without a marker.
const TAGS: &[(&str, CodeKind, Tier)] = &[
    ("JS", CodeKind::Function, Tier::Unmarked),
    ("LazyCompile", CodeKind::Function, Tier::Unmarked),
    ("Function", CodeKind::Function, Tier::Unmarked),
    ("InterpretedFunction", CodeKind::Function, Tier::Ignition),
    ("Script", CodeKind::Script, Tier::Unmarked),
    ("Eval", CodeKind::Eval, Tier::Unmarked),
    ("Builtin", CodeKind::Builtin, Tier::Unmarked),
    ("BytecodeHandler", CodeKind::BytecodeHandler, Tier::Unmarked),
    ("RegExp", CodeKind::Regexp, Tier::Unmarked),
    ("Stub", CodeKind::Stub, Tier::Unmarked),
    ("Handler", CodeKind::Handler, Tier::Unmarked),
    ("Callback", CodeKind::Callback, Tier::Unmarked),
];

/// The tags of inline caches, Node 0.11 to 8.
const INLINE_CACHES: &[&str] = &[
    "LoadIC",
    "StoreIC",
    "CallIC",
    "CompareIC",
    "CompareNilIC",
    "BinaryOpIC",
    "ToBooleanIC",
    "LoadGlobalIC",
    "StoreGlobalIC",
    "LoadPolymorphicIC",
    "StorePolymorphicIC",
    "KeyedLoadIC",
    "KeyedStoreIC",
    "KeyedCallIC",
    "KeyedLoadPolymorphicIC",
    "KeyedStorePolymorphicIC",
    "KeyedExternalArrayLoadIC",
    "KeyedExternalArrayStoreIC",
    "LoadInitialize",
    "LoadPreMonomorphic",
    "LoadMegamorphic",
    "StoreInitialize",
    "StorePreMonomorphic",
    "StoreMegamorphic",
    "StoreGeneric",
    "CallInitialize",
    "CallPreMonomorphic",
    "CallMegamorphic",
    "CallNormal",
    "CallMiss",
    "CallDebugBreak",
    "CallDebugPrepareStepIn",
    "KeyedCallInitialize",
    "KeyedCallPreMonomorphic",
    "KeyedCallMegamorphic",
    "KeyedCallNormal",
    "KeyedCallMiss",
    "KeyedCallDebugBreak",
    "KeyedCallDebugPrepareStepIn",
];

/// What stands between tag and name: from Node 24 also with `'` (specialised to a context), from Node 26 also
/// with `o` (on-stack replacement).
const MARKERS: &[(&str, Tier)] = &[
    ("~", Tier::Ignition),
    ("^", Tier::Sparkplug),
    ("+'", Tier::Maglev),
    ("+", Tier::Maglev),
    ("*'", Tier::Turbofan),
    ("*", Tier::Turbofan),
    ("o+'", Tier::Maglev),
    ("o+", Tier::Maglev),
    ("o*'", Tier::Turbofan),
    ("o*", Tier::Turbofan),
];

/// How a WebAssembly function's name ends, after its index.
const WASM_TIERS: &[(&str, Tier)] = &[
    ("-liftoff", Tier::Liftoff),
    ("-turbofan", Tier::WasmTurbofan),
    ("-interpreter", Tier::Unmarked),
    ("-none", Tier::Unmarked),
];

/// The script that Node 8 gives to WebAssembly code, which only TurboFan compiled then.
const WASM_SCRIPT: &str = "(wasm)";

/// Scripts that are no files and hold a blank or a bracket. (`REPL7` and the like need no row.)
const PSEUDO_SCRIPTS: &[&str] = &[
    "[eval]",
    "[eval]-wrapper",
    "[worker eval]",
    "[worker eval]-wrapper",
    "[stdin]",
    "[stdin]-wrapper",
    "evalmachine.<anonymous>",
    WASM_SCRIPT,
];

/// How a text begins that stands for the script of generated code: `(generated by ejs)`.
const GENERATED_BY: &str = "(generated by ";

/// How a script's path or URL can begin, besides `scheme://` and a Windows drive.
const SCRIPT_ROOTS: &[&str] = &["/", "node:", "file:", "data:", "\\\\"];

/// What a JavaScript file's name can end in.
const JAVASCRIPT_ENDINGS: &[&str] =
    &[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".vue", ".svelte"];

/// A Node before 8 has scripts of V8's own: `native array.js`.
const NATIVE_SCRIPT: &str = "native";

fn embedded_builtin(name: &str) -> CodeName<'_> {
    // Two asynchronous closures of Atomics.Mutex end like bytecode handlers.
    let is_handler = name.ends_with("Handler") && !name.starts_with("Atomics");
    nameless(if is_handler { CodeKind::BytecodeHandler } else { CodeKind::Builtin }, name)
}

/// From Node 24: `RegExp.> src: 'a(.)' flags: 'g'`. Folded stacks have lost the quotes.
fn new_regexp(text: &str) -> Option<CodeName<'_>> {
    let text = text.strip_prefix(['<', '>'])?.strip_prefix(" src: ")?;
    let source = text.rsplit_once(" flags: ").map_or(text, |(source, _)| source);
    let source = source.strip_prefix('\'').unwrap_or(source);
    Some(nameless(CodeKind::Regexp, source.strip_suffix('\'').unwrap_or(source)))
}

fn nameless(kind: CodeKind, function: &str) -> CodeName<'_> {
    CodeName { kind, tier: Tier::Unmarked, function, script: None, line: 0, column: 0 }
}

fn javascript(kind: CodeKind, default_tier: Tier, text: &str) -> CodeName<'_> {
    if let Some(wasm) = wasm_function(text) {
        return wasm;
    }
    let (tier, text) = match split_marker(text) {
        (Tier::Unmarked, text) => (default_tier, text),
        marked => marked,
    };
    let Place { function, script, line, column } = match kind {
        CodeKind::Function => Place::of(text),
        _ => Place::of_top_level(text),
    };
    if script == Some(WASM_SCRIPT) {
        return CodeName { tier: Tier::WasmTurbofan, ..nameless(CodeKind::Wasm, function) };
    }
    CodeName { kind, tier, function, script, line, column }
}

/// `name-index-tier`; the name of a function without one is `wasm-function[3]`. Our own reader of V8's heap adds the
/// module's URL.
fn wasm_function(text: &str) -> Option<CodeName<'_>> {
    let with_script = text.rsplit_once(' ').filter(|(_, script)| has_scheme(script));
    let (text, script) = with_script.map_or((text, None), |(text, script)| (text, Some(script)));
    let (name, tier) =
        WASM_TIERS.iter().find_map(|(ending, tier)| Some((text.strip_suffix(ending)?, *tier)))?;
    let (function, index) = name.rsplit_once('-')?;
    let is_index = index == "<anonymous>" || parse_number(index).is_some();
    is_index.then_some(CodeName { tier, script, ..nameless(CodeKind::Wasm, function) })
}

fn split_marker(text: &str) -> (Tier, &str) {
    let marked =
        MARKERS.iter().find_map(|(marker, tier)| Some((*tier, text.strip_prefix(marker)?)));
    marked.unwrap_or((Tier::Unmarked, text))
}

/// `function script:line:column`. Function and script may both hold blanks, so that the end is read first.
struct Place<'a> {
    function: &'a str,
    script: Option<&'a str>,
    line: u32,
    column: u32,
}

impl<'a> Place<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.strip_suffix(':').unwrap_or(text); // cut before a number
        let (head, line, column) = split_position(text).unwrap_or((text, 0, 0));
        let (function, script) = if head.len() < text.len() {
            split_script(head)
        } else {
            // A builtin without a script, or a name that was cut inside its path.
            split_at_root(head).unwrap_or((head.strip_suffix(' ').unwrap_or(head), ""))
        };
        Place { function, script: (!script.is_empty()).then_some(script), line, column }
    }

    /// Before Node 8 a script's top level is its bare path: `Script:~/srv/app.js`.
    fn of_top_level(text: &'a str) -> Self {
        let place = Self::of(text);
        if place.line > 0 || place.script.is_some() || place.function.is_empty() {
            return place;
        }
        Place { function: "", script: Some(place.function), ..place }
    }
}

/// Takes `:line` or `:line:column` off the end.
fn split_position(text: &str) -> Option<(&str, u32, u32)> {
    let (head, last) = split_number(text)?;
    Some(match split_number(head) {
        Some((head, line)) => (head, line, last),
        None => (head, last, 0),
    })
}

/// Node 12 counts the body of `new Function` from line 1, and so the header that V8 puts before it from -1.
fn split_number(text: &str) -> Option<(&str, u32)> {
    let (head, digits) = text.rsplit_once(':')?;
    let number = match digits.strip_prefix('-') {
        Some(digits) => parse_number(digits).and(Some(1)),
        None => parse_number(digits),
    };
    Some((head, number?))
}

/// Function and script, when a position followed them.
fn split_script(head: &str) -> (&str, &str) {
    if let Some(function) = head.strip_suffix(' ') {
        return (function, "");
    }
    if let Some(split) = split_at_generated(head) {
        return split;
    }
    split_at_pseudo_script(head)
        .or_else(|| split_at_root(head))
        .unwrap_or_else(|| split_at_last_blank(head))
}

/// Our own reader of V8's heap names which script or package generated code that has no script.
fn split_at_generated(head: &str) -> Option<(&str, &str)> {
    let start = head.rfind(GENERATED_BY).filter(|_| head.ends_with(')'))?;
    let function = &head[..start];
    let is_whole = function.is_empty() || function.ends_with(' ');
    is_whole.then(|| (function.strip_suffix(' ').unwrap_or(function), &head[start..]))
}

fn split_at_pseudo_script(head: &str) -> Option<(&str, &str)> {
    PSEUDO_SCRIPTS.iter().find_map(|script| {
        let function = head.strip_suffix(script)?;
        let is_whole = function.is_empty() || function.ends_with(' ');
        is_whole.then(|| (function.strip_suffix(' ').unwrap_or(function), &head[function.len()..]))
    })
}

/// Splits at the last blank before a path or URL: paths hold blanks, and so do names (`get size`,
/// `GET /users`).
fn split_at_root(head: &str) -> Option<(&str, &str)> {
    let after_blanks = head.match_indices(' ').map(|(blank, _)| (blank, blank + 1));
    let splits = std::iter::once((0, 0)).chain(after_blanks);
    splits
        .rev()
        .map(|(end, start)| (&head[..end], &head[start..]))
        .find(|(_, script)| has_root(script))
}

fn split_at_last_blank(head: &str) -> (&str, &str) {
    let Some((function, script)) = head.rsplit_once(' ') else {
        return ("", head);
    };
    match function.strip_suffix(NATIVE_SCRIPT) {
        Some("") => ("", head),
        Some(before) if before.ends_with(' ') => {
            (&before[..before.len() - 1], &head[before.len()..])
        }
        _ => (function, script),
    }
}

fn has_root(text: &str) -> bool {
    SCRIPT_ROOTS.iter().any(|root| text.starts_with(root)) || has_drive(text) || has_scheme(text)
}

/// `C:\srv\app.js` or `C:/srv/app.js`.
fn has_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
}

/// `webpack://shop/./src/index.ts`. Plain `scheme:` would take the label in `a b: c` for one.
fn has_scheme(text: &str) -> bool {
    let length = text
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(byte))
        .count();
    length > 0 && text[length..].starts_with("://")
}

fn is_javascript(script: &str) -> bool {
    let is_url = !script.starts_with(['/', '\\']) && !has_drive(script) && has_root(script);
    is_url
        || script.starts_with(GENERATED_BY)
        || JAVASCRIPT_ENDINGS.iter().any(|ending| script.ends_with(ending))
}

/// Digits only: `str::parse` would also take a sign.
fn parse_number(digits: &str) -> Option<u32> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
