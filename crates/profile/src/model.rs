//! `Profile`: the tables together, read-only.

use crate::ids::{FrameId, LaneId, ModuleId, ProcessId, SourceId, StackId, StringId, ThreadId};
use crate::meta::Meta;
use crate::strings::Strings;
use crate::tables::{
    Delays, Frames, Function, Functions, Lane, LineTicks, LongTurns, Loops, Markers, Module,
    OffCpuTimes, Package, PackageUse, Pools, Process, Seconds, Source, Stacks, Thread,
};

/// A finished recording. Made by [`crate::Builder`]; [`Profile::check`] holds for each one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    pub(crate) meta: Meta,
    pub(crate) strings: Strings,
    pub(crate) sources: Vec<Source>,
    pub(crate) modules: Vec<Module>,
    pub(crate) packages: Vec<Package>,
    pub(crate) package_uses: Vec<PackageUse>,
    pub(crate) functions: Functions,
    pub(crate) frames: Frames,
    pub(crate) stacks: Stacks,
    pub(crate) processes: Vec<Process>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) line_ticks: LineTicks,
    pub(crate) markers: Markers,
    pub(crate) loops: Loops,
    pub(crate) long_turns: LongTurns,
    pub(crate) seconds: Seconds,
    pub(crate) delays: Delays,
    pub(crate) pools: Pools,
    pub(crate) off_cpu: OffCpuTimes,
}

impl Profile {
    /// What is known of the recording as a whole.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// All texts.
    pub fn strings(&self) -> &Strings {
        &self.strings
    }

    /// One text; empty for [`StringId::NONE`].
    pub fn text(&self, id: StringId) -> &str {
        self.strings.get(id)
    }

    /// Scripts and source files.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Binaries and libraries.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Copies of npm packages: those that were seen, and those that depend on them.
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// Which package depends on which.
    pub fn package_uses(&self) -> &[PackageUse] {
        &self.package_uses
    }

    /// Functions.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Frames.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Stacks.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// Processes.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Threads.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Lanes, the main one first.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// One lane.
    pub fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes[id.index()]
    }

    /// The lane of that name.
    pub fn lane_named(&self, name: &str) -> Option<LaneId> {
        let index = self.lanes.iter().position(|lane| self.text(lane.name) == name)?;
        Some(LaneId::from_index(index))
    }

    /// Ticks on lines.
    pub fn line_ticks(&self) -> &LineTicks {
        &self.line_ticks
    }

    /// Spans and points.
    pub fn markers(&self) -> &Markers {
        &self.markers
    }

    /// Event loops, watched or not.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    /// Turns of event loops that took long.
    pub fn long_turns(&self) -> &LongTurns {
        &self.long_turns
    }

    /// What the kernel counted for each process, a second at a time.
    pub fn seconds(&self) -> &Seconds {
        &self.seconds
    }

    /// How long requests would have waited for event loops.
    pub fn delays(&self) -> &Delays {
        &self.delays
    }

    /// libuv's thread pools, a second at a time.
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// When threads were off the CPU.
    pub fn off_cpu(&self) -> &OffCpuTimes {
        &self.off_cpu
    }

    /// The path of a source, if there is one.
    pub fn source_path(&self, id: SourceId) -> Option<&str> {
        Some(self.text(self.sources[id.some()?.index()].path))
    }

    /// The name of a module, if there is one.
    pub fn module_name(&self, id: ModuleId) -> Option<&str> {
        Some(self.text(self.modules[id.some()?.index()].name))
    }

    /// The function of a frame.
    pub fn function_of(&self, frame: FrameId) -> Function {
        self.functions.row(self.frames.function[frame.index()])
    }

    /// A thread's row.
    pub fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    /// A process's row.
    pub fn process(&self, id: ProcessId) -> &Process {
        &self.processes[id.index()]
    }

    /// The stacks from the topmost one down to its root.
    pub fn ancestry(&self, stack: StackId) -> impl Iterator<Item = StackId> {
        std::iter::successors(stack.some(), |id| self.stacks.parent[id.index()].some())
    }

    /// The stack with the functions that wait for it as its callers, where they are known; else the stack as it was.
    pub fn logical(&self, stack: StackId) -> StackId {
        let logical = stack.some().and_then(|id| self.stacks.logical[id.index()].some());
        logical.unwrap_or(stack)
    }

    /// The time that the recording covers.
    pub fn duration_ns(&self) -> u64 {
        self.meta.duration_ns
    }
}
