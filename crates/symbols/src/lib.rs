//! Names for what was recorded.

pub mod finish;
pub mod generated;
pub mod naming;
