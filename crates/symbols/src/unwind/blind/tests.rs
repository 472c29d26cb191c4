//! Callers of a C library that has neither tables nor frame pointers, on stacks that are made up.

use std::io::{self, Cursor};
use std::path::Path;

use super::*;
use crate::files::{Files, OpenFile};
use crate::places::{Modules, Places};
use crate::processes::Processes;
use crate::sources::Sources;

/// Where the program is, and the C library.
const PROGRAM: u64 = 0x50_0000;
const LIBRARY: u64 = 0x70_0000;
const SIZE: u64 = 0x1000;
const STACK: u64 = 0x7f00_0000;

/// A file of calls by a register: every even address stands behind one.
struct Calls;

impl Files for Calls {
    fn open(&self, _: Option<&Path>, _: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(Cursor::new([0xff, 0xd0].repeat(SIZE as usize / 2))))
    }
}

/// The caller of a function of the C library that has its stack pointer at the first of these words.
fn caller(words: &[u64], goes_on: bool) -> Option<Caller> {
    let (mut places, mut processes, mut modules) =
        (Places::default(), Processes::default(), Modules::default());
    let row = processes.row(Some(1));
    for (start, path) in [(PROGRAM, "/bin/program"), (LIBRARY, "/lib/libc.so")] {
        let module = modules.id(path.as_bytes(), None, None);
        let place = Place::File { module, bias: 0u64.wrapping_sub(start), executable: true };
        processes.map(row, start, start + SIZE, places.id(place));
    }
    let sources = Sources { files: Box::new(Calls), ..Sources::nowhere() };
    let moment = Moment {
        sources: &sources,
        modules: &modules,
        places: &places,
        build_ids: &FxHashMap::default(),
        process: processes.get(row),
        row,
        arch: None,
    };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let stack = Stack { start: STACK, bytes: &bytes, goes_on };
    let is_blind = |address: u64| (LIBRARY..LIBRARY + SIZE).contains(&address);
    let search = Search {
        moment: &moment,
        stack,
        address: LIBRARY + 8,
        sp: STACK,
        fp: 0xd8,
        is_blind: &is_blind,
    };
    Codes::default().caller(&search)
}

/// The address of a word of the stack.
fn at(word: u64) -> u64 {
    STACK + word * 8
}

/// The program's function has saved its frame pointer, and a frame that the C library has called.
const TRUE_CALLER: Caller = Caller { pc: PROGRAM + 0x100, sp: STACK + 3 * 8, fp: STACK + 4 * 8 };

/// musl has the heap above the stacks of its threads: a pointer there is no frame behind the copy.
#[test]
fn a_pointer_to_the_heap_is_no_frame_pointer() {
    for heap in [at(100), at(100) + 4, at(100_000)] {
        // What was pushed last, the frame pointer, the caller; then the caller's frame, called by the library.
        let stack = [at(4), heap, TRUE_CALLER.pc, 0, 0, LIBRARY + 0x20, 0, 0];
        for goes_on in [false, true] {
            assert_eq!(caller(&stack, goes_on), Some(TRUE_CALLER), "{heap:x}, {goes_on}");
        }
        let alone = [7, heap, TRUE_CALLER.pc, 0, 0, 0, 0, 0];
        assert_eq!(caller(&alone, true), None, "{heap:x} alone proves nothing");
    }
}

#[test]
fn a_chain_that_leaves_the_copy_is_believed_where_none_leads_to_the_root() {
    let leaves = [at(4), 7, TRUE_CALLER.pc, 0, at(100), PROGRAM + 0x200, 0, 0];
    assert_eq!(caller(&leaves, true), Some(TRUE_CALLER));
    assert_eq!(caller(&leaves, false), None, "the copy is the whole stack");
    // The word above looks like a frame, too, and that one leaves the copy.
    let both = [at(6), at(4), TRUE_CALLER.pc, 0, at(100), PROGRAM + 0x200, 0, LIBRARY + 0x20];
    assert_eq!(caller(&both, true), Some(Caller { fp: at(6), ..TRUE_CALLER }));
}
