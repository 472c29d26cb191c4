//! Folded stacks → Profile. The frames stay as they are written, the process name at the root among them:
//! which of the first names is a process and which a function, the format does not define.

use std::io::Read;

use profile::{Budget, FrameId, Profile};

use crate::stack_text::{StackText, TextFrame, each_line};

/// Reads folded stacks.
pub fn read(input: impl Read, budget: &Budget) -> Profile {
    let mut text = StackText::new("folded stacks", budget);
    let damage = each_line(input, |number, line| {
        let line = line.trim();
        if line.is_empty() || line.starts_with("# ") {
            return;
        }
        let Some((stack, count)) = split_count(line) else { return text.skip(number, line) };
        let frames: Vec<FrameId> = stack
            .split(';')
            .map(|name| text.frame(&TextFrame { name: name.trim(), module: None, symbol: name }))
            .collect();
        text.add("", None, frames.into_iter(), count);
    });
    if let Some(sentence) = damage {
        text.damage(sentence);
    }
    text.finish()
}

/// Whether a text's first lines look like folded stacks.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first_bytes);
    let whole_lines = text.rsplit_once('\n').map_or(&*text, |(whole, _)| whole);
    let lines = whole_lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("# "));
    let (mut good, mut bad, mut nested) = (0u32, 0u32, false);
    for line in lines.take(200) {
        let fits = split_count(line).is_some();
        nested |= fits && line.contains(';');
        *(if fits { &mut good } else { &mut bad }) += 1;
    }
    // Real files hold odd lines, too: four good ones outweigh one.
    good > bad * 4 && (nested || good > 0 && bad == 0)
}

/// Splits `a;b;c 12`. Counts with a fraction are rounded, and one that is not 0 stays at least 1. A blank at
/// the end of the last name stays: stackcollapse-perf.pl leaves one where it cuts `foo (int)`.
fn split_count(line: &str) -> Option<(&str, u64)> {
    let (stack, count) = line.rsplit_once(|character: char| character.is_ascii_whitespace())?;
    if stack.trim_end().is_empty()
        || !count.starts_with(|character: char| character.is_ascii_digit())
    {
        return None;
    }
    let count = match count.parse::<u64>() {
        Ok(count) => count,
        Err(_) => {
            let number = count.parse::<f64>().ok().filter(|number| number.is_finite())?;
            if number > 0.0 { (number.round() as u64).max(1) } else { 0 }
        }
    };
    Some((stack, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_behind_the_last_blank() {
        assert_eq!(split_count("a;b c 12"), Some(("a;b c", 12)));
        assert_eq!(split_count("a;Proxy<int  12"), Some(("a;Proxy<int ", 12)));
        assert_eq!(split_count("a 2.6"), Some(("a", 3)));
        assert_eq!(split_count("a 0.2"), Some(("a", 1)));
        assert_eq!(split_count("a"), None);
        assert_eq!(split_count(" 12"), None);
        assert_eq!(split_count("a b"), None);
        assert_eq!(split_count("a inf"), None);
    }

    #[test]
    fn recognised_by_content() {
        assert!(looks_like(b"node;main;foo 12\nnode;main 3\n"));
        assert!(!looks_like(b"hello world\nthis is text\n"));
        assert!(!looks_like(b""));
    }
}
