//! Whose code a profile shows: the npm packages that functions belong to, with versions, and which of these packages
//! the user wrote. A package.json is read elsewhere; here a profile is only made anew with it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::category::Category;
use crate::ids::{FunctionId, PackageId, StringId};
use crate::model::Profile;
use crate::tables::{Package, PackageUse};

/// What was found out about the packages of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPackages {
    /// The packages.
    pub rows: Vec<FoundPackage>,
    /// The package of a function, as a row of `rows`. Functions that are not mentioned stay as they are.
    pub functions: BTreeMap<FunctionId, usize>,
    /// Which row depends on which.
    pub uses: Vec<(usize, usize)>,
}

/// A copy of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FoundPackage {
    /// Its name, scope included.
    pub name: String,
    /// Its version, where it is known.
    pub version: Option<String>,
    /// Its folder.
    pub folder: String,
    /// Whether the user wrote it.
    pub own: bool,
}

/// Names of packages that are the user's own: patterns in which `*` stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnNames(Vec<String>);

impl OwnNames {
    /// No package.
    pub const NONE: Self = Self(Vec::new());

    /// Those that match one of these patterns.
    pub fn new(patterns: &[String]) -> Self {
        Self(patterns.to_vec())
    }

    /// Whether a package is among them. A scope on Windows may end in a backslash.
    pub fn has(&self, name: &str) -> bool {
        let name = name.replace('\\', "/");
        self.0.iter().any(|pattern| matches(pattern, &name))
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What stands before the first `*` begins the name, what stands behind the last one ends it, and the other parts come
/// in between in their order.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(end)
}

impl Profile {
    /// The same recording with these packages: functions have their package and its version, and what the user wrote
    /// counts as the application.
    pub fn with_packages(mut self, found: &FoundPackages) -> Profile {
        if found.rows.is_empty() {
            return self;
        }
        let mut texts = Texts::of(&self);
        let rows: Vec<Package> =
            found.rows.iter().map(|row| texts.package(&mut self, row)).collect();
        let mut is_own = vec![false; self.functions.len()];
        for (id, at) in &found.functions {
            let (Some(row), true) = (rows.get(*at), id.index() < is_own.len()) else { continue };
            self.functions.package[id.index()] = row.name;
            self.functions.version[id.index()] = row.version;
            is_own[id.index()] = row.own;
        }
        let first = self.packages.len();
        self.packages.extend(rows);
        let package = |at: usize| PackageId::from_index(first + at);
        let is_row = |at: &usize| *at < found.rows.len();
        let uses = found.uses.iter().filter(|(by, used)| is_row(by) && is_row(used));
        let row =
            |(by, used): &(usize, usize)| PackageUse { by: package(*by), package: package(*used) };
        self.package_uses.extend(uses.map(row));
        self.count_as_application(&is_own);
        self
    }

    /// The same recording with the JavaScript of these packages as the application's own.
    pub fn with_own(mut self, names: &OwnNames) -> Profile {
        if names.is_empty() {
            return self;
        }
        let mut known: FxHashMap<StringId, bool> = FxHashMap::default();
        let strings = &self.strings;
        let mut is_own = |name: StringId| {
            let name = name.some()?;
            Some(*known.entry(name).or_insert_with(|| names.has(strings.get(name))))
        };
        let functions: Vec<bool> =
            self.functions.package.iter().map(|name| is_own(*name) == Some(true)).collect();
        for row in &mut self.packages {
            row.own |= is_own(row.name) == Some(true);
        }
        self.count_as_application(&functions);
        self
    }

    /// Gives these functions to the application. Only JavaScript of packages changes: an addon stays native code, and
    /// what garbage collection claims stays its own.
    fn count_as_application(&mut self, functions: &[bool]) {
        let mut frames = vec![false; self.frames.len()];
        for (row, function) in self.frames.function.iter().enumerate() {
            let category = &mut self.frames.category[row];
            if functions[function.index()] && *category == Category::Dependency {
                *category = Category::App;
                frames[row] = true;
            }
        }
        for (category, frame) in self.stacks.category.iter_mut().zip(&self.stacks.frame) {
            if frames[frame.index()] && *category == Category::Dependency {
                *category = Category::App;
            }
        }
    }
}

/// The rows of the texts that packages have. Other texts may be equal to one of these: no list is made by them.
struct Texts(FxHashMap<String, StringId>);

impl Texts {
    fn of(profile: &Profile) -> Self {
        let functions = &profile.functions;
        let of_packages =
            profile.packages.iter().flat_map(|row| [row.name, row.version, row.folder]);
        let ids = functions.package.iter().chain(&functions.version).copied().chain(of_packages);
        let mut texts = FxHashMap::default();
        for id in ids.filter_map(StringId::some) {
            texts.entry(profile.text(id).to_owned()).or_insert(id);
        }
        Self(texts)
    }

    fn row(&mut self, profile: &mut Profile, text: &str) -> StringId {
        *self.0.entry(text.to_owned()).or_insert_with(|| profile.strings.push(text))
    }

    fn package(&mut self, profile: &mut Profile, found: &FoundPackage) -> Package {
        let FoundPackage { name, version, folder, own } = found;
        let version = version.as_deref();
        Package {
            name: self.row(profile, name),
            version: version.map_or(StringId::NONE, |version| self.row(profile, version)),
            folder: self.row(profile, folder),
            own: *own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let rows: &[(&str, &str, bool)] = &[
            ("@acme/*", "@acme/ui", true),
            ("@acme/*", "@acme\\ui", true),
            ("@acme/*", "@acme2/ui", false),
            ("@acme/*", "acme", false),
            ("@acme/ui", "@acme/ui", true),
            ("@acme/ui", "@acme/ui2", false),
            ("acme-*", "acme-ui", true),
            ("acme-*", "my-acme-ui", false),
            ("*-internal", "ui-internal", true),
            ("*-internal", "ui-internals", false),
            ("@acme/*-core-*", "@acme/ui-core-x", true),
            ("@acme/*-core-*", "@acme/ui-core", false),
            ("a*a", "a", false),
            ("a*b*b", "ab", false),
            ("*", "lodash", true),
            ("**", "lodash", true),
            ("", "lodash", false),
        ];
        for (pattern, name, expected) in rows {
            let names = OwnNames::new(&[(*pattern).to_owned()]);
            assert_eq!(names.has(name), *expected, "{pattern} {name}");
        }
        assert!(!OwnNames::default().has("lodash"));
    }
}
