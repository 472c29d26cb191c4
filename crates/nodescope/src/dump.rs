//! `nodescope dump`: the stack of every thread of a process, now. Nothing in the process is stopped or changed:
//! running threads are sampled for a moment, sleeping ones are read. JSON and terminal share the result,
//! a [`Dump`].

mod awaiting;
mod show;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use capture::AttachError;
use formats::perf_data::Live;
use live::threads::{self, Thread};
use live::{Look, Seen, not_node, owners, proc};
use profile::classify::role_of_thread;
use profile::{Category, Profile, Role, StackId, ThreadId};
use serde::Serialize;
use symbols::{Namer, Sources};
use target::Places;
use trace::{Awaits, Sample, ScriptPart, Sink, javascript};

use crate::advice::Subject;
use crate::cli;
use crate::failure::Failure;
use crate::record::choose::{self, Wanted};
use crate::style::Style;
use crate::{advice, invoked, output};
use awaiting::Awaiting;
use show::Shown;

/// What runs on the thread that waits for SIGUSR1 to start the inspector: its name says so only in some versions.
const INSPECTOR_STARTER: &str = "StartIoThreadMain";

/// Where threads begin, in glibc and musl.
const FIRST_FUNCTIONS: &[&str] = &[
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
];

/// A process at one moment.
#[derive(Debug, Serialize)]
struct Dump {
    pid: u32,
    name: String,
    /// Its command line without the values of arguments.
    command: Option<String>,
    node_version: Option<String>,
    container: Option<String>,
    uptime_s: Option<f64>,
    /// How many cores it kept busy while we looked.
    cpu_cores: f64,
    /// The processes that it has started, which are not shown.
    children: usize,
    /// How long looking took.
    took_s: f64,
    threads: Vec<ThreadStack>,
    /// The async functions that are suspended, where they were asked for and could be read.
    awaiting: Option<Awaiting>,
    /// What stood in the way.
    hints: Vec<Hint>,
}

/// What stands in the way, and what to type about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Hint {
    what: String,
    hint: String,
}

/// A thread at one moment.
#[derive(Debug, Serialize)]
struct ThreadStack {
    tid: u32,
    name: String,
    role: &'static str,
    state: State,
    /// What it sleeps in.
    syscall: Option<String>,
    /// Whether it only waits for something to do.
    is_idle: bool,
    /// Why there are no frames, or not all of them.
    why: Option<String>,
    /// The innermost first.
    frames: Vec<FrameRow>,
    /// Whether they reach the thread's first function.
    is_whole: bool,
    /// The suspended functions that await what runs, the innermost first.
    awaited_by: Vec<FrameRow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Running,
    Sleeping,
    /// In the kernel, where no signal reaches it: mostly it waits for a disk.
    Uninterruptible,
    Stopped,
    Ended,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct FrameRow {
    function: String,
    /// The script or source file.
    source: Option<String>,
    /// The line and column that run or call; 0 unknown.
    line: u32,
    column: u32,
    /// Where the function is defined; 0 unknown.
    defined_line: u32,
    defined_column: u32,
    category: &'static str,
    /// What runs it, for JavaScript.
    tier: Option<&'static str>,
    inlined: bool,
    /// The binary.
    module: Option<String>,
    /// Whether it is one of V8's builtins.
    builtin: bool,
    #[serde(skip)]
    kind: Category,
}

impl FrameRow {
    fn is_javascript(&self) -> bool {
        self.tier.is_some()
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &cli::Dump) -> Result<(), Failure> {
    let pids = arguments.pid.as_slice();
    let (target, container) = (arguments.target.as_deref(), arguments.container.as_deref());
    let matching = arguments.matching.as_deref();
    let pid = choose::pids(Wanted { target, pid: pids, container, matching, all: None })?;
    let [pid] = pid[..] else {
        return Err(Failure::usage("one process at a time: two were named"));
    };
    let dump = dump(pid, arguments.awaiting)?;
    if arguments.json {
        let mut text = serde_json::to_string_pretty(&dump)
            .map_err(|error| Failure::failed(error.to_string()))?;
        text.push('\n');
        return output::print(&text);
    }
    let shown = Shown { all_frames: arguments.all_frames, awaiting: arguments.awaiting };
    output::print(&show::render(&dump, shown, &Style::new(arguments.color)))?;
    for Hint { what, hint } in &dump.hints {
        // Printed as any failure is, but there is something to show all the same.
        let _ = Failure::failed(what).hint(hint).report();
    }
    Ok(())
}

fn dump(pid: u32, wants_awaiting: bool) -> Result<Dump, Failure> {
    let start = Instant::now();
    let gone = |_| gone(pid);
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).map_err(gone)?.trim_end().to_owned();
    let born = proc::times(pid).map(|times| times.born);
    let before = cpu_times(pid);
    // The mappings come first: a user who may not read them may read nothing else.
    let records = capture::describe(pid).map_err(|error| refused(pid, &name, &error))?;
    // The list asks container engines, too, which takes as long as all the rest.
    let known = std::thread::spawn(move || {
        let list = target::list(&Places::without_ports(), Duration::ZERO).ok()?;
        list.processes.into_iter().find(|process| process.pid == pid)
    });
    let look = live::look(pid, &name, wants_awaiting)
        .map_err(|error| Failure::failed(format!("cannot look at process {pid}: {error}")))?;
    let all = threads::list(pid).unwrap_or_default();
    let cpu_cores = cores(&before, &cpu_times(pid), start.elapsed());
    if born.is_none_or(|born| proc::is_over(pid, born)) && look.threads.is_empty() {
        return Err(self::gone(pid));
    }
    if proc::times(pid).is_some_and(|times| Some(times.born) != born) {
        return Err(Failure::failed(format!(
            "process {pid} has ended, and another one has its number"
        ))
        .hint(format!("{} ps lists Node's processes", invoked::name())));
    }
    let profile = name_threads(pid, &look, namer(pid, &records, &look));
    let suspended = look.suspended.as_ref().filter(|found| found.is_known);
    let awaiting = suspended.map(|found| Awaiting::name(pid, found, namer(pid, &records, &look)));
    let process = known.join().ok().flatten();
    let mut children = vec![pid];
    proc::add_children(&mut children);
    Ok(Dump {
        pid,
        name,
        command: process.as_ref().map(|process| process.command.clone()),
        node_version: process.as_ref().and_then(|process| process.node_version.clone()),
        container: process
            .as_ref()
            .and_then(|process| process.container.as_ref())
            .map(live::container_name),
        uptime_s: process.as_ref().map(|process| process.uptime_s),
        cpu_cores,
        children: children.len() - 1,
        threads: thread_stacks(pid, &all, &look, &profile),
        hints: hints(pid, &look, wants_awaiting),
        awaiting,
        took_s: start.elapsed().as_secs_f64(),
    })
}

fn gone(pid: u32) -> Failure {
    Failure::failed(format!("there is no process {pid}"))
        .hint(format!("{} ps lists Node's processes", invoked::name()))
}

fn refused(pid: u32, name: &str, error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::NotFound {
        return gone(pid);
    }
    let why = match proc::is_of_another_user(pid) {
        true => "it belongs to another user".to_owned(),
        false => format!("the kernel says: {error}"),
    };
    Failure::failed(format!("you may not look into {name} (pid {pid}): {why}")).hint(format!(
        "run nodescope as that user, or with sudo: {} dump {pid}",
        invoked::with_sudo()
    ))
}

/// Why the threads of a process may not be sampled, and what to type.
pub(crate) fn explain(error: &AttachError, pid: u32, name: &str) -> live::Hint {
    let (again, is_anothers) = (format!("dump {pid}"), proc::is_of_another_user(pid));
    match advice::explain(error, &Subject { name, again, is_anothers }) {
        Failure::Message { what, hint, .. } => live::Hint { what, hint: hint.unwrap_or_default() },
        Failure::BrokenPipe | Failure::Ended(_) => live::Hint::default(),
    }
}

fn hints(pid: u32, look: &Look, wants_awaiting: bool) -> Vec<Hint> {
    let hint = |hint: &live::Hint| Hint { what: hint.what.clone(), hint: hint.hint.clone() };
    let mut hints: Vec<Hint> = look.hints.iter().map(hint).collect();
    let is_hidden =
        |seen: &Seen| seen.why.as_deref().is_some_and(|why| why.contains("may not be read"));
    if look.threads.values().any(is_hidden) {
        hints.push(Hint {
            what: "you may not read the memory of this process: sleeping threads have no stack, and JavaScript no names"
                .into(),
            hint: format!("{} doctor {pid} tells why; with sudo: {} dump {pid}", invoked::name(), invoked::with_sudo()),
        });
    }
    // A process that has just ended is no bug.
    if let Some(cause) = look.crashes.first().filter(|_| threads::list(pid).is_ok()) {
        hints.push(Hint {
            what: format!("the part of nodescope that reads threads has crashed ({cause}): some stacks or names are missing"),
            hint: format!("this is a bug of nodescope, please report it; try again: {} dump {pid}", invoked::name()),
        });
    }
    if look.was_blocked {
        hints.push(Hint {
            what: "reading the memory of this process took too long, and was given up".into(),
            hint: format!("try again: {} dump {pid}", invoked::name()),
        });
    }
    if wants_awaiting && look.suspended.as_ref().is_none_or(|found| !found.is_known) {
        hints.push(Hint {
            what: "the async functions of this process could not be searched for: its V8 is not known, or may not be read"
                .into(),
            hint: format!("{} doctor {pid} tells why", invoked::name()),
        });
    }
    if let Some(program) = target::other_program(pid) {
        hints.push(Hint {
            what: not_node(pid, &program),
            hint: format!("{} ps lists the Node processes", invoked::name()),
        });
    }
    hints
}

fn cpu_times(pid: u32) -> BTreeMap<u32, u64> {
    let all = threads::list(pid).unwrap_or_default();
    all.iter().filter_map(|thread| Some((thread.tid, threads::cpu_ns(pid, thread.tid)?))).collect()
}

fn cores(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>, time: Duration) -> f64 {
    let used =
        after.iter().map(|(tid, now)| now.saturating_sub(before.get(tid).copied().unwrap_or(0)));
    used.sum::<u64>() as f64 / time.as_nanos().max(1) as f64
}

/// What can name the frames that were seen.
fn namer(pid: u32, records: &[u8], look: &Look) -> Namer {
    let mut sources = Sources::default();
    sources.roots.extend(proc::root(pid).map(|(root, _)| (pid, root)));
    sources.inner_pids.extend(proc::inner_pid(pid).map(|inner| (pid, inner)));
    sources.owners = owners::default_owners();
    sources.owners.add(pid, &owners::of_process(pid));
    let program = PathBuf::from(format!("/proc/{pid}/exe"));
    if let Ok(path) = fs::read_link(&program)
        && path.as_os_str().as_bytes().ends_with(b" (deleted)")
    {
        sources.kept.insert(path.as_os_str().as_bytes().to_vec(), program);
    }
    let mut namer = Namer::new(sources, "threads of a running process");
    let mut live = Live::default();
    live.take(records, &mut namer);
    // What V8 mapped meanwhile.
    live.take(&capture::describe(pid).unwrap_or_default(), &mut namer);
    for frame in look.frames.iter().filter_map(|frame| javascript::decode(&frame.bytes)) {
        namer.javascript(&frame);
    }
    for script in &look.scripts {
        namer.script(&ScriptPart::Name(&script.name));
        namer.script(&ScriptPart::MapUrl(&script.map_url));
        namer.script(&ScriptPart::Text(&script.text));
    }
    namer
}

/// Names the stacks of threads.
fn name_threads(pid: u32, look: &Look, mut namer: Namer) -> Profile {
    for seen in look.threads.values().filter(|seen| !seen.chain.is_empty()) {
        let awaits = seen.awaits();
        let awaits = awaits.as_ref().map(|(resumed, end, awaiters)| Awaits {
            resumed: *resumed,
            awaiters,
            end: *end,
            stands_for: None,
        });
        namer.sample(&Sample {
            event: 0,
            time_ns: 0,
            pid: Some(pid),
            tid: Some(seen.tid),
            cpu: None,
            period: 1,
            chain: &seen.addresses(),
            user_registers: None,
            user_stack: &[],
            user_stack_is_full: false,
            awaits,
        });
    }
    namer.finish()
}

fn thread_stacks(pid: u32, all: &[Thread], look: &Look, profile: &Profile) -> Vec<ThreadStack> {
    let lane = profile.lanes().first();
    let samples =
        lane.into_iter().flat_map(|lane| lane.samples.ids().map(|id| lane.samples.row(id)));
    let tid_of = |thread: ThreadId| profile.thread(thread).tid;
    let stacks: BTreeMap<u32, (ThreadId, StackId)> = samples
        .filter_map(|sample| Some((tid_of(sample.thread)?, (sample.thread, sample.stack))))
        .collect();
    let is_seen = |thread: &&Thread| look.threads.contains_key(&thread.tid);
    let thread = |thread: &Thread| {
        let stack = stacks.get(&thread.tid);
        let frames = stack.map_or_else(Vec::new, |(_, stack)| frame_rows(profile, *stack));
        let awaited_by = stack.map_or_else(Vec::new, |(_, stack)| awaiters(profile, *stack));
        let role = stack.map(|(thread, _)| profile.thread(*thread).role);
        let role = role.or_else(|| role_of_thread(&thread.name, Some(thread.tid == pid)));
        let seen = look.threads.get(&thread.tid);
        let stack = thread_stack(thread, role.unwrap_or(Role::Other), seen, frames);
        ThreadStack { awaited_by, ..stack }
    };
    all.iter().filter(is_seen).map(thread).collect()
}

fn thread_stack(
    thread: &Thread,
    role: Role,
    seen: Option<&Seen>,
    frames: Vec<FrameRow>,
) -> ThreadStack {
    let is_running = seen.is_some_and(|seen| seen.is_running);
    let state = match thread.letter {
        _ if is_running => State::Running,
        'T' | 't' => State::Stopped,
        'D' => State::Uninterruptible,
        'Z' | 'X' => State::Ended,
        _ => State::Sleeping,
    };
    let syscall = seen.and_then(|seen| seen.syscall);
    let name = |number: u32| {
        threads::syscall_name(number).map_or_else(|| format!("system call {number}"), str::to_owned)
    };
    let syscall = syscall.map(name);
    let waits = |start: &str| syscall.as_deref().is_some_and(|name| name.starts_with(start));
    let has = |name: &str| frames.iter().any(|frame| frame.function.contains(name));
    let waits_for_work = match role {
        Role::MainLoop | Role::Worker => waits("epoll_"),
        Role::LibuvPool | Role::V8Platform => waits("futex") || waits("epoll_"),
        Role::Other => waits("futex") && has(INSPECTOR_STARTER),
    };
    let is_idle =
        state == State::Sleeping && waits_for_work && !frames.iter().any(FrameRow::is_javascript);
    ThreadStack {
        tid: thread.tid,
        name: thread.name.clone(),
        role: role.word(),
        state,
        syscall,
        is_idle,
        why: seen.and_then(|seen| seen.why.clone()),
        is_whole: frames
            .last()
            .is_some_and(|frame| FIRST_FUNCTIONS.contains(&frame.function.as_str())),
        frames,
        awaited_by: Vec::new(),
    }
}

/// The functions that await a stack, the innermost first: in its logical form, what stands above the first await.
fn awaiters(profile: &Profile, stack: StackId) -> Vec<FrameRow> {
    let logical = profile.ancestry(profile.logical(stack));
    let mut rest = logical.skip_while(|id| !profile.stacks().call[id.index()].is_await());
    rest.next();
    rest.map(|stack| frame_row(profile, stack)).collect()
}

/// The frames of a stack, the innermost first.
fn frame_rows(profile: &Profile, stack: StackId) -> Vec<FrameRow> {
    let mut rows: Vec<FrameRow> =
        profile.ancestry(stack).map(|stack| frame_row(profile, stack)).collect();
    for at in 0..rows.len().saturating_sub(1) {
        let is_regexp = rows[at].kind != Category::Regexp && runs_regexp(&rows[at + 1]);
        if is_regexp && rows[at].function == naming::GENERATED {
            rows[at].function = "[regexp]".to_owned();
            rows[at].kind = Category::Regexp;
            rows[at].category = Category::Regexp.word();
        }
    }
    rows
}

/// Whether what has no name and is called from here is a regular expression.
fn runs_regexp(caller: &FrameRow) -> bool {
    caller.builtin && caller.function.contains("RegExp")
        || caller.function.contains("NativeRegExpMacroAssembler")
}

fn frame_row(profile: &Profile, stack: StackId) -> FrameRow {
    let frame = profile.frames().row(profile.stacks().frame[stack.index()]);
    let function = profile.functions().row(frame.function);
    FrameRow {
        function: profile.text(function.name).to_owned(),
        source: profile.source_path(function.source).map(str::to_owned),
        line: frame.line,
        column: frame.column,
        defined_line: function.line,
        defined_column: function.column,
        category: frame.category.word(),
        tier: frame.tier.is_javascript().then(|| frame.tier.word()),
        inlined: frame.inlined,
        module: profile.module_name(function.module).map(str::to_owned),
        builtin: profile.text(frame.symbol).starts_with("Builtins_"),
        kind: frame.category,
    }
}
