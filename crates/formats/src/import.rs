//! Opens whatever file the user has: looks behind gzip and zstd, recognises the format by its content and hands
//! the stream to the reader of that format. A new format is one row of [`READERS`].

use std::io::{self, Cursor, Read};
use std::num::NonZero;

use naming::addresses::AddressNamer;
use profile::file::{self, FileError};
use profile::{Budget, Profile};
use thiserror::Error;

use crate::decompress::{Bounded, Compression, Taken};
use crate::{
    bpftrace, cpuprofile, dtrace, folded, json, perf_data, perf_script, pprof, prof_log,
    speedscope, trace_events,
};

/// How much of an input is looked at to recognise its format.
const FIRST_BYTES: u64 = 64 << 10;
/// No real file has more layers of compression.
const MOST_LAYERS: usize = 3;

/// Why an input cannot be opened.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The input cannot be read.
    #[error("cannot read it: {0}")]
    Read(#[from] io::Error),
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// Recognised, with nothing to show.
    #[error("it looks like {format}, but there is not one sample in it{}", first_damage(.damage))]
    NoSamples {
        /// What it looks like.
        format: String,
        /// What is wrong with it.
        damage: Vec<String>,
    },
    /// A format that is known but not read.
    #[error("it is {what}, which nodescope does not read yet")]
    NotYet {
        /// What it is.
        what: &'static str,
        /// What to do instead.
        hint: &'static str,
    },
    /// Not like anything known.
    #[error("it does not look like any recording that nodescope knows; it starts with “{start}”")]
    Unrecognised {
        /// Its first characters.
        start: String,
    },
    /// A file of ours that cannot be read.
    #[error(transparent)]
    Ours(#[from] FileError),
}

fn first_damage(damage: &[String]) -> String {
    damage.first().map(|sentence| format!(" ({sentence})")).unwrap_or_default()
}

type Stream<'a> = Box<dyn Read + Send + 'a>;

/// A format: how its first bytes are recognised, and its reader.
struct Reader {
    looks_like: fn(&[u8]) -> bool,
    read: fn(Stream<'_>, &Budget, ImportOptions) -> Result<Profile, ImportError>,
}

/// The formats, the surest signs first.
const READERS: &[Reader] = &[
    Reader { looks_like: file::is_ours, read: |stream, budget, _| read_ours(stream, budget) },
    Reader {
        looks_like: perf_data::looks_like,
        read: |stream, budget, options| Ok(read_perf_data(stream, budget, options)),
    },
    Reader {
        looks_like: speedscope::looks_like,
        read: |stream, budget, _| Ok(speedscope::read(stream, budget)),
    },
    Reader {
        looks_like: pprof::looks_like,
        read: |stream, budget, _| Ok(pprof::read(stream, budget)),
    },
    Reader {
        looks_like: cpuprofile::looks_like,
        read: |stream, budget, _| Ok(cpuprofile::read(stream, budget)),
    },
    Reader {
        looks_like: trace_events::looks_like,
        read: |stream, budget, _| Ok(trace_events::read(stream, budget)),
    },
    Reader {
        looks_like: prof_log::looks_like,
        read: |stream, budget, options| Ok(prof_log::read(stream, budget, &*options.namer)),
    },
    Reader {
        looks_like: prof_log::looks_like_preprocessed,
        read: |stream, budget, _| Ok(prof_log::read_preprocessed(stream, budget)),
    },
    Reader {
        looks_like: perf_script::looks_like,
        read: |stream, budget, options| Ok(perf_script::read(stream, options.threads, budget)),
    },
    Reader {
        looks_like: bpftrace::looks_like,
        read: |stream, budget, _| Ok(bpftrace::read(stream, budget)),
    },
    Reader {
        looks_like: dtrace::looks_like,
        read: |stream, budget, _| Ok(dtrace::read(stream, budget)),
    },
];

/// Lines that end with a number: many texts have such lines, so it comes last.
const LAST: Reader = Reader {
    looks_like: folded::looks_like,
    read: |stream, budget, _| Ok(folded::read(stream, budget)),
};

/// A format that is known but not read.
struct NotYet {
    looks_like: fn(&[u8]) -> bool,
    what: &'static str,
    hint: &'static str,
}

const NOT_YET: &[NotYet] = &[NotYet {
    looks_like: looks_like_json,
    what: "a JSON file, and neither a .cpuprofile nor a Chrome trace nor speedscope's",
    hint: "export it as folded stacks with the tool that made it",
}];

/// An object with a key, or a list of objects.
fn looks_like_json(bytes: &[u8]) -> bool {
    let mut marks = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
    matches!((marks.next(), marks.next()), (Some(b'{'), Some(b'"')) | (Some(b'['), Some(b'{')))
}

/// What an import may use.
pub struct ImportOptions {
    /// How many threads may read.
    pub threads: NonZero<usize>,
    /// Names what is only an address in a recording.
    pub namer: Box<dyn AddressNamer>,
}

/// Reads a recording of any known format, compressed or not.
pub fn import(input: impl Read + Send, options: ImportOptions) -> Result<Profile, ImportError> {
    let (taken, input) = Taken::count(input);
    let budget = taken.budget();
    let (first_bytes, stream) = uncompressed(Box::new(input), &taken)?;
    let stream: Stream<'_> = Box::new(Bounded { inner: stream, budget: budget.clone() });
    let mut readers = READERS.iter().chain([&LAST]);
    let profile = match readers.find(|reader| (reader.looks_like)(&first_bytes)) {
        Some(reader) => (reader.read)(stream, &budget, options)?,
        None => return Err(unreadable(&first_bytes)),
    };
    if profile.lanes().iter().all(|lane| lane.samples.is_empty()) {
        let meta = profile.meta();
        return Err(ImportError::NoSamples {
            format: meta.format.clone(),
            damage: meta.losses.damage.clone(),
        });
    }
    Ok(profile)
}

/// Whether an input's first bytes are surely those of a recording. Folded stacks are not sure enough.
pub fn is_recording(input: impl Read + Send) -> bool {
    let (taken, input) = Taken::count(input);
    let first_bytes = uncompressed(Box::new(input), &taken).map(|(first_bytes, _)| first_bytes);
    first_bytes.is_ok_and(|bytes| READERS.iter().any(|reader| (reader.looks_like)(&bytes)))
}

fn unreadable(first_bytes: &[u8]) -> ImportError {
    if first_bytes.trim_ascii().is_empty() {
        return ImportError::Empty;
    }
    match NOT_YET.iter().find(|format| (format.looks_like)(first_bytes)) {
        Some(NotYet { what, hint, .. }) => ImportError::NotYet { what, hint },
        None => {
            let text = String::from_utf8_lossy(&first_bytes[..first_bytes.len().min(160)]);
            let start = text.chars().take(40).flat_map(char::escape_debug).collect();
            ImportError::Unrecognised { start }
        }
    }
}

/// Looks behind compression; returns the first bytes, and the stream from its start.
fn uncompressed<'a>(
    mut stream: Stream<'a>,
    taken: &Taken,
) -> Result<(Vec<u8>, Stream<'a>), ImportError> {
    for _ in 0..=MOST_LAYERS {
        let mut first_bytes = Vec::new();
        let read = stream.by_ref().take(FIRST_BYTES).read_to_end(&mut first_bytes);
        if first_bytes.is_empty() {
            return match read {
                Ok(_) => Err(ImportError::Empty),
                Err(error) => Err(error.into()),
            };
        }
        // A stream that broke fails again when the reader gets there.
        let rest: Stream<'a> = match read {
            Ok(_) => stream,
            Err(error) => Box::new(Broken(Some(error))),
        };
        let whole: Stream<'a> = Box::new(Cursor::new(first_bytes.clone()).chain(rest));
        match Compression::of(&first_bytes) {
            Some(compression) => stream = compression.open(whole, taken),
            None => return Ok((first_bytes, whole)),
        }
    }
    Err(ImportError::Read(io::Error::other(
        "it is compressed too many times: gzip or zstd inside each other",
    )))
}

/// A stream that only returns the error that ended it.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

fn read_perf_data(stream: Stream<'_>, budget: &Budget, options: ImportOptions) -> Profile {
    let ImportOptions { threads, namer } = options;
    namer.profile_of("perf.data", budget, Box::new(|sink| perf_data::read(stream, threads, sink)))
}

fn read_ours(stream: Stream<'_>, budget: &Budget) -> Result<Profile, ImportError> {
    let mut bytes = Vec::new();
    let broken = json::read_bytes(stream, &mut bytes, budget).err();
    match (file::read_within(&bytes, budget.left()), broken) {
        (Err(_), Some(error)) => Err(error.into()),
        (result, _) => Ok(result?),
    }
}
