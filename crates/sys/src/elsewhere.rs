//! What is asked of every system, where it is not Linux.

pub mod files;
