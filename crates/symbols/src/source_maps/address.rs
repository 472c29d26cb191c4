//! Addresses in scripts and maps: inline data, files, paths from one to another. Text in, text out: nothing is
//! opened, and nothing is ever fetched.

/// Where a script's comment says that its map is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MapAddress {
    /// In the script itself.
    Inline(Vec<u8>),
    /// In a file.
    File(String),
    /// Where we do not go: on another machine, or inside data that nobody understands.
    Elsewhere,
}

/// Understands the address of a map, as the script at `script` wrote it.
pub(super) fn map_address(url: &str, script: &str) -> MapAddress {
    if let Some(data) = strip_scheme(url, "data:") {
        return inline(data).map_or(MapAddress::Elsewhere, MapAddress::Inline);
    }
    let path = match file_path(url) {
        Some(path) => path,
        None if has_scheme(url) || url.starts_with("//") => return MapAddress::Elsewhere,
        None => {
            let url = url.split(['?', '#']).next().unwrap_or(url);
            join(folder_of(script), &percent_decoded(url))
        }
    };
    MapAddress::File(path)
}

/// The data of a `data:` URL: base64 or percent-encoded, whatever its type and charset claim.
fn inline(url: &str) -> Option<Vec<u8>> {
    let (kind, data) = url.split_once(',')?;
    let data = percent_decoded_bytes(data);
    let is_base64 = kind.rsplit(';').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("base64"));
    if is_base64 { base64_simd::forgiving_decode_to_vec(&data).ok() } else { Some(data) }
}

/// The absolute path of a script on this or another machine's disk; `None` for all other scripts.
pub fn script_path(source: &str) -> Option<String> {
    let path = file_path(source).or_else(|| is_absolute(source).then(|| source.to_owned()))?;
    (!path.contains('\0')).then_some(path)
}

/// The path of a `file:` URL of this machine.
fn file_path(url: &str) -> Option<String> {
    let rest = strip_scheme(url, "file:")?;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => rest,
    };
    let path = percent_decoded(path);
    let path = path.strip_prefix('/').filter(|path| has_drive(path)).unwrap_or(&path);
    is_absolute(path).then(|| normal(path))
}

/// Where a map's source is, as people know it.
pub(super) fn original_path(source: &str, folder: &str, project: Option<&str>) -> String {
    if let Some(path) = file_path(source) {
        return path;
    }
    if let Some(rest) = strip_scheme(source, "webpack://") {
        return webpack_path(rest, project);
    }
    if has_scheme(source) {
        return source.to_owned();
    }
    join(folder, source)
}

/// webpack writes `webpack://name/./src/a.ts`, seen from the project's folder; its own parts have no dot in front.
fn webpack_path(rest: &str, project: Option<&str>) -> String {
    let (name, path) = rest.split_once('/').unwrap_or(("", rest));
    // `?1a2b` tells copies of one file apart.
    let path = path.split('?').next().unwrap_or(path);
    let is_file = path.starts_with("./") || path.starts_with("../");
    match project {
        Some(project) if is_file => join(project, path),
        _ => format!("webpack://{name}/{}", path.trim_start_matches("./")),
    }
}

/// A source with the map's `sourceRoot` in front.
pub(super) fn under_source_root(root: &str, source: &str) -> String {
    if root.is_empty() || is_absolute(source) || has_scheme(source) {
        return source.to_owned();
    }
    format!("{}/{source}", root.trim_end_matches('/'))
}

/// The folder of a file, without a separator at its end; empty for the root.
pub(super) fn folder_of(path: &str) -> &str {
    path.rfind(['/', '\\']).map_or("", |end| &path[..end])
}

/// A path seen from a folder.
pub(super) fn join(folder: &str, path: &str) -> String {
    if is_absolute(path) { normal(path) } else { normal(&format!("{folder}/{path}")) }
}

/// Without `.`, `..` and empty parts; nothing leads out of the root.
fn normal(path: &str) -> String {
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

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') && !path.starts_with("//") || has_drive(path)
}

/// `C:\…`
fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// Whether a text starts as URLs do: `webpack:`, `node:`, `https:`, but not `C:`.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.len() > 1
        && scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.bytes().all(is_letter)
}

fn strip_scheme<'a>(url: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = url.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn percent_decoded(text: &str) -> String {
    String::from_utf8_lossy(&percent_decoded_bytes(text)).into_owned()
}

fn percent_decoded_bytes(text: &str) -> Vec<u8> {
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
    fn maps() {
        let json = || MapAddress::Inline(b"{}".to_vec());
        let file = |path: &str| MapAddress::File(path.to_owned());
        let rows = [
            ("a.js.map", file("/srv/dist/a.js.map")),
            ("./maps/a%20b.map?v=3", file("/srv/dist/maps/a b.map")),
            ("../a.map", file("/srv/a.map")),
            ("../../../../etc/passwd", file("/etc/passwd")),
            ("/maps/a.map", file("/maps/a.map")),
            ("file:///etc/shadow", file("/etc/shadow")),
            ("file://server/share/a.map", MapAddress::Elsewhere),
            ("http://cdn.example/a.map", MapAddress::Elsewhere),
            ("HTTPS://cdn.example/a.map", MapAddress::Elsewhere),
            ("//cdn.example/a.map", MapAddress::Elsewhere),
            ("data:application/json;base64,e30=", json()),
            ("data:application/json;charset=utf-8;base64,e30", json()),
            ("DATA:application/json;charset=utf-8;BASE64,e30%3D", json()),
            ("data:application/json,%7B%7D", json()),
            ("data:application/json;charset=utf-8,{}", json()),
            ("data:,{}", json()),
            ("data:application/json;base64,!!", MapAddress::Elsewhere),
            ("data:application/json;base64", MapAddress::Elsewhere),
        ];
        for (url, expected) in rows {
            assert_eq!(map_address(url, "/srv/dist/a.js"), expected, "{url}");
        }
    }

    #[test]
    fn scripts() {
        let rows = [
            ("/srv/a.js", Some("/srv/a.js")),
            ("file:///srv/a%20b.mjs?x#y", Some("/srv/a b.mjs")),
            ("file:///C:/srv/a.mjs", Some("C:/srv/a.mjs")),
            ("C:\\srv\\a.js", Some("C:\\srv\\a.js")),
            ("node:fs", None),
            ("a.js", None),
            ("https://example.com/a.js", None),
            ("webpack-internal:///./a.js", None),
            ("file:///a%00.js", None),
            ("", None),
        ];
        for (source, expected) in rows {
            assert_eq!(script_path(source).as_deref(), expected, "{source}");
        }
    }

    #[test]
    fn originals() {
        let rows = [
            ("../src/a.ts", "/srv/src/a.ts"),
            ("a.ts", "/srv/dist/a.ts"),
            ("/build/src/a.ts", "/build/src/a.ts"),
            ("file:///build/src/a.ts", "/build/src/a.ts"),
            ("../../../../../etc/passwd", "/etc/passwd"),
            ("webpack://shop/./src/a.ts", "/project/src/a.ts"),
            ("webpack:///./src/a.ts?1a2b", "/project/src/a.ts"),
            ("webpack://shop/../shared/a.ts", "/shared/a.ts"),
            ("webpack://shop/webpack/bootstrap", "webpack://shop/webpack/bootstrap"),
            ("https://example.com/a.ts", "https://example.com/a.ts"),
            ("node:internal", "node:internal"),
        ];
        for (source, expected) in rows {
            assert_eq!(original_path(source, "/srv/dist", Some("/project")), expected, "{source}");
        }
        assert_eq!(original_path("webpack://shop/./src/a.ts", "/srv", None), "webpack://shop/src/a.ts");
        assert_eq!(
            original_path("webpack://shop/./node_modules/x/a.js", "", None),
            "webpack://shop/node_modules/x/a.js"
        );
        assert_eq!(original_path("..\\a.ts", "C:\\srv\\dist", None), "C:/srv/a.ts");
    }

    #[test]
    fn source_roots() {
        assert_eq!(under_source_root("", "a.ts"), "a.ts");
        assert_eq!(under_source_root("../src/", "a.ts"), "../src/a.ts");
        assert_eq!(under_source_root("webpack://shop", "./a.ts"), "webpack://shop/./a.ts");
        assert_eq!(under_source_root("/x", "/y/a.ts"), "/y/a.ts");
        assert_eq!(under_source_root("/x", "file:///y/a.ts"), "file:///y/a.ts");
    }
}
