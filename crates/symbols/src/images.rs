//! Finds the file that a module was, and names its addresses. A file that has changed since the recording would
//! give wrong names, so it gives none.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use elf::{Elf, Parts, Segments, SymbolIndex, Table, UnwindTables};
use naming::addresses::{Library, NoNames};

use crate::files::{OpenFile, path_of};
use crate::places::Module;
use crate::sources::Sources;

/// A file that is read where it matters.
pub(crate) type Image = Parts<Box<dyn OpenFile>>;

/// Where distributions put what they stripped from their files.
const DEBUG_FOLDER: &str = "/usr/lib/debug";

/// What the kernel calls its own code in a process.
pub(crate) const VDSO: &[u8] = b"[vdso]";

/// What the kernel appends to the path of a file that was replaced.
const DELETED: &[u8] = b" (deleted)";

/// A file whose functions are known.
pub(crate) struct NamedFile {
    image: Image,
    index: Arc<SymbolIndex>,
    /// What was stripped from it.
    debug: Option<(Image, Arc<SymbolIndex>)>,
}

impl NamedFile {
    /// Finds the file of a module and looks through its functions. `None` for what is no file, or none of ours.
    pub(crate) fn find(sources: &Sources, module: &Module) -> Result<Option<Self>, NoNames> {
        let image = find_module(sources, module)?;
        Ok(image.and_then(|image| Self::of(sources, module.root.as_deref(), image)))
    }

    fn of(sources: &Sources, root: Option<&Path>, image: Image) -> Option<Self> {
        let (index, debug) = {
            let elf = Elf::parse(&image).ok()?;
            let symbols = elf.symbols();
            let build_id = elf.build_id().filter(|_| symbols.is_stripped());
            (symbols.index(), find_debug_file(sources, root, build_id))
        };
        let debug = debug.and_then(|image| {
            let index = Elf::parse(&image).ok()?.symbols().index();
            Some((image, index))
        });
        Some(Self { image, index, debug })
    }

    /// What it takes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let debug =
            self.debug.as_ref().map_or(0, |(image, index)| image.kept_bytes() + index.bytes());
        self.image.kept_bytes() + self.index.bytes() + debug
    }

    /// Names offsets in the file, which ascend; `take` gets the row of each one that has a name.
    pub(crate) fn name(&self, demangle: bool, wanted: &[u64], take: impl FnMut(usize, &str)) {
        if let Ok(image) = Elf::parse(&self.image) {
            self.name_in(&image, demangle, wanted.iter().copied(), take);
        }
    }

    fn name_in(
        &self,
        image: &Elf<'_, &Image>,
        demangle: bool,
        offsets: impl Iterator<Item = u64>,
        mut take: impl FnMut(usize, &str),
    ) {
        let symbols = image.symbols_of(&self.index);
        let debug =
            self.debug.as_ref().and_then(|(file, index)| Some((Elf::parse(file).ok()?, index)));
        let debug = debug.map(|(elf, index)| elf.symbols_of(index));
        let mut debug = debug.as_ref().map(|symbols| symbols.finder(demangle));
        let mut finder = symbols.finder(demangle);
        for (row, offset) in offsets.enumerate() {
            let Some(address) = image.address_of(offset) else { continue };
            let stripped = debug.as_mut().and_then(|debug| debug.find(address));
            if let Some(symbol) = stripped.or_else(|| finder.find(address)) {
                take(row, &symbol.name);
            }
        }
    }
}

/// Names places in a library, which are ascending distances from the start of its range; `take` gets the row of
/// each one that has a name. Nothing but the size shows whether the file is still the same.
pub(crate) fn name_library(
    sources: &Sources,
    library: &Library,
    wanted: &[u64],
    take: impl FnMut(usize, &str),
) -> Result<(), NoNames> {
    let fits = |image: &Elf<'_, &Image>| image.start_of_range(library.size).is_some();
    let root = sources.root.as_deref();
    let file = find_file(sources, root, (library.path.as_bytes(), None), fits)?;
    if let Some(file) = file.and_then(|image| NamedFile::of(sources, root, image))
        && let Ok(image) = Elf::parse(&file.image)
        && let Some(start) = image.start_of_range(library.size)
    {
        let offsets = wanted.iter().map(|distance| start.wrapping_add(*distance));
        file.name_in(&image, sources.demangle, offsets, take);
    }
    Ok(())
}

/// How to find callers in a file, kept without the file.
pub(crate) struct Tables {
    /// .eh_frame_hdr: where it is, and what it holds.
    pub(crate) index: (u64, Arc<[u8]>),
    /// .eh_frame.
    pub(crate) frames: (u64, Arc<[u8]>),
    /// Where .text begins.
    pub(crate) text: u64,
    /// What the tables cover.
    pub(crate) covered: Vec<Range<u64>>,
    pub(crate) covered_bytes: u64,
    /// The functions of which framehop does not understand the tables.
    pub(crate) expressions: Vec<Range<u64>>,
    pub(crate) segments: Segments,
}

impl Tables {
    pub(crate) fn size(&self) -> usize {
        self.index.1.len() + self.frames.1.len()
    }
}

/// The unwind tables of a module, if its file is here and is the recorded one. It may have no tables.
pub(crate) fn read_tables(sources: &Sources, module: &Module) -> Option<Tables> {
    let file = find_module(sources, module).ok()??;
    let image = Elf::parse(&file).ok()?;
    let none = Table { address: 0, bytes: &[] };
    let tables = image.unwind_tables().unwrap_or_else(|| UnwindTables {
        index: none,
        frames: none,
        text: 0,
        covered: Vec::new(),
        covered_bytes: 0,
        expressions: Vec::new(),
    });
    let UnwindTables { index, frames, text, covered, covered_bytes, expressions } = tables;
    let keep = |table: Table<'_>| (table.address, table.bytes.into());
    Some(Tables {
        index: keep(index),
        frames: keep(frames),
        text,
        covered,
        covered_bytes,
        expressions,
        segments: image.segments().clone(),
    })
}

/// The file that a mapping of a process shows.
pub(crate) fn find_module(sources: &Sources, module: &Module) -> Result<Option<Image>, NoNames> {
    let recorded = module.build_id.as_deref();
    match &*module.path {
        VDSO => Ok(find_vdso(sources, recorded)),
        path => match sources.kept.get(path) {
            Some(kept) => Ok(sources.files.open(None, kept).and_then(Parts::new).ok()),
            None => find_file(sources, module.root.as_deref(), (path, recorded), |_| true),
        },
    }
}

/// The file that was mapped: the recorded build, or else one that fits. `None` for what is no file.
fn find_file(
    sources: &Sources,
    root: Option<&Path>,
    (recorded_path, build_id): (&[u8], Option<&[u8]>),
    fits: impl Fn(&Elf<'_, &Image>) -> bool,
) -> Result<Option<Image>, NoNames> {
    if !recorded_path.starts_with(b"/") {
        return Ok(None);
    }
    let path = recorded_path.strip_suffix(DELETED).unwrap_or(recorded_path);
    let was_replaced = path.len() < recorded_path.len();
    let (path, mut reason) = (path_of(path), None);
    for (root, candidate) in candidates(sources, root, &path, build_id) {
        let file = match sources.files.open(root, &candidate).and_then(Parts::new) {
            Ok(file) => file,
            Err(error) if is_absence(&error) => continue,
            Err(error) => {
                reason = Some(NoNames::Unreadable(candidate, error));
                continue;
            }
        };
        let image = Elf::parse(&file).ok();
        let is_it = match build_id {
            Some(_) => same_build(build_id, image.and_then(|image| image.build_id())),
            None => !was_replaced && image.is_none_or(|image| fits(&image)),
        };
        if is_it {
            return Ok(Some(file));
        }
        reason = Some(NoNames::Changed(path.clone()));
    }
    Err(reason.unwrap_or(NoNames::NotHere(path)))
}

/// The kernel's code in every process, if our kernel is the recorded one.
fn find_vdso(sources: &Sources, build_id: Option<&[u8]>) -> Option<Image> {
    let file = Parts::new(sources.files.vdso().ok()?).ok()?;
    let fits = same_build(build_id, Elf::parse(&file).ok()?.build_id());
    fits.then_some(file)
}

/// The build id of our own vDSO: perf does not always write the recorded one.
pub(crate) fn own_vdso_build(sources: &Sources) -> Option<Vec<u8>> {
    let file = Parts::new(sources.files.vdso().ok()?).ok()?;
    Elf::parse(&file).ok()?.build_id().map(<[u8]>::to_vec)
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Older kernels fill up short build ids with zeros.
fn same_build(recorded: Option<&[u8]>, found: Option<&[u8]>) -> bool {
    let (Some(recorded), Some(found)) = (recorded, found) else { return false };
    let shared = recorded.len().min(found.len());
    let (a, b) = (recorded.split_at(shared), found.split_at(shared));
    shared > 0 && a.0 == b.0 && a.1.iter().chain(b.1).all(|byte| *byte == 0)
}

/// Where the file may be: where it was, inside the given root and outside, and among perf's copies.
fn candidates<'a>(
    sources: &Sources,
    root: Option<&'a Path>,
    path: &Path,
    build_id: Option<&[u8]>,
) -> Vec<(Option<&'a Path>, PathBuf)> {
    let mut all: Vec<_> = root.map(|root| (Some(root), path.to_owned())).into_iter().collect();
    all.push((None, path.to_owned()));
    let copy =
        sources.build_id_cache.as_deref().and_then(|folder| by_build_id(folder, build_id?, "/elf"));
    all.extend(copy.map(|copy| (None, copy)));
    all
}

/// `.build-id/12/3456…` in a folder.
fn by_build_id(folder: &Path, build_id: &[u8], ending: &str) -> Option<PathBuf> {
    let text = hex(build_id);
    let (start, rest) = text.split_at_checked(2)?;
    Some(folder.join(format!(".build-id/{start}/{rest}{ending}")))
}

fn find_debug_file(
    sources: &Sources,
    root: Option<&Path>,
    build_id: Option<&[u8]>,
) -> Option<Image> {
    let path = by_build_id(DEBUG_FOLDER.as_ref(), build_id?, ".debug")?;
    let read = |root: Option<&Path>| {
        let file = Parts::new(sources.files.open(root, &path).ok()?).ok()?;
        let fits = same_build(build_id, Elf::parse(&file).ok()?.build_id());
        fits.then_some(file)
    };
    root.and_then(|root| read(Some(root))).or_else(|| read(None))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
