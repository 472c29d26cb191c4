//! The bytes of an ELF file in; its functions, its build id and its addresses out. The bytes are a slice, or the
//! [`Parts`] of something that can be read. Nothing is opened here and nothing is trusted: any bytes give an
//! answer or an [`ElfError`], in memory that grows with the file.

mod demangle;
mod image;
mod notes;
mod parts;
mod plt;
mod symbols;

pub use demangle::demangle;
pub use image::{Elf, ElfError};
pub use notes::build_id_of_notes;
pub use object::ReadRef;
pub use parts::Parts;
pub use symbols::{Finder, Symbol, Symbols};
