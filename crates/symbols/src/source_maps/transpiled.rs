//! Scripts whose lines are not those of the file that they are named after: a transpiler gave V8 another text. Where
//! the text and its map are known, functions get their places in the file; all others are marked, because a line of
//! a text that is not there is no line of the file.

use std::collections::BTreeMap;
use std::path::Path;

use naming::{ANONYMOUS, GENERATED_MARK, TOP_LEVEL};
use profile::classify::{Code, CodeKind, classify};
use profile::{FunctionId, OriginalFrame, OriginalFunction, Originals, Profile};

use super::address::{MapAddress, folder_of, map_address};
use super::find::{Finder, Mapped, damage};
use super::known::KnownScripts;
use super::map::Map;
use super::names::is_written_at;
use super::project::Project;
use super::script::{Script, spell};
use super::seen::Seen;
use super::text::ScriptText;
use super::{MapPlaces, SourceRows, generated_sources};

/// A script as it ran, where its file has another text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RanScript {
    /// Where its source map is, mostly a `data:` URL; empty where it is unknown.
    pub map_url: Vec<u8>,
    /// Its text.
    pub text: Vec<u8>,
}

/// Endings of files that V8 does not run as they are. Node itself takes the types out of some, and keeps every place.
const ENDINGS: [&str; 9] =
    [".ts", ".mts", ".cts", ".tsx", ".jsx", ".vue", ".svelte", ".astro", ".coffee"];

/// Formats whose lines are V8's own. Others may come from tools that know source maps.
const FORMATS_OF_V8: [&str; 8] = [
    ".cpuprofile",
    "Chrome trace",
    "V8 --prof log",
    "V8 --prof log, preprocessed",
    "perf script",
    "perf.data",
    "recorded by perf events",
    "recorded by the inspector",
];

/// Whether a file must have been transpiled before V8 ran it, by its name.
pub fn is_transpiled_name(path: &str) -> bool {
    let end = path.get(path.len().saturating_sub(8)..).unwrap_or_default().to_ascii_lowercase();
    ENDINGS.iter().any(|ending| end.ends_with(ending))
}

/// The same profile, with these scripts as what they were made from, or marked. Their maps are used where the
/// caller wants that.
pub fn apply_ran(
    profile: Profile,
    scripts: &BTreeMap<String, RanScript>,
    places: &MapPlaces<'_>,
    known: &mut KnownScripts,
    uses_maps: bool,
) -> Profile {
    let mut sources = generated_sources(&profile);
    sources.retain(|_, rows| scripts.contains_key(&rows.path));
    if sources.is_empty() {
        return profile;
    }
    let seen = Seen::new(&profile, places.roots);
    let mut finder = Finder::new(places.files);
    let mut originals = Originals::default();
    for (source, rows) in &sources {
        let root = seen.roots_of(source.index()).next().flatten().or(places.root);
        let script = &scripts[&rows.path];
        let find = || mapped(script, &rows.path, &mut finder, root);
        if let Some(mapped) = uses_maps.then(|| known.ran(&rows.path, script, find)).flatten() {
            let project = Project::new(places.files, root, &rows.path);
            let added = mapped.and_then(|mapped| {
                Script::new(&profile, rows, &mapped, &project).add(&mut originals)
            });
            originals.damage.extend(added.err());
        }
        mark(&profile, rows, &mut originals);
    }
    profile.with_originals(&originals)
}

/// The script with its map, if it has one: inside of it, or in a file that the transpiler keeps.
fn mapped(
    script: &RanScript,
    path: &str,
    finder: &mut Finder<'_>,
    root: Option<&Path>,
) -> Option<Result<Mapped, String>> {
    if script.map_url.is_empty() {
        return None;
    }
    let (bytes, folder) = match map_address(&String::from_utf8_lossy(&script.map_url), path) {
        MapAddress::Inline(bytes) => (Ok(bytes), folder_of(path).to_owned()),
        MapAddress::File(file) => (finder.read_map(root, &file)?, folder_of(&file).to_owned()),
        MapAddress::Elsewhere => return None,
    };
    let name = format!("the source map that a transpiler made for {path}");
    let map = bytes.and_then(|bytes| Map::parse(&bytes).map_err(|error| damage(&name, &error)));
    Some(map.map(|map| Mapped { map, text: ScriptText::new(script.text.clone()), folder }))
}

/// Marks every function of a script that has no original.
pub(super) fn mark(profile: &Profile, rows: &SourceRows, originals: &mut Originals) {
    let path = format!("{}{GENERATED_MARK}", rows.path);
    let mut marked: BTreeMap<FunctionId, OriginalFunction> = BTreeMap::new();
    for id in rows.functions.iter().filter(|id| !originals.functions.contains_key(id)) {
        let function = profile.functions().row(*id);
        let name = profile.text(function.name);
        let code =
            Code { kind: CodeKind::JavaScript, name, source: Some(&rows.path), module: None };
        let class = classify(&code);
        let original = OriginalFunction {
            name: name.to_owned(),
            // Where no line is known, none can be wrong.
            path: if function.line == 0 { rows.path.clone() } else { path.clone() },
            line: function.line,
            column: function.column,
            package: class.package.map(str::to_owned),
            category: class.category,
        };
        marked.insert(*id, original);
    }
    for id in &rows.frames {
        let frame = profile.frames().row(*id);
        let Some(function) = marked.get(&frame.function) else { continue };
        let symbol = spell(profile.text(frame.symbol), &function.name, function);
        originals
            .frames
            .insert(*id, OriginalFrame { line: frame.line, column: frame.column, symbol });
    }
    let ticks = profile.line_ticks();
    for id in &rows.line_ticks {
        let frame = profile.stacks().frame[ticks.stack[id.index()].index()];
        if marked.contains_key(&profile.frames().function[frame.index()]) {
            originals.line_ticks.insert(*id, ticks.line[id.index()]);
        }
    }
    originals.functions.extend(marked);
}

/// Whether a script that is not here must have had another text than its file.
pub(super) fn is_transpiled(profile: &Profile, rows: &SourceRows) -> bool {
    is_transpiled_name(&rows.path) && FORMATS_OF_V8.contains(&profile.meta().format.as_str())
}

/// How the functions of a script without a map fit its file. More of them may come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fit {
    /// How many stand where the recording has them, and how many do not.
    right: usize,
    wrong: usize,
    /// Whether one stands where the file has no text.
    is_beyond: bool,
}

impl Fit {
    pub(super) fn of(profile: &Profile, rows: &SourceRows, text: &ScriptText) -> Self {
        let mut fit = Self::default();
        for id in &rows.functions {
            let function = profile.functions().row(*id);
            if function.line == 0 {
                continue;
            }
            fit.is_beyond |= text.around(function.line, 1).is_none();
            let name = profile.text(function.name);
            if name == TOP_LEVEL || !is_transpiled_name(&rows.path) {
                continue;
            }
            let Some((before, after)) = text.around(function.line, function.column.max(1)) else {
                fit.is_beyond = true;
                continue;
            };
            let name = Some(name).filter(|name| *name != ANONYMOUS);
            match is_written_at(name, before, after, function.column) {
                true => fit.right += 1,
                false => fit.wrong += 1,
            }
        }
        fit
    }

    pub(super) fn add(&mut self, more: Self) {
        self.right += more.right;
        self.wrong += more.wrong;
        self.is_beyond |= more.is_beyond;
    }

    /// Whether the places are none of the file's. V8 names some functions after what stands elsewhere, so most must
    /// fit.
    pub(super) fn is_transpiled(self) -> bool {
        self.is_beyond || self.right < self.wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_what_was_transpiled() {
        for path in ["/srv/a.ts", "/srv/A.TSX", "/srv/a.test.mts", "a.jsx", "/ü.cts"] {
            assert!(is_transpiled_name(path), "{path}");
        }
        for path in ["/srv/a.js", "/srv/ts", "", "/srv/a.ts (generated)", "/srv/ts.mjs", "üüüüüü"]
        {
            assert!(!is_transpiled_name(path), "{path}");
        }
    }
}
