//! speedscope's own JSON (<https://www.speedscope.app/file-format-schema.json>): shared frames, and one
//! profile a thread, either samples with weights or frames that open and close.

mod events;
mod read;
mod write;

pub use read::{looks_like, read};
pub use write::write;
