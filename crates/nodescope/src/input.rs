//! Opens the recording that a command is about, and says what is wrong with it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use formats::{ImportError, ImportOptions};
use live::owners;
use profile::{Builder, Joining, Profile};
use symbols::packages::{self, KnownPackages};
use symbols::source_maps::{self, MapPlaces, TextLimits};
use symbols::{Disk, ForProcess, KernelNames, Owners, Sources};

use crate::cli::{Input, Names, Reading, SourceMaps};
use crate::failure::{Failure, warn};
use crate::invoked;
use crate::text::{plural, thousands};

/// Files from this size on are worth some preparation.
const MUCH_TO_READ: u64 = 8 << 20;
/// The text that a file carries at most.
const TEXT_LIMITS: TextLimits = TextLimits { each: 1 << 20, all: 8 << 20 };
/// Files from this size on show their progress.
const LARGE_FILE: u64 = 256 << 20;

/// Reads the recording, or joins several. Damage is reported on stderr; what came before it is returned.
pub(crate) fn open(input: &Input) -> Result<Profile, Failure> {
    refuse_two_stdins(&input.files)?;
    let mut profiles = Vec::new();
    for file in &input.files {
        let profile = read(file, &input.reading)?;
        for sentence in views::report::warnings(&profile) {
            warn(&format!("{}: {sentence}", file.display()));
        }
        profiles.push(profile);
    }
    if profiles.len() == 1
        && let Some(profile) = profiles.pop()
    {
        return Ok(profile);
    }
    Ok(join(&profiles, &input.files))
}

pub(crate) fn refuse_two_stdins(files: &[PathBuf]) -> Result<(), Failure> {
    if files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Failure::usage("stdin is one recording: `-` cannot be given twice")
            .hint("only one FILE can be -"));
    }
    Ok(())
}

/// Reads one recording. What is wrong with it stands in its losses.
pub(crate) fn read(file: &Path, reading: &Reading) -> Result<Profile, Failure> {
    let typed = reading.threads.and_then(|count| NonZero::new(usize::from(count)));
    let threads = typed
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZero::<usize>::MIN);
    let sources = Sources { leaves_maps: reading.maps.no_source_maps, ..sources(&reading.names)? };
    let options = ImportOptions { threads, namer: Box::new(sources) };
    let imported = if file == Path::new("-") {
        refuse_terminal()?;
        formats::import(io::stdin(), options)
    } else {
        formats::import(open_file(file)?, options)
    };
    let profile = imported.map_err(|error| explain(&file.display().to_string(), &error))?;
    if reading.maps.no_source_maps && is_mapped(&profile) {
        warn(&format!("{}: {MAPPED}", file.display()));
    }
    let places =
        MapPlaces { files: &Disk, root: reading.names.root.as_deref(), roots: &BTreeMap::new() };
    Ok(with_originals(profile, reading.maps, &places).with_own(&reading.own.names()))
}

/// What cannot be undone.
const MAPPED: &str = "source maps were applied when this file was made, and --no-source-maps cannot undo that: record again with it";

/// Whether a source map led to some of its sources.
fn is_mapped(profile: &Profile) -> bool {
    let is_original = |source: &profile::Source| {
        let is_marked = profile.text(source.path).ends_with(naming::GENERATED_MARK);
        source.generated.some().is_some() && !is_marked
    };
    profile.sources().iter().any(is_original)
}

/// Generated code as what it was made from, unless the user wants to see it as it ran; with its packages.
fn with_originals(profile: Profile, maps: SourceMaps, places: &MapPlaces<'_>) -> Profile {
    // Files change after a recording was made: the packages that the recorder saw are right.
    let knows_packages = profile.meta().lines_are_checked;
    let profile = match maps.no_source_maps {
        true => source_maps::mark_generated(profile, places),
        false => source_maps::apply(profile, places),
    };
    if knows_packages {
        return profile;
    }
    packages::apply(profile, places, &mut KnownPackages::default())
}

/// The text of the hottest scripts, where the user wants it in the file; otherwise none, also not what the input has.
/// Prints how much the file carries.
pub(crate) fn with_texts(
    profile: Profile,
    is_wanted: bool,
    root: Option<&Path>,
    roots: &BTreeMap<u32, PathBuf>,
) -> Profile {
    if !is_wanted {
        return profile.without_source_texts();
    }
    let (profile, carried) =
        source_maps::with_texts(profile, &MapPlaces { files: &Disk, root, roots }, TEXT_LIMITS);
    let files = |count: usize| plural(count as u64, "source file");
    if carried.sources == 0 {
        warn("no text of a source file was found on this machine: the file carries none");
    } else {
        warn(&format!(
            "the file carries the text of {}, {} kB",
            files(carried.sources),
            thousands(carried.bytes.div_ceil(1000))
        ));
    }
    if carried.left_out > 0 {
        warn(&format!("there was no room for the text of {}", files(carried.left_out)));
    }
    profile
}

/// Where names come from, as it was typed. A file that was named must be there: without it, the answer would be
/// another one.
fn sources(names: &Names) -> Result<Sources, Failure> {
    let there = |path: &Path, what: &str| {
        fs::metadata(path).map(drop).map_err(|error| {
            Failure::failed(format!("cannot open {}: {error}", path.display()))
                .hint(format!("check {what}"))
        })
    };
    if let Some(root) = &names.root {
        there(root, "--root")?;
    }
    if let Some(kallsyms) = &names.kallsyms {
        there(kallsyms, "--kallsyms")?;
    }
    let perf_maps: Vec<ForProcess> =
        names.perf_map.iter().map(|typed| for_process(typed)).collect();
    for map in &perf_maps {
        there(&map.path, "--perf-map FILE[:PID]")?;
    }
    Ok(Sources {
        owners: owners_in(names.root.as_deref()),
        root: names.root.clone(),
        kernel: names.kallsyms.clone().map_or(KernelNames::Running, KernelNames::File),
        perf_maps,
        build_id_cache: std::env::home_dir().map(|home| home.join(".debug")),
        demangle: !names.no_demangle,
        ..Sources::default()
    })
}

/// The users whose perf maps are trusted. The root of a process is compared with that process; in another folder that
/// the user names, every file is what the user meant.
fn owners_in(root: Option<&Path>) -> Owners {
    let Some(root) = root else { return owners::default_owners() };
    let parts: Vec<&str> = root.components().filter_map(|part| part.as_os_str().to_str()).collect();
    match parts[..] {
        ["/", "proc", pid, "root"] => {
            Owners::of_users(pid.parse().map(owners::of_process).unwrap_or_default())
        }
        _ => Owners::default(),
    }
}

/// `FILE:PID`, or `FILE` for all processes.
fn for_process(typed: &str) -> ForProcess {
    let parts = typed.rsplit_once(':').and_then(|(path, pid)| Some((path, pid.parse().ok()?)));
    match parts {
        Some((path, pid)) => ForProcess { pid: Some(pid), path: path.into() },
        None => ForProcess { pid: None, path: typed.into() },
    }
}

/// Recordings that know their clock keep their distance; the others start together.
fn join(profiles: &[Profile], files: &[PathBuf]) -> Profile {
    let start_ns =
        |profile: &Profile| profile.meta().start_clock_s.map(|seconds| (seconds * 1e9) as u64);
    let starts: Option<Vec<u64>> = profiles.iter().map(start_ns).collect();
    let first_ns = starts.iter().flatten().min().copied().unwrap_or(0);
    let mut builder = Builder::new();
    for (row, (profile, file)) in profiles.iter().zip(files).enumerate() {
        let later_ns = starts.as_ref().map_or(0, |starts| starts[row] - first_ns);
        builder.append(profile, Joining { later_ns, process_name: Some(&short_name(file, files)) });
    }
    if starts.is_some() {
        builder.meta().start_clock_s = Some(first_ns as f64 / 1e9);
    }
    builder.finish()
}

/// A file's own name, or its whole path where another has the same name.
fn short_name(file: &Path, files: &[PathBuf]) -> String {
    let is_one_of_many =
        files.iter().filter(|other| other.file_name() == file.file_name()).count() > 1;
    let name = file.file_name().filter(|_| !is_one_of_many).unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}

fn refuse_terminal() -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Ok(());
    }
    Err(Failure::usage("`-` reads a recording from stdin, but stdin is a terminal")
        .hint(format!("perf script | {} report -", invoked::name())))
}

pub(crate) fn open_file(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    let name = path.display();
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::failed(format!("there is no file {name}")).hint(format!(
                "to make one: {} record PID, or perf record -F 99 -g -p PID -- sleep 30",
                invoked::name()
            ))
        }
        io::ErrorKind::PermissionDenied => Failure::failed(format!("you may not read {name}"))
            .hint(format!("sudo chmod a+r {name}")),
        _ => Failure::failed(format!("cannot open {name}: {error}")),
    };
    let file = File::open(path).map_err(refused)?;
    let meta = file.metadata().map_err(refused)?;
    if meta.is_dir() {
        return Err(Failure::failed(format!("{name} is a folder")).hint("name one recording in it"));
    }
    if meta.len() >= MUCH_TO_READ {
        sys::memory::expect_large_input();
    }
    if meta.len() >= LARGE_FILE && io::stderr().is_terminal() {
        return Ok(Box::new(Progress { file, total: meta.len(), done: 0, shown: 0 }));
    }
    Ok(Box::new(file))
}

fn explain(name: &str, error: &ImportError) -> Failure {
    let failure = Failure::failed(format!("{name}: {error}"));
    match error {
        ImportError::NotYet { hint, .. } => failure.hint(hint.replace("FILE", name)),
        ImportError::Unrecognised { .. } => {
            failure.hint(
                "nodescope reads .nodescope, perf.data, .cpuprofile, Chrome traces, V8 --prof logs, perf script \
                 text, folded, DTrace and bpftrace stacks, pprof, speedscope",
            )
        }
        ImportError::Empty | ImportError::NoSamples { .. } => {
            failure.hint("was the recorded process idle? perf record -F 99 -g -p PID -- sleep 30")
        }
        ImportError::Read(_) | ImportError::Ours(_) => failure,
    }
}

/// A file that shows how far it has been read, on a terminal.
struct Progress {
    file: File,
    total: u64,
    done: u64,
    shown: u64,
}

impl Read for Progress {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.done += count as u64;
        let percent = self.done * 100 / self.total.max(1);
        let mut err = io::stderr().lock();
        if count == 0 {
            let _ = write!(err, "\r\u{1b}[K");
        } else if percent != self.shown {
            self.shown = percent;
            let _ = write!(err, "\rreading … {percent} % of {} MB", thousands(self.total >> 20));
        }
        Ok(count)
    }
}
