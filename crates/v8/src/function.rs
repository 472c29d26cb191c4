//! Functions: what a SharedFunctionInfo contains of a function's name, its script and its place in it.

use std::sync::Arc;

use crate::heap::{Heap, Object, small_integer};
use crate::reason::Reason;

/// What kind of function it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// JavaScript.
    JavaScript,
    /// WebAssembly.
    Wasm {
        /// Its number in its module; `None` where only the frame's type is certain.
        index: Option<u32>,
    },
    /// V8's wrapper around a JavaScript function that WebAssembly calls.
    WasmToJs,
    /// V8's wrapper around a WebAssembly function that JavaScript calls.
    JsToWasm,
    /// A regular expression; its name is the pattern.
    Regexp,
}

/// A function of a script.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Its own name; empty when it has none.
    pub name: Arc<str>,
    /// What V8 calls a nameless function after where it is assigned to: `exports.handler`; may be empty.
    pub inferred_name: Arc<str>,
    /// The script's path or URL; `None` for code from `eval` and `new Function`. Of WebAssembly, V8's name for the
    /// module.
    pub script: Option<Arc<str>>,
    /// Of code from `eval` and `new Function`: the script of the function that made it, or, where that was made in
    /// the same way, of the one that made that.
    pub generator: Option<Arc<str>>,
    /// The line of its start, from 1; 0 unknown.
    pub line: u32,
    /// The column of its start, from 1; 0 unknown.
    pub column: u32,
    /// What it is.
    pub kind: FunctionKind,
}

impl Function {
    /// What people call it, as V8's own profilers do: its name, else the inferred one; may be empty.
    pub fn display_name(&self) -> &str {
        if self.name.is_empty() { &self.inferred_name } else { &self.name }
    }
}

/// Longer names count as long.
const LONG: usize = 1 << 10;

impl Function {
    fn texts(&self) -> impl Iterator<Item = &Arc<str>> {
        [&self.name, &self.inferred_name].into_iter().chain(&self.script).chain(&self.generator)
    }

    /// The bytes of its long names.
    pub(crate) fn long_bytes(&self) -> usize {
        self.texts().map(|text| text.len()).filter(|length| *length > LONG).sum()
    }

    /// The same with the beginnings of its long names.
    pub(crate) fn cut(self) -> Self {
        let cut = |text: Arc<str>| match text.char_indices().nth(LONG) {
            Some((end, _)) => Arc::from(&text[..end]),
            None => text,
        };
        Self {
            name: cut(self.name),
            inferred_name: cut(self.inferred_name),
            script: self.script.map(cut),
            generator: self.generator.map(cut),
            ..self
        }
    }
}

/// Which function of a reader's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// What a SharedFunctionInfo contains, before its script is looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) name: String,
    pub(crate) inferred: String,
    /// The character where it starts.
    pub(crate) start: Option<u32>,
}

/// Bits of a ScopeInfo's flags.
mod flag {
    pub(super) const SCOPE_TYPE: u64 = 15;
    pub(super) const SAVED_CLASS_VARIABLE: u64 = 1 << 10;
    pub(super) const FUNCTION_VARIABLE: u64 = 3 << 12;
    pub(super) const INFERRED_NAME: u64 = 1 << 14;
}

/// A ScopeInfo has at most this many names; more are in a hash table.
const MOST_INLINE_NAMES: u64 = 75;

const MOST_LOCALS: u64 = 1 << 20;

/// UncompiledData: the inferred name, where the function starts.
const UNCOMPILED_NAME: usize = 8;
const UNCOMPILED_START: u64 = 16;

impl Heap<'_> {
    /// The SharedFunctionInfo of a function.
    pub(crate) fn shared_of_function(&mut self, function: u64) -> Result<Object, Reason> {
        let function = self.object(function)?;
        if !self.layout.types.function.contains(&function.kind) {
            return Err(Reason::WrongType);
        }
        let shared = self.field(function, self.layout.at.function_shared)?;
        self.object_of(shared, self.layout.types.shared)
    }

    /// The bytecode of a function that has some, through baseline code and debuggers' wrappers.
    pub(crate) fn bytecode_of_shared(&mut self, shared: Object) -> Result<Object, Reason> {
        let data = self.field(shared, self.layout.at.shared_data)?;
        let data = self.object(data)?;
        if data.kind != self.layout.types.code {
            return self.bytecode_in(data);
        }
        let inner = self.field(data, self.layout.code.data)?;
        let inner = self.object(inner)?;
        self.bytecode_in(inner)
    }

    /// A BytecodeArray, or the one that an InterpreterData wraps.
    pub(crate) fn bytecode_in(&mut self, data: Object) -> Result<Object, Reason> {
        let types = &self.layout.types;
        let (bytecode, wrapper) = (types.bytecode, types.interpreter_data);
        if data.kind == bytecode {
            return Ok(data);
        }
        if data.kind != wrapper {
            return Err(Reason::WrongType);
        }
        let inner = self.word(data.address + self.layout.at.interpreter_data_bytecode)?;
        self.object_of(inner, bytecode)
    }

    /// The script of a function, or the object that marks that there is none.
    pub(crate) fn script_of_shared(&mut self, shared: Object) -> Result<Option<Object>, Reason> {
        let script = self.field(shared, self.layout.at.shared_script)?;
        let mut script = self.object(script)?;
        if let (true, Some(offset)) =
            (script.kind == self.layout.types.debug_info, self.layout.at.debug_info_script)
        {
            let inner = self.word(script.address + offset)?;
            script = self.object(inner)?;
        }
        Ok((script.kind == self.layout.types.script).then_some(script))
    }

    /// Names and start of a function.
    pub(crate) fn names_of_shared(&mut self, shared: Object) -> Result<Names, Reason> {
        let name = self.field(shared, self.layout.at.shared_name)?;
        let mut names = Names::default();
        if small_integer(name).is_none() {
            let object = self.object(name)?;
            if self.is_string(object) {
                names.name = self.name(name)?;
            } else if object.kind == self.layout.types.scope_info {
                names = self.names_of_scope(object)?;
            } else {
                return Err(Reason::WrongType);
            }
        }
        if names.start.is_none() {
            self.add_uncompiled(shared, &mut names)?;
        }
        Ok(names)
    }

    /// A function that was not compiled, or whose bytecode was dropped, keeps its place elsewhere.
    fn add_uncompiled(&mut self, shared: Object, names: &mut Names) -> Result<(), Reason> {
        let data = self.field(shared, self.layout.at.shared_data)?;
        if small_integer(data).is_some() {
            return Ok(()); // the number of a builtin
        }
        let data = self.object(data)?;
        if !self.layout.types.uncompiled.contains(&data.kind) {
            return Ok(());
        }
        let start = self.half(data.address + UNCOMPILED_START)?;
        names.start = (start <= i32::MAX as u32).then_some(start);
        if names.inferred.is_empty() {
            let inferred = self.field(data, UNCOMPILED_NAME)?;
            names.inferred = self.name_if_string(inferred)?;
        }
        Ok(())
    }

    fn names_of_scope(&mut self, scope: Object) -> Result<Names, Reason> {
        let layout = self.layout.scope.clone();
        let slot = |index: u64| scope.address + 8 + index * 8;
        let raw = self.word(slot(0))?;
        // A small integer before 13.6, then 32 bits as they are.
        let flags = if layout.fixed_positions { raw & 0xffff_ffff } else { raw >> 32 };
        let locals = small_integer(self.word(slot(2))?).ok_or(Reason::WrongType)?;
        let locals = u64::try_from(locals)
            .ok()
            .filter(|locals| *locals < MOST_LOCALS)
            .ok_or(Reason::TooLarge)?;
        let is_module = flags & flag::SCOPE_TYPE == layout.module_scope;
        let mut at = layout.first_name + if is_module { layout.module_slots } else { 0 };
        at += if locals < MOST_INLINE_NAMES { locals } else { 1 };
        at += locals;
        at += u64::from(flags & flag::SAVED_CLASS_VARIABLE != 0);
        let mut names = Names::default();
        if flags & flag::FUNCTION_VARIABLE != 0 {
            let name = self.word(slot(at))?;
            names.name = self.name_if_string(name)?;
            at += 2;
        }
        if flags & flag::INFERRED_NAME != 0 {
            let name = self.word(slot(at))?;
            names.inferred = self.name_if_string(name)?;
            at += 1;
        }
        let start = self.word(slot(if layout.fixed_positions { FIXED_START } else { at }))?;
        names.start = small_integer(start).and_then(|start| u32::try_from(start).ok());
        Ok(names)
    }

    /// A name, or nothing where V8 has zero or `undefined`.
    fn name_if_string(&mut self, reference: u64) -> Result<String, Reason> {
        if small_integer(reference).is_some() {
            return Ok(String::new());
        }
        let object = self.object(reference)?;
        if self.is_string(object) { self.name(reference) } else { Ok(String::new()) }
    }
}

/// The slot of a ScopeInfo's start since 13.6.
const FIXED_START: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_counted_and_cut() {
        let function = |name: String, script: &str| Function {
            name: name.into(),
            inferred_name: "".into(),
            script: Some(script.into()),
            generator: None,
            line: 1,
            column: 1,
            kind: FunctionKind::JavaScript,
        };
        let short = function("n".repeat(LONG), "/srv/app.js");
        assert_eq!((short.long_bytes(), short.clone().cut()), (0, short));
        let long = function("長".repeat(2 * LONG), "/srv/app.js");
        assert_eq!(long.long_bytes(), 6 * LONG);
        assert_eq!(long.cut(), function("長".repeat(LONG), "/srv/app.js"));
    }
}
