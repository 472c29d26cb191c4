//! Distinct frames and stacks while a log is read. They are named at the end: then each library is opened once, for
//! all addresses in it.

use std::collections::BTreeMap;

use naming::add::{self, Written};
use naming::addresses::{Library, LibraryNamer, NoNames};
use profile::{Budget, Builder, FrameId, ModuleId, StackId};
use rustc_hash::FxHashMap;

/// What stands for code without a name.
const UNKNOWN: &str = "[unknown]";

/// A row of the libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LibraryId(u32);

/// A row of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RawFrameId(u32);

/// A row of the stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RawStackId(u32);

/// What a frame is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum RawFrame {
    /// A piece of V8's code, by its name as in a perf map.
    Code(String),
    /// A native function whose library is not known.
    Native(String),
    /// All functions of a library, by its path.
    Library(String),
    /// What is so far behind the start of a library.
    InLibrary(LibraryId, u64),
    /// What V8 was doing.
    State(&'static str),
    /// An address at which nothing stands.
    Nothing,
}

/// A frame and the stack that called it, which always comes before.
type RawStack = (Option<RawStackId>, RawFrameId);

/// All frames, stacks and libraries, each once.
#[derive(Default)]
pub(super) struct RawStacks {
    frames: Vec<RawFrame>,
    frame_index: FxHashMap<RawFrame, RawFrameId>,
    stacks: Vec<RawStack>,
    stack_index: FxHashMap<RawStack, RawStackId>,
    libraries: Vec<Library>,
    library_index: FxHashMap<Library, LibraryId>,
    /// The memory that all of it takes, and what will be made of it.
    budget: Budget,
}

/// What a frame takes beside its names, and a stack.
const FRAME_COST: usize = 768;
const STACK_COST: usize = 160;

impl RawStacks {
    pub(super) fn within(budget: &Budget) -> Self {
        Self { budget: budget.clone(), ..Self::default() }
    }

    pub(super) fn frame(&mut self, frame: RawFrame) -> RawFrameId {
        let (rows, budget) = (&mut self.frames, &self.budget);
        *self.frame_index.entry(frame).or_insert_with_key(|frame| {
            let name = match frame {
                RawFrame::Code(name) | RawFrame::Native(name) | RawFrame::Library(name) => {
                    name.len()
                }
                RawFrame::InLibrary(..) | RawFrame::State(_) | RawFrame::Nothing => 0,
            };
            budget.take(FRAME_COST + 4 * name);
            rows.push(frame.clone());
            RawFrameId((rows.len() - 1) as u32)
        })
    }

    pub(super) fn call(&mut self, parent: Option<RawStackId>, frame: RawFrameId) -> RawStackId {
        let (rows, budget) = (&mut self.stacks, &self.budget);
        *self.stack_index.entry((parent, frame)).or_insert_with(|| {
            budget.take(STACK_COST);
            rows.push((parent, frame));
            RawStackId((rows.len() - 1) as u32)
        })
    }

    /// The workers of a program share their libraries.
    pub(super) fn library(&mut self, library: Library) -> LibraryId {
        let rows = &mut self.libraries;
        *self.library_index.entry(library).or_insert_with_key(|library| {
            rows.push(library.clone());
            LibraryId((rows.len() - 1) as u32)
        })
    }

    /// Names all frames and adds all stacks.
    pub(super) fn resolve(&self, builder: &mut Builder, namer: &dyn LibraryNamer) -> Resolved {
        let found = self.name_libraries(namer);
        let mut reasons = FxHashMap::default();
        let mut frames = Vec::with_capacity(self.frames.len());
        for raw in &self.frames {
            frames.push(match raw {
                RawFrame::Code(symbol) => add_frame(builder, symbol, Some(naming::GENERATED), None),
                RawFrame::Native(symbol) => add_frame(builder, symbol, None, None),
                RawFrame::State(name) => add_frame(builder, name, None, None),
                RawFrame::Nothing => add_frame(builder, UNKNOWN, None, None),
                RawFrame::Library(path) => add_frame(builder, UNKNOWN, Some(path), Some(path)),
                RawFrame::InLibrary(library, place) => {
                    let path = Some(&*self.libraries[library.0 as usize].path);
                    let Found { names, why } = &found[library];
                    let symbol = names.get(place).map_or(UNKNOWN, String::as_str);
                    let frame = add_frame(builder, symbol, path, path);
                    if let Some(why) = why {
                        reasons.insert(frame, why.clone());
                    }
                    frame
                }
            });
        }
        let mut stacks: Vec<StackId> = Vec::with_capacity(self.stacks.len());
        for (parent, frame) in &self.stacks {
            let parent = parent.map_or(StackId::NONE, |row| stacks[row.0 as usize]);
            stacks.push(builder.stack(parent, frames[frame.0 as usize]));
        }
        Resolved { stacks, reasons }
    }

    fn name_libraries(&self, namer: &dyn LibraryNamer) -> BTreeMap<LibraryId, Found> {
        let mut wanted: BTreeMap<LibraryId, Vec<u64>> = BTreeMap::new();
        for frame in &self.frames {
            if let RawFrame::InLibrary(library, place) = frame {
                wanted.entry(*library).or_default().push(*place);
            }
        }
        let name = |(id, mut places): (LibraryId, Vec<u64>)| {
            places.sort_unstable();
            (id, Found::of(namer, &self.libraries[id.0 as usize], &places))
        };
        wanted.into_iter().map(name).collect()
    }
}

/// What a library contains about its places.
struct Found {
    names: FxHashMap<u64, String>,
    /// Why there are no names, where more is known than that.
    why: Option<String>,
}

impl Found {
    /// A file that is not here is no loss to report: logs are often read elsewhere.
    fn of(namer: &dyn LibraryNamer, library: &Library, places: &[u64]) -> Self {
        let mut names = FxHashMap::default();
        let outcome = namer.name_library(library, places, &mut |row, symbol| {
            names.insert(places[row], symbol.to_owned());
        });
        let why = outcome.err().filter(|why| !matches!(why, NoNames::NotHere(_)));
        Self { names, why: why.map(|why| why.to_string()) }
    }
}

/// The stacks of a profile, from those of a log.
pub(super) struct Resolved {
    stacks: Vec<StackId>,
    reasons: FxHashMap<FrameId, String>,
}

impl Resolved {
    pub(super) fn stack(&self, row: Option<RawStackId>) -> StackId {
        row.map_or(StackId::NONE, |row| self.stacks[row.0 as usize])
    }

    /// Why a frame has no name, where that is known.
    pub(super) fn reason(&self, frame: FrameId) -> Option<String> {
        self.reasons.get(&frame).cloned()
    }
}

fn add_frame(
    builder: &mut Builder,
    symbol: &str,
    home: Option<&str>,
    module: Option<&str>,
) -> FrameId {
    let named = naming::name(symbol, home);
    let module = module.map_or(ModuleId::NONE, |name| builder.module(name, None));
    add::frame(builder, &named, module, &Written { symbol, inlined: false })
}
