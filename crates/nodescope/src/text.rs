//! Text for terminals: the one escaper, and lines that fit. How numbers are written is in `views`, for every view.

use unicode_width::UnicodeWidthChar;

pub(crate) use views::text::{
    about, duration, fit_end, fit_start, percent, plural, thousands, width,
};

/// Text that cannot control a terminal, and that is what it looks like: control characters, characters that end a line
/// or change the direction, and those that take no room become a replacement character. In an emoji or behind an
/// ideograph, the latter only control how it is drawn: there they are left out.
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

/// Joins pictures to one, or selects a form of a character.
fn is_drawing_hint(character: char) -> bool {
    matches!(character, '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0020}'..='\u{e01ef}')
}

/// An emoji, an ideograph, or what follows one in a sequence.
fn is_picture(character: char) -> bool {
    character.width() == Some(2) || matches!(character, '\u{2190}'..='\u{2bff}' | EMOJI_STYLE)
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
    fn dates() {
        assert_eq!(utc(0), "19700101-000000");
        assert_eq!(utc(951_782_399), "20000228-235959");
        assert_eq!(utc(951_782_400), "20000229-000000");
        assert_eq!(utc(1_794_712_502), "20261115-031502");
    }
}
