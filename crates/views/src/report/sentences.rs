//! The sentences under the headline: how good the recording is, and what people should know before they read on.

use std::fmt::Write;

use profile::{AwaitCounts, Cost, Profile, WITHOUT_MAP};

use super::{LossesRow, Report, Sentence, inlined};
use crate::text::{duration, percent, plural, thousands};
use crate::weights::share;

/// How much was recorded. Folded stacks hold samples, nanoseconds or anything else.
fn extent(report: &Report) -> String {
    match report.event.as_str() {
        _ if !report.counted && report.samples == 0 => "no samples".into(),
        _ if !report.counted => format!("counts add up to {}", thousands(report.samples)),
        "cpu-clock" if report.is_ours => plural(report.samples, "sample"),
        "" | "samples" => plural(report.samples, "sample"),
        event => format!("{} of {event}", plural(report.samples, "sample")),
    }
}

impl Report {
    /// How good the recording is, and what people should know before they read on.
    pub fn sentences(&self) -> Vec<Sentence> {
        let inlined = &self.losses.inlined;
        let mut sentences: Vec<Sentence> = Vec::new();
        let mut add = |text: Option<String>, is_caution: bool| {
            sentences.extend(text.map(|text| Sentence { text, is_caution }));
        };
        add(inlined::doubt(inlined), true);
        add(Some(quality(self)), is_poor(self));
        add(inlined::estimate(inlined), false);
        add(other_events(self), false);
        add(hidden_kernel(self), true);
        add(unsampled(self), true);
        add(crashes(self), true);
        add(deep_stacks(self), false);
        add(unknown_awaits(self), self.format != BY_INSPECTOR);
        add(missing_map(self), true);
        add(too_few(self), true);
        add(self.cost.as_ref().map(cost_sentence), false);
        self.loop_notes.iter().for_each(|note| add(Some(note.clone()), false));
        sentences
    }
}

/// So many findings are shown, unless all rows are asked for.
pub const MOST_FINDINGS: usize = 5;

/// What stands for the others.
pub fn more_findings(count: usize) -> String {
    format!("… and {count} more; report -n 0 shows all")
}

/// What the user should know of a file before trusting the picture.
pub fn warnings(profile: &Profile) -> Vec<String> {
    let losses = &profile.meta().losses;
    let mut sentences = losses.damage.clone();
    if losses.skipped > 1 {
        sentences.push(format!("{} lines in all were not understood", thousands(losses.skipped)));
    }
    if !sentences.is_empty() {
        sentences.push("showing what could be read".into());
    }
    sentences.extend(losses.notes.iter().cloned());
    if losses.ambiguous > 0 {
        let count = thousands(losses.ambiguous);
        sentences.push(format!(
            "{count} addresses had more than one JavaScript name while V8 reused them; the last is shown"
        ));
    }
    sentences
}

fn other_events(report: &Report) -> Option<String> {
    let others = report.events.iter().filter(|event| event.name != report.event);
    let others: Vec<String> =
        others.map(|event| format!("{} ({})", event.name, thousands(event.samples))).collect();
    (report.events.len() > 1)
        .then(|| format!("Other events: {}; --event shows them.", others.join(", ")))
}

/// More lost samples, or more frames without a name, are worth a caution.
const MUCH_LOST: f64 = 0.01;
const MANY_UNNAMED: f64 = 0.05;

fn is_poor(report: &Report) -> bool {
    let LossesRow { lost, throttled, unnamed_frames, frames, .. } = report.losses;
    lost as f64 > MUCH_LOST * report.samples as f64
        || unnamed_frames as f64 > MANY_UNNAMED * frames as f64
        || throttled > 0
}

/// For how long the recorder stopped the target, and how much of its memory it took.
fn cost_sentence(cost: &Cost) -> String {
    let (start, window) =
        (duration(cost.start_ns.saturating_add(cost.list_ns)), duration(cost.window_ns));
    let windows = plural(cost.windows, "window");
    let moments = match cost.end_ns {
        0 => format!("for {start} when it began, and for at most {window} at each of {windows}"),
        end_ns => {
            let end = duration(end_ns);
            format!(
                "for {start} when it began, at most {window} at each of {windows}, and {end} when it ended"
            )
        }
    };
    let memory = match cost.memory_bytes {
        0..100_000 => String::new(),
        bytes => {
            format!("; a thread's samples took up to {:.1} MB of its memory", bytes as f64 / 1e6)
        }
    };
    format!("Recording stopped the process {moments}{memory}.")
}

/// Time that is in no table below.
fn hidden_kernel(report: &Report) -> Option<String> {
    let seconds = report.losses.hidden_kernel_s;
    let time = duration((seconds * 1e9) as u64);
    let share =
        report.losses.cpu_s.filter(|cpu_s| *cpu_s > seconds).map(|cpu_s| percent(seconds / cpu_s));
    let share = share.map(|share| format!(" ({share} of all)")).unwrap_or_default();
    (seconds >= 0.01).then(|| {
        format!(
            "{time} of CPU time in the kernel{share} is not in these numbers: sudo would show it."
        )
    })
}

/// Time that should have been sampled and was not.
fn unsampled(report: &Report) -> Option<String> {
    let LossesRow { unsampled_s, cpu_s, .. } = report.losses;
    let share = percent(unsampled_s / cpu_s.filter(|_| unsampled_s > 0.0)?);
    let time = duration((unsampled_s * 1e9) as u64);
    Some(format!(
        "{time} of the CPU time that was used, {share}, has no sample: what it did is not known."
    ))
}

/// `0.03 cores busy · 89 samples, all frames named, none lost`
fn quality(report: &Report) -> String {
    let losses = &report.losses;
    let mut parts = vec![extent(report)];
    parts.extend(named(losses).filter(|_| report.samples > 0));
    parts.push(match (losses.lost, report.is_ours) {
        (0, true) => "none lost".to_owned(),
        (0, false) => "none known to be lost".to_owned(),
        (lost, _) => format!("{} lost", thousands(lost)),
    });
    if losses.throttled > 0 {
        parts.push(format!("the kernel throttled sampling {} times", thousands(losses.throttled)));
    }
    let cores =
        report.cores_busy.map(|cores| format!("{cores:.2} cores busy · ")).unwrap_or_default();
    cores + &parts.join(", ")
}

/// How many frames have a name, and why not all.
fn named(losses: &LossesRow) -> Option<String> {
    let named = 1.0 - losses.unnamed_frames as f64 / losses.frames as f64;
    if losses.frames == 0 {
        return None;
    }
    if losses.unnamed_frames == 0 {
        return Some("all frames named".to_owned());
    }
    // Rounded down: one frame without a name is enough not to be 100 %.
    let mut text = format!("{} of frames named", percent((named * 1000.0).floor() / 1000.0));
    let worst = losses.unnamed.iter().max_by_key(|(_, count)| **count);
    if let Some((reason, _)) = worst.filter(|_| named < 0.995) {
        let _ = write!(text, " (missing mostly: {reason})");
    }
    Some(text)
}

/// With so few samples no share is a headline.
pub(crate) fn too_few(report: &Report) -> Option<String> {
    let samples = match report.samples {
        0 => "No sample".to_owned(),
        count => format!("Only {}", plural(count, "sample")),
    };
    let [longer, faster] = match report.is_ours {
        true => ["longer (-d 2m)", ", at a higher rate (-F 999)"],
        false => ["longer", ", at a higher rate"],
    };
    let faster = if report.is_fast { "" } else { faster };
    report.too_few_samples.then(|| match report.is_part {
        true => format!("{samples} selected: too few to name shares."),
        false => {
            format!(
                "{samples}: too few to name shares; record {longer}{faster}, or while it is busy."
            )
        }
    })
}

/// Crashes of nodescope itself.
fn crashes(report: &Report) -> Option<String> {
    let times = match report.losses.helper_crashes {
        0 => return None,
        1 => "once".to_owned(),
        count => format!("{} times", thousands(count)),
    };
    Some(format!(
        "The part of nodescope that reads names crashed {times} while it recorded: some samples have no callers, and no names."
    ))
}

/// Stacks of which only a part was copied.
fn deep_stacks(report: &Report) -> Option<String> {
    let cut = report.losses.stacks_cut;
    (cut > 0).then(|| {
        let stacks = plural(cut, "stack");
        format!("{stacks} went deeper than the copy taken with the sample: the outer callers are “… deeper than the copy”.")
    })
}

/// What a recording by the inspector is called.
const BY_INSPECTOR: &str = "recorded by the inspector";

/// From this part of all samples on, those whose callers across await are not known are worth a caution.
const MANY_UNKNOWN: f64 = 0.2;

/// What runs after an await, and stands alone.
fn unknown_awaits(report: &Report) -> Option<String> {
    if report.format == BY_INSPECTOR {
        let sentence = "Callers across await are not known: the inspector does not report them.";
        return Some(sentence.into());
    }
    let event = report.events.iter().find(|event| event.name == report.event)?;
    let unknown = share(unknown(&report.losses.awaits), event.samples);
    (unknown >= MANY_UNKNOWN).then(|| {
        format!(
            "Callers across await are not known for {:.0} % of all samples: these stand alone, as “after await”.",
            unknown * 100.0
        )
    })
}

fn unknown(counts: &AwaitCounts) -> u64 {
    counts.late.saturating_add(counts.unread)
}

impl Report {
    /// How well it is known what awaits the functions that run after an await.
    pub fn awaits(&self) -> Option<String> {
        let counts = &self.losses.awaits;
        let total = counts.total();
        let percent = |count: u64| (share(count, total) * 100.0).round();
        let known = counts.read.saturating_add(counts.cut);
        (total > 0).then(|| {
            format!(
                "{} ran after an await: their callers were read for {} %, inferred from other samples for {} %, unknown for {} %.",
                plural(total, "sample"),
                percent(known),
                percent(counts.inferred),
                percent(unknown(counts))
            )
        })
    }
}

/// The most common reason for nameless JavaScript has a remedy.
fn missing_map(report: &Report) -> Option<String> {
    let count = *report.losses.unnamed.get(WITHOUT_MAP)?;
    let share = count as f64 / report.losses.frames.max(1) as f64;
    (share >= 0.01).then(|| {
        let flags = "--perf-basic-prof --interpreted-frames-native-stack";
        let or_give =
            if report.format == "perf.data" { ", or give its map: --perf-map FILE" } else { "" };
        format!("[JIT] is JavaScript without names: start Node with {flags} to see them{or_give}.")
    })
}
