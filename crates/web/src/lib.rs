//! The page in which people look at a recording: heat map, flame graph, tables. `page/` has its sources; here
//! it is put together. Text from outside reaches the page as data only, and the page reaches nothing outside.

mod page;
mod sha256;

pub use page::single_file;
