//! What no V8 binary contains: one row for each field, one column for each version, from V8's sources. A new
//! version is a new column, after a developer has read each file that the rows name.

use super::Version;

/// A version of V8 that was looked at, with the tag of its sources:
/// `https://chromium.googlesource.com/v8/v8/+/refs/tags/TAG/FILE` shows where a row comes from.
pub(super) struct Known {
    pub(super) major: i32,
    pub(super) minor: i32,
    /// The tag.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, to look the rows up"))]
    pub(super) tag: &'static str,
    /// Which versions of Node carry it, for people.
    pub(super) node: &'static str,
}

const VERSIONS: usize = 6;

/// The columns. Versions between them are not known: Node 19, 21 and 23 are no longer maintained.
pub(super) const KNOWN: [Known; VERSIONS] = [
    Known { major: 10, minor: 2, tag: "10.2.154.26", node: "18" },
    Known { major: 11, minor: 3, tag: "11.3.244.8", node: "20" },
    Known { major: 12, minor: 4, tag: "12.4.254.21", node: "22" },
    Known { major: 13, minor: 6, tag: "13.6.233.17", node: "24" },
    Known { major: 14, minor: 1, tag: "14.1.146.11", node: "25" },
    Known { major: 14, minor: 6, tag: "14.6.202.34", node: "26" },
];

/// Versions whose rows all equal those of a column, which is named by its number.
/// `crates/nodescope/tests/javascript_names.rs` compares a running Node of each with its own perf map.
pub(super) const EQUAL: [(Known, usize); 1] =
    [(Known { major: 10, minor: 1, tag: "10.1.124.8", node: "18" }, 0)];

/// A field, or another number, that V8's debug constants lack in at least one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    SharedFunctionData,
    ScriptLineOffset,
    ScriptColumnOffset,
    ScriptId,
    ScriptEvalFrom,
    ScriptMapUrl,
    DebugInfoScript,
    InterpreterDataBytecode,
    BytecodePositions,
    CodeData,
    CodePositions,
    CodeStream,
    CodeStart,
    CodeFlags,
    CodeSize,
    StreamCode,
    StreamHeader,
    StreamAlignment,
    DeoptLiterals,
    DeoptShared,
    DeoptInlining,
    ModuleScope,
    ModuleScopeSlots,
    FixedScopePositions,
    UnsignedPositions,
    LastFunctionType,
    ForeignType,
    JsToWasmKind,
    WasmInstanceObject,
    WasmModuleObject,
    WasmModuleNative,
    WasmModuleScript,
    NativeWireBytes,
    NativeOwnedCode,
    NativeNewCode,
    WasmCodeSize,
    WasmCodeIndex,
    WasmCodeFlags,
    WasmCodeKindMask,
    WasmCodeTierShift,
    SharedBuiltin,
    FunctionContextType,
    ResolveContextSlots,
    GeneratorType,
    GeneratorFunction,
    GeneratorPosition,
    GeneratorContinuation,
    AsyncFunctionPromise,
    AsyncGeneratorQueue,
    RequestPromise,
    PromiseReactions,
    PromiseFlags,
    ReactionNext,
    ReactionFulfill,
    ReactionTarget,
    CapabilityPromise,
    FreeSpaceType,
}

/// A row: the field, the file and the name to look for in it, and the value in each version.
pub(super) struct Row {
    pub(super) field: Field,
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, to look it up"))]
    pub(super) file: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, to look it up"))]
    pub(super) name: &'static str,
    pub(super) values: [Option<i64>; VERSIONS],
}

const fn all(value: i64) -> [Option<i64>; VERSIONS] {
    [Some(value); VERSIONS]
}

const fn each(values: [i64; VERSIONS]) -> [Option<i64>; VERSIONS] {
    let mut row = [None; VERSIONS];
    let mut column = 0;
    while column < VERSIONS {
        if values[column] >= 0 {
            row[column] = Some(values[column]);
        }
        column += 1;
    }
    row
}

const fn row(
    field: Field,
    file: &'static str,
    name: &'static str,
    values: [Option<i64>; VERSIONS],
) -> Row {
    Row { field, file, name, values }
}

const CODE: &str = "src/objects/code.h";
const STREAM: &str = "src/objects/instruction-stream.h";
const SCOPE: &str = "src/objects/scope-info.tq";
const SHARED: &str = "src/objects/shared-function-info.tq";
const SCRIPT: &str = "src/objects/script.tq";
const WASM: &str = "src/wasm/wasm-objects.h";
const WASM_TQ: &str = "src/wasm/wasm-objects.tq";
const NATIVE: &str = "src/wasm/wasm-code-manager.h";
const DEOPT: &str = "src/objects/deoptimization-data.h";
const GENERATOR: &str = "src/objects/js-generator.tq";
const PROMISE: &str = "src/objects/js-promise.tq";
const REACTION: &str = "src/objects/promise.tq";

/// The rows. A number below zero means that the version has no such thing. Offsets count from the object's first
/// byte, its map.
pub(super) const ROWS: &[Row] = &[
    row(Field::SharedFunctionData, SHARED, "function_data, trusted_function_data", all(8)),
    row(Field::ScriptLineOffset, SCRIPT, "line_offset", all(24)),
    row(Field::ScriptColumnOffset, SCRIPT, "column_offset", all(32)),
    row(Field::ScriptId, SCRIPT, "id", all(64)),
    row(Field::ScriptEvalFrom, SCRIPT, "eval_from_shared_or_wrapped_arguments", all(72)),
    // `compiled_lazy_function_positions` stands before it from 11.3 on.
    row(Field::ScriptMapUrl, SCRIPT, "source_mapping_url", each([112, 120, 120, 120, 120, 120])),
    row(
        Field::DebugInfoScript,
        "src/objects/debug-objects.tq",
        "DebugInfo.script",
        each([24, 24, -1, -1, -1, -1]),
    ),
    row(Field::InterpreterDataBytecode, SHARED, "InterpreterData.bytecode_array", all(8)),
    row(
        Field::BytecodePositions,
        "src/objects/bytecode-array.tq (code.tq in 10.2 and 11.3)",
        "source_position_table",
        each([32, 32, 24, 24, 24, 24]),
    ),
    row(
        Field::CodeData,
        CODE,
        "kDeoptimizationDataOrInterpreterDataOffset",
        each([16, 16, 8, 8, 8, 8]),
    ),
    row(Field::CodePositions, CODE, "kPositionTableOffset", each([24, 24, 16, 16, 16, 16])),
    row(Field::CodeStream, CODE, "kInstructionStreamOffset", each([-1, 32, 32, 32, 32, 32])),
    // In 10.2 the instructions follow inside of the object.
    row(
        Field::CodeStart,
        CODE,
        "kCodeEntryPointOffset, kInstructionStartOffset",
        each([-1, 40, 40, 40, 40, 40]),
    ),
    row(Field::CodeFlags, CODE, "kFlagsOffset", each([48, 48, 48, 52, 52, 52])),
    row(Field::CodeSize, CODE, "kInstructionSizeOffset", each([40, 56, 52, 56, 56, 56])),
    row(Field::StreamCode, STREAM, "kCodeOffset", each([-1, 8, 8, 8, 8, 8])),
    row(Field::StreamHeader, STREAM, "kHeaderSize", each([128, 16, 32, 32, 32, 32])),
    row(
        Field::StreamAlignment,
        "src/common/globals.h",
        "kCodeAlignmentBits",
        each([32, 64, 64, 64, 64, 64]),
    ),
    row(Field::DeoptLiterals, DEOPT, "kLiteralArrayIndex", each([2, 2, 2, 3, 3, 3])),
    row(Field::DeoptShared, DEOPT, "k…SharedFunctionInfoIndex", each([6, 6, 6, 7, 7, 7])),
    row(Field::DeoptInlining, DEOPT, "kInliningPositionsIndex", each([7, 7, 7, 8, 8, 8])),
    row(Field::ModuleScope, SCOPE, "MODULE_SCOPE", each([3, 3, 3, 5, 5, 5])),
    // `module_variable_count` stands before the names.
    row(Field::ModuleScopeSlots, SCOPE, "module_variable_count", each([0, 0, 1, 1, 1, 1])),
    row(Field::FixedScopePositions, SCOPE, "position_info", each([0, 0, 0, 1, 1, 1])),
    row(
        Field::UnsignedPositions,
        "src/codegen/source-position-table.cc",
        "EncodeEntry",
        each([0, 0, 0, 0, 1, 1]),
    ),
    // Before 12.4 there is no constant for the last one: sixteen kinds of constructors follow the plain function.
    row(
        Field::LastFunctionType,
        "src/objects/js-function.tq",
        "JSFunction",
        each([2081, 2082, -1, -1, -1, -1]),
    ),
    row(Field::ForeignType, "src/objects/foreign.tq", "FOREIGN_TYPE", all(204)),
    row(
        Field::JsToWasmKind,
        "src/objects/code-kind.h",
        "JS_TO_WASM_FUNCTION",
        each([7, 7, 7, 7, 7, 8]),
    ),
    // Since 12.4 frames hold a WasmTrustedInstanceData.
    row(
        Field::WasmInstanceObject,
        WASM,
        "kInstanceObjectOffset",
        each([-1, -1, 160, 152, 152, 104]),
    ),
    row(Field::WasmModuleObject, WASM, "kModuleObjectOffset", each([208, 208, 32, 32, 32, 32])),
    row(Field::WasmModuleNative, WASM_TQ, "WasmModuleObject.managed_native_module", all(24)),
    row(
        Field::WasmModuleScript,
        WASM_TQ,
        "WasmModuleObject.script",
        each([40, 32, 32, 32, 32, 32]),
    ),
    // The rest is no object of the heap: the sources give the order of fields, and each distance was found in running
    // processes, at code whose addresses and names the perf map has.
    row(Field::NativeWireBytes, NATIVE, "wire_bytes_", each([0x138, 0xc8, 0xc8, 0xf0, 0xf0, 0xe8])),
    row(
        Field::NativeOwnedCode,
        NATIVE,
        "owned_code_",
        each([0x1b0, 0x140, 0x198, 0x148, 0x148, 0x140]),
    ),
    row(
        Field::NativeNewCode,
        NATIVE,
        "new_owned_code_",
        each([0x1d0, 0x160, 0x1b8, 0x168, 0x168, 0x160]),
    ),
    row(Field::WasmCodeSize, NATIVE, "instructions_size_", each([32, 24, 24, 32, 32, 32])),
    row(Field::WasmCodeIndex, NATIVE, "index_", each([48, 44, 44, 56, 56, 56])),
    row(Field::WasmCodeFlags, NATIVE, "flags_", each([16, 80, 80, 96, 100, 120])),
    row(Field::WasmCodeKindMask, NATIVE, "KindField", each([3, 3, 3, 3, 7, 7])),
    row(Field::WasmCodeTierShift, NATIVE, "ExecutionTierField", each([2, 2, 2, 2, 3, 3])),
    // The number of a builtin, a small integer; below zero for other functions since 13.6.
    row(
        Field::SharedBuiltin,
        SHARED,
        "function_data, untrusted_function_data",
        each([8, 8, 8, 16, 16, 16]),
    ),
    // Counted from the first type of a context, that of an await.
    row(
        Field::FunctionContextType,
        "src/objects/contexts.tq",
        "FunctionContext after AwaitContext",
        all(5),
    ),
    row(
        Field::ResolveContextSlots,
        "src/builtins/builtins-promise.h",
        "PromiseResolvingFunctionContextSlot",
        each([5, 5, 5, 5, 5, 4]),
    ),
    // Counted back from the type of an async function.
    row(Field::GeneratorType, GENERATOR, "JSGeneratorObject before JSAsyncFunctionObject", all(1)),
    row(Field::GeneratorFunction, GENERATOR, "JSGeneratorObject.function", all(24)),
    row(Field::GeneratorPosition, GENERATOR, "JSGeneratorObject.input_or_debug_pos", all(48)),
    row(Field::GeneratorContinuation, GENERATOR, "JSGeneratorObject.continuation", all(64)),
    row(Field::AsyncFunctionPromise, GENERATOR, "JSAsyncFunctionObject.promise", all(80)),
    row(Field::AsyncGeneratorQueue, GENERATOR, "JSAsyncGeneratorObject.queue", all(80)),
    row(Field::RequestPromise, GENERATOR, "AsyncGeneratorRequest.promise", all(32)),
    row(Field::PromiseReactions, PROMISE, "reactions_or_result", all(24)),
    row(Field::PromiseFlags, PROMISE, "flags", all(32)),
    // The embedder's data of a continuation stands before them from 12.4 on.
    row(Field::ReactionNext, REACTION, "PromiseReaction.next", each([8, 8, 16, 16, 16, 16])),
    row(
        Field::ReactionFulfill,
        REACTION,
        "PromiseReaction.fulfill_handler",
        each([24, 24, 32, 32, 32, 32]),
    ),
    row(
        Field::ReactionTarget,
        REACTION,
        "PromiseReaction.promise_or_capability",
        each([32, 32, 40, 40, 40, 40]),
    ),
    row(Field::CapabilityPromise, REACTION, "PromiseCapability.promise", all(8)),
    // The first three have a constant; the others were found in running processes: what fills the gaps of their heaps.
    row(
        Field::FreeSpaceType,
        "src/objects/free-space.h",
        "FREE_SPACE_TYPE",
        each([247, 251, 260, 268, 271, 273]),
    ),
];

/// The column of a version.
pub(super) fn column(version: Version) -> Option<usize> {
    let is_it = |known: &Known| (known.major, known.minor) == (version.major, version.minor);
    let equal = EQUAL.iter().find(|(known, _)| is_it(known)).map(|(_, column)| *column);
    KNOWN.iter().position(is_it).or(equal)
}

/// The value of a row for a version.
pub(super) fn value(field: Field, column: usize) -> Option<i64> {
    ROWS.iter().find(|row| row.field == field)?.values.get(column).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_one_row_with_a_source() {
        for (at, row) in ROWS.iter().enumerate() {
            assert!(!ROWS[..at].iter().any(|other| other.field == row.field), "{:?}", row.field);
            assert!(row.file.starts_with("src/") && !row.name.is_empty());
        }
        assert_eq!(value(Field::CodeSize, 1), Some(56));
        assert_eq!(value(Field::CodeStart, 0), None);
    }

    #[test]
    fn versions_are_sorted_and_tagged() {
        assert!(KNOWN.is_sorted_by_key(|known| (known.major, known.minor)));
        for known in KNOWN.iter().chain(EQUAL.iter().map(|(known, _)| known)) {
            assert!(known.tag.starts_with(&format!("{}.{}.", known.major, known.minor)));
        }
    }
}
