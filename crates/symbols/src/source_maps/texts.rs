//! The text of sources, for people who want to see the lines: what a source map carries, because that is what was
//! compiled, else the file on disk. A path comes from a recording, and a recording may come from anywhere: only files
//! that are called like JavaScript or TypeScript are opened, wherever their links lead.

use std::collections::BTreeMap;
use std::io::{Read, SeekFrom};
use std::path::{Path, PathBuf};

use profile::{Profile, SourceId};

use super::MapPlaces;
use super::address::{folder_of, script_path};
use super::find::Finder;
use super::seen::Seen;
use crate::files::Files;

/// What a file must be called.
const ENDINGS: [&str; 8] = [".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];

/// How much text there may be.
#[derive(Clone, Copy, Debug)]
pub struct TextLimits {
    /// In one source, in bytes.
    pub each: u64,
    /// In all of them.
    pub all: u64,
}

/// The texts that a profile carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Sources with their text.
    pub sources: usize,
    /// All of it.
    pub bytes: u64,
    /// Sources with samples whose text was found and had no room.
    pub left_out: usize,
}

/// The same profile with the text of the sources that have samples, the hottest first, as long as there is room.
pub fn with_texts(
    profile: Profile,
    places: &MapPlaces<'_>,
    limits: TextLimits,
) -> (Profile, Carried) {
    let seen = Seen::new(&profile, places.roots);
    let mut reader = Reader::new(places.files);
    let mut texts = BTreeMap::new();
    let mut carried = Carried::default();
    for id in hottest(&profile) {
        let own = profile.source_text(id).map(str::to_owned);
        let roots = seen.roots_of(id.index()).flat_map(|root| candidates(root, places.root));
        let generated = profile.source_path(profile.sources()[id.index()].generated);
        let path = profile.source_path(id).unwrap_or_default();
        let text = own.or_else(|| reader.read(path, generated, roots, MOST_READ));
        let Some(text) = text else { continue };
        let bytes = text.len() as u64;
        if bytes > limits.each || bytes > limits.all - carried.bytes {
            carried.left_out += 1;
            continue;
        }
        carried.sources += 1;
        carried.bytes += bytes;
        texts.insert(id, text);
    }
    (profile.with_source_texts(&texts), carried)
}

/// The text of one source: its path, and the path of what was generated from it, if it was found by a source map.
pub fn text_of(
    path: &str,
    generated: Option<&str>,
    places: &MapPlaces<'_>,
    most_bytes: u64,
) -> Option<String> {
    Reader::new(places.files).read(
        path,
        generated,
        candidates(None, places.root).into_iter(),
        most_bytes,
    )
}

/// A folder of this machine that has what was recorded below a path elsewhere: `/app` is `.`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFolder {
    /// The path in the recording.
    pub prefix: String,
    /// The folder here. Links do not lead out of it.
    pub folder: PathBuf,
}

impl SourceFolder {
    /// What a recorded path is called below the folder.
    fn below(&self, path: &str) -> Option<String> {
        let path = script_path(path)?;
        let rest = path.strip_prefix(self.prefix.trim_end_matches(['/', '\\']))?;
        rest.starts_with(['/', '\\']).then(|| rest.replace('\\', "/"))
    }

    /// Where the file of a recorded path is on this machine, if it is called like a script and exists.
    pub fn place_of(&self, path: &str, files: &dyn Files) -> Option<PathBuf> {
        let below = self.below(path).filter(|path| is_script(Path::new(path)))?;
        files.open(Some(&self.folder), Path::new(&below)).ok()?;
        files.real_path(Some(&self.folder), Path::new(&below)).ok().filter(|real| is_script(real))
    }
}

/// The same as [`text_of`] from the first of these folders that has it.
pub fn text_below(
    path: &str,
    generated: Option<&str>,
    folders: &[SourceFolder],
    files: &dyn Files,
    most_bytes: u64,
) -> Option<String> {
    folders.iter().find_map(|folder| {
        let generated = generated.and_then(|script| folder.below(script));
        let roots = std::iter::once(Some(folder.folder.as_path()));
        Reader::new(files).read(&folder.below(path)?, generated.as_deref(), roots, most_bytes)
    })
}

/// What is read to find out that there is no room for it.
const MOST_READ: u64 = 4 << 20;

/// A process with a root of its own has its files there; else the given root comes first.
fn candidates<'a>(own: Option<&'a Path>, given: Option<&'a Path>) -> Vec<Option<&'a Path>> {
    match (own, given) {
        (Some(own), _) => vec![Some(own)],
        (None, Some(given)) => vec![Some(given), None],
        (None, None) => vec![None],
    }
}

/// The sources of functions that were seen in samples: first those that ran most often, then those that called most.
fn hottest(profile: &Profile) -> Vec<SourceId> {
    let (stacks, frames) = (profile.stacks(), profile.frames());
    let mut own = vec![0u64; stacks.len()];
    for lane in profile.lanes() {
        for (row, stack) in lane.samples.stack.iter().enumerate() {
            if let Some(stack) = stack.some() {
                own[stack.index()] = own[stack.index()].saturating_add(lane.samples_in_row(row));
            }
        }
    }
    let mut totals = own.clone();
    let mut heat = vec![(0u64, 0u64); profile.sources().len()];
    for id in stacks.ids().rev() {
        let row = id.index();
        let function = frames.function[stacks.frame[row].index()];
        if let Some(source) = profile.functions().source[function.index()].some() {
            let (ran, called) = &mut heat[source.index()];
            *ran = ran.saturating_add(own[row]);
            *called = called.saturating_add(totals[row]);
        }
        if let Some(parent) = stacks.parent[row].some() {
            totals[parent.index()] = totals[parent.index()].saturating_add(totals[row]);
        }
    }
    let mut rows: Vec<usize> = (0..heat.len()).filter(|row| heat[*row].1 > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(heat[*row]));
    rows.into_iter().map(SourceId::from_index).collect()
}

/// Reads texts, and keeps what the map that was read last carries: hot sources often come from one bundle.
struct Reader<'a> {
    files: &'a dyn Files,
    finder: Finder<'a>,
    last: Option<Bundle<'a>>,
}

/// What the map of a script carries.
struct Bundle<'a> {
    root: Option<&'a Path>,
    script: String,
    /// The folder that the names are seen from.
    folder: String,
    /// The names as the map has them, and the texts.
    texts: Vec<(String, String)>,
}

impl<'a> Reader<'a> {
    fn new(files: &'a dyn Files) -> Self {
        Self { files, finder: Finder::new(files), last: None }
    }

    fn read(
        &mut self,
        path: &str,
        generated: Option<&str>,
        roots: impl Iterator<Item = Option<&'a Path>>,
        most_bytes: u64,
    ) -> Option<String> {
        let is_small = |text: &String| text.len() as u64 <= most_bytes;
        for root in roots {
            let carried = generated.and_then(|script| self.carried(root, script, path));
            let text = carried.or_else(|| read_script(self.files, root, path, most_bytes));
            if let Some(text) = text.filter(is_small) {
                return Some(text);
            }
        }
        None
    }

    /// The text of a source in the map of a script.
    fn carried(&mut self, root: Option<&'a Path>, script: &str, path: &str) -> Option<String> {
        if !self.last.as_ref().is_some_and(|last| last.root == root && last.script == script) {
            let (texts, folder) = self.contents(root, script).unwrap_or_default();
            self.last = Some(Bundle { root, script: script.to_owned(), folder, texts });
        }
        let Bundle { folder, texts, .. } = self.last.as_ref()?;
        let script = script_path(script)?;
        let project = self.finder.project(root, &script);
        // Most of a bundle's files need not be looked for.
        let file_name = &path[folder_of(path).len()..];
        let may_be =
            |source: &str| file_name.len() > 1 && source.contains(file_name.trim_matches('/'));
        let mut sources = texts.iter().filter(|(source, _)| may_be(source));
        sources
            .find(|(source, _)| project.path_of(source, folder) == path)
            .map(|(_, text)| text.clone())
    }

    fn contents(
        &mut self,
        root: Option<&Path>,
        script: &str,
    ) -> Option<(Vec<(String, String)>, String)> {
        let script = script_path(script)?;
        is_script(Path::new(&script)).then_some(())?;
        self.finder.find_contents(root, &script)
    }
}

/// A file, if it is called like a script, also by its real name.
fn read_script(
    files: &dyn Files,
    root: Option<&Path>,
    path: &str,
    most_bytes: u64,
) -> Option<String> {
    let path = script_path(path).filter(|path| is_script(Path::new(path)))?;
    let real = files.real_path(root, Path::new(&path)).ok().filter(|real| is_script(real))?;
    let mut file = match root {
        // No process can exchange it for a link meanwhile.
        None => files.open_unlinked(None, &real),
        Some(_) => files.open(root, Path::new(&path)),
    }
    .ok()?;
    let length = file.seek(SeekFrom::End(0)).ok().filter(|length| *length <= most_bytes)?;
    file.seek(SeekFrom::Start(0)).ok()?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).ok()?;
    // A film may be called .ts, too.
    let is_text = !bytes.contains(&0);
    is_text.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn is_script(path: &Path) -> bool {
    let name =
        path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
}
