//! The sink that names. While a recording arrives, addresses become rows of small tables; each distinct one is
//! named once, at the end, because what a file was may become known after all samples.

mod dumps;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use profile::Budget;
use rustc_hash::FxHashMap;
use trace::{
    About, Address, BuildId, Comm, Context, CpuTime, Delay, Event, Facts, Fork, JavaScript,
    LoopWatch, Loss, Measure, Mmap, PoolUse, Sample, ScriptPart, Second, ShortWaits, Sink, Switch,
    Turn,
};

use crate::assembly::profile_of;
use crate::awaits::SeenAwaits;
use crate::code_names::CodeNames;
use crate::javascript::JavaScriptNames;
use crate::kernel::KernelMaps;
use crate::places::{Place, PlaceId, Places};
use crate::processes::Process;
use crate::scripts::Scripts;
use crate::source_maps::{KnownScripts, MapPlaces, apply_ran};
use crate::sources::Sources;
use crate::stacks::{Frames, LastChain, RawFrame, Stacks};
use crate::threads::Threads;
use crate::timeline::{CodeChange, CodeEvent};
use crate::turns::RawLoop;
use crate::unwind::{Unwinders, wants_unwinding};
use crate::world::World;

/// Takes a raw recording and makes a profile of it.
pub struct Namer {
    pub(crate) world: World,
    pub(crate) format: String,
    pub(crate) threads: Threads,
    pub(crate) frames: Frames,
    pub(crate) stacks: Stacks,
    /// What each thread ran last, by its slot.
    chains: Vec<LastChain>,
    pub(crate) awaits: SeenAwaits,
    /// The frames of the kernel's addresses, which mean the same in every process.
    kernel_frames: FxHashMap<u64, u32>,
    /// For recordings with copies of stacks, from the first one on.
    unwinders: Option<Box<Unwinders>>,
    /// The call chain that was found in such a copy.
    unwound: Vec<Address>,
    pub(crate) kernel: KernelMaps,
    /// The names of generated code, from jitdumps.
    pub(crate) codes: CodeNames,
    pub(crate) events: FxHashMap<u32, RawEvent>,
    pub(crate) samples: Vec<RawSample>,
    pub(crate) switches: Vec<RawSwitch>,
    /// The newest switch of each thread.
    newest_switch_ns: FxHashMap<u32, u64>,
    /// Times off the CPU that the recorder summed up.
    pub(crate) short_waits: Vec<ShortWaits>,
    /// Event loops by process and thread, stretches of their time, and what the kernel counted.
    pub(crate) loops: BTreeMap<(u32, u32), RawLoop>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) seconds: Vec<Second>,
    pub(crate) delays: Vec<Delay>,
    pub(crate) pools: Vec<PoolUse>,
    /// What is known of processes, by pid.
    pub(crate) facts: FxHashMap<u32, ProcessFacts>,
    /// Frames that were named when they were seen.
    pub(crate) javascript: JavaScriptNames,
    pub(crate) scripts: Scripts,
    /// Whether our own recorder made this: perf records no facts.
    pub(crate) is_ours: bool,
    /// Whether it is named bit by bit, while it is recorded.
    pub(crate) is_growing: bool,
    /// When sampling ended. A watch ends a little later: turns that begin after it have no samples.
    pub(crate) ended_ns: Option<u64>,
    /// Jitdumps that may grow, by the rows of their processes, and when each may be read again.
    dumps: BTreeMap<u32, (Vec<u8>, Instant)>,
    /// The processes whose perf maps are followed from their beginning.
    pub(crate) followed: BTreeSet<u32>,
    pub(crate) about: OwnAbout,
    pub(crate) losses: Losses,
    pub(crate) clips_far_times: bool,
    pub(crate) budget: Budget,
}

/// What records take, with what is made of them in the end: a sample, another record, a new frame and a new stack.
mod cost {
    pub(super) const SAMPLE: usize = 72;
    pub(super) const RECORD: usize = 128;
    pub(super) const FRAME: usize = 768;
    pub(super) const STACK: usize = 144;
}

/// What was lost.
#[derive(Default)]
pub(crate) struct Losses {
    pub(crate) lost: u64,
    pub(crate) throttled: u64,
    pub(crate) cpu: Option<CpuTime>,
    pub(crate) damage: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Why frames of generated code got no name when they were seen.
    pub(crate) unnamed: BTreeMap<String, u64>,
    /// Programs of the recorder's own that ended early, and stacks that are cut.
    pub(crate) helper_crashes: u64,
    pub(crate) stacks_cut: u64,
}

/// An event that was sampled.
#[derive(Clone, Default)]
pub(crate) struct RawEvent {
    pub(crate) name: String,
    pub(crate) in_ns: bool,
    pub(crate) timed: bool,
    pub(crate) has_period: bool,
    pub(crate) interval_ns: Option<u64>,
}

/// A sample whose stack has no names yet.
#[derive(Clone, Copy)]
pub(crate) struct RawSample {
    pub(crate) time_ns: u64,
    pub(crate) weight: u64,
    pub(crate) thread: u32,
    pub(crate) stack: u32,
    pub(crate) event: u32,
}

/// A thread left a CPU or came back.
#[derive(Clone, Copy)]
pub(crate) struct RawSwitch {
    pub(crate) time_ns: u64,
    pub(crate) thread: u32,
    pub(crate) out: bool,
    pub(crate) preempted: bool,
}

/// What is known of a process.
pub(crate) struct ProcessFacts {
    pub(crate) inner_pid: Option<u32>,
    pub(crate) container: String,
    pub(crate) node_version: String,
    pub(crate) app: String,
    pub(crate) command: String,
    pub(crate) folder: String,
    pub(crate) ports: Vec<u16>,
    /// Why its generated code cannot have names; empty where it can.
    pub(crate) unnamed: String,
    pub(crate) parent_pid: Option<u32>,
}

/// What the recording contains about itself.
#[derive(Default)]
pub(crate) struct OwnAbout {
    pub(crate) host: Option<String>,
    pub(crate) os_release: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) wall_clock: Option<(u64, u64)>,
}

/// More loops than a machine watches, and more turns than days have.
const MOST_LOOPS: usize = 1 << 16;
const MOST_TURNS: usize = 1 << 22;

/// Sentences about damage beyond this are not kept.
const MOST_SENTENCES: usize = 100;

/// Adds a sentence, unless it is there already.
pub(crate) fn add_sentence(sentences: &mut Vec<String>, sentence: String) {
    if sentences.len() < MOST_SENTENCES && !sentences.contains(&sentence) {
        sentences.push(sentence);
    }
}

impl Namer {
    /// A sink for a recording in a format, which is what people call it: `perf.data`.
    pub fn new(sources: Sources, format: &str) -> Self {
        Self {
            world: World::new(sources),
            format: format.into(),
            threads: Threads::default(),
            frames: Frames::default(),
            stacks: Stacks::default(),
            chains: Vec::new(),
            awaits: SeenAwaits::default(),
            kernel_frames: FxHashMap::default(),
            unwinders: None,
            unwound: Vec::new(),
            kernel: KernelMaps::default(),
            codes: CodeNames::default(),
            events: FxHashMap::default(),
            samples: Vec::new(),
            switches: Vec::new(),
            newest_switch_ns: FxHashMap::default(),
            short_waits: Vec::new(),
            loops: BTreeMap::new(),
            turns: Vec::new(),
            seconds: Vec::new(),
            delays: Vec::new(),
            pools: Vec::new(),
            facts: FxHashMap::default(),
            javascript: JavaScriptNames::default(),
            scripts: Scripts::default(),
            is_ours: false,
            is_growing: false,
            ended_ns: None,
            dumps: BTreeMap::new(),
            followed: BTreeSet::new(),
            about: OwnAbout::default(),
            losses: Losses::default(),
            clips_far_times: false,
            budget: Budget::default(),
        }
    }

    /// Counts what it takes.
    pub fn within(mut self, budget: &Budget) -> Self {
        self.budget = budget.clone();
        self
    }

    /// Does not believe times that lie far outside of the others: for recordings that are not our own, or not new.
    pub fn clip_far_times(mut self) -> Self {
        self.clips_far_times = true;
        self
    }

    /// Names everything and closes the profile.
    pub fn finish(mut self) -> profile::Profile {
        let profile = profile_of(&mut self);
        let Sources { files, root, roots, .. } = &self.world.sources;
        let places = MapPlaces { files: &**files, root: root.as_deref(), roots };
        let uses_maps = !self.world.sources.leaves_maps;
        apply_ran(profile, self.scripts.whole(), &places, &mut KnownScripts::default(), uses_maps)
    }

    /// Brings a process's generated code to the time of a sample.
    fn settle_code(&mut self, process: u32, sample: &Sample<'_>) {
        if let Some(path) = self.world.processes.get(process).dump.take() {
            self.read_dump(process, &path);
            if self.is_growing {
                self.dumps.insert(process, (path, Instant::now()));
            }
        }
        let timed = self.events.get(&sample.event).is_none_or(|event| event.timed);
        let Some(timeline) = &mut self.world.processes.get(process).timeline else { return };
        if timeline.advance(if timed { sample.time_ns } else { u64::MAX }) {
            self.world.processes.forget_frames(process);
        }
    }

    /// Puts the call chain of a sample with a copy of the stack into `unwound`.
    fn unwind(&mut self, row: u32, sample: &Sample<'_>) {
        let moment = self.world.moment(row, self.about.arch.as_deref());
        self.unwound.clear();
        self.unwound.extend_from_slice(sample.chain);
        let unwinders = self.unwinders.get_or_insert_default();
        let is_cut = unwinders.unwind(&moment, sample, &mut self.unwound);
        self.losses.stacks_cut += u64::from(is_cut);
    }

    /// Whether names of generated code are still taken while a recording grows.
    pub(crate) fn has_room_for_code(&self) -> bool {
        self.codes.bytes() < MOST_CODE_BYTES
    }

    /// Code of a process that appeared under a name, in the order of time. Where there is no room for it, its name
    /// is looked up when it is needed.
    pub(crate) fn take_code(&mut self, pid: u32, code: &CodeAppeared<'_>) {
        let CodeAppeared { time_ns, start, size, name } = *code;
        let code = if self.has_room_for_code() { self.codes.id(name) } else { None };
        let change = match code {
            Some(code) => CodeChange::Load { start, size, code },
            None => {
                self.followed.remove(&pid);
                CodeChange::Unknown { start, size }
            }
        };
        let row = self.world.processes.row(Some(pid));
        let timeline = self.world.processes.get(row).timeline.get_or_insert_default();
        timeline.push(CodeEvent { time_ns, change });
    }
}

/// A piece of generated code that appeared.
#[derive(Clone, Copy, Debug)]
pub struct CodeAppeared<'a> {
    /// When it was seen, on the clock of the samples.
    pub time_ns: u64,
    /// Its first address.
    pub start: u64,
    /// Its length.
    pub size: u64,
    /// Its name.
    pub name: &'a str,
}

/// What the names of generated code may take while a recording grows.
const MOST_CODE_BYTES: usize = 32 << 20;

impl Sink for Namer {
    fn event(&mut self, event: &Event<'_>) {
        let row = RawEvent {
            name: text(event.name),
            in_ns: event.measure == Measure::Ns,
            timed: event.timed,
            has_period: event.has_period,
            interval_ns: event.interval_ns,
        };
        self.events.insert(event.row, row);
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        let current = self.threads.current(sample.pid, sample.tid);
        let process_row = self.world.processes.row(sample.pid);
        let process = self.world.processes.get(process_row);
        if process.dump.is_some() || process.timeline.is_some() {
            self.settle_code(process_row, sample);
        }
        let slot = current.slot as usize;
        if slot >= self.chains.len() {
            self.chains.resize_with(slot + 1, LastChain::default);
        }
        let is_unwound = wants_unwinding(sample);
        if is_unwound {
            self.unwind(process_row, sample);
        }
        let Self { world, frames, kernel_frames, stacks, chains, unwound, .. } = self;
        let World { places, processes, .. } = world;
        let known = (frames.rows.len(), stacks.rows.len());
        let process = processes.get(process_row);
        let generation = process.generation;
        let chain = if is_unwound { unwound } else { sample.chain };
        let stack =
            chains[slot].stack(chain, generation, stacks, |address| match address.context {
                Context::User => {
                    if let Some(&frame) = process.frames.get(&address.value) {
                        return frame;
                    }
                    let place = place_of(process, process_row, places, address);
                    let frame = frames.id(RawFrame { place, address: address.value }, process_row);
                    process.frames.insert(address.value, frame);
                    frame
                }
                Context::Kernel => *kernel_frames.entry(address.value).or_insert_with(|| {
                    frames.id(
                        RawFrame { place: places.id(Place::Kernel), address: address.value },
                        process_row,
                    )
                }),
                Context::JavaScript => frames.id(
                    RawFrame { place: places.id(Place::JavaScript), address: address.value },
                    process_row,
                ),
                Context::Cut => frames.id(
                    RawFrame { place: places.id(Place::Cut), address: address.value },
                    process_row,
                ),
                Context::Elsewhere => frames.id(
                    RawFrame { place: places.id(Place::Elsewhere), address: address.value },
                    process_row,
                ),
            });
        let stack = self.with_awaits(stack, sample.awaits.filter(|_| !is_unwound), process_row);
        let Self { frames, stacks, .. } = self;
        let (new_frames, new_stacks) = (frames.rows.len() - known.0, stacks.rows.len() - known.1);
        self.budget.take(cost::SAMPLE + new_frames * cost::FRAME + new_stacks * cost::STACK);
        let (time_ns, weight) = (sample.time_ns, sample.period.max(1));
        self.samples.push(RawSample {
            time_ns,
            weight,
            thread: current.row,
            stack,
            event: sample.event,
        });
    }

    fn mmap(&mut self, mmap: &Mmap<'_>) {
        self.budget.take(cost::RECORD);
        match mmap.pid {
            None => self.kernel.map(mmap),
            Some(_) => self.world.mmap(mmap),
        }
    }

    fn comm(&mut self, comm: &Comm<'_>) {
        self.budget.take(cost::RECORD);
        self.world.comm(comm);
        self.threads.name(comm.pid, comm.tid, comm.name, comm.exec);
    }

    fn fork(&mut self, fork: &Fork) {
        self.budget.take(cost::RECORD);
        self.world.fork(fork);
        self.threads.fork((fork.pid, fork.tid), (fork.parent_pid, fork.parent_tid));
    }

    fn switch(&mut self, switch: &Switch) {
        self.budget.take(cost::SAMPLE);
        let Switch { time_ns, pid, tid, out, preempted } = *switch;
        let thread = self.threads.current(Some(pid), Some(tid)).row;
        // Where the recorder gets no CPU for long, one may come after newer ones of its thread. Paired with the next,
        // it would count their times twice.
        let newest_ns = self.newest_switch_ns.entry(thread).or_default();
        if time_ns >= *newest_ns {
            *newest_ns = time_ns;
            self.switches.push(RawSwitch { time_ns, thread, out, preempted });
        }
    }

    fn short_waits(&mut self, waits: &ShortWaits) {
        self.short_waits.push(*waits);
    }

    fn loop_watch(&mut self, watch: &LoopWatch<'_>) {
        if self.loops.len() < MOST_LOOPS {
            let known = self.loops.entry((watch.pid, watch.tid)).or_default();
            known.watches.insert(watch.start_ns, (watch.end_ns, watch.polled_ns, watch.turns));
            known.problem = text(watch.problem);
        }
    }

    fn turn(&mut self, turn: &Turn) {
        let is_sampled = self.ended_ns.is_none_or(|ended_ns| turn.start_ns < ended_ns);
        if is_sampled && self.turns.len() < MOST_TURNS {
            self.turns.push(*turn);
        }
    }

    fn second(&mut self, second: &Second) {
        if self.seconds.len() < MOST_TURNS {
            self.seconds.push(*second);
        }
    }

    fn delay(&mut self, delay: &Delay) {
        if self.delays.len() < MOST_TURNS {
            self.delays.push(*delay);
        }
    }

    fn pool(&mut self, pool: &PoolUse) {
        if self.pools.len() < MOST_TURNS {
            self.pools.push(*pool);
        }
    }

    fn facts(&mut self, facts: &Facts<'_>) {
        let known = ProcessFacts {
            inner_pid: (facts.inner_pid != 0).then_some(facts.inner_pid),
            container: text(facts.container),
            node_version: text(facts.node_version),
            app: text(facts.app),
            command: text(facts.command),
            folder: text(facts.folder),
            ports: text(facts.ports).split(',').filter_map(|port| port.parse().ok()).collect(),
            unnamed: text(facts.unnamed),
            parent_pid: text(facts.parent).parse().ok(),
        };
        self.is_ours = true;
        self.facts.insert(facts.pid, known);
    }

    fn javascript(&mut self, frame: &JavaScript<'_>) {
        let bytes = self.javascript.take(frame);
        self.budget.take(cost::RECORD.saturating_add(bytes));
    }

    fn script(&mut self, part: &ScriptPart<'_>) {
        self.scripts.take(part);
    }

    fn unnamed(&mut self, reason: &[u8], count: u64) {
        let unnamed = &mut self.losses.unnamed;
        if unnamed.len() < MOST_SENTENCES {
            let sum = unnamed.entry(text(reason)).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    fn cpu_time(&mut self, time: &CpuTime) {
        self.is_ours = true;
        self.losses.cpu = Some(*time);
    }

    fn build_id(&mut self, path: &[u8], build_id: BuildId<'_>) {
        self.world.build_ids.insert(path.to_vec(), build_id.0.to_vec());
    }

    fn about(&mut self, about: &About<'_>) {
        let own = &mut self.about;
        own.host = about.host.map(text).or(own.host.take());
        own.os_release = about.os_release.map(text).or(own.os_release.take());
        own.arch = about.arch.map(text).or(own.arch.take());
        own.command = about.command.map(text).or(own.command.take());
        own.wall_clock = about.wall_clock.or(own.wall_clock);
    }

    fn lost(&mut self, count: u64) {
        self.losses.lost = self.losses.lost.saturating_add(count);
    }

    fn loss(&mut self, loss: Loss, count: u64) {
        let sum = match loss {
            Loss::HelperCrash => &mut self.losses.helper_crashes,
            Loss::StackCut => &mut self.losses.stacks_cut,
        };
        *sum = sum.saturating_add(count);
    }

    fn throttled(&mut self) {
        self.losses.throttled += 1;
    }

    fn damage(&mut self, sentence: String) {
        add_sentence(&mut self.losses.damage, sentence);
    }

    fn note(&mut self, sentence: String) {
        add_sentence(&mut self.losses.notes, sentence);
    }
}

/// Where a user address lies. Generated code has a name of its own where a jitdump has it.
fn place_of(process: &Process, row: u32, places: &mut Places, address: Address) -> PlaceId {
    let mapped = process.find(address.value);
    let in_file = mapped.is_some_and(|id| matches!(places.rows[id.0 as usize], Place::File { .. }));
    let code =
        process.timeline.as_ref().filter(|_| !in_file).and_then(|code| code.find(address.value));
    code.map(|code| places.id(Place::Code(code)))
        .or(mapped)
        .unwrap_or_else(|| places.id(Place::Nowhere(row)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
