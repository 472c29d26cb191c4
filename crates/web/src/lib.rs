//! The page in which people look at a recording: heat map, flame graph, tables. `page/` has its sources; here
//! it is put together, as one file or behind a server of this machine. Text from outside reaches the page as data
//! only, and the page reaches nothing but its own server.

mod gate;
mod http;
mod library;
mod neighbour;
mod page;
mod secret;
mod server;

pub use library::{Library, Listed, Listing, Refusal};
pub use page::{Inside, compared_file, single_file};
pub use server::Server;
