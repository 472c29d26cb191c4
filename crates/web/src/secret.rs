//! Secrets that open the server: random, compared without revealing how much of a guess was right.

use std::io;

/// Too many to guess.
const BYTES: usize = 32;

/// A random text of letters and digits.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// A new one, from the system's own source of randomness.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Takes as long for a guess that is wrong at its first letter as for one that is wrong at its last.
    pub(crate) fn is(&self, guess: &str) -> bool {
        let (own, guess) = (self.0.as_bytes(), guess.as_bytes());
        if own.len() != guess.len() {
            return false;
        }
        let differences = own.iter().zip(guess).fold(0, |sum, (own, guess)| sum | (own ^ guess));
        std::hint::black_box(differences) == 0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn a_secret_is_long_and_only_itself() {
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_eq!(one.text().len(), 64);
        assert!(one.is(one.text()) && !one.is(other.text()) && !other.is(one.text()));
        assert!(!one.is("") && !one.is(&one.text()[1..]) && !one.is(&format!("{}0", one.text())));
        assert!(
            !one.is(&one.text().to_uppercase())
                || one.text().bytes().all(|byte| byte.is_ascii_digit())
        );
    }
}
