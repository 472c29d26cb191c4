//! Looks at the threads of a process: those that run are sampled for a moment, those that sleep are read. A page of the
//! target may block whoever reads it for ever, so a program of its own does this: ourselves, started once more. It
//! sends a line for everything that it has found, and when it is silent for too long, another one begins that reads less.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use capture::{Options, Sampler, Scope, records};
use formats::perf_data::Live;
use serde::{Deserialize, Serialize};
use symbols::{Found, Walker};
use trace::machine::HERE;
use trace::{Address, Context, Registers, Sample, Sink};

use super::threads::{self, Thread, Whereabouts};
use crate::advice::{self, Subject};
use crate::failure::Failure;
use crate::own_process::{self, LastWords};
use crate::record::proc;

/// Tells the looker the process, and what it may do.
const PROCESS: &str = "NODESCOPE_DUMP";

/// In a test: whether it crashes.
const PANIC: &str = "NODESCOPE_TEST_PANIC_IN_DUMP";

/// How long the looker may be silent while it does not run: it tells of every round.
const PATIENCE: Duration = Duration::from_millis(600);
/// How long all of it may take.
pub(super) const LIMIT: Duration = Duration::from_millis(2500);

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

/// The stack and instruction pointer, by the numbers of the kernel's perf_regs.h.
const REGISTERS: u64 = 1 << HERE.registers.sp | 1 << HERE.registers.pc;

/// What the looker may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Depth {
    /// Stacks and V8's heap.
    Heap,
    /// Stacks.
    Stacks,
    /// Nothing of the target's memory.
    Nothing,
}

/// What the looker sends.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Alive,
    Frame(NamedFrame),
    Script(RanScript),
    Thread(Seen),
    Hint(Hint),
}

/// A script whose text is not the file's.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RanScript {
    pub(super) name: String,
    pub(super) map_url: String,
    pub(super) text: String,
}

/// A JavaScript frame.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NamedFrame {
    pub(super) row: u32,
    pub(super) symbol: String,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) inlined: bool,
}

/// A thread, and where it was.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) tid: u32,
    pub(super) is_running: bool,
    pub(super) syscall: Option<u32>,
    /// Whose each address is, as its place among [`CONTEXTS`], and the address.
    pub(super) chain: Vec<(u8, u64)>,
    /// Why there is no more of the stack.
    pub(super) why: Option<String>,
}

/// What stands in the way, and what to type about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hint {
    pub(super) what: String,
    pub(super) hint: String,
}

const CONTEXTS: [Context; 5] =
    [Context::User, Context::Kernel, Context::Elsewhere, Context::JavaScript, Context::Cut];

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) frames: Vec<NamedFrame>,
    pub(super) scripts: Vec<RanScript>,
    pub(super) threads: BTreeMap<u32, Seen>,
    pub(super) hints: Vec<Hint>,
    /// Whether reading the heap had to be given up.
    pub(super) was_blocked: bool,
    /// Why lookers ended before they should: that is a bug of ours.
    pub(super) crashes: Vec<String>,
    /// Who told of each thread: what the same looker says later is better.
    told_by: BTreeMap<u32, Depth>,
}

impl Seen {
    pub(super) fn addresses(&self) -> Vec<Address> {
        let address = |(context, value): &(u8, u64)| {
            Some(Address { value: *value, context: *CONTEXTS.get(usize::from(*context))? })
        };
        self.chain.iter().filter_map(address).collect()
    }
}

/// Looks at all threads of a process, until that is done or the time is over.
pub(super) fn look(pid: u32, name: &str) -> io::Result<Look> {
    let end = Instant::now() + LIMIT;
    let mut look = Look::default();
    for depth in [Depth::Heap, Depth::Stacks, Depth::Nothing] {
        let mut looker = Looker::start(pid, name, depth, look.next_row())?;
        match looker.listen(end, &mut look)? {
            Ended::Done => break,
            Ended::Silent => look.was_blocked = true,
            Ended::Crashed(cause) => look.crashes.push(cause),
        }
    }
    Ok(look)
}

impl Look {
    fn next_row(&self) -> u32 {
        self.frames.iter().map(|frame| frame.row + 1).max().unwrap_or(0)
    }

    fn take(&mut self, line: Line, depth: Depth) {
        match line {
            Line::Alive => {}
            Line::Frame(frame) => self.frames.push(frame),
            Line::Script(script) => self.scripts.push(script),
            Line::Thread(seen) => {
                if *self.told_by.entry(seen.tid).or_insert(depth) == depth {
                    self.threads.insert(seen.tid, seen);
                }
            }
            Line::Hint(hint) if self.hints.contains(&hint) => {}
            Line::Hint(hint) => self.hints.push(hint),
        }
    }
}

/// The other program, as we see it.
struct Looker {
    depth: Depth,
    child: Child,
    stdout: ChildStdout,
    last_words: Option<LastWords>,
    bytes: Vec<u8>,
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
    fn start(pid: u32, name: &str, depth: Depth, next_row: u32) -> io::Result<Self> {
        let order = Order { pid, name: name.to_owned(), depth, next_row };
        let last_words = LastWords::new().ok();
        let stderr = last_words.as_ref().and_then(|words| words.stdio().ok());
        let mut child = Command::new(std::env::current_exe()?)
            .env(PROCESS, serde_json::to_string(&order)?)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // To find the names of a backtrace takes so long that the crash would be taken for a hang.
            .env("RUST_BACKTRACE", "0")
            .stderr(stderr.unwrap_or_else(Stdio::inherit))
            .spawn()?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { depth, child, stdout, last_words, bytes: Vec::new() })
    }

    /// Takes in what is sent, until there is no more.
    fn listen(&mut self, end: Instant, look: &mut Look) -> io::Result<Ended> {
        let mut heard = Instant::now();
        loop {
            let now = Instant::now();
            if now >= end || heard.elapsed() > PATIENCE && !self.runs() {
                return Ok(Ended::Silent);
            }
            if !sys::perf::wait(&[self.stdout.as_raw_fd()], (end - now).min(Duration::from_millis(50)))? {
                continue;
            }
            let mut piece = [0; 1 << 16];
            let read = self.stdout.read(&mut piece)?;
            if read == 0 {
                let status = self.child.wait()?;
                return Ok(if status.success() { Ended::Done } else { Ended::Crashed(self.cause(status)) });
            }
            heard = Instant::now();
            self.bytes.extend_from_slice(&piece[..read]);
            let whole = self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            for line in self.bytes.drain(..whole).collect::<Vec<u8>>().lines().map_while(Result::ok) {
                look.take(serde_json::from_str(&line)?, self.depth);
            }
        }
    }

    fn cause(&self, status: ExitStatus) -> String {
        self.last_words.as_ref().map_or_else(|| status.to_string(), |words| words.cause(Some(status)))
    }

    fn runs(&self) -> bool {
        let fields = proc::stat_fields(self.child.id());
        fields.is_some_and(|fields| fields.first().is_some_and(|state| state.starts_with('R')))
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        // It has ended, or shall.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the looker is told.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    pid: u32,
    name: String,
    depth: Depth,
    next_row: u32,
}

/// Looks at a process, if that is what this program was started for.
pub(crate) fn look_for_dump() -> Option<Result<(), Failure>> {
    let order: Order = serde_json::from_str(&std::env::var(PROCESS).ok()?).ok()?;
    Some(serve(&order).map_err(|error| Failure::failed(format!("cannot look at {}: {error}", order.name))))
}

fn serve(order: &Order) -> io::Result<()> {
    let pid = order.pid;
    if order.depth == Depth::Heap {
        own_process::crash_if_asked(PANIC);
    }
    let all = threads::list(pid)?;
    let found: RefCell<Vec<Line>> = RefCell::new(Vec::new());
    let mut walker = Walker::new(order.next_row, &[], proc::whereabouts, |one| {
        found.borrow_mut().extend(line_of(&one));
    });
    walker.search();
    if order.depth > Depth::Heap {
        walker.leave_heap();
    }
    let mut live = Live::default();
    live.take(&capture::describe(pid)?, &mut walker);
    let mappings = threads::mappings(pid)?;
    let mut reader = Sleepers { pid, depth: order.depth, mappings, walker, found: &found };
    let (mut running, mut asleep) = (BTreeSet::new(), BTreeMap::new());
    for Thread { tid, .. } in all {
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
        Ok(mut sampler) => sample(&mut sampler, &mut live, &mut reader, Wanted { running, waking }),
        // Who only woke up for a moment has told enough.
        Err(_) if running.is_empty() => Ok(()),
        Err(error) => {
            let is_anothers = proc::is_of_another_user(pid);
            let subject = Subject { name: &order.name, again: format!("dump {pid}"), is_anothers };
            if let Failure::Said { what, hint, .. } = advice::explain(&error, &subject) {
                send(&Line::Hint(Hint { what, hint: hint.unwrap_or_default() }))?;
            }
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

fn attach(pid: u32) -> Result<Sampler, capture::AttachError> {
    let (events, stack_bytes) = (Vec::new(), STACK_BYTES);
    let options = Options { frequency: FREQUENCY, on_exec: false, children: false, events, stack_bytes };
    let mut sampler = Sampler::attach(Scope::Processes(&[pid]), &options)?;
    sampler.enable()?;
    Ok(sampler)
}

/// The threads that are sampled.
struct Wanted {
    running: BTreeSet<u32>,
    /// They slept when they were looked at, but ran soon after: what they do while they run says more.
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
            for line in reader.found.take() {
                match line {
                    Line::Thread(seen) if !(wanted.remove(&seen.tid) || waking.remove(&seen.tid)) => {}
                    line => send(&line)?,
                }
            }
        }
        let invisible = |tid: &u32| {
            let now = threads::cpu_ns(pid, *tid).unwrap_or(0);
            now.saturating_sub(used.get(tid).copied().unwrap_or(0)) >= INVISIBLE_NS
        };
        for tid in wanted.clone() {
            let is_over = start.elapsed() > LONGEST_SAMPLING || start.elapsed() > SAMPLING && invisible(&tid);
            if matches!(reader.look(tid)?, Looked::Done { .. }) {
                wanted.remove(&tid);
            } else if is_over {
                wanted.remove(&tid);
                let why = match (invisible(&tid), sampler.sees_kernel()) {
                    (true, false) => "in the kernel, which you may not sample",
                    (true, true) => "no sample of it came",
                    (false, _) => "it got no CPU meanwhile",
                };
                send(&not_seen(tid, why))?;
            }
        }
        if wanted.is_empty() && (waking.is_empty() || start.elapsed() >= WAKING) {
            return Ok(());
        }
        send(&Line::Alive)?;
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
    found: &'a RefCell<Vec<Line>>,
}

impl Sleepers<'_> {
    /// Sends what a thread is doing, unless it runs.
    fn look(&mut self, tid: u32) -> io::Result<Looked> {
        for _ in 0..MOST_LOOKS {
            let (before, switches) = (threads::whereabouts(self.pid, tid), threads::switches(self.pid, tid));
            match before {
                Whereabouts::Running => return Ok(Looked::Running),
                Whereabouts::Gone => return Ok(Looked::Done { switches: None }),
                Whereabouts::Hidden => return self.tell_hidden(tid),
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
            && sys::remote::Process::new(self.pid).is_ok_and(|process| process.read(sp, &mut bytes).is_ok());
        if is_read { bytes } else { Vec::new() }
    }

    fn walk(&mut self, tid: u32, (sp, pc): (u64, u64), syscall: Option<u32>, stack: &[u8]) -> io::Result<()> {
        let sample = Sample {
            event: 0,
            time_ns: 0,
            pid: Some(self.pid),
            tid: Some(tid),
            cpu: None,
            period: 1,
            chain: &[],
            user_registers: Some(Registers { mask: REGISTERS, values: &[sp, pc] }),
            user_stack: stack,
        };
        self.walker.sample(&sample);
        self.walker.read_scripts();
        let why = stack.is_empty().then(|| "its stack cannot be read".to_owned());
        for line in self.found.take() {
            match line {
                Line::Thread(seen) => {
                    send(&Line::Thread(Seen { is_running: false, syscall, why: why.clone(), ..seen }))?;
                }
                line => send(&line)?,
            }
        }
        Ok(())
    }

    fn tell_hidden(&self, tid: u32) -> io::Result<Looked> {
        let all = threads::list(self.pid)?;
        if all.iter().any(|thread| thread.tid == tid && thread.letter == 'R') {
            return Ok(Looked::Running);
        }
        let why = Some("its stack may not be read".to_owned());
        send(&Line::Thread(Seen { tid, is_running: false, syscall: None, chain: Vec::new(), why }))?;
        Ok(Looked::Done { switches: None })
    }
}

fn not_seen(tid: u32, why: &str) -> Line {
    Line::Thread(Seen { tid, is_running: true, syscall: None, chain: Vec::new(), why: Some(why.to_owned()) })
}

fn line_of(found: &Found<'_>) -> Option<Line> {
    Some(match found {
        Found::Frame(frame) => Line::Frame(NamedFrame {
            row: frame.row,
            symbol: String::from_utf8_lossy(frame.symbol).into_owned(),
            line: frame.line,
            column: frame.column,
            inlined: frame.inlined,
        }),
        Found::Sample(sample) => {
            let place = |address: &Address| {
                let context = CONTEXTS.iter().position(|context| *context == address.context).unwrap_or(0);
                (context as u8, address.value)
            };
            Line::Thread(Seen {
                tid: sample.tid.unwrap_or(0),
                is_running: true,
                syscall: None,
                chain: sample.chain.iter().map(place).collect(),
                why: None,
            })
        }
        Found::Script(script) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (name, map_url, text) = (text(script.name), text(script.map_url), text(script.text));
            Line::Script(RanScript { name, map_url, text })
        }
        // Why there are no names is found out by other means, and who hangs is ended as a whole.
        Found::Trying(_) | Found::Note(_) => return None,
    })
}

fn send(line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
