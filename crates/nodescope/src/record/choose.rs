//! Which of the processes here is meant: a pid, a container, words of a command line, or the only one there is.

use std::time::Duration;

use regex::Regex;
use target::{Container, Places, Process, Role};

use crate::cli;
use crate::failure::Failure;

/// How many processes a message lists.
const MOST_LISTED: usize = 10;

/// The pids that were meant: never none.
pub(super) fn pids(arguments: &cli::Record) -> Result<Vec<u32>, Failure> {
    let typed = arguments.target.as_deref().and_then(|target| target.parse().ok());
    let given: Vec<u32> = arguments.pid.iter().copied().chain(typed).collect();
    let is_narrowed = arguments.container.is_some() || arguments.matching.is_some();
    if !given.is_empty() && !is_narrowed {
        return Ok(given);
    }
    let pattern = arguments.matching.as_deref().map(pattern).transpose()?;
    let list = target::list(&Places::default(), Duration::ZERO)
        .map_err(|error| Failure::failed(format!("cannot read /proc: {error}")))?;
    let words = arguments.target.as_deref().filter(|_| typed.is_none());
    let is_meant = |process: &Process| {
        let here = given.is_empty() || given.contains(&process.pid);
        let container = arguments.container.as_deref();
        here && container
            .is_none_or(|name| process.container.as_ref().is_some_and(|one| is_called(one, name)))
            && pattern.as_ref().is_none_or(|pattern| pattern.is_match(&process.command))
            && words.is_none_or(|words| is_described(process, words))
    };
    // npm and its like only wait for the process that is meant, unless they are named themselves.
    let is_tool = |process: &Process| matches!(process.role, Role::Tool { .. }) && words.is_none();
    let found: Vec<&Process> =
        list.processes.iter().filter(|process| is_meant(process) && !is_tool(process)).collect();
    settle(&found, arguments)
}

/// The one process that words or a pid mean.
pub(crate) fn one<'a>(list: &'a [Process], words: &str) -> Result<&'a Process, Failure> {
    let is_meant = |process: &&Process| match words.parse::<u32>() {
        Ok(pid) => process.pid == pid,
        Err(_) => is_described(process, words),
    };
    let found: Vec<&Process> = list.iter().filter(is_meant).collect();
    let is_child = |process: &&&Process| found.iter().any(|other| other.pid == process.parent_pid);
    let roots: Vec<&&Process> = found.iter().filter(|process| !is_child(process)).collect();
    match roots[..] {
        [one] => Ok(one),
        [] => Err(nothing()),
        _ => Err(several(&roots)),
    }
}

fn pattern(text: &str) -> Result<Regex, Failure> {
    Regex::new(text).map_err(|_| {
        Failure::usage(format!("--match {text} is not a regular expression")).hint("--match 'server|worker'")
    })
}

fn is_called(container: &Container, name: &str) -> bool {
    let by_id = name.len() >= 4 && container.id.starts_with(name);
    by_id || container.name.as_deref() == Some(name) || container.pod.as_deref() == Some(name)
}

fn is_described(process: &Process, words: &str) -> bool {
    process.command.contains(words) || process.container.as_ref().is_some_and(|one| is_called(one, words))
}

/// One process, or one with those that it started, which are followed; else all of them must be wanted.
fn settle(found: &[&Process], arguments: &cli::Record) -> Result<Vec<u32>, Failure> {
    let is_child = |process: &&&Process| found.iter().any(|other| other.pid == process.parent_pid);
    let roots: Vec<&&Process> = found.iter().filter(|process| !is_child(process)).collect();
    match roots[..] {
        [] => Err(nothing()),
        [one] => Ok(vec![one.pid]),
        _ if arguments.all => Ok(roots.iter().map(|process| process.pid).collect()),
        _ => Err(several(&roots)),
    }
}

fn nothing() -> Failure {
    Failure::failed("no Node process here is like that").hint("nodescope ps lists them all")
}

fn several(processes: &[&&Process]) -> Failure {
    let row = |process: &&&Process| format!("{} {}", process.pid, process.command);
    let mut rows: Vec<String> = processes.iter().take(MOST_LISTED).map(row).collect();
    if processes.len() > MOST_LISTED {
        rows.push(format!("{} more", processes.len() - MOST_LISTED));
    }
    Failure::usage(format!("{} processes could be meant: {}", processes.len(), rows.join("; ")))
        .hint(format!("name one by its pid, such as {}, or --all", processes[0].pid))
}
