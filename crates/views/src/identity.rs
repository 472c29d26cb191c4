//! Which process a recording is of, in a few words: for titles, and for the report.

use profile::classify::is_launcher;
use profile::{Process, ProcessId, Profile, StringId};
use serde::Serialize;

/// A process, as people know it.
#[derive(Debug, Serialize)]
pub struct ProcessRow {
    /// Its process id.
    pub pid: Option<u32>,
    /// The name of its main thread, or a better one.
    pub name: Option<String>,
    /// The name in its package.json, or pm2's.
    pub app: Option<String>,
    /// Its command line without the values of arguments.
    pub command: Option<String>,
    /// Its working directory.
    pub folder: Option<String>,
    /// The TCP ports that it listens on.
    pub ports: Vec<u16>,
    /// Its container or pod.
    pub container: Option<String>,
    /// The version of its Node.
    pub node_version: Option<String>,
    /// The CPU limit, in CPUs.
    pub cpu_limit: Option<f64>,
    /// Whether it only started others, as npm does.
    pub is_launcher: bool,
    /// Its samples in the main lane.
    pub samples: u64,
}

/// The processes of a recording: what it is about first, launchers last.
pub fn processes(profile: &Profile) -> Vec<ProcessRow> {
    let mut samples = vec![0u64; profile.processes().len()];
    if let Some(lane) = profile.lanes().first() {
        for (row, thread) in lane.samples.thread.iter().enumerate() {
            let process = profile.thread(*thread).process;
            samples[process.index()] =
                samples[process.index()].saturating_add(lane.samples_in_row(row));
        }
    }
    let ids = (0..samples.len()).map(ProcessId::from_index);
    let described =
        ids.zip(samples).map(|(id, samples)| ProcessRow { samples, ..row(profile, id) });
    let mut rows: Vec<ProcessRow> = described.collect();
    rows.sort_by_key(|row| {
        let is_known = row.command.is_some() || row.node_version.is_some();
        (row.is_launcher, !is_known, std::cmp::Reverse(row.samples))
    });
    rows
}

/// What is known of a process, but for its samples.
pub fn row(profile: &Profile, id: ProcessId) -> ProcessRow {
    let process = profile.process(id);
    let text = |id: StringId| id.some().map(|id| profile.text(id).to_owned());
    ProcessRow {
        pid: process.pid,
        name: text(process.name),
        app: text(process.app),
        command: text(process.command),
        folder: text(process.folder),
        ports: process.ports.clone(),
        container: text(process.container),
        node_version: text(process.node_version),
        cpu_limit: process.cpu_limit_millis.map(|millis| f64::from(millis) / 1e3),
        is_launcher: is_launching(profile, process),
        samples: 0,
    }
}

/// The processes that only started the others; none where there are no others.
pub fn launchers(profile: &Profile) -> Vec<ProcessId> {
    let is_other =
        |process: &Process| process.command.some().is_some() && !is_launching(profile, process);
    if !profile.processes().iter().any(is_other) {
        return Vec::new();
    }
    let rows = profile.processes().iter().enumerate();
    let launching = rows.filter(|(_, process)| is_launching(profile, process));
    launching.map(|(row, _)| ProcessId::from_index(row)).collect()
}

fn is_launching(profile: &Profile, process: &Process) -> bool {
    process.command.some().is_some_and(|command| is_launcher(profile.text(command)))
}

/// `shop · pid 4140`, or what else is known; `None` where nothing is.
pub fn title(profile: &Profile) -> Option<String> {
    let first = processes(profile).into_iter().next();
    let named = first.and_then(|process| {
        let name = process.app.or(process.command)?;
        Some(process.pid.map_or_else(|| name.clone(), |pid| format!("{name} · pid {pid}")))
    });
    named.or_else(|| profile.meta().command.clone()).or_else(|| profile.meta().host.clone())
}
