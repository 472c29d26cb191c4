//! The cases of corpus/: what a user would open, as it is and behind its compression.

use std::fs;
use std::io::Read;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use formats::ImportOptions;
use profile::Profile;
use symbols::Sources;

/// A folder of corpus/ and its input.
pub struct Case {
    pub name: String,
    /// The input as it is in the repository, perhaps compressed.
    pub bytes: Vec<u8>,
}

impl Case {
    /// The input without its compression.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        match *self.bytes {
            [0x1f, 0x8b, ..] => {
                flate2::read::MultiGzDecoder::new(&*self.bytes).read_to_end(&mut text).unwrap();
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let mut rest = &*self.bytes;
                while !rest.is_empty() {
                    let mut frame = ruzstd::decoding::StreamingDecoder::new(&mut rest).unwrap();
                    frame.read_to_end(&mut text).unwrap();
                }
            }
            _ => text.clone_from(&self.bytes),
        }
        text
    }

    pub fn is_compressed(&self) -> bool {
        matches!(*self.bytes, [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..])
    }

    /// JSON shows nothing before its last bracket, or little.
    pub fn is_json(&self) -> bool {
        matches!(self.text().first(), Some(b'{' | b'['))
    }

    /// Each line stands for itself.
    pub fn is_text(&self) -> bool {
        !self.is_json() && !self.text().starts_with(b"PERFILE2")
    }

    pub fn import(&self) -> Profile {
        import(&self.bytes, 1).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// All cases, by name.
pub fn cases() -> Vec<Case> {
    let mut folders: Vec<PathBuf> = corpus()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let cases: Vec<Case> = folders.iter().filter_map(|folder| read(folder)).collect();
    assert!(cases.len() >= 60, "only {} cases in corpus/", cases.len());
    cases
}

/// One case.
pub fn case(name: &str) -> Case {
    read(&corpus().join(name)).unwrap_or_else(|| panic!("corpus/{name} has no input"))
}

/// Reads bytes on that many threads.
pub fn import(bytes: &[u8], threads: usize) -> Result<Profile, formats::ImportError> {
    let threads = NonZero::new(threads).unwrap();
    formats::import(bytes, ImportOptions { threads, namer: Box::new(Sources::nowhere()) })
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

fn read(folder: &Path) -> Option<Case> {
    let files = folder.read_dir().ok()?.map(|entry| entry.unwrap().path());
    // Our own files are not imported; what they hold is tested elsewhere.
    let is_input = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("input.") && !name.ends_with(".nodescope")
    };
    let bytes = fs::read(files.filter(is_input).min()?).unwrap();
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    Some(Case { name, bytes })
}
