//! Completes a JSON text that is cut off or damaged, so that a reader that needs a whole text still shows what came
//! before.

use super::{damage, damaged_byte};

/// How often a damaged text is cut a little further in front of what is wrong.
const MOST_CUTS: usize = 4;
/// Nothing of ours nests deeper.
const DEEPEST: usize = 64;

/// Makes a text whole: where `check` finds it damaged, it is cut in front of that and its brackets are closed.
/// Returns a sentence about the damage.
pub(crate) fn mend(
    text: &mut String,
    check: impl Fn(&str) -> serde_json::Result<()>,
) -> Option<String> {
    let mut sentence = None;
    for _ in 0..MOST_CUTS {
        let Err(error) = check(text) else { break };
        sentence.get_or_insert_with(|| damage(text, &error));
        let at = damaged_byte(text, &error);
        let (end, closers) = last_whole(&text.as_bytes()[..at]);
        text.truncate(end);
        text.push_str(&closers);
    }
    sentence
}

/// Where the last whole entry ends, and what closes the brackets that are open there.
fn last_whole(text: &[u8]) -> (usize, String) {
    let mut open: Vec<char> = Vec::new();
    let mut whole = 0;
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        if in_string {
            in_string = escaped || *byte != b'"';
            escaped = *byte == b'\\' && !escaped;
            continue;
        }
        whole = match byte {
            b'"' => {
                in_string = true;
                continue;
            }
            b'{' if open.len() < DEEPEST => {
                open.push('}');
                at + 1
            }
            b'[' if open.len() < DEEPEST => {
                open.push(']');
                at + 1
            }
            b'}' | b']' => {
                open.pop();
                at + 1
            }
            // What stands before a comma is whole; a serde error is found behind what is wrong.
            b',' if at + 1 < text.len() => at,
            _ => continue,
        };
    }
    // Every bracket ends something whole, so none was met since.
    (whole, open.iter().rev().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> (String, Option<String>) {
        let mut text = text.to_owned();
        let check = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).map(|_| ());
        let sentence = mend(&mut text, check);
        (text, sentence)
    }

    #[test]
    fn cut_off_texts_are_closed() {
        let rows = [
            (r#"{"a":[1,2,34"#, r#"{"a":[1,2]}"#),
            (r#"{"a":[1,2],"b":"x,["#, r#"{"a":[1,2]}"#),
            (r#"{"a":[{"b":1},{"b""#, r#"{"a":[{"b":1},{}]}"#),
            (r#"{"a":"\"],","b":[[1,2],[3"#, r#"{"a":"\"],","b":[[1,2],[]]}"#),
            ("{\n\"a\":[1,\n2x,3]}", "{\n\"a\":[1]}"),
            ("{", "{}"),
        ];
        for (damaged, whole) in rows {
            let (text, sentence) = mended(damaged);
            assert_eq!(text, whole, "{damaged}");
            assert!(sentence.is_some_and(|sentence| sentence.starts_with("damaged at byte ")));
        }
        assert_eq!(mended(r#"{"a":1}"#), (r#"{"a":1}"#.into(), None));
    }
}
