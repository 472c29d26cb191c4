//! Source maps: generated JavaScript by what it was made from. [`apply`] takes a profile and gives the same one with
//! original files, lines and names, for every script whose map is found. It does not matter where the profile comes
//! from. What is not found stays as it was, silently: many recordings come from other machines.
//!
//! [`apply`] reads no text of original files; [`with_texts`] and [`text_of`] do, for callers that show it. Nothing
//! is ever fetched.

mod address;
mod comment;
mod find;
mod known;
mod map;
mod names;
mod project;
mod script;
mod seen;
mod text;
mod texts;
mod transpiled;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use profile::{FrameId, FunctionId, Originals, Profile, RowId, SourceId};

use crate::files::Files;
pub use address::script_path;
pub(crate) use address::{folder_of, join};
pub(crate) use find::open;
use find::{Finder, Mapped, Outcome};
pub use known::KnownScripts;
use script::Script;
pub(crate) use seen::Seen;
use transpiled::{Fit, is_transpiled, mark};

pub use texts::{Carried, SourceFolder, TextLimits, text_below, text_of, with_texts};
pub use transpiled::{RanScript, apply_ran, is_transpiled_name};

/// Where scripts and their maps are.
#[derive(Clone, Copy)]
pub struct MapPlaces<'a> {
    /// Access to the disk.
    pub files: &'a dyn Files,
    /// The root folder of the recorded processes, where it is not ours: its files come first.
    pub root: Option<&'a Path>,
    /// The roots of single processes, by pid: nothing else is looked at for them.
    pub roots: &'a BTreeMap<u32, PathBuf>,
}

/// The same profile with original files, lines and names where a source map has them, and a mark where lines are not
/// those of the file that they are shown with.
pub fn apply(profile: Profile, places: &MapPlaces<'_>) -> Profile {
    apply_known(profile, places, &mut KnownScripts::default(), true)
}

/// The same profile with the marks alone.
pub fn mark_generated(profile: Profile, places: &MapPlaces<'_>) -> Profile {
    apply_known(profile, places, &mut KnownScripts::default(), false)
}

/// The same for a part of a recording, where more is known of its scripts.
pub fn apply_known(
    profile: Profile,
    places: &MapPlaces<'_>,
    known: &mut KnownScripts,
    uses_maps: bool,
) -> Profile {
    let sources = generated_sources(&profile);
    let seen = Seen::new(&profile, places.roots);
    let mut finder = Finder::new(places.files);
    // Files change after a recording was made: what was held against them once is right.
    let marks = !profile.meta().lines_are_checked;
    let mut originals = Originals { checks_lines: !sources.is_empty(), ..Originals::default() };
    for (source, rows) in &sources {
        let mut look =
            |root: Option<&Path>| known.outcome(root, &rows.path, || finder.find(root, &rows.path));
        let sought = find(&rows.path, seen.roots_of(source.index()), places, &mut look);
        let added = match sought {
            Ok(Sought::Found(_)) if !uses_maps => Ok(()),
            Ok(Sought::Found(Found { mapped, root })) => {
                let project = finder.project(root, &rows.path);
                Script::new(&profile, rows, &mapped, &project).add(&mut originals)
            }
            Ok(Sought::NoMap(_) | Sought::NoScript) if !marks => Ok(()),
            Ok(Sought::NoMap(root)) => {
                let fit = finder.text(root, &rows.path).map(|text| Fit::of(&profile, rows, &text));
                if known.fit(root, &rows.path, fit.unwrap_or_default()).is_transpiled() {
                    mark(&profile, rows, &mut originals);
                }
                Ok(())
            }
            Ok(Sought::NoScript) => {
                if is_transpiled(&profile, rows) {
                    mark(&profile, rows, &mut originals);
                }
                Ok(())
            }
            Err(_) if !uses_maps => Ok(()),
            Err(sentence) => Err(sentence),
        };
        originals.damage.extend(added.err());
    }
    profile.with_originals(&originals)
}

/// What a profile has of one script.
struct SourceRows {
    /// The script's path on its machine.
    path: String,
    functions: Vec<FunctionId>,
    frames: Vec<FrameId>,
    line_ticks: Vec<RowId>,
}

/// The scripts that may have been generated, with their rows.
fn generated_sources(profile: &Profile) -> BTreeMap<SourceId, SourceRows> {
    let (functions, frames) = (profile.functions(), profile.frames());
    let mut sources: BTreeMap<SourceId, SourceRows> = BTreeMap::new();
    for (row, source) in profile.sources().iter().enumerate() {
        let path = script_path(profile.text(source.path));
        if let Some(path) = path.filter(|_| source.generated.some().is_none()) {
            let (functions, frames, line_ticks) = (Vec::new(), Vec::new(), Vec::new());
            sources.insert(
                SourceId::from_index(row),
                SourceRows { path, functions, frames, line_ticks },
            );
        }
    }
    if sources.is_empty() {
        return sources;
    }
    // A function of a native source file has a path, too.
    let mut is_javascript = vec![false; functions.len()];
    for id in frames.ids() {
        is_javascript[frames.function[id.index()].index()] |=
            frames.tier[id.index()].is_javascript();
    }
    for id in functions.ids().filter(|id| is_javascript[id.index()]) {
        if let Some(rows) = sources.get_mut(&functions.source[id.index()]) {
            rows.functions.push(id);
        }
    }
    sources.retain(|_, rows| !rows.functions.is_empty());
    let is_listed = |id: FunctionId| is_javascript[id.index()];
    for id in frames.ids() {
        let function = frames.function[id.index()];
        if let Some(rows) =
            sources.get_mut(&functions.source[function.index()]).filter(|_| is_listed(function))
        {
            rows.frames.push(id);
        }
    }
    for id in profile.line_ticks().ids() {
        let stack = profile.line_ticks().stack[id.index()];
        let function = frames.function[profile.stacks().frame[stack.index()].index()];
        if let Some(rows) =
            sources.get_mut(&functions.source[function.index()]).filter(|_| is_listed(function))
        {
            rows.line_ticks.push(id);
        }
    }
    sources
}

/// A script and its map, and the root that they were found under.
struct Found<'a> {
    mapped: Arc<Mapped>,
    root: Option<&'a Path>,
}

/// What came of looking for the map of a script.
enum Sought<'a> {
    Found(Found<'a>),
    /// The script is there, under this root, and has no map.
    NoMap(Option<&'a Path>),
    /// It is on another machine.
    NoScript,
}

/// The map of a script that was seen under these roots.
fn find<'a>(
    path: &str,
    roots: impl Iterator<Item = Option<&'a Path>>,
    places: &MapPlaces<'a>,
    look: &mut dyn FnMut(Option<&Path>) -> Outcome,
) -> Result<Sought<'a>, String> {
    let mut found: Option<Found<'a>> = None;
    let mut without = None;
    for own in roots {
        let candidates = match own.or(places.root) {
            Some(root) if own.is_some() => vec![Some(root)],
            Some(root) => vec![Some(root), None],
            None => vec![None],
        };
        for root in candidates {
            match (look(root), &found) {
                (Outcome::NoScript, _) => continue,
                (Outcome::NoMap, _) => without = without.or(Some(root)),
                (Outcome::Damaged(sentence), _) => return Err(sentence),
                (Outcome::Found(mapped), Some(known))
                    if !mapped.text.is_same(&known.mapped.text) =>
                {
                    return Err(format!(
                        "{path} differs between containers: its functions are shown as they were generated"
                    ));
                }
                (Outcome::Found(_), Some(_)) => {}
                (Outcome::Found(mapped), None) => found = Some(Found { mapped, root }),
            }
            break;
        }
    }
    Ok(match (found, without) {
        (Some(found), _) => Sought::Found(found),
        (None, Some(root)) => Sought::NoMap(root),
        (None, None) => Sought::NoScript,
    })
}
