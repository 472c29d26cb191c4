//! From a frame to a JavaScript function, its place and what was inlined. Each kind of frame is believed only when the
//! stack and the heap agree; the reasons not to are counted.

use crate::code::{Code, DEEPEST_INLINING};
use crate::function::{FunctionId, FunctionKind};
use crate::heap::{Heap, Object, small_integer, untagged};
use crate::memory::{Memory, Stack};
use crate::name::Tier;
use crate::positions::{Position, bytecode_offset};
use crate::reader::{Reader, Shared};
use crate::reason::Reason;
use crate::walk::{Frame, Kind};

/// A JavaScript frame with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsFrame {
    /// The function.
    pub function: FunctionId,
    /// The line that runs or calls, from 1; 0 unknown.
    pub line: u32,
    /// The column that runs or calls, from 1; 0 unknown.
    pub column: u32,
    /// What runs it.
    pub tier: Tier,
    /// The functions inlined into it that run at this place, the innermost first.
    pub inlined: Vec<Inlined>,
}

/// A function inlined into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The function.
    pub function: FunctionId,
    /// The line that runs or calls, from 1; 0 unknown.
    pub line: u32,
    /// The column that runs or calls, from 1; 0 unknown.
    pub column: u32,
}

/// Registers of the innermost frame that name a function before it has a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The function that is called, in V8's calling convention.
    pub callee: u64,
}

/// How often a batch may start over with a frame because something moved.
pub(crate) const MOST_RETRIES: u32 = 16;

impl Reader {
    /// Names all frames of a stack, in the order given. Objects that will be needed are read together.
    pub fn frames(
        &mut self,
        memory: &dyn Memory,
        stack: &Stack<'_>,
        frames: &[Frame],
        registers: Registers,
    ) -> Vec<Result<JsFrame, Reason>> {
        self.expect(memory, stack, frames);
        let callers = frames.iter().skip(1).map(|frame| frame.fp).chain([None]);
        let frames = frames.iter().zip(callers);
        let name = |(frame, caller_fp)| {
            Attempt { reader: self, memory, stack, frame, caller_fp, registers }.name_twice()
        };
        frames.map(name).collect()
    }

    /// Brings functions, bytecodes and code of all frames with one call, then what the functions lead to with another.
    pub(crate) fn expect(&mut self, memory: &dyn Memory, stack: &Stack<'_>, frames: &[Frame]) {
        let (layout, state) = (&self.layout, &mut self.state);
        let slot = |frame: &Frame, distance: i64| {
            let context = stack.word_near(frame.fp?, layout.frame.context)?;
            let word = stack.word_near(frame.fp?, distance)?;
            untagged(word).filter(|_| is_reference(context))
        };
        let (mut functions, mut wanted) = (Vec::new(), Vec::new());
        for frame in
            frames.iter().filter(|frame| matches!(frame.kind, Kind::Generated | Kind::Builtin))
        {
            functions.extend(slot(frame, layout.frame.function));
            wanted.extend(slot(frame, layout.frame.bytecode));
            // The leaf's instructions show whether it has a frame.
            wanted.extend((!frame.is_return_address).then_some(frame.pc));
            wanted.extend(
                state.codes.known(frame.instruction()).into_iter().flat_map(Code::addresses),
            );
        }
        let field = layout.at.function_shared as u64;
        wanted.extend(functions.iter().flat_map(|function| [*function, function + field]));
        let mut heap = Heap { memory, layout, kept: &mut state.kept };
        heap.expect(wanted.into_iter());
        let shared =
            functions.iter().filter_map(|function| untagged(heap.kept_word(function + field)?));
        let shared: Vec<u64> = shared.collect();
        let scripts = shared.iter().filter_map(|shared| state.shared.get(shared)?.script);
        let scripts =
            scripts.flat_map(|script| [script.address, script.address + layout.at.script_id]);
        heap.expect(
            shared.iter().flat_map(|at| [*at, at + layout.at.shared_script as u64]).chain(scripts),
        );
    }
}

/// One attempt to name one frame.
pub(crate) struct Attempt<'a> {
    pub(crate) reader: &'a mut Reader,
    pub(crate) memory: &'a dyn Memory,
    pub(crate) stack: &'a Stack<'a>,
    pub(crate) frame: &'a Frame,
    /// The frame pointer of the frame that calls it.
    pub(crate) caller_fp: Option<u64>,
    registers: Registers,
}

impl Attempt<'_> {
    /// Starts over, once, when something moved.
    fn name_twice(&mut self) -> Result<JsFrame, Reason> {
        let result = self.name();
        let is_loss =
            result.as_ref().is_err_and(|reason| reason.is_loss() && *reason != Reason::StackCut);
        if !is_loss || self.reader.state.retries >= MOST_RETRIES {
            return result;
        }
        self.reader.state.retries += 1;
        let shared = self.shared_of_frame().ok().map(|shared| shared.address);
        self.reader.state.forget(self.frame.instruction(), shared);
        self.name()
    }

    fn name(&mut self) -> Result<JsFrame, Reason> {
        match self.frame.kind {
            Kind::Generated => self.name_generated(),
            Kind::Builtin => self.name_interpreted(),
            Kind::Native | Kind::Unmapped => Err(Reason::NotJavaScript),
        }
    }

    pub(crate) fn heap(&mut self) -> Heap<'_> {
        Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut self.reader.state.kept }
    }

    pub(crate) fn slot(&self, distance: i64) -> Result<u64, Reason> {
        let fp = self.frame.fp.ok_or(Reason::NotJavaScript)?;
        self.stack.word_near(fp, distance).ok_or(Reason::StackCut)
    }

    /// Builtins run in the frames of interpreted functions.
    fn name_interpreted(&mut self) -> Result<JsFrame, Reason> {
        if self.frame.fp.is_none() {
            return Err(Reason::Builtin);
        }
        let layout = self.reader.layout.frame.clone();
        if !is_reference(self.slot(layout.context)?) {
            return Err(Reason::NotJavaScript);
        }
        let bytecode = self.slot(layout.bytecode)?;
        let kind = self.reader.layout.types.bytecode;
        let Ok(bytecode) = self.heap().object_of(bytecode, kind) else {
            return Err(Reason::Builtin);
        };
        let shared = self.shared_of_frame()?;
        if self.heap().bytecode_of_shared(shared)? != bytecode {
            return Err(Reason::Mismatch);
        }
        let shared = self.reader.shared(self.memory, shared)?;
        // A builtin without a frame may run on behalf of baseline code, which has something else in this slot.
        let offset = small_integer(self.slot(layout.bytecode_offset)?);
        let tier = if offset.is_some() { Tier::Ignition } else { Tier::Sparkplug };
        let first = self.reader.layout.at.bytecode_data as i64 - 1;
        let offset = offset.and_then(|offset| u32::try_from(i64::from(offset) - first).ok());
        let (line, column) = self.place_of_bytecode(shared, bytecode, offset);
        Ok(JsFrame { function: shared.function, line, column, tier, inlined: Vec::new() })
    }

    fn name_generated(&mut self) -> Result<JsFrame, Reason> {
        if let Some(named) = self.name_by_wasm_mark() {
            return named;
        }
        match self.name_code() {
            Err(Reason::NoCode) if !self.frame.is_return_address => self.name_wasm_leaf(),
            result => result,
        }
    }

    fn name_code(&mut self) -> Result<JsFrame, Reason> {
        let pc = self.frame.instruction();
        let state = &mut self.reader.state;
        let mut heap =
            Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut state.kept };
        let code = state.codes.at(&mut heap, pc, state.batch)?;
        match code.tier {
            None if code.is_js_to_wasm => self.wrapper(FunctionKind::JsToWasm),
            None => self.name_regexp().map_err(|_| Reason::OtherCode),
            Some(Tier::Ignition) => self.name_interpreted(),
            Some(Tier::Sparkplug) => self.name_baseline(pc),
            Some(tier) => self.name_optimised(pc, tier),
        }
    }

    /// The frame's function, its bytecode and the code's bytecode must agree. Before there is a frame, the function is
    /// in a register.
    fn name_baseline(&mut self, pc: u64) -> Result<JsFrame, Reason> {
        let state = &mut self.reader.state;
        let mut heap =
            Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut state.kept };
        let bytecode = state.codes.at(&mut heap, pc, state.batch)?.bytecode(&mut heap)?;
        let shared = match self.shared_with_bytecode(bytecode) {
            Err(_) if self.frame.fp.is_none() || !self.frame.is_return_address => {
                self.called_shared(bytecode)?
            }
            result => result?,
        };
        let shared = self.reader.shared(self.memory, shared)?;
        let offset = self.baseline_offset(pc, bytecode, shared.script_id);
        let (line, column) = self.place_of_bytecode(shared, bytecode, offset);
        Ok(JsFrame {
            function: shared.function,
            line,
            column,
            tier: Tier::Sparkplug,
            inlined: Vec::new(),
        })
    }

    fn shared_with_bytecode(&mut self, bytecode: Object) -> Result<Object, Reason> {
        let slot = self.slot(self.reader.layout.frame.bytecode)?;
        let shared = self.shared_of_frame()?;
        let mut heap = self.heap();
        let is_same =
            heap.object(slot)? == bytecode && heap.bytecode_of_shared(shared)? == bytecode;
        if is_same { Ok(shared) } else { Err(Reason::Mismatch) }
    }

    fn called_shared(&mut self, bytecode: Object) -> Result<Object, Reason> {
        let function = self.registers.callee;
        let mut heap = self.heap();
        let shared = heap.shared_of_function(function)?;
        if heap.bytecode_of_shared(shared)? == bytecode {
            Ok(shared)
        } else {
            Err(Reason::Mismatch)
        }
    }

    fn baseline_offset(&mut self, pc: u64, bytecode: Object, script_id: u64) -> Option<u32> {
        let (state, layout) = (&mut self.reader.state, &self.reader.layout);
        if layout.bytecode_sizes.is_empty() {
            return None;
        }
        let mut heap = Heap { memory: self.memory, layout, kept: &mut state.kept };
        let code = state.codes.at(&mut heap, pc, state.batch).ok()?;
        code.belong_to(script_id);
        let (table, start) = (code.offsets(&mut heap)?, code.start);
        let bytes = state.bytecode_bytes(self.memory, layout, (bytecode, script_id))?;
        bytecode_offset(&table, &bytes, &layout.bytecode_sizes, pc.checked_sub(start)?)
    }

    /// The code's function and the frame's must agree, unless there is no frame yet, or the frame's function cannot be
    /// read any more.
    fn name_optimised(&mut self, pc: u64, tier: Tier) -> Result<JsFrame, Reason> {
        let state = &mut self.reader.state;
        let mut heap =
            Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut state.kept };
        let shared = state.codes.at(&mut heap, pc, state.batch)?.shared(&mut heap)?;
        if self.frame.is_return_address && self.shared_of_frame().is_ok_and(|other| other != shared)
        {
            return Err(Reason::Mismatch);
        }
        let outer = self.reader.shared(self.memory, shared)?;
        let state = &mut self.reader.state;
        let mut heap =
            Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut state.kept };
        let code = state.codes.at(&mut heap, pc, state.batch)?;
        code.belong_to(outer.script_id);
        let position = code.position(&mut heap, pc);
        let Some(position) = position else {
            return Ok(JsFrame {
                function: outer.function,
                line: 0,
                column: 0,
                tier,
                inlined: Vec::new(),
            });
        };
        // A chain that cannot be read as a whole means nothing for lines, but the function is certain.
        let (inlined, position) = self.inlined(pc, position).unwrap_or((Vec::new(), None));
        let (line, column) = position.map_or((0, 0), |position| self.place(outer, position));
        Ok(JsFrame { function: outer.function, line, column, tier, inlined })
    }

    /// The functions that a position is inside of, the innermost first, and the position in the outermost.
    fn inlined(
        &mut self,
        pc: u64,
        mut position: Position,
    ) -> Result<(Vec<Inlined>, Option<Position>), Reason> {
        let mut inlined = Vec::new();
        while let Some(id) = position.inlining() {
            if inlined.len() >= DEEPEST_INLINING {
                return Err(Reason::TooLarge);
            }
            let state = &mut self.reader.state;
            let mut heap =
                Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut state.kept };
            let inlining = state.codes.at(&mut heap, pc, state.batch)?.inlining(&mut heap, id)?;
            let shared = self.reader.shared(self.memory, inlining.shared)?;
            let (line, column) = self.place(shared, position);
            inlined.push(Inlined { function: shared.function, line, column });
            position = inlining.call;
        }
        Ok((inlined, Some(position)))
    }

    fn shared_of_frame(&mut self) -> Result<Object, Reason> {
        let function = self.slot(self.reader.layout.frame.function)?;
        self.heap().shared_of_function(function)
    }

    fn place_of_bytecode(
        &mut self,
        shared: Shared,
        bytecode: Object,
        offset: Option<u32>,
    ) -> (u32, u32) {
        let (state, layout) = (&mut self.reader.state, &self.reader.layout);
        let position = offset.and_then(|offset| {
            state.positions(self.memory, layout, (bytecode, shared.script_id))?.find(offset)
        });
        position.map_or((0, 0), |position| self.place(shared, position))
    }

    fn place(&mut self, shared: Shared, position: Position) -> (u32, u32) {
        let (state, layout) = (&mut self.reader.state, &self.reader.layout);
        let place = shared.script.zip(position.offset());
        place
            .and_then(|(script, offset)| state.place(self.memory, layout, script, offset))
            .unwrap_or((0, 0))
    }
}

/// Whether a slot has a reference in it, not the number of a frame's type.
fn is_reference(word: u64) -> bool {
    word & 3 == 1 && untagged(word).is_some()
}
