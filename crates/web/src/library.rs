//! What a server has to show. It knows recordings by ids alone; it does not know where they come from.

use std::sync::Arc;

use serde::Serialize;

/// Recordings by ids. An id consists of ASCII letters and digits, and is never a path.
pub trait Library: Send + Sync {
    /// What there is now.
    fn list(&self) -> Listing;

    /// A recording, as a .nodescope file of one chunk.
    fn recording(&self, id: &str) -> Result<Arc<[u8]>, Refusal>;

    /// What the report says of a recording, as JSON.
    fn report(&self, id: &str) -> Result<Arc<[u8]>, Refusal>;

    /// What the list shows of a recording, as JSON.
    fn gist(&self, id: &str) -> Result<Arc<[u8]>, Refusal>;

    /// What is known of recordings by now: ids with what [`Library::gist`] answers for them, as JSON. Reads nothing.
    fn known_gists(&self) -> Arc<[u8]>;

    /// What the report says of a recording against an older one, as JSON.
    fn compared(&self, before: &str, now: &str) -> Result<Arc<[u8]>, Refusal>;

    /// A recording as the page in one file, for people elsewhere.
    fn page(&self, id: &str) -> Result<Arc<[u8]>, Refusal>;

    /// The same of a recording against an older one.
    fn compared_page(&self, before: &str, now: &str) -> Result<Arc<[u8]>, Refusal>;

    /// The text of one row of a recording's sources.
    fn source(&self, id: &str, row: usize) -> Result<String, Refusal>;

    /// Where the file of that row is on this machine.
    fn place(&self, id: &str, row: usize) -> Result<String, Refusal>;
}

/// All recordings, and those to show at once.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listing {
    /// In the order in which they are shown.
    pub recordings: Vec<Listed>,
    /// The ids of one recording to show, or of two to compare; empty where the user has to choose.
    pub open: Vec<String>,
    /// What they are recordings of: the files and folders that the user named.
    pub places: Vec<String>,
}

/// What is known of a recording before it is read.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// What to ask for.
    pub id: String,
    /// Its file's name.
    pub name: String,
    /// Its file's folder, as the user typed it or below what they typed; may be empty.
    pub folder: String,
    /// Its size.
    pub bytes: u64,
    /// When it was written, in milliseconds since 1970.
    pub modified_ms: u64,
}

/// Why there is no answer, as a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing of that name.
    Unknown(String),
    /// It is there and cannot be read.
    Unreadable(String),
}
