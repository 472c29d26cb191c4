//! What `record` prints: what it does, why it cannot, what came of it, and what to type next.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use profile::Profile;
use views::Selection;

use crate::export::Form;
use crate::failure::{Failure, warn};
use crate::invoked;
use crate::text::{duration, plural, thousands, utc};

/// `nodescope-server-4140-20261115-031502.nodescope`, here.
pub(super) fn name_for(name: &str, pid: u32) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let is_plain =
        |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-' || *letter == '_';
    let name = name.trim_start_matches('@').replace('/', "-");
    let name: String = name.chars().filter(is_plain).take(30).collect();
    let name = if name.is_empty() { "node" } else { &name };
    PathBuf::from(format!("nodescope-{name}-{pid}-{}.nodescope", utc(seconds)))
}

/// Where no report is printed that would warn.
pub(super) fn warn_of_few_samples(profile: &Profile) {
    let weights = views::weigh(profile, &Selection::default());
    let (busy_ns, samples) = views::busy(profile, &weights);
    if samples < views::FEW_SAMPLES {
        let seconds = (profile.duration_ns() as f64 / 1e9).max(0.001);
        let cores = busy_ns as f64 / 1e9 / seconds;
        warn(&format!(
            "only {}: it used {cores:.2} cores for {}. Record longer (-d 2m){}, or while it is busy",
            plural(samples, "sample"),
            duration(profile.duration_ns()),
            if views::is_fast(profile) { "" } else { ", at a higher rate (-F 999)" }
        ));
    }
}

pub(super) fn print_written(profile: &Profile, out: &Path) {
    warn(&format!("wrote {} ({})", out.display(), plural(samples(profile), "sample")));
    let lost = profile.meta().losses.lost;
    if lost > 0 && profile.meta().way_in == "inspector" {
        warn(&format!(
            "{} came late, because the CPUs or V8 were busy: the sample before each gap counts for it",
            plural(lost, "sample")
        ));
    } else if lost > 0 {
        warn(&format!("{} samples were lost: try a lower rate, -F 49", thousands(lost)));
    }
}

pub(super) fn print_next(form: Form, out: &Path) -> Result<(), Failure> {
    let (program, out) = (invoked::name(), invoked::quoted(out));
    match form {
        Form::Nodescope => {
            warn(&format!("next: {program} view {out}, or {program} report {out}"));
        }
        Form::Svg | Form::Html => warn("open it in a browser"),
        _ => {}
    }
    Ok(())
}

fn samples(profile: &Profile) -> u64 {
    profile.lanes().first().map_or(0, |lane| lane.samples.len() as u64)
}
