//! JavaScript and WebAssembly that was named when it was seen: from V8's heap into a recording, and out of it again.
//! The parts of a name stay apart on the whole way; no text is put together and taken apart again.

use naming::parts::Parts;
use profile::classify::generated_by;
use rustc_hash::FxHashMap;
use trace::{FrameName, JavaScript};
use v8::FunctionKind;
use v8::name::Tier;

/// All frames of a recording that have such names.
#[derive(Default)]
pub(crate) struct JavaScriptNames {
    frames: FxHashMap<u32, NamedFrame>,
    functions: FxHashMap<u32, NamedFunction>,
    /// What the texts take.
    text_bytes: usize,
}

/// A frame that was named when it was seen.
pub(crate) struct NamedFrame {
    pub(crate) name: NameOfFrame,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) inlined: bool,
}

/// What ran in it.
pub(crate) enum NameOfFrame {
    /// A text without parts.
    Symbol(String),
    /// The row of a function, and what ran it.
    Function(u32, Tier),
}

/// A function.
pub(crate) struct NamedFunction {
    name: String,
    script: Option<String>,
    generator: Option<String>,
    /// The source of code that a script generated.
    generated: Option<String>,
    line: u32,
    column: u32,
    kind: FunctionKind,
}

/// More hot places than programs have.
const MOST_ROWS: usize = 1 << 22;

impl JavaScriptNames {
    /// Keeps a frame, and its function where that is given. Returns how much memory its texts take.
    pub(crate) fn take(&mut self, frame: &JavaScript<'_>) -> usize {
        if self.frames.len() >= MOST_ROWS {
            return 0;
        }
        let mut bytes = 0;
        let name = match frame.name {
            FrameName::Symbol(symbol) => {
                bytes += symbol.len();
                NameOfFrame::Symbol(text(symbol))
            }
            FrameName::Function { row, tier, function } => {
                if let Some(function) = &function {
                    let function = NamedFunction::of(function);
                    bytes += function.bytes();
                    self.functions.insert(row, function);
                }
                NameOfFrame::Function(row, known_tier(tier))
            }
        };
        let JavaScript { row, line, column, inlined, .. } = *frame;
        self.frames.insert(row, NamedFrame { name, line, column, inlined });
        self.text_bytes += bytes;
        bytes
    }

    /// What everything takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let frames = self.frames.len() * (size_of::<NamedFrame>() + size_of::<u32>());
        frames
            + self.functions.len() * (size_of::<NamedFunction>() + size_of::<u32>())
            + self.text_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(crate) fn frame(&self, row: u64) -> Option<&NamedFrame> {
        self.frames.get(&u32::try_from(row).ok()?)
    }

    pub(crate) fn function(&self, row: u32) -> Option<&NamedFunction> {
        self.functions.get(&row)
    }
}

impl NamedFunction {
    fn of(function: &trace::Function<'_>) -> Self {
        // A script without a name counts as one of `eval`.
        let some = |bytes: Option<&[u8]>| bytes.filter(|bytes| !bytes.is_empty()).map(text);
        let generator = some(function.generator);
        Self {
            name: text(function.name),
            script: some(function.script),
            generated: generator.as_deref().and_then(generated_by),
            generator,
            line: function.line,
            column: function.column,
            kind: known_kind(function.kind),
        }
    }

    fn bytes(&self) -> usize {
        let texts = [&self.script, &self.generator, &self.generated];
        self.name.len() + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }

    /// The parts of its name, when it runs in a tier.
    pub(crate) fn parts(&self, tier: Tier) -> Parts<'_> {
        Parts {
            name: &self.name,
            script: self.script.as_deref(),
            generator: self.generator.as_deref(),
            generated: self.generated.as_deref(),
            line: self.line,
            column: self.column,
            kind: self.kind,
            tier,
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A function as a recording has it.
#[cfg(target_os = "linux")]
pub(crate) fn recorded_function(function: &v8::Function) -> trace::Function<'_> {
    trace::Function {
        name: function.display_name().as_bytes(),
        script: function.script.as_deref().map(str::as_bytes),
        generator: function.generator.as_deref().map(str::as_bytes),
        line: function.line,
        column: function.column,
        kind: match function.kind {
            FunctionKind::JavaScript => trace::FunctionKind::JavaScript,
            FunctionKind::Wasm { index } => trace::FunctionKind::Wasm { index },
            FunctionKind::WasmToJs => trace::FunctionKind::WasmToJs,
            FunctionKind::JsToWasm => trace::FunctionKind::JsToWasm,
            FunctionKind::Regexp => trace::FunctionKind::Regexp,
        },
    }
}

fn known_kind(kind: trace::FunctionKind) -> FunctionKind {
    match kind {
        trace::FunctionKind::JavaScript => FunctionKind::JavaScript,
        trace::FunctionKind::Wasm { index } => FunctionKind::Wasm { index },
        trace::FunctionKind::WasmToJs => FunctionKind::WasmToJs,
        trace::FunctionKind::JsToWasm => FunctionKind::JsToWasm,
        trace::FunctionKind::Regexp => FunctionKind::Regexp,
    }
}

/// A tier as a recording has it.
#[cfg(target_os = "linux")]
pub(crate) fn recorded_tier(tier: Tier) -> trace::Tier {
    match tier {
        Tier::Unmarked => trace::Tier::Unmarked,
        Tier::Ignition => trace::Tier::Ignition,
        Tier::Sparkplug => trace::Tier::Sparkplug,
        Tier::Maglev => trace::Tier::Maglev,
        Tier::Turbofan => trace::Tier::Turbofan,
        Tier::Liftoff => trace::Tier::Liftoff,
        Tier::WasmTurbofan => trace::Tier::WasmTurbofan,
    }
}

fn known_tier(tier: trace::Tier) -> Tier {
    match tier {
        trace::Tier::Unmarked => Tier::Unmarked,
        trace::Tier::Ignition => Tier::Ignition,
        trace::Tier::Sparkplug => Tier::Sparkplug,
        trace::Tier::Maglev => Tier::Maglev,
        trace::Tier::Turbofan => Tier::Turbofan,
        trace::Tier::Liftoff => Tier::Liftoff,
        trace::Tier::WasmTurbofan => Tier::WasmTurbofan,
    }
}
