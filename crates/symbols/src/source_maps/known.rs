//! What was found out about scripts. While a recording grows, its functions come bit by bit: the map of a script is
//! read once, and whether a script was transpiled is judged by all functions so far.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::find::{Mapped, Outcome};
use super::transpiled::{Fit, RanScript};

/// The maps that a growing recording keeps, with their scripts.
const MOST_BYTES: usize = 32 << 20;

/// See the module's text. The default one keeps no maps: for a recording that is whole, each is needed once.
#[derive(Default)]
pub struct KnownScripts {
    most_bytes: usize,
    bytes: usize,
    outcomes: FxHashMap<Place, Outcome>,
    /// By path, and the lengths of its address and its text: under one name there may be another script later.
    ran: FxHashMap<(String, usize, usize), Ran>,
    fits: FxHashMap<Place, Fit>,
}

/// The map of a script, if it has one, or what is wrong with it.
type Ran = Option<Result<Arc<Mapped>, String>>;

/// A root folder, and a path in it.
type Place = (Option<PathBuf>, String);

fn place(root: Option<&Path>, path: &str) -> Place {
    (root.map(Path::to_owned), path.to_owned())
}

impl KnownScripts {
    /// For a recording that grows.
    pub fn growing() -> Self {
        Self { most_bytes: MOST_BYTES, ..Self::default() }
    }

    /// What came of looking for the map of a script.
    pub(super) fn outcome(
        &mut self,
        root: Option<&Path>,
        path: &str,
        find: impl FnOnce() -> Outcome,
    ) -> Outcome {
        if let Some(known) = self.outcomes.get(&place(root, path)) {
            return known.clone();
        }
        let outcome = find();
        let bytes = if let Outcome::Found(mapped) = &outcome { mapped.bytes() } else { 0 };
        if self.has_room(bytes) {
            self.outcomes.insert(place(root, path), outcome.clone());
        }
        outcome
    }

    /// The map of a script that a transpiler made.
    pub(super) fn ran(
        &mut self,
        path: &str,
        script: &RanScript,
        find: impl FnOnce() -> Option<Result<Mapped, String>>,
    ) -> Ran {
        let key = (path.to_owned(), script.map_url.len(), script.text.len());
        if let Some(known) = self.ran.get(&key) {
            return known.clone();
        }
        let found = find().map(|found| found.map(Arc::new));
        let bytes = found.iter().flatten().map(|mapped| mapped.bytes()).sum();
        if self.has_room(bytes) {
            self.ran.insert(key, found.clone());
        }
        found
    }

    /// How all functions so far of a script without a map fit its file: the more are known, the surer it is.
    pub(super) fn fit(&mut self, root: Option<&Path>, path: &str, new: Fit) -> Fit {
        let fit = self.fits.entry(place(root, path)).or_default();
        fit.add(new);
        *fit
    }

    /// Makes room: where there is none, all maps go, and are read again when they are needed.
    fn has_room(&mut self, bytes: usize) -> bool {
        if bytes > self.most_bytes {
            return false;
        }
        if self.bytes + bytes > self.most_bytes {
            self.outcomes.retain(|_, outcome| !matches!(outcome, Outcome::Found(_)));
            self.ran.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        true
    }
}
