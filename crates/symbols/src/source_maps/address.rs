//! Addresses in scripts and maps: inline data, files, paths from one to another. Text in, text out: nothing is
//! opened, and nothing is ever fetched.

use profile::address::{file_path, has_scheme, is_absolute, normal, percent_decoded, strip_scheme};

/// Where a script's map is, by the script's comment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MapAddress {
    /// In the script itself.
    Inline(Vec<u8>),
    /// In a file.
    File(String),
    /// Where we do not go: on another machine, or inside data that we do not understand.
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
            join(folder_of(script), &String::from_utf8_lossy(&percent_decoded(url)))
        }
    };
    MapAddress::File(path)
}

/// The data of a `data:` URL: base64 or percent-encoded, whatever its type and charset claim.
fn inline(url: &str) -> Option<Vec<u8>> {
    let (kind, data) = url.split_once(',')?;
    let data = percent_decoded(data);
    let is_base64 =
        kind.rsplit(';').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("base64"));
    if is_base64 { base64_simd::forgiving_decode_to_vec(&data).ok() } else { Some(data) }
}

/// The absolute path of a script on this or another machine's disk; `None` for all other scripts.
pub fn script_path(source: &str) -> Option<String> {
    let path = file_path(source).or_else(|| is_absolute(source).then(|| source.to_owned()))?;
    (!path.contains('\0')).then_some(path)
}

/// A source with the map's `sourceRoot` in front.
pub(super) fn under_source_root(root: &str, source: &str) -> String {
    if root.is_empty() || is_absolute(source) || has_scheme(source) {
        return source.to_owned();
    }
    format!("{}/{source}", root.trim_end_matches('/'))
}

/// The folder of a file, without a separator at its end; empty for the root.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rfind(['/', '\\']).map_or("", |end| &path[..end])
}

/// A path seen from a folder.
pub(crate) fn join(folder: &str, path: &str) -> String {
    if is_absolute(path) { normal(path) } else { normal(&format!("{folder}/{path}")) }
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
    fn paths_are_seen_from_folders() {
        assert_eq!(join("/srv/dist", "../src/./a.ts"), "/srv/src/a.ts");
        assert_eq!(join("/srv/dist", "../../../../../etc/passwd"), "/etc/passwd");
        assert_eq!(join("", "a.ts"), "/a.ts");
        assert_eq!(join("C:\\srv\\dist", "..\\a.ts"), "C:/srv/a.ts");
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
