//! What a recording consists of. Texts are bytes, because they come from outside; times are nanoseconds on the
//! recording's own clock. Everything is borrowed: nothing outlives the call that hands it over.

/// An event that was sampled. Samples refer to it by `row`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its place among the recording's events, from 0.
    pub row: u32,
    /// `cpu-clock:ppp`, `cycles`, `sched:sched_switch`.
    pub name: &'a [u8],
    /// What its periods count.
    pub measure: Measure,
    /// Whether its samples carry a time.
    pub timed: bool,
    /// Whether its samples carry a period; without one each counts 1.
    pub has_period: bool,
    /// The nanoseconds between two samples, where it was sampled by a fixed time or frequency.
    pub interval_ns: Option<u64>,
}

/// What a period counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Nanoseconds, as cpu-clock and task-clock do.
    Ns,
    /// Cycles, faults, switches.
    Event,
}

/// A file, or a piece of no file, became visible at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mmap<'a> {
    /// When.
    pub time_ns: u64,
    /// The process; `None` for the kernel and its modules.
    pub pid: Option<u32>,
    /// The first address.
    pub start: u64,
    /// How many bytes.
    pub length: u64,
    /// Where in the file it starts.
    pub offset: u64,
    /// The file, or `[heap]`, `//anon`, `[vdso]`, `[kernel.kallsyms]_text`.
    pub path: &'a [u8],
    /// The file's build id, where the kernel wrote it into the record.
    pub build_id: Option<BuildId<'a>>,
    /// Whether code may run from it.
    pub executable: bool,
}

/// The build id of a file, as its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildId<'a>(pub &'a [u8]);

/// A thread got a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm<'a> {
    /// When.
    pub time_ns: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The name.
    pub name: &'a [u8],
    /// Whether another program took over the process: its mappings are gone.
    pub exec: bool,
}

/// A process or a thread began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// When.
    pub time_ns: u64,
    /// The new one's process; the same as `parent_pid` for a thread.
    pub pid: u32,
    /// The new thread.
    pub tid: u32,
    /// Whose child it is.
    pub parent_pid: u32,
    /// Which thread began it.
    pub parent_tid: u32,
}

/// A thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// When.
    pub time_ns: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
}

/// A thread left a CPU or came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// When.
    pub time_ns: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Whether it left.
    pub out: bool,
    /// Whether it left because others had their turn, not because it waited.
    pub preempted: bool,
}

/// Times off the CPU that were too short for records of their own, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortWaits {
    /// When the first one began.
    pub time_ns: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// How many there were.
    pub count: u64,
    /// How long they took together.
    pub total_ns: u64,
}

/// A process, as its recorder knows it beyond what the kernel reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts<'a> {
    /// The process.
    pub pid: u32,
    /// Its pid inside its own namespace; 0 if unknown.
    pub inner_pid: u32,
    /// The container or pod.
    pub container: &'a [u8],
    /// Node's version.
    pub node_version: &'a [u8],
    /// The application's name.
    pub app: &'a [u8],
    /// The command line without the values of arguments.
    pub command: &'a [u8],
    /// The working folder.
    pub folder: &'a [u8],
    /// The TCP ports that it listens on, as decimal numbers with commas between them.
    pub ports: &'a [u8],
    /// Why code that it generates cannot have names; empty where it can.
    pub unnamed: &'a [u8],
    /// The pid of the process that started it, as a decimal number.
    pub parent: &'a [u8],
}

/// What is known of an event loop so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopWatch<'a> {
    /// The process.
    pub pid: u32,
    /// The loop's thread.
    pub tid: u32,
    /// When the watch began; a thread whose watch began anew has several.
    pub start_ns: u64,
    /// Until when it was watched.
    pub end_ns: u64,
    /// For how long it waited in its own poll.
    pub polled_ns: Option<u64>,
    /// How many turns it made.
    pub turns: Option<u64>,
    /// Why it was not watched, a part of a sentence; empty where it was.
    pub problem: &'a [u8],
}

/// What a stretch of an event loop's time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnKind {
    /// One long turn.
    Turn,
    /// Work before the loop's first poll.
    Startup,
    /// The process was stopped.
    Stopped,
    /// Quick turns without a wait between them.
    Quick,
}

/// A long turn of an event loop, or a stretch of quick ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What it is.
    pub kind: TurnKind,
    /// The process.
    pub pid: u32,
    /// The loop's thread.
    pub tid: u32,
    /// Its start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// How many turns it stands for.
    pub turns: u64,
    /// The time on a CPU.
    pub run_ns: u64,
    /// The time in which the thread was ready and waited for a CPU.
    pub ready_ns: u64,
    /// The part of that in which a CPU limit held it back.
    pub throttled_ns: Option<u64>,
}

/// What the kernel counted for a process in a piece of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// The process.
    pub pid: u32,
    /// The lowest CPU limit of its groups, in thousandths of a CPU.
    pub cpu_limit_millis: Option<u32>,
    /// Its start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// The CPU time of all threads.
    pub run_ns: u64,
    /// The time in which they were ready and waited for a CPU.
    pub ready_ns: u64,
    /// Periods of the CPU limit.
    pub periods: Option<u64>,
    /// Those that were throttled.
    pub throttled_periods: Option<u64>,
    /// For how long.
    pub throttled_ns: Option<u64>,
    /// The time in which some task waited for a CPU.
    pub cpu_pressure_ns: Option<u64>,
    /// The time in which some task waited for memory.
    pub memory_pressure_ns: Option<u64>,
}

/// How long a request would have waited for an event loop, at moments of a piece of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// The process.
    pub pid: u32,
    /// The loop's thread.
    pub tid: u32,
    /// Start of the piece of time.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// The delay in microseconds.
    pub delay_us: u64,
    /// How many moments had it.
    pub moments: u32,
}

/// What libuv's thread pool did in a piece of time: sums over the looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// The process.
    pub pid: u32,
    /// Its start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// The threads of the pool.
    pub threads: u32,
    /// How often it was looked at.
    pub looks: u32,
    /// Threads that had a request.
    pub busy: u32,
    /// Looks at which a request waited because no thread was free for it.
    pub full: u32,
    /// The most requests that waited at one look.
    pub most_queued: u32,
    /// Requests that waited: file system calls, lookups of names, crypto, zlib, addons, and others.
    pub queued: [u32; 6],
}

/// A script whose text in V8 is not the text of the file that it is named after: a transpiler made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script<'a> {
    /// Its path or URL.
    pub name: &'a [u8],
    /// The address of its source map, mostly a `data:` URL; empty where it has none.
    pub map_url: &'a [u8],
    /// The text that ran, without that address.
    pub text: &'a [u8],
}

/// A part of a [`Script`]: a record has no room for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptPart<'a> {
    /// The name of the next one.
    Name(&'a [u8]),
    /// More of its source map.
    MapUrl(&'a [u8]),
    /// More of its text.
    Text(&'a [u8]),
}

/// What a recording took, by the kernel's own account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// The CPU time that the processes used meanwhile.
    pub used_ns: u64,
    /// The part of it in the kernel that may not be sampled.
    pub hidden_kernel_ns: u64,
}

/// A thread was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// The row of its [`Event`].
    pub event: u32,
    /// When; 0 where the event has no times.
    pub time_ns: u64,
    /// The process; `None` where the recording does not have it.
    pub pid: Option<u32>,
    /// The thread; `None` where the recording does not have it.
    pub tid: Option<u32>,
    /// The CPU; `None` where the recording does not have it.
    pub cpu: Option<u32>,
    /// How much it stands for; 1 where the event has no periods.
    pub period: u64,
    /// The call chain, its leaf first: the instruction pointer, then return addresses. Only the instruction
    /// pointer where no chain was taken.
    pub chain: &'a [Address],
    /// The registers of user space, where they were taken.
    pub user_registers: Option<Registers<'a>>,
    /// The top of the user stack, from the stack pointer upwards, where it was taken.
    pub user_stack: &'a [u8],
    /// Whether the copy has all the bytes that were asked for: then the stack may go on behind it.
    pub user_stack_is_full: bool,
    /// What waits for a stack that V8's queue of microtasks has begun, where that was looked for.
    pub awaits: Option<Awaits<'a>>,
}

/// What waits for a function that runs after an `await`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaits<'a> {
    /// How many addresses of the call chain, from its leaf on, ran since the `await`.
    pub resumed: u32,
    /// The suspended callers, the innermost first: rows of [`JavaScript`](crate::JavaScript) frames.
    pub awaiters: &'a [u32],
    /// Why there are no more.
    pub end: AwaitEnd,
    /// How many samples whose callers were read too late this one stands for, in thousandths: some where its callers
    /// were gone when they were looked at again. `None` where that was not done.
    pub stands_for: Option<u32>,
}

/// Why there are no more suspended callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AwaitEnd {
    /// Nothing waits for the last one.
    Root = 0,
    /// Several functions wait for the same promise.
    Several = 1,
    /// They were read too late: the function had ended.
    Late = 2,
    /// An object was not what it should be.
    Unread = 3,
    /// There may be more than are followed.
    TooLong = 4,
}

impl AwaitEnd {
    /// All of them; one's number is its place.
    pub const ALL: [Self; 5] = [Self::Root, Self::Several, Self::Late, Self::Unread, Self::TooLong];

    /// What a number in a recording means.
    pub fn of(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Whether callers may be missing.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::Root | Self::Several)
    }
}

/// Where code ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The address as it was recorded.
    pub value: u64,
    /// Whose it is.
    pub context: Context,
}

/// Whose code an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// The process's own.
    User,
    /// The kernel's.
    Kernel,
    /// The hypervisor's, or a guest's: known to exist, never named.
    Elsewhere,
    /// JavaScript that was named when it was seen: the value is the row of a [`JavaScript`](crate::JavaScript) frame.
    JavaScript,
    /// No code: the callers beyond are not known. The value is the number of a [`Cut`].
    Cut,
}

/// Why the outer callers of a stack are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The stack is deeper than the copy of it that was taken.
    DeeperThanCopy = 0,
    /// The stack was not walked: the program that should have done so had ended.
    NotWalked = 1,
}

impl Cut {
    /// The outermost frame of a stack that is cut.
    pub fn address(self) -> Address {
        Address { value: self as u64, context: Context::Cut }
    }

    /// What an address of [`Context::Cut`] means.
    pub fn of(value: u64) -> Self {
        if value == Self::NotWalked as u64 { Self::NotWalked } else { Self::DeeperThanCopy }
    }
}

/// Something that a recorder counts because a recording lacks it, or got it in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A program of the recorder's own ended before it should.
    HelperCrash = 0,
    /// A stack was deeper than its copy, and its outer callers are missing.
    StackCut = 1,
}

impl Loss {
    /// What a number in a recording means.
    pub fn of(number: u32) -> Option<Self> {
        [Self::HelperCrash, Self::StackCut].into_iter().find(|loss| *loss as u32 == number)
    }
}

/// Registers, as perf writes them: one value for each bit that is set, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers<'a> {
    /// Which registers were taken, by their numbers in the kernel's perf_regs.h.
    pub mask: u64,
    /// Their values.
    pub values: &'a [u64],
}

/// What a recording contains about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About<'a> {
    /// The machine's name.
    pub host: Option<&'a [u8]>,
    /// The kernel's release.
    pub os_release: Option<&'a [u8]>,
    /// `x86_64`, `aarch64`.
    pub arch: Option<&'a [u8]>,
    /// The command that recorded.
    pub command: Option<&'a [u8]>,
    /// Wall-clock nanoseconds since 1970 and the recording's clock at the same moment.
    pub wall_clock: Option<(u64, u64)>,
}
