//! Under which roots each source was seen: containers have files of their own, and the same path in two of them may
//! be two scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use profile::Profile;

/// The roots of a profile's processes, and those under which each source was seen.
pub(crate) struct Seen<'a> {
    /// Processes without a root of their own come first.
    roots: Vec<Option<&'a Path>>,
    /// For each source, a bit for each root.
    sources: Vec<u64>,
    /// The same for each function.
    functions: Vec<u64>,
}

/// More roots than this share the last one's bit.
const MOST_ROOTS: usize = 64;

impl<'a> Seen<'a> {
    pub(crate) fn new(profile: &Profile, roots: &'a BTreeMap<u32, PathBuf>) -> Self {
        let mut distinct: Vec<Option<&Path>> = vec![None];
        if roots.is_empty() {
            let (sources, functions) = (profile.sources().len(), profile.functions().len());
            return Self {
                roots: distinct,
                sources: vec![1; sources],
                functions: vec![1; functions],
            };
        }
        let bit_of_process: Vec<u64> = profile
            .processes()
            .iter()
            .map(|process| {
                let root = process.pid.and_then(|pid| roots.get(&pid)).map(PathBuf::as_path);
                let row = distinct.iter().position(|known| *known == root);
                let row = row.unwrap_or(if distinct.len() < MOST_ROOTS {
                    distinct.push(root);
                    distinct.len() - 1
                } else {
                    MOST_ROOTS - 1
                });
                1 << row
            })
            .collect();
        let functions = seen_by(profile, &bit_of_process);
        let mut sources = vec![0; profile.sources().len()];
        for (source, bits) in profile.functions().source.iter().zip(&functions) {
            if let Some(source) = source.some() {
                sources[source.index()] |= bits;
            }
        }
        Self { roots: distinct, sources, functions }
    }

    /// The roots under which a source was seen.
    pub(crate) fn roots_of(&self, source: usize) -> impl Iterator<Item = Option<&'a Path>> {
        self.roots_in(self.sources[source])
    }

    /// The roots under which a function was seen.
    pub(crate) fn roots_of_function(
        &self,
        function: usize,
    ) -> impl Iterator<Item = Option<&'a Path>> {
        self.roots_in(self.functions[function])
    }

    fn roots_in(&self, bits: u64) -> impl Iterator<Item = Option<&'a Path>> {
        let is_seen = move |row: &usize| bits >> row & 1 == 1;
        (0..self.roots.len()).filter(is_seen).map(|row| self.roots[row])
    }
}

/// The bits of all processes that were seen in each function.
fn seen_by(profile: &Profile, bit_of_process: &[u64]) -> Vec<u64> {
    let (stacks, frames) = (profile.stacks(), profile.frames());
    let mut of_stack = vec![0; stacks.len()];
    for lane in profile.lanes() {
        for (stack, thread) in lane.samples.stack.iter().zip(&lane.samples.thread) {
            if let Some(stack) = stack.some() {
                of_stack[stack.index()] |= bit_of_process[profile.thread(*thread).process.index()];
            }
        }
    }
    let mut of_function = vec![0; profile.functions().len()];
    for id in stacks.ids().rev() {
        let bits = of_stack[id.index()];
        if let Some(parent) = stacks.parent[id.index()].some() {
            of_stack[parent.index()] |= bits;
        }
        let function = frames.function[stacks.frame[id.index()].index()];
        of_function[function.index()] |= bits;
    }
    of_function
}
