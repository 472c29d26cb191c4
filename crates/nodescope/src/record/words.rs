//! What `record` says: what it does, why it cannot, what came of it, and what to type next.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use profile::{Category, Profile, StackId};

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

/// Where no report is printed that would say it.
pub(super) fn say_few(profile: &Profile, frequency: u32) {
    let samples = busy_samples(profile);
    if samples < views::FEW_SAMPLES {
        let seconds = (profile.duration_ns() as f64 / 1e9).max(0.001);
        let cores = samples as f64 / f64::from(frequency) / seconds;
        warn(&format!(
            "only {}: it used {cores:.2} cores for {}. Record longer (-d 2m), at a higher rate (-F 999), or while it is busy",
            plural(samples, "sample"),
            duration(profile.duration_ns())
        ));
    }
}

pub(super) fn say_written(profile: &Profile, out: &Path) {
    warn(&format!("wrote {} ({})", out.display(), plural(samples(profile), "sample")));
    let lost = profile.meta().losses.lost;
    if lost > 0 && profile.meta().way_in == "inspector" {
        warn(&format!(
            "V8 took {} too late, because CPUs or V8 itself were busy: the sample before each of them counts for the gap",
            plural(lost, "sample")
        ));
    } else if lost > 0 {
        warn(&format!("{} samples were lost: try a lower rate, -F 49", thousands(lost)));
    }
}

pub(super) fn say_next(form: Form, out: &Path) -> Result<(), Failure> {
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

/// Those of a thread that did something: V8 also samples threads that wait.
fn busy_samples(profile: &Profile) -> u64 {
    let stacks = profile.stacks();
    let is_idle = |stack: &&StackId| {
        stack.some().is_some_and(|stack| stacks.category[stack.index()] == Category::Idle)
    };
    profile.lanes().first().map_or(0, |lane| {
        let all = lane.samples.stack.len();
        (all - lane.samples.stack.iter().filter(is_idle).count()) as u64
    })
}

fn samples(profile: &Profile) -> u64 {
    profile.lanes().first().map_or(0, |lane| lane.samples.len() as u64)
}
