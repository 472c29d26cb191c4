//! Which events there are beside the clock, by the names that perf gives them.

use std::fs;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use thiserror::Error;

/// What kind of event the kernel takes a number for.
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;

/// The kernel's software events, and whether they happen in the kernel itself: a user who may not see the kernel
/// gets none of those.
const SOFTWARE_EVENTS: &[(&str, u64, bool)] = &[
    ("task-clock", 1, false),
    ("page-faults", 2, false),
    ("context-switches", 3, true),
    ("cpu-migrations", 4, true),
    ("minor-faults", 5, false),
    ("major-faults", 6, false),
    ("alignment-faults", 7, false),
    ("emulation-faults", 8, false),
];

/// What processors count themselves, though few virtual ones do.
const HARDWARE_EVENTS: &[(&str, u64)] = &[
    ("cycles", 0),
    ("instructions", 1),
    ("cache-references", 2),
    ("cache-misses", 3),
    ("branches", 4),
    ("branch-misses", 5),
];

/// Other names of the same.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("faults", "page-faults"),
    ("cs", "context-switches"),
    ("migrations", "cpu-migrations"),
    ("cpu-cycles", "cycles"),
];

/// Where the kernel describes its trace events.
const TRACE_FOLDERS: &[&str] = &["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// An event that is sampled beside the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraEvent {
    /// What people call it.
    pub name: String,
    pub(crate) kind: u32,
    pub(crate) config: u64,
    pub(crate) in_kernel: bool,
}

/// Why an event cannot be sampled.
#[derive(Debug, Error)]
pub enum EventError {
    /// No such event is known.
    #[error("there is no event {0}")]
    Unknown(String),
    /// Its number cannot be read.
    #[error("the trace event {0} cannot be looked up: {1}")]
    NoTracing(String, io::Error),
}

impl ExtraEvent {
    /// The event of a name: `page-faults`, `context-switches`, `sched:sched_switch`.
    pub fn named(name: &str) -> Result<Self, EventError> {
        let long =
            SHORT_NAMES.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| long);
        if let Some((_, config, in_kernel)) =
            SOFTWARE_EVENTS.iter().find(|(known, ..)| *known == long)
        {
            let (config, in_kernel) = (*config, *in_kernel);
            return Ok(Self { name: long.to_owned(), kind: SOFTWARE, config, in_kernel });
        }
        if let Some((_, config)) = HARDWARE_EVENTS.iter().find(|(known, _)| *known == long) {
            return Ok(Self {
                name: long.to_owned(),
                kind: HARDWARE,
                config: *config,
                in_kernel: false,
            });
        }
        let is_word = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        match name.split_once(':') {
            Some((system, event)) if is_word(system) && is_word(event) => {
                let config = trace_event(name, system, event)?;
                Ok(Self { name: name.to_owned(), kind: TRACEPOINT, config, in_kernel: true })
            }
            _ => Err(EventError::Unknown(name.to_owned())),
        }
    }

    /// The names that need no permission, for messages.
    pub fn known() -> impl Iterator<Item = &'static str> {
        SOFTWARE_EVENTS
            .iter()
            .map(|(name, ..)| *name)
            .chain(HARDWARE_EVENTS.iter().map(|(name, _)| *name))
    }

    pub(crate) fn is_tracepoint(&self) -> bool {
        self.kind == TRACEPOINT
    }
}

/// The number of a trace event, from where its file system is mounted, or from one that we mount for ourselves.
fn trace_event(name: &str, system: &str, event: &str) -> Result<u64, EventError> {
    let file = format!("events/{system}/{event}/id");
    let mounted =
        TRACE_FOLDERS.iter().map(PathBuf::from).find(|folder| folder.join("events").is_dir());
    let text = match mounted {
        Some(folder) => fs::read_to_string(folder.join(file)),
        None => read_unmounted(&file),
    };
    let text = text.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => EventError::Unknown(name.to_owned()),
        _ => EventError::NoTracing(name.to_owned(), error),
    })?;
    text.trim().parse().map_err(|_| EventError::Unknown(name.to_owned()))
}

fn read_unmounted(file: &str) -> io::Result<String> {
    let folder = sys::files::open_trace_events()?;
    let mut text = String::new();
    let path = format!("/proc/self/fd/{}/{file}", folder.as_raw_fd());
    fs::File::open(path)?.take(64).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_events() {
        let faults = ExtraEvent::named("faults").expect("it is known");
        assert_eq!(
            (faults.name.as_str(), faults.kind, faults.config),
            ("page-faults", SOFTWARE, 2)
        );
        let cycles = ExtraEvent::named("cpu-cycles").expect("it is known");
        assert_eq!((cycles.name.as_str(), cycles.kind, cycles.config), ("cycles", HARDWARE, 0));
        for name in ["", "cycle", "sched:", ":x", "sched:../../id", "a:b:c"] {
            assert!(matches!(ExtraEvent::named(name), Err(EventError::Unknown(_))), "{name}");
        }
    }
}
