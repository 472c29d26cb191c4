//! A dump for people: the process in a line, then a block for each thread, and one for threads that do the same. What
//! V8 and Node do between two functions of JavaScript is left out unless all frames are wanted.

use super::awaiting::{Above, Awaiting, Chain};
use super::{Dump, FrameRow, State, ThreadStack};
use crate::invoked;
use crate::ps::age;
use crate::style::Style;
use crate::text::{fit_end, fit_start, plural, printable, width, wrap};
use profile::{Category, Role};

/// Native frames that are shown where there is no JavaScript, or above it.
const MOST_NATIVE: usize = 10;

/// Builtins that only lead from one function to the next.
const GLUE: &[&str] = &[
    "JSEntry",
    "JSConstructEntry",
    "JSRunMicrotasksEntry",
    "JSEntryTrampoline",
    "JSConstructEntryTrampoline",
    "InterpreterEntryTrampoline",
    "InterpreterPushArgs",
    "BaselineOutOfLinePrologue",
    "BaselineOrInterpreterEnter",
    "Call_Receiver",
    "CallFunction_Receiver",
    "CallWithArrayLike",
    "Call",
    "ConstructFunction",
    "Construct",
    "JSBuiltinsConstructStub",
    "JSConstructStub",
    "ReflectApply",
    "FunctionPrototypeApply",
    "FunctionPrototypeCall",
    "CEntry",
    "HandleApiCall",
    "CallApiCallback",
    "AdaptorWithBuiltinExitFrame",
];

/// Chains of suspended functions that are shown.
const MOST_CHAINS: usize = 20;

/// What is shown beside what matters most.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// What V8 and Node do between two functions.
    pub(super) all_frames: bool,
    /// Functions that are suspended.
    pub(super) awaiting: bool,
}

/// The whole text.
pub(super) fn render(dump: &Dump, shown: Shown, style: &Style) -> String {
    let mut text = header(dump, style);
    for group in groups(&dump.threads, shown.all_frames) {
        text.push('\n');
        text.push_str(&block(&group, shown.all_frames, style));
    }
    if let Some(awaiting) = &dump.awaiting {
        text.push('\n');
        text.push_str(&awaiting_block(awaiting, shown.all_frames, style));
    } else if !shown.awaiting
        && dump.threads.iter().any(|thread| thread.is_idle && has_loop(thread))
    {
        let command = format!("{} dump {} --awaiting", invoked::name(), dump.pid);
        text.push_str(&style.dim(&format!("\nWhere its async functions wait: {command}")));
        text.push('\n');
    }
    text
}

/// Functions that are suspended, by place, with those that await them.
fn awaiting_block(awaiting: &Awaiting, all_frames: bool, style: &Style) -> String {
    let title = match awaiting.functions {
        0 => "no async function is suspended".to_owned(),
        1 => "1 async function is suspended".to_owned(),
        count => format!("{} are suspended", plural(u64::from(count), "async function")),
    };
    let mut text = format!("{}\n", style.bold(&title));
    for chain in awaiting.chains.iter().take(MOST_CHAINS) {
        text.push_str(&chain_lines(chain, all_frames, style));
    }
    let rest = awaiting.chains.iter().skip(MOST_CHAINS).map(|chain| u64::from(chain.count));
    if awaiting.chains.len() > MOST_CHAINS {
        let rest = format!("    … and {} at other places: --json", rest.sum::<u64>());
        text.push_str(&format!("{}\n", style.dim(&rest)));
    }
    if awaiting.is_cut {
        let searched = awaiting.searched_bytes >> 20;
        let cut = format!("    … there may be more: only {searched} MB of memory were searched");
        text.push_str(&format!("{}\n", style.dim(&cut)));
    }
    text
}

/// `3 × query (/srv/db.js:7:3)`, and what awaits it.
fn chain_lines(chain: &Chain, all_frames: bool, style: &Style) -> String {
    let mut text = String::new();
    for (at, frame) in chain.frames.iter().enumerate() {
        let line = frame_line(frame, all_frames, style);
        match at {
            0 => text.push_str(&format!("{:>6} × {}", chain.count, line.trim_start())),
            _ => text.push_str(&format!("       ▸ awaited by {}", line.trim_start())),
        }
    }
    let above = match chain.above {
        Above::Nothing => return text,
        Above::Several => "several functions",
        Above::More => "more functions, or these again",
        Above::Unknown => "what could not be read",
    };
    text.push_str(&style.dim(&format!("       ▸ awaited by {above}")));
    text.push('\n');
    text
}

fn header(dump: &Dump, style: &Style) -> String {
    let running = dump.threads.iter().filter(|thread| thread.state == State::Running).count();
    let mut parts = vec![format!("pid {}", dump.pid)];
    parts.extend(
        dump.node_version
            .as_ref()
            .map(|version| format!("Node {}", version.trim_start_matches('v'))),
    );
    parts.extend(dump.container.as_ref().map(|name| format!("container {name}")));
    parts.extend(dump.uptime_s.map(|seconds| format!("up {}", age(seconds))));
    parts.push(format!("{:.2} cores busy", dump.cpu_cores));
    parts.push(format!("{}, {running} running", plural(dump.threads.len() as u64, "thread")));
    match dump.children {
        0 => {}
        1 => parts.push("1 child process, not shown".to_owned()),
        count => parts.push(format!("{count} child processes, not shown")),
    }
    let command = printable(dump.command.as_ref().unwrap_or(&dump.name));
    let facts = wrap(&printable(&parts.join(" · ")), style.width);
    format!("{}\n{facts}\n", style.bold(&fit_end(&command, style.width)))
}

/// Threads that do the same stand together.
fn groups(threads: &[ThreadStack], all_frames: bool) -> Vec<Vec<&ThreadStack>> {
    let mut groups: Vec<Vec<&ThreadStack>> = Vec::new();
    let how = |thread: &ThreadStack| (thread.state, thread.syscall.clone(), thread.why.clone());
    let is_same = |a: &ThreadStack, b: &ThreadStack| {
        let idle = a.is_idle && b.is_idle && !all_frames && a.role != Role::Other.word();
        let same = a.name == b.name
            && a.frames == b.frames
            && a.awaited_by == b.awaited_by
            && how(a) == how(b);
        a.role == b.role && (idle || same)
    };
    for thread in threads {
        match groups.iter_mut().find(|group| is_same(group[0], thread)) {
            Some(group) => group.push(thread),
            None => groups.push(vec![thread]),
        }
    }
    // Threads that wait for work come last, except the main thread.
    if let Some((_, others)) = groups.split_first_mut() {
        others.sort_by_key(|group| group[0].is_idle);
    }
    groups
}

fn block(group: &[&ThreadStack], all_frames: bool, style: &Style) -> String {
    let thread = group[0];
    let tids: Vec<String> = group.iter().map(|thread| thread.tid.to_string()).collect();
    let title = title(group);
    let mut line =
        format!("{} · tid {} · {}", style.bold(&printable(&title)), tids.join(", "), state(thread));
    if let Some(why) = &thread.why {
        line.push_str(&format!(" · {}", printable(why)));
    }
    line.push('\n');
    if thread.is_idle && !all_frames {
        return line;
    }
    let shown = shown(&thread.frames, all_frames);
    for run in shown.chunk_by(|a, b| a == b) {
        let frame = frame_line(run[0], all_frames, style);
        match run.len() {
            1 => line.push_str(&frame),
            count => line.push_str(&format!("{} × {count}\n", frame.trim_end())),
        }
    }
    for frame in &thread.awaited_by {
        let text = frame_line(frame, all_frames, style);
        line.push_str(&format!("    ▸ awaited by {}", text.trim_start()));
    }
    let hidden = thread.frames.len() - shown.len();
    if hidden > 0 {
        let rest = format!(
            "    … {} of Node, V8 and the system: --all-frames",
            plural(hidden as u64, "more frame")
        );
        line.push_str(&style.dim(&rest));
        line.push('\n');
    }
    if !thread.is_whole && !thread.frames.is_empty() && thread.why.is_none() {
        line.push_str(&style.dim(
            "    … and what called these is not known: the stack could not be followed further",
        ));
        line.push('\n');
    }
    line
}

/// `main loop`, `4 threads: V8's threads`, `mailer`.
fn title(group: &[&ThreadStack]) -> String {
    let thread = group[0];
    let role = Role::from_word(thread.role).unwrap_or(Role::Other);
    let name = match role {
        Role::Other if thread.is_idle => "inspector's starter".to_owned(),
        Role::Other => thread.name.clone(),
        role => role.label().to_owned(),
    };
    if group.len() == 1 { name } else { format!("{} threads: {name}", group.len()) }
}

fn state(thread: &ThreadStack) -> String {
    let call = thread.syscall.as_deref().map(|call| format!(" in {call}")).unwrap_or_default();
    let calls = thread.frames.iter().any(FrameRow::is_javascript);
    match thread.state {
        State::Running => "running".to_owned(),
        State::Sleeping if thread.is_idle && has_loop(thread) => {
            "idle: waiting in its event loop".to_owned()
        }
        State::Sleeping if thread.is_idle => "idle: waiting for work".to_owned(),
        State::Sleeping if calls => format!("sleeping{call}: JavaScript waits for this call"),
        State::Sleeping => format!("sleeping{call}"),
        State::Uninterruptible => format!("sleeping{call}, not to be interrupted"),
        State::Stopped => format!("stopped{call}"),
        State::Ended => "has ended".to_owned(),
    }
}

fn has_loop(thread: &ThreadStack) -> bool {
    [Role::MainLoop, Role::Worker].iter().any(|role| role.word() == thread.role)
}

/// The frames that a reader needs: JavaScript, what it called last, and builtins that are functions of JavaScript.
fn shown(frames: &[FrameRow], all_frames: bool) -> Vec<&FrameRow> {
    if all_frames {
        return frames.iter().collect();
    }
    let Some(first) = frames.iter().position(FrameRow::is_javascript) else {
        return frames.iter().take(MOST_NATIVE).collect();
    };
    let innermost = frames[..first].iter().filter(|frame| !is_glue(frame));
    let innermost: Vec<&FrameRow> = innermost.collect();
    let kept = innermost.len().saturating_sub(MOST_NATIVE);
    let is_last = frames.iter().rposition(FrameRow::is_javascript).unwrap_or(0);
    let rest = frames[first..=is_last]
        .iter()
        .filter(|frame| frame.is_javascript() || frame.builtin && !is_glue(frame));
    // Nearest to JavaScript stands what it called; at the other end, what runs.
    let (half, native) = (MOST_NATIVE / 2, innermost.len());
    let is_near = |row: &usize| kept == 0 || *row < half || *row >= native - half;
    let near = (0..native).filter(is_near).map(|row| innermost[row]);
    near.chain(rest).collect()
}

fn is_glue(frame: &FrameRow) -> bool {
    // A short name begins others, too.
    let is_rest =
        |glue: &str, rest: &str| rest.is_empty() || rest.starts_with('_') || glue.len() > 6;
    let is_known =
        |glue: &&str| frame.function.strip_prefix(*glue).is_some_and(|rest| is_rest(glue, rest));
    frame.builtin && GLUE.iter().any(is_known)
}

/// The columns that a function may take: a line stays a line.
const LONGEST_NAME: usize = 240;

fn frame_line(frame: &FrameRow, all_frames: bool, style: &Style) -> String {
    let function = if all_frames || frame.is_javascript() {
        frame.function.clone()
    } else {
        short(&frame.function)
    };
    let function = fit_start(&printable(&function), LONGEST_NAME);
    let place = printable(&place(frame));
    let room = style.width.saturating_sub(4 + width(&function) + 3);
    let place =
        if place.is_empty() { place } else { format!(" ({})", fit_end(&place, room.max(16))) };
    let mark = match frame.kind {
        Category::Kernel => " [kernel]",
        _ if frame.builtin => " [builtin]",
        Category::Gc => " [GC]",
        _ if frame.inlined => " [inlined]",
        _ => "",
    };
    format!("    {}{}{}\n", style.category(frame.kind, &function), place, style.dim(mark))
}

/// `/srv/app.js:12:3`, or the file's name for native code.
fn place(frame: &FrameRow) -> String {
    match &frame.source {
        Some(source) if frame.line > 0 => format!("{source}:{}:{}", frame.line, frame.column),
        Some(source) if frame.defined_line > 0 => {
            format!("{source}, defined in line {}", frame.defined_line)
        }
        Some(source) => source.clone(),
        None if frame.is_javascript() || frame.builtin || frame.kind == Category::Kernel => {
            String::new()
        }
        None => {
            let module = frame.module.as_deref().unwrap_or_default();
            let file = module.rsplit('/').next().unwrap_or(module);
            let is_noise = frame.function.starts_with('[')
                || file.starts_with('[')
                || file.starts_with("perf-");
            if is_noise { String::new() } else { file.to_owned() }
        }
    }
}

/// A C++ name without its arguments, those of its templates, and what it returns.
fn short(name: &str) -> String {
    let (mut text, mut depth) = (String::new(), 0u32);
    let bare = name.replace("(anonymous namespace)", "{anonymous}");
    let mut letters = bare.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '<' | '(' if text.ends_with("operator") => {
                text.push(letter);
                if let Some(')') = letters.peek() {
                    text.extend(letters.next());
                }
            }
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => break,
            ' ' if depth == 0 && !text.ends_with("operator") => text.clear(),
            letter if depth == 0 => text.push(letter),
            _ => {}
        }
    }
    let text = text.replace("{anonymous}::", "");
    if text.is_empty() { name.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened() {
        for (long, expected) in [
            ("uv__io_poll", "uv__io_poll"),
            ("node::fs::Read(v8::FunctionCallbackInfo<v8::Value> const&)", "node::fs::Read"),
            ("void node::A<int, char>::run<(B)1>(int)", "node::A::run"),
            (
                "node::(anonymous namespace)::PlatformWorkerThread(void*)",
                "node::PlatformWorkerThread",
            ),
            ("v8::X::operator()(int) const", "v8::X::operator()"),
            ("(garbage", "(garbage"),
        ] {
            assert_eq!(short(long), expected);
        }
    }
}
