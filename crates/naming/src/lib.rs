//! What a name means, wherever it came from: [`name()`] finds function, script, position, tier, category and package;
//! [`add`] puts that into a profile; [`finish`] and [`off_cpu`] are what every importer does in the end;
//! [`addresses`] is how it asks for the names of addresses. Pure: no file is opened here, no address is looked up, and
//! no memory is read.

pub mod add;
pub mod addresses;
pub mod alone;
pub mod finish;
pub mod generated;
mod name;
pub mod off_cpu;
pub mod quality;
pub mod roles;

pub use name::{
    ANONYMOUS, EVAL, GENERATED, GENERATED_MARK, Named, TOP_LEVEL, name, name_call_frame, parts,
    pattern_of,
};
