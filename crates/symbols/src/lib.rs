//! Names for what was recorded.

pub mod add;
pub mod finish;
pub mod generated;
pub mod naming;
