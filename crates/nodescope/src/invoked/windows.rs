//! What cmd.exe and PowerShell take for one word.

use std::path::Path;

/// A path for a shell. No name of a file has double quotes in it on Windows.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || r"\/._-+:@".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("\"{text}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one() {
        assert_eq!(quoted(Path::new(r"C:\srv\nodescope.exe")), r"C:\srv\nodescope.exe");
        assert_eq!(quoted(Path::new(r"C:\a b\nodescope.exe")), r#""C:\a b\nodescope.exe""#);
        assert_eq!(quoted(Path::new("it's")), "\"it's\"");
    }
}
