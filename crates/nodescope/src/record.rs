//! `nodescope record`: samples a running process, or a command that it starts, and keeps what it saw whatever
//! happens: while it records, everything goes to OUT.part, which `report` opens, too.

mod consent;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod inspect;
#[cfg(target_os = "linux")]
mod linux;
mod progress;
mod spool;
mod way;
mod words;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use profile::Profile;

use crate::cli;
use crate::export::Form;
use crate::failure::{self, Failure, warn};
use crate::{browser, export, report, select};
#[cfg(not(target_os = "linux"))]
use elsewhere as here;
#[cfg(target_os = "linux")]
use linux as here;
use spool::Spool;
use words::{print_next, print_written, warn_of_few_samples};

#[cfg(target_os = "linux")]
pub(crate) use linux::{choose, leave_room, perf, stand_in, target::Target};

/// Runs the command.
pub(crate) fn run(arguments: &cli::Record) -> Result<(), Failure> {
    run_and_print(arguments, print_next)
}

/// The same for another command, which prints something else at the end.
pub(crate) fn run_and_print(
    arguments: &cli::Record,
    print_more: fn(Form, &Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let showing = Showing { print_more };
    if arguments.quiet {
        failure::be_quiet();
    }
    way::check(arguments)?;
    limit(arguments)?;
    check_output(arguments)?;
    if arguments.way.connect.is_some() {
        return inspect::run_at_address(arguments, &showing);
    }
    here::run(arguments, &showing)
}

/// What is printed when a recording is done and its report has begun.
struct Showing {
    print_more: fn(Form, &Path) -> Result<(), Failure>,
}

/// Where a recording goes.
struct Output {
    path: PathBuf,
    form: Form,
    /// What was printed in the beginning, and is not printed again.
    printed: Vec<String>,
}

impl Output {
    fn new(arguments: &cli::Record, default: impl FnOnce() -> PathBuf) -> Result<Self, Failure> {
        let form = form(arguments)?;
        let path = arguments.output.clone().unwrap_or_else(|| {
            let path = default();
            if form == Form::Nodescope { path } else { export::with_ending(&path, form) }
        });
        Ok(Self { path, form, printed: Vec::new() })
    }
}

/// Whether OUT can be written, before anything is sampled: afterwards it is too late to choose another one.
fn check_output(arguments: &cli::Record) -> Result<(), Failure> {
    let form = form(arguments)?;
    export::refuse_texts(form, arguments.texts)?;
    let Some(path) = &arguments.output else { return Ok(()) };
    if path == Path::new("-") {
        if arguments.open {
            return Err(Failure::usage("what goes to stdout cannot be opened in a browser"));
        }
        return crate::output::refuse_terminal(export::is_binary(form));
    }
    if path.is_dir() {
        return Err(Failure::usage(format!("{} is a folder", path.display()))
            .hint("-o FOLDER/NAME.nodescope"));
    }
    // Devices and pipes are written to.
    match arguments.overwrite || !path.is_file() || consent::ask_to_replace(path)? {
        true => Ok(()),
        false => Err(Failure::usage(format!("{} exists already", path.display()))
            .hint("choose another OUT, or replace it: --overwrite")),
    }
}

/// What is written: the form of `--to`, else of OUT's ending; a stream is for `nodescope report -` on the other side.
fn form(arguments: &cli::Record) -> Result<Form, Failure> {
    match (&arguments.to, &arguments.output) {
        (Some(word), _) => export::form_called(word),
        (None, Some(path)) if path != Path::new("-") => form_of(path),
        (None, _) => Ok(Form::Nodescope),
    }
}

/// What is recorded is a file of ours from its first byte on; on stdout it can be read while it grows.
fn create_spool(
    arguments: &cli::Record,
    out: &Output,
    most_in_memory: u64,
) -> Result<Spool, Failure> {
    let opening = profile::file::file_header();
    let mut spool = Spool::create(&out.path, &opening, most_in_memory)?;
    if is_plain(arguments, out) && out.path == Path::new("-") {
        spool.stream(&opening);
    }
    Ok(spool)
}

/// Whether OUT is what is recorded, as it is.
fn is_plain(arguments: &cli::Record, out: &Output) -> bool {
    out.form == Form::Nodescope && !arguments.texts.with_source
}

/// Writes OUT, and prints what was recorded. Where OUT cannot be written, the summary is printed all the same, and the
/// failure says what is kept, and where.
fn complete(
    profile: &Profile,
    arguments: &cli::Record,
    out: &Output,
    spool: &mut Spool,
    showing: &Showing,
) -> Result<(), Failure> {
    let failure = match write(profile, out, spool) {
        Ok(()) => return deliver(profile, arguments, out, showing),
        // The reader of a pipe has gone: it wanted no more.
        Err(Failure::BrokenPipe) => {
            spool.remove();
            return Err(Failure::BrokenPipe);
        }
        Err(failure) => failure,
    };
    print_losses(profile, out);
    if !arguments.quiet && out.path != Path::new("-") {
        // Where stdout is on the same disk, the failure is still to be reported.
        let _ = report::print_head(profile);
    }
    Err(spool.explain(&failure))
}

/// Makes OUT, unless it is there already, and removes OUT.part.
fn write(profile: &Profile, out: &Output, spool: &mut Spool) -> Result<(), Failure> {
    if spool.has_streamed() {
        spool.stream_result()?;
    } else if spool.is_file() {
        return Ok(());
    } else {
        export::write_whole(profile, out.form, &out.path)?;
    }
    spool.remove();
    Ok(())
}

/// Reads back what was written so far.
fn read_back(spool: &mut Spool) -> Result<Profile, Failure> {
    let hint = spool.hint();
    let failed = |what: String| Failure::failed(what).hint(hint.as_str());
    let mut bytes = Vec::new();
    spool.read()?.read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
    profile::file::read(&bytes).map_err(|error| failed(error.to_string()))
}

fn print_losses(profile: &Profile, out: &Output) {
    let losses = &profile.meta().losses;
    let is_printed = |sentence: &&String| {
        out.printed.iter().any(|printed| sentence.starts_with(printed.as_str()))
    };
    let news = losses.damage.iter().chain(&losses.notes).filter(|sentence| !is_printed(sentence));
    news.for_each(|sentence| warn(sentence));
}

/// Prints what was recorded, and what to type next.
fn deliver(
    profile: &Profile,
    arguments: &cli::Record,
    out: &Output,
    showing: &Showing,
) -> Result<(), Failure> {
    print_losses(profile, out);
    if out.path == Path::new("-") {
        warn_of_few_samples(profile);
        return Ok(());
    }
    if !arguments.quiet {
        report::print_head(profile)?;
    }
    print_written(profile, &out.path);
    (showing.print_more)(out.form, &out.path)?;
    if arguments.open {
        browser::show(profile, out.form, &out.path)?;
    }
    Ok(())
}

fn limit(arguments: &cli::Record) -> Result<Option<Duration>, Failure> {
    let Some(text) = &arguments.duration else {
        return Ok(arguments.command.is_empty().then_some(Duration::from_secs(30)));
    };
    select::parse_duration("-d", text).map(Some)
}

fn form_of(out: &Path) -> Result<Form, Failure> {
    let endings = "end it with .nodescope, .svg, .html, .folded, .cpuprofile, .speedscope.json, .pb.gz, .firefox.json.gz or .json";
    export::form_of(out).map_err(|failure| failure.hint(endings))
}
