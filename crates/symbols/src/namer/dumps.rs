//! Jitdumps, as a recording names them: each is read when a process maps it, and again while it grows.

use std::time::Instant;

use trace::Sink;

use super::Namer;
use crate::code_names::CodeNames;
use crate::files::path_of;
use crate::jitdump::{self, Change, Jitdump};
use crate::sources::given_for;
use crate::timeline::{CodeChange, CodeEvent, Timeline};

/// What a jitdump contains, as far as there is room for it.
struct DumpedEvents<'a> {
    names: &'a mut CodeNames,
    rows: Vec<CodeEvent>,
    left_out: u64,
}

/// While a recording grows, reading jitdumps takes at most one part in this many of the time.
const DUMP_PART: u32 = 50;

/// More pieces of code than large programs have in days.
const MOST_CODE_EVENTS: usize = 3 << 20;

impl DumpedEvents<'_> {
    fn add(&mut self, time_ns: u64, change: Change<'_>) {
        if self.rows.len() >= MOST_CODE_EVENTS {
            self.left_out += 1;
            return;
        }
        let change = match change {
            Change::Move { from, to, size } => CodeChange::Move { from, to, size },
            Change::Load { start, size, name } => {
                let Some(code) = self.names.id(&name) else {
                    self.left_out += 1;
                    return;
                };
                CodeChange::Load { start, size, code }
            }
        };
        self.rows.push(CodeEvent { time_ns, change });
    }
}

impl Namer {
    /// Reads the jitdumps again that have grown meanwhile, as often as that costs little.
    pub(crate) fn refresh_dumps(&mut self) {
        let start = Instant::now();
        let is_due = |(_, (_, next)): &(&u32, &(Vec<u8>, Instant))| *next <= start;
        let due: Vec<u32> = self.dumps.iter().filter(is_due).map(|(process, _)| *process).collect();
        for process in due {
            let Some((path, _)) = self.dumps.remove(&process) else { continue };
            let start = Instant::now();
            self.read_dump(process, &path);
            self.dumps.insert(process, (path, start + start.elapsed() * DUMP_PART));
        }
    }

    pub(super) fn read_dump(&mut self, process: u32, path: &[u8]) {
        let pid = self.world.processes.get(process).pid;
        let given = given_for(&self.world.sources.jitdumps, pid).next().cloned();
        let (files, root) = (&self.world.sources.files, self.world.sources.root_of(pid));
        let opened = match &given {
            Some(path) => files.open(None, path),
            None => {
                let path = path_of(path);
                let inside = root.and_then(|root| files.open(Some(root), &path).ok());
                inside.map_or_else(|| files.open(None, &path), Ok)
            }
        };
        if given.is_none()
            && let Ok(dump) = &opened
            && let Err(stranger) = self.world.sources.owners.check(pid, dump.as_ref())
        {
            return self
                .note(stranger.sentence(&format!("the jitdump {}", path_of(path).display())));
        }
        let mut events = DumpedEvents { names: &mut self.codes, rows: Vec::new(), left_out: 0 };
        let dump = opened
            .and_then(|file| jitdump::read(file, |time_ns, change| events.add(time_ns, change)));
        let DumpedEvents { rows, left_out, .. } = events;
        match dump {
            Ok(dump) => self.take_dump(process, &dump, rows, left_out),
            Err(error) => {
                let path = given.unwrap_or_else(|| path_of(path));
                self.damage(format!("the jitdump {} cannot be read: {error}", path.display()));
            }
        }
    }

    fn take_dump(
        &mut self,
        process: u32,
        dump: &Jitdump,
        mut events: Vec<CodeEvent>,
        left_out: u64,
    ) {
        if dump.foreign_clock {
            self.damage(
                "a jitdump counts time in processor ticks, so the last code at an address counts"
                    .into(),
            );
            events.iter_mut().for_each(|event| event.time_ns = 0);
        }
        if left_out > 0 {
            let read = events.len();
            self.damage(format!("names of generated code beyond {read} were left out: {left_out}"));
        }
        // Several threads compile, and they write in turn.
        if !events.is_sorted_by_key(|event| event.time_ns) {
            events.sort_by_key(|event| event.time_ns);
        }
        self.world.processes.get(process).timeline = Some(Timeline::new(events));
    }
}
