//! What speedscope and pprof know of a frame: a name, a file, a position, perhaps a binary. Here it becomes a
//! frame of the model: scripts, sources of native code and binaries that stand in a file's place are distinguished.

use std::borrow::Cow;

use profile::classify::package_of;
use profile::{Builder, Frame, FrameId, ModuleId, Tier};

use naming::{Named, add};

/// A frame as a foreign format gives it; empty or 0 where it does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodePlace<'a> {
    /// The function's name.
    pub(crate) name: &'a str,
    /// The symbol that the name was made from, where the format has a place for it.
    pub(crate) symbol: &'a str,
    /// The script, the source file, or the binary.
    pub(crate) file: &'a str,
    /// The binary, where the format has a place for it.
    pub(crate) module: &'a str,
    /// Where the function is defined.
    pub(crate) definition: (u32, u32),
    /// The line and column that ran.
    pub(crate) ran: (u32, u32),
    /// The address, or [`profile::NO_ADDRESS`].
    pub(crate) address: u64,
    /// Whether the compiler put it inside its caller.
    pub(crate) inlined: bool,
}

/// The row of a frame.
pub(crate) fn frame(builder: &mut Builder, place: &CodePlace<'_>) -> FrameId {
    let CodePlace { name, file, definition, ran, address, inlined, .. } = *place;
    let is_script = is_script(file);
    // Without a position, a file that is no script is where perf's importers keep the binary.
    let is_binary = !is_script && definition.0 == 0 && ran.0 == 0;
    let module = if place.module.is_empty() && is_binary { file } else { place.module };
    let source = if is_binary { "" } else { file };
    let module = Some(module).filter(|module| !module.is_empty());
    let mut written = name;
    let named = if is_script {
        let plain = if name == naming::ANONYMOUS { "" } else { name };
        naming::name_call_frame(plain, source, definition.0, definition.1, Tier::Unmarked)
    } else {
        let symbol = if name.is_empty() { "[unknown]" } else { name };
        // `LoadIC` may be anything, `Builtins_LoadIC` is V8's.
        let by_symbol =
            Some(naming::name(place.symbol, module)).filter(|named| named.function == name);
        let named = by_symbol.clone().unwrap_or_else(|| naming::name(symbol, module));
        written = if by_symbol.is_some() { place.symbol } else { name };
        // The file, where the name itself does not give it.
        let source = named.source.or(Some(source).filter(|file| !file.is_empty()));
        Named { line: definition.0, column: definition.1, source, ..named }
    };
    let symbol = symbol(written, &named, is_script);
    let module = module.map_or(ModuleId::NONE, |name| builder.module(name, None));
    let function = add::function(builder, &named, module);
    let symbol = builder.string(&symbol);
    let (line, column) = ran;
    let (category, tier) = (named.category, named.tier);
    builder.frame(Frame { function, line, column, category, tier, inlined, address, symbol })
}

/// How folded output spells it: a script's function with its place, so that the place is read again.
fn symbol<'a>(name: &'a str, named: &Named<'_>, is_script: bool) -> Cow<'a, str> {
    match (is_script, named.source) {
        (true, Some(source)) => {
            let mut text = format!("{} {source}", named.function);
            for number in [named.line, named.column].into_iter().take_while(|number| *number > 0) {
                text.push_str(&format!(":{number}"));
            }
            Cow::Owned(text)
        }
        _ if name.is_empty() => Cow::Borrowed("[unknown]"),
        _ => Cow::Borrowed(name),
    }
}

/// What the URL of a script starts with.
const SCRIPT_STARTS: &[&str] = &[
    "node:",
    "file:",
    "http:",
    "https:",
    "webpack:",
    "webpack-internal:",
    "evalmachine.",
    "[eval",
    "native ",
    "(generated ",
];

/// How the file of a script ends.
const SCRIPT_ENDS: &[&str] =
    &[".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".coffee"];

/// Whether a file holds JavaScript, or what is compiled to it.
fn is_script(file: &str) -> bool {
    let path = file.split(['?', '#']).next().unwrap_or(file);
    let is_native =
        || [".node", ".so", ".c", ".cc", ".cpp", ".h", ".rs"].iter().any(|end| path.ends_with(end));
    SCRIPT_STARTS.iter().any(|start| file.starts_with(start))
        || SCRIPT_ENDS.iter().any(|end| path.ends_with(end))
        || package_of(file).is_some() && !is_native()
}

#[cfg(test)]
mod tests {
    use profile::{Category, NO_ADDRESS};

    use super::*;

    fn row(name: &str, file: &str, line: u32, column: u32) -> (String, Category, String) {
        let mut builder = Builder::new();
        let (definition, ran) = ((line, column), (0, 0));
        let place = CodePlace {
            name,
            symbol: "",
            file,
            module: "",
            definition,
            ran,
            address: NO_ADDRESS,
            inlined: false,
        };
        let id = frame(&mut builder, &place);
        let row = builder.so_far().frames().row(id);
        let name = builder.so_far().functions().name[row.function.index()];
        (builder.text(name).to_owned(), row.category, builder.text(row.symbol).to_owned())
    }

    #[test]
    fn files_determine_the_category() {
        let rows = [
            ("send", "/srv/app/node_modules/send/index.js", 96, Category::Dependency),
            ("main", "/srv/app/server.ts", 3, Category::App),
            ("emit", "node:events", 455, Category::NodeCore),
            ("uv_run", "/usr/bin/node", 0, Category::Libuv),
            ("do_syscall_64", "[kernel.kallsyms]", 0, Category::Kernel),
            ("JS:*foo /srv/a.js:1:2", "/tmp/perf-12.map", 0, Category::App),
            ("(garbage collector)", "", 0, Category::Gc),
            ("v8::internal::Heap::Scavenge", "../deps/v8/src/heap.cc", 12, Category::Gc),
        ];
        for (name, file, line, category) in rows {
            assert_eq!(row(name, file, line, 1).1, category, "{name} {file}");
        }
    }

    #[test]
    fn scripts_are_spelt_with_their_place() {
        assert_eq!(row("a", "/a.js", 3, 4).2, "a /a.js:3:4");
        assert_eq!(
            row("", "/a.js", 3, 4),
            ("(anonymous)".into(), Category::App, "(anonymous) /a.js:3:4".into())
        );
        assert_eq!(row("", "", 0, 0).0, "[unknown]");
        assert_eq!(row("a", "node:fs", 3, 0).2, "a node:fs:3");
    }
}
