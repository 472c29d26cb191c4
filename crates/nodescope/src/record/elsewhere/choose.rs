//! Which of the Node processes here is meant: a pid, words of a command line, or the only one there is. A pid need not
//! be in the list: its inspector shows what it is.

use ::target::Process as Listed;
use regex::Regex;

use crate::cli;
use crate::failure::Failure;
use crate::record::inspect::Process;

/// How many processes a message lists.
const MOST_LISTED: usize = 10;

/// What was meant.
pub(super) struct Chosen {
    /// What the first one is called.
    pub(super) name: String,
    /// Never none.
    pub(super) processes: Vec<Process>,
}

/// The processes that were meant.
pub(super) fn processes(arguments: &cli::Record) -> Result<Chosen, Failure> {
    let typed = arguments.processes.target.as_deref().and_then(|target| target.parse().ok());
    let pids: Vec<u32> = arguments.processes.pid.iter().copied().chain(typed).collect();
    let words = arguments.processes.target.as_deref().filter(|_| typed.is_none());
    let pattern = arguments.processes.matching.as_deref().map(pattern).transpose()?;
    let listed = ::target::list()
        .map_err(|error| Failure::failed(format!("cannot list the processes here: {error}")))?;
    if !pids.is_empty() && words.is_none() && pattern.is_none() {
        let known = listed.iter().find(|process| process.pid == pids[0]);
        let processes = pids.iter().map(|pid| by_pid(*pid, &listed)).collect();
        return Ok(Chosen { name: known.map_or("node", name).to_owned(), processes });
    }
    let is_meant = |process: &&Listed| {
        (pids.is_empty() || pids.contains(&process.pid))
            && words.is_none_or(|words| process.command.contains(words))
            && pattern.as_ref().is_none_or(|pattern| pattern.is_match(&process.command))
            && (words.is_some() || !profile::classify::is_launcher(&process.command))
    };
    let found: Vec<&Listed> = listed.iter().filter(is_meant).collect();
    match found[..] {
        [] => Err(Failure::failed("no Node process here matches").hint("name one by its pid")),
        [first, ref others @ ..] if others.is_empty() || arguments.processes.all => Ok(Chosen {
            name: name(first).to_owned(),
            processes: found.iter().map(|process| outside_of(process)).collect(),
        }),
        _ => Err(several(&found)),
    }
}

fn pattern(text: &str) -> Result<Regex, Failure> {
    Regex::new(text).map_err(|_| {
        Failure::usage(format!("--match {text} is not a regular expression"))
            .hint("--match 'server|worker'")
    })
}

fn by_pid(pid: u32, listed: &[Listed]) -> Process {
    let known = listed.iter().find(|process| process.pid == pid);
    known.map_or_else(|| Process { pid, inner_pid: pid, ..Process::default() }, outside_of)
}

fn outside_of(listed: &Listed) -> Process {
    Process {
        pid: listed.pid,
        inner_pid: listed.pid,
        command: Some(listed.command.clone()),
        ..Process::default()
    }
}

/// What the script is called, whichever way its folders are written.
fn name(process: &Listed) -> &str {
    let script = process.script.as_deref().unwrap_or("node");
    let name = script.rsplit(['/', '\\']).next().unwrap_or(script);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn several(found: &[&Listed]) -> Failure {
    let row = |process: &&Listed| format!("{} {}", process.pid, process.command);
    let mut rows: Vec<String> = found.iter().take(MOST_LISTED).map(row).collect();
    if found.len() > MOST_LISTED {
        rows.push(format!("{} more", found.len() - MOST_LISTED));
    }
    Failure::usage(format!("{} processes could be meant: {}", found.len(), rows.join("; ")))
        .hint(format!("name one by its pid, such as {}, or --all", found[0].pid))
}
