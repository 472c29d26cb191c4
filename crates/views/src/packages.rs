//! The text about an npm package: its version, and what pulled it in.

use std::collections::BTreeSet;

use profile::classify::package_of;
use profile::{Package, Profile, StringId};
use rustc_hash::FxHashMap;

/// The versions of packages. Code that a package generated has no folder of its own, so that its version is not known:
/// where the recording has one version of the package only, it is that.
pub(crate) struct Versions(FxHashMap<StringId, Option<StringId>>);

impl Versions {
    pub(crate) fn new(profile: &Profile) -> Self {
        let functions = profile.functions();
        let mut sole: FxHashMap<StringId, Option<StringId>> = FxHashMap::default();
        for (name, version) in functions.package.iter().zip(&functions.version) {
            if let (Some(name), Some(version)) = (name.some(), version.some()) {
                let known = sole.entry(name).or_insert(Some(version));
                *known = known.filter(|known| *known == version);
            }
        }
        Self(sole)
    }

    /// The version that a function of a package counts to.
    pub(crate) fn of(&self, name: StringId, version: StringId) -> StringId {
        let sole = || self.0.get(&name).copied().flatten();
        version.some().or_else(sole).unwrap_or(StringId::NONE)
    }
}

/// A package with its version, as people write it: `lodash 4.17.21`.
pub fn package_words(name: &str, version: Option<&str>) -> String {
    version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}"))
}

/// Whether the user wrote a package.
pub(crate) fn is_own(profile: &Profile, name: StringId, version: StringId) -> bool {
    copies(profile, name, version).any(|(_, package)| package.own)
}

/// The packages that depend on one, as far as they are in the recording; or else the one in whose folder it lies.
pub(crate) fn pulled_in_by(profile: &Profile, name: StringId, version: StringId) -> Vec<String> {
    let rows: BTreeSet<usize> = copies(profile, name, version).map(|(row, _)| row).collect();
    let uses = profile.package_uses().iter();
    let uses = uses.filter(|row| rows.contains(&row.package.index()) && row.by != row.package);
    let words: BTreeSet<String> =
        uses.map(|row| words_of(profile, &profile.packages()[row.by.index()])).collect();
    if !words.is_empty() {
        return words.into_iter().collect();
    }
    let around = |(_, package): (usize, &Package)| {
        let folder = profile.text(package.folder);
        let name = profile.text(package.name);
        let outside = folder.strip_suffix(name)?.trim_end_matches(['/', '\\']);
        package_of(outside.strip_suffix("node_modules")?).map(str::to_owned)
    };
    let folders: BTreeSet<String> = copies(profile, name, version).filter_map(around).collect();
    folders.into_iter().collect()
}

fn words_of(profile: &Profile, package: &Package) -> String {
    let version = package.version.some().map(|id| profile.text(id));
    package_words(profile.text(package.name), version)
}

/// All copies of a package in one version.
fn copies(
    profile: &Profile,
    name: StringId,
    version: StringId,
) -> impl Iterator<Item = (usize, &Package)> {
    let is_it = move |(_, row): &(usize, &Package)| row.name == name && row.version == version;
    profile.packages().iter().enumerate().filter(is_it)
}
