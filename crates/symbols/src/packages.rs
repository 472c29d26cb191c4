//! Which npm packages functions belong to, which versions these have, and what depends on them: by the package.json
//! files around scripts, read through the root of the process that ran them. [`apply`] takes a profile and gives the
//! same one with that. What is not found stays as it was, silently: many recordings come from other machines.

mod file;
mod known;

use std::collections::BTreeMap;
use std::path::Path;

use profile::classify::package_folder;
use profile::{Category, FoundPackage, FoundPackages, Function, FunctionId, Profile};
use rustc_hash::FxHashMap;

pub(crate) use file::read;
use known::Disk;
pub use known::KnownPackages;

use crate::source_maps::{MapPlaces, Seen, script_path};

/// The same profile with the packages of its functions.
pub fn apply(profile: Profile, places: &MapPlaces<'_>, known: &mut KnownPackages) -> Profile {
    let paths = paths_of(&profile);
    if paths.is_empty() {
        return profile;
    }
    let seen = Seen::new(&profile, places.roots);
    let mut of_place: FxHashMap<(&Path, Vec<Option<&Path>>), Option<usize>> = FxHashMap::default();
    let mut functions: BTreeMap<FunctionId, usize> = BTreeMap::new();
    for (id, path) in &paths {
        let roots: Vec<Option<&Path>> = seen.roots_of_function(id.index()).collect();
        let folder = Path::new(path.text()).parent().unwrap_or(Path::new(""));
        let row = *of_place
            .entry((folder, roots.clone()))
            .or_insert_with(|| row_of(path, &roots, places, known));
        functions.extend(row.map(|row| (*id, row)));
    }
    let uses = known.new_uses(places.files);
    profile.with_packages(&found(known, functions, uses))
}

/// Where a function's package can be found.
enum CodePath {
    /// In a folder of packages.
    Installed(String),
    /// A script of the application.
    Script(String),
}

impl CodePath {
    fn text(&self) -> &str {
        match self {
            Self::Installed(path) | Self::Script(path) => path,
        }
    }
}

/// The paths of all functions that may have a package.
fn paths_of(profile: &Profile) -> BTreeMap<FunctionId, CodePath> {
    let (functions, frames) = (profile.functions(), profile.frames());
    let mut is_application = vec![false; functions.len()];
    for id in frames.ids() {
        let frame = frames.row(id);
        is_application[frame.function.index()] |=
            frame.tier.is_javascript() && frame.category == Category::App;
    }
    let path = |id: FunctionId| {
        let function = functions.row(id);
        let path = match function.package.some() {
            Some(_) => installed_path(profile, &function).map(CodePath::Installed),
            None if is_application[id.index()] => {
                profile.source_path(function.source).and_then(script_path).map(CodePath::Script)
            }
            None => None,
        };
        Some((id, path?))
    };
    functions.ids().filter_map(path).collect()
}

/// The path that shows the package of a function: that of its script, of what its script was made from or into, or of
/// its native module.
fn installed_path(profile: &Profile, function: &Function) -> Option<String> {
    let source = function.source.some().map(|id| profile.sources()[id.index()]);
    let generated = source.and_then(|source| profile.source_path(source.generated));
    let paths =
        [profile.source_path(function.source), generated, profile.module_name(function.module)];
    let is_installed = |path: &String| package_folder(path).is_some();
    paths.into_iter().flatten().filter_map(script_path).find(is_installed)
}

/// The package of a path that was seen under these roots: one that differs between them is not known.
fn row_of(
    path: &CodePath,
    roots: &[Option<&Path>],
    places: &MapPlaces<'_>,
    known: &mut KnownPackages,
) -> Option<usize> {
    let mut rows = Vec::new();
    for own in roots {
        let candidates = match own.or(places.root) {
            Some(root) if own.is_none() => vec![Some(root), None],
            root => vec![root],
        };
        let mut row_in = |root: Option<&Path>| {
            let disk = Disk { files: places.files, root };
            match path {
                CodePath::Installed(path) => known.installed(disk, path),
                CodePath::Script(path) => known.script(disk, path),
            }
        };
        rows.extend(candidates.into_iter().find_map(&mut row_in));
    }
    let first = *rows.first()?;
    let is_same = |row: &usize| known.rows[*row].found == known.rows[first].found;
    rows.iter().all(is_same).then_some(first)
}

/// What a profile gets: the rows that its functions and the new uses refer to.
fn found(
    known: &KnownPackages,
    functions: BTreeMap<FunctionId, usize>,
    uses: Vec<(usize, usize)>,
) -> FoundPackages {
    let mut rows: Vec<FoundPackage> = Vec::new();
    let mut places: FxHashMap<usize, usize> = FxHashMap::default();
    let mut place = |row: usize| {
        *places.entry(row).or_insert_with(|| {
            rows.push(known.rows[row].found.clone());
            rows.len() - 1
        })
    };
    let functions = functions.into_iter().map(|(id, row)| (id, place(row))).collect();
    let uses = uses.into_iter().map(|(by, used)| (place(by), place(used))).collect();
    FoundPackages { rows, functions, uses }
}
