//! Recording by perf events: the kernel samples, and the process does not notice.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use capture::{AttachError, EventError, ExtraEvent, Options};
use live::{LONGEST_ROUND, Session, Targets, not_node};
use profile::{OwnNames, Profile};

use super::target::Target;
use crate::cli::{self, Rate};
use crate::failure::{Failure, alert, warn};
use crate::record::progress::{Progress, clear_line};
use crate::record::spool::Spool;
use crate::record::words::name_for;
use crate::record::{Output, Showing, complete, create_spool, is_plain, limit, read_back};
use crate::text::duration;
use crate::{advice, input, invoked};

/// Records by perf events.
pub(super) fn run(
    arguments: &cli::Record,
    mut target: Target,
    printed: Vec<String>,
    showing: &Showing,
) -> Result<(), Failure> {
    let limit = limit(arguments)?;
    let mut out = Output::new(arguments, || default_name(&target))?;
    out.printed.extend(printed);
    let options = options(arguments, &target)?;
    let most_in_memory = super::leave_room(target.pids())?;
    let (leaves_maps, own) = (arguments.maps.no_source_maps, arguments.own.names());
    let mut session = attach(&target, &options, leaves_maps, own)?;
    let mut spool = create_spool(arguments, &out, most_in_memory)?;
    sys::signals::catch_end().map_err(|error| Failure::failed(error.to_string()))?;
    print_start(&session, &target, arguments.frequency, limit);
    out.printed.extend(warn_if_not_node(&target));
    let begun = session.begin(targets(&target), || target.all_pids());
    begun.map_err(|error| explain(error, &target))?;
    target.let_go()?;
    let by_signal = sample(&mut session, &mut target, limit, &mut spool);
    target.end_of_recording(*by_signal.as_ref().unwrap_or(&false));
    // OUT is there before a message names it.
    if session.samples() > 0 && is_plain(arguments, &out) {
        spool.become_file(&out.path);
    }
    let completed = finish(arguments, &mut spool, &session, &target)
        .and_then(|profile| complete(&profile, arguments, &out, &mut spool, showing));
    target.status(completed.and(by_signal.map(drop)))
}

/// The file's name, where none was given.
fn default_name(target: &Target) -> PathBuf {
    name_for(target.name(), target.pids().first().copied().unwrap_or(0))
}

fn options(arguments: &cli::Record, target: &Target) -> Result<Options, Failure> {
    let event = |name: &String| ExtraEvent::named(name).map_err(|error| explain_event(&error));
    Ok(Options {
        frequency: arguments.frequency.base(),
        fast_frequency: arguments.frequency.fast(),
        on_exec: target.is_command(),
        children: !arguments.processes.no_children,
        events: arguments.event.iter().map(event).collect::<Result<_, _>>()?,
        stack_bytes: if arguments.no_heap || target.is_system() {
            0
        } else {
            stack_bytes(arguments.frequency.fast().unwrap_or(arguments.frequency.base()))
        },
    })
}

/// How much of a stack is copied: all of it that matters, as long as the rings can take it.
pub(crate) fn stack_bytes(frequency: u32) -> u32 {
    match frequency {
        0..=1000 => 48 << 10,
        1001..=4000 => 16 << 10,
        _ => 8 << 10,
    }
}

fn explain_event(error: &EventError) -> Failure {
    let hint = match error {
        EventError::Unknown(_) => {
            let known: Vec<&str> = ExtraEvent::known().collect();
            format!(
                "{}, or a trace event of the kernel such as sched:sched_switch",
                known.join(", ")
            )
        }
        EventError::NoTracing(..) => {
            "only root may record trace events: run nodescope with sudo".into()
        }
    };
    Failure::usage(error.to_string()).hint(hint)
}

pub(crate) fn targets(target: &Target) -> Targets<'_> {
    Targets { pids: target.pids(), is_system: target.is_system(), is_command: target.is_command() }
}

/// Opens the events, and makes sure that they are those of the process that was meant.
pub(crate) fn attach(
    target: &Target,
    options: &Options,
    leaves_maps: bool,
    own: OwnNames,
) -> Result<Session, Failure> {
    let session = Session::attach(targets(target), options, leaves_maps, own);
    let session = session.map_err(|error| explain(error, target))?;
    match target.pids().iter().find(|pid| target.is_another(**pid) && !target.is_system()) {
        None => Ok(session),
        Some(pid) => {
            Err(Failure::failed(format!("process {pid} has ended, and another one has its number"))
                .hint(format!("{} ps lists what runs here", invoked::name())))
        }
    }
}

/// Samples until the time is over, the target has ended or the user pressed Ctrl-C; whether it was that.
fn sample(
    session: &mut Session,
    target: &mut Target,
    limit: Option<Duration>,
    spool: &mut Spool,
) -> Result<bool, Failure> {
    let start = Instant::now();
    let mut progress = Progress::new(limit);
    loop {
        let by_signal = sys::signals::ended();
        let is_over = limit.is_some_and(|limit| start.elapsed() >= limit) || by_signal;
        let is_full = spool.is_full() || has_no_memory(session);
        let is_last = is_over || is_full || target.has_ended();
        let chunk = session.round(is_last).map_err(|error| Failure::failed(error.to_string()))?;
        spool.append(&chunk);
        progress.show(start.elapsed(), session.samples());
        if is_last {
            progress.clear();
            return Ok(by_signal);
        }
        let left = limit.map_or(LONGEST_ROUND, |limit| limit.saturating_sub(start.elapsed()));
        session.wait(left).map_err(|error| Failure::failed(error.to_string()))?;
    }
}

/// Whether the recording has more distinct stacks than memory: then it ends, prints that, and lists it in its losses.
fn has_no_memory(session: &mut Session) -> bool {
    if !session.is_full() {
        return false;
    }
    clear_line();
    alert(NO_MEMORY);
    session.note(NO_MEMORY);
    true
}

const NO_MEMORY: &str = "the recording ended early: it has more different stacks than fit into 256 MB of memory with all the rest";

/// What was recorded, read back as any recording is.
fn finish(
    arguments: &cli::Record,
    spool: &mut Spool,
    session: &Session,
    target: &Target,
) -> Result<Profile, Failure> {
    let profile = read_back(spool)?;
    if profile.lanes().iter().all(|lane| lane.samples.is_empty()) {
        spool.remove();
        return Err(Failure::failed(format!(
            "{} used no CPU meanwhile: there is nothing to show",
            target.name()
        ))
        .hint("put load on it, or wait longer: -d 2m"));
    }
    Ok(match arguments.texts.with_source {
        true => input::with_texts(profile, true, None, &session.roots()),
        false => profile,
    })
}

pub(crate) fn explain(error: AttachError, target: &Target) -> Failure {
    match error {
        AttachError::Denied(_) if target.is_system() => {
            Failure::failed("you may not sample the whole machine")
                .hint(format!("with sudo: {} record --system", invoked::with_sudo()))
        }
        error => advice::explain(&error, &target.subject()),
    }
}

/// Warns at once that a process is not Node, where that can be seen already.
pub(crate) fn warn_if_not_node(target: &Target) -> Option<String> {
    let pid = target.pids().first().filter(|_| !target.is_command() && !target.is_system())?;
    let sentence = not_node(*pid, &::target::other_program(*pid)?);
    warn(&sentence);
    Some(sentence)
}

fn print_start(session: &Session, target: &Target, rate: Rate, limit: Option<Duration>) {
    let time = limit.map_or_else(
        || "until it ends".to_owned(),
        |limit| format!("for {}", duration(limit.as_nanos() as u64)),
    );
    let kernel = match fs::metadata("/proc/self").map(|meta| meta.uid()) {
        _ if session.sees_kernel() => "",
        Ok(0) => ", without the kernel's time: root has no CAP_PERFMON here",
        _ => ", without the kernel's time: you are not root",
    };
    warn(&format!(
        "recording {} {time}, {}, by perf events{kernel}",
        target.describe(),
        rate.words(session.has_fast())
    ));
}
