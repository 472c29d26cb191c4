//! What `record` says: what it does, why it cannot, what came of it, and what to type next.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use capture::{AttachError, Sampler};
use profile::Profile;

use super::target::Target;
use crate::export::Form;
use crate::failure::{Failure, warn};
use crate::report;
use crate::text::{duration, percent, plural, thousands};

/// Fewer samples than this say little.
const FEW_SAMPLES: u64 = 100;

/// `nodescope-server-4140-20261115-031502.nodescope`, here.
pub(super) fn default_name(target: &Target) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-' || *letter == '_';
    let name: String = target.name().chars().filter(is_plain).take(30).collect();
    let pid = target.pids().first().copied().unwrap_or(0);
    PathBuf::from(format!("nodescope-{name}-{pid}-{}.nodescope", utc(seconds)))
}

/// `20261115-031502`, in UTC.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years: each is 146,097 days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

pub(super) fn explain(error: AttachError, target: &Target) -> Failure {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    match error {
        AttachError::Gone(pid) => {
            Failure::failed(format!("there is no process {pid}")).hint("nodescope ps lists what runs here")
        }
        AttachError::Denied(_) if target.is_system() => {
            Failure::failed("you may not sample the whole machine").hint("run nodescope with sudo")
        }
        AttachError::Hidden(event) => {
            Failure::failed(format!("{event} happen in the kernel, which you may not sample"))
                .hint("run nodescope with sudo")
        }
        AttachError::Denied(_) if target.is_of_another_user() => {
            Failure::failed(format!("you may not sample {}: it belongs to another user", target.name()))
                .hint("run nodescope as that user, or with sudo")
        }
        AttachError::Denied(_) if is_filtered() => Failure::failed(format!(
            "you may not sample {}: a seccomp filter is in the way, as in most containers",
            target.name()
        ))
        .hint("start the container with --security-opt seccomp=unconfined, or record it from outside"),
        AttachError::Denied(_) => Failure::failed(format!(
            "you may not sample {} (kernel.perf_event_paranoid is {})",
            target.name(),
            paranoid.trim()
        ))
        .hint("run nodescope with sudo, or: sudo sysctl kernel.perf_event_paranoid=1"),
        AttachError::Failed(error) => Failure::failed(format!("perf events do not work here: {error}"))
            .hint("in a container, seccomp may forbid them"),
    }
}

/// Whether a filter decides about our system calls: no sysctl would help then, and in a container nobody has sudo.
fn is_filtered() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"))
}

pub(super) fn say_start(sampler: &Sampler, target: &Target, frequency: u32, limit: Option<Duration>) {
    let time = limit.map_or_else(
        || "until it ends".to_owned(),
        |limit| format!("for {}", duration(limit.as_nanos() as u64)),
    );
    let kernel = match fs::metadata("/proc/self").map(|meta| meta.uid()) {
        _ if sampler.sees_kernel() => "",
        Ok(0) => ", without the kernel's time: root has no CAP_PERFMON here",
        _ => ", without the kernel's time: you are not root",
    };
    warn(&format!(
        "recording {} {time}, {frequency} times a second, by perf events{kernel}",
        target.describe()
    ));
}

pub(super) fn say_end(profile: &Profile, frequency: u32, form: Form, out: &Path) -> Result<(), Failure> {
    let samples: u64 = profile.lanes().first().map_or(0, |lane| lane.samples.len() as u64);
    if samples < FEW_SAMPLES {
        let seconds = (profile.duration_ns() as f64 / 1e9).max(0.001);
        let cores = samples as f64 / f64::from(frequency) / seconds;
        warn(&format!(
            "only {}: it used {} of a core in {}. Record it longer (-d 2m), under load, or more often (-F 999)",
            plural(samples, "sample"),
            percent(cores.min(1.0)),
            duration(profile.duration_ns())
        ));
    }
    if out == Path::new("-") {
        return Ok(());
    }
    report::print_head(profile)?;
    let out = out.display();
    let next = match form {
        Form::Nodescope => format!("; next: nodescope report {out}, or nodescope export {out} -o flame.svg"),
        Form::Svg => "; open it in a browser".to_owned(),
        _ => String::new(),
    };
    warn(&format!("wrote {out} ({}){next}", plural(samples, "sample")));
    let lost = profile.meta().losses.lost;
    if lost > 0 {
        warn(&format!("{} samples were lost: try a lower rate, -F 49", thousands(lost)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(utc(0), "19700101-000000");
        assert_eq!(utc(951_782_399), "20000228-235959");
        assert_eq!(utc(951_782_400), "20000229-000000");
        assert_eq!(utc(1_794_712_502), "20261115-031502");
    }
}
