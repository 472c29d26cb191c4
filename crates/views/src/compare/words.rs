//! The sentences about a comparison. The page writes the same of what the user picks
//! (`page/src/draw/compare/words.ts`), and a test compares both.

use super::RateUnit;
use super::spread::Verdict;
use crate::text::{percent, thousands};

/// Why no rates are compared.
pub(super) const OTHER_UNITS: &str = "The two count in different units: shares are compared.";
pub(super) const NO_LENGTH: &str =
    "Of one at least it is not known how long it took: shares are compared.";

/// How all of it changed: `The main loop used 0.31 cores less (33 %): 0.94 before, 0.63 after.`
pub(super) fn whole(
    are_loops: bool,
    (before, now): (f64, f64),
    verdict: Verdict,
    unit: RateUnit,
) -> String {
    let what = if are_loops { "The main loop" } else { "All threads" };
    let verb = if unit == RateUnit::Cores { "used" } else { "counted" };
    let words = |value: f64| format!("{}{}", rate(value, unit), behind(unit));
    let short = |value: f64| if unit == RateUnit::Cores { rate(value, unit) } else { words(value) };
    if verdict == Verdict::Noise {
        let (before, now) = (words(before), short(now));
        return format!("{what} {verb} {before} before and {now} after: the same within noise.");
    }
    let change = (now - before).abs();
    let part = match before > 0.0 {
        true => format!(" ({} %)", (100.0 * change / before + 0.5).floor()),
        false => String::new(),
    };
    let direction = if now < before { "less" } else { "more" };
    let end = if verdict == Verdict::Unknown { "; noise unknown" } else { "" };
    let (size, before, now) = (words(change), short(before), short(now));
    format!("{what} {verb} {size} {direction}{part}: {before} before, {now} after{end}.")
}

/// What stands before the changes.
pub(super) fn intro(is_any: bool, is_noise_known: bool) -> &'static str {
    match (is_any, is_noise_known) {
        (false, _) => "No function changed by more than noise.",
        (true, true) => "Largest changes of own time, beyond noise:",
        (true, false) => "Largest changes of own time, noise unknown:",
    }
}

/// `−0.31 cores, 0.35 → 0.04`; shares where there is no unit: `+3.1 points, 1.0 % → 4.1 %`.
pub(super) fn change(verdict: Verdict, before: f64, now: f64, unit: Option<RateUnit>) -> String {
    let words = |value: f64| unit.map_or_else(|| share(value), |unit| rate(value, unit));
    let end = unit.map_or("", behind);
    match verdict {
        Verdict::New => format!("new, {}{end}", words(now)),
        Verdict::Gone => format!("gone, {}{end}", words(before)),
        _ => {
            let sign = if now > before { "+" } else { "−" };
            let size = (now - before).abs();
            let size = match unit {
                Some(unit) => format!("{}{end}", rate(size, unit)),
                None => format!("{:.1} points", size * 100.0),
            };
            format!("{sign}{size}, {} → {}", words(before), words(now))
        }
    }
}

fn share(share: f64) -> String {
    match share {
        share if share > 0.0 && share < 0.0005 => "<0.1 %".to_owned(),
        share => percent(share),
    }
}

/// A rate without its unit.
fn rate(value: f64, unit: RateUnit) -> String {
    match unit {
        RateUnit::Bytes => bytes(value.round()),
        RateUnit::Events => thousands(value.round() as u64),
        RateUnit::Cores if value > 0.0 && value < 0.0005 => "<0.001".to_owned(),
        RateUnit::Cores if value < 0.0995 => format!("{value:.3}"),
        RateUnit::Cores => format!("{value:.2}"),
    }
}

/// What stands behind a rate.
fn behind(unit: RateUnit) -> &'static str {
    match unit {
        RateUnit::Cores => " cores",
        RateUnit::Bytes | RateUnit::Events => "/s",
    }
}

/// With one digit from a KiB on.
fn bytes(count: f64) -> String {
    let units =
        [(1e0, "bytes"), (1024f64, "KiB"), (1024f64.powi(2), "MiB"), (1024f64.powi(3), "GiB")];
    let known = units.into_iter().rev().find(|(size, _)| count >= *size);
    match known {
        None | Some((_, "bytes")) => format!("{count} bytes"),
        Some((size, unit)) => format!("{:.1} {unit}", count / size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_one_plain_sentence() {
        let cores = |values, verdict| whole(true, values, verdict, RateUnit::Cores);
        assert_eq!(
            cores((0.94, 0.63), Verdict::Less),
            "The main loop used 0.31 cores less (33 %): 0.94 before, 0.63 after."
        );
        assert_eq!(
            cores((0.94, 0.95), Verdict::Noise),
            "The main loop used 0.94 cores before and 0.95 after: the same within noise."
        );
        assert_eq!(
            whole(false, (0.0, 2_097_152.0), Verdict::New, RateUnit::Bytes),
            "All threads counted 2.0 MiB/s more: 0 bytes/s before, 2.0 MiB/s after."
        );
    }

    #[test]
    fn changes_say_how_much_and_from_where_to_where() {
        let cores = Some(RateUnit::Cores);
        assert_eq!(change(Verdict::Less, 0.35, 0.04, cores), "−0.31 cores, 0.35 → 0.040");
        assert_eq!(change(Verdict::New, 0.0, 0.0504, cores), "new, 0.050 cores");
        assert_eq!(change(Verdict::More, 0.0001, 0.05, cores), "+0.050 cores, <0.001 → 0.050");
        assert_eq!(change(Verdict::More, 0.01, 0.041, None), "+3.1 points, 1.0 % → 4.1 %");
    }
}
