//! bpftrace's maps of stacks: `@name[` opens an entry, its keys are stacks (the topmost frame first), names
//! and numbers with commas between them, `]: count` closes it.

use std::io::Read;

use profile::{Budget, FrameId, Profile};

use crate::stack_text::{StackText, TextFrame, each_line};

/// Reads the maps that bpftrace prints at its end.
pub fn read(input: impl Read, budget: &Budget) -> Profile {
    let mut text = StackText::new("bpftrace stacks", budget);
    let mut open: Option<Keys> = None;
    let damage = each_line(input, |number, line| match &mut open {
        None => match entry_start(line) {
            Some(rest) => {
                let mut keys = Keys::default();
                match rest.rsplit_once("]: ") {
                    Some((words, count)) => close(&mut text, keys.with_words(words), count, number),
                    None => {
                        keys.add_words(rest);
                        open = Some(keys);
                    }
                }
            }
            None if line.trim().is_empty() || line.starts_with("Attach") => {}
            None => text.skip(number, line),
        },
        Some(keys) => {
            match line.rsplit_once("]: ").filter(|(_, count)| count.trim().parse::<u64>().is_ok()) {
                Some((words, count)) => {
                    keys.add_words(words);
                    let keys = open.take().unwrap_or_default();
                    close(&mut text, keys, count, number);
                }
                None if line.starts_with(',') => keys.add_words(line),
                None => keys.add_frame(&mut text, line.trim()),
            }
        }
    });
    if let Some(sentence) = damage {
        text.damage(sentence);
    }
    if open.is_some() {
        text.damage("the last stack has no count".into());
    }
    text.finish()
}

/// Whether a text's first lines look like bpftrace's.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first_bytes);
    text.lines().take(100).any(|line| entry_start(line).is_some())
}

/// What follows `@name[`.
fn entry_start(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('@')?.split_once('[')?;
    name.chars()
        .all(|character| character.is_ascii_alphanumeric() || character == '_')
        .then_some(rest)
}

/// The keys of an entry so far.
#[derive(Default)]
struct Keys {
    frames: Vec<FrameId>,
    comm: String,
    pid: Option<u32>,
}

impl Keys {
    /// Takes keys that are no stacks: a number is a pid, a word a process name.
    fn add_words(&mut self, words: &str) {
        for word in words.split(", ").map(|word| word.trim().trim_matches(',').trim()) {
            match word.parse() {
                _ if word.is_empty() => {}
                Ok(pid) => self.pid = Some(pid),
                Err(_) => self.comm = word.to_owned(),
            }
        }
    }

    fn with_words(mut self, words: &str) -> Self {
        self.add_words(words);
        self
    }

    fn add_frame(&mut self, text: &mut StackText, frame: &str) {
        if !frame.is_empty() {
            let name = without_offset(frame);
            self.frames.push(text.frame(&TextFrame { name, module: None, symbol: frame }));
        }
    }
}

fn close(text: &mut StackText, keys: Keys, count: &str, line: u64) {
    match count.trim().parse() {
        Ok(count) => text.add(&keys.comm, keys.pid, keys.frames.into_iter().rev(), count),
        Err(_) => text.skip(line, count),
    }
}

/// Drops `+123` at the end: bpftrace prints offsets in decimal.
fn without_offset(frame: &str) -> &str {
    match frame.rsplit_once('+') {
        Some((name, offset))
            if !name.is_empty()
                && offset.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'x') =>
        {
            name
        }
        _ => frame,
    }
}
