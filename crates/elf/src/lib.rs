//! The bytes of an ELF file in; its functions, its variables, its build id, its addresses and its unwind tables out.
//! The bytes are a slice, or the [`Parts`] of something that can be read. Nothing is opened here and nothing is
//! trusted: any bytes give an answer or an [`ElfError`], in memory that grows with the file.

mod demangle;
mod expression;
mod image;
mod notes;
mod parts;
mod plt;
mod sections;
mod symbols;
mod unwind;
mod variables;

pub use demangle::demangle;
pub use expression::{Found, FrameRegisters, FrameTables, caller_by_expression};
pub use image::{Elf, ElfError, Segments};
pub use notes::build_id_of_notes;
pub use object::ReadRef;
pub use parts::Parts;
pub use symbols::{Finder, Symbol, SymbolIndex, Symbols};
pub use unwind::{Table, UnwindTables};
pub use variables::Variables;
