//! WebAssembly's frames: the engine marks them with a type, and the instance stands where JavaScript has its function.

use super::Module;
use crate::frames::{Attempt, JsFrame, MOST_RETRIES};
use crate::function::{Function, FunctionKind};
use crate::name::Tier;
use crate::reason::Reason;

impl Attempt<'_> {
    /// Names a frame that its own mark shows to be WebAssembly's, or a wrapper around JavaScript. `None` where it is
    /// not marked, and for an innermost frame that may still be its caller's.
    pub(crate) fn name_by_wasm_mark(&mut self) -> Option<Result<JsFrame, Reason>> {
        let wasm = self.reader.layout.wasm.as_ref()?;
        let (frame, to_js_frame) = (wasm.frame, wasm.to_js_frame);
        let mark = self.slot(self.reader.layout.frame.context).ok()?;
        if mark == to_js_frame && self.frame.is_return_address {
            return Some(self.wrapper(FunctionKind::WasmToJs));
        }
        if mark != frame {
            return None;
        }
        let instance = self.slot(self.reader.layout.frame.function).ok()?;
        match self.wasm_function(instance) {
            Ok(frame) => Some(Ok(frame)),
            Err(_) if self.frame.is_return_address => Some(self.unknown_wasm(Some(instance))),
            Err(_) => None,
        }
    }

    /// Names the innermost function where neither its own mark nor JavaScript's code does: it may not have made its
    /// frame yet. Where WebAssembly calls WebAssembly, the caller's instance leads to its code, too.
    pub(crate) fn name_wasm_leaf(&mut self) -> Result<JsFrame, Reason> {
        let Some(wasm) = &self.reader.layout.wasm else { return Err(Reason::NoCode) };
        let frame = wasm.frame;
        let slots = &self.reader.layout.frame;
        let near = |fp: Option<u64>, distance| self.stack.word_near(fp?, distance);
        let is_marked = near(self.frame.fp, slots.context) == Some(frame);
        let is_called = near(self.caller_fp, slots.context) == Some(frame);
        let instance = near(self.caller_fp, slots.function).filter(|_| is_called);
        if let Some(named) = instance.and_then(|instance| self.wasm_function(instance).ok()) {
            return Ok(named);
        }
        let (state, layout) = (&mut self.reader.state, &self.reader.layout);
        let is_known = state.known_wasm_code(self.memory, layout, self.frame.pc).is_some();
        if is_marked || is_known { self.unknown_wasm(None) } else { Err(Reason::NoCode) }
    }

    /// A wrapper that V8 makes around calls between JavaScript and WebAssembly.
    pub(crate) fn wrapper(&mut self, kind: FunctionKind) -> Result<JsFrame, Reason> {
        let name = if kind == FunctionKind::WasmToJs { "wasm-to-js" } else { "js-to-wasm" };
        self.wasm_frame(name.into(), None, (kind, Tier::Unmarked))
    }

    /// The function of an instance's module around the frame's instruction. What was read is read anew, once, when it
    /// does not fit.
    fn wasm_function(&mut self, instance: u64) -> Result<JsFrame, Reason> {
        let found = self.read_wasm_function(instance);
        if found.is_ok() || self.reader.state.retries >= MOST_RETRIES || instance & 3 != 1 {
            return found;
        }
        self.reader.state.retries += 1;
        self.reader.state.kept.forget_lines();
        self.reader.state.wasm.forget();
        self.read_wasm_function(instance)
    }

    fn read_wasm_function(&mut self, instance: u64) -> Result<JsFrame, Reason> {
        let pc = self.frame.instruction();
        let (state, layout) = (&mut self.reader.state, &self.reader.layout);
        let (module, code) = state.wasm_code_of_instance(self.memory, layout, (instance, pc))?;
        let index = code.index.ok_or(Reason::OtherCode)?;
        let name = state.wasm_name(self.memory, layout, (&module, index))?;
        let name = name.map_or_else(|| format!("wasm-function[{index}]"), |name| name.to_string());
        self.wasm_frame(name, Some(&module), (FunctionKind::Wasm { index: Some(index) }, code.tier))
    }

    /// WebAssembly, and no more is certain.
    fn unknown_wasm(&mut self, instance: Option<u64>) -> Result<JsFrame, Reason> {
        let (state, layout) = (&mut self.reader.state, &self.reader.layout);
        let module =
            instance.and_then(|instance| state.wasm_module(self.memory, layout, instance).ok());
        let kind = (FunctionKind::Wasm { index: None }, Tier::Unmarked);
        self.wasm_frame("wasm-function[?]".into(), module.as_ref(), kind)
    }

    fn wasm_frame(
        &mut self,
        name: String,
        module: Option<&Module>,
        (kind, tier): (FunctionKind, Tier),
    ) -> Result<JsFrame, Reason> {
        let function = Function {
            name: name.into(),
            inferred_name: "".into(),
            script: module.and_then(|module| module.script.clone()),
            generator: None,
            line: 0,
            column: 0,
            kind,
        };
        let function = self.reader.add(function)?;
        Ok(JsFrame { function, line: 0, column: 0, tier, inlined: Vec::new() })
    }
}
