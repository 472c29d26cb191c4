//! Gives every distinct frame its name, source by source, and remembers why where there is none.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use naming::add::{self, NamedSymbol};
use naming::finish::WITHOUT_MAP;
use naming::generated::JIT_MODULE;
use naming::parts;
use profile::{Builder, Frame, FrameId, NO_ADDRESS, StringId};
use rustc_hash::FxHashMap;
use trace::Cut;
use trace::FIRST_SYSTEM_CALL_ROW;
use v8::name::Tier;

use crate::images::{self, NamedFile, hex};
use crate::javascript::{JavaScriptNames, NameOfFrame};
use crate::kallsyms::{KERNEL, Kallsyms};
use crate::kernel::{is_running, read_names};
use crate::namer::Namer;
use crate::perf_map::{self, Found};
use crate::places::Place;
use crate::sources::given_for;

const UNKNOWN: &str = "[unknown]";

/// The outermost frame of a stack whose callers are missing: a leaf without callers would look like a root.
const DEEPER_THAN_COPY: &str = "… deeper than the copy";
const NOT_WALKED: &str = "… not walked";
/// Why JavaScript has no name when its map could have been written by any user.
const ANOTHER_USERS_MAP: &str = "generated code whose perf map belongs to another user";

/// An address that wants a name, and the row of its frame. In a file it is the offset there, as `perf script`
/// writes it, too: so the workers of a cluster share their frames wherever their libraries were loaded.
type Wanted = (u64, u32);

/// Files and lists that names come from. While a recording grows, they are kept: each second has new addresses.
#[derive(Default)]
pub(crate) struct NameFiles {
    keeps: bool,
    /// By the rows of modules; a reason where a file gives no names.
    modules: FxHashMap<u32, Result<Option<NamedFile>, String>>,
    bytes: u64,
    kernel: Option<Result<Kallsyms, String>>,
    /// When the perf maps of processes may be read again, and whether they had one the last time.
    next_maps: FxHashMap<Option<u32>, (Instant, Result<bool, NoMap>)>,
}

/// What kept files may take: node itself takes 40 to 60 MB.
const MOST_KEPT_BYTES: u64 = 80 << 20;
/// A perf map can have gigabytes: while a recording grows, reading it takes at most one part in this many of the time.
const MAP_PART: u32 = 100;

impl NameFiles {
    /// For a recording that grows.
    pub(crate) fn growing() -> Self {
        Self { keeps: true, ..Self::default() }
    }

    /// Keeps what names a module, as long as there is room.
    fn keep(&mut self, row: u32, file: Result<Option<NamedFile>, String>) {
        let bytes = file.iter().flatten().map(NamedFile::bytes).sum::<u64>();
        if self.keeps && self.bytes + bytes <= MOST_KEPT_BYTES {
            self.bytes += bytes;
            self.modules.insert(row, file);
        }
    }
}

/// The frames of a profile, from those of a recording.
#[derive(Default)]
pub(crate) struct Resolved {
    /// For each row of the recording its frame, from the first row that was asked for on.
    pub(crate) frames: Vec<FrameId>,
    first: usize,
    reasons: Vec<String>,
    reason_of: FxHashMap<FrameId, u32>,
    /// How many addresses of perf maps had several names.
    pub(crate) ambiguous: u64,
    /// Perf maps that were refused.
    pub(crate) notes: Vec<String>,
}

impl Resolved {
    /// Why a frame has no name, where that is known.
    pub(crate) fn reason(&self, frame: FrameId) -> Option<&str> {
        self.reason_of.get(&frame).map(|reason| self.reasons[*reason as usize].as_str())
    }

    fn slot(&mut self, row: u32) -> &mut FrameId {
        &mut self.frames[row as usize - self.first]
    }
}

struct Resolver<'a> {
    builder: &'a mut Builder,
    done: Resolved,
    named: FxHashMap<(StringId, StringId, StringId), NamedSymbol>,
    /// By the row of a function that was named when it was seen.
    functions: FxHashMap<(u32, Tier), NamedSymbol>,
}

/// A name, and where it comes from.
#[derive(Clone, Copy)]
struct Name<'a> {
    symbol: &'a str,
    module: &'a str,
    build_id: Option<&'a str>,
}

/// The frames, grouped by what can name them.
#[derive(Default)]
struct Groups {
    kernel: Vec<Wanted>,
    elsewhere: Vec<Wanted>,
    cut: Vec<Wanted>,
    modules: BTreeMap<u32, Vec<Wanted>>,
    /// For each process its addresses of generated code, and of nothing.
    processes: BTreeMap<u32, (Vec<Wanted>, Vec<Wanted>)>,
    codes: Vec<(Wanted, u32)>,
    /// Rows of frames that were named when they were seen.
    javascript: Vec<Wanted>,
}

/// Names the frames of a recording from a row on.
pub(crate) fn resolve(
    builder: &mut Builder,
    namer: &Namer,
    first: usize,
    files: &mut NameFiles,
) -> Resolved {
    let rows = namer.frames.rows.get(first..).unwrap_or_default();
    let done = Resolved { frames: vec![FrameId::NONE; rows.len()], first, ..Resolved::default() };
    let (named, functions) = (FxHashMap::default(), FxHashMap::default());
    let mut all = Resolver { builder, done, named, functions };
    let groups = Groups::of(namer, first);
    // The kernel writes its list while it is read, which takes as long as all the files.
    let wants_kernel = !groups.kernel.is_empty() && files.kernel.is_none();
    let kernel = thread::scope(|scope| {
        let kernel = wants_kernel.then(|| scope.spawn(|| read_kernel(namer)));
        for (module, wanted) in &groups.modules {
            all.name_module(namer, *module, wanted, files);
        }
        kernel.and_then(|kernel| kernel.join().ok())
    });
    files.kernel = files.kernel.take().or(kernel);
    if let Some(names) = &files.kernel {
        all.name_kernel(namer, names, &groups.kernel);
    }
    for (process, (generated, unmapped)) in &groups.processes {
        let pid = namer.world.processes.rows[*process as usize].pid;
        all.name_generated(namer, pid, generated, unmapped, files);
    }
    for (wanted, code) in &groups.codes {
        let name = Name { symbol: namer.codes.get(*code), module: JIT_MODULE, build_id: None };
        all.give(*wanted, name);
    }
    for wanted in &groups.javascript {
        all.take_named(*wanted, &namer.javascript);
    }
    for wanted in &groups.elsewhere {
        all.refuse(*wanted, UNKNOWN, None, Some("in a hypervisor or a guest"));
    }
    for wanted in &groups.cut {
        let symbol = match Cut::of(wanted.0) {
            Cut::DeeperThanCopy => DEEPER_THAN_COPY,
            Cut::NotWalked => NOT_WALKED,
        };
        all.give((NO_ADDRESS, wanted.1), Name { symbol, module: UNKNOWN, build_id: None });
    }
    all.done
}

impl Resolver<'_> {
    fn name_module(&mut self, namer: &Namer, row: u32, wanted: &[Wanted], files: &mut NameFiles) {
        let module = &namer.world.modules.rows[row as usize];
        let mut known = module.clone();
        known.build_id =
            known.build_id.or_else(|| namer.world.build_ids.get(&module.path).cloned());
        let release = namer.about.os_release.as_deref();
        if known.path == images::VDSO
            && release.is_some_and(|release| is_running(&namer.world.sources, release))
        {
            known.build_id =
                known.build_id.or_else(|| images::own_vdso_build(&namer.world.sources));
        }
        let path = String::from_utf8_lossy(&module.path);
        let build_id = known.build_id.as_deref().map(hex);
        let build_id = build_id.as_deref();
        let offsets: Vec<u64> = wanted.iter().map(|(offset, _)| *offset).collect();
        let sources = &namer.world.sources;
        let kept = files.modules.remove(&row);
        let is_kept = kept.is_some();
        let file =
            kept.unwrap_or_else(|| NamedFile::find(sources, &known).map_err(|why| why.to_string()));
        if let Ok(Some(file)) = &file {
            file.name(sources.demangle, &offsets, |at, symbol| {
                self.give(wanted[at], Name { symbol, module: &path, build_id });
            });
        }
        let why = file.as_ref().err().map(String::as_str);
        for wanted in wanted {
            if self.done.slot(wanted.1).some().is_none() {
                self.refuse(*wanted, &path, build_id, why);
            }
        }
        match is_kept {
            true => drop(files.modules.insert(row, file)),
            false => files.keep(row, file),
        }
    }

    fn name_kernel(&mut self, namer: &Namer, names: &Result<Kallsyms, String>, wanted: &[Wanted]) {
        let why = names.as_ref().err().map(String::as_str);
        for wanted in wanted {
            match names.as_ref().ok().and_then(|names| names.find(wanted.0)) {
                Some(found) => {
                    self.give(
                        *wanted,
                        Name { symbol: found.name, module: found.module, build_id: None },
                    );
                }
                None => self.refuse(*wanted, namer.kernel.module(wanted.0), None, why),
            }
        }
    }

    fn name_generated(
        &mut self,
        namer: &Namer,
        pid: Option<u32>,
        generated: &[Wanted],
        unmapped: &[Wanted],
        files: &mut NameFiles,
    ) {
        let mut wanted: Vec<Wanted> = generated.iter().chain(unmapped).copied().collect();
        wanted.sort_unstable();
        let addresses: Vec<u64> = wanted.iter().map(|(address, _)| *address).collect();
        let module = pid.map_or_else(|| "//anon".to_owned(), |pid| format!("/tmp/perf-{pid}.map"));
        let (found, why) = match look_up_in_maps(namer, pid, &addresses, files) {
            Ok(Some(found)) => (Some(found), "not in the perf map".to_owned()),
            Ok(None) => (None, WITHOUT_MAP.to_owned()),
            Err(NoMap::Failed(sentence)) => (None, sentence),
            Err(NoMap::Refused(sentence)) => {
                if !generated.is_empty() {
                    self.done.notes.push(sentence);
                }
                (None, ANOTHER_USERS_MAP.to_owned())
            }
        };
        // perf names a map for all generated code, and folded stacks are compared with perf's. Where V8's heap was read
        // in place of a map that does not exist, it is not named.
        let is_without_map = why == WITHOUT_MAP && !namer.javascript.is_empty();
        let module = if is_without_map { JIT_MODULE } else { module.as_str() };
        if let Some(found) = &found {
            self.done.ambiguous += found.ambiguous;
            for (wanted, name) in wanted.iter().zip(&found.names) {
                if let Some(symbol) = name {
                    self.give(*wanted, Name { symbol, module, build_id: None });
                }
            }
        }
        for wanted in generated {
            if self.done.slot(wanted.1).some().is_none() {
                self.refuse(*wanted, module, None, Some(&why));
            }
        }
        for wanted in unmapped {
            if self.done.slot(wanted.1).some().is_none() {
                self.refuse(*wanted, UNKNOWN, None, None);
            }
        }
    }

    fn refuse(&mut self, wanted: Wanted, module: &str, build_id: Option<&str>, why: Option<&str>) {
        let frame = self.give(wanted, Name { symbol: UNKNOWN, module, build_id });
        let Some(why) = why else { return };
        let known = self.done.reasons.iter().rposition(|reason| reason == why);
        let row = known.unwrap_or_else(|| {
            self.done.reasons.push(why.to_owned());
            self.done.reasons.len() - 1
        });
        self.done.reason_of.insert(frame, row as u32);
    }

    fn give(&mut self, (address, row): Wanted, name: Name<'_>) -> FrameId {
        let Name { symbol, module, build_id } = name;
        let NamedSymbol { function, category, tier, symbol } =
            self.symbol(symbol, module, build_id);
        let frame =
            Frame { function, line: 0, column: 0, category, tier, inlined: false, address, symbol };
        let id = self.builder.frame(frame);
        *self.done.slot(row) = id;
        id
    }

    fn symbol(&mut self, symbol: &str, module: &str, build_id: Option<&str>) -> NamedSymbol {
        let builder = &mut *self.builder;
        let key =
            (builder.string(symbol), builder.string(module), builder.optional_string(build_id));
        *self
            .named
            .entry(key)
            .or_insert_with(|| add::symbol(builder, symbol, Some(module), build_id))
    }

    /// A frame that was named when it was seen.
    fn take_named(&mut self, (number, row): Wanted, names: &JavaScriptNames) {
        let frame = names.frame(number);
        let named = frame.and_then(|frame| match &frame.name {
            NameOfFrame::Symbol(symbol) => {
                // A system call in which a thread slept is the kernel's.
                let module =
                    if number >= u64::from(FIRST_SYSTEM_CALL_ROW) { KERNEL } else { JIT_MODULE };
                Some(self.symbol(symbol, module, None))
            }
            NameOfFrame::Function(function, tier) => self.function(names, (*function, *tier)),
        });
        let Some((frame, named)) = frame.zip(named) else {
            self.refuse((0, row), UNKNOWN, None, Some("its name was lost"));
            return;
        };
        let NamedSymbol { function, category, tier, symbol } = named;
        let (line, column, inlined, address) =
            (frame.line, frame.column, frame.inlined, NO_ADDRESS);
        let frame = Frame { function, line, column, category, tier, inlined, address, symbol };
        *self.done.slot(row) = self.builder.frame(frame);
    }

    /// A function whose parts are known.
    fn function(&mut self, names: &JavaScriptNames, key: (u32, Tier)) -> Option<NamedSymbol> {
        if let Some(known) = self.functions.get(&key) {
            return Some(*known);
        }
        let parts = names.function(key.0)?.parts(key.1);
        let named = parts::name_parts(&parts);
        let module = self.builder.module(JIT_MODULE, None);
        let function = add::function(self.builder, &named, module);
        let symbol = self.builder.string(&parts::spell(&parts));
        let named = NamedSymbol { function, category: named.category, tier: named.tier, symbol };
        self.functions.insert(key, named);
        Some(named)
    }
}

fn read_kernel(namer: &Namer) -> Result<Kallsyms, String> {
    let build_id = namer.world.build_ids.get(KERNEL.as_bytes()).map(Vec::as_slice);
    read_names(&namer.world.sources, &namer.kernel, build_id)
}

impl Groups {
    fn of(namer: &Namer, first: usize) -> Self {
        let mut groups = Self::default();
        for (row, frame) in namer.frames.rows.iter().enumerate().skip(first) {
            let wanted = (frame.address, row as u32);
            match namer.world.places.rows[frame.place.0 as usize] {
                Place::Kernel => groups.kernel.push(wanted),
                Place::Elsewhere => groups.elsewhere.push(wanted),
                Place::Cut => groups.cut.push(wanted),
                Place::File { module, bias, .. } => {
                    let offset = frame.address.wrapping_add(bias);
                    groups.modules.entry(module).or_default().push((offset, row as u32));
                }
                Place::Generated(process) => {
                    groups.processes.entry(process).or_default().0.push(wanted);
                }
                Place::Nowhere(process) => {
                    groups.processes.entry(process).or_default().1.push(wanted);
                }
                Place::Code(code) => groups.codes.push((wanted, code)),
                Place::JavaScript => groups.javascript.push(wanted),
            }
        }
        // Neighbours share a function.
        groups.modules.values_mut().for_each(|wanted| wanted.sort_unstable());
        groups
    }
}

/// Why a perf map that is there is not used, as a sentence.
#[derive(Clone)]
enum NoMap {
    /// It cannot be read.
    Failed(String),
    /// It belongs to another user.
    Refused(String),
}

/// The same as [`read_perf_maps`], but in a recording that grows only as often as that costs little: a map that was
/// followed from its beginning has been read to its end. Until then the last answer holds, so that what a report says
/// of a missing map does not depend on how fast the machine is.
fn look_up_in_maps(
    namer: &Namer,
    pid: Option<u32>,
    addresses: &[u64],
    files: &mut NameFiles,
) -> Result<Option<Found>, NoMap> {
    let start = Instant::now();
    let no_names = || Found { names: vec![None; addresses.len()], ambiguous: 0 };
    if pid.is_some_and(|pid| namer.followed.contains(&pid)) {
        return Ok(Some(no_names()));
    }
    if let Some((next, has_map)) = files.next_maps.get(&pid)
        && start < *next
    {
        return has_map.clone().map(|has_map| has_map.then(no_names));
    }
    let found = read_perf_maps(namer, pid, addresses);
    if files.keeps {
        let has_map = found.as_ref().map(Option::is_some).map_err(Clone::clone);
        files.next_maps.insert(pid, (start + start.elapsed() * MAP_PART, has_map));
    }
    found
}

/// The names that the perf maps of a process have for ascending addresses; `None` where it has no map.
fn read_perf_maps(
    namer: &Namer,
    pid: Option<u32>,
    addresses: &[u64],
) -> Result<Option<Found>, NoMap> {
    let sources = &namer.world.sources;
    let mut given = given_for(&sources.perf_maps, pid).peekable();
    let failed = |path: &PathBuf, error: io::Error| {
        NoMap::Failed(format!("the perf map {} cannot be read: {error}", path.display()))
    };
    if given.peek().is_none() {
        let Some(pid) = pid else { return Ok(None) };
        let inner = sources.inner_pids.get(&pid).unwrap_or(&pid);
        let path = PathBuf::from(format!("/tmp/perf-{inner}.map"));
        let root = sources.root_of(Some(pid));
        let inside = root.and_then(|root| sources.files.open_unlinked(Some(root), &path).ok());
        let opened = inside.map_or_else(|| sources.files.open_unlinked(None, &path), Ok);
        if let Ok(map) = &opened {
            let refused = sources.owners.check(Some(pid), map.as_ref());
            let name = || format!("the perf map {}", path.display());
            refused.map_err(|stranger| NoMap::Refused(stranger.sentence(&name())))?;
        }
        return match opened.and_then(|map| perf_map::find(map, addresses)) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, error)),
        };
    }
    let mut all = Found { names: vec![None; addresses.len()], ambiguous: 0 };
    for path in given {
        let map = sources.files.open(None, path);
        let found = map
            .and_then(|map| perf_map::find(map, addresses))
            .map_err(|error| failed(path, error))?;
        all.ambiguous += found.ambiguous;
        for (name, new) in all.names.iter_mut().zip(found.names) {
            *name = new.or(name.take());
        }
    }
    Ok(Some(all))
}
