//! Finds the map of a script: inside the script, where its last comment names it, or beside it. Whatever the files
//! hold, reading them is bounded: by size, one by one and in all, and no pipe, device or file of the kernel is read.

use std::io::{Read, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::address::{MapAddress, folder_of, map_address};
use super::comment::{self, Comment};
use super::map::{Map, MapError, contents};
use super::project::Project;
use super::text::ScriptText;
use crate::files::{Files, OpenFile};

/// The largest script or map.
const MOST_FILE_BYTES: u64 = 64 << 20;
/// All scripts and maps of a profile.
const MOST_BYTES: u64 = 1 << 30;
/// The end of a script, which is mostly enough.
const END_BYTES: u64 = 4 << 10;

/// A script, with the map that was found for it.
pub(super) struct Mapped {
    pub(super) map: Map,
    pub(super) text: ScriptText,
    /// The folder that the map's sources are seen from.
    pub(super) folder: String,
}

impl Mapped {
    /// What it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.map.bytes() + self.text.bytes()
    }
}

/// What came of looking for a map.
#[derive(Clone)]
pub(super) enum Outcome {
    Found(Arc<Mapped>),
    /// There is no such script on this machine.
    NoScript,
    /// The script has no map.
    NoMap,
    /// There is a map, and this is wrong with it.
    Damaged(String),
}

/// Access to the disk, with what may still be read.
pub(super) struct Finder<'a> {
    files: &'a dyn Files,
    bytes_left: u64,
}

impl<'a> Finder<'a> {
    pub(super) fn new(files: &'a dyn Files) -> Self {
        Self { files, bytes_left: MOST_BYTES }
    }

    /// Looks for the map of the script at a path.
    pub(super) fn find(&mut self, root: Option<&Path>, path: &str) -> Outcome {
        let (mut file, found) = match self.find_bytes(root, path) {
            Ok(found) => found,
            Err(outcome) => return outcome,
        };
        let map = match Map::parse(&found.bytes) {
            Ok(map) => map,
            Err(error) => return Outcome::Damaged(damage(&found.name, &error)),
        };
        let folder = found.folder;
        drop(found.bytes);
        let Some(Ok(text)) = self.read(&mut file) else { return Outcome::NoMap };
        Outcome::Found(Arc::new(Mapped { map, text: ScriptText::new(text), folder }))
    }

    /// The sources that the map of a script carries: their names as the map has them, and their texts; and the folder
    /// that the names are seen from.
    pub(super) fn find_contents(
        &mut self,
        root: Option<&Path>,
        path: &str,
    ) -> Option<(Vec<(String, String)>, String)> {
        let (_, found) = self.find_bytes(root, path).ok()?;
        Some((contents(&found.bytes), found.folder))
    }

    /// A script, and its map as it is written.
    fn find_bytes(
        &mut self,
        root: Option<&Path>,
        path: &str,
    ) -> Result<(Opened, MapBytes), Outcome> {
        let mut file = open(self.files, root, path).ok_or(Outcome::NoScript)?;
        let address = read_address(&mut file, path).map_err(|TooLarge| Outcome::NoMap)?;
        let found = match address {
            Some(MapAddress::Inline(bytes)) => MapBytes {
                bytes,
                name: format!("the source map in {path}"),
                folder: folder_of(path).to_owned(),
            },
            address => {
                let file = match address {
                    Some(MapAddress::File(file)) => file,
                    _ => format!("{path}.map"),
                };
                let bytes =
                    self.read_map(root, &file).ok_or(Outcome::NoMap)?.map_err(Outcome::Damaged)?;
                MapBytes {
                    bytes,
                    name: format!("the source map {file}"),
                    folder: folder_of(&file).to_owned(),
                }
            }
        };
        Ok((file, found))
    }

    /// The text of a script that has no map.
    pub(super) fn text(&mut self, root: Option<&Path>, path: &str) -> Option<ScriptText> {
        let mut file = open(self.files, root, path)?;
        self.read(&mut file)?.ok().map(ScriptText::new)
    }

    /// The folders around a script.
    pub(super) fn project<'b>(&self, root: Option<&'b Path>, path: &'b str) -> Project<'b>
    where
        'a: 'b,
    {
        Project::new(self.files, root, path)
    }

    /// `None` where there is no such file.
    pub(super) fn read_map(
        &mut self,
        root: Option<&Path>,
        path: &str,
    ) -> Option<Result<Vec<u8>, String>> {
        let mut file = open(self.files, root, path)?;
        let bytes = self.read(&mut file)?;
        Some(
            bytes
                .map_err(|TooLarge| damage(&format!("the source map {path}"), &MapError::TooLarge)),
        )
    }

    /// Reads all of a file, up to the length that it had when it was opened.
    fn read(&mut self, file: &mut Opened) -> Option<Result<Vec<u8>, TooLarge>> {
        if file.length > MOST_FILE_BYTES.min(self.bytes_left) {
            return Some(Err(TooLarge));
        }
        self.bytes_left -= file.length;
        file.read_from(0).map(Ok)
    }
}

/// A map as it is written.
struct MapBytes {
    bytes: Vec<u8>,
    /// What people call it.
    name: String,
    /// The folder that its sources are seen from.
    folder: String,
}

struct TooLarge;

pub(crate) struct Opened {
    file: Box<dyn OpenFile>,
    pub(crate) length: u64,
}

impl Opened {
    /// All bytes from one on.
    pub(crate) fn read_from(&mut self, start: u64) -> Option<Vec<u8>> {
        let length = self.length.checked_sub(start)?;
        self.file.seek(SeekFrom::Start(start)).ok()?;
        let mut bytes = Vec::new();
        (&mut self.file).take(length).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// Opens a file that has a length: those of the kernel have none, and may block for ever.
pub(crate) fn open(files: &dyn Files, root: Option<&Path>, path: &str) -> Option<Opened> {
    let mut file = files.open(root, Path::new(path)).ok()?;
    let length = file.seek(SeekFrom::End(0)).ok().filter(|length| *length > 0)?;
    Some(Opened { file, length })
}

/// The address in a script's last comment. Mostly its last lines are enough.
fn read_address(file: &mut Opened, path: &str) -> Result<Option<MapAddress>, TooLarge> {
    let start = file.length.saturating_sub(END_BYTES);
    let Some(mut bytes) = file.read_from(start) else { return Ok(None) };
    if comment::find(&bytes, start == 0) == Comment::CutOff {
        if file.length > MOST_FILE_BYTES {
            return Err(TooLarge);
        }
        let Some(all) = file.read_from(0) else { return Ok(None) };
        bytes = all;
    }
    Ok(match comment::find(&bytes, true) {
        Comment::Url(url) => Some(map_address(&String::from_utf8_lossy(url), path)),
        Comment::None | Comment::CutOff => None,
    })
}

pub(super) fn damage(name: &str, error: &MapError) -> String {
    format!("{name} {error}: its functions are shown as they were generated")
}
