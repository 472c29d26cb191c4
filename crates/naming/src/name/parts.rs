//! Names whose parts are known, because they come from V8's own heap: nothing is parsed, so that function and script
//! may hold blanks, colons, brackets and what looks like a position.

use std::borrow::Cow;

use profile::category::{Category, Tier};
use profile::classify::{Class, Code, CodeKind, GENERATED_CODE, classify, classify_script};
use v8::FunctionKind;
use v8::name as v8_name;

use super::{ANONYMOUS, EVAL, Named, TOP_LEVEL, starts_script, tier_of};

/// The parts of a name.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The function's name; may be empty.
    pub name: &'a str,
    /// The script's path or URL; `None` for code from `eval` and `new Function`. Of WebAssembly, the module.
    pub script: Option<&'a str>,
    /// The script that generated the code, where that is known.
    pub generator: Option<&'a str>,
    /// The result of [`profile::classify::generated_by`].
    pub generated: Option<&'a str>,
    /// The line of the function's start, from 1; 0 unknown.
    pub line: u32,
    /// The column of the function's start, from 1; 0 unknown.
    pub column: u32,
    /// What it is.
    pub kind: FunctionKind,
    /// What runs it.
    pub tier: v8_name::Tier,
}

impl<'a> Parts<'a> {
    /// JavaScript of which no more is known than what it is called.
    pub fn javascript(name: &'a str, script: Option<&'a str>) -> Self {
        let (kind, tier) = (FunctionKind::JavaScript, v8_name::Tier::Unmarked);
        Self { name, script, generator: None, generated: None, line: 0, column: 0, kind, tier }
    }
}

/// Names a function by its parts.
pub fn name_parts<'a>(parts: &Parts<'a>) -> Named<'a> {
    match parts.kind {
        FunctionKind::JavaScript => name_javascript(parts),
        FunctionKind::Wasm { .. } | FunctionKind::WasmToJs => name_wasm(parts),
        // As V8 writes it: without the tag, the name would be taken for a function's.
        FunctionKind::JsToWasm => super::classified(
            CodeKind::Builtin,
            Cow::Owned(format!("{STUB}{}", parts.name)),
            parts.name,
            None,
        ),
        FunctionKind::Regexp => super::name_regexp(parts.name),
    }
}

/// V8's tags.
const JAVASCRIPT: &str = "JS:";
const STUB: &str = "Stub:";
const REGEXP: &str = "RegExp:";

fn name_javascript<'a>(parts: &Parts<'a>) -> Named<'a> {
    let Parts { name, script, generated, line, column, .. } = *parts;
    let is_top_level = starts_script(line, column);
    let function = match (name, script) {
        ("", Some(_)) if is_top_level => TOP_LEVEL,
        ("", None) if is_top_level => EVAL,
        ("", _) => ANONYMOUS,
        _ => name,
    };
    // V8 compiles a few functions that belong to no script: its own.
    let is_builtin = script.is_none() && generated.is_none() && line == 0;
    // A generator that cannot be shown is not known.
    let owner = script.or(parts.generator.filter(|_| generated.is_some()));
    let class = match owner {
        Some(script) => classify_script(script),
        None if is_builtin => {
            classify(&Code { kind: CodeKind::Builtin, name, source: None, module: None })
        }
        None => Class { category: Category::Unknown, package: None },
    };
    Named {
        function: Cow::Borrowed(function),
        source: script.or(generated).or((!is_builtin).then_some(GENERATED_CODE)),
        line,
        column,
        tier: tier_of(parts.tier, Tier::Unmarked),
        category: class.category,
        package: class.package,
    }
}

fn name_wasm<'a>(parts: &Parts<'a>) -> Named<'a> {
    let Parts { name, script, .. } = *parts;
    let named = super::classified(CodeKind::Wasm, Cow::Borrowed(name), name, script);
    Named { tier: tier_of(parts.tier, Tier::None), ..named }
}

/// How V8 itself would write it into a perf map, which is how people know it from folded stacks. It is for them alone:
/// what it means is not read from it again.
pub fn spell(parts: &Parts<'_>) -> String {
    let Parts { name, script, generated, line, column, kind, tier, .. } = *parts;
    match kind {
        FunctionKind::JavaScript => {}
        FunctionKind::JsToWasm => return format!("{STUB}{name}"),
        FunctionKind::Regexp => return format!("{REGEXP}{name}"),
        FunctionKind::WasmToJs => return format!("{JAVASCRIPT}{name}-<anonymous>-none"),
        FunctionKind::Wasm { index } => {
            let index = index.map_or_else(|| "<anonymous>".to_owned(), |index| index.to_string());
            let tier = match tier {
                v8_name::Tier::Liftoff => "liftoff",
                v8_name::Tier::WasmTurbofan => "turbofan",
                _ => "none",
            };
            let module = script.map(|script| format!(" {script}")).unwrap_or_default();
            return format!("{JAVASCRIPT}{name}-{index}-{tier}{module}");
        }
    }
    let mark = match tier {
        v8_name::Tier::Ignition => "~",
        v8_name::Tier::Sparkplug => "^",
        v8_name::Tier::Maglev => "+",
        v8_name::Tier::Turbofan => "*",
        _ => "",
    };
    let script = script.or(generated).unwrap_or_default();
    format!("{JAVASCRIPT}{mark}{name} {script}:{line}:{column}")
}

#[cfg(test)]
mod tests;
