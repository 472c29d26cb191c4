//! Text for terminals: the one escaper, widths, numbers with separators, shares, durations.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text that cannot control a terminal, and that is what it looks like: control characters, characters that end a line
/// or change the direction, and those that take no room become a replacement character. In an emoji or behind an
/// ideograph, the latter only tell how it is drawn: there they are left out.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = ' ';
    for character in text.chars() {
        match character {
            _ if character.is_control() => shown.push(HIDDEN),
            EMOJI_STYLE if is_picture(before) => shown.push(character),
            _ if !is_invisible(character) => shown.push(character),
            _ if is_drawing_hint(character) && is_picture(before) => continue,
            _ => shown.push(HIDDEN),
        }
        before = character;
    }
    shown
}

/// Stands for a character that is not shown.
const HIDDEN: char = '\u{fffd}';

/// Asks for the coloured form of the character before it.
const EMOJI_STYLE: char = '\u{fe0f}';

/// Characters that take no room, end a line or change the direction: Unicode's default ignorable ones, without
/// combining marks, and its line separators.
const INVISIBLE: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

fn is_invisible(character: char) -> bool {
    INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

/// Joins pictures to one, or tells which form of a character is meant.
fn is_drawing_hint(character: char) -> bool {
    matches!(character, '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0020}'..='\u{e01ef}')
}

/// An emoji, an ideograph, or what follows one in a sequence.
fn is_picture(character: char) -> bool {
    character.width() == Some(2) || matches!(character, '\u{2190}'..='\u{2bff}' | EMOJI_STYLE)
}

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Breaks a text between its words so that every line fits, and never before a percent sign. A word that is longer
/// than a line is broken, too.
pub(crate) fn wrap(text: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut taken = 0;
    for word in text.replace(" %", "\u{a0}%").split(' ') {
        if taken > 0 && taken + 1 + width(word) > columns {
            lines.push('\n');
            taken = 0;
        } else if taken > 0 {
            lines.push(' ');
            taken += 1;
        }
        for character in
            word.chars().map(|character| if character == '\u{a0}' { ' ' } else { character })
        {
            let wide = character.width().unwrap_or(0);
            if taken > 0 && taken + wide > columns {
                lines.push('\n');
                taken = 0;
            }
            lines.push(character);
            taken += wide;
        }
    }
    lines
}

/// Breaks a text between its words so that every line fits; a word that is longer than a line stays whole, so that a
/// path can be copied.
pub(crate) fn wrap_words(text: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut taken = 0;
    for word in text.split(' ') {
        if taken > 0 {
            let fits = taken + 1 + width(word) <= columns;
            lines.push(if fits { ' ' } else { '\n' });
            taken = if fits { taken + 1 } else { 0 };
        }
        lines.push_str(word);
        taken += width(word);
    }
    lines
}

/// Cuts the end off so that the text fits.
pub(crate) fn fit_start(text: &str, columns: usize) -> String {
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

/// Cuts the start off so that the text fits: the end of a path tells most.
pub(crate) fn fit_end(text: &str, columns: usize) -> String {
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
pub(crate) fn thousands(number: u64) -> String {
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
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A count with its noun: `1 sample`, `2 samples`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// A time in the unit that reads best.
pub(crate) fn duration(ns: u64) -> String {
    match ns as f64 {
        ns if ns >= 100e9 => format!("{:.0} s", ns / 1e9),
        ns if ns >= 1e9 => format!("{:.1} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        ns if ns >= 1e3 => format!("{:.1} µs", ns / 1e3),
        ns => format!("{ns} ns"),
    }
}

/// A time as people would say it: `304 ms`, `9.1 s`, `30 s`.
pub(crate) fn about(ns: u64) -> String {
    match ns as f64 / 1e6 {
        ms if ms >= 99_950.0 => format!("{:.0} s", ms / 1e3),
        ms if ms >= 999.5 => format!("{:.1} s", ms / 1e3).replace(".0 ", " "),
        ms if ms >= 9.95 => format!("{ms:.0} ms"),
        ms => format!("{ms:.1} ms"),
    }
}

/// A share with as many digits as its samples support: the last one is larger than their error.
pub(crate) fn rough_percent(share: f64, samples: u64) -> String {
    let error = (share * (1.0 - share)).max(0.0).sqrt() / (samples.max(1) as f64).sqrt();
    match share * 100.0 {
        hundredths if error > 0.0 && error < 0.002 => format!("{hundredths:.1} %"),
        hundredths if hundredths > 0.0 && hundredths < 0.5 => "under 1 %".to_owned(),
        hundredths => format!("{hundredths:.0} %"),
    }
}

/// `03:15:02`, in UTC.
pub(crate) fn utc_time(seconds: u64) -> String {
    let second = seconds % 86_400;
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// `20261115-031502`, in UTC.
pub(crate) fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years: each is 146,097 days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_terminal_obeys_a_name() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c 漢字 🦀"), "a\u{fffd}[31mb\u{fffd}c 漢字 🦀");
        for hidden in "\u{85}\u{ad}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{2060}\u{2066}\u{2069}\u{feff}\u{3164}\u{fe0f}\u{e0041}".chars() {
            assert_eq!(printable(&format!("a{hidden}b")), "a\u{fffd}b", "{:x}", u32::from(hidden));
        }
    }

    /// Letters with marks, scripts of the world and emoji stay what they are; parts of an emoji stand side by side.
    #[test]
    fn names_of_the_world_stay_readable() {
        for text in [
            "主程序",
            "データ処理",
            "계산",
            "вычислить",
            "e\u{301}t\u{e9}",
            "❤\u{fe0f}",
            "🦀👍🏽",
            "नमस्ते",
            "مرحبا",
        ] {
            assert_eq!(printable(text), text);
        }
        assert_eq!(printable("👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥"), "👩💻 ❤\u{fe0f}🔥");
        assert_eq!(printable("辻\u{e0100}さん"), "辻さん");
    }

    #[test]
    fn texts_fit_in_columns_not_characters() {
        assert_eq!(fit_start("abcdef", 4), "abc…");
        assert_eq!(fit_end("/srv/app/server.js", 10), "…server.js");
        assert_eq!(fit_start("漢字漢字", 5), "漢字…");
        assert_eq!(fit_start("abc", 3), "abc");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 7), "one two\nthree");
        assert_eq!(wrap("one two three", 80), "one two three");
        assert_eq!(wrap("a /srv/app/server.js:1", 8), "a\n/srv/app\n/server.\njs:1");
        assert_eq!(wrap("漢字 漢字", 5), "漢字\n漢字");
        assert_eq!(wrap("most: 8.4 %.", 9), "most:\n8.4 %.");
        assert_eq!(wrap("", 5), "");
    }

    #[test]
    fn lines_keep_long_words() {
        assert_eq!(wrap_words("a /srv/app/server.js b c", 6), "a\n/srv/app/server.js\nb c");
        assert_eq!(wrap_words("one two three", 80), "one two three");
        assert_eq!(wrap_words("", 5), "");
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
    fn dates() {
        assert_eq!(utc(0), "19700101-000000");
        assert_eq!(utc(951_782_399), "20000228-235959");
        assert_eq!(utc(951_782_400), "20000229-000000");
        assert_eq!(utc(1_794_712_502), "20261115-031502");
        assert_eq!(utc_time(1_794_712_502), "03:15:02");
    }
}
