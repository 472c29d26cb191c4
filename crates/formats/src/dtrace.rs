//! DTrace's stack text: after a header, blocks of frames, the topmost first, each closed by a count alone on
//! its line. Frames are ``module`function+0xoffset``.

use std::io::Read;

use profile::{Budget, FrameId, Profile};

use crate::stack_text::{StackText, TextFrame, each_line};

/// Reads the text of an aggregation by `stack()`, `ustack()` or `jstack()`.
pub fn read(input: impl Read, budget: &Budget) -> Profile {
    let mut text = StackText::new("DTrace stacks", budget);
    let mut frames: Vec<FrameId> = Vec::new();
    // dtrace prints a header of its own first; stacks come after a blank line.
    let mut in_header = true;
    let damage = each_line(input, |_, line| {
        let words = line.trim();
        in_header &= !(words.is_empty() || words.contains('`'));
        match words.parse::<u64>() {
            _ if words.is_empty() || in_header => {}
            Ok(count) if !frames.is_empty() => text.add("", None, frames.drain(..).rev(), count),
            _ => {
                frames.extend(
                    split_inlined(words).into_iter().rev().map(|part| add_frame(&mut text, &part)),
                );
            }
        }
    });
    if let Some(sentence) = damage {
        text.damage(sentence);
    }
    if !frames.is_empty() {
        text.damage("the last stack has no count".into());
    }
    text.finish()
}

/// Whether a text's first lines look like DTrace's: indented frames with a backtick, then a count alone.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first_bytes);
    let mut seen_frame = false;
    for line in text.lines().filter(|line| line.starts_with([' ', '\t'])).map(str::trim) {
        if seen_frame && line.parse::<u64>().is_ok() {
            return true;
        }
        seen_frame |= line.contains('`') || line.starts_with("0x");
    }
    false
}

/// `caller->inlined` is two frames.
fn split_inlined(frame: &str) -> Vec<String> {
    let mut parts = without_offset(frame).split("->");
    let first = parts.next().unwrap_or_default().to_owned();
    std::iter::once(first).chain(parts.map(|part| format!("{part}_[i]"))).collect()
}

fn add_frame(text: &mut StackText, frame: &str) -> FrameId {
    let (module, name) = match frame.split_once('`') {
        Some((module, name)) => (Some(module), name),
        None => (None, frame),
    };
    text.frame(&TextFrame { name, module, symbol: &spelling(frame) })
}

/// Drops `+0x1f` at the end.
fn without_offset(frame: &str) -> &str {
    match frame.rsplit_once('+') {
        Some((name, offset)) if offset.starts_with("0x") => name,
        _ => frame,
    }
}

/// How stackcollapse.pl spells it: C++ arguments go, `;` becomes `:`, a leading L of Java goes.
fn spelling(frame: &str) -> String {
    let end = frame
        .find("::")
        .and_then(|at| Some(at + frame[at..].rfind(['(', '<'])?))
        .unwrap_or(frame.len());
    let name = frame[..end].replace(';', ":");
    name.strip_prefix('L').map_or(name.clone(), str::to_owned)
}
