//! `nodescope record`: samples a running process, or a command that it starts, and keeps what it saw whatever
//! happens: while it records, everything goes to OUT.part, which `report` opens, too.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod inspect;
#[cfg(target_os = "linux")]
mod linux;
mod progress;
mod spool;
mod way;
mod words;

use std::path::{Path, PathBuf};
use std::time::Duration;

use profile::Profile;

use crate::cli;
use crate::export::Form;
use crate::failure::{Failure, warn};
use crate::{browser, export, report, select};
#[cfg(not(target_os = "linux"))]
use elsewhere as here;
#[cfg(target_os = "linux")]
use linux as here;
use words::{say_few, say_next, say_written};

pub(crate) use inspect::inherit;
#[cfg(target_os = "linux")]
pub(crate) use linux::{choose, proc, read_names, stand_in};

/// Runs the command.
pub(crate) fn run(arguments: &cli::Record) -> Result<(), Failure> {
    run_and_show(arguments, report::print_head, say_next)
}

/// The same for another command, which shows more of the report, or says something else at the end.
pub(crate) fn run_and_show(
    arguments: &cli::Record,
    show: fn(&Profile) -> Result<(), Failure>,
    say_more: fn(Form, &Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let showing = Showing { show, say_more };
    way::check(arguments)?;
    if arguments.way.connect.is_some() {
        return inspect::run_at_address(arguments, &showing);
    }
    here::run(arguments, &showing)
}

/// What is said when a recording is done.
struct Showing {
    show: fn(&Profile) -> Result<(), Failure>,
    say_more: fn(Form, &Path) -> Result<(), Failure>,
}

/// Where a recording goes.
struct Output {
    path: PathBuf,
    form: Form,
}

impl Output {
    fn new(arguments: &cli::Record, default: impl FnOnce() -> PathBuf) -> Result<Self, Failure> {
        let path = arguments.output.clone().unwrap_or_else(default);
        // A stream is for `nodescope report -` on the other side.
        let form = if path == Path::new("-") { Form::Nodescope } else { form_of(&path)? };
        if arguments.open && path == Path::new("-") {
            return Err(Failure::usage("what goes to stdout cannot be opened in a browser"));
        }
        export::refuse_texts(form, arguments.texts)?;
        Ok(Self { path, form })
    }
}

/// Says what was recorded, and what to type next.
fn deliver(
    profile: &Profile,
    arguments: &cli::Record,
    out: &Output,
    showing: &Showing,
) -> Result<(), Failure> {
    let losses = &profile.meta().losses;
    losses.damage.iter().chain(&losses.notes).for_each(|sentence| warn(sentence));
    if out.path == Path::new("-") {
        say_few(profile, arguments.frequency);
        return Ok(());
    }
    (showing.show)(profile)?;
    say_written(profile, &out.path);
    (showing.say_more)(out.form, &out.path)?;
    if arguments.open {
        browser::show(profile, out.form, &out.path)?;
    }
    Ok(())
}

fn limit(arguments: &cli::Record) -> Result<Option<Duration>, Failure> {
    let Some(text) = &arguments.duration else {
        return Ok(arguments.command.is_empty().then_some(Duration::from_secs(30)));
    };
    select::parse_duration(text).map(Some)
}

fn form_of(out: &Path) -> Result<Form, Failure> {
    let endings = "end it with .nodescope, .svg, .html, .folded, .cpuprofile, .speedscope.json, .pb.gz, .firefox.json.gz or .json";
    export::form_of(out).map_err(|failure| failure.hint(endings))
}
