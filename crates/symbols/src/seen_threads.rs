//! The threads that were seen, and their processes: a recording of a whole machine names many that never ran. What is
//! known of them changes while a recording grows.

use naming::add;
use profile::{Builder, Process, ProcessId, Role, StringId, Thread, ThreadId};
use rustc_hash::FxHashMap;

use crate::namer::Namer;
use crate::threads::NamedThread;

/// See the module's text.
#[derive(Default)]
pub(crate) struct SeenThreads {
    /// By the rows of the recording.
    ids: Vec<Option<ThreadId>>,
    /// A row of each thread that was seen.
    seen: Vec<(u32, ThreadId)>,
    processes: FxHashMap<Option<u32>, ProcessId>,
    /// The CPU limits of processes.
    pub(crate) limits: FxHashMap<u32, u32>,
}

impl SeenThreads {
    /// The thread of a row.
    pub(crate) fn id(&mut self, builder: &mut Builder, namer: &Namer, row: u32) -> ThreadId {
        if let Some(id) = self.ids.get(row as usize).copied().flatten() {
            return id;
        }
        self.ids.resize(namer.threads.rows.len(), None);
        let rows = rows_of(namer, row);
        let known = rows.iter().find_map(|row| self.ids[*row as usize]);
        let id = known.unwrap_or_else(|| {
            let id = self.add(builder, namer, &rows);
            self.seen.push((row, id));
            id
        });
        rows.iter().for_each(|row| self.ids[*row as usize] = Some(id));
        id
    }

    fn add(&mut self, builder: &mut Builder, namer: &Namer, rows: &[u32]) -> ThreadId {
        let (NamedThread { pid, tid, name }, role) = as_named(namer, rows);
        let process = self.process(builder, namer, pid);
        let name = builder.string(&String::from_utf8_lossy(&name));
        builder.thread(Thread { process, tid, name, role: role.unwrap_or(Role::Other) })
    }

    /// The process of a pid, with all that is known of it.
    pub(crate) fn process(
        &mut self,
        builder: &mut Builder,
        namer: &Namer,
        pid: Option<u32>,
    ) -> ProcessId {
        if let Some(id) = self.processes.get(&pid) {
            return *id;
        }
        let row = process_of(builder, namer, &self.limits, pid);
        let id = builder.process(row);
        self.processes.insert(pid, id);
        id
    }

    /// Brings everything to what is known now.
    pub(crate) fn refresh(&mut self, builder: &mut Builder, namer: &Namer) {
        for (pid, id) in &self.processes {
            let row = process_of(builder, namer, &self.limits, *pid);
            builder.change_process(*id, row);
        }
        for (row, id) in &self.seen {
            let (NamedThread { name, .. }, role) = as_named(namer, &rows_of(namer, *row));
            let name = builder.string(&String::from_utf8_lossy(&name));
            let known = builder.so_far().threads()[id.index()];
            builder.change_thread(*id, Thread { name, role: role.unwrap_or(known.role), ..known });
        }
    }
}

/// The rows of a thread under all of its names; in perf's recordings every name is a thread.
fn rows_of(namer: &Namer, row: u32) -> Vec<u32> {
    if namer.is_ours { namer.threads.rows_of_life(row) } else { vec![row] }
}

/// A thread under its last name, and what its names show about its role.
fn as_named(namer: &Namer, rows: &[u32]) -> (NamedThread, Option<Role>) {
    let all = rows.iter().rev().filter_map(|row| namer.threads.rows.get(*row as usize));
    let last = all.clone().next().cloned().unwrap_or(NamedThread {
        pid: None,
        tid: None,
        name: Vec::new(),
    });
    let names = all.map(|thread| String::from_utf8_lossy(&thread.name));
    let role = add::role_of_names(last.pid, last.tid, names);
    (last, role)
}

/// A process, with all that is known of it.
fn process_of(
    builder: &mut Builder,
    namer: &Namer,
    limits: &FxHashMap<u32, u32>,
    pid: Option<u32>,
) -> Process {
    let cpu_limit_millis = pid.and_then(|pid| limits.get(&pid).copied());
    let Some(facts) = pid.and_then(|pid| namer.facts.get(&pid)) else {
        return Process { pid, cpu_limit_millis, ..Process::default() };
    };
    let mut text = |text: &str| if text.is_empty() { StringId::NONE } else { builder.string(text) };
    Process {
        pid,
        inner_pid: facts.inner_pid,
        container: text(&facts.container),
        node_version: text(&facts.node_version),
        app: text(&facts.app),
        command: text(&facts.command),
        folder: text(&facts.folder),
        ports: facts.ports.clone(),
        cpu_limit_millis,
        parent_pid: facts.parent_pid,
        ..Process::default()
    }
}
