//! What a picture is of, in words: its title, and the facts that a reader needs to trust it, the most important first.

use profile::{Category, ProcessId, Profile, Role};
use views::{Entry, Lens, Selection, Weights};

use super::Options;

const SECOND_NS: u64 = 1_000_000_000;

/// The process, the time and the number of samples.
pub(super) fn title(profile: &Profile, weights: &Weights, selection: &Selection) -> String {
    let mut parts = vec![subject(profile, weights)];
    if is_timed(profile, weights) {
        let (start, end) = range_ns(profile, selection);
        parts.push(duration(end - start));
    }
    if weights.lane.is_some_and(|id| profile.lane(id).counted) {
        parts.push(counted(weights.samples, "sample"));
    }
    parts.join(" · ")
}

/// Everything else.
pub(super) fn facts(
    profile: &Profile,
    weights: &Weights,
    selection: &Selection,
    options: &Options,
    lens: Lens,
) -> Vec<String> {
    let mut facts = of_selection(profile, selection);
    if lens != Lens::Everything {
        facts.insert(0, lens.label().to_owned());
    }
    if options.reverse {
        facts.push("merged from the leaves".into());
    }
    let lane = weights.lane.map_or("", |id| profile.text(profile.lane(id).name));
    if lane != "samples" {
        facts.push(lane.to_owned());
    }
    facts.extend(of_quality(profile));
    facts.extend(started(profile, selection));
    facts.extend(profile.meta().node_version.as_ref().map(|version| format!("Node {version}")));
    facts.retain(|fact| !fact.is_empty());
    facts
}

fn of_selection(profile: &Profile, selection: &Selection) -> Vec<String> {
    let labels =
        |list: &[Category]| list.iter().map(|one| one.label()).collect::<Vec<_>>().join(", ");
    let mut facts = Vec::new();
    if selection.range_ns.is_some() {
        let (start, end) = range_ns(profile, selection);
        let seconds = |ns: u64| ns as f64 / SECOND_NS as f64;
        let whole = duration(profile.duration_ns());
        facts.push(format!("{:.2}–{:.2} s of {whole}", seconds(start), seconds(end)));
    }
    if let Some(pattern) = &selection.search {
        facts.push(format!("stacks that match {pattern}"));
    }
    if let Some(chosen) = &selection.entry {
        facts.push(format!("asked for by {}", chosen.words));
    }
    if let Some(categories) = &selection.categories {
        facts.push(format!("only {}", labels(categories)));
    }
    if !selection.hidden.is_empty() {
        facts.push(format!("without {}", labels(&selection.hidden)));
    }
    match selection.threads.as_deref() {
        None => {}
        Some([id]) => {
            let thread = profile.thread(*id);
            facts.push(format!(
                "only thread {} ({})",
                profile.text(thread.name),
                thread.role.label()
            ));
        }
        Some(ids) => {
            let all = counted(profile.threads().len() as u64, "thread");
            facts.push(format!("{} of {all}", ids.len()));
        }
    }
    facts
}

fn of_quality(profile: &Profile) -> Vec<String> {
    let losses = &profile.meta().losses;
    let mut facts = Vec::new();
    if losses.lost > 0 {
        facts.push(format!("{} lost", grouped(losses.lost)));
    }
    if losses.hidden_kernel_ns > 0 {
        facts.push(format!("{} in the kernel not visible", duration(losses.hidden_kernel_ns)));
    }
    if !losses.damage.is_empty() {
        facts.push("damaged input".into());
    }
    if losses.frames > 0 {
        let named = losses.frames.saturating_sub(losses.unnamed_total());
        facts.push(format!("{} of frames named", percent(named, losses.frames)));
    }
    // Other inputs may have lost samples without saying so.
    if losses.lost == 0 && !profile.meta().way_in.is_empty() {
        facts.push("0 lost".into());
    }
    facts
}

/// Who ran, as people say it.
fn subject(profile: &Profile, weights: &Weights) -> String {
    let process_of = |entry: &Entry| profile.thread(entry.thread).process;
    let mut processes: Vec<ProcessId> = weights.entries.iter().map(process_of).collect();
    processes.sort_unstable();
    processes.dedup();
    match processes.as_slice() {
        [] => "nothing".into(),
        [process] => process_name(profile, weights, *process),
        _ => counted(processes.len() as u64, "process"),
    }
}

fn process_name(profile: &Profile, weights: &Weights, id: ProcessId) -> String {
    let process = profile.process(id);
    let mut name = match (profile.text(process.app), profile.text(process.name)) {
        ("", "") => main_thread_name(profile, weights),
        ("", name) => name,
        (app, _) => app,
    }
    .to_owned();
    if let Some(pid) = process.pid {
        name = format!("{name} {pid}");
    }
    match profile.text(process.container) {
        _ if name.is_empty() => "flame graph".into(),
        "" => name.trim().to_owned(),
        container => format!("{name} in {container}"),
    }
}

/// The name of the thread that runs the loop, else of the busiest one.
fn main_thread_name<'a>(profile: &'a Profile, weights: &Weights) -> &'a str {
    let rank = |entry: &&Entry| (profile.thread(entry.thread).role == Role::MainLoop, entry.weight);
    let main = weights.entries.iter().max_by_key(rank);
    main.map_or("", |entry| profile.text(profile.thread(entry.thread).name))
}

fn is_timed(profile: &Profile, weights: &Weights) -> bool {
    weights.lane.is_some_and(|id| profile.lane(id).timed)
}

/// The selected time, within the recording.
fn range_ns(profile: &Profile, selection: &Selection) -> (u64, u64) {
    let whole_ns = profile.duration_ns();
    let Some(range) = &selection.range_ns else { return (0, whole_ns) };
    let end = range.end.min(whole_ns.max(range.start));
    (range.start.min(end), end)
}

fn started(profile: &Profile, selection: &Selection) -> Option<String> {
    let start_ns: u64 = profile.meta().start_unix_ns.as_ref()?.parse().ok()?;
    let (offset_ns, _) = range_ns(profile, selection);
    Some(format!("from {}", utc(start_ns.saturating_add(offset_ns) / SECOND_NS)))
}

/// `2025-06-01 03:15:02 UTC`.
fn utc(unix_seconds: u64) -> String {
    let (mut days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", days + 1)
}

fn duration(ns: u64) -> String {
    let count = ns as f64;
    match ns {
        0..1_000_000 => format!("{:.0} µs", count / 1e3),
        1_000_000..SECOND_NS => format!("{:.0} ms", count / 1e6),
        SECOND_NS..100_000_000_000 => format!("{:.1} s", count / 1e9),
        _ => format!("{} s", grouped(ns / SECOND_NS)),
    }
}

/// `43.1 %`.
pub(super) fn percent(part: u64, whole: u64) -> String {
    match views::share(part, whole) * 100.0 {
        share if part > 0 && share < 0.05 => "<0.1 %".into(),
        share if part < whole && share >= 99.95 => "99.9 %".into(),
        share => format!("{share:.1} %"),
    }
}

fn counted(count: u64, noun: &str) -> String {
    let ending = match noun {
        _ if count == 1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", grouped(count))
}

/// `2,970`.
pub(super) fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Spec, profile};
    use super::*;
    use profile::ThreadId;
    use views::weigh;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(0u64), "0");
        assert_eq!(grouped(999u64), "999");
        assert_eq!(grouped(1_234_567u64), "1,234,567");
        assert_eq!(counted(1, "process"), "1 process");
        assert_eq!(counted(2, "process"), "2 processes");
        assert_eq!(duration(29_600_000_000), "29.6 s");
        assert_eq!(duration(1_234_000_000_000), "1,234 s");
        assert_eq!(duration(12_400_000), "12 ms");
        assert_eq!(percent(1, 3000), "<0.1 %");
        assert_eq!(percent(2999, 3000), "99.9 %");
        assert_eq!(percent(3000, 3000), "100.0 %");
        assert_eq!(percent(0, 0), "0.0 %");
    }

    #[test]
    fn days_are_counted() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_748_747_702), "2025-06-01 03:15:02 UTC");
        assert_eq!(utc(1_767_225_599), "2025-12-31 23:59:59 UTC");
    }

    #[test]
    fn a_title_names_who_and_how_long() {
        let profile = profile(&Spec::of(&[("a", 1), ("b", 2)]));
        let weights = weigh(&profile, &Selection::default());
        assert_eq!(
            title(&profile, &weights, &Selection::default()),
            "node 4140 · 20.0 s · 3 samples"
        );
    }

    #[test]
    fn facts_name_what_is_left_out() {
        let profile = profile(&Spec::of(&[("a", 1), ("b", 2)]));
        let selection = Selection {
            range_ns: Some(5 * SECOND_NS..u64::MAX),
            hidden: vec![Category::Kernel],
            threads: Some(vec![ThreadId(0)]),
            ..Selection::default()
        };
        let weights = weigh(&profile, &selection);
        let facts = facts(
            &profile,
            &weights,
            &selection,
            &Options { reverse: true, ..Options::default() },
            Lens::Code,
        );
        let expected = [
            "my code",
            "5.00–20.00 s of 20.0 s",
            "without kernel",
            "only thread node (main loop)",
            "merged from the leaves",
            "cpu-clock",
            "0 lost",
            "from 2025-06-01 03:15:07 UTC",
            "Node v22.1.0",
        ];
        assert_eq!(facts, expected);
    }
}
