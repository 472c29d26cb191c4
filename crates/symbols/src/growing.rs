//! A recording that is named while it is made. Records come in through [`GrowingNamer::sink`]; [`GrowingNamer::chunk`]
//! names what is new, applies source maps to it, and gives it as the next part of a file. Samples that were given are
//! kept no longer: a long recording takes no more memory than its distinct stacks do.

use std::io;

use profile::Profile;
use profile::file::Growing;
use trace::Sink;

use crate::assembly::{Assembly, Progress};
use crate::namer::{CodeAppeared, Namer};
use crate::packages::{self, KnownPackages};
use crate::source_maps::{KnownScripts, MapPlaces, apply_known, apply_ran};
use crate::sources::Sources;

/// What the tables may take. With the files that names come from (80 MB), source maps (32 MB), scripts that a
/// transpiler made (48 MB) and names of generated code (32 MB), a recorder stays below 256 MB; most take 50.
const MOST_TABLE_BYTES: usize = 64 << 20;
/// What a frame and a stack take in the profile's tables and their indexes, and before they have names: there the
/// frames of two processes are two.
const FRAME_BYTES: usize = 160;
const STACK_BYTES: usize = 50;
const RAW_FRAME_BYTES: usize = 64;
const RAW_STACK_BYTES: usize = 60;

/// See the module's text.
pub struct GrowingNamer {
    namer: Namer,
    assembly: Assembly,
    scripts: KnownScripts,
    packages: KnownPackages,
    growing: Growing,
}

impl GrowingNamer {
    /// A recording in a format, which is what people call it.
    pub fn new(sources: Sources, format: &str) -> Self {
        let mut namer = Namer::new(sources, format);
        (namer.is_ours, namer.is_growing) = (true, true);
        Self {
            namer,
            assembly: Assembly::growing(),
            scripts: KnownScripts::growing(),
            packages: KnownPackages::default(),
            growing: Growing::new(),
        }
    }

    /// Takes records, in the order of their times.
    pub fn sink(&mut self) -> &mut dyn Sink {
        &mut self.namer
    }

    /// Where names come from; more may become known.
    pub fn sources(&mut self) -> &mut Sources {
        &mut self.namer.world.sources
    }

    /// Reads again what has grown meanwhile, before the samples that are new are taken.
    pub fn refresh(&mut self) {
        self.namer.refresh_dumps();
    }

    /// Takes generated code that appeared in a process, before the samples that are later.
    pub fn take_code(&mut self, pid: u32, code: &CodeAppeared<'_>) {
        self.namer.take_code(pid, code);
    }

    /// All generated code of a process comes by [`Self::take_code`]: nothing else needs to be asked, as long as
    /// there is room for all of it.
    pub fn follow(&mut self, pid: u32) {
        if self.namer.has_room_for_code() {
            self.namer.followed.insert(pid);
        }
    }

    /// Sampling has ended at a time: turns that begin later are not part of the recording.
    pub fn end_at(&mut self, time_ns: u64) {
        self.namer.ended_ns = Some(time_ns);
    }

    /// What is new, as the next part of the file: everything up to a time was taken, or to the end where there is none.
    /// Empty when nothing is new.
    pub fn chunk(&mut self, until_ns: Option<u64>) -> io::Result<Vec<u8>> {
        let progress = until_ns.map_or(Progress::Whole, Progress::Until);
        let Self { namer, assembly, scripts, packages, growing } = self;
        assembly.add(growing.rows(), namer, progress, |namer, piece| {
            original(namer, piece, scripts, packages)
        });
        let Some(start_ns) = assembly.start_ns() else {
            return if progress == Progress::Whole { growing.chunk() } else { Ok(Vec::new()) };
        };
        growing.rows().set_origin_ns(start_ns);
        growing.chunk()
    }

    /// Adds a sentence to the recording's losses.
    pub fn note(&mut self, sentence: &str) {
        self.namer.note(sentence.to_owned());
    }

    /// Whether there are more distinct stacks than there is memory for.
    pub fn is_full(&self) -> bool {
        let Namer { frames, stacks, javascript, .. } = &self.namer;
        let raw = frames.rows.len() * RAW_FRAME_BYTES + stacks.rows.len() * RAW_STACK_BYTES;
        let profile = self.growing.tables();
        let named = profile.frames().len() * FRAME_BYTES + profile.stacks().len() * STACK_BYTES;
        raw + named + javascript.bytes() > MOST_TABLE_BYTES
    }
}

/// New frames as what they were made from, with their packages.
fn original(
    namer: &mut Namer,
    piece: Profile,
    known: &mut KnownScripts,
    packages: &mut KnownPackages,
) -> Profile {
    let scripts = namer.scripts.whole();
    let Sources { files, root, roots, leaves_maps, own, .. } = &namer.world.sources;
    let places = MapPlaces { files: &**files, root: root.as_deref(), roots };
    let piece = apply_ran(piece, scripts, &places, known, !leaves_maps);
    let piece = apply_known(piece, &places, known, !leaves_maps);
    packages::apply(piece, &places, packages).with_own(own)
}
