//! `nodescope export`: the recording in another form, whole or narrowed.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use formats::svg::{self, Colors, SvgError};
use formats::{cpuprofile, firefox, folded, pprof, speedscope, svg::Options as SvgOptions};
use profile::Profile;
use views::{Direction, Lens, Report, Selection, Weights, identity, weigh};

use crate::cli::{Export, Folded, Narrow, SourceTexts, Svg};
use crate::failure::{Failure, warn};
use crate::text::plural;
use crate::{input, output, select};

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Nodescope,
    Html,
    Svg,
    Folded,
    Cpuprofile,
    Speedscope,
    Pprof,
    Firefox,
    Json,
}

/// The word for --to and the endings of each form.
const FORMS: &[(Form, &str, &[&str])] = &[
    (Form::Nodescope, "nodescope", &[".nodescope"]),
    (Form::Html, "html", &[".html", ".htm"]),
    (Form::Svg, "svg", &[".svg"]),
    (Form::Folded, "folded", &[".folded", ".collapsed"]),
    (Form::Cpuprofile, "cpuprofile", &[".cpuprofile"]),
    (Form::Speedscope, "speedscope", &[".speedscope.json", ".speedscope"]),
    (Form::Pprof, "pprof", &[".pb.gz", ".pb", ".pprof"]),
    (Form::Firefox, "firefox", &[".firefox.json.gz"]),
    (Form::Json, "json", &[".json"]),
];

/// Runs the command.
pub(crate) fn run(arguments: &Export) -> Result<(), Failure> {
    let form = form(arguments)?;
    let (label_pid, pids) = pids(arguments.pid.as_deref())?;
    refuse_foreign_options(form, arguments, label_pid)?;
    let lens = lens(form, arguments, label_pid)?;
    let svg_options = SvgOptions { lens, ..svg_options(&arguments.svg)? };
    for file in arguments.input.files.iter().chain(&arguments.against) {
        refuse_own_input(file, &arguments.output)?;
    }
    let profile = input::open(&arguments.input)?;
    let root = arguments.input.reading.names.root.as_deref();
    let profile = input::with_texts(profile, arguments.texts.with_source, root, &BTreeMap::new());
    let profile = if arguments.redact { profile.redacted() } else { profile };
    if let Some(before) = &arguments.against {
        write_compared(&profile, before, arguments)?;
        print_where(&arguments.output, form);
        return Ok(());
    }
    if is_whole(form) {
        write_whole(&profile, form, &arguments.output)?;
        print_where(&arguments.output, form);
        return Ok(());
    }
    let folds = lens.is_some_and(|lens| lens != Lens::Everything);
    let physical = arguments.narrow.physical || !(is_ours(form) || folds || arguments.with_awaits);
    let narrow = Narrow { physical, ..arguments.narrow.clone() };
    let (selection, weights) = select::select(&profile, &narrow, &pids, form == Form::Json)?;
    note_other_events(&profile, &selection, form);
    let folded = folded_options(&arguments.folded, label_pid);
    let options = Options { folded, svg: svg_options, lens: lens.unwrap_or(Lens::Everything) };
    write_form(&profile, (&selection, &weights), form, &options, &arguments.output)?;
    print_where(&arguments.output, form);
    Ok(())
}

/// What only some forms know.
struct Options {
    folded: folded::Options,
    svg: SvgOptions,
    /// Of folded stacks.
    lens: Lens,
}

fn write_form(
    profile: &Profile,
    (selection, weights): (&Selection, &Weights),
    form: Form,
    options: &Options,
    output: &Path,
) -> Result<(), Failure> {
    let mut notes = Vec::new();
    output::write_to(output, is_binary(form), |out| {
        match form {
            Form::Nodescope => profile::file::write(profile, out)?,
            Form::Html => write_page(profile, out)?,
            Form::Folded => write_folded(profile, weights, selection, options, out)?,
            Form::Svg => write_svg(profile, weights, selection, &options.svg, out)?,
            Form::Cpuprofile => notes = cpuprofile::write(profile, selection, out)?,
            Form::Speedscope => notes = speedscope::write(profile, selection, out)?,
            Form::Pprof => notes = pprof::write(profile, selection, out)?,
            Form::Firefox => notes = firefox::write(profile, selection, out)?,
            Form::Json => write_json(&Report::new(profile, weights, selection), out)?,
        }
        Ok(())
    })?;
    notes.iter().for_each(|note| warn(note));
    Ok(())
}

/// Forms that hold everything, and are narrowed when they are looked at.
pub(crate) fn is_whole(form: Form) -> bool {
    matches!(form, Form::Nodescope | Form::Html)
}

/// Forms that show which function awaits; other tools expect stacks as they were.
fn is_ours(form: Form) -> bool {
    matches!(form, Form::Svg | Form::Json)
}

/// A person at a terminal wants to know that it worked; a script does not.
fn print_where(output: &Path, form: Form) {
    if output != Path::new("-") && io::stderr().is_terminal() {
        let next =
            if matches!(form, Form::Svg | Form::Html) { "; open it in a browser" } else { "" };
        warn(&format!("wrote {}{next}", output.display()));
    }
}

fn form(arguments: &Export) -> Result<Form, Failure> {
    arguments.to.as_deref().map_or_else(|| form_of(&arguments.output), form_called)
}

/// The form that a word of --to means.
pub(crate) fn form_called(word: &str) -> Result<Form, Failure> {
    let word = word.trim_start_matches('.');
    let found = FORMS.iter().find(|(_, known, _)| *known == word);
    found.map(|(form, ..)| *form).ok_or_else(|| {
        Failure::usage(format!("nodescope cannot write {word}"))
            .hint(format!("--to takes {}", words()))
    })
}

/// Whether a form must not be printed on a terminal.
pub(crate) fn is_binary(form: Form) -> bool {
    matches!(form, Form::Nodescope | Form::Pprof | Form::Firefox)
}

/// A path with the ending of a form in place of its own.
pub(crate) fn with_ending(path: &Path, form: Form) -> PathBuf {
    let ending =
        FORMS.iter().find(|(known, ..)| *known == form).and_then(|(_, _, endings)| endings.first());
    path.with_extension(ending.map_or("", |ending| ending.trim_start_matches('.')))
}

fn words() -> String {
    FORMS.iter().map(|(_, word, _)| *word).collect::<Vec<_>>().join(", ")
}

/// The form that a name's ending means.
pub(crate) fn form_of(out: &Path) -> Result<Form, Failure> {
    let name = out.to_string_lossy().to_lowercase();
    let found =
        FORMS.iter().find(|(_, _, endings)| endings.iter().any(|ending| name.ends_with(ending)));
    found.map(|(form, ..)| *form).ok_or_else(|| {
        let what = match name.as_str() {
            "-" => "stdout has no ending that says what to write".to_owned(),
            _ => format!("the ending of {} does not say what to write", out.display()),
        };
        Failure::usage(what).hint(format!("add --to with one of {}", words()))
    })
}

/// Writes all of a profile in a form, with the options that it has by itself. Notes go to stderr.
pub(crate) fn write_whole(profile: &Profile, form: Form, out: &Path) -> Result<(), Failure> {
    let selection = Selection { logical: is_ours(form), ..Selection::default() };
    let (folded, svg) = (folded::Options::default(), SvgOptions::default());
    let options = Options { folded, svg, lens: Lens::Everything };
    write_form(profile, (&selection, &weigh(profile, &selection)), form, &options, out)
}

/// `--pid` alone labels processes; with numbers it narrows.
fn pids(typed: Option<&str>) -> Result<(bool, Vec<u32>), Failure> {
    match typed {
        None => Ok((false, Vec::new())),
        Some("") => Ok((true, Vec::new())),
        Some(list) => {
            let pid = |word: &str| word.trim().parse().ok();
            let pids: Option<Vec<u32>> = list.split(',').map(pid).collect();
            let wrong = || {
                Failure::usage(format!("--pid {list} is not a pid"))
                    .hint("--pid 4140, or --pid=4140,4141")
            };
            Ok((false, pids.ok_or_else(wrong)?))
        }
    }
}

/// No option is taken and ignored.
fn refuse_foreign_options(form: Form, arguments: &Export, label_pid: bool) -> Result<(), Failure> {
    let Export { folded, svg, narrow, .. } = arguments;
    let Folded { tid, kernel, jit, all, addrs } = folded;
    let for_folded = [
        (label_pid, "--pid without a number"),
        (*tid, "--tid"),
        (*kernel, "--kernel"),
        (*jit, "--jit"),
        (*all, "--all"),
        (*addrs, "--addrs"),
    ];
    let Svg { inverted, reverse, title, width, min_width, colors } = svg;
    let for_svg = [
        (*inverted, "--inverted"),
        (*reverse, "--reverse"),
        (title.is_some(), "--title"),
        (width.is_some(), "--width"),
        (min_width.is_some(), "--min-width"),
        (colors.is_some(), "--colors"),
    ];
    let first = |options: &[(bool, &'static str)]| {
        options.iter().find(|(given, _)| *given).map(|(_, name)| *name)
    };
    if let Some(option) = first(&for_folded).filter(|_| form != Form::Folded) {
        return Err(Failure::usage(format!("{option} is for folded stacks"))
            .hint("add --to folded, or leave it out"));
    }
    if let Some(option) = first(&for_svg).filter(|_| form != Form::Svg) {
        return Err(Failure::usage(format!("{option} is for the flame graph"))
            .hint("add --to svg, or leave it out"));
    }
    if arguments.against.is_some() && form != Form::Html {
        return Err(
            Failure::usage("--against is for the page").hint("add --to html, or leave it out")
        );
    }
    refuse_texts(form, arguments.texts)?;
    let narrows = narrow.range.is_some()
        || narrow.search.is_some()
        || narrow.entry.is_some()
        || narrow.event.is_some()
        || [&narrow.thread, &narrow.category, &narrow.hide].iter().any(|list| !list.is_empty())
        || arguments.pid.is_some()
        || narrow.physical
        || arguments.with_awaits;
    if is_whole(form) && narrows {
        let (what, hint) = match form {
            Form::Html => ("the page", "narrow it in the page: drag over the heat map"),
            _ => (
                "a .nodescope file",
                "narrow it when you look at it: nodescope report FILE --range …",
            ),
        };
        let message = format!("{what} holds the whole recording: it cannot be narrowed");
        return Err(Failure::usage(message).hint(hint));
    }
    Ok(())
}

/// What was typed behind --lens, for the forms that have one. Marks and thread ids are those of stacks as they were.
fn lens(form: Form, arguments: &Export, label_pid: bool) -> Result<Option<Lens>, Failure> {
    let Some(word) = arguments.lens.as_deref() else { return Ok(None) };
    let words = Lens::ALL.map(Lens::word).join(", ");
    let lens = Lens::from_word(word).ok_or_else(|| {
        Failure::usage(format!("there is no lens {word}")).hint(format!("--lens takes {words}"))
    })?;
    if !matches!(form, Form::Svg | Form::Folded) {
        let message = "--lens is for the flame graph and for folded stacks";
        return Err(Failure::usage(message).hint("add --to svg or --to folded, or leave it out"));
    }
    let Folded { tid, kernel, jit, all, addrs } = arguments.folded;
    if lens != Lens::Everything && (label_pid || tid || kernel || jit || all || addrs) {
        let message = format!("--lens {word} leaves no frames to mark, and no threads to name");
        return Err(Failure::usage(message).hint("add --lens everything, or leave out the marks"));
    }
    Ok(Some(lens))
}

/// Text has a place in forms that hold everything.
pub(crate) fn refuse_texts(form: Form, texts: SourceTexts) -> Result<(), Failure> {
    if texts.with_source && !is_whole(form) {
        return Err(Failure::usage(
            "only a .html page and a .nodescope file carry the text of sources",
        )
        .hint("write page.html, or leave out --with-source"));
    }
    Ok(())
}

fn refuse_own_input(input: &Path, output: &Path) -> Result<(), Failure> {
    let same = input == output && input != Path::new("-")
        || matches!((input.canonicalize(), output.canonicalize()), (Ok(input), Ok(output)) if input == output);
    if same {
        let name = output.display();
        return Err(Failure::usage(format!(
            "{name} is the recording itself: it would be overwritten"
        ))
        .hint("choose another OUT"));
    }
    Ok(())
}

fn svg_options(typed: &Svg) -> Result<SvgOptions, Failure> {
    let mut options = SvgOptions {
        inverted: typed.inverted,
        reverse: typed.reverse,
        title: typed.title.clone(),
        ..SvgOptions::default()
    };
    options.width = typed.width.map(|width| width as usize);
    if let Some(percent) = typed.min_width {
        if !(0.0..100.0).contains(&percent) {
            return Err(Failure::usage(format!("--min-width {percent} is not a share in percent"))
                .hint("--min-width 0.1"));
        }
        options.min_width = Some(percent);
    }
    if let Some(word) = &typed.colors {
        options.colors = Colors::from_word(word).ok_or_else(|| {
            Failure::usage(format!("there is no palette {word}"))
                .hint(format!("--colors takes {}", Colors::words().collect::<Vec<_>>().join(", ")))
        })?;
    }
    Ok(options)
}

fn folded_options(typed: &Folded, label_pid: bool) -> folded::Options {
    folded::Options {
        pid: label_pid,
        tid: typed.tid,
        kernel: typed.kernel || typed.all,
        jit: typed.jit || typed.all,
        addresses: typed.addrs,
    }
}

/// One picture shows one event; the others are not lost silently.
fn note_other_events(profile: &Profile, selection: &Selection, form: Form) {
    if form == Form::Pprof || selection.lane.is_some() {
        return;
    }
    let names: Vec<String> = profile
        .lanes()
        .iter()
        .map(|lane| {
            format!("{} ({})", profile.text(lane.name), plural(lane.samples.len() as u64, "sample"))
        })
        .collect();
    if let [first, others @ ..] = names.as_slice()
        && !others.is_empty()
    {
        warn(&format!("showing {first}; left out: {}; choose with --event", others.join(", ")));
    }
}

fn write_folded(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    options: &Options,
    out: impl Write,
) -> io::Result<()> {
    if options.lens == Lens::Everything {
        return folded::write(profile, weights, selection, &options.folded, out);
    }
    let entries = views::entries(profile);
    let direction = Direction::FromRoots;
    let tree = views::lens_tree(profile, weights, selection, &entries, options.lens, direction);
    folded::write_tree(profile, &tree, out)
}

fn write_svg(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    options: &SvgOptions,
    out: impl Write,
) -> io::Result<()> {
    svg::write(profile, weights, selection, options, out).map_err(|error| match error {
        SvgError::Write(error) => error,
        SvgError::Empty => io::Error::other(error.to_string()),
    })
}

/// The page, with the recording inside.
fn write_page(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page_of(profile)?.as_bytes())
}

pub(crate) fn page_of(profile: &Profile) -> io::Result<String> {
    let (bytes, report) = inside(profile)?;
    let title = identity::title(profile)
        .map_or_else(|| "nodescope".into(), |it| format!("{it} · nodescope"));
    Ok(web::single_file(web::Inside { name: "", profile: &bytes, report: &report }, &title))
}

/// The page of a recording against an older one, with both inside.
fn write_compared(after: &Profile, before: &Path, arguments: &Export) -> Result<(), Failure> {
    let Export { input, output, .. } = arguments;
    let names: Vec<PathBuf> = input.files.iter().chain([&before.to_owned()]).cloned().collect();
    input::refuse_two_stdins(&names)?;
    let before_profile = input::read(before, &input.reading)?.without_source_texts();
    let called = |path: &Path| {
        let name = path.file_name().filter(|_| path != Path::new("-"));
        name.map_or_else(|| "stdin".to_owned(), |name| name.to_string_lossy().into_owned())
    };
    let after_name = input.files.first().map(|file| called(file)).unwrap_or_default();
    let before_name = called(before);
    output::write_to(output, false, |out| {
        let page = compared_page((&before_name, &before_profile), (&after_name, after))?;
        out.write_all(page.as_bytes())
    })
}

/// Both with what they are called.
pub(crate) fn compared_page(
    before: (&str, &Profile),
    after: (&str, &Profile),
) -> io::Result<String> {
    let title = format!("{} → {} · nodescope", before.0, after.0);
    let compared = serde_json::to_string(&views::compare_all(before.1, after.1))?;
    let (before_bytes, before_report) = inside(before.1)?;
    let (after_bytes, after_report) = inside(after.1)?;
    let older = web::Inside { name: before.0, profile: &before_bytes, report: &before_report };
    let newer = web::Inside { name: after.0, profile: &after_bytes, report: &after_report };
    Ok(web::compared_file(older, newer, &compared, &title))
}

/// A recording as a page has it inside, and its report for the page, as JSON.
fn inside(profile: &Profile) -> io::Result<(Vec<u8>, String)> {
    let mut bytes = Vec::new();
    profile::file::write(profile, &mut bytes)?;
    Ok((bytes, serde_json::to_string(&views::page_report(profile))?))
}

fn write_json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}
