//! The tables that all threads share: strings, sources, libraries, functions, frames and stacks, of what is used.
//! A stack's category is its frame's there, so a frame below GC is another row than the same frame elsewhere.

use profile::{Category, FrameId, FunctionId, Lane, ModuleId, Profile, SourceId, StackId};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use views::Selection;

/// A resource that is a library.
const LIBRARY: u8 = 1;

pub(super) struct Tables<'a> {
    pub(super) profile: &'a Profile,
    /// Whether stacks have the functions that await them as callers.
    logical: bool,
    /// Where each of our stacks went.
    stacks: Vec<Option<u32>>,
    stack_rows: Vec<(Option<u32>, u32)>,
    frames: Rows<(FrameId, Category)>,
    functions: Rows<FunctionId>,
    sources: Rows<SourceId>,
    modules: Rows<ModuleId>,
    strings: Rows<String>,
}

/// Distinct keys, numbered in the order in which they come.
struct Rows<K> {
    numbers: FxHashMap<K, u32>,
    keys: Vec<K>,
}

impl<K: Clone + Eq + std::hash::Hash> Rows<K> {
    fn new() -> Self {
        Self { numbers: FxHashMap::default(), keys: Vec::new() }
    }

    fn number(&mut self, key: K) -> u32 {
        *self.numbers.entry(key.clone()).or_insert_with(|| {
            self.keys.push(key);
            row(self.keys.len() - 1)
        })
    }
}

fn row(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

impl<'a> Tables<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        selection: &Selection,
        lane: &Lane,
        rows: impl Iterator<Item = usize>,
    ) -> Self {
        let mut tables = Self {
            profile,
            logical: selection.logical,
            stacks: vec![None; profile.stacks().len()],
            stack_rows: Vec::new(),
            frames: Rows::new(),
            functions: Rows::new(),
            sources: Rows::new(),
            modules: Rows::new(),
            strings: Rows::new(),
        };
        let mut used = vec![false; profile.stacks().len()];
        for row in rows {
            for stack in profile.ancestry(selection.stack(profile, lane.samples.stack[row])) {
                if std::mem::replace(&mut used[stack.index()], true) {
                    break;
                }
            }
        }
        // Callers stand before what they call.
        for id in profile.stacks().ids().filter(|id| used[id.index()]) {
            tables.add_stack(selection, id);
        }
        tables
    }

    fn add_stack(&mut self, selection: &Selection, id: StackId) {
        let stack = self.profile.stacks().row(id);
        let caller = stack.parent.some().and_then(|parent| self.stacks[parent.index()]);
        self.stacks[id.index()] = if selection.hides(self.profile, id) {
            caller
        } else {
            let frame = self.frames.number((stack.frame, stack.category));
            self.stack_rows.push((caller, frame));
            Some(row(self.stack_rows.len() - 1))
        };
    }

    /// Where a stack of ours went; none for an empty one.
    pub(super) fn stack(&self, id: StackId) -> Option<u32> {
        let id = if self.logical { self.profile.logical(id) } else { id };
        id.some().and_then(|id| self.stacks[id.index()])
    }

    pub(super) fn string(&mut self, text: &str) -> u32 {
        self.strings.number(text.to_owned())
    }

    /// The libraries; call [`Tables::shared`] after it.
    pub(super) fn libs(&mut self) -> Vec<Value> {
        for (frame, _) in self.frames.keys.clone() {
            self.functions.number(self.profile.frames().function[frame.index()]);
        }
        for function in &self.functions.keys {
            if let Some(module) = self.profile.functions().module[function.index()].some() {
                self.modules.number(module);
            }
        }
        let lib = |id: &ModuleId| {
            let module = self.profile.modules()[id.index()];
            let path = self.profile.text(module.name);
            let name = path.rsplit('/').next().unwrap_or(path);
            let code_id = module.build_id.some().map(|id| self.profile.text(id));
            json!({
                "arch": "", "name": name, "path": path, "debugName": name, "debugPath": path,
                "breakpadId": "", "codeId": code_id,
            })
        };
        self.modules.keys.iter().map(lib).collect()
    }

    pub(super) fn shared(mut self) -> Value {
        let function_table = self.function_table();
        let frame_table = self.frame_table();
        let resource_table = self.resource_table();
        let files: Vec<SourceId> = self.sources.keys.clone();
        let files: Vec<u32> = files
            .iter()
            .map(|id| self.string(self.profile.source_path(*id).unwrap_or_default()))
            .collect();
        json!({
            "stackTable": {
                "length": self.stack_rows.len(),
                "prefix": self.stack_rows.iter().map(|row| row.0).collect::<Vec<_>>(),
                "frame": self.stack_rows.iter().map(|row| row.1).collect::<Vec<_>>(),
            },
            "frameTable": frame_table,
            "funcTable": function_table,
            "resourceTable": resource_table,
            "nativeSymbols": { "length": 0, "libIndex": [], "address": [], "name": [], "functionSize": [] },
            "sources": { "length": files.len(), "uuid": vec![Value::Null; files.len()], "filename": files },
            "stringArray": self.strings.keys,
        })
    }

    fn frame_table(&mut self) -> Value {
        let profile = self.profile;
        let rows: Vec<_> = self
            .frames
            .keys
            .iter()
            .map(|(id, category)| (profile.frames().row(*id), *category))
            .collect();
        let functions: Vec<u32> =
            rows.iter().map(|(frame, _)| self.functions.number(frame.function)).collect();
        let nothing = vec![Value::Null; rows.len()];
        json!({
            "length": rows.len(),
            "address": vec![-1; rows.len()],
            "inlineDepth": rows.iter().map(|(frame, _)| u8::from(frame.inlined)).collect::<Vec<_>>(),
            "category": rows.iter().map(|(_, category)| *category as u8).collect::<Vec<_>>(),
            "subcategory": rows.iter().map(|(frame, _)| frame.tier as u8).collect::<Vec<_>>(),
            "func": functions,
            "nativeSymbol": nothing,
            "innerWindowID": vec![0; rows.len()],
            "line": rows.iter().map(|(frame, _)| known(frame.line)).collect::<Vec<_>>(),
            "column": rows.iter().map(|(frame, _)| known(frame.column)).collect::<Vec<_>>(),
        })
    }

    fn function_table(&mut self) -> Value {
        let profile = self.profile;
        let rows: Vec<_> =
            self.functions.keys.iter().map(|id| profile.functions().row(*id)).collect();
        let names: Vec<u32> =
            rows.iter().map(|function| self.string(profile.text(function.name))).collect();
        let sources: Vec<Option<u32>> = rows
            .iter()
            .map(|function| Some(self.sources.number(function.source.some()?)))
            .collect();
        let resources: Vec<i64> = rows
            .iter()
            .map(|function| {
                function.module.some().map_or(-1, |module| self.modules.number(module).into())
            })
            .collect();
        json!({
            "length": rows.len(),
            "name": names,
            "isJS": rows.iter().map(|function| function.source.some().is_some()).collect::<Vec<_>>(),
            "relevantForJS": vec![false; rows.len()],
            "resource": resources,
            "source": sources,
            "lineNumber": rows.iter().map(|function| known(function.line)).collect::<Vec<_>>(),
            "columnNumber": rows.iter().map(|function| known(function.column)).collect::<Vec<_>>(),
        })
    }

    /// Each library is a resource of the same number.
    fn resource_table(&mut self) -> Value {
        let modules = self.modules.keys.clone();
        let name = |id: &ModuleId| {
            let path = self.profile.module_name(*id).unwrap_or_default();
            self.strings.number(path.rsplit('/').next().unwrap_or(path).to_owned())
        };
        let names: Vec<u32> = modules.iter().map(name).collect();
        json!({
            "length": modules.len(),
            "lib": (0..modules.len()).collect::<Vec<_>>(),
            "name": names,
            "host": vec![Value::Null; modules.len()],
            "type": vec![LIBRARY; modules.len()],
        })
    }
}

/// A line or column, where it is known.
fn known(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}
