//! Where things stand in what V8 keeps of WebAssembly: types of frames, the way from a frame's instance to its module,
//! and the module's code, which is not on V8's heap.

use super::{Numbers, table::Field};

/// What is known of WebAssembly.
#[derive(Clone, Debug)]
pub(crate) struct WasmLayout {
    /// What stands in a frame's slot of the context: its type, as the engine marks it.
    pub(crate) frame: u64,
    /// The same for the frame of a wrapper around a JavaScript function that WebAssembly calls.
    pub(crate) to_js_frame: u64,
    /// The kind of code of a wrapper around a WebAssembly function that JavaScript calls.
    pub(crate) from_js_kind: u32,
    /// The way to the module: through the instance's object where frames hold something else (since 12.4).
    pub(crate) instance_object: Option<u64>,
    pub(crate) instance_type: Option<u16>,
    pub(crate) module_object: u64,
    pub(crate) module_type: u16,
    pub(crate) module_native: u64,
    pub(crate) module_script: u64,
    pub(crate) foreign_type: u16,
    pub(crate) script_native: u64,
    pub(crate) native: NativeLayout,
    pub(crate) code: WasmCodeLayout,
}

/// A NativeModule: its wire bytes, the map of its code, and the list of code that is not in that map yet.
#[derive(Clone, Debug)]
pub(crate) struct NativeLayout {
    pub(crate) wire_bytes: u64,
    pub(crate) owned_code: u64,
    pub(crate) new_code: u64,
}

/// A WasmCode.
#[derive(Clone, Debug)]
pub(crate) struct WasmCodeLayout {
    pub(crate) size: usize,
    pub(crate) index: usize,
    pub(crate) flags: usize,
    pub(crate) kind_mask: u8,
    pub(crate) tier_shift: u32,
}

/// Where the slots of a Managed and of its destructor lead to the native module: `Foreign::foreign_address`,
/// `ManagedPtrDestructor::shared_ptr_ptr_`, and the pointer in a `shared_ptr`.
pub(crate) const WAY_TO_NATIVE: [u64; 3] = [8, 24, 0];

/// A WasmCode's first words: its native module and its first instruction.
pub(crate) const CODE_NATIVE: usize = 0;
pub(crate) const CODE_START: usize = 8;

/// What is read of a WasmCode at once.
pub(crate) const CODE_BYTES: usize = 128;

/// Absent where the binary or the table lacks something: WebAssembly has no names then.
pub(super) fn wasm(numbers: &Numbers<'_>) -> Option<WasmLayout> {
    let marker = |name| Some((u64::try_from(numbers.named(name).ok()?).ok()?) << 1);
    let row = |field| u64::try_from(numbers.of_table(field).ok()?).ok();
    let in_code =
        |field| usize::try_from(row(field)?).ok().filter(|offset| *offset <= CODE_BYTES - 8);
    Some(WasmLayout {
        frame: marker("frametype_WasmFrame")?,
        to_js_frame: marker("frametype_WasmToJsFrame")?,
        from_js_kind: u32::try_from(row(Field::JsToWasmKind)?).ok()?,
        instance_object: row(Field::WasmInstanceObject),
        instance_type: numbers.type_of("type_WasmInstanceObject__WASM_INSTANCE_OBJECT_TYPE").ok(),
        module_object: row(Field::WasmModuleObject)?,
        module_type: numbers.type_of("type_WasmModuleObject__WASM_MODULE_OBJECT_TYPE").ok()?,
        module_native: row(Field::WasmModuleNative)?,
        module_script: row(Field::WasmModuleScript)?,
        foreign_type: u16::try_from(
            numbers.either(&["type_Foreign__FOREIGN_TYPE"], Field::ForeignType).ok()?,
        )
        .ok()?,
        script_native: u64::try_from(numbers.first_of(&SCRIPT_NATIVE).ok()?).ok()?,
        native: NativeLayout {
            wire_bytes: row(Field::NativeWireBytes)?,
            owned_code: row(Field::NativeOwnedCode)?,
            new_code: row(Field::NativeNewCode)?,
        },
        code: WasmCodeLayout {
            size: in_code(Field::WasmCodeSize)?,
            index: in_code(Field::WasmCodeIndex)?,
            flags: in_code(Field::WasmCodeFlags)?,
            kind_mask: u8::try_from(row(Field::WasmCodeKindMask)?).ok()?,
            tier_shift: u32::try_from(row(Field::WasmCodeTierShift)?).ok()?.min(7),
        },
    })
}

const SCRIPT_NATIVE: [&str; 2] = [
    "class_Script__wasm_managed_native_module__Object",
    "class_Script__wasm_managed_native_module__Tagged_Object_",
];
