//! JavaScript by its script: the application, an npm package, Node's own library, or V8's.

use super::{Class, package::package_of};
use crate::category::Category;

/// The class of a function in this script; empty for code from `eval` and `new Function`, which the
/// application made, as far as anybody can tell.
pub(super) fn class_of(source: &str) -> Class<'_> {
    if source.starts_with("node:") {
        return Class::of(Category::NodeCore);
    }
    if let Some(package) = package_of(source) {
        return Class { category: Category::Dependency, package: Some(package) };
    }
    if let Some(category) = category_of_bundled(source) {
        return Class::of(category);
    }
    Class::of(if is_v8_library(source) {
        Category::Builtin
    } else if is_node_library(source) {
        Category::NodeCore
    } else {
        Category::App
    })
}

/// What a bundle holds that is no file of the project: `webpack://shop/../../src/x.ts` and `../../src/x.ts` lead out of
/// it, so some package was built there; `webpack://shop/?6cc1` is a module without a file.
fn category_of_bundled(source: &str) -> Option<Category> {
    if source.starts_with("../") {
        return Some(Category::Dependency);
    }
    let (_, rest) =
        source.split_once("://").filter(|(scheme, _)| matches!(*scheme, "webpack" | "turbopack"))?;
    let (_, path) = rest.split_once('/')?;
    match path {
        path if path.starts_with("../") => Some(Category::Dependency),
        path if path.starts_with('?') => Some(Category::Unknown),
        _ => None,
    }
}

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
        use Category::{App, Builtin, Dependency, NodeCore, Unknown};
        let rows: &[(&str, Category, Option<&str>)] = &[
            ("", App, None),
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
            ("webpack://next/webpack/bootstrap", App, None),
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
            ("[eval]-wrapper", App, None),
            ("[worker eval]", App, None),
            ("[stdin]", App, None),
            ("evalmachine.<anonymous>", App, None),
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
            assert_eq!(class_of(source), Class { category: *category, package: *package }, "{source}");
        }
    }
}
