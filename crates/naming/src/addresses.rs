//! How a reader that finds addresses instead of names asks for names. What answers opens files and unwinds stacks, so
//! it stands in another crate, and readers need neither.

use std::fmt;
use std::io;
use std::path::PathBuf;

use profile::{Budget, Profile};
use trace::Sink;

/// Names what is only an address in a recording.
pub trait AddressNamer: LibraryNamer {
    /// Makes a profile of a raw recording, which `feed` passes to the sink that it gets. `format` is what the
    /// profile calls its input.
    fn profile_of(self: Box<Self>, format: &str, budget: &Budget, feed: Feed<'_>) -> Profile;
}

/// Passes a raw recording to a sink, from its beginning to its end.
pub type Feed<'a> = Box<dyn FnOnce(&mut (dyn Sink + Send)) + 'a>;

/// Names places in libraries.
pub trait LibraryNamer {
    /// Names places in a library, which are ascending distances from the start of its range; `take` gets the row of
    /// each one that has a name.
    fn name_library(
        &self,
        library: &Library,
        places: &[u64],
        take: &mut dyn FnMut(usize, &str),
    ) -> Result<(), NoNames>;
}

/// A library of which only its path and the size of its code are known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Library {
    /// Its path.
    pub path: String,
    /// From where the whole file would start in memory, or only its code, to where its code ends.
    pub size: u64,
}

/// Why a file gives no names.
#[derive(Debug)]
pub enum NoNames {
    /// It is not where it was.
    NotHere(PathBuf),
    /// It cannot be opened.
    Unreadable(PathBuf, io::Error),
    /// It is another build than the recorded one.
    Changed(PathBuf),
}

impl fmt::Display for NoNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHere(path) => write!(formatter, "the file {} is not here", path.display()),
            Self::Unreadable(path, error) => {
                write!(formatter, "the file {} cannot be read: {error}", path.display())
            }
            Self::Changed(path) => {
                write!(formatter, "the file {} has changed since the recording", path.display())
            }
        }
    }
}

/// A machine without libraries.
pub struct NoLibraries;

impl LibraryNamer for NoLibraries {
    fn name_library(
        &self,
        library: &Library,
        _: &[u64],
        _: &mut dyn FnMut(usize, &str),
    ) -> Result<(), NoNames> {
        Err(NoNames::NotHere(PathBuf::from(&library.path)))
    }
}
