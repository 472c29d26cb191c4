//! Which of the mapped files hold V8, and where everything stands in its objects.

use std::ops::Range;

use elf::{Elf, Segments};
use rustc_hash::FxHashMap;
use v8::layout::{BYTECODE_SIZES_SYMBOL, is_asked_for};
use v8::{Layout, REACTION_JOBS};

use crate::images::{self, Image};
use crate::places::Place;
use crate::unwind::Moment;

/// How often we try to open a file.
const MOST_TRIES: u32 = 10;

/// The files that were looked at, by module.
#[derive(Default)]
pub(crate) struct Engines {
    by_module: FxHashMap<u32, Option<Engine>>,
    /// How often a file could not be opened: that may be for a moment.
    failed: FxHashMap<u32, u32>,
    /// Sentences about engines that are not known.
    pub(crate) refused: Vec<String>,
}

/// A file with a V8.
struct Engine {
    layout: Option<Layout>,
    /// Where the builtins are that call what was given to `then`, by the file's own addresses; none in a stripped file.
    jobs: Vec<Range<u64>>,
    segments: Segments,
}

impl Engines {
    /// The layout of the V8 in a process, where it has one that is known.
    pub(crate) fn layout(&mut self, moment: &Moment<'_>) -> Option<Layout> {
        let mut modules: Vec<u32> = moment
            .process
            .mappings()
            .filter_map(|(_, _, id)| match moment.place(id) {
                Place::File { module, executable: true, .. } => Some(module),
                _ => None,
            })
            .collect();
        modules.sort_unstable();
        modules.dedup();
        for module in modules {
            self.look_into(moment, module);
            if let Some(engine) = self.by_module.get(&module).and_then(Option::as_ref) {
                return engine.layout.clone();
            }
        }
        None
    }

    /// Whether a file holds a V8, among those that were looked at.
    pub(crate) fn is_engine(&self, module: u32) -> bool {
        self.by_module.get(&module).is_some_and(Option::is_some)
    }

    /// Whether the file that is mapped at an address has symbols for its reaction jobs ([`REACTION_JOBS`]); and, if it
    /// does, whether one of them stands there.
    pub(crate) fn is_reaction_job(&self, moment: &Moment<'_>, address: u64) -> Option<bool> {
        let place = moment.process.find(address).map(|id| moment.place(id))?;
        let Place::File { module, bias, .. } = place else { return None };
        let engine =
            self.by_module.get(&module)?.as_ref().filter(|known| !known.jobs.is_empty())?;
        let own = engine.segments.address_of(address.wrapping_add(bias))?;
        Some(engine.jobs.iter().any(|job| job.contains(&own)))
    }

    /// Looks into a file, unless that was done, or has failed too often.
    fn look_into(&mut self, moment: &Moment<'_>, row: u32) {
        if self.by_module.contains_key(&row) {
            return;
        }
        let engine = match images::find_module(moment.sources, &moment.modules.rows[row as usize]) {
            Ok(file) => file.and_then(|file| self.read(&file)),
            Err(_) => {
                let failed = self.failed.entry(row).or_default();
                *failed += 1;
                if *failed < MOST_TRIES {
                    return;
                }
                None
            }
        };
        self.by_module.insert(row, engine);
    }

    fn read(&mut self, file: &Image) -> Option<Engine> {
        let image = Elf::parse(file).ok()?;
        let variables = image.variables(is_asked_for);
        let layout = Layout::of_binary(&|name| variables.number(name).map(i64::from))?;
        let refuse = |error| {
            self.refused
                .push(format!("{error}; native code has names, JavaScript only from a perf map"));
        };
        let layout = layout.map_err(refuse);
        let sizes = image.variable(BYTECODE_SIZES_SYMBOL);
        let sizes = sizes.bytes(BYTECODE_SIZES_SYMBOL).unwrap_or_default();
        let layout = layout.ok().map(|layout| layout.with_bytecode_sizes(sizes));
        let jobs = image.ranges_of_functions(&REACTION_JOBS);
        Some(Engine { layout, jobs, segments: image.segments().clone() })
    }
}
