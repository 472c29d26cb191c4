//! Traces of Chrome and Node (`traceEvents`): the CPU profiles in them, a thread each. Everything else that a
//! trace holds (spans, counters, screenshots) is passed over. `node --cpu-prof --trace-event-categories
//! disabled-by-default-v8.cpu_profiler` writes one, and so does the Performance panel of DevTools.

mod event;

use std::io::Read;

use profile::{Budget, Builder, Process, Profile, Role, StringId, Thread, ThreadId, classify};
use rustc_hash::FxHashMap;

use crate::cpuprofile::{Added, RawProfile, add, settle_meta};
use crate::json::{self, outermost_keys};
use event::{Event, Kind};
use naming::finish::settle_quality;

/// Reads the profiles of a trace. A trace that was cut off (the process was killed) shows what it has.
pub fn read(input: impl Read, budget: &Budget) -> Profile {
    let (text, broken) = json::read_text(input, budget);
    let text = text.trim_start_matches('\u{feff}');
    let mut builder = Builder::within(budget);
    builder.meta().format = "Chrome trace".into();
    let (mut events, damage) = event::read(text, budget);
    builder.meta().losses.damage.extend(broken.or(damage));
    // Buffers of several threads are written one after the other.
    events.sort_by(|one, two| one.time.0.total_cmp(&two.time.0));
    let names = Names::of(&events);
    let mut recorded = profiles(&events, &mut builder);
    leave_out_doubles(&mut recorded, &mut builder);
    let is_single = recorded.len() == 1;
    let mut added: Vec<Added> = Vec::new();
    for profile in &recorded {
        let thread = names.thread(profile, is_single, &mut builder);
        added.push(add(&profile.raw, thread, &mut builder));
    }
    builder.meta().node_version = names.node_version();
    settle_meta(&added, &mut builder);
    settle_quality(&mut builder);
    builder.finish()
}

/// Whether a text starts like a trace: an object with `traceEvents`, or a bare list of events.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    let start =
        first_bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first_bytes).trim_ascii_start();
    let keys = outermost_keys(start);
    let has = |key: &str| keys.contains(&key.as_bytes());
    match start.first() {
        Some(b'[') => has("ph") && (has("ts") || has("pid")),
        // DevTools puts what it knows of the machine in front.
        Some(b'{') => {
            let contains = |word: &str| memchr::memmem::find(start, word.as_bytes()).is_some();
            has("traceEvents") || has("metadata") && contains("\"DevTools\"")
        }
        _ => false,
    }
}

/// A profile and whose it is.
struct Recorded<'a> {
    pid: Option<u32>,
    tid: Option<u32>,
    raw: RawProfile<'a>,
}

/// Joins the chunks of each profile. The event that begins it stands on the thread that is watched; its
/// chunks come from the profiler's own thread.
fn profiles<'a>(events: &[Event<'a>], builder: &mut Builder) -> Vec<Recorded<'a>> {
    let mut recorded: Vec<Recorded<'a>> = Vec::new();
    let mut rows: FxHashMap<(Option<u32>, &str), usize> = FxHashMap::default();
    let is_profile =
        |event: &&Event<'a>| matches!(event.kind, Kind::Profile | Kind::Chunk | Kind::Whole);
    for event in events.iter().filter(is_profile) {
        let (pid, tid) = (event.process.as_u32(), event.thread.as_u32());
        let row = *rows.entry((pid, event.id)).or_insert_with(|| {
            recorded.push(Recorded { pid, tid, raw: RawProfile::within(builder.budget()) });
            recorded.len() - 1
        });
        if event.kind == Kind::Profile {
            recorded[row].tid = tid;
        }
        if let Some(sentence) = event::read_chunk(event, &mut recorded[row].raw) {
            builder.meta().losses.damage.push(sentence);
        }
    }
    recorded.retain(|profile| !profile.raw.samples.is_empty());
    recorded
}

/// Two profilers may watch one thread at once (`--cpu-prof` and the trace's own): its time counts once.
fn leave_out_doubles(recorded: &mut Vec<Recorded<'_>>, builder: &mut Builder) {
    recorded.sort_by_key(|profile| std::cmp::Reverse(profile.raw.samples.len()));
    let mut kept: Vec<(Option<u32>, Option<u32>, f64, f64)> = Vec::new();
    recorded.retain(|profile| {
        let Recorded { pid, tid, raw } = profile;
        let start = raw.start.unwrap_or(0.0);
        let end = raw.end.unwrap_or_else(|| start + raw.time_deltas.iter().sum::<f64>());
        let is_double =
            kept.iter().any(|other| (other.0, other.1) == (*pid, *tid) && start < other.3 && other.2 < end);
        if is_double {
            let number = tid.map_or("?".to_owned(), |tid| tid.to_string());
            builder.meta().losses.damage.push(format!(
                "two profilers watched thread {number} at once: the one with fewer samples ({}) is left out",
                raw.samples.len()
            ));
        } else {
            kept.push((*pid, *tid, start, end));
        }
        !is_double
    });
    recorded.sort_by_key(|profile| (profile.pid, profile.tid));
}

/// What the trace calls its processes and threads.
#[derive(Default)]
struct Names {
    processes: FxHashMap<Option<u32>, String>,
    threads: FxHashMap<(Option<u32>, Option<u32>), String>,
    node_versions: FxHashMap<Option<u32>, String>,
}

impl Names {
    fn of(events: &[Event<'_>]) -> Self {
        let mut names = Self::default();
        for event in events {
            let (pid, tid) = (event.process.as_u32(), event.thread.as_u32());
            let Some(name) = event::read_name(event) else { continue };
            match event.kind {
                Kind::ThreadName => drop(names.threads.insert((pid, tid), name)),
                Kind::ProcessName => drop(names.processes.insert(pid, name)),
                Kind::Version => drop(names.node_versions.insert(pid, name)),
                Kind::Profile | Kind::Chunk | Kind::Whole => {}
            }
        }
        names
    }

    /// Node's version, where all processes share it.
    fn node_version(&self) -> Option<String> {
        let mut versions = self.node_versions.values();
        let first = versions.next()?;
        versions.all(|version| version == first).then(|| first.clone())
    }

    fn thread(&self, profile: &Recorded<'_>, is_single: bool, builder: &mut Builder) -> ThreadId {
        let Recorded { pid, tid, .. } = *profile;
        let process = Process {
            pid,
            name: builder.optional_string(self.processes.get(&pid).map(String::as_str)),
            container: StringId::NONE,
            node_version: builder.optional_string(self.node_versions.get(&pid).map(String::as_str)),
            ..Process::default()
        };
        let name = self.threads.get(&(pid, tid)).map_or("", String::as_str);
        let known =
            || THREADS.iter().find(|(start, _)| name.starts_with(start)).map(|(_, role)| *role);
        let is_main = pid.zip(tid).map(|(pid, tid)| pid == tid);
        let by_position = match is_main {
            _ if is_single => Role::MainLoop,
            Some(true) => Role::MainLoop,
            _ => Role::Other,
        };
        let role =
            known().or_else(|| classify::role_of_thread(name, is_main)).unwrap_or(by_position);
        let thread =
            Thread { process: builder.process(process), tid, name: builder.string(name), role };
        builder.thread(thread)
    }
}

/// How the names of threads begin in traces: Node's, then Chrome's.
const THREADS: &[(&str, Role)] = &[
    ("JavaScriptMainThread", Role::MainLoop),
    ("[worker ", Role::Worker),
    ("CrRendererMain", Role::MainLoop),
    ("CrBrowserMain", Role::MainLoop),
    ("DedicatedWorker", Role::Worker),
    ("SharedWorker", Role::Worker),
    ("ServiceWorker", Role::Worker),
];

#[cfg(test)]
mod tests;
