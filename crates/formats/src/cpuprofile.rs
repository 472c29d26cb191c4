//! .cpuprofile: what V8's own profiler writes, from `node --cpu-prof`, Chrome DevTools and the inspector, in
//! today's form and in the older ones (a `head` tree, times in seconds, `timestamps`, `parent` instead of
//! `children`). Samples weigh the time until the next one, because the profiler does not tick evenly.
//!
//! `(root)` is no frame. `(program)`, `(idle)` and `(garbage collector)` stay stacks of their own, as the file
//! has them: DevTools draws GC on top of the stack before it, which is a guess at who caused it, and its
//! tables count GC by itself as we do.

mod add;
mod coverage;
mod frames;
mod functions;
mod head;
mod inlined;
mod join;
mod layout;
mod lines;
mod parse;
mod raw;
mod times;
mod write;

use std::io::Read;

use profile::{Budget, Builder, Process, Profile, Role, Thread};

use crate::json::{self, outermost_keys};
pub(crate) use add::{Added, add, settle_meta};
pub use frames::Original;
pub use join::{Joiner, Whose};
use naming::finish::settle_quality;
pub(crate) use parse::{NodesSeed, NumbersSeed, id_of, time_of};
pub(crate) use raw::RawProfile;
pub use write::write;

/// Reads a profile. What cannot be understood is a sentence among the losses; what came before it is kept.
pub fn read(input: impl Read, budget: &Budget) -> Profile {
    let (text, broken) = json::read_text(input, budget);
    let mut builder = Builder::within(budget);
    builder.meta().format = ".cpuprofile".into();
    let mut raw = RawProfile::within(budget);
    let damage = parse::parse(&text, &mut raw);
    builder.meta().losses.damage.extend(broken.or(damage));
    let process = builder.process(Process::default());
    let name = builder.string("main");
    let thread = builder.thread(Thread { process, tid: None, name, role: Role::MainLoop });
    let added = add(&raw, thread, &mut builder);
    settle_meta(&[added], &mut builder);
    settle_quality(&mut builder);
    builder.finish()
}

/// Whether a text starts like a .cpuprofile. A heap snapshot has nodes, too, and a heap profile has a head.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    let start =
        first_bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first_bytes).trim_ascii_start();
    if !start.starts_with(b"{") {
        return false;
    }
    let keys = outermost_keys(start);
    let has = |key: &str| keys.contains(&key.as_bytes());
    let contains = |word: &str| memchr::memmem::find(start, word.as_bytes()).is_some();
    let is_other =
        has("$schema") || has("traceEvents") || has("snapshot") || contains("\"selfSize\"");
    let has_tree = (has("nodes") || has("head")) && contains("\"functionName\"");
    let has_samples =
        has("samples") && ["timeDeltas", "timestamps", "startTime"].iter().any(|key| has(key));
    !is_other && (has_tree || has_samples)
}

#[cfg(test)]
mod tests;
