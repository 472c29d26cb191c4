//! The Node processes of this machine: which they are, by their ELF files and never by their names, what
//! they run, where, and by which ways this user gets in. On Linux everything comes from a `Proc`, so a made-up folder
//! serves as well as the kernel's; on macOS and Windows the system is asked, which reports less. Files of a process may
//! be hostile: every read is bounded. Nothing is sent to a process and nothing in one is changed, but for an
//! [`InspectorPort`] that a caller asks to be opened.

mod command;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod inspector_port;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(windows, test))]
mod windows_words;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Process, list};
pub use inspector_port::{Holder, InspectorPort, Opening, Refusal};
#[cfg(target_os = "linux")]
pub use linux::{
    Capability, Container, Inside, InspectorWay, Limits, List, PerfMap, Places, Proc, Process,
    Role, Surroundings, Way, Ways, app_of_folder, engine_version, list, load_bias, other_program,
    title,
};
