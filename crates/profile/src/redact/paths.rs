//! What a path may keep: the part inside of an npm package, or a file's own name in a folder of the system. Everything
//! above reveals on which machine, in which folder and for which project the program ran.

use std::collections::BTreeSet;

use super::stand_ins::StandIns;
use crate::classify::{
    Home, home_of, module_file_name, package_folder, package_of, project_folder,
};

/// Endings that show what a file is.
const ENDINGS: &[&str] = &[
    ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".vue", ".svelte", ".astro",
    ".coffee", ".json", ".wasm", ".node", ".so", ".cc", ".cpp", ".c", ".h", ".rs", ".go",
];

/// Folders whose files every machine may have. What stands in /usr/local may be the user's.
const SYSTEM: &[&str] = &["/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/nix/store/"];
const LOCAL: &str = "/usr/local/";

/// A file of the user's.
pub(super) fn own_file(path: &str, stand_ins: &mut StandIns) -> String {
    format!("src/file{}{}", stand_ins.number("file", path), ending(path))
}

/// A binary of the user's.
pub(super) fn own_module(path: &str, stand_ins: &mut StandIns) -> String {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    format!("module{}{}", stand_ins.number("module", path), ending(path))
}

fn ending(path: &str) -> &'static str {
    ENDINGS.iter().find(|ending| path.ends_with(*ending)).copied().unwrap_or_default()
}

/// The file name of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A path in an npm package, from the first `node_modules` on. Folders of package managers may name other packages,
/// also the user's own: without these, or where one is in the chain, only the last package stays.
pub(super) fn installed(path: &str, package: &str, own: &BTreeSet<String>) -> String {
    let chain = project_folder(path).and_then(|project| path.get(project.len() + 1..));
    let is_plain = |chain: &&str| {
        let has_store = chain.split(['/', '\\']).any(|segment| segment.starts_with('.'));
        !has_store && !own.iter().any(|name| chain.contains(name.as_str()))
    };
    let inside = || {
        let rest = package_folder(path).map_or("", |folder| &path[folder.len()..]);
        format!("node_modules/{package}{rest}")
    };
    chain.filter(is_plain).map_or_else(inside, str::to_owned)
}

/// Whether a binary is the same on other machines.
pub(super) fn is_public_module(path: &str, own: &BTreeSet<String>) -> bool {
    match home_of(path) {
        Home::Addon => package_of(path).is_some_and(|package| !own.contains(package)),
        Home::System => {
            path.starts_with('[')
                || !path.starts_with(LOCAL) && SYSTEM.iter().any(|folder| path.starts_with(folder))
        }
        Home::Kernel | Home::Node | Home::Libuv | Home::Generated | Home::Nowhere => true,
    }
}

/// The name of such a binary, without its folder.
pub(super) fn public_module(path: &str, own: &BTreeSet<String>) -> String {
    if path.starts_with(['[', '/']) && path.contains("memfd:") || path.starts_with("memfd:") {
        return "memfd:".into();
    }
    match (home_of(path), package_of(path)) {
        (Home::Addon, Some(package)) => installed(path, package, own),
        // The kernel's own words have no folder.
        _ if path.starts_with("//anon") || !path.contains(['/', '\\']) => path.to_owned(),
        _ if path.starts_with('[') => path.split('/').next().unwrap_or_default().to_owned(),
        _ => module_file_name(path).to_owned(),
    }
}
