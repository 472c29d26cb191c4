//! The one place that decides to which category and which npm package a piece of code belongs, and what a
//! thread is for. Rows, not branches: a new Node version is new rows. Everything is borrowed from the input,
//! nothing is allocated, and no rule looks at the caller: what GC or a regular expression calls is
//! [`Category::claims_callees`]'s business.

mod generated;
mod launcher;
mod module;
mod native;
mod package;
mod qualified;
mod role;
mod script;
mod v8;

use crate::category::Category;

pub use generated::{GENERATED_CODE, generated_by, generated_from, generator_of, is_generated};
pub use launcher::is_launcher;
pub use module::{Home, home_of, is_node_program, module_file_name};
pub use package::{after_scope, package_folder, package_of, project_folder, version_in_path};
pub use role::{is_engine_thread, role_of_symbol, role_of_thread};

/// What made a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// A compiler, before the program ran: anything with a native symbol, or an address without one.
    Native,
    /// V8, from JavaScript.
    JavaScript,
    /// A compiler, but seen from JavaScript: one of Node's C++ functions (`stat`, `writev`). V8's profiler
    /// shows such a function without script and position.
    Binding,
    /// V8, at its own build: builtins, bytecode handlers, stubs, inline caches.
    Builtin,
    /// V8, from a regular expression.
    Regexp,
    /// V8, from WebAssembly.
    Wasm,
    /// Nothing: V8's profiler names a state, such as `(idle)`.
    Meta,
}

/// What is known of a piece of code.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    /// What made it.
    pub kind: CodeKind,
    /// Its name, without V8's tag; native symbols demangled or not, `[unknown]` or empty when unknown.
    pub name: &'a str,
    /// The script's path or URL.
    pub source: Option<&'a str>,
    /// The mapped file, as the kernel or perf names it.
    pub module: Option<&'a str>,
}

/// Where a piece of code belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class<'a> {
    /// Its category.
    pub category: Category,
    /// Its npm package, scope included; borrowed from the source or the module.
    pub package: Option<&'a str>,
}

/// Decides where a piece of code belongs.
pub fn classify<'a>(code: &Code<'a>) -> Class<'a> {
    match code.kind {
        CodeKind::Native => native::class_of(code.name, code.module),
        CodeKind::JavaScript => script::class_of(code.source.unwrap_or_default()),
        CodeKind::Binding => Class::of(Category::NodeCore),
        CodeKind::Builtin => Class::of(category_of_builtin(code.name)),
        CodeKind::Regexp => Class::of(Category::Regexp),
        CodeKind::Wasm => {
            Class { category: Category::Wasm, package: code.source.and_then(package_of) }
        }
        CodeKind::Meta => Class::of(category_of_meta(code.name)),
    }
}

/// Decides where a function of a script belongs, by the script's own name: no text of ours stands in its place.
pub fn classify_script(script: &str) -> Class<'_> {
    script::class_of_script(script)
}

/// Whether this is one of the states that V8's profiler shows as a function.
pub fn is_meta(name: &str) -> bool {
    META.iter().any(|row| row.0 == name)
}

/// Whether a symbol means nothing: `[unknown]`, empty, or a bare address.
pub fn is_unknown(symbol: &str) -> bool {
    let is_address = || {
        let digits = symbol.strip_prefix("0x").unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    matches!(symbol, "" | "[unknown]" | "[unknown function]" | "??") || is_address()
}

impl Class<'_> {
    fn of(category: Category) -> Self {
        Class { category, package: None }
    }
}

/// The states of V8's profiler, and those of its --prof log. `(root)` has no time of its own, `(program)` is
/// native code that V8 cannot see into.
const META: &[(&str, Category)] = &[
    ("(root)", Category::Unknown),
    ("(program)", Category::Unknown),
    ("(idle)", Category::Idle),
    ("(garbage collector)", Category::Gc),
    ("(unresolved function)", Category::Unknown),
    ("(parser)", Category::Compiler),
    ("(bytecode compiler)", Category::Compiler),
    ("(compiler)", Category::Compiler),
    ("(atomics wait)", Category::Idle),
    ("(logging)", Category::Runtime),
];

fn category_of_meta(name: &str) -> Category {
    META.iter().find(|row| row.0 == name).map_or(Category::Unknown, |row| row.1)
}

fn category_of_builtin(name: &str) -> Category {
    if name.starts_with("RegExp") { Category::Regexp } else { Category::Builtin }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let rows: &[(CodeKind, &str, Category)] = &[
            (CodeKind::JavaScript, "evaled", Category::Unknown),
            (CodeKind::Binding, "writev", Category::NodeCore),
            (CodeKind::Builtin, "ArrayMap", Category::Builtin),
            (CodeKind::Builtin, "RegExpPrototypeExec", Category::Regexp),
            (CodeKind::Builtin, "CreateRegExpLiteralHandler", Category::Builtin),
            (CodeKind::Regexp, "a+", Category::Regexp),
            (CodeKind::Wasm, "fib", Category::Wasm),
            (CodeKind::Native, "uv_run", Category::Libuv),
            (CodeKind::Native, "[unknown]", Category::Unknown),
            (CodeKind::Meta, "(root)", Category::Unknown),
            (CodeKind::Meta, "(program)", Category::Unknown),
            (CodeKind::Meta, "(idle)", Category::Idle),
            (CodeKind::Meta, "(garbage collector)", Category::Gc),
            (CodeKind::Meta, "(unresolved function)", Category::Unknown),
            (CodeKind::Meta, "(parser)", Category::Compiler),
            (CodeKind::Meta, "(bytecode compiler)", Category::Compiler),
            (CodeKind::Meta, "(compiler)", Category::Compiler),
            (CodeKind::Meta, "(atomics wait)", Category::Idle),
            (CodeKind::Meta, "(logging)", Category::Runtime),
            (CodeKind::Meta, "(what V8 may add)", Category::Unknown),
        ];
        for (kind, name, category) in rows {
            let code = Code { kind: *kind, name, source: None, module: None };
            assert_eq!(
                classify(&code),
                Class { category: *category, package: None },
                "{kind:?} {name}"
            );
        }
    }

    #[test]
    fn unknown_symbols() {
        for symbol in ["", "[unknown]", "??", "0x0", "0x7f3a2b"] {
            assert!(is_unknown(symbol), "{symbol}");
        }
        for symbol in ["0x", "0xyz", "main", "unknown", "[libc.so.6]"] {
            assert!(!is_unknown(symbol), "{symbol}");
        }
    }
}
