//! Which of the processes here is meant: a pid, a container, words of a command line, or the only one there is.

use std::fs;
use std::path::Path;
use std::time::Duration;

use regex::Regex;
use target::{Container, Places, Process, Role};

use crate::failure::Failure;
use crate::{cli, invoked};

/// How many processes a message lists.
const MOST_LISTED: usize = 10;

/// What the user typed to choose processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) target: Option<&'a str>,
    pub(crate) pid: &'a [u32],
    pub(crate) container: Option<&'a str>,
    pub(crate) matching: Option<&'a str>,
    /// Several may be meant; `None` where only one can be.
    pub(crate) all: Option<bool>,
}

impl<'a> From<&'a cli::Processes> for Wanted<'a> {
    fn from(processes: &'a cli::Processes) -> Self {
        Self {
            target: processes.target.as_deref(),
            pid: &processes.pid,
            container: processes.container.as_deref(),
            matching: processes.matching.as_deref(),
            all: Some(processes.all),
        }
    }
}

/// The pids that were meant: never none.
pub(crate) fn pids(wanted: Wanted<'_>) -> Result<Vec<u32>, Failure> {
    let typed = wanted.target.and_then(|target| target.parse().ok());
    let given: Vec<u32> = wanted.pid.iter().copied().chain(typed).collect();
    let is_narrowed = wanted.container.is_some() || wanted.matching.is_some();
    if !given.is_empty() && !is_narrowed {
        return Ok(given);
    }
    let pattern = wanted.matching.map(pattern).transpose()?;
    let list = target::list(&Places::without_ports(), Duration::ZERO)
        .map_err(|error| Failure::failed(format!("cannot read /proc: {error}")))?;
    let words = wanted.target.filter(|_| typed.is_none());
    let is_meant = |process: &Process| {
        let here = given.is_empty() || given.contains(&process.pid);
        here && wanted
            .container
            .is_none_or(|name| process.container.as_ref().is_some_and(|one| is_called(one, name)))
            && pattern.as_ref().is_none_or(|pattern| pattern.is_match(&process.command))
            && words.is_none_or(|words| is_described(process, words))
    };
    // npm and its like only wait for the process that is meant, unless they are named themselves.
    let is_tool = |process: &Process| matches!(process.role, Role::Tool { .. }) && words.is_none();
    let found: Vec<&Process> =
        list.processes.iter().filter(|process| is_meant(process) && !is_tool(process)).collect();
    settle(&nearest(found, words), wanted.all)
}

/// The one process that words or a pid mean.
pub(crate) fn one<'a>(list: &'a [Process], words: &str) -> Result<&'a Process, Failure> {
    let is_meant = |process: &&Process| match words.parse::<u32>() {
        Ok(pid) => process.pid == pid,
        Err(_) => is_described(process, words),
    };
    let found = nearest(list.iter().filter(is_meant).collect(), Some(words));
    let is_child = |process: &&&Process| found.iter().any(|other| other.pid == process.parent_pid);
    let roots: Vec<&&Process> = found.iter().filter(|process| !is_child(process)).collect();
    match roots[..] {
        [one] => Ok(one),
        [] => Err(words.parse().ok().and_then(not_node).unwrap_or_else(nothing)),
        _ => Err(several(&roots, "")),
    }
}

/// A process of another program, such as Bun, that was named by its pid.
fn not_node(pid: u32) -> Option<Failure> {
    let program = target::other_program(pid)?;
    Some(
        Failure::failed(format!("process {pid} is {program}, not Node"))
            .hint(format!("its native code can be sampled: {} record {pid}", invoked::name())),
    )
}

fn pattern(text: &str) -> Result<Regex, Failure> {
    Regex::new(text).map_err(|_| {
        Failure::usage(format!("--match {text} is not a regular expression"))
            .hint("--match 'server|worker'")
    })
}

fn is_called(container: &Container, name: &str) -> bool {
    let by_id = name.len() >= 4 && container.id.starts_with(name);
    by_id || container.name.as_deref() == Some(name) || container.pod.as_deref() == Some(name)
}

fn is_described(process: &Process, words: &str) -> bool {
    is_named(process, words)
        || process.command.contains(words)
        || process.script.as_ref().is_some_and(|script| script.contains(words))
}

/// Whether words are the whole name of the application, the script or the container.
fn is_named(process: &Process, words: &str) -> bool {
    let typed = fs::canonicalize(words).ok().filter(|path| path.is_file());
    let is_script =
        |script: &String| script == words || typed.as_deref() == Some(Path::new(script));
    process.app.as_deref() == Some(words)
        || process.script.as_ref().is_some_and(is_script)
        || process.container.as_ref().is_some_and(|one| is_called(one, words))
}

/// A whole name means only the processes of that name, though other command lines may contain it.
fn nearest<'a>(found: Vec<&'a Process>, words: Option<&str>) -> Vec<&'a Process> {
    let Some(words) = words else { return found };
    let named: Vec<&Process> =
        found.iter().copied().filter(|process| is_named(process, words)).collect();
    if named.is_empty() { found } else { named }
}

/// One process, or one with those that it started, which are followed; else all of them must be wanted.
fn settle(found: &[&Process], all: Option<bool>) -> Result<Vec<u32>, Failure> {
    let is_child = |process: &&&Process| found.iter().any(|other| other.pid == process.parent_pid);
    let roots: Vec<&&Process> = found.iter().filter(|process| !is_child(process)).collect();
    match roots[..] {
        [] => Err(nothing()),
        [one] => Ok(vec![one.pid]),
        _ if all == Some(true) => Ok(roots.iter().map(|process| process.pid).collect()),
        _ => Err(several(&roots, if all.is_some() { ", or --all" } else { "" })),
    }
}

fn nothing() -> Failure {
    Failure::failed("no Node process here matches")
        .hint(format!("{} ps lists them all", invoked::name()))
}

/// `4140 shop: node server.js in /srv/shop`, so that two can be distinguished.
fn described(process: &Process) -> String {
    let app = process.app.as_ref().map(|app| format!(" {app}:")).unwrap_or_default();
    let folder = process.folder.as_ref().map(|folder| format!(" in {folder}")).unwrap_or_default();
    format!("{}{app} {}{folder}", process.pid, process.short_command())
}

fn several(processes: &[&&Process], or: &str) -> Failure {
    let row = |process: &&&Process| described(process);
    let mut rows: Vec<String> = processes.iter().take(MOST_LISTED).map(row).collect();
    if processes.len() > MOST_LISTED {
        rows.push(format!("{} more", processes.len() - MOST_LISTED));
    }
    Failure::usage(format!("{} processes could be meant: {}", processes.len(), rows.join("; ")))
        .hint(format!("name one by its pid, such as {}{or}", processes[0].pid))
}
