//! Live sessions on Linux, by perf events and by the memory of the target.

mod account;
mod asleep;
mod beside;
mod cgroup;
mod chunks;
mod follow;
mod journal;
mod look;
mod machine;
mod names;
mod outgoing;
mod own_process;
mod pace;
pub mod proc;
mod reader;
mod rounds;
mod session;
mod supervised;
mod suspended;
pub mod threads;
mod watch;
mod watchdog;
mod watching;

pub use asleep::{SleepingStack, Stack, Wait, Watched};
pub use beside::{name_of as container_name, not_node};
pub use cgroup::{TooLittleRoom, leave_room};
pub use chunks::Chunks;
pub use look::{Look, look, look_at_threads};
pub use machine::{Machine, ThisMachine};
pub use names::read_names;
pub use outgoing::Outgoing;
pub use rounds::{Arranged, Rounds};
pub use session::{LONGEST_ROUND, Session, Targets};
pub use watching::Watching;
