//! The raw recording, as perf events record it: who ran, what was mapped where, what was seen when. Nothing has
//! a name yet. Readers of perf.data and the live sampler drive a [`Sink`]; the crate `symbols` implements it.

pub mod javascript;
pub mod machine;
pub mod own_records;
mod record;
mod sink;

pub use javascript::{FIRST_SYSTEM_CALL_ROW, FrameName, Function, FunctionKind, JavaScript, Tier};
pub use machine::Machine;
pub use record::{
    About, Address, AwaitEnd, Awaits, BuildId, Comm, Context, CpuTime, Cut, Delay, Event, Exit,
    Facts, Fork, LoopWatch, Loss, Measure, Mmap, PoolUse, Registers, Sample, Script, ScriptPart,
    Second, ShortWaits, Switch, Turn, TurnKind,
};
pub use sink::Sink;
