//! What we read from every case of corpus/, as text that a person can read (tests/snapshots): a changed parser
//! or a changed rule shows as a diff. `cargo insta review`, or INSTA_UPDATE=always and `git diff`, accepts it.

use std::fmt::Write;
use std::panic::catch_unwind;

use formats::folded;
use profile::{Profile, Unit, file};
use views::{Selection, TopBy, TopKey, TopRow, Weights, share, top, weigh};

use crate::cases::{Case, cases, import};

/// How many rows of each list a snapshot shows.
const FUNCTIONS: usize = 12;
const PACKAGES: usize = 6;
const THREADS: usize = 12;
/// Characters of a name that a snapshot shows.
const LONGEST_NAME: usize = 120;

#[test]
fn what_we_read() {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    let differ = |case: &Case| {
        let text = summary(&case.import());
        let _bound = settings.bind_to_scope();
        let name = format!("corpus__{}", case.name);
        catch_unwind(|| insta::assert_snapshot!(name, text)).is_err()
    };
    let cases = cases();
    let differing: Vec<&str> =
        cases.iter().filter(|case| differ(case)).map(|case| case.name.as_str()).collect();
    assert!(
        differing.is_empty(),
        "{} cases differ, see above: {}",
        differing.len(),
        differing.join(", ")
    );
}

/// The number of readers does not change the result.
#[test]
fn all_numbers_of_threads_read_the_same() {
    for case in cases() {
        let text = case.text();
        let one = import(&text, 1).unwrap();
        for threads in [2, 5] {
            assert_eq!(import(&text, threads).unwrap(), one, "{} on {threads} threads", case.name);
        }
        assert_eq!(case.import(), one, "{}: compressed or not", case.name);
    }
}

/// All recordings behind each other: many chunks, every form of a sample, each reader's tables different.
#[test]
fn all_numbers_of_threads_read_a_large_text_the_same() {
    let mut text = Vec::new();
    for case in cases() {
        let is_perf_script = case.import().meta().format == "perf script";
        if is_perf_script {
            text.extend_from_slice(&case.text());
            text.extend_from_slice(b"\n\n");
        }
    }
    assert!(text.len() > 40_000_000, "{} bytes are few chunks", text.len());
    let one = import(&text, 1).unwrap();
    assert_eq!(one.check(), Ok(()));
    for threads in [2, 5] {
        let several = import(&text, threads).unwrap();
        // Two profiles of this size cannot be printed.
        assert!(
            several == one,
            "read differently on {threads} threads:\n{}\n{}",
            summary(&one),
            summary(&several)
        );
    }
}

/// Folded stacks lose times and threads, and nothing that folded stacks can hold.
#[test]
fn folded_stacks_survive_their_own_reading() {
    for case in cases() {
        let profile = case.import();
        for all in [false, true] {
            let options = folded::Options { kernel: all, jit: all, ..folded::Options::default() };
            let text = fold(&profile, &options);
            if text.is_empty() {
                continue;
            }
            let again =
                import(text.as_bytes(), 1).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            assert_eq!(again.meta().format, "folded stacks", "{}", case.name);
            assert_eq!(again.meta().losses.damage, Vec::<String>::new(), "{}", case.name);
            let refolded = fold(&again, &folded::Options::default());
            let difference = text.lines().zip(refolded.lines()).find(|(one, two)| one != two);
            assert_eq!(difference, None, "{}", case.name);
            assert_eq!(text.len(), refolded.len(), "{}", case.name);
        }
    }
}

#[test]
fn recordings_of_our_own_are_equal() {
    for case in cases() {
        let profile = case.import();
        let mut bytes = Vec::new();
        file::write(&profile, &mut bytes).unwrap();
        let again = import(&bytes, 1).unwrap();
        assert!(again == profile, "{}:\n{}\n{}", case.name, summary(&profile), summary(&again));
    }
}

fn fold(profile: &Profile, options: &folded::Options) -> String {
    let selection = Selection::default();
    let mut out = Vec::new();
    folded::write(profile, &weigh(profile, &selection), &selection, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A profile on a page.
fn summary(profile: &Profile) -> String {
    let selection = Selection::default();
    let weights = weigh(profile, &selection);
    let mut text = String::new();
    describe(&mut text, profile);
    lanes(&mut text, profile);
    threads(&mut text, profile, &weights);
    let list = |text: &mut String, title: &str, by: TopBy, most: usize| {
        let rows = top(profile, &weights, &selection, by);
        if !rows.is_empty() {
            let _ = writeln!(text, "\n{title} ({}), self and total:", rows.len());
        }
        for row in rows.iter().take(most) {
            let percent = |weight| format!("{:5.1} %", share(weight, weights.total) * 100.0);
            let (own, total) = (percent(row.self_weight), percent(row.total_weight));
            let _ = writeln!(text, "  {own}  {total}  {}", row_name(profile, row));
        }
    };
    list(&mut text, "functions", TopBy::Function, FUNCTIONS);
    list(&mut text, "packages", TopBy::Package, PACKAGES);
    list(&mut text, "categories", TopBy::Category, usize::MAX);
    visible(text.trim_end())
}

fn describe(text: &mut String, profile: &Profile) {
    let meta = profile.meta();
    let _ = writeln!(text, "{}, {:.6} s", meta.format, profile.duration_ns() as f64 / 1e9);
    for (key, value) in [("host", &meta.host), ("system", &meta.system), ("command", &meta.command)]
    {
        if let Some(value) = value {
            let _ = writeln!(text, "{key}: {value}");
        }
    }
    if let (Some(start), Some(interval)) = (meta.start_clock_s, meta.interval_ns) {
        let _ = writeln!(text, "starts at {start}, every {interval} ns");
    }
    let losses = &meta.losses;
    let _ = writeln!(text, "{} of {} frames have no name", losses.unnamed_total(), losses.frames);
    for (reason, count) in &losses.unnamed {
        let _ = writeln!(text, "  {count}: {reason}");
    }
    let (lost, throttled, skipped) = (losses.lost, losses.throttled, losses.skipped);
    if lost + throttled + skipped > 0 {
        let _ = writeln!(text, "lost {lost}, throttled {throttled}, skipped {skipped}");
    }
    for sentence in &losses.damage {
        let _ = writeln!(text, "damage: {sentence}");
    }
    if let Some(unclosed) = losses.unclosed {
        let _ = writeln!(text, "the last sample of {} is not closed", unclosed.weight);
    }
}

fn lanes(text: &mut String, profile: &Profile) {
    let _ = writeln!(
        text,
        "{} functions, {} frames, {} stacks, {} markers",
        profile.functions().len(),
        profile.frames().len(),
        profile.stacks().len(),
        profile.markers().len() + profile.off_cpu().len()
    );
    for lane in profile.lanes() {
        let unit = match lane.unit {
            Unit::Ns => "ns",
            Unit::Count => "samples",
            Unit::Bytes => "bytes",
            Unit::Event => "events",
        };
        let weight =
            lane.samples.weight.iter().fold(0u64, |sum, weight| sum.saturating_add(*weight));
        let yes =
            |is: bool, word: &str| if is { format!(", {word}") } else { format!(", not {word}") };
        let _ = writeln!(
            text,
            "lane {}: {} rows, {weight} {unit}{}{}",
            profile.text(lane.name),
            lane.samples.len(),
            yes(lane.timed, "timed"),
            yes(lane.counted, "counted")
        );
    }
}

fn threads(text: &mut String, profile: &Profile, weights: &Weights) {
    let _ = writeln!(
        text,
        "\n{} threads of {} processes:",
        profile.threads().len(),
        profile.processes().len()
    );
    let rows = top(profile, weights, &Selection::default(), TopBy::Thread);
    for row in rows.iter().take(THREADS) {
        let TopKey::Thread(id) = row.key else { continue };
        let thread = profile.thread(id);
        let number = |id: Option<u32>| id.map_or("–".to_owned(), |id| id.to_string());
        let (pid, tid) = (number(profile.process(thread.process).pid), number(thread.tid));
        let name = profile.text(thread.name);
        let _ = writeln!(
            text,
            "  {:6}  {name:?} {pid}/{tid}, {}",
            row.self_samples,
            thread.role.label()
        );
    }
}

fn row_name(profile: &Profile, row: &TopRow) -> String {
    match row.key {
        TopKey::Function(id) => {
            let function = profile.functions().row(id);
            let short: String = profile.text(function.name).chars().take(LONGEST_NAME).collect();
            let mut name = format!("{short} · {}", row.category.word());
            let place = profile
                .source_path(function.source)
                .or_else(|| profile.module_name(function.module));
            if let Some(place) = place {
                let _ = write!(name, " · {place}");
            }
            for number in [function.line, function.column].iter().filter(|number| **number > 0) {
                let _ = write!(name, ":{number}");
            }
            name
        }
        TopKey::Package(id, _) => profile.text(id).to_owned(),
        TopKey::Category(category) => category.word().to_owned(),
        _ => String::new(),
    }
}

/// Snapshots are read in terminals and reviews: no hostile name may control them.
fn visible(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        let is_plain = character == '\n' || !(character.is_control() || is_invisible(character));
        if is_plain { out.push(character) } else { out.extend(character.escape_unicode()) }
    }
    out
}

fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
