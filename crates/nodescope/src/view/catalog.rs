//! What `view` shows: files and folders that were named, as recordings with ids. A recording is read when the browser
//! asks for it, by the same code as for `report`, and kept as bytes for the page while there is room.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use profile::Profile;
use web::{Library, Listed, Listing, Refusal};

use super::folder::{self, Found, Opened, Stamp};
use super::gists::{Gists, Summary};
use crate::cli::{Reading, SourceFolders};
use crate::failure::{Failure, warn};
use crate::texts::ScriptTexts;
use crate::{export, input, invoked};

/// What is kept of recordings that were read.
const MOST_KEPT_BYTES: usize = 256 << 20;
/// More files than this are read when they are looked at, not all before.
const MOST_READ_AT_ONCE: usize = 2;

const STDIN: &str = "-";

/// Recordings, and how to read them.
pub(super) struct Catalog {
    places: Vec<Place>,
    reading: Reading,
    texts: ScriptTexts,
    /// The recordings to show at once.
    open: Vec<String>,
    ids: Mutex<Ids>,
    opened: Mutex<Opened>,
    kept: Mutex<Kept>,
    gists: Mutex<Gists>,
    /// Reading takes all cores and much memory: one at a time.
    reads: Mutex<()>,
    /// What can be read only once: stdin, and pipes.
    streams: BTreeMap<PathBuf, Arc<Converted>>,
}

enum Place {
    File(PathBuf),
    Folder(PathBuf),
}

impl Place {
    fn path(&self) -> &Path {
        let (Self::File(path) | Self::Folder(path)) = self;
        path
    }
}

/// Numbers for paths, in the order in which they were seen.
#[derive(Default)]
struct Ids {
    paths: Vec<PathBuf>,
    rows: HashMap<PathBuf, usize>,
}

impl Ids {
    fn of(&mut self, path: &Path) -> String {
        let row = self.rows.get(path).copied().unwrap_or_else(|| {
            self.paths.push(path.to_owned());
            self.rows.insert(path.to_owned(), self.paths.len());
            self.paths.len()
        });
        row.to_string()
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        let row: usize = id.parse().ok()?;
        self.paths.get(row.checked_sub(1)?).cloned()
    }
}

/// A recording as the page wants it.
struct Converted {
    bytes: Arc<[u8]>,
    /// Its report for the page, as JSON.
    report: Arc<[u8]>,
    /// What the list shows of it.
    summary: Arc<Summary>,
    sources: Vec<SourceRow>,
}

struct SourceRow {
    path: String,
    generated: Option<String>,
    text: Option<String>,
}

impl Converted {
    fn new(profile: &Profile) -> Result<Self, Failure> {
        let mut bytes = Vec::new();
        profile::file::write(profile, &mut bytes)
            .map_err(|error| Failure::failed(error.to_string()))?;
        let text = |id| profile.text(id).to_owned();
        let row = |source: &profile::Source| SourceRow {
            path: text(source.path),
            generated: profile.source_path(source.generated).map(str::to_owned),
            text: source.text.some().map(text),
        };
        Ok(Self {
            bytes: bytes.into(),
            report: json(&views::page_report(profile))?,
            summary: Summary::of(profile),
            sources: profile.sources().iter().map(row).collect(),
        })
    }

    fn source(&self, row: usize) -> Result<&SourceRow, Refusal> {
        let unknown = || Refusal::Unknown("the recording has no such source".into());
        self.sources.get(row).ok_or_else(unknown)
    }

    fn size(&self) -> usize {
        let of_text = |row: &SourceRow| row.text.as_ref().map_or(0, String::len);
        self.bytes.len() + self.report.len() + self.sources.iter().map(of_text).sum::<usize>()
    }
}

/// The recordings that were looked at last.
#[derive(Default)]
struct Kept {
    rows: VecDeque<(PathBuf, Stamp, Arc<Converted>)>,
}

impl Kept {
    fn get(&mut self, path: &Path, stamp: Stamp) -> Option<Arc<Converted>> {
        let row = self.rows.iter().position(|(known, when, _)| known == path && *when == stamp)?;
        let row = self.rows.remove(row)?;
        let converted = Arc::clone(&row.2);
        self.rows.push_back(row);
        Some(converted)
    }

    fn put(&mut self, path: &Path, stamp: Stamp, converted: &Arc<Converted>) {
        self.rows.retain(|(known, ..)| known != path);
        self.rows.push_back((path.to_owned(), stamp, Arc::clone(converted)));
        let mut size: usize = self.rows.iter().map(|(_, _, converted)| converted.size()).sum();
        // The newest stays, however large: its sources will be asked for, too.
        while size > MOST_KEPT_BYTES
            && self.rows.len() > 1
            && let Some((_, _, oldest)) = self.rows.pop_front()
        {
            size -= oldest.size();
        }
    }
}

impl Catalog {
    /// Looks at what was named. A file that is no recording, and a folder without any, is refused here.
    pub(super) fn open(
        files: &[PathBuf],
        reading: &Reading,
        folders: &SourceFolders,
    ) -> Result<Self, Failure> {
        let mut catalog = Self {
            places: Vec::new(),
            reading: reading.clone(),
            texts: ScriptTexts::new(folders, reading)?,
            open: Vec::new(),
            ids: Mutex::default(),
            opened: Mutex::default(),
            kept: Mutex::default(),
            gists: Mutex::default(),
            reads: Mutex::default(),
            streams: BTreeMap::new(),
        };
        let is_few = files.len() <= MOST_READ_AT_ONCE;
        let mut chosen = Vec::new();
        for file in files {
            let is_folder = file != Path::new(STDIN) && file.is_dir();
            catalog.places.push(if is_folder {
                Place::Folder(file.clone())
            } else {
                Place::File(file.clone())
            });
            if !is_folder {
                chosen.push(catalog.take_in(file, is_few)?);
            }
        }
        catalog.refuse_nothing(files)?;
        if is_few && chosen.len() == files.len() {
            catalog.open = chosen;
        }
        Ok(catalog)
    }

    /// Reads a file that was named, or only opens it where there are many; gives its id.
    fn take_in(&mut self, file: &Path, is_read: bool) -> Result<String, Failure> {
        let stamp = stamp_of(file);
        if !is_read && stamp.is_some() {
            input::open_file(file).map(drop)?;
            return Ok(locked(&self.ids).of(file));
        }
        let profile =
            input::read(file, &self.reading).map_err(|failure| explain_page(file, failure))?;
        for sentence in views::report::warnings(&profile) {
            warn(&format!("{}: {sentence}", file.display()));
        }
        let converted = Arc::new(Converted::new(&profile)?);
        match stamp {
            Some(stamp) => self.keep(file, stamp, &converted),
            None => drop(self.streams.insert(file.to_owned(), converted)),
        }
        Ok(locked(&self.ids).of(file))
    }

    fn refuse_nothing(&self, files: &[PathBuf]) -> Result<(), Failure> {
        if !self.listed().is_empty() {
            return Ok(());
        }
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let what = if names == ["."] { "this folder".to_owned() } else { names.join(", ") };
        let program = invoked::name();
        Err(Failure::failed(format!("there is no recording in {what}"))
            .hint(format!("{program} record PID makes one, and {program} demo shows one")))
    }

    /// All recordings that there are now: files that were named as they were named, those of folders the newest first.
    fn listed(&self) -> Vec<Listed> {
        let mut all = Vec::new();
        for place in &self.places {
            match place {
                Place::File(file) => all.push(self.list_file(file)),
                Place::Folder(folder) => {
                    let found = folder::recordings(folder, &mut locked(&self.opened));
                    all.extend(found.iter().map(|found| self.list_found(found, folder)));
                }
            }
        }
        all
    }

    fn list_file(&self, file: &Path) -> Listed {
        let stamp = stamp_of(file);
        let bytes = self.streams.get(file).map_or(0, |kept| kept.bytes.len() as u64);
        Listed {
            id: locked(&self.ids).of(file),
            name: if file == Path::new(STDIN) { "stdin".to_owned() } else { name_of(file) },
            folder: file.parent().map(|folder| folder.display().to_string()).unwrap_or_default(),
            bytes: stamp.map_or(bytes, |stamp| stamp.bytes),
            modified_ms: milliseconds(stamp.map_or_else(SystemTime::now, |stamp| stamp.modified)),
        }
    }

    fn list_found(&self, found: &Found, folder: &Path) -> Listed {
        let below = found.path.strip_prefix(folder).unwrap_or(&found.path).parent();
        // Where several places are named, people want to know from which one it is.
        let shown = if self.places.len() > 1 { found.path.parent() } else { below };
        Listed {
            id: locked(&self.ids).of(&found.path),
            name: name_of(&found.path),
            folder: shown.map(|folder| folder.display().to_string()).unwrap_or_default(),
            bytes: found.stamp.bytes,
            modified_ms: milliseconds(found.stamp.modified),
        }
    }

    /// What the file of a recording is called.
    fn name(&self, id: &str) -> Result<String, Refusal> {
        let path = locked(&self.ids).path(id).ok_or_else(unknown)?;
        Ok(if path == Path::new(STDIN) { "stdin".to_owned() } else { name_of(&path) })
    }

    /// A recording, read again from what is kept of it.
    fn profile(&self, id: &str) -> Result<Profile, Refusal> {
        let bytes = Arc::clone(&self.converted(id)?.bytes);
        profile::file::read(&bytes).map_err(|error| Refusal::Unreadable(error.to_string()))
    }

    fn converted(&self, id: &str) -> Result<Arc<Converted>, Refusal> {
        let path = locked(&self.ids).path(id).ok_or_else(unknown)?;
        if let Some(stream) = self.streams.get(&path) {
            return Ok(Arc::clone(stream));
        }
        let stamp = stamp_of(&path).ok_or_else(unknown)?;
        if let Some(kept) = locked(&self.kept).get(&path, stamp) {
            return Ok(kept);
        }
        let _one_at_a_time = locked(&self.reads);
        if let Some(kept) = locked(&self.kept).get(&path, stamp) {
            return Ok(kept);
        }
        let converted =
            input::read(&path, &self.reading).and_then(|profile| Converted::new(&profile));
        let refused = |failure: Failure| {
            locked(&self.gists).put(&path, stamp, &Summary::problem(&path, &failure));
            Refusal::Unreadable(failure.sentence().to_owned())
        };
        let converted = Arc::new(converted.map_err(refused)?);
        self.keep(&path, stamp, &converted);
        Ok(converted)
    }

    fn keep(&self, path: &Path, stamp: Stamp, converted: &Arc<Converted>) {
        locked(&self.gists).put(path, stamp, &converted.summary);
        locked(&self.kept).put(path, stamp, converted);
    }

    /// What the list shows of a recording, from what is known or from its file. The recording itself is not kept: the
    /// user may never open it.
    fn summary(&self, id: &str) -> Result<Arc<Summary>, Refusal> {
        let path = locked(&self.ids).path(id).ok_or_else(unknown)?;
        if let Some(stream) = self.streams.get(&path) {
            return Ok(Arc::clone(&stream.summary));
        }
        let stamp = stamp_of(&path).ok_or_else(unknown)?;
        if let Some(known) =
            locked(&self.gists).get(&path, stamp).or_else(|| Summary::unread(stamp))
        {
            return Ok(known);
        }
        let _one_at_a_time = locked(&self.reads);
        if let Some(known) = locked(&self.gists).get(&path, stamp) {
            return Ok(known);
        }
        let summary = match input::read(&path, &self.reading) {
            Ok(profile) => Summary::of(&profile),
            Err(failure) => Summary::problem(&path, &failure),
        };
        locked(&self.gists).put(&path, stamp, &summary);
        Ok(summary)
    }

    /// What is known of recordings as they are now.
    fn known(&self) -> BTreeMap<String, Arc<Summary>> {
        let paths = locked(&self.ids).paths.clone();
        let summary = |path: &PathBuf| match self.streams.get(path) {
            Some(stream) => Some(Arc::clone(&stream.summary)),
            None => locked(&self.gists).get(path, stamp_of(path)?),
        };
        let rows =
            paths.iter().filter_map(|path| Some((locked(&self.ids).of(path), summary(path)?)));
        rows.collect()
    }
}

impl Library for Catalog {
    fn list(&self) -> Listing {
        let places = self.places.iter().map(|place| place.path().display().to_string());
        Listing { recordings: self.listed(), open: self.open.clone(), places: places.collect() }
    }

    fn recording(&self, id: &str) -> Result<Arc<[u8]>, Refusal> {
        Ok(Arc::clone(&self.converted(id)?.bytes))
    }

    fn report(&self, id: &str) -> Result<Arc<[u8]>, Refusal> {
        Ok(Arc::clone(&self.converted(id)?.report))
    }

    fn gist(&self, id: &str) -> Result<Arc<[u8]>, Refusal> {
        json(&*self.summary(id)?)
            .map_err(|failure| Refusal::Unreadable(failure.sentence().to_owned()))
    }

    fn known_gists(&self) -> Arc<[u8]> {
        let known = self.known();
        let rows: BTreeMap<&str, &Summary> =
            known.iter().map(|(id, summary)| (id.as_str(), &**summary)).collect();
        json(&rows).unwrap_or_else(|_| Arc::from(*b"{}"))
    }

    fn compared(&self, before: &str, now: &str) -> Result<Arc<[u8]>, Refusal> {
        let (older, newer) = (self.profile(before)?, self.profile(now)?);
        json(&views::compare_all(&older, &newer))
            .map_err(|failure| Refusal::Unreadable(failure.sentence().to_owned()))
    }

    // As `export` does it without --with-source: what leaves this machine carries no text of sources unasked.
    fn page(&self, id: &str) -> Result<Arc<[u8]>, Refusal> {
        page_answer(export::page_of(&self.profile(id)?.without_source_texts()))
    }

    fn compared_page(&self, before: &str, now: &str) -> Result<Arc<[u8]>, Refusal> {
        let [older, newer] = [self.profile(before)?, self.profile(now)?];
        let (older, newer) = (older.without_source_texts(), newer.without_source_texts());
        let [before_name, now_name] = [self.name(before)?, self.name(now)?];
        page_answer(export::compared_page((&before_name, &older), (&now_name, &newer)))
    }

    fn source(&self, id: &str, row: usize) -> Result<String, Refusal> {
        let converted = self.converted(id)?;
        let source = converted.source(row)?;
        let text = source.text.clone();
        text.or_else(|| self.texts.find(&source.path, source.generated.as_deref())).ok_or_else(
            || {
                Refusal::Unknown(format!(
                    "the text of {} is neither in the recording nor on this machine",
                    source.path
                ))
            },
        )
    }

    fn place(&self, id: &str, row: usize) -> Result<String, Refusal> {
        let converted = self.converted(id)?;
        let path = &converted.source(row)?.path;
        let place =
            self.texts.place(path).and_then(|place| place.into_os_string().into_string().ok());
        place.ok_or_else(|| Refusal::Unknown(format!("{path} is not on this machine")))
    }
}

fn unknown() -> Refusal {
    Refusal::Unknown("there is no such recording, or it is not there any more".into())
}

fn page_answer(page: std::io::Result<String>) -> Result<Arc<[u8]>, Refusal> {
    let page = page.map_err(|error| Refusal::Unreadable(error.to_string()))?;
    Ok(page.into_bytes().into())
}

fn json(value: &impl serde::Serialize) -> Result<Arc<[u8]>, Failure> {
    let text = serde_json::to_vec(value).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(text.into())
}

/// A page of ours is no recording, but people have it at hand.
fn explain_page(file: &Path, failure: Failure) -> Failure {
    let is_page = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html"));
    if is_page {
        failure.hint("a page opens in a browser by itself: it has its recording inside")
    } else {
        failure
    }
}

/// `None` for what is no file, such as a pipe.
fn stamp_of(path: &Path) -> Option<Stamp> {
    let meta = fs::metadata(path).ok().filter(|meta| meta.is_file() && path != Path::new(STDIN));
    meta.map(|meta| Stamp::of(&meta))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// A thread that panicked leaves nothing half done behind a lock here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
