//! The innermost frame: whether its function has made its frame yet. A word on top of the stack that looks like a
//! caller's pc may be left over from an earlier call, so the code objects decide: whose frame it is, the code's or that
//! of the code that the word leads to.

use crate::heap::{Heap, Object};
use crate::machine::MACHINE;
use crate::memory::{Memory, Stack};
use crate::name::Tier;
use crate::positions::prologue_length;
use crate::reader::Reader;
use crate::reason::Reason;
use crate::walk::{Frame, Kind, Leaf, Start, walk};
use crate::wasm::WasmCode;

/// From a word of the stack to the next.
const WORD: i64 = MACHINE.word as i64;

impl Reader {
    /// The frames of a stack, the innermost first, also when the innermost function has no frame of its own.
    pub fn walk(
        &mut self,
        memory: &dyn Memory,
        start: Start,
        stack: &Stack<'_>,
        kind_at: &dyn Fn(u64) -> Kind,
    ) -> Vec<Frame> {
        // Most innermost frames are framed: read what they need at once, before `Judge` asks for it piece by piece.
        let frames = walk(start, Leaf::Framed, stack, kind_at);
        if start.is_return_address {
            return frames;
        }
        self.expect(memory, stack, &frames);
        match (Judge { reader: self, memory, start, stack, kind_at }).leaf() {
            Leaf::Framed => frames,
            leaf => walk(start, leaf, stack, kind_at),
        }
    }
}

/// What is needed to judge the innermost frame.
struct Judge<'a> {
    reader: &'a mut Reader,
    memory: &'a dyn Memory,
    start: Start,
    stack: &'a Stack<'a>,
    kind_at: &'a dyn Fn(u64) -> Kind,
}

impl Judge<'_> {
    fn leaf(&mut self) -> Leaf {
        match (self.kind_at)(self.start.pc) {
            Kind::Generated => self.leaf_of_generated(),
            Kind::Builtin => self.leaf_of_builtin(),
            Kind::Native | Kind::Unmapped => Leaf::Framed,
        }
    }

    /// Machine code of a function has its own frame, unless that one is another function's.
    fn leaf_of_generated(&mut self) -> Leaf {
        let pc = self.start.pc;
        if let Some(code) = self.wasm_code(pc) {
            let is_outside = self.is_outside_wasm_frame(code.start, pc);
            return if is_outside { self.where_the_caller_is() } else { Leaf::Framed };
        }
        match self.owns_frame(pc) {
            Some(true) if !self.is_outside_its_frame(pc) => Leaf::Framed,
            // Regular expressions and the like: nothing is known of their frames but that they make them.
            None => Leaf::Framed,
            _ => self.where_the_caller_is(),
        }
    }

    /// WebAssembly's code at a pc, by the instance in the frame, which is its own or that of the function that calls
    /// it, else by what is known.
    fn wasm_code(&mut self, pc: u64) -> Option<WasmCode> {
        let (state, layout) = (&mut self.reader.state, &self.reader.layout);
        let word = |distance: i64| self.stack.word_near(self.start.fp, distance);
        let is_marked = word(layout.frame.context) == Some(layout.wasm.as_ref()?.frame);
        let instance = word(layout.frame.function).filter(|_| is_marked);
        let found =
            instance.and_then(|at| state.wasm_code_of_instance(self.memory, layout, (at, pc)).ok());
        found.map(|(_, code)| code).or_else(|| state.known_wasm_code(self.memory, layout, pc))
    }

    /// Before it makes its frame, or after it took that down.
    fn is_outside_wasm_frame(&mut self, start: u64, pc: u64) -> bool {
        let state = &mut self.reader.state;
        let mut heap =
            Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut state.kept };
        let (mut here, mut bytes) = ([0], [0; MACHINE.wasm_prologue]);
        if heap.read(pc, &mut here).is_ok() && MACHINE.returns.contains(&here[0]) {
            return true;
        }
        let makes = heap.read(start, &mut bytes).ok().and_then(|()| MACHINE.makes_frame_at(&bytes));
        makes.is_some_and(|makes| {
            pc.saturating_sub(start) <= (makes + MACHINE.saves_fp_bytes) as u64
        })
    }

    fn where_the_caller_is(&self) -> Leaf {
        match (self.word(0), self.word(WORD)) {
            (Some(top), Some(second)) if top == self.start.fp && self.is_code(second) => {
                Leaf::Pushed
            }
            (Some(top), _) if self.is_code(top) => Leaf::Called,
            _ => Leaf::Lost,
        }
    }

    /// A builtin has no frame when the word on top leads into the code whose frame it is.
    fn leaf_of_builtin(&mut self) -> Leaf {
        let (Some(top), Some(second)) = (self.word(0), self.word(WORD)) else {
            return Leaf::Framed;
        };
        if top == self.start.fp && self.is_code(second) {
            return Leaf::Pushed;
        }
        if !self.is_generated(top) {
            return Leaf::Framed;
        }
        if self.is_in_prologue(top - 1) && self.is_code(second) {
            return Leaf::CalledTwice;
        }
        if self.owns_frame(top - 1) == Some(true) { Leaf::Called } else { Leaf::Framed }
    }

    fn word(&self, distance: i64) -> Option<u64> {
        self.stack.word_near(self.start.sp, distance)
    }

    fn is_generated(&self, pc: u64) -> bool {
        pc > 0 && (self.kind_at)(pc - 1) == Kind::Generated
    }

    fn is_code(&self, pc: u64) -> bool {
        pc > 0 && matches!((self.kind_at)(pc - 1), Kind::Generated | Kind::Builtin)
    }

    /// Whether the frame belongs to the function whose code is at a pc; `None` where that is no function's.
    fn owns_frame(&mut self, pc: u64) -> Option<bool> {
        let owner = self.function_at(pc).ok()?;
        Some(self.function_of_frame(owner.kind).is_ok_and(|function| function == owner))
    }

    /// What identifies a function: its SharedFunctionInfo for optimised code, its bytecode for baseline code.
    fn function_at(&mut self, pc: u64) -> Result<Object, Reason> {
        let state = &mut self.reader.state;
        let mut heap =
            Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut state.kept };
        let code = state.codes.at(&mut heap, pc, state.batch)?;
        match code.tier {
            None | Some(Tier::Ignition) => Err(Reason::OtherCode),
            Some(Tier::Sparkplug) => code.bytecode(&mut heap),
            Some(_) => code.shared(&mut heap),
        }
    }

    fn function_of_frame(&mut self, kind: u16) -> Result<Object, Reason> {
        let layout = &self.reader.layout;
        let distance = layout.frame.function;
        let function = self.stack.word_near(self.start.fp, distance).ok_or(Reason::StackCut)?;
        let mut heap = Heap { memory: self.memory, layout, kept: &mut self.reader.state.kept };
        let shared = heap.shared_of_function(function)?;
        if kind == layout.types.bytecode { heap.bytecode_of_shared(shared) } else { Ok(shared) }
    }

    /// A function that calls itself owns both frames: then the instructions decide.
    fn is_outside_its_frame(&mut self, pc: u64) -> bool {
        let state = &mut self.reader.state;
        let mut heap =
            Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut state.kept };
        let mut here = [0];
        if heap.read(pc, &mut here).is_ok() && MACHINE.returns.contains(&here[0]) {
            return true;
        }
        let Ok(code) = state.codes.at(&mut heap, pc, state.batch) else { return false };
        let inside = (pc - code.start) as usize;
        let mut bytes = [0; MACHINE.prologue];
        if code.tier == Some(Tier::Sparkplug)
            || inside >= MACHINE.prologue
            || heap.read(code.start, &mut bytes).is_err()
        {
            return false;
        }
        MACHINE.makes_frame_at(&bytes).is_some_and(|makes| inside <= makes + MACHINE.saves_fp_bytes)
    }

    /// Whether a return address is that of the call with which baseline code begins.
    fn is_in_prologue(&mut self, pc: u64) -> bool {
        let state = &mut self.reader.state;
        let mut heap =
            Heap { memory: self.memory, layout: &self.reader.layout, kept: &mut state.kept };
        let Ok(code) = state.codes.at(&mut heap, pc, state.batch) else { return false };
        if code.tier != Some(Tier::Sparkplug) {
            return false;
        }
        let length = code.offsets(&mut heap).and_then(|table| prologue_length(&table));
        length.is_some_and(|length| pc - code.start < u64::from(length))
    }
}
