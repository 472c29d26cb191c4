//! Live sessions on Linux, by perf events and by the memory of the target.

mod asleep;
mod machine;
mod outgoing;
pub mod proc;
mod rounds;
pub mod threads;
mod watch;
mod watching;

pub use asleep::{SleepingStack, Stack, Wait, Watched};
pub use machine::{Machine, ThisMachine};
pub use outgoing::{Batch, Outgoing};
pub use rounds::{Arranged, Rounds};
pub use watching::Watching;
