//! From addresses to names. [`Namer`] is the sink that takes a raw recording and makes a profile of it, with the
//! names that its [`Sources`] have: ELF files, the kernel, perf maps and jitdumps. What generated code was made from
//! ([`source_maps`]) is here, too; the crate `naming` determines what a name means.

mod addresses;
mod assembly;
mod awaits;
mod code_names;
mod files;
mod growing;
mod images;
mod javascript;
mod jitdump;
mod kallsyms;
mod kernel;
mod lines;
#[cfg(target_os = "linux")]
mod linux;
mod loops;
mod maps;
mod namer;
mod owners;
pub mod packages;
mod perf_map;
mod places;
mod processes;
mod resolve;
mod scripts;
mod seen_threads;
pub mod source_maps;
mod sources;
mod stacks;
mod threads;
mod timeline;
mod turns;
mod unwind;
mod world;

pub use files::{Disk, Files, OpenFile};
pub use growing::GrowingNamer;
#[cfg(target_os = "linux")]
pub use linux::{Found, Host, Note, ProcessMemory, RemoteMemory, Suspended, Walker, Whereabouts};
pub use namer::{CodeAppeared, Namer};
pub use owners::Owners;
pub use sources::{ForProcess, KernelNames, Sources};
