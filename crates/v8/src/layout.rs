//! Where things stand in V8's objects and frames. Most numbers come from the constants that V8 leaves in its binary
//! for debuggers (`v8dbg_…`), the rest from a table of versions. A version that is not in it is refused:
//! wrong names are worse than none.

pub(crate) mod awaits;
pub(crate) mod regexp;
mod table;
pub(crate) mod wasm;

use std::ops::RangeInclusive;

use awaits::AwaitLayout;
use regexp::RegexpLayout;
use table::Field;
use wasm::WasmLayout;

/// The symbols that hold V8's version, as the linker names them: major, minor, build, patch.
pub const VERSION_SYMBOLS: [&str; 4] = [
    "_ZN2v88internal7Version6major_E",
    "_ZN2v88internal7Version6minor_E",
    "_ZN2v88internal7Version6build_E",
    "_ZN2v88internal7Version6patch_E",
];

/// The symbol of the table of bytecode sizes, for [`Layout::with_bytecode_sizes`].
pub const BYTECODE_SIZES_SYMBOL: &str = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE";

/// What the names of V8's debug constants start with.
pub const CONSTANT_PREFIX: &str = "v8dbg_";

/// A version of V8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// 14 of 14.6.202.34.
    pub major: i32,
    /// 6 of 14.6.202.34.
    pub minor: i32,
    /// 202 of 14.6.202.34.
    pub build: i32,
    /// 34 of 14.6.202.34.
    pub patch: i32,
}

impl Version {
    /// From the values of [`VERSION_SYMBOLS`].
    pub fn new(number: impl Fn(&str) -> Option<i64>) -> Option<Self> {
        let part = |row: usize| i32::try_from(number(VERSION_SYMBOLS[row])?).ok();
        Some(Self { major: part(0)?, minor: part(1)?, build: part(2)?, patch: part(3)? })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}.{}.{}", self.major, self.minor, self.build, self.patch)
    }
}

/// Why the objects of a V8 cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The table lacks this version.
    #[error("nodescope does not know V8 {0}, only that of Node {known}", known = known_node_list())]
    Version(Version),
    /// Compressed pointers, as in Electron.
    #[error("this V8 compresses its pointers ({0} bytes each), which is not supported")]
    PointerSize(i64),
    /// The binary lacks one of V8's debug constants.
    #[error("the binary lacks V8's constant {0}")]
    Constant(&'static str),
}

/// The instance types that are believed.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    pub(crate) map: u16,
    pub(crate) function: RangeInclusive<u16>,
    pub(crate) shared: u16,
    pub(crate) shared_wrapper: Option<u16>,
    pub(crate) script: u16,
    pub(crate) debug_info: u16,
    pub(crate) scope_info: u16,
    pub(crate) bytecode: u16,
    pub(crate) interpreter_data: u16,
    pub(crate) code: u16,
    /// What instructions are found in: the instruction stream, or the code itself in 10.2.
    pub(crate) stream: u16,
    pub(crate) bytes: Vec<u16>,
    pub(crate) arrays: Vec<u16>,
    pub(crate) uncompiled: Vec<u16>,
    pub(crate) first_nonstring: u16,
}

/// Offsets from an object's first byte.
#[derive(Clone, Debug)]
pub(crate) struct Offsets {
    pub(crate) map_type: u64,
    pub(crate) function_shared: usize,
    pub(crate) shared_data: usize,
    pub(crate) shared_name: usize,
    pub(crate) shared_script: usize,
    pub(crate) script_source: usize,
    pub(crate) script_name: usize,
    pub(crate) script_line_offset: usize,
    pub(crate) script_column_offset: usize,
    pub(crate) script_id: u64,
    pub(crate) script_map_url: u64,
    pub(crate) script_line_ends: usize,
    pub(crate) script_eval_from: u64,
    pub(crate) debug_info_script: Option<u64>,
    pub(crate) interpreter_data_bytecode: u64,
    pub(crate) bytecode_data: u64,
    pub(crate) bytecode_positions: u64,
    pub(crate) array_data: u64,
    pub(crate) shared_wrapper_shared: u64,
}

/// What is known of machine code.
#[derive(Clone, Debug)]
pub(crate) struct CodeLayout {
    pub(crate) data: usize,
    pub(crate) positions: usize,
    /// `None` where the instructions follow inside of the code object.
    pub(crate) stream: Option<usize>,
    pub(crate) start: Option<usize>,
    pub(crate) flags: usize,
    pub(crate) size: usize,
    pub(crate) stream_code: Option<u64>,
    pub(crate) stream_header: u64,
    pub(crate) alignment: u64,
    pub(crate) kind_mask: u32,
    pub(crate) kind_shift: u32,
    pub(crate) interpreted: u32,
    pub(crate) deopt_literals: u64,
    pub(crate) deopt_shared: u64,
    pub(crate) deopt_inlining: u64,
}

/// Distances from a frame pointer.
#[derive(Clone, Debug)]
pub(crate) struct FrameLayout {
    pub(crate) context: i64,
    pub(crate) function: i64,
    pub(crate) bytecode: i64,
    pub(crate) bytecode_offset: i64,
}

/// What is known of scope infos.
#[derive(Clone, Debug)]
pub(crate) struct ScopeLayout {
    pub(crate) first_name: u64,
    pub(crate) module_scope: u64,
    pub(crate) module_slots: u64,
    pub(crate) fixed_positions: bool,
}

/// Where everything stands in one version of V8.
#[derive(Clone, Debug)]
pub struct Layout {
    version: Version,
    pub(crate) types: Types,
    pub(crate) at: Offsets,
    pub(crate) code: CodeLayout,
    pub(crate) frame: FrameLayout,
    pub(crate) scope: ScopeLayout,
    /// Absent where nothing is known of WebAssembly.
    pub(crate) wasm: Option<WasmLayout>,
    pub(crate) regexp: RegexpLayout,
    /// Absent where nothing is known of suspended functions.
    pub(crate) awaits: Option<AwaitLayout>,
    pub(crate) unsigned_positions: bool,
    pub(crate) bytecode_sizes: Vec<u8>,
}

impl Layout {
    /// From V8's version and its debug constants, which `constant` gives by name without their prefix
    /// ([`CONSTANT_PREFIX`]).
    pub fn new(
        version: Version,
        constant: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<Self, Unsupported> {
        let column = table::column(version).ok_or(Unsupported::Version(version))?;
        let numbers = Numbers { constant, column };
        let size = numbers.named("TaggedSize")?;
        if size != 8 {
            return Err(Unsupported::PointerSize(size));
        }
        let scope = ScopeLayout {
            first_name: numbers.named("scopeinfo_idx_first_vars")? as u64,
            module_scope: numbers.of_table(Field::ModuleScope)? as u64,
            module_slots: numbers.of_table(Field::ModuleScopeSlots)? as u64,
            fixed_positions: numbers.of_table(Field::FixedScopePositions)? == 1,
        };
        Ok(Self {
            version,
            types: types(&numbers)?,
            at: offsets(&numbers)?,
            code: code(&numbers)?,
            frame: frame(&numbers)?,
            scope,
            wasm: wasm::wasm(&numbers),
            regexp: regexp::regexp(&numbers),
            awaits: awaits::awaits(&numbers),
            unsigned_positions: numbers.of_table(Field::UnsignedPositions)? == 1,
            bytecode_sizes: Vec::new(),
        })
    }

    /// From the variables of a binary by their symbols ([`is_asked_for`]); `None` where it holds no V8. Everything that
    /// decides whether names can be read asks here.
    pub fn of_binary(number: &dyn Fn(&str) -> Option<i64>) -> Option<Result<Self, Unsupported>> {
        let version = Version::new(number)?;
        Some(Self::new(version, &|name| number(&format!("{CONSTANT_PREFIX}{name}"))))
    }

    /// Adds the table of bytecode sizes ([`BYTECODE_SIZES_SYMBOL`]): without it, baseline frames have no lines.
    #[must_use]
    pub fn with_bytecode_sizes(mut self, sizes: &[u8]) -> Self {
        // One row for each of three operand widths; a bytecode is a byte.
        let is_table =
            sizes.len().is_multiple_of(3) && sizes.len() <= 3 * 256 && !sizes.contains(&0);
        self.bytecode_sizes = if is_table { sizes.to_vec() } else { Vec::new() };
        self
    }

    /// Which V8 this is.
    pub fn version(&self) -> Version {
        self.version
    }
}

/// Whether [`Layout::of_binary`] asks for a variable of this name.
pub fn is_asked_for(symbol: &[u8]) -> bool {
    symbol.starts_with(CONSTANT_PREFIX.as_bytes())
        || VERSION_SYMBOLS.iter().any(|known| known.as_bytes() == symbol)
}

/// The versions of Node whose V8 is known.
pub fn known_nodes() -> impl Iterator<Item = u32> {
    table::KNOWN.iter().filter_map(|known| known.node.parse().ok())
}

/// The same for people: `18, 20, 22, 24, 25 and 26`.
pub fn known_node_list() -> String {
    let nodes: Vec<String> = known_nodes().map(|node| node.to_string()).collect();
    match nodes.split_last() {
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Where numbers come from.
struct Numbers<'a> {
    constant: &'a dyn Fn(&str) -> Option<i64>,
    column: usize,
}

impl Numbers<'_> {
    fn named(&self, name: &'static str) -> Result<i64, Unsupported> {
        (self.constant)(name)
            .filter(|value| value.abs() < 1 << 20)
            .ok_or(Unsupported::Constant(name))
    }

    /// The first of several names that one field had over time.
    fn first_of(&self, names: &[&'static str]) -> Result<i64, Unsupported> {
        let mut found = names.iter().filter_map(|name| self.named(name).ok());
        found.next().ok_or(Unsupported::Constant(names[0]))
    }

    fn of_table(&self, field: Field) -> Result<i64, Unsupported> {
        table::value(field, self.column).ok_or(Unsupported::Constant("of the table of versions"))
    }

    /// A constant where the binary has it, else the table.
    fn either(&self, names: &[&'static str], field: Field) -> Result<i64, Unsupported> {
        self.first_of(names).or_else(|_| self.of_table(field))
    }

    fn type_of(&self, name: &'static str) -> Result<u16, Unsupported> {
        u16::try_from(self.named(name)?).map_err(|_| Unsupported::Constant(name))
    }

    fn types_of(&self, names: &[&'static str]) -> Vec<u16> {
        names.iter().filter_map(|name| self.type_of(name).ok()).collect()
    }

    fn offset(&self, names: &[&'static str]) -> Result<usize, Unsupported> {
        in_object(self.first_of(names)?, names[0])
    }

    fn table_offset(&self, field: Field) -> Result<usize, Unsupported> {
        in_object(self.of_table(field)?, "of the table of versions")
    }
}

/// Fields stand in an object's first bytes: what is read at once has this size.
pub(crate) const OBJECT_BYTES: usize = 64;

fn in_object(value: i64, name: &'static str) -> Result<usize, Unsupported> {
    let offset = usize::try_from(value).ok().filter(|offset| *offset <= OBJECT_BYTES - 8);
    offset.ok_or(Unsupported::Constant(name))
}

const UNCOMPILED: [&str; 4] = [
    "type_UncompiledDataWithPreparseDataAndJob__UNCOMPILED_DATA_WITH_PREPARSE_DATA_AND_JOB_TYPE",
    "type_UncompiledDataWithPreparseData__UNCOMPILED_DATA_WITH_PREPARSE_DATA_TYPE",
    "type_UncompiledDataWithoutPreparseDataWithJob__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_WITH_JOB_TYPE",
    "type_UncompiledDataWithoutPreparseData__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_TYPE",
];

/// The function that called `eval` or `new Function`.
const EVAL_FROM: [&str; 3] = [
    "class_Script__eval_from_shared_or_wrapped_arguments__Tagged_Object_",
    "class_Script__eval_from_shared_or_wrapped_arguments__Object",
    "class_Script__eval_from_shared_or_wrapped_arguments_or_sfi_table__Object",
];

const ARRAYS: [&str; 6] = [
    "type_FixedArray__FIXED_ARRAY_TYPE",
    "type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE",
    "type_TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE",
    "type_ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE",
    "type_TrustedWeakFixedArray__TRUSTED_WEAK_FIXED_ARRAY_TYPE",
    "type_ProtectedWeakFixedArray__PROTECTED_WEAK_FIXED_ARRAY_TYPE",
];

fn types(numbers: &Numbers<'_>) -> Result<Types, Unsupported> {
    let code = numbers.type_of("type_Code__CODE_TYPE")?;
    let stream = numbers.type_of("type_InstructionStream__INSTRUCTION_STREAM_TYPE");
    let has_stream = numbers.of_table(Field::CodeStream).is_ok();
    let first = numbers.first_of(&["FirstJSFunctionType", "type_JSFunction__JS_FUNCTION_TYPE"])?;
    let last = numbers.either(&["LastJSFunctionType"], Field::LastFunctionType)?;
    Ok(Types {
        map: numbers.type_of("type_Map__MAP_TYPE")?,
        function: first as u16..=last as u16,
        shared: numbers.type_of("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE")?,
        shared_wrapper: numbers
            .type_of("type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE")
            .ok(),
        script: numbers.type_of("type_Script__SCRIPT_TYPE")?,
        debug_info: numbers.type_of("type_DebugInfo__DEBUG_INFO_TYPE")?,
        scope_info: numbers.type_of("type_ScopeInfo__SCOPE_INFO_TYPE")?,
        bytecode: numbers.type_of("type_BytecodeArray__BYTECODE_ARRAY_TYPE")?,
        interpreter_data: numbers.type_of("type_InterpreterData__INTERPRETER_DATA_TYPE")?,
        code,
        stream: if has_stream { stream? } else { code },
        bytes: numbers.types_of(&[
            "type_ByteArray__BYTE_ARRAY_TYPE",
            "type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE",
        ]),
        arrays: numbers.types_of(&ARRAYS),
        uncompiled: numbers.types_of(&UNCOMPILED),
        first_nonstring: numbers.type_of("FirstNonstringType")?,
    })
}

fn offsets(numbers: &Numbers<'_>) -> Result<Offsets, Unsupported> {
    Ok(Offsets {
        map_type: numbers.offset(&["class_Map__instance_type__uint16_t"])? as u64,
        function_shared: numbers.offset(&["class_JSFunction__shared__SharedFunctionInfo"])?,
        shared_data: numbers.table_offset(Field::SharedFunctionData)?,
        shared_name: numbers.offset(&[
            "class_SharedFunctionInfo__name_or_scope_info__Object",
            "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
            "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
        ])?,
        shared_script: numbers.offset(&[
            "class_SharedFunctionInfo__script_or_debug_info__HeapObject",
            "class_SharedFunctionInfo__script__Tagged_HeapObject_",
        ])?,
        script_source: numbers.offset(&["class_Script__source__Object"])?,
        script_name: numbers.offset(&["class_Script__name__Object"])?,
        script_line_offset: numbers.table_offset(Field::ScriptLineOffset)?,
        script_column_offset: numbers.table_offset(Field::ScriptColumnOffset)?,
        script_id: numbers.of_table(Field::ScriptId)? as u64,
        script_map_url: numbers.of_table(Field::ScriptMapUrl)? as u64,
        script_line_ends: numbers.offset(&["class_Script__line_ends__Object"])?,
        script_eval_from: numbers.either(&EVAL_FROM, Field::ScriptEvalFrom)? as u64,
        debug_info_script: numbers.of_table(Field::DebugInfoScript).ok().map(|value| value as u64),
        interpreter_data_bytecode: numbers.of_table(Field::InterpreterDataBytecode)? as u64,
        bytecode_data: numbers.named("class_BytecodeArray__data__uintptr_t")? as u64,
        bytecode_positions: numbers.of_table(Field::BytecodePositions)? as u64,
        array_data: numbers.offset(&["class_FixedArray__data__uintptr_t"])? as u64,
        shared_wrapper_shared: 8,
    })
}

fn code(numbers: &Numbers<'_>) -> Result<CodeLayout, Unsupported> {
    let in_code =
        |names: &[&'static str], field| in_object(numbers.either(names, field)?, names[0]);
    Ok(CodeLayout {
        data: numbers.table_offset(Field::CodeData)?,
        positions: numbers.table_offset(Field::CodePositions)?,
        stream: numbers.table_offset(Field::CodeStream).ok(),
        start: numbers.table_offset(Field::CodeStart).ok(),
        flags: in_code(&["class_Code__flags__uint32_t"], Field::CodeFlags)?,
        size: in_code(&["class_Code__instruction_size__int"], Field::CodeSize)?,
        stream_code: numbers.of_table(Field::StreamCode).ok().map(|value| value as u64),
        stream_header: numbers.of_table(Field::StreamHeader)? as u64,
        alignment: numbers.of_table(Field::StreamAlignment)? as u64,
        kind_mask: numbers.named("CodeKindFieldMask")? as u32,
        kind_shift: (numbers.named("CodeKindFieldShift")? as u32).min(31),
        interpreted: numbers.named("CodeKindInterpretedFunction")? as u32,
        deopt_literals: numbers
            .either(&["DeoptimizationDataLiteralArrayIndex"], Field::DeoptLiterals)?
            as u64,
        deopt_shared: numbers.of_table(Field::DeoptShared)? as u64,
        deopt_inlining: numbers
            .either(&["DeoptimizationDataInliningPositionsIndex"], Field::DeoptInlining)?
            as u64,
    })
}

fn frame(numbers: &Numbers<'_>) -> Result<FrameLayout, Unsupported> {
    Ok(FrameLayout {
        context: numbers.named("off_fp_context_or_frame_type")?,
        function: numbers.named("off_fp_function")?,
        bytecode: numbers.named("off_fp_bytecode_array")?,
        bytecode_offset: numbers.named("off_fp_bytecode_offset")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(major: i32, minor: i32) -> Version {
        Version { major, minor, build: 1, patch: 2 }
    }

    #[test]
    fn unknown_versions_are_refused_with_a_sentence() {
        for (major, minor) in [(14, 7), (15, 0), (9, 4), (12, 9), (0, 0), (-1, i32::MAX)] {
            let refused = Layout::new(version(major, minor), &|_| Some(8)).unwrap_err();
            assert_eq!(refused, Unsupported::Version(version(major, minor)));
        }
        let sentence = Unsupported::Version(version(15, 0)).to_string();
        assert!(
            sentence
                == "nodescope does not know V8 15.0.1.2, only that of Node 18, 20, 22, 24, 25 and 26",
            "{sentence}"
        );
    }

    #[test]
    fn other_pointers_and_missing_constants_are_refused() {
        let refused =
            Layout::new(version(12, 4), &|name| (name == "TaggedSize").then_some(4)).unwrap_err();
        assert_eq!(refused, Unsupported::PointerSize(4));
        let refused = Layout::new(version(12, 4), &|_| None).unwrap_err();
        assert_eq!(refused, Unsupported::Constant("TaggedSize"));
        let refused =
            Layout::new(version(12, 4), &|name| (name == "TaggedSize").then_some(8)).unwrap_err();
        assert!(matches!(refused, Unsupported::Constant(_)), "{refused}");
    }

    #[test]
    fn absurd_constants_are_refused() {
        assert!(
            Layout::new(version(14, 6), &|name| Some(if name == "TaggedSize" { 8 } else { -8 }))
                .is_err()
        );
        assert!(
            Layout::new(version(14, 6), &|name| Some(if name == "TaggedSize" {
                8
            } else {
                i64::MAX
            }))
            .is_err()
        );
    }
}
