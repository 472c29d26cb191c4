//! Where an inspector is, as the user types it: `HOST:PORT`, or the `ws://` address that Node prints.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The place of an inspector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or number; an IPv6 number without its brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The target's path, `/8f1c…`, where it is known.
    pub path: Option<String>,
}

/// What was typed is no such place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an inspector's address is HOST:PORT, or the ws://HOST:PORT/… that Node prints")]
pub struct AddressError;

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let rest =
            text.strip_prefix("ws://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
        if rest.contains("://") || rest.bytes().any(|byte| byte <= b' ') {
            return Err(AddressError);
        }
        let (place, path) = match rest.split_once('/') {
            Some((place, path)) => (place, Some(path).filter(|path| !path.is_empty())),
            None => (rest, None),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| AddressError)?),
            None => return Err(AddressError),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if port == 0 || bare.is_empty() || (bare == host && host.contains(':')) {
            return Err(AddressError);
        }
        Ok(Self { host: bare.to_owned(), port, path: path.map(|path| format!("/{path}")) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type() {
        let parsed = |text: &str| text.parse::<Address>().map(|it| (it.host, it.port, it.path));
        assert_eq!(parsed("localhost:9229"), Ok(("localhost".into(), 9229, None)));
        assert_eq!(
            parsed("ws://127.0.0.1:9229/ab-c"),
            Ok(("127.0.0.1".into(), 9229, Some("/ab-c".into())))
        );
        assert_eq!(parsed("[::1]:80"), Ok(("::1".into(), 80, None)));
        assert_eq!(parsed("http://a:1/"), Ok(("a".into(), 1, None)));
        let written = |text: &str| text.parse::<Address>().map(|it| it.to_string());
        assert_eq!(written("ws://[::1]:80/x"), Ok("[::1]:80".into()));
        assert_eq!(written("localhost:9229"), Ok("localhost:9229".into()));
        for wrong in
            ["", "9229", "a", "a:", "a:0", "a:99999", "::1:80", "wss://a:1/x", "a b:1", ":9"]
        {
            assert_eq!(parsed(wrong), Err(AddressError), "{wrong}");
        }
    }
}
