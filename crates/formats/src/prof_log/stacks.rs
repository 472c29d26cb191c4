//! Distinct stacks while a log is read. An address in a library has no name before the end: then each file is
//! opened once, for all addresses in it.

use std::collections::BTreeMap;

use profile::{Builder, FrameId, StackId};
use rustc_hash::FxHashMap;
use symbols::{Library, NoNames, Sources, name_library};

use super::ticks::Ticks;

/// A row of the libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LibraryId(u32);

/// A row of the stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RawStackId(u32);

/// A frame, with its name or still without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RawFrame {
    Named(FrameId),
    /// So far behind the start of a library.
    InLibrary(LibraryId, u64),
}

/// A frame and the stack that called it, which always comes before.
type RawStack = (Option<RawStackId>, RawFrame);

/// All stacks, each once, and the libraries of their addresses.
#[derive(Default)]
pub(super) struct RawStacks {
    rows: Vec<RawStack>,
    index: FxHashMap<RawStack, RawStackId>,
    libraries: Vec<Library>,
    library_index: FxHashMap<Library, LibraryId>,
}

/// The stacks of a profile, from those of a log.
pub(super) struct Resolved {
    /// For each row its stack.
    stacks: Vec<StackId>,
    /// Why frames have no name, where more is known than that.
    pub(super) reasons: FxHashMap<FrameId, String>,
}

impl Resolved {
    pub(super) fn stack(&self, row: Option<RawStackId>) -> StackId {
        row.map_or(StackId::NONE, |row| self.stacks[row.0 as usize])
    }
}

impl RawStacks {
    /// The workers of a program share their libraries.
    pub(super) fn library(&mut self, library: Library) -> LibraryId {
        let rows = &mut self.libraries;
        *self.library_index.entry(library).or_insert_with_key(|library| {
            rows.push(library.clone());
            LibraryId((rows.len() - 1) as u32)
        })
    }

    pub(super) fn call(&mut self, parent: Option<RawStackId>, frame: RawFrame) -> RawStackId {
        let rows = &mut self.rows;
        *self.index.entry((parent, frame)).or_insert_with(|| {
            rows.push((parent, frame));
            RawStackId((rows.len() - 1) as u32)
        })
    }

    /// Names all addresses and adds all stacks.
    pub(super) fn resolve(self, builder: &mut Builder, sources: &Sources) -> Resolved {
        let mut reasons = FxHashMap::default();
        let mut frames: FxHashMap<(LibraryId, u64), FrameId> = FxHashMap::default();
        for (id, places) in self.places() {
            let library = &self.libraries[id.0 as usize];
            let (names, why) = name(builder, sources, library, &places);
            for (place, name) in places.iter().zip(names) {
                let frame = name.unwrap_or_else(|| Ticks::library_frame(builder, &library.path));
                frames.insert((id, *place), frame);
                if let (None, Some(why)) = (name, &why) {
                    reasons.insert(frame, why.clone());
                }
            }
        }
        let mut stacks: Vec<StackId> = Vec::with_capacity(self.rows.len());
        for (parent, frame) in self.rows {
            let parent = parent.map_or(StackId::NONE, |row| stacks[row.0 as usize]);
            let frame = match frame {
                RawFrame::Named(frame) => frame,
                RawFrame::InLibrary(library, place) => frames[&(library, place)],
            };
            stacks.push(builder.stack(parent, frame));
        }
        Resolved { stacks, reasons }
    }

    /// The places in each library, ascending, each once.
    fn places(&self) -> BTreeMap<LibraryId, Vec<u64>> {
        let mut all: BTreeMap<LibraryId, Vec<u64>> = BTreeMap::new();
        for (_, frame) in &self.rows {
            if let RawFrame::InLibrary(library, place) = frame {
                all.entry(*library).or_default().push(*place);
            }
        }
        for places in all.values_mut() {
            places.sort_unstable();
            places.dedup();
        }
        all
    }
}

/// The frames of those places that have a name, and why the others have none. Of a file that is not here there is
/// nothing to say: logs are often read elsewhere.
fn name(
    builder: &mut Builder,
    sources: &Sources,
    library: &Library,
    places: &[u64],
) -> (Vec<Option<FrameId>>, Option<String>) {
    let mut frames = vec![None; places.len()];
    let outcome = name_library(sources, library, places, |row, symbol| {
        frames[row] = Some(Ticks::function_frame(builder, symbol, &library.path));
    });
    let why = outcome.err().filter(|why| !matches!(why, NoNames::NotHere(_)));
    (frames, why.map(|why| why.to_string()))
}
