//! Looks at the threads of a process: those that run are sampled for a moment, those that sleep are read. A page of the
//! target may block every reader for ever, so a helper process does this: ourselves, started once more. It sends a
//! message for everything that it has found, and when it is silent for too long, another one begins that reads less.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use capture::{AttachError, Options, Sampler, Scope, records};
use formats::perf_data::Live;
use symbols::{Found, Walker};
use trace::{Address, AwaitEnd, Context, Registers, Sample, Sink, javascript};

use super::asleep::PLACE_REGISTERS;
use super::machine::ThisMachine;
use super::own_process;
use super::supervised::Supervised;
use super::suspended;
use super::threads::{self, Thread, Whereabouts};
use super::watchdog::Patience;
use crate::job::Job;
use crate::message::{
    Depth, Hint, LookOrder, Message, NamedFrame, RanScript, Seen, SuspendedFunctions,
};

/// In a test: whether it crashes.
const PANIC: &str = "NODESCOPE_TEST_PANIC_IN_DUMP";

/// It reports every round, and there is not much time.
const PATIENCE: Patience = Patience {
    silence: Duration::from_millis(450),
    standstill: Duration::from_millis(150),
    slow_disk: Duration::from_secs(1),
};
/// How long all of it may take.
const LIMIT: Duration = Duration::from_millis(2500);

/// Samples a second, and how much of the stack each copies.
const FREQUENCY: u32 = 999;
const STACK_BYTES: u32 = 48 << 10;
/// How long those are sampled that use the CPU but give no sample, and how long those that get no CPU.
const SAMPLING: Duration = Duration::from_millis(300);
const LONGEST_SAMPLING: Duration = Duration::from_millis(1200);
/// How long those are sampled that wake up now and then.
const WAKING: Duration = Duration::from_millis(40);
/// So much CPU time without a sample: it is spent where we may not look.
const INVISIBLE_NS: u64 = 20_000_000;
/// How long a round of sampling is.
const ROUND: Duration = Duration::from_millis(10);
/// Of the stack of a thread that sleeps: V8 lets its own grow to about as much.
const MOST_STACK: u64 = 1 << 20;
/// How often a thread is looked at that wakes up meanwhile.
const MOST_LOOKS: u32 = 4;

const CONTEXTS: [Context; 5] =
    [Context::User, Context::Kernel, Context::Elsewhere, Context::JavaScript, Context::Cut];

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Look {
    /// JavaScript frames.
    pub frames: Vec<NamedFrame>,
    /// Scripts whose text is not the file's.
    pub scripts: Vec<RanScript>,
    /// Threads, by their numbers.
    pub threads: BTreeMap<u32, Seen>,
    /// The async functions that are suspended, where they were asked for.
    pub suspended: Option<SuspendedFunctions>,
    /// What stood in the way.
    pub hints: Vec<Hint>,
    /// Whether reading the heap had to be given up.
    pub was_blocked: bool,
    /// Why lookers ended before they should: that is a bug of ours.
    pub crashes: Vec<String>,
    /// Which looker reported each thread: what the same one reports later is better.
    reported_by: BTreeMap<u32, Depth>,
}

impl Seen {
    /// The addresses, each with whose it is.
    pub fn addresses(&self) -> Vec<Address> {
        let address = |(context, value): &(u8, u64)| {
            Some(Address { value: *value, context: *CONTEXTS.get(usize::from(*context))? })
        };
        self.chain.iter().filter_map(address).collect()
    }

    /// What awaits the stack: how much of it runs since the `await`, why there is no more, and rows of frames.
    pub fn awaits(&self) -> Option<(u32, AwaitEnd, Vec<u32>)> {
        let value = |wanted: u8| {
            self.chain.iter().filter(move |(kind, _)| *kind == wanted).map(|(_, value)| *value)
        };
        let head = value(AWAITS).next()?;
        let rows: Option<Vec<u32>> = value(AWAITER).map(|row| u32::try_from(row).ok()).collect();
        Some((head as u32, AwaitEnd::of(head >> 32)?, rows?))
    }
}

/// The numbers of what is no address behind a chain: how much was resumed and why there is no more, and rows of frames.
const AWAITS: u8 = 0x80;
const AWAITER: u8 = 0x81;

/// What awaits a stack, in the form of addresses.
fn awaits_of(sample: &Sample<'_>) -> impl Iterator<Item = (u8, u64)> {
    let awaits = sample.awaits.iter();
    awaits.flat_map(|awaits| {
        let head = u64::from(awaits.resumed) | (awaits.end as u64) << 32;
        let rows = awaits.awaiters.iter().map(|row| (AWAITER, u64::from(*row)));
        [(AWAITS, head)].into_iter().chain(rows)
    })
}

/// Looks at all threads of a process, until that is done or the time is over; if it is wanted, also at the async
/// functions that are suspended.
pub fn look(pid: u32, name: &str, wants_suspended: bool) -> io::Result<Look> {
    let more = if wants_suspended { suspended::MOST_TIME } else { Duration::ZERO };
    let end = Instant::now() + LIMIT + more;
    let mut look = Look::default();
    for depth in [Depth::Heap, Depth::Stacks, Depth::Nothing] {
        let (name, next_row) = (name.to_owned(), look.next_row());
        let mut looker = Looker::start(LookOrder { pid, name, depth, next_row, wants_suspended })?;
        match looker.receive(end, &mut look)? {
            Ended::Done => break,
            Ended::Silent => look.was_blocked = true,
            Ended::Crashed(cause) => look.crashes.push(cause),
        }
    }
    Ok(look)
}

impl Look {
    fn next_row(&self) -> u32 {
        self.frames.iter().map(|frame| frame.row.saturating_add(1)).max().unwrap_or(0)
    }

    fn take(&mut self, message: Message, depth: Depth) {
        match message {
            Message::Frame(frame) => self.frames.push(frame),
            Message::Script(script) => self.scripts.push(script),
            Message::Thread(seen)
                if *self.reported_by.entry(seen.tid).or_insert(depth) == depth =>
            {
                self.threads.insert(seen.tid, seen);
            }
            Message::Suspended(found) => self.suspended = Some(found),
            Message::Hint(hint) if !self.hints.contains(&hint) => self.hints.push(hint),
            // What was reported better before, and signs of life: to receive them was enough.
            _ => {}
        }
    }
}

/// The other program, as we see it.
struct Looker {
    depth: Depth,
    program: Supervised,
}

/// How a looker came to its end.
enum Ended {
    Done,
    /// It was silent for too long, or the time is over.
    Silent,
    /// It ended by itself, because of this.
    Crashed(String),
}

impl Looker {
    fn start(order: LookOrder) -> io::Result<Self> {
        let (depth, order) = (order.depth, Message::Look(order));
        Ok(Self { depth, program: Supervised::start(&Job::LookAtThreads, &order, PATIENCE)? })
    }

    /// Takes in what is sent, until there is no more.
    fn receive(&mut self, end: Instant, look: &mut Look) -> io::Result<Ended> {
        loop {
            let now = Instant::now();
            if now >= end || self.program.is_stuck() {
                return Ok(Ended::Silent);
            }
            let may_go_on = self.program.receive((end - now).min(Duration::from_millis(50)))?;
            loop {
                match self.program.next() {
                    Ok(Some(message)) => look.take(message, self.depth),
                    Ok(None) => break,
                    Err(error) => return Ok(Ended::Crashed(error.to_string())),
                }
            }
            if !may_go_on {
                let status = self.program.status();
                return Ok(match status.is_some_and(|status| status.success()) {
                    true => Ended::Done,
                    false => Ended::Crashed(self.program.cause(status)),
                });
            }
        }
    }
}

/// Looks at the threads of a process, which this program was started for. `explain` gives the reason why it may not be
/// sampled.
pub fn look_at_threads(explain: fn(&AttachError, u32, &str) -> Hint) -> io::Result<()> {
    let Some(Message::Look(order)) = Message::read(&mut io::stdin().lock())? else { return Ok(()) };
    let pid = order.pid;
    if order.depth == Depth::Heap {
        own_process::crash_if_asked(PANIC);
    }
    let found: RefCell<Vec<Message>> = RefCell::new(Vec::new());
    let mut walker = Walker::new(order.next_row, &[], &ThisMachine, |one| {
        found.borrow_mut().extend(message_of(&one));
    });
    walker.search();
    if order.depth > Depth::Heap {
        walker.leave_heap();
    }
    let mut live = Live::default();
    live.take(&capture::describe(pid)?, &mut walker);
    let mappings = threads::mappings(pid)?;
    let mut reader = Sleepers { pid, depth: order.depth, mappings, walker, found: &found };
    look_at_all(&mut reader, &mut live, &|error| explain(error, pid, &order.name))?;
    if order.wants_suspended && order.depth == Depth::Heap {
        let suspended = suspended::search(pid, &mut reader.walker, send)?;
        reader.walker.read_scripts();
        for message in found.take() {
            send(&message)?;
        }
        send(&Message::Suspended(suspended))?;
    }
    Ok(())
}

/// Looks at each thread: at once where it sleeps, by samples where it runs.
fn look_at_all(
    reader: &mut Sleepers<'_>,
    live: &mut Live,
    explain: &dyn Fn(&AttachError) -> Hint,
) -> io::Result<()> {
    let pid = reader.pid;
    let (mut running, mut asleep) = (BTreeSet::new(), BTreeMap::new());
    for Thread { tid, .. } in threads::list(pid)? {
        match reader.look(tid)? {
            Looked::Running => drop(running.insert(tid)),
            Looked::Done { switches } => drop(asleep.insert(tid, switches)),
        }
    }
    let has_run = |(tid, switches): (u32, Option<u64>)| {
        let now = threads::switches(pid, tid);
        (now.is_some() && now != switches).then_some(tid)
    };
    let waking: BTreeSet<u32> = asleep.into_iter().filter_map(has_run).collect();
    if running.is_empty() && waking.is_empty() {
        return Ok(());
    }
    match attach(pid) {
        Ok(mut sampler) => sample(&mut sampler, live, reader, Wanted { running, waking }),
        // A thread that only woke up for a moment has shown enough.
        Err(_) if running.is_empty() => Ok(()),
        Err(error) => {
            send(&Message::Hint(explain(&error)))?;
            // Perhaps they sleep by now.
            for tid in running {
                if !reader.look_again(tid)? {
                    send(&not_seen(tid, "it may not be sampled"))?;
                }
            }
            Ok(())
        }
    }
}

fn attach(pid: u32) -> Result<Sampler, AttachError> {
    let (events, stack_bytes) = (Vec::new(), STACK_BYTES);
    let options = Options {
        frequency: FREQUENCY,
        fast_frequency: None,
        on_exec: false,
        children: false,
        events,
        stack_bytes,
    };
    let mut sampler = Sampler::attach(Scope::Processes(&[pid]), &options)?;
    sampler.enable()?;
    Ok(sampler)
}

/// The threads that are sampled.
struct Wanted {
    running: BTreeSet<u32>,
    /// They slept when they were looked at, but ran soon after: what they do while they run shows more.
    waking: BTreeSet<u32>,
}

/// Samples until each of the threads was seen, running or asleep.
fn sample(
    sampler: &mut Sampler,
    live: &mut Live,
    reader: &mut Sleepers<'_>,
    Wanted { running: mut wanted, mut waking }: Wanted,
) -> io::Result<()> {
    let (start, pid) = (Instant::now(), reader.pid);
    let used: BTreeMap<u32, u64> =
        wanted.iter().map(|tid| (*tid, threads::cpu_ns(pid, *tid).unwrap_or(0))).collect();
    live.take(&sampler.raw_head(), &mut reader.walker);
    let mut raw = Vec::new();
    loop {
        sampler.wait(ROUND)?;
        raw.clear();
        sampler.read_raw(&mut raw);
        reader.walker.begin_round();
        for (_, record) in records(&raw).filter(|(is_sample, _)| !is_sample) {
            live.take(record, &mut reader.walker);
        }
        for (_, record) in records(&raw).filter(|(is_sample, _)| *is_sample) {
            live.take(record, &mut reader.walker);
            reader.walker.read_scripts();
            for message in reader.found.take() {
                match message {
                    Message::Thread(seen)
                        if !(wanted.remove(&seen.tid) || waking.remove(&seen.tid)) => {}
                    message => send(&message)?,
                }
            }
        }
        let invisible = |tid: &u32| {
            let now = threads::cpu_ns(pid, *tid).unwrap_or(0);
            now.saturating_sub(used.get(tid).copied().unwrap_or(0)) >= INVISIBLE_NS
        };
        for tid in wanted.clone() {
            let is_over =
                start.elapsed() > LONGEST_SAMPLING || start.elapsed() > SAMPLING && invisible(&tid);
            if matches!(reader.look(tid)?, Looked::Done { .. }) {
                wanted.remove(&tid);
            } else if is_over {
                wanted.remove(&tid);
                let why = match (invisible(&tid), sampler.sees_kernel()) {
                    (true, false) => "in the kernel, which you may not sample",
                    (true, true) => "it was not sampled",
                    (false, _) => "it got no CPU meanwhile",
                };
                send(&not_seen(tid, why))?;
            }
        }
        if wanted.is_empty() && (waking.is_empty() || start.elapsed() >= WAKING) {
            return Ok(());
        }
        send(&Message::Alive)?;
    }
}

/// What came of a look at a thread.
enum Looked {
    /// It runs: that is for a sampler.
    Running,
    /// Everything was sent. How often it had slept by then, where that is known.
    Done { switches: Option<u64> },
}

/// Looks at threads that sleep.
struct Sleepers<'a> {
    pid: u32,
    depth: Depth,
    mappings: Vec<(u64, u64)>,
    walker: Walker<'a>,
    found: &'a RefCell<Vec<Message>>,
}

impl Sleepers<'_> {
    /// Sends what a thread is doing, unless it runs.
    fn look(&mut self, tid: u32) -> io::Result<Looked> {
        for _ in 0..MOST_LOOKS {
            let (before, switches) =
                (threads::whereabouts(self.pid, tid), threads::switches(self.pid, tid));
            match before {
                Whereabouts::Running => return Ok(Looked::Running),
                Whereabouts::Gone => return Ok(Looked::Done { switches: None }),
                Whereabouts::Hidden => return self.report_hidden(tid),
                Whereabouts::Asleep { syscall, sp, pc } => {
                    let stack = self.stack(sp);
                    // It may have run on meanwhile: then this is a mixture of two moments.
                    if threads::whereabouts(self.pid, tid) != before
                        || threads::switches(self.pid, tid) != switches
                    {
                        continue;
                    }
                    self.walker.begin_round();
                    self.walk(tid, (sp, pc), syscall, &stack)?;
                    return Ok(Looked::Done { switches });
                }
            }
        }
        Ok(Looked::Running)
    }

    /// The same for one that may only be looked at when it sleeps.
    fn look_again(&mut self, tid: u32) -> io::Result<bool> {
        for _ in 0..MOST_LOOKS {
            if matches!(self.look(tid)?, Looked::Done { .. }) {
                return Ok(true);
            }
            std::thread::sleep(ROUND);
        }
        Ok(false)
    }

    fn stack(&self, sp: u64) -> Vec<u8> {
        let row = self.mappings.partition_point(|(start, _)| *start <= sp).checked_sub(1);
        let end = row.map(|row| self.mappings[row].1).filter(|end| *end > sp);
        // Where reading was blocked before, as little is read as matters.
        let most = if self.depth == Depth::Heap { MOST_STACK } else { u64::from(STACK_BYTES) };
        let size = end.map_or(0, |end| (end - sp).min(most)) as usize;
        let mut bytes = vec![0; size];
        let is_read = self.depth < Depth::Nothing
            && sys::remote::Process::new(self.pid)
                .is_ok_and(|process| process.read(sp, &mut bytes).is_ok());
        if is_read { bytes } else { Vec::new() }
    }

    fn walk(
        &mut self,
        tid: u32,
        (sp, pc): (u64, u64),
        syscall: Option<u32>,
        stack: &[u8],
    ) -> io::Result<()> {
        let sample = Sample {
            event: 0,
            time_ns: 0,
            pid: Some(self.pid),
            tid: Some(tid),
            cpu: None,
            period: 1,
            chain: &[],
            user_registers: Some(Registers { mask: PLACE_REGISTERS, values: &[sp, pc] }),
            user_stack: stack,
            user_stack_is_full: false,
            awaits: None,
        };
        self.walker.sample(&sample);
        self.walker.read_scripts();
        let why = stack.is_empty().then(|| "its stack cannot be read".to_owned());
        for message in self.found.take() {
            match message {
                Message::Thread(seen) => {
                    send(&Message::Thread(Seen {
                        is_running: false,
                        syscall,
                        why: why.clone(),
                        ..seen
                    }))?;
                }
                message => send(&message)?,
            }
        }
        Ok(())
    }

    fn report_hidden(&self, tid: u32) -> io::Result<Looked> {
        let all = threads::list(self.pid)?;
        if all.iter().any(|thread| thread.tid == tid && thread.letter == 'R') {
            return Ok(Looked::Running);
        }
        let why = Some("its stack may not be read".to_owned());
        send(&Message::Thread(Seen {
            tid,
            is_running: false,
            syscall: None,
            chain: Vec::new(),
            why,
        }))?;
        Ok(Looked::Done { switches: None })
    }
}

fn not_seen(tid: u32, why: &str) -> Message {
    Message::Thread(Seen {
        tid,
        is_running: true,
        syscall: None,
        chain: Vec::new(),
        why: Some(why.to_owned()),
    })
}

fn message_of(found: &Found<'_>) -> Option<Message> {
    Some(match found {
        Found::Frame(frame) => {
            Message::Frame(NamedFrame { row: frame.row, bytes: javascript::encode(frame) })
        }
        Found::Sample(sample) => {
            let place = |address: &Address| {
                let context =
                    CONTEXTS.iter().position(|context| *context == address.context).unwrap_or(0);
                (context as u8, address.value)
            };
            Message::Thread(Seen {
                tid: sample.tid.unwrap_or(0),
                is_running: true,
                syscall: None,
                chain: sample.chain.iter().map(place).chain(awaits_of(sample)).collect(),
                why: None,
            })
        }
        Found::Script(script) => {
            let (name, map_url, text) =
                (script.name.to_vec(), script.map_url.to_vec(), script.text.to_vec());
            Message::Script(RanScript { name, map_url, text })
        }
        // Why there are no names is found out by other means, and a looker that hangs is ended as a whole.
        Found::Trying(_) | Found::Note(_) => return None,
    })
}

fn send(message: &Message) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(&message.encode())?;
    stdout.flush()
}
