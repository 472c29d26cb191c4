//! WebAssembly: from the instance in a frame to its module, and to the piece of the module's code around an
//! instruction. A module's code is not on V8's heap. It is believed when it covers the instruction and names the very
//! module that the frame's own instance leads to. The nearest function is never taken as a guess.

mod frames;
mod names;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::heap::Heap;
use crate::layout::Layout;
use crate::layout::wasm::{CODE_BYTES, CODE_NATIVE, CODE_START, WAY_TO_NATIVE, WasmLayout};
use crate::machine::MACHINE;
use crate::memory::Memory;
use crate::name::Tier;
use crate::reader::State;
use crate::reason::Reason;
use names::FunctionNames;

/// The module of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// The NativeModule.
    native: u64,
    /// V8's name for it: `wasm://wasm/NAME-HASH`.
    script: Option<Arc<str>>,
    /// A number that no other module has.
    script_id: u64,
}

/// A piece of a module's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WasmCode {
    /// The WasmCode.
    address: u64,
    native: u64,
    pub(crate) start: u64,
    end: u64,
    /// The function's number in its module; `None` for what is no function.
    index: Option<u32>,
    tier: Tier,
}

/// What is known of WebAssembly in a process.
#[derive(Debug, Default)]
pub(crate) struct Wasm {
    /// By instance, with the batch in which it was read.
    modules: FxHashMap<u64, (Module, u64)>,
    /// By native module and script, because memory is used again.
    names: FxHashMap<(u64, u64), Arc<FunctionNames>>,
    /// By first instruction, with the batch in which it was read.
    codes: BTreeMap<u64, (WasmCode, u64)>,
    /// By native module: the list of new code that was read.
    new_codes: FxHashMap<u64, (u64, u64)>,
}

const MOST_MODULES: usize = 1 << 8;
const MOST_CODES: usize = 1 << 15;
const MOST_NEW_CODES: u64 = 1 << 14;

/// Deeper than a balanced tree of all the code that fits into memory.
const DEEPEST_TREE: usize = 64;

/// The end of user space.
const END_OF_ADDRESSES: u64 = MACHINE.addresses.end;

/// The largest function.
const LARGEST_CODE: u32 = 1 << 26;

/// A node of `std::map<Address, std::unique_ptr<WasmCode>>`.
mod node {
    pub(super) const LEFT: u64 = 16;
    pub(super) const RIGHT: u64 = 24;
    pub(super) const KEY: u64 = 32;
    pub(super) const VALUE: u64 = 40;
}

impl Wasm {
    pub(crate) fn begin_batch(&mut self) {
        for is_full in [self.modules.len() > MOST_MODULES, self.codes.len() > MOST_CODES] {
            if is_full {
                *self = Self::default();
            }
        }
    }

    /// Takes nothing for granted.
    fn forget(&mut self) {
        let names = std::mem::take(&mut self.names);
        *self = Self { names, ..Self::default() };
    }

    fn known(&self, pc: u64) -> Option<(WasmCode, u64)> {
        self.codes
            .range(..=pc)
            .next_back()
            .map(|(_, known)| *known)
            .filter(|(code, _)| pc < code.end)
    }
}

impl State {
    /// The module of the instance in a frame.
    fn wasm_module(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        instance: u64,
    ) -> Result<Module, Reason> {
        if let Some((module, batch)) = self.wasm.modules.get(&instance)
            && *batch == self.batch
        {
            return Ok(module.clone());
        }
        let wasm = layout.wasm.as_ref().ok_or(Reason::OtherCode)?;
        let mut heap = Heap { memory, layout, kept: &mut self.kept };
        let (native, script) = heap.native_module(wasm, instance)?;
        let script = self.script(memory, layout, script)?;
        let module = Module { native, script: script.name.clone(), script_id: script.id() };
        self.wasm.modules.insert(instance, (module.clone(), self.batch));
        Ok(module)
    }

    /// The code of a module around an instruction.
    fn wasm_code(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        (native, pc): (u64, u64),
    ) -> Result<WasmCode, Reason> {
        let wasm = layout.wasm.as_ref().ok_or(Reason::OtherCode)?;
        let mut heap = Heap { memory, layout, kept: &mut self.kept };
        if let Some((code, batch)) = self.wasm.known(pc) {
            let is_fresh =
                batch == self.batch || heap.wasm_code(wasm, code.address, native) == Ok(code);
            if is_fresh && code.native == native {
                self.wasm.codes.insert(code.start, (code, self.batch));
                return Ok(code);
            }
            self.wasm.codes.remove(&code.start);
        }
        if let Ok(code) = heap.owned_code(wasm, native, pc)
            && (code.start..code.end).contains(&pc)
        {
            self.wasm.codes.insert(code.start, (code, self.batch));
            return Ok(code);
        }
        let list = heap.new_code_list(wasm, native)?;
        if self.wasm.new_codes.insert(native, list) != Some(list) {
            for code in heap.new_codes(wasm, native, list)? {
                self.wasm.codes.insert(code.start, (code, self.batch));
            }
        }
        let found = self.wasm.known(pc).map(|(code, _)| code);
        found.filter(|code| code.native == native).ok_or(Reason::NoCode)
    }

    /// The code that is known around an instruction, if it is still there, whatever frame it has.
    pub(crate) fn known_wasm_code(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        pc: u64,
    ) -> Option<WasmCode> {
        let (code, _) = self.wasm.known(pc)?;
        self.wasm_code(memory, layout, (code.native, pc)).ok()
    }

    /// The code around an instruction that the instance in a frame leads to.
    pub(crate) fn wasm_code_of_instance(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        (instance, pc): (u64, u64),
    ) -> Result<(Module, WasmCode), Reason> {
        let module = self.wasm_module(memory, layout, instance)?;
        let code = self.wasm_code(memory, layout, (module.native, pc))?;
        Ok((module, code))
    }

    /// What the module's own bytes call a function; `None` where they do not.
    fn wasm_name(
        &mut self,
        memory: &dyn Memory,
        layout: &Layout,
        (module, index): (&Module, u32),
    ) -> Result<Option<Arc<str>>, Reason> {
        let key = (module.native, module.script_id);
        if let Some(names) = self.wasm.names.get(&key) {
            return Ok(names.get(index));
        }
        let wasm = layout.wasm.as_ref().ok_or(Reason::OtherCode)?;
        let mut heap = Heap { memory, layout, kept: &mut self.kept };
        let bytes = heap.word(module.native + wasm.native.wire_bytes)?;
        let (start, length) = (heap.word(bytes)?, heap.word(bytes + 8)?);
        let names = Arc::new(FunctionNames::read(&mut heap, start, length)?);
        if self.wasm.names.len() >= MOST_MODULES {
            self.wasm.names.clear();
        }
        let name = names.get(index);
        self.wasm.names.insert(key, names);
        Ok(name)
    }
}

impl Heap<'_> {
    /// The NativeModule behind an instance, and the module's script, which must lead to the same.
    fn native_module(
        &mut self,
        wasm: &WasmLayout,
        instance: u64,
    ) -> Result<(u64, crate::heap::Object), Reason> {
        let mut holder = self.object(instance)?;
        if let Some(offset) = wasm.instance_object {
            let object = self.word(holder.address + offset)?;
            holder = self.object_of(object, wasm.instance_type.ok_or(Reason::WrongType)?)?;
        }
        let module = self.word(holder.address + wasm.module_object)?;
        let module = self.object_of(module, wasm.module_type)?;
        let managed = self.word(module.address + wasm.module_native)?;
        let managed = self.object_of(managed, wasm.foreign_type)?;
        let script = self.word(module.address + wasm.module_script)?;
        let script = self.object_of(script, self.layout.types.script)?;
        let same = self.word(script.address + wasm.script_native)?;
        if self.object(same)? != managed {
            return Err(Reason::Mismatch);
        }
        let mut native = managed.address;
        for distance in WAY_TO_NATIVE {
            native = self.word(native.checked_add(distance).ok_or(Reason::Unreadable)?)?;
        }
        if native >= END_OF_ADDRESSES {
            return Err(Reason::Unreadable);
        }
        Ok((native, script))
    }

    /// A WasmCode, if it is one of a native module.
    fn wasm_code(
        &mut self,
        wasm: &WasmLayout,
        address: u64,
        native: u64,
    ) -> Result<WasmCode, Reason> {
        let mut bytes = [0; CODE_BYTES];
        self.read(address, &mut bytes)?;
        let half = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let layout = &wasm.code;
        let parts = (word(CODE_NATIVE), word(CODE_START), half(layout.size), half(layout.index));
        let (Some(owner), Some(start), Some(size), Some(index)) = parts else {
            return Err(Reason::Unreadable);
        };
        if owner != native {
            return Err(Reason::Mismatch);
        }
        let end = start.checked_add(u64::from(size)).filter(|_| size > 0 && size <= LARGEST_CODE);
        let flags = bytes.get(layout.flags).copied().ok_or(Reason::Unreadable)?;
        let is_function = flags & layout.kind_mask == 0 && i32::try_from(index).is_ok();
        let tier = match flags >> layout.tier_shift & 3 {
            1 => Tier::Liftoff,
            2 => Tier::WasmTurbofan,
            _ => Tier::Unmarked,
        };
        let end = end.ok_or(Reason::TooLarge)?;
        Ok(WasmCode { address, native, start, end, index: is_function.then_some(index), tier })
    }

    /// The last code of a native module's map that does not start behind an instruction.
    fn owned_code(&mut self, wasm: &WasmLayout, native: u64, pc: u64) -> Result<WasmCode, Reason> {
        let mut next = self.word(native + wasm.native.owned_code)?;
        let mut last = None;
        for _ in 0..DEEPEST_TREE {
            if next == 0 {
                break;
            }
            let field = |distance: u64| next.checked_add(distance).ok_or(Reason::Unreadable);
            if self.word(field(node::KEY)?)? <= pc {
                last = Some(self.word(field(node::VALUE)?)?);
                next = self.word(field(node::RIGHT)?)?;
            } else {
                next = self.word(field(node::LEFT)?)?;
            }
        }
        self.wasm_code(wasm, last.ok_or(Reason::NoCode)?, native)
    }

    /// Where a native module's list of new code begins and ends.
    fn new_code_list(&mut self, wasm: &WasmLayout, native: u64) -> Result<(u64, u64), Reason> {
        let at = native + wasm.native.new_code;
        let (begin, end) = (self.word(at)?, self.word(at + 8)?);
        let length = end.checked_sub(begin).ok_or(Reason::Mismatch)?;
        let is_list = length.is_multiple_of(8) && length / 8 <= MOST_NEW_CODES;
        if is_list { Ok((begin, end)) } else { Err(Reason::TooLarge) }
    }

    fn new_codes(
        &mut self,
        wasm: &WasmLayout,
        native: u64,
        (begin, end): (u64, u64),
    ) -> Result<Vec<WasmCode>, Reason> {
        let mut bytes = vec![0; end.saturating_sub(begin) as usize];
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        self.read(begin, &mut bytes)?;
        let addresses = bytes.chunks_exact(8).filter_map(|word| word.first_chunk());
        let addresses: Vec<u64> = addresses.map(|word| u64::from_le_bytes(*word)).collect();
        self.expect(
            addresses.iter().flat_map(|at| [*at, at.saturating_add(CODE_BYTES as u64 - 1)]),
        );
        // What cannot be read was moved to the map meanwhile.
        Ok(addresses
            .iter()
            .filter_map(|address| self.wasm_code(wasm, *address, native).ok())
            .collect())
    }
}
