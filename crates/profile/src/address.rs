//! Addresses of scripts: `file:` URLs and paths. One file has one name in every table, whether a tool wrote its path or
//! its URL.

/// The path of a `file:` URL of this machine, decoded and without its query.
pub fn file_path(url: &str) -> Option<String> {
    let rest = strip_scheme(url, "file:")?;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => rest,
    };
    let path = String::from_utf8(percent_decoded(path))
        .ok()
        .filter(|path| !path.contains(char::is_control))?;
    let path = path.strip_prefix('/').filter(|path| has_drive(path)).unwrap_or(&path);
    is_absolute(path).then(|| normal(path))
}

/// The `file:` URL of an absolute path, as Node writes it.
pub fn file_url(path: &str) -> Option<String> {
    if !is_absolute(path) {
        return None;
    }
    let mut url = String::from(if has_drive(path) { "file:///" } else { "file://" });
    for byte in path.bytes() {
        match byte {
            b'\\' if has_drive(path) => url.push('/'),
            b'%' | b'\\' | b'"' | b'<' | b'>' | b'`' | b'?' | b'{' | b'}' | b'#' | b'^' | b'|' => {
                url.push_str(&format!("%{byte:02X}"));
            }
            b'!'..=b'~' => url.push(char::from(byte)),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(url)
}

/// Without `.`, `..` and empty parts; nothing leads out of the root.
pub fn normal(path: &str) -> String {
    let is_rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    let separators: &[char] = if has_drive(path) { &['/', '\\'] } else { &['/'] };
    for part in path.split(separators) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if is_rooted { format!("/{joined}") } else { joined }
}

/// Whether a path starts at a root.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/') && !path.starts_with("//") || has_drive(path)
}

/// `C:\…`
fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// Whether a text starts as URLs do: `webpack:`, `node:`, `https:`, but not `C:`.
pub fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.len() > 1
        && scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.bytes().all(is_letter)
}

/// What stands behind a URL's scheme.
pub fn strip_scheme<'a>(url: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = url.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// A text without its percent signs.
pub fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |byte: &u8| (*byte as char).to_digit(16);
        let pair = match after {
            [high, low, ..] if *first == b'%' => digit(high).zip(digit(low)),
            _ => None,
        };
        bytes.push(pair.map_or(*first, |(high, low)| (high << 4 | low) as u8));
        rest = if pair.is_some() { &after[2..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_urls_are_paths() {
        let rows = [
            ("file:///srv/a%20b.mjs?x#y", Some("/srv/a b.mjs")),
            ("file://localhost/srv/a.mjs", Some("/srv/a.mjs")),
            ("FILE:/srv/./x/../a.mjs", Some("/srv/a.mjs")),
            ("file:///C:/srv/a.mjs", Some("C:/srv/a.mjs")),
            ("file:///%E6%BC%A2%3F.js", Some("/漢?.js")),
            ("file:///100%.js", Some("/100%.js")),
            ("file:///a%00.js", None),
            ("file:///a%0Ab.js", None),
            ("file:///a%ff.js", None),
            ("file://server/share/a.js", None),
            ("file:a.js", None),
            ("/srv/a%20b.js", None),
            ("node:fs", None),
            ("", None),
        ];
        for (url, path) in rows {
            assert_eq!(file_path(url).as_deref(), path, "{url}");
        }
    }

    #[test]
    fn paths_have_the_urls_that_node_gives_them() {
        for (path, url) in [
            ("/srv/a b.js", "file:///srv/a%20b.js"),
            ("/srv/100%?#[x]/漢.js", "file:///srv/100%25%3F%23[x]/%E6%BC%A2.js"),
            ("C:/srv/a.js", "file:///C:/srv/a.js"),
        ] {
            assert_eq!(file_url(path).as_deref(), Some(url));
            assert_eq!(file_path(url).as_deref(), Some(path));
        }
        assert_eq!(file_url("C:\\srv\\a.js").as_deref(), Some("file:///C:/srv/a.js"));
        assert_eq!([file_url("node:fs"), file_url("a.js"), file_url("")], [None, None, None]);
    }
}
