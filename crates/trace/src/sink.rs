//! Where a recording goes while it is read or made.

use crate::javascript::JavaScript;
use crate::record::{
    About, BuildId, Comm, CpuTime, Delay, Event, Exit, Facts, Fork, LoopWatch, Loss, Mmap, PoolUse,
    Sample, ScriptPart, Second, ShortWaits, Switch, Turn,
};

/// Takes a recording piece by piece. Pieces come in the order of their times; those without a time in the order
/// of the input. A sink need not implement what it does not use.
pub trait Sink {
    /// An event, before its first sample; reported again when its name is known better, which may be at the end.
    fn event(&mut self, event: &Event<'_>);

    /// A thread was seen.
    fn sample(&mut self, sample: &Sample<'_>);

    /// Something was mapped.
    fn mmap(&mut self, mmap: &Mmap<'_>);

    /// A thread got a name.
    fn comm(&mut self, comm: &Comm<'_>);

    /// A process or a thread began.
    fn fork(&mut self, fork: &Fork);

    /// A thread ended.
    fn exit(&mut self, _exit: &Exit) {}

    /// A thread left a CPU or came back.
    fn switch(&mut self, _switch: &Switch) {}

    /// A thread was off the CPU several times, each time for a moment.
    fn short_waits(&mut self, _waits: &ShortWaits) {}

    /// What is known of an event loop: the last record of one watch counts.
    fn loop_watch(&mut self, _watch: &LoopWatch<'_>) {}

    /// A stretch of an event loop's time.
    fn turn(&mut self, _turn: &Turn) {}

    /// What the kernel counted in a piece of time.
    fn second(&mut self, _second: &Second) {}

    /// How long requests would have waited for an event loop.
    fn delay(&mut self, _delay: &Delay) {}

    /// What a thread pool did in a piece of time.
    fn pool(&mut self, _pool: &PoolUse) {}

    /// What is known of a process.
    fn facts(&mut self, _facts: &Facts<'_>) {}

    /// A frame that was named when it was seen, before the first sample that has it.
    fn javascript(&mut self, _frame: &JavaScript<'_>) {}

    /// A part of a script that a transpiler made: the parts of one script come one after the other.
    fn script(&mut self, _part: &ScriptPart<'_>) {}

    /// How many frames of generated code got no name when they were seen, and why.
    fn unnamed(&mut self, _reason: &[u8], _count: u64) {}

    /// The CPU time so far: the last record counts.
    fn cpu_time(&mut self, _time: &CpuTime) {}

    /// The build id of a file, separate from its mappings; may come after all samples.
    fn build_id(&mut self, _path: &[u8], _build_id: BuildId<'_>) {}

    /// What the recording contains about itself, piece by piece: `None` is what this piece does not have. May come
    /// after all samples.
    fn about(&mut self, _about: &About<'_>) {}

    /// That many samples were lost.
    fn lost(&mut self, count: u64);

    /// How many of its own losses the recorder counted.
    fn loss(&mut self, _loss: Loss, _count: u64) {}

    /// The kernel sampled less for a while, to protect the machine.
    fn throttled(&mut self) {}

    /// What is wrong with the input, as a sentence without a full stop.
    fn damage(&mut self, sentence: String);

    /// What else people should know of the recording, as such a sentence.
    fn note(&mut self, _sentence: String) {}
}
