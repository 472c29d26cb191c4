//! What was found out about packages. While a recording grows, its functions come bit by bit: each package.json is read
//! once, and which package depends on which is reported once. The number of files that are looked at has a limit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use profile::FoundPackage;
use profile::classify::{package_folder, package_of, project_folder, version_in_path};
use rustc_hash::{FxHashMap, FxHashSet};

use super::file::{self, PackageFile};
use crate::files::Files;
use crate::source_maps::{folder_of, join};

/// How many folders are looked at for a package.json.
const MOST_FILES: usize = 4000;
/// How many packages may be asked what they depend on.
const MOST_PACKAGES: usize = 2000;
/// How many folders upwards of a script its package is looked for, and that of a dependency.
const MOST_FOLDERS: usize = 16;

/// A root folder, and a folder in it.
type Place = (Option<PathBuf>, String);

/// See the module's text.
#[derive(Default)]
pub struct KnownPackages {
    files: FxHashMap<Place, Option<Arc<PackageFile>>>,
    /// The packages that were seen, and the projects that they were installed for.
    pub(super) rows: Vec<KnownPackage>,
    places: FxHashMap<Place, usize>,
    names: FxHashSet<String>,
    /// Where a package finds one that it depends on.
    found: FxHashMap<(usize, String), Option<String>>,
    reported: FxHashSet<(usize, usize)>,
    /// How many rows there were when uses were looked for the last time.
    asked: usize,
}

/// A package, and where it is.
pub(super) struct KnownPackage {
    root: Option<PathBuf>,
    pub(super) found: FoundPackage,
    file: Arc<PackageFile>,
}

/// Where files are.
#[derive(Clone, Copy)]
pub(super) struct Disk<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) root: Option<&'a Path>,
}

impl KnownPackages {
    /// The package of a script or native module that lies in a folder of packages.
    pub(super) fn installed(&mut self, disk: Disk<'_>, path: &str) -> Option<usize> {
        let (name, folder) = (package_of(path)?, package_folder(path)?);
        if let Some(row) = self.row_at(disk, folder) {
            return Some(row);
        }
        let file = self.file(disk, folder).unwrap_or_default();
        let version = file.version.clone().or_else(|| version_in_path(path).map(str::to_owned));
        let project = project_folder(folder);
        let own = project.is_some_and(|project| self.is_of_project(disk, project, name));
        let found = FoundPackage { name: name.to_owned(), version, folder: folder.to_owned(), own };
        let row = self.add(disk, found, file);
        if let Some(project) = project.filter(|_| row.is_some()) {
            self.own(disk, project);
        }
        row
    }

    /// The package of a script that lies in no folder of packages: the next one upwards that has a name.
    pub(super) fn script(&mut self, disk: Disk<'_>, path: &str) -> Option<usize> {
        upwards(folder_of(path)).find_map(|folder| self.own(disk, folder))
    }

    /// The package that the user writes in a folder.
    fn own(&mut self, disk: Disk<'_>, folder: &str) -> Option<usize> {
        if let Some(row) = self.row_at(disk, folder) {
            return Some(row);
        }
        let file = self.file(disk, folder)?;
        let (name, version) = (file.name.clone()?, file.version.clone());
        let folder = folder.to_owned();
        self.add(disk, FoundPackage { name, version, folder, own: true }, file)
    }

    fn row_at(&self, disk: Disk<'_>, folder: &str) -> Option<usize> {
        self.places.get(&place(disk, folder)).copied()
    }

    fn add(
        &mut self,
        disk: Disk<'_>,
        found: FoundPackage,
        file: Arc<PackageFile>,
    ) -> Option<usize> {
        if self.rows.len() == MOST_PACKAGES {
            return None;
        }
        self.places.insert(place(disk, &found.folder), self.rows.len());
        self.names.insert(found.name.clone());
        self.rows.push(KnownPackage { root: disk.root.map(Path::to_owned), found, file });
        Some(self.rows.len() - 1)
    }

    /// The package.json of a folder.
    fn file(&mut self, disk: Disk<'_>, folder: &str) -> Option<Arc<PackageFile>> {
        let place = place(disk, folder);
        if let Some(known) = self.files.get(&place) {
            return known.clone();
        }
        if self.files.len() >= MOST_FILES {
            return None;
        }
        let file = file::read(disk.files, disk.root, folder).map(Arc::new);
        self.files.insert(place, file.clone());
        file
    }

    /// Whether a package among a project's dependencies is the project's own: it lies beside the project, or is one
    /// of its workspaces.
    fn is_of_project(&mut self, disk: Disk<'_>, project: &str, name: &str) -> bool {
        let Some(file) = self.file(disk, project) else { return false };
        if file.local.binary_search_by(|local| local.as_str().cmp(name)).is_ok() {
            return true;
        }
        let has_name = |file: Arc<PackageFile>| file.name.as_deref() == Some(name);
        file.folders_of(name)
            .any(|folder| self.file(disk, &join(project, &folder)).is_some_and(has_name))
    }

    /// Which packages depend on which, as far as that was not reported before.
    pub(super) fn new_uses(&mut self, files: &dyn Files) -> Vec<(usize, usize)> {
        if self.asked == self.rows.len() {
            return Vec::new();
        }
        self.asked = self.rows.len();
        let mut uses = Vec::new();
        for by in 0..self.rows.len() {
            let KnownPackage { root, file, .. } = &self.rows[by];
            let (root, file) = (root.clone(), Arc::clone(file));
            let disk = Disk { files, root: root.as_deref() };
            for name in file
                .dependencies
                .iter()
                .filter(|name| self.names.contains(*name))
                .collect::<Vec<_>>()
            {
                let used =
                    self.dependency(disk, by, name).and_then(|folder| self.row_at(disk, &folder));
                uses.extend(used.map(|used| (by, used)).filter(|pair| self.reported.insert(*pair)));
            }
        }
        uses
    }

    /// The folder in which Node finds a package for another one: the first `node_modules` upwards that has it.
    fn dependency(&mut self, disk: Disk<'_>, by: usize, name: &str) -> Option<String> {
        let key = (by, name.to_owned());
        if let Some(known) = self.found.get(&key) {
            return known.clone();
        }
        let start = self.rows[by].found.folder.clone();
        let places = upwards(&start).filter(|folder| !folder.ends_with("node_modules"));
        let found = places
            .map(|folder| format!("{folder}/node_modules/{name}"))
            .find(|folder| self.row_at(disk, folder).is_some() || self.file(disk, folder).is_some())
            .map(|folder| real(disk, folder));
        self.found.insert(key, found.clone());
        found
    }
}

fn place(disk: Disk<'_>, folder: &str) -> Place {
    (disk.root.map(Path::to_owned), folder.to_owned())
}

/// A folder and those around it.
fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| (!folder.is_empty()).then(|| folder_of(folder)))
        .take(MOST_FOLDERS)
}

/// Where the links of a folder lead to, as its process sees it: package managers link packages into each other.
fn real(disk: Disk<'_>, folder: String) -> String {
    let Ok(path) = disk.files.real_path(disk.root, Path::new(&folder)) else { return folder };
    let inside = match disk.root {
        Some(root) => path.strip_prefix(root).ok().map(|inside| Path::new("/").join(inside)),
        None => Some(path),
    };
    inside.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or(folder)
}
