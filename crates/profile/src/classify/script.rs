//! JavaScript by its script: the application, an npm package, Node's own library, or V8's.

use super::{Class, generated, package::package_of};
use crate::category::Category;

/// The class of a function in this script; empty for code from `eval` and `new Function` whose generator is not known.
pub(super) fn class_of(source: &str) -> Class<'_> {
    generated::class_of(source).unwrap_or_else(|| class_of_script(source))
}

/// The same where the name is known to be a script's own, and no text that stands for generated code.
pub(super) fn class_of_script(source: &str) -> Class<'_> {
    if source.starts_with("node:") {
        return Class::of(Category::NodeCore);
    }
    if let Some(package) = package_of(source) {
        return Class { category: Category::Dependency, package: Some(package) };
    }
    if source.starts_with(LODASH_TEMPLATE) {
        return Class { category: Category::Dependency, package: Some("lodash") };
    }
    let made = category_of_bundled(source).or_else(|| category_of_made(source));
    if let Some(category) = made {
        return Class::of(category);
    }
    Class::of(if source.is_empty() {
        Category::Unknown
    } else if source.starts_with(WASM_URL) {
        Category::Wasm
    } else if is_v8_library(source) {
        Category::Builtin
    } else if is_node_library(source) {
        Category::NodeCore
    } else {
        Category::App
    })
}

/// How lodash names what it compiles of templates, so that V8's own profiler shows it.
const LODASH_TEMPLATE: &str = "lodash.templateSources[";

/// How V8 names WebAssembly modules.
const WASM_URL: &str = "wasm://";

/// Scripts that neither the user nor a package wrote, by their whole name: Node's own around `node -e`, and what a
/// program compiles without a name for it.
const MADE: &[(&str, Category)] = &[
    ("[eval]-wrapper", Category::NodeCore),
    ("[stdin]-wrapper", Category::NodeCore),
    ("[worker eval]-wrapper", Category::NodeCore),
    ("evalmachine.<anonymous>", Category::Unknown),
];

/// How others of these begin: modules that a program compiles through `vm`.
const MADE_STARTS: &[&str] = &["vm:module("];

/// The files in which bundlers put their own loaders.
const LOADERS: &[&str] = &[
    "webpack-runtime.js",
    "webpack-api-runtime.js",
    "edge-runtime-webpack.js",
    "[turbopack]_runtime.js",
];

fn category_of_made(source: &str) -> Option<Category> {
    if let Some((_, category)) = MADE.iter().find(|(name, _)| *name == source) {
        return Some(*category);
    }
    let file = source.rsplit(['/', '\\']).next().unwrap_or(source);
    let is_made = MADE_STARTS.iter().any(|start| source.starts_with(start));
    // Bundlers mark modules that they make up by a byte that no path has.
    let is_made = is_made || LOADERS.contains(&file) || source.contains('\0');
    is_made.then_some(Category::Unknown)
}

/// What a bundle holds that is no file of the project: `webpack://shop/../../src/x.ts` and `../../src/x.ts` lead out of
/// it, so some package was built there; `webpack://shop/?6cc1` is a module without a file, and
/// `webpack://shop/webpack/bootstrap` is the bundler's own.
fn category_of_bundled(source: &str) -> Option<Category> {
    if source.starts_with("../") {
        return Some(Category::Dependency);
    }
    let (_, rest) = source
        .split_once("://")
        .filter(|(scheme, _)| matches!(*scheme, "webpack" | "turbopack"))?;
    let (_, path) = rest.split_once('/')?;
    match path {
        path if path.starts_with("../") => Some(Category::Dependency),
        path if path.starts_with('?') => Some(Category::Unknown),
        path if BUNDLERS.iter().any(|start| path.starts_with(start)) => Some(Category::Unknown),
        _ => None,
    }
}

/// How bundlers name their own parts; a folder of the project has `./` in front.
const BUNDLERS: &[&str] = &["webpack/", "(webpack)", "[turbopack]/"];

/// Before Node 8 V8 wrote its own library in JavaScript: `native array.js`.
fn is_v8_library(source: &str) -> bool {
    source.starts_with("native ") && source.ends_with(".js")
}

/// Before Node 16 Node's library has bare names: `events.js`, `internal/timers.js`. An application's
/// scripts can have such names too, when it runs them through `vm`, so only these count.
fn is_node_library(source: &str) -> bool {
    let Some(name) = source.strip_suffix(".js") else {
        return false;
    };
    match name.rsplit_once('/') {
        Some((_, _)) => LIBRARY_FOLDERS.iter().any(|folder| name.starts_with(folder)),
        None => LIBRARY_FILES.binary_search(&name).is_ok(),
    }
}

const LIBRARY_FOLDERS: &[&str] = &[
    "internal/",
    "assert/",
    "dns/",
    "fs/",
    "node-inspect/",
    "path/",
    "readline/",
    "stream/",
    "timers/",
    "util/",
    "v8/tools/",
];

/// Every top-level file of Node 0.11 to 15, sorted.
const LIBRARY_FILES: &[&str] = &[
    "_debug_agent",
    "_debugger",
    "_debugger_agent",
    "_http_agent",
    "_http_client",
    "_http_common",
    "_http_incoming",
    "_http_outgoing",
    "_http_server",
    "_linklist",
    "_stream_duplex",
    "_stream_passthrough",
    "_stream_readable",
    "_stream_transform",
    "_stream_wrap",
    "_stream_writable",
    "_tls_common",
    "_tls_legacy",
    "_tls_wrap",
    "assert",
    "async_hooks",
    "bootstrap_node",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "freelist",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "node",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "smalloc",
    "stream",
    "string_decoder",
    "sys",
    "timers",
    "tls",
    "trace_events",
    "tracing",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_files_are_sorted() {
        assert!(LIBRARY_FILES.is_sorted());
    }

    #[test]
    fn scripts() {
        use Category::{App, Builtin, Dependency, NodeCore, Unknown, Wasm};
        let rows: &[(&str, Category, Option<&str>)] = &[
            ("", Unknown, None),
            ("(generated code)", Unknown, None),
            ("(generated by ejs)", Dependency, Some("ejs")),
            ("lodash.templateSources[3]", Dependency, Some("lodash")),
            ("wasm://wasm/shapes-8d2a3f1e", Wasm, None),
            ("/srv/app/server.js", App, None),
            ("/srv/my app/server.mjs", App, None),
            ("file:///srv/app/server.mjs", App, None),
            ("file:///C:/srv/app/server.mjs", App, None),
            ("C:\\srv\\app\\server.js", App, None),
            ("\\\\share\\app\\server.js", App, None),
            ("./src/server.ts", App, None),
            ("../src/server.ts", Dependency, None),
            ("../node_modules/lodash/lodash.js", Dependency, Some("lodash")),
            ("webpack://next/../../../src/client/link.tsx", Dependency, None),
            ("webpack://next/../node_modules/lodash/lodash.js", Dependency, Some("lodash")),
            ("webpack://next/?6cc1", Unknown, None),
            ("webpack://next/webpack/bootstrap", Unknown, None),
            ("webpack://shop/webpack/runtime/jsonp chunk loading", Unknown, None),
            ("webpack://shop/./webpack/bootstrap.js", App, None),
            ("turbopack:///[turbopack]/shared/runtime-utils.ts", Unknown, None),
            ("/srv/.next/server/webpack-runtime.js", Unknown, None),
            ("/srv/.next/server/chunks/[turbopack]_runtime.js", Unknown, None),
            ("/srv/.next/server/app/page.js", App, None),
            ("/srv/dist/\0commonjsHelpers.js", Unknown, None),
            ("vm:module(3)", Unknown, None),
            ("[stdin]-wrapper", NodeCore, None),
            ("[eval].ts", App, None),
            ("/srv/app/node_modules/tsx/dist/cjs/index.cjs", Dependency, Some("tsx")),
            ("/srv/app/node_modules/ts-node/dist/index.js", Dependency, Some("ts-node")),
            ("/srv/app/node_modules/jest-runtime/build/index.js", Dependency, Some("jest-runtime")),
            (
                "/srv/app/node_modules/@vitest/runner/dist/index.js",
                Dependency,
                Some("@vitest/runner"),
            ),
            ("/usr/lib/node_modules/npm/bin/npx-cli.js", Dependency, Some("npm")),
            ("/srv/app/.yarn/releases/yarn-4.1.0.cjs", Dependency, Some("yarn")),
            ("/opt/yarn-v1.22.22/bin/yarn.js", Dependency, Some("yarn")),
            ("/srv/app/v12.test.ts (generated)", App, None),
            ("src/server.ts", App, None),
            ("relative/path.js", App, None),
            ("index.js", App, None),
            ("server.js", App, None),
            ("webpack://shop/./src/index.ts", App, None),
            ("webpack-internal:///./src/index.ts", App, None),
            ("https://esm.sh/lodash@4/index.js", App, None),
            ("data:text/javascript,export default 1", App, None),
            ("[eval]", App, None),
            ("[eval]-wrapper", NodeCore, None),
            ("[worker eval]", App, None),
            ("[stdin]", App, None),
            ("evalmachine.<anonymous>", Unknown, None),
            ("REPL1", App, None),
            ("repl", App, None),
            ("node:events", NodeCore, None),
            ("node:internal/deps/undici/undici", NodeCore, None),
            ("node:internal/modules/cjs/loader", NodeCore, None),
            ("node:electron/js2c/asar_bundle", NodeCore, None),
            ("events.js", NodeCore, None),
            ("node.js", NodeCore, None),
            ("bootstrap_node.js", NodeCore, None),
            ("_http_server.js", NodeCore, None),
            ("internal/modules/cjs/loader.js", NodeCore, None),
            ("fs/promises.js", NodeCore, None),
            ("/srv/app/events.js", App, None),
            ("/srv/app/internal/timers.js", App, None),
            ("native array.js", Builtin, None),
            ("native regexp.js", Builtin, None),
            ("/srv/native array.js", App, None),
            ("/srv/app/node_modules/express/lib/router.js", Dependency, Some("express")),
            ("file:///srv/app/node_modules/@acme/pad/index.mjs", Dependency, Some("@acme/pad")),
            ("webpack://shop/./node_modules/lodash/lodash.js", Dependency, Some("lodash")),
            ("/srv/node_modules_backup/x.js", App, None),
        ];
        for (source, category, package) in rows {
            assert_eq!(
                class_of(source),
                Class { category: *category, package: *package },
                "{source}"
            );
        }
    }
}
