//! The text of scripts that a recording names, from this machine: below the folders that the user gave for paths of
//! another one, then at the path in the recording. Only the scripts of a recording are ever looked for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use symbols::Disk;
use symbols::source_maps::{self, MapPlaces, SourceFolder};

use crate::cli::{Reading, SourceFolders};
use crate::failure::Failure;

/// The longest text that is shown.
const MOST_BYTES: u64 = 4 << 20;

/// Where texts are looked for.
pub(crate) struct ScriptTexts {
    folders: Vec<SourceFolder>,
    root: Option<PathBuf>,
    leaves_maps: bool,
}

impl ScriptTexts {
    /// As it was typed. A folder that was named must be there.
    pub(crate) fn new(typed: &SourceFolders, reading: &Reading) -> Result<Self, Failure> {
        let folders = typed.sources.iter().map(|text| folder(text)).collect::<Result<_, _>>()?;
        let (root, leaves_maps) = (reading.names.root.clone(), reading.maps.no_source_maps);
        Ok(Self { folders, root, leaves_maps })
    }

    /// The text of a script: its path, and that of what was generated from it.
    pub(crate) fn find(&self, path: &str, generated: Option<&str>) -> Option<String> {
        let generated = generated.filter(|_| !self.leaves_maps);
        source_maps::text_below(path, generated, &self.folders, &Disk, MOST_BYTES).or_else(|| {
            let (root, roots) = (self.root.as_deref(), &BTreeMap::new());
            let places = MapPlaces { files: &Disk, root, roots };
            source_maps::text_of(path, generated, &places, MOST_BYTES)
        })
    }

    /// Where a script is on this machine, for an editor.
    pub(crate) fn place(&self, path: &str) -> Option<PathBuf> {
        let here = SourceFolder { prefix: String::new(), folder: PathBuf::from("/") };
        let folders = self.folders.iter().chain([&here]);
        folders.filter_map(|folder| folder.place_of(path, &Disk)).next()
    }
}

/// Reads `/app=.`
fn folder(typed: &str) -> Result<SourceFolder, Failure> {
    let wrong = |why: String| {
        Failure::usage(format!("--sources {typed}: {why}"))
            .hint("--sources /app=. says that what was recorded below /app is in this folder")
    };
    let (prefix, folder) = typed.split_once('=').ok_or_else(|| wrong("it is PREFIX=DIR".into()))?;
    if !prefix.starts_with('/') && !prefix.contains(':') {
        return Err(wrong(format!("{prefix} is not the start of a path in a recording")));
    }
    let real = fs::canonicalize(Path::new(folder)).ok().filter(|folder| folder.is_dir());
    let folder = real.ok_or_else(|| wrong(format!("there is no folder {folder}")))?;
    Ok(SourceFolder { prefix: prefix.to_owned(), folder })
}
