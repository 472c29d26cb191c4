//! Where an address can lie: in a file at a distance, in generated code of a process, in the kernel. Two
//! frames at one address of one place are one frame.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

/// A row of [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PlaceId(pub(crate) u32);

/// Where an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// In the kernel or one of its modules.
    Kernel,
    /// In a hypervisor or a guest.
    Elsewhere,
    /// Where nothing of a process (its row) is mapped, as far as the recording knows.
    Nowhere(u32),
    /// In executable memory without a file, of a process (its row).
    Generated(u32),
    /// In a file (row of the modules), or in memory without one that holds no code: its offset there is the
    /// address plus `bias`.
    File { module: u32, bias: u64, executable: bool },
    /// Nowhere in particular: a frame that was named when it was seen.
    JavaScript,
    /// Nowhere: callers beyond are not known.
    Cut,
    /// In a piece of generated code whose name is known (row of the codes).
    Code(u32),
}

impl Place {
    /// Whether code may run there.
    pub(crate) fn is_code(self) -> bool {
        matches!(self, Self::File { executable: true, .. } | Self::Generated(_) | Self::Code(_))
    }
}

/// All places, each once.
#[derive(Default)]
pub(crate) struct Places {
    pub(crate) rows: Vec<Place>,
    index: FxHashMap<Place, PlaceId>,
}

impl Places {
    pub(crate) fn id(&mut self, place: Place) -> PlaceId {
        let rows = &mut self.rows;
        *self.index.entry(place).or_insert_with(|| {
            rows.push(place);
            PlaceId((rows.len() - 1) as u32)
        })
    }
}

/// A mapped file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Module {
    pub(crate) path: Vec<u8>,
    /// The root folder of the process that mapped it: two containers may have different files of one path.
    pub(crate) root: Option<PathBuf>,
    pub(crate) build_id: Option<Vec<u8>>,
}

/// All mapped files, each once.
#[derive(Default)]
pub(crate) struct Modules {
    pub(crate) rows: Vec<Module>,
    index: FxHashMap<Module, u32>,
}

impl Modules {
    pub(crate) fn id(&mut self, path: &[u8], root: Option<&Path>, build_id: Option<&[u8]>) -> u32 {
        let root = root.map(Path::to_owned);
        let module = Module { path: path.to_vec(), root, build_id: build_id.map(<[u8]>::to_vec) };
        if let Some(&row) = self.index.get(&module) {
            return row;
        }
        let row = self.rows.len() as u32;
        self.rows.push(module.clone());
        self.index.insert(module, row);
        row
    }
}

/// How the kernel names memory without a file. Only code that was generated runs there.
const GENERATED: &[&[u8]] = &[
    b"//anon",
    b"[anon",
    b"anon_inode:",
    b"/anon_hugepage",
    b"/memfd:",
    b"/dev/zero",
    b"/SYSV",
    b"[heap]",
    b"[stack",
];

/// Whether a mapping of this name holds code that was generated at run time.
pub(crate) fn is_generated(path: &[u8]) -> bool {
    path.is_empty() || GENERATED.iter().any(|start| path.starts_with(start))
}

/// Whether this is the file that a JIT compiler writes its code into: `/tmp/jit-4140.dump`.
pub(crate) fn is_jitdump(path: &[u8]) -> bool {
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let pid = file.strip_prefix(b"jit-").and_then(|rest| rest.strip_suffix(b".dump"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mappings() {
        for path in
            ["//anon", "[anon:v8]", "/memfd:jit (deleted)", "", "/dev/zero (deleted)", "[heap]"]
        {
            assert!(is_generated(path.as_bytes()), "{path}");
        }
        for path in ["/usr/bin/node", "[vdso]", "[vsyscall]", "/anon/x.so"] {
            assert!(!is_generated(path.as_bytes()), "{path}");
        }
        for (path, is) in [
            ("/tmp/jit-12.dump", true),
            ("jit-1.dump", true),
            ("/tmp/jit-.dump", false),
            ("/x", false),
        ] {
            assert_eq!(is_jitdump(path.as_bytes()), is, "{path}");
        }
    }
}
