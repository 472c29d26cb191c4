//! Where the main loop of a process is: in its program, or in a libuv that it has loaded. A file is looked at once,
//! however many processes run it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use elf::{Elf, Parts, Segments};
use trace::machine::{HERE, X86_64};
use v8::Memory;
use v8::libuv::{self, LoopLayout, Pool};

/// `node::Start(int, char**)`: what makes a program Node.
const NODE_START: &[u8] = b"_ZN4node5StartEiPPc";
/// Libraries that a program may have instead.
const NODE_LIBRARY: &[u8] = b"libnode.so";
const LIBUV: &str = "libuv.so";
/// As much of a function as has its first load.
const CODE_BYTES: usize = 64;

/// What a process turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Its pointer to the main loop is here.
    At { pointer: u64, layout: LoopLayout, pool: Option<Pool> },
    /// Node whose libuv is not there, or not yet.
    Without,
    /// Node whose memory may not be read.
    Unreadable,
    /// Another program.
    NotNode,
    /// The process has ended, or this user may not look.
    Hidden,
}

/// All files that were looked at, by device and inode.
#[derive(Debug, Default)]
pub(super) struct Programs {
    known: HashMap<(u64, u64), Program>,
}

#[derive(Clone, Debug, Default)]
struct Program {
    is_node: bool,
    libuv: Option<Libuv>,
}

/// What a file with libuv in it contains.
#[derive(Clone, Debug)]
struct Libuv {
    /// The function that gives the main loop, and the variable that it gives where a symbol names it.
    function: u64,
    variable: Option<u64>,
    layout: LoopLayout,
    /// Where it has the variables of its thread pool.
    pool: Vec<Option<Range<u64>>>,
    segments: Segments,
}

impl Programs {
    /// Looks for the main loop of a process.
    pub(super) fn find(&mut self, pid: u32, memory: &dyn Memory) -> Found {
        let exe = PathBuf::from(format!("/proc/{pid}/exe"));
        let (Ok(file), Ok(path)) = (File::open(&exe), fs::read_link(&exe)) else {
            return Found::Hidden;
        };
        let Some(program) = self.look_into(file) else { return Found::Hidden };
        if !program.is_node {
            return Found::NotNode;
        }
        let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/maps")) else {
            return Found::Hidden;
        };
        let (libuv, path) = match program.libuv {
            Some(libuv) => (libuv, path),
            None => match self.library(pid, &maps) {
                Some(found) => found,
                None => return Found::Without,
            },
        };
        let bias = target::load_bias(&maps, &path, &libuv.segments);
        bias.map_or(Found::Without, |bias| libuv.pointer(bias, memory))
    }

    /// The libuv that a process has loaded.
    fn library(&mut self, pid: u32, maps: &str) -> Option<(Libuv, PathBuf)> {
        let paths = maps.lines().filter_map(|line| line.find('/').and_then(|at| line.get(at..)));
        let is_libuv =
            |path: &&str| path.rsplit('/').next().is_some_and(|name| name.starts_with(LIBUV));
        let path = Path::new(paths.into_iter().find(is_libuv)?).to_owned();
        let line = maps.lines().find(|line| line.ends_with(&*path.to_string_lossy()))?;
        let inode: u64 = line.split_whitespace().nth(4)?.parse().ok()?;
        let is_it =
            |file: &File| file.metadata().is_ok_and(|meta| meta.is_file() && meta.ino() == inode);
        // In a container paths start at its root; in a changed root they start at ours.
        let roots = [format!("/proc/{pid}/root"), "/".to_owned()];
        let inside = path.strip_prefix("/").ok()?;
        let files =
            roots.iter().filter_map(|root| sys::files::open_in(Path::new(root), inside).ok());
        let file = files.into_iter().find(is_it)?;
        Some((self.look_into(file)?.libuv?, path))
    }

    fn look_into(&mut self, file: File) -> Option<Program> {
        let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let known = self.known.entry((meta.dev(), meta.ino()));
        Some(known.or_insert_with(|| program_of(file).unwrap_or_default()).clone())
    }
}

fn program_of(file: File) -> Option<Program> {
    let parts = Parts::new(file).ok()?;
    let image = Elf::parse(&parts).ok()?;
    let (mut is_node, mut counts_turns) = (false, false);
    for name in image.names()?.split(|byte| *byte == 0) {
        is_node |= name == NODE_START || name.starts_with(NODE_LIBRARY);
        counts_turns |= name == libuv::SINCE_COUNT;
    }
    let function = image.address_of_exported(libuv::DEFAULT_LOOP);
    let variable = || match *HERE == X86_64 {
        true => None,
        false => image.address_of_variable(libuv::DEFAULT_LOOP_POINTER),
    };
    let libuv = function.map(|function| Libuv {
        function,
        variable: variable(),
        layout: LoopLayout::new(counts_turns),
        pool: image.places_of(&libuv::POOL_SYMBOLS),
        segments: image.segments().clone(),
    });
    Some(Program { is_node, libuv })
}

impl Libuv {
    /// Where a process that loaded the file at `bias` has the pointer to its main loop.
    fn pointer(&self, bias: u64, memory: &dyn Memory) -> Found {
        let at = self.function.wrapping_add(bias);
        let mut code = [0; CODE_BYTES];
        if memory.read(at, &mut code).is_err() {
            return Found::Unreadable;
        }
        let variable = self.variable.map(|variable| variable.wrapping_add(bias));
        let pointer = variable.or_else(|| libuv::first_relative_load(&code, at));
        let pool = Pool::new(&self.pool, self.segments.span(), bias);
        pointer.map_or(Found::Without, |pointer| Found::At { pointer, layout: self.layout, pool })
    }
}
