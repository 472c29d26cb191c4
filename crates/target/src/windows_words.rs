//! How a command line of Windows, which is one text, falls apart into words: quotes keep words together, and a
//! backslash is itself unless quotes follow.

/// The words of a command line.
pub(crate) fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' if !is_quoted => words.extend(word.take()),
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            '\\' => {
                let mut count = 1;
                while letters.next_if_eq(&'\\').is_some() {
                    count += 1;
                }
                let word = word.get_or_insert_default();
                let is_before_quote = letters.peek() == Some(&'"');
                let kept = if is_before_quote { count / 2 } else { count };
                word.extend(std::iter::repeat_n('\\', kept));
                if is_before_quote && count % 2 == 1 {
                    letters.next();
                    word.push('"');
                }
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_as_windows_does() {
        for (line, words) in [
            (r#"node app.js"#, vec!["node", "app.js"]),
            (
                r#""C:\Program Files\nodejs\node.exe"  --inspect=9300 "D:\my app\server.js" """#,
                vec![
                    r"C:\Program Files\nodejs\node.exe",
                    "--inspect=9300",
                    r"D:\my app\server.js",
                    "",
                ],
            ),
            (r#"node a\\b "c\\" d\"e"#, vec!["node", r"a\\b", r"c\", "d\"e"]),
            ("", vec![]),
            ("\"open", vec!["open"]),
        ] {
            assert_eq!(split(line), words, "{line}");
        }
    }
}
