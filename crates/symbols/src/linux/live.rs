//! Samples of a running process, walked and named while they are fresh: V8's objects move, so a later read finds
//! something else. What comes out are samples without registers and stacks, whose JavaScript has its names.

mod awaits;
mod host;
mod scripts;
mod tries;

use std::io;

use rustc_hash::{FxHashMap, FxHashSet};
use trace::machine::{RegisterNumbers, X86_64};
use trace::{
    Address, AwaitEnd, Awaits, Comm, Context, Cut, Event, Exit, Fork, FrameName, JavaScript, Loss,
    Mmap, Sample, Script, Sink,
};
use v8::name::Tier;
use v8::{Frame, FunctionId, JsFrame, Kind, Reader, Reason, Registers, Stack, Start};

use super::engine::Engines;
use crate::javascript::{recorded_function, recorded_tier};
use crate::places::Place;
use crate::sources::Sources;
use crate::unwind::sleeping::Sleeper;
use crate::unwind::{Moment, Step, Unwinders};
use crate::world::World;
use scripts::Scripts;
use tries::Tries;

pub use awaits::Suspended;
pub use host::{Host, ProcessMemory, Whereabouts};

/// The registers of the only machine whose V8 is read so far.
const NUMBERS: RegisterNumbers = X86_64.registers;

/// A stack with so few frames of native code has lost its callers: every thread has more.
const FEW_STEPS: usize = 3;

/// The kernel follows at most this many frame pointers, unless it was configured otherwise.
const KERNEL_FRAMES: usize = 127;

/// What a walker found.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A frame, before the first sample that has it.
    Frame(JavaScript<'a>),
    /// A sample, its frames as far as they are known.
    Sample(Sample<'a>),
    /// A script whose text is not the file's.
    Script(Script<'a>),
    /// The memory of a thread's process will be read for it, which was not done before: it may never end.
    Trying(u32),
    /// Why there will be no names.
    Note(Note<'a>),
}

/// Why there will be no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note<'a> {
    /// A sentence about an engine that is not known.
    Refused(&'a str),
    /// The memory of a process may not be read.
    Denied(u32),
}

/// Walks samples as they come. It knows only what it was given: mappings come first.
pub struct Walker<'a> {
    world: World,
    unwinders: Unwinders,
    engines: Engines,
    /// The readers of processes, and when it was tried to make one.
    readers: FxHashMap<u32, Heap>,
    tries: Tries,
    rows: Rows,
    scripts: Scripts,
    /// Why frames of generated code got no name, since the last question.
    unnamed: FxHashMap<Reason, u64>,
    /// The threads for which memory was read, and those for which it must not be: a read for one of these has blocked.
    tried: FxHashSet<u32>,
    excluded: FxHashSet<u32>,
    /// Whether the kernel has lost records, which may have been mappings.
    has_lost: bool,
    steps: Vec<Step>,
    /// Whether the way of `steps` ends because the copy of the stack does.
    is_cut: bool,
    /// Stacks whose outer part is missing, since the last question.
    cut: u64,
    chain: Vec<Address>,
    /// How much of `chain` was resumed after an `await`, what waits for it, and why there is no more of that.
    resumed: usize,
    awaiters: Vec<u32>,
    awaits: Option<AwaitEnd>,
    /// How many samples whose callers were read too late this one stands for, in thousandths, where that is known.
    stands_for: Option<u32>,
    /// Of the last samples, which ran after an `await`: a bit for each.
    recent_awaits: u32,
    asked: FxHashSet<u32>,
    host: &'a dyn Host,
    /// Whether V8's heap is left alone.
    leaves_heap: bool,
    /// Whether callers are searched for where tables and frame pointers lead nowhere.
    searches: bool,
    found: Box<dyn FnMut(Found<'_>) + 'a>,
}

/// The heap of one process.
struct Heap {
    reader: Reader,
    memory: Box<dyn ProcessMemory>,
}

/// The numbers of frames and of their functions, each given once.
struct Rows {
    next: u32,
    known: FxHashMap<RowKey, u32>,
    /// By process.
    functions: FxHashMap<(u32, FunctionId), u32>,
}

impl Rows {
    fn number(&mut self) -> u32 {
        let row = self.next;
        self.next = row.wrapping_add(1);
        row
    }

    fn clear(&mut self) {
        self.known.clear();
        self.functions.clear();
    }
}

/// A process, a function of its reader, what runs it, where it is, and whether it is inlined.
type RowKey = (u32, FunctionId, Tier, u32, u32, bool);

/// When this many frames are known, the table starts anew: a program that makes functions for days must not fill
/// memory.
const MOST_ROWS: usize = 1 << 18;

impl<'a> Walker<'a> {
    /// A walker whose frames have numbers from `first_row` on, and which reads nothing for the threads `excluded`.
    pub fn new(
        first_row: u32,
        excluded: &[u32],
        host: &'a dyn Host,
        found: impl FnMut(Found<'_>) + 'a,
    ) -> Self {
        Self {
            world: World::new(Sources { files: host.files(), ..Sources::default() }),
            unwinders: Unwinders::default(),
            engines: Engines::default(),
            readers: FxHashMap::default(),
            tries: Tries::default(),
            rows: Rows {
                next: first_row,
                known: FxHashMap::default(),
                functions: FxHashMap::default(),
            },
            scripts: Scripts::default(),
            unnamed: FxHashMap::default(),
            tried: FxHashSet::default(),
            excluded: excluded.iter().copied().collect(),
            has_lost: false,
            steps: Vec::new(),
            is_cut: false,
            cut: 0,
            chain: Vec::new(),
            resumed: 0,
            awaiters: Vec::new(),
            awaits: None,
            stands_for: None,
            recent_awaits: 0,
            asked: FxHashSet::default(),
            host,
            leaves_heap: false,
            searches: false,
            found: Box::new(found),
        }
    }

    /// From now on callers are searched for on the stack where tables and frame pointers end at once, as they do in
    /// OpenSSL's hand-written code. That takes many reads: it is for few samples.
    pub fn search(&mut self) {
        self.searches = true;
    }

    /// From now on no heap is read: JavaScript gets no names.
    pub fn leave_heap(&mut self) {
        self.leaves_heap = true;
        self.readers.clear();
    }

    /// Time has passed: what is known of objects is looked at again before it is believed.
    pub fn begin_round(&mut self) {
        for heap in self.readers.values_mut() {
            heap.reader.begin_batch();
        }
        if self.rows.known.len() > MOST_ROWS {
            self.rows.clear();
        }
    }

    /// Reads the texts of scripts that were seen for the first time, where they are not those of their files.
    pub fn read_scripts(&mut self) {
        for (pid, heap) in &mut self.readers {
            self.scripts.add(*pid, &mut heap.reader);
        }
        while let Some(script) = self.scripts.next() {
            let pid = script.pid;
            let Some(heap) = self.readers.get_mut(&pid) else { continue };
            let sources = &self.world.sources;
            let mut process = scripts::Process {
                reader: &mut heap.reader,
                memory: &*heap.memory,
                files: &*sources.files,
                root: sources.root_of(Some(pid)),
            };
            if let Some(found) = self.scripts.read(&mut process, &script) {
                (self.found)(Found::Script(found.as_record()));
            }
        }
    }

    /// The processes whose V8 can be read.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.readers.keys().copied()
    }

    /// Whether a mapping may be missing: records were lost, or a stack led to where nothing is mapped.
    pub fn take_missed(&mut self) -> bool {
        std::mem::take(&mut self.has_lost) | std::mem::take(&mut self.unwinders.has_missed)
    }

    /// Why frames of generated code got no name since the last time, and how many.
    pub fn take_unnamed(&mut self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.unnamed.drain().map(|(reason, count)| (reason.label(), count))
    }

    /// How many stacks were deeper than their copies since the last time. Their outer part is not read from live
    /// memory: that it is unchanged does not prove that the thread is still there. What a thread has returned from
    /// stays as it was until other calls take its place, and these begin at the outer end: inner callers of one moment
    /// would get the root of another.
    pub fn take_losses(&mut self) -> Option<(Loss, u64)> {
        Some((Loss::StackCut, std::mem::take(&mut self.cut))).filter(|(_, count)| *count > 0)
    }

    /// Reads what will be needed of the files of all processes that are known: their first samples need not wait for
    /// it.
    pub fn prepare(&mut self) {
        for row in 0..self.world.processes.rows.len() as u32 {
            let moment = self.world.moment(row, Some(std::env::consts::ARCH));
            self.unwinders.prepare(&moment);
        }
    }

    /// Makes a reader for a process that has none, unless that has just failed.
    fn find_reader(&mut self, row: u32, pid: u32, (time_ns, sp): (u64, Option<u64>)) {
        let moment = self.world.moment(row, Some(std::env::consts::ARCH));
        if self.readers.contains_key(&pid) || !self.tries.begin(pid, moment.process.layout, time_ns)
        {
            return;
        }
        let layout = self.engines.layout(&moment);
        for sentence in self.engines.refused.drain(..) {
            (self.found)(Found::Note(Note::Refused(&sentence)));
        }
        let Some((layout, memory)) = layout.zip(self.host.memory(pid).ok()) else { return };
        let is_denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        if sp.is_some_and(|sp| memory.try_read(sp & !7, &mut [0; 8]).is_err_and(is_denied)) {
            if self.tries.is_news(pid) {
                (self.found)(Found::Note(Note::Denied(pid)));
            }
            return;
        }
        self.readers.insert(pid, Heap { reader: Reader::new(layout), memory });
    }

    /// Puts the frames of a sample into `chain`.
    fn walk(&mut self, sample: &Sample<'_>, pid: u32) {
        let row = self.world.processes.row(Some(pid));
        let tid = sample.tid.unwrap_or(pid);
        let may_read = !self.leaves_heap && !self.excluded.contains(&tid);
        if may_read && self.tried.insert(tid) {
            (self.found)(Found::Trying(tid));
        }
        if may_read {
            self.find_reader(row, pid, (sample.time_ns, place_of(sample).map(|(_, sp)| sp)));
        }
        self.find_steps(sample, (row, pid), may_read);
        let frames = self.frames(row);
        // What waits wakes up soon; names stay.
        let chain = self.await_chain(sample, (row, pid), &frames, may_read);
        let read_ns = sys::clock::monotonic_ns();
        let resumed = chain.as_ref().map(|chain| chain.resumed);
        (self.resumed, self.stands_for) = (0, None);
        self.name_steps(sample, pid, (&frames, resumed), may_read);
        if let Some(chain) = chain {
            self.stands_for = self.stands_for(pid, &chain, (sample.time_ns, read_ns));
            self.awaits = Some(self.add_awaits(pid, &chain));
        }
    }

    /// The frames of the steps.
    fn frames(&self, row: u32) -> Vec<Frame> {
        let moment = self.world.moment(row, Some(std::env::consts::ARCH));
        let frame = |step: &Step| Frame {
            pc: step.pc,
            fp: step.fp,
            is_return_address: step.is_return_address,
            kind: kind_at(&moment, &self.unwinders, &self.engines, step.instruction()),
        };
        self.steps.iter().map(frame).collect()
    }

    /// Puts the way from the innermost frame to the root into `steps`.
    fn find_steps(&mut self, sample: &Sample<'_>, (row, pid): (u32, u32), may_read: bool) {
        let moment = self.world.moment(row, Some(std::env::consts::ARCH));
        self.unwinders.prepare(&moment);
        self.steps.clear();
        self.is_cut = false;
        let Some((pc, sp)) = place_of(sample) else { return };
        if let Some(start) = start_of(sample) {
            let (unwinders, engines) = (&self.unwinders, &self.engines);
            let kind_at = |address: u64| kind_at(&moment, unwinders, engines, address);
            let is_engine = matches!(kind_at(start.pc), Kind::Generated | Kind::Builtin);
            if let Some(heap) = self.readers.get_mut(&pid).filter(|_| is_engine && may_read) {
                let stack = Stack::new(sp, sample.user_stack);
                let frames = heap.reader.walk(&*heap.memory, start, &stack, &kind_at);
                let framed = frames.iter().position(|frame| frame.fp.is_some()).unwrap_or(0);
                self.steps.extend(frames.iter().take(framed + 1).map(step_of));
            }
            self.is_cut = self.unwinders.steps(&moment, sample, &mut self.steps);
        }
        let is_lost =
            self.searches && self.steps.len() <= FEW_STEPS && self.unwinders.has_tables(row, pc);
        if is_lost || self.steps.is_empty() {
            let memory = self.host.memory(pid).ok().filter(|_| !self.leaves_heap);
            let read_code = |address: u64, out: &mut [u8]| {
                memory.as_ref().is_some_and(|memory| memory.read(address, out).is_ok())
            };
            let sleeper = Sleeper { pc, sp, stack: sample.user_stack, read_code: &read_code };
            let mut steps = Vec::new();
            self.unwinders.sleeping_steps(&moment, &sleeper, &mut steps);
            if steps.len() > self.steps.len() {
                (self.steps, self.is_cut) = (steps, false);
            }
        }
    }

    /// Puts the frames of the steps into `chain`, with their names where the heap has them. `resumed` is how many of
    /// them were resumed after an `await`.
    fn name_steps(
        &mut self,
        sample: &Sample<'_>,
        pid: u32,
        (frames, resumed): (&[Frame], Option<usize>),
        may_read: bool,
    ) {
        let heap = self.readers.get_mut(&pid).filter(|_| may_read);
        let Some((heap, (_, sp))) = heap.zip(place_of(sample)) else {
            let address =
                |step: &Step| Address { value: step.instruction(), context: Context::User };
            return self.chain.extend(self.steps.iter().map(address));
        };
        let callee = sample.user_registers.and_then(|registers| registers.get(NUMBERS.callee));
        let registers = Registers { callee: callee.unwrap_or(0) };
        let stack = Stack::new(sp, sample.user_stack);
        let names = heap.reader.frames(&*heap.memory, &stack, frames, registers);
        for (at, name) in names.into_iter().enumerate() {
            if resumed == Some(at) {
                self.resumed = self.chain.len();
            }
            match name {
                Ok(frame) => self.push_named(pid, &frame),
                Err(reason) => {
                    if frames[at].kind == Kind::Generated {
                        *self.unnamed.entry(reason).or_default() += 1;
                    }
                    let value = self.steps[at].instruction();
                    self.chain.push(Address { value, context: Context::User });
                }
            }
        }
    }

    /// A frame and what is inlined into it, the innermost first.
    fn push_named(&mut self, pid: u32, frame: &JsFrame) {
        for inlined in &frame.inlined {
            self.push_row((pid, inlined.function, frame.tier, inlined.line, inlined.column, true));
        }
        self.push_row((pid, frame.function, frame.tier, frame.line, frame.column, false));
    }

    fn push_row(&mut self, key: RowKey) {
        let row = self.row(key);
        self.chain.push(Address { value: u64::from(row), context: Context::JavaScript });
    }

    fn row(&mut self, key: RowKey) -> u32 {
        self.rows.known.get(&key).copied().unwrap_or_else(|| self.send_row(key))
    }

    /// Gives a frame its number and sends it, with its function where that is new.
    fn send_row(&mut self, key: RowKey) -> u32 {
        let (pid, id, tier, line, column, inlined) = key;
        let known = self.rows.functions.get(&(pid, id)).copied();
        let function_row = known.unwrap_or_else(|| self.rows.number());
        let reader = self.readers.get(&pid).map(|heap| &heap.reader).filter(|_| known.is_none());
        let function = reader.and_then(|reader| reader.function(id)).map(recorded_function);
        let row = self.rows.number();
        let name = FrameName::Function { row: function_row, tier: recorded_tier(tier), function };
        (self.found)(Found::Frame(JavaScript { row, name, line, column, inlined }));
        self.rows.functions.insert((pid, id), function_row);
        self.rows.known.insert(key, row);
        row
    }
}

impl Sink for Walker<'_> {
    fn event(&mut self, _: &Event<'_>) {}

    fn sample(&mut self, sample: &Sample<'_>) {
        let Some(pid) = sample.pid.filter(|_| sample.user_registers.is_some()) else {
            return (self.found)(Found::Sample(*sample));
        };
        self.chain.clear();
        self.awaits = None;
        self.chain.extend(sample.chain.iter().filter(|address| address.context != Context::User));
        let kernel = self.chain.len();
        self.walk(sample, pid);
        if self.chain.len() == kernel {
            return (self.found)(Found::Sample(*sample));
        }
        if !self.add_rest(sample, pid) && self.is_cut {
            self.cut += 1;
            self.chain.push(Cut::DeeperThanCopy.address());
        }
        self.recent_awaits = self.recent_awaits << 1 | u32::from(self.awaits.is_some());
        let resumed = u32::try_from(self.resumed).unwrap_or(0);
        let stands_for = self.stands_for;
        let awaits = |end| Awaits { resumed, awaiters: &self.awaiters, end, stands_for };
        let walked = Sample {
            chain: &self.chain,
            user_registers: None,
            user_stack: &[],
            awaits: self.awaits.map(awaits),
            ..*sample
        };
        (self.found)(Found::Sample(walked));
    }

    fn mmap(&mut self, mmap: &Mmap<'_>) {
        let Some(pid) = mmap.pid else { return };
        if self.asked.insert(pid) {
            let Whereabouts { root, deleted } = self.host.whereabouts(pid);
            self.world.sources.roots.extend(root.map(|root| (pid, root)));
            self.world.sources.kept.extend(deleted);
        }
        self.world.mmap(mmap);
    }

    fn comm(&mut self, comm: &Comm<'_>) {
        self.world.comm(comm);
        if comm.exec {
            self.forget(comm.pid);
        }
    }

    fn fork(&mut self, fork: &Fork) {
        self.world.fork(fork);
        if fork.pid != fork.parent_pid {
            self.forget(fork.pid);
        }
    }

    fn exit(&mut self, exit: &Exit) {
        if exit.pid == exit.tid {
            self.forget(exit.pid);
        }
    }

    fn lost(&mut self, _: u64) {
        self.has_lost = true;
    }

    fn damage(&mut self, _: String) {}
}

impl Walker<'_> {
    fn forget(&mut self, pid: u32) {
        self.readers.remove(&pid);
        self.tries.forget(pid);
        self.rows.known.retain(|key, _| key.0 != pid);
        self.rows.functions.retain(|key, _| key.0 != pid);
    }

    /// Where our way ends before the kernel's, which only follows frame pointers, the rest is the kernel's as far as it
    /// is code. Whether it goes on to the end: the kernel's own limit is no end.
    fn add_rest(&mut self, sample: &Sample<'_>, pid: u32) -> bool {
        let Some(last) = self.steps.last() else { return false };
        let mut user = sample.chain.iter().filter(|address| address.context == Context::User);
        if !user.any(|address| address.value == last.pc) {
            return false;
        }
        let row = self.world.processes.row(Some(pid));
        let moment = self.world.moment(row, Some(std::env::consts::ARCH));
        let call = |address: &Address| Address { value: address.value.wrapping_sub(1), ..*address };
        let before = self.chain.len();
        self.chain.extend(user.map(call).take_while(|address| moment.is_code(address.value)));
        self.chain.len() > before && sample.chain.len() < KERNEL_FRAMES
    }
}

/// Instruction and stack pointer: what the kernel also reports of a thread that sleeps.
fn place_of(sample: &Sample<'_>) -> Option<(u64, u64)> {
    let registers = sample.user_registers?;
    Some((registers.get(NUMBERS.pc)?, registers.get(NUMBERS.sp)?))
}

fn start_of(sample: &Sample<'_>) -> Option<Start> {
    let (pc, sp) = place_of(sample)?;
    let fp = sample.user_registers?.get(NUMBERS.fp)?;
    Some(Start { pc, sp, fp, is_return_address: false })
}

fn step_of(frame: &Frame) -> Step {
    Step { pc: frame.pc, fp: frame.fp, is_return_address: frame.is_return_address }
}

/// What stands at an address. The builtins are the code of the engine's binary that no table covers.
fn kind_at(moment: &Moment<'_>, unwinders: &Unwinders, engines: &Engines, address: u64) -> Kind {
    let Some(place) = moment.process.find(address).map(|id| moment.place(id)) else {
        return Kind::Unmapped;
    };
    match place {
        Place::Generated(_) | Place::Code(_) => Kind::Generated,
        Place::File { module, executable: true, .. } => {
            let is_builtin =
                engines.is_engine(module) && !unwinders.has_tables(moment.row, address);
            if is_builtin { Kind::Builtin } else { Kind::Native }
        }
        _ => Kind::Unmapped,
    }
}
