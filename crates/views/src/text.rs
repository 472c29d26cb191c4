//! Numbers, shares, durations and names as sentences and tables have them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Cuts the end off so that the text fits.
pub fn fit_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut taken = 0;
    let kept = text.chars().take_while(|character| {
        taken += character.width().unwrap_or(0);
        taken < columns
    });
    let mut cut: String = kept.collect();
    cut.push('…');
    cut
}

/// Cuts the start off so that the text fits: the end of a path matters most.
pub fn fit_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut taken = 0;
    let kept: Vec<char> = text
        .chars()
        .rev()
        .take_while(|character| {
            taken += character.width().unwrap_or(0);
            taken < columns
        })
        .collect();
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// `12345` → `12,345`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `0.1234` → `12.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A count with its noun: `1 sample`, `2 samples`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// A time in the unit that reads best.
pub fn duration(ns: u64) -> String {
    match ns as f64 {
        ns if ns >= 100e9 => format!("{:.0} s", ns / 1e9),
        ns if ns >= 1e9 => format!("{:.1} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        ns if ns >= 1e3 => format!("{:.1} µs", ns / 1e3),
        ns => format!("{ns} ns"),
    }
}

/// How long a recording is: `30.0 s`, `2 min 10 s`, `5 h`.
pub fn length(ns: u64) -> String {
    // Sixty of the small unit are one of the large.
    let two = |count: u64, large: &str, small: &str| match (count / 60, count % 60) {
        (whole, 0) => format!("{whole} {large}"),
        (whole, rest) => format!("{whole} {large} {rest} {small}"),
    };
    match ns as f64 / 1e9 {
        seconds if seconds >= 3570.0 => two((seconds / 60.0).round() as u64, "h", "min"),
        seconds if seconds >= 119.5 => two(seconds.round() as u64, "min", "s"),
        _ => duration(ns),
    }
}

/// A time as people read it: `304 ms`, `9.1 s`, `30 s`.
pub fn about(ns: u64) -> String {
    match ns as f64 / 1e6 {
        ms if ms >= 99_950.0 => format!("{:.0} s", ms / 1e3),
        ms if ms >= 999.5 => format!("{:.1} s", ms / 1e3).replace(".0 ", " "),
        ms if ms >= 9.95 => format!("{ms:.0} ms"),
        ms => format!("{ms:.1} ms"),
    }
}

/// A share with as many digits as its samples support: the last one is larger than their error.
pub fn rough_percent(share: f64, samples: u64) -> String {
    let error = (share * (1.0 - share)).max(0.0).sqrt() / (samples.max(1) as f64).sqrt();
    match share * 100.0 {
        hundredths if error > 0.0 && error < 0.002 => format!("{hundredths:.1} %"),
        hundredths if hundredths > 0.0 && hundredths < 0.5 => "under 1 %".to_owned(),
        hundredths => format!("{hundredths:.0} %"),
    }
}

/// The share that is surely exceeded: the true one is larger with a chance of 95 %.
pub fn lower_bound(share: f64, samples: u64) -> f64 {
    const DEVIATIONS: f64 = 1.645;
    let own = share * samples as f64;
    if own > 0.0 { share * (1.0 - DEVIATIONS / own.sqrt()) } else { 0.0 }
}

/// ` of all CPU time`, the first time: then it is known what shares are of.
pub(crate) fn of(whole: &mut Option<&str>) -> String {
    whole.take().map(|whole| format!(" of all {whole}")).unwrap_or_default()
}

/// `03:15:02`, in UTC.
pub fn utc_time(seconds: u64) -> String {
    let second = seconds % 86_400;
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_in_columns_not_characters() {
        assert_eq!(fit_start("abcdef", 4), "abc…");
        assert_eq!(fit_end("/srv/app/server.js", 10), "…server.js");
        assert_eq!(fit_start("漢字漢字", 5), "漢字…");
        assert_eq!(fit_start("abc", 3), "abc");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(12), "12");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(plural(1, "sample"), "1 sample");
        assert_eq!(duration(29_600_000_000), "29.6 s");
        let times =
            [304_400_000, 9_120_000_000, 30_000_000_000, 999_600_000, 100_400_000_000, 1_500_000];
        assert_eq!(times.map(about), ["304 ms", "9.1 s", "30 s", "1 s", "100 s", "1.5 ms"]);
    }

    #[test]
    fn shares_have_the_digits_that_samples_support() {
        assert_eq!(rough_percent(0.3444, 622), "34 %");
        assert_eq!(rough_percent(0.3444, 1_000_000), "34.4 %");
        assert_eq!(rough_percent(0.004, 622), "under 1 %");
        assert_eq!(
            (rough_percent(0.0, 622), rough_percent(1.0, 40)),
            ("0 %".to_owned(), "100 %".to_owned())
        );
    }

    #[test]
    fn recordings_last_for_hours() {
        let seconds = [30, 119, 120, 130, 3_570, 7_300, 17_999];
        assert_eq!(
            seconds.map(|seconds| length(seconds * 1_000_000_000)),
            ["30.0 s", "119 s", "2 min", "2 min 10 s", "1 h", "2 h 2 min", "5 h"]
        );
    }

    #[test]
    fn times_of_day() {
        assert_eq!(utc_time(1_794_712_502), "03:15:02");
    }
}
