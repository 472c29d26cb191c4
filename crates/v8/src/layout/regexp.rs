//! Where things stand in what V8 keeps of regular expressions.

use super::Numbers;

/// What is known of regular expressions: the objects that hold a pattern, and where.
#[derive(Clone, Debug)]
pub(crate) struct RegexpLayout {
    /// The type of an object and the offset of its source.
    pub(crate) sources: Vec<(u16, u64)>,
}

/// The last argument of the code of a regular expression, from its frame pointer: six are in registers, and behind the
/// caller's pc stand how it was called, the isolate and the regular expression
/// (`NativeRegExpMacroAssembler::Execute`).
pub(crate) const ARGUMENT: i64 = 32;

/// The object's type, and the field of its source: a JSRegExp, since 13.x its data.
const OBJECTS: [(&str, &str); 2] = [
    ("type_JSRegExp__JS_REG_EXP_TYPE", "class_JSRegExp__source__Object"),
    ("type_IrRegExpData__IR_REG_EXP_DATA_TYPE", "class_RegExpData__source__Tagged_String_"),
];

pub(super) fn regexp(numbers: &Numbers<'_>) -> RegexpLayout {
    let object = |(kind, source): &(&'static str, &'static str)| {
        let offset = u64::try_from(numbers.named(source).ok()?).ok()?;
        Some((numbers.type_of(kind).ok()?, offset))
    };
    RegexpLayout { sources: OBJECTS.iter().filter_map(object).collect() }
}
