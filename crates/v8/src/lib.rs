//! Everything nodescope knows about V8. For now one room: [`name`], the names that V8 writes into perf
//! maps and symbol tables. No input or output happens here.

pub mod name;
