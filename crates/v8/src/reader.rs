//! The reader: from a frame to a function of a growing table. It owns the layout and every cache. What it keeps about
//! an object is looked at again once a batch, because objects move and die; the caches are bounded.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::awaits::KnownClass;
use crate::code::Codes;
use crate::function::{Function, FunctionId, FunctionKind};
use crate::heap::{Heap, Kept, Object};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::positions::Positions;
use crate::reason::Reason;
use crate::script::{Place, Script};
use crate::script_text::SeenScript;
use crate::wasm::Wasm;

/// Names the JavaScript frames of one process.
#[derive(Debug)]
pub struct Reader {
    pub(crate) layout: Layout,
    pub(crate) state: State,
    functions: Vec<Function>,
    ids: FxHashMap<Function, FunctionId>,
    /// The bytes of long names in the table.
    long_bytes: usize,
}

/// What is known of the process's heap.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) kept: Kept,
    pub(crate) codes: Codes,
    pub(crate) wasm: Wasm,
    pub(crate) shared: FxHashMap<u64, Shared>,
    scripts: FxHashMap<u64, (Script, u64)>,
    /// The bytes of their names.
    script_bytes: usize,
    /// Scripts that were read and not asked for yet, and all that were reported, by number and name.
    pub(crate) new_scripts: Vec<SeenScript>,
    pub(crate) reported_scripts: FxHashSet<(u64, Arc<str>)>,
    bytecodes: FxHashMap<u64, Bytecode>,
    /// What objects of a map are, of those that functions were given.
    pub(crate) classes: FxHashMap<u64, KnownClass>,
    pub(crate) batch: u64,
    /// How often a frame was read anew in this batch.
    pub(crate) retries: u32,
}

/// A SharedFunctionInfo that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    words: [u64; 3],
    /// The row of the table.
    pub(crate) function: FunctionId,
    /// Its script.
    pub(crate) script: Option<Object>,
    /// The number of that.
    pub(crate) script_id: u64,
}

/// What is kept of a BytecodeArray.
#[derive(Clone, Debug)]
struct Bytecode {
    words: [u64; 3],
    /// The number of the script that it was read for.
    script_id: u64,
    batch: u64,
    positions: Option<Arc<Positions>>,
    bytes: Option<Arc<[u8]>>,
}

impl Bytecode {
    /// Forgets what was read for a function of another script.
    fn belong_to(&mut self, script_id: u64) {
        if self.script_id != script_id {
            (self.positions, self.bytes) = (None, None);
            self.script_id = script_id;
        }
    }
}

/// When a cache has this many entries, it is emptied.
const MOST_ENTRIES: usize = 1 << 15;

/// A program that makes more functions than this gets no new names.
const MOST_FUNCTIONS: usize = 1 << 20;

/// All long names of a process together: when there are more, those of new functions are cut.
const MOST_LONG_BYTES: usize = 32 << 20;

/// When the names of scripts take so much, they are forgotten.
const MOST_SCRIPT_BYTES: usize = 32 << 20;

/// Maps seldom die: their types are kept for this many batches.
const BATCHES_PER_MAPS: u64 = 64;

/// Code that generates code that generates code: after this many steps the search ends.
const MOST_GENERATORS: usize = 16;

const LONGEST_BYTECODE: u64 = 1 << 22;

impl Reader {
    /// A reader for one process.
    pub fn new(layout: Layout) -> Self {
        let (functions, ids) = (Vec::new(), FxHashMap::default());
        Self { layout, state: State::default(), functions, ids, long_bytes: 0 }
    }

    /// Marks that time has passed since the last frame: what is kept is looked at again before it is believed.
    pub fn begin_batch(&mut self) {
        let state = &mut self.state;
        state.batch += 1;
        state.retries = 0;
        state.kept.forget_lines();
        state.codes.begin_batch();
        state.wasm.begin_batch();
        if state.batch.is_multiple_of(BATCHES_PER_MAPS) {
            state.kept.forget_types();
        }
        empty_when_full(&mut state.shared);
        empty_when_full(&mut state.scripts);
        if state.script_bytes > MOST_SCRIPT_BYTES {
            (state.script_bytes, state.scripts) = (0, FxHashMap::default());
            state.reported_scripts.clear();
        }
        empty_when_full(&mut state.bytecodes);
        empty_when_full(&mut state.classes);
        if state.reported_scripts.len() > MOST_ENTRIES {
            state.reported_scripts.clear();
        }
    }

    /// Where everything stands.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// All functions that were named so far; a [`FunctionId`] is a row.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// One function.
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.0 as usize)
    }

    /// The function of a SharedFunctionInfo, by name and place.
    pub(crate) fn shared(&mut self, memory: &dyn Memory, shared: Object) -> Result<Shared, Reason> {
        let mut heap = Heap { memory, layout: &self.layout, kept: &mut self.state.kept };
        let words = shared_words(&mut heap, shared)?;
        let known =
            self.state.shared.get(&shared.address).filter(|known| known.words == words).copied();
        if let Some(known) = known
            && self.script_id(memory, known.script)? == known.script_id
        {
            return Ok(known);
        }
        let mut heap = Heap { memory, layout: &self.layout, kept: &mut self.state.kept };
        let names = heap.names_of_shared(shared)?;
        let script = heap.script_of_shared(shared)?;
        let script_id = self.script_id(memory, script)?;
        let name = match script {
            Some(script) => self.state.script(memory, &self.layout, script)?.name.clone(),
            None => None,
        };
        let generator = match (script, &name) {
            (Some(script), None) => self.state.generator(memory, &self.layout, script),
            _ => Ok(None),
        };
        let place = match (script, names.start) {
            (Some(script), Some(start)) => self.state.place(memory, &self.layout, script, start),
            _ => None,
        };
        let (line, column) = place.unwrap_or((0, 0));
        let has_generator = generator.is_ok();
        let function = Function {
            name: names.name.into(),
            inferred_name: names.inferred.into(),
            script: name,
            generator: generator.unwrap_or_default(),
            line,
            column,
            kind: FunctionKind::JavaScript,
        };
        let function = self.add(function)?;
        let entry = Shared { words, function, script, script_id };
        // What could not be read may be readable next time.
        if has_generator && (place.is_some() || script.is_none() || names.start.is_none()) {
            self.state.shared.insert(shared.address, entry);
        }
        Ok(entry)
    }

    /// The number of a script, looked at once a batch. Functions come and go at the same address, but not those of one
    /// script.
    fn script_id(&mut self, memory: &dyn Memory, script: Option<Object>) -> Result<u64, Reason> {
        match script {
            Some(script) => Ok(self.state.script(memory, &self.layout, script)?.id()),
            None => Ok(0),
        }
    }

    pub(crate) fn add(&mut self, function: Function) -> Result<FunctionId, Reason> {
        if let Some(id) = self.ids.get(&function) {
            return Ok(*id);
        }
        let mut function = function;
        if self.long_bytes > MOST_LONG_BYTES && function.long_bytes() > 0 {
            function = function.cut();
            if let Some(id) = self.ids.get(&function) {
                return Ok(*id);
            }
        }
        if self.functions.len() >= MOST_FUNCTIONS {
            return Err(Reason::TooLarge);
        }
        let id = FunctionId(self.functions.len() as u32);
        self.long_bytes = self.long_bytes.saturating_add(function.long_bytes());
        self.functions.push(function.clone());
        self.ids.insert(function, id);
        Ok(id)
    }
}

/// Map, name, script.
fn shared_words(heap: &mut Heap<'_>, shared: Object) -> Result<[u64; 3], Reason> {
    let (name, script) = (heap.layout.at.shared_name, heap.layout.at.shared_script);
    Ok([heap.field(shared, 0)?, heap.field(shared, name)?, heap.field(shared, script)?])
}

fn empty_when_full<T>(cache: &mut FxHashMap<u64, T>) {
    if cache.len() > MOST_ENTRIES {
        cache.clear();
    }
}

impl State {
    /// The script at an object.
    pub(crate) fn script(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        script: Object,
    ) -> Result<&mut Script, Reason> {
        let mut heap = Heap { memory, layout, kept: &mut self.kept };
        let is_fresh = match self.scripts.get_mut(&script.address) {
            Some((_, batch)) if *batch == self.batch => true,
            Some((known, batch)) => {
                *batch = self.batch;
                known.is_fresh(&mut heap, script)
            }
            None => false,
        };
        if !is_fresh {
            let read = Script::read(&mut heap, script)?;
            self.note_script(script, &read);
            self.script_bytes =
                self.script_bytes.saturating_add(read.name.as_ref().map_or(0, |name| name.len()));
            self.scripts.insert(script.address, (read, self.batch));
        }
        self.scripts.get_mut(&script.address).map(|(script, _)| script).ok_or(Reason::Unreadable)
    }

    /// The name of the script that generated a nameless one, through scripts that were generated themselves. `None`
    /// where V8 does not know which function did.
    fn generator(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        mut script: Object,
    ) -> Result<Option<Arc<str>>, Reason> {
        for _ in 0..MOST_GENERATORS {
            let mut heap = Heap { memory, layout, kept: &mut self.kept };
            let Some(outer) = heap.script_that_evaluates(script)? else { return Ok(None) };
            script = outer;
            if let Some(name) = &self.script(memory, layout, script)?.name {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }

    /// Remembers a script that was not seen before. Callers that want its text read it.
    fn note_script(&mut self, object: Object, script: &Script) {
        let Some(name) = &script.name else { return };
        if self.reported_scripts.insert((script.id(), name.clone())) {
            self.new_scripts.push(SeenScript { object, id: script.id(), name: name.clone() });
        }
    }

    /// The line and column of a character of a script.
    pub(crate) fn place(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        script: Object,
        offset: u32,
    ) -> Option<Place> {
        self.script(memory, layout, script).ok()?;
        let mut heap = Heap { memory, layout, kept: &mut self.kept };
        let (script_of, _) = self.scripts.get_mut(&script.address)?;
        script_of.lines(&mut heap, script)?.place(offset)
    }

    /// Source positions of bytecode, if V8 has kept them.
    pub(crate) fn positions(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        (bytecode, script_id): (Object, u64),
    ) -> Option<Arc<Positions>> {
        let words = self.bytecode(memory, layout, bytecode)?.words;
        let entry = self.bytecodes.get_mut(&bytecode.address)?;
        entry.belong_to(script_id);
        if entry.positions.is_none() {
            let mut heap = Heap { memory, layout, kept: &mut self.kept };
            let bytes = heap.bytes(words[2]).ok()?;
            entry.positions = Some(Arc::new(Positions::decode(&bytes, layout.unsigned_positions)));
        }
        entry.positions.clone()
    }

    /// The bytes of bytecode.
    pub(crate) fn bytecode_bytes(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        (bytecode, script_id): (Object, u64),
    ) -> Option<Arc<[u8]>> {
        self.bytecode(memory, layout, bytecode)?;
        let entry = self.bytecodes.get_mut(&bytecode.address)?;
        entry.belong_to(script_id);
        if entry.bytes.is_none() {
            let mut heap = Heap { memory, layout, kept: &mut self.kept };
            let length = heap.length(bytecode, LONGEST_BYTECODE).ok()?;
            let mut bytes = vec![0; length as usize];
            heap.read(bytecode.address + layout.at.bytecode_data, &mut bytes).ok()?;
            entry.bytes = Some(bytes.into());
        }
        entry.bytes.clone()
    }

    /// What is kept of bytecode, looked at once a batch.
    fn bytecode(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        bytecode: Object,
    ) -> Option<&Bytecode> {
        let batch = self.batch;
        if self.bytecodes.get(&bytecode.address).is_none_or(|known| known.batch != batch) {
            let mut heap = Heap { memory, layout, kept: &mut self.kept };
            let positions = heap.field(bytecode, layout.at.bytecode_positions as usize).ok()?;
            let words = [heap.field(bytecode, 0).ok()?, heap.field(bytecode, 8).ok()?, positions];
            let entry = self.bytecodes.entry(bytecode.address);
            let fresh = Bytecode { words, script_id: 0, batch, positions: None, bytes: None };
            let entry = entry.or_insert_with(|| fresh.clone());
            if entry.words != words {
                *entry = fresh;
            }
            entry.batch = batch;
        }
        self.bytecodes.get(&bytecode.address)
    }

    /// Drops what is known around a frame that could not be named.
    pub(crate) fn forget(&mut self, pc: u64, shared: Option<u64>) {
        self.kept.forget_lines();
        self.codes.forget(pc);
        shared.map(|shared| self.shared.remove(&shared));
    }
}
