//! `nodescope demo`: a sample service under load, recorded and shown, with nothing to prepare. Where that is not
//! possible, a recording of the same service that ships with the program is shown, and why.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod service;

#[cfg(not(target_os = "linux"))]
use elsewhere as way;
#[cfg(target_os = "linux")]
use live as way;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::cli;
use crate::export::{self, Form};
use crate::failure::{Failure, warn};
use crate::{browser, invoked, output, report, select, text};

/// Made by scripts/make-demo-recording.sh, from this demo.
const RECORDING: &[u8] = include_bytes!("demo/recording.nodescope");

/// Every copy of the program carries it.
const _: () =
    assert!(RECORDING.len() <= 300 << 10, "the recording is too large: record for a shorter time");

/// How an attempt to record ended.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is recorded elsewhere"))]
enum Outcome {
    /// Everything is done and printed.
    Recorded,
    /// Why this machine cannot record.
    NotHere(Failure),
}

/// Runs the command.
pub(crate) fn run(arguments: &cli::Demo) -> Result<(), Failure> {
    select::parse_duration("-d", &arguments.duration)?;
    let out = arguments.output.clone().unwrap_or_else(default_out);
    // A stream is for `nodescope report -` on the other side.
    let form = if out == Path::new("-") { Form::Nodescope } else { export::form_of(&out)? };
    match way::run(arguments, form, &out)? {
        Outcome::Recorded => Ok(()),
        Outcome::NotHere(why) => show_shipped(arguments, &why, form, &out),
    }
}

/// Whether the page is opened: where there is a screen to show it.
fn wants_page(arguments: &cli::Demo, out: &Path) -> bool {
    !arguments.no_browser && out != Path::new("-") && browser::is_here()
}

/// Here, or where temporary files go when nothing can be written here.
fn default_out() -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let name = format!("nodescope-demo-{}.nodescope", text::utc(seconds));
    let probe = PathBuf::from(format!(".{name}.probe"));
    match output::create(&probe) {
        Ok(_) => {
            // The probe only shows that this folder can be written to.
            let _ = std::fs::remove_file(&probe);
            PathBuf::from(name)
        }
        Err(_) => std::env::temp_dir().join(name),
    }
}

/// Shows the recording that ships with the program, and says so.
fn show_shipped(
    arguments: &cli::Demo,
    why: &Failure,
    form: Form,
    out: &Path,
) -> Result<(), Failure> {
    // Printed as any failure is, but there is something to show all the same.
    let _ = why.report();
    warn("so this is a recording that ships with nodescope: the demo's service under load");
    let profile = profile::file::read(RECORDING).map_err(|error| {
        Failure::failed(format!("the recording that ships with nodescope: {error}"))
    })?;
    export::write_whole(&profile, form, out)?;
    if out == Path::new("-") {
        return Ok(());
    }
    report::print_head(&profile)?;
    warn(&format!("wrote {} (the recording that ships with nodescope)", out.display()));
    print_next(form, out)?;
    if wants_page(arguments, out) {
        browser::show(&profile, form, out)?;
    }
    Ok(())
}

/// What to type next; each line works as it stands.
fn print_next(form: Form, out: &Path) -> Result<(), Failure> {
    let (program, file) = (invoked::name(), invoked::quoted(out));
    let mut rows = Vec::new();
    if form == Form::Nodescope {
        rows.push((
            "What is behind it: functions, packages, lines, stalls, threads",
            format!("{program} report {file}"),
        ));
        rows.push(("Heat map and flame graph, in the browser", format!("{program} view {file}")));
    } else {
        rows.push(("A recording that can be read again and again", format!("{program} demo")));
        rows.push(("The Node processes here", format!("{program} ps")));
    }
    let own = "Your own service, by its pid, its container, or words of its command line";
    rows.push((own, format!("{program} record TARGET")));
    let lines: Vec<String> =
        rows.iter().map(|(what, command)| format!("{what}:\n  {command}\n")).collect();
    output::print(&format!("\n{}", lines.concat()))
}
