//! Where the sources of a map are, as people know them. Bundlers write paths that are seen from a folder which only
//! they knew (`webpack://shop/./src/a.ts`), so files that exist are looked for upwards. What is nowhere and leads out
//! of the project keeps the address that the map gives it: a folder that does not exist would be made up.

use std::cell::OnceCell;
use std::path::Path;

use profile::address::{file_path, has_scheme, is_absolute, strip_scheme};

use super::address::{folder_of, join};
use super::find::open;
use crate::files::Files;

/// How many folders up a project is looked for.
const MOST_FOLDERS: usize = 16;
/// The folder of packages: what is above it is another project.
const PACKAGES: &str = "node_modules";
/// Files that loaders cut into several modules: their queries distinguish these.
const CUT_APART: [&str; 3] = [".vue", ".svelte", ".astro"];

/// The folders around a script.
pub(super) struct Project<'a> {
    files: &'a dyn Files,
    root: Option<&'a Path>,
    script: &'a str,
    folders: OnceCell<Folders>,
}

/// Those from the script's own upwards.
struct Folders {
    /// With a package.json that has a name, which those inside build output lack.
    named: Vec<String>,
    /// With any other package.json.
    nameless: Vec<String>,
    others: Vec<String>,
}

impl<'a> Project<'a> {
    /// That of a script, under a root.
    pub(super) fn new(files: &'a dyn Files, root: Option<&'a Path>, script: &'a str) -> Self {
        Self { files, root, script, folders: OnceCell::new() }
    }

    /// The path of a map's source, seen from the map's folder.
    pub(super) fn path_of(&self, source: &str, folder: &str) -> String {
        if let Some(path) = file_path(source) {
            return path;
        }
        if let Some(rest) = strip_scheme(source, "webpack://") {
            return self.bundled("webpack", rest);
        }
        if let Some(rest) = strip_scheme(source, "turbopack://") {
            let inside = rest.trim_start_matches('/').strip_prefix("[project]/");
            return inside.map_or_else(
                || source.to_owned(),
                |path| self.bundled("turbopack", &format!("/./{path}")),
            );
        }
        if has_scheme(source) {
            return source.to_owned();
        }
        let path = join(folder, source);
        let leaves = !is_absolute(source) && source.starts_with("../") && self.leaves(&path);
        if leaves && !self.exists(&path) { source.to_owned() } else { path }
    }

    /// `name/./src/a.ts`, seen from the project's folder; a bundler's own parts have no dot in front.
    fn bundled(&self, scheme: &str, rest: &str) -> String {
        let (name, path) = rest.split_once('/').unwrap_or(("", rest));
        let (path, query) = path.find('?').map_or((path, ""), |at| path.split_at(at));
        // Next.js puts the layer in front: `(rsc)/./app/page.tsx`.
        let file = path
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(")/"))
            .map_or(path, |(_, file)| file);
        if !file.starts_with("./") && !file.starts_with("../") {
            return format!("{scheme}://{name}/{path}{query}");
        }
        if let Some(found) = self.search(file) {
            let is_cut = CUT_APART.iter().any(|ending| found.ends_with(ending));
            return if is_cut { format!("{found}{query}") } else { found };
        }
        let seen_from =
            self.folder().map(|folder| join(folder, file)).filter(|path| !self.leaves(path));
        let inside = || format!("{scheme}://{name}/{}", file.trim_start_matches("./"));
        format!("{}{query}", seen_from.unwrap_or_else(inside))
    }

    /// The file that a path means which is seen from a folder upwards of the script. What leads upwards itself is seen
    /// from a project alone, or a file of another one could be meant.
    fn search(&self, path: &str) -> Option<String> {
        let Folders { named, nameless, others } = self.folders();
        let others = if path.starts_with("../") { &[][..] } else { &others[..] };
        let mut found = named.iter().chain(nameless).chain(others).map(|folder| join(folder, path));
        found.find(|found| found != self.script && self.exists(found))
    }

    /// The folder of the project: the next one upwards that has a package.json.
    fn folder(&self) -> Option<&String> {
        let Folders { named, nameless, .. } = self.folders();
        named.first().or(nameless.first())
    }

    /// Whether a path lies outside of everything that has a package.json.
    fn leaves(&self, path: &str) -> bool {
        let Folders { named, nameless, .. } = self.folders();
        let mut all = named.iter().chain(nameless).peekable();
        let is_in = |folder: &String| {
            path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        all.peek().is_some() && !all.any(is_in)
    }

    fn exists(&self, path: &str) -> bool {
        open(self.files, self.root, path).is_some()
    }

    fn folders(&self) -> &Folders {
        self.folders.get_or_init(|| {
            let mut folders =
                Folders { named: Vec::new(), nameless: Vec::new(), others: Vec::new() };
            let upwards = std::iter::successors(Some(folder_of(self.script)), |folder| {
                (!folder.is_empty()).then(|| folder_of(folder))
            });
            let is_inside = |folder: &&str| folder.rsplit(['/', '\\']).next() != Some(PACKAGES);
            for folder in upwards.take(MOST_FOLDERS).take_while(is_inside) {
                match self.package_name(folder) {
                    None => &mut folders.others,
                    Some(false) => &mut folders.nameless,
                    Some(true) => &mut folders.named,
                }
                .push(folder.to_owned());
            }
            folders
        })
    }

    /// Whether the package.json of a folder has a name; `None` where there is none.
    fn package_name(&self, folder: &str) -> Option<bool> {
        let package = crate::packages::read(self.files, self.root, folder)?;
        Some(package.name.is_some())
    }
}

#[cfg(test)]
mod tests;
