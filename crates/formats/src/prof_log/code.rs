//! Which code stands at an address now. The log is in order, so there is no history: what is new replaces
//! what it overlaps, as V8's own tick processor does.

use std::collections::BTreeMap;

use super::stacks::{LibraryId, RawFrameId};

/// The code that V8 generated and the libraries that are mapped.
#[derive(Default)]
pub(super) struct CodeMap {
    code: BTreeMap<u64, Code>,
    /// By their starts.
    libraries: BTreeMap<u64, Mapped>,
}

/// A piece of code.
pub(super) struct Code {
    end: u64,
    /// V8's name, as in a perf map: `JS:*next /srv/router.js:177:16`.
    pub(super) symbol: String,
    /// Whether it belongs to a JavaScript function.
    pub(super) is_function: bool,
    /// Its frame, once a tick was seen in it.
    pub(super) frame: Option<RawFrameId>,
}

/// Where a binary or shared library is mapped.
struct Mapped {
    end: u64,
    library: LibraryId,
}

/// What stands at an address. V8's embedded builtins lie inside Node's binary: code comes first.
pub(super) enum Found<'a> {
    Code(&'a mut Code),
    /// So far behind the library's start.
    Library(LibraryId, u64),
    Nothing,
}

impl CodeMap {
    /// Code appears. Nothing is ever found in code without a size.
    pub(super) fn add(&mut self, start: u64, size: u64, symbol: String, is_function: bool) {
        self.put(start, Code { end: start.saturating_add(size), symbol, is_function, frame: None });
    }

    /// Code moves. V8 also moves code that it never logged.
    pub(super) fn move_code(&mut self, from: u64, to: u64) {
        if let Some(code) = self.code.remove(&from) {
            let end = to.saturating_add(code.end - from);
            self.put(to, Code { end, ..code });
        }
    }

    pub(super) fn remove(&mut self, start: u64) {
        self.code.remove(&start);
    }

    /// A library is mapped.
    pub(super) fn add_library(&mut self, start: u64, end: u64, library: LibraryId) {
        self.libraries.insert(start, Mapped { end, library });
    }

    /// The end of what is mapped at a start.
    pub(super) fn end_of_library(&self, start: u64) -> Option<u64> {
        self.libraries.get(&start).map(|mapped| mapped.end)
    }

    pub(super) fn find(&mut self, address: u64) -> Found<'_> {
        let code = self.code.range_mut(..=address).next_back();
        if let Some((_, code)) = code.filter(|(_, code)| address < code.end) {
            return Found::Code(code);
        }
        let mapped = self.libraries.range(..=address).next_back();
        match mapped.filter(|(_, mapped)| address < mapped.end) {
            Some((start, mapped)) => Found::Library(mapped.library, address - start),
            None => Found::Nothing,
        }
    }

    pub(super) fn is_function(&self, address: u64) -> bool {
        let code = self.code.range(..=address).next_back();
        code.is_some_and(|(_, code)| code.is_function && address < code.end)
    }

    /// Rows never overlap: each that does goes before the new one comes.
    fn put(&mut self, start: u64, code: Code) {
        if start == code.end {
            return;
        }
        while let Some((&other, _)) =
            self.code.range(..code.end).next_back().filter(|(_, other)| start < other.end)
        {
            self.code.remove(&other);
        }
        self.code.insert(start, code);
    }
}
