//! What a shell of Unix takes for one word.

use std::path::Path;

/// A path for a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%,=".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one() {
        assert_eq!(quoted(Path::new("/srv/a-1/nodescope")), "/srv/a-1/nodescope");
        assert_eq!(quoted(Path::new("/a b/nodescope")), "'/a b/nodescope'");
        assert_eq!(quoted(Path::new("it's")), "'it'\\''s'");
    }
}
