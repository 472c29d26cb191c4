//! From addresses to names. [`Namer`] is the sink that takes a raw recording and makes a profile of it, with the
//! names that its [`Sources`] have: ELF files, the kernel, perf maps and jitdumps. What a name means
//! ([`naming`]), what every importer of names does in the end ([`finish`]), and what generated code was made from
//! ([`source_maps`]), is here, too.

pub mod add;
mod code_names;
#[cfg(target_os = "linux")]
mod engine;
mod files;
pub mod finish;
pub mod generated;
mod images;
mod javascript;
mod jitdump;
mod kallsyms;
mod kernel;
mod lines;
#[cfg(target_os = "linux")]
mod live;
mod maps;
mod namer;
pub mod naming;
pub mod off_cpu;
mod owners;
mod perf_map;
mod places;
mod processes;
mod profile_of;
#[cfg(target_os = "linux")]
mod remote;
mod resolve;
mod scripts;
pub mod source_maps;
mod sources;
mod stacks;
mod threads;
mod timeline;
mod turns;
mod unwind;
mod world;

pub use files::{Disk, Files, OpenFile};
pub use images::{Library, NoNames, name_library};
#[cfg(target_os = "linux")]
pub use live::{Found, Host, Note, ProcessMemory, Walker, Whereabouts};
pub use namer::Namer;
pub use owners::Owners;
#[cfg(target_os = "linux")]
pub use remote::RemoteMemory;
pub use sources::{ForProcess, KernelNames, Sources};
