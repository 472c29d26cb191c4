//! The page: style and script inside, and a policy that allows nothing else. As one file it has the recording
//! inside, too, and opens from a disk, from a ticket, without a network; served, it asks its server for recordings.

use std::fmt::Write;

use base64_simd::STANDARD as BASE64;
use sha2::{Digest, Sha256};

/// What every page shares. Made from `page/src`, and committed: building nodescope needs no npm.
const SHARED_SCRIPT: &str = include_str!("../../../page/dist/page.js");
/// How a page begins that has its recording inside.
const FILE_SCRIPT: &str = include_str!("../../../page/dist/file.js");
/// How a page begins that asks a server for recordings, which a single file never does.
const SERVED_SCRIPT: &str = include_str!("../../../page/dist/served.js");
const STYLE: &str = include_str!("../../../page/style.css");
/// What the keys do, in a dialog that the script opens.
const HELP: &str = include_str!("../../../page/help.html");

/// Browsers take seconds for one text of 100 MB, and no time for a hundred of 1 MB. A multiple of 3: base64 without
/// padding.
const PIECE: usize = 768 * 1024;

/// A recording as a page has it inside.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// What it is called, where it stands beside another one.
    pub name: &'a str,
    /// A .nodescope file of one chunk.
    pub profile: &'a [u8],
    /// What the report says of it, as JSON.
    pub report: &'a str,
}

/// The page with a recording inside.
pub fn single_file(recording: Inside<'_>, title: &str) -> String {
    let mut data = String::with_capacity(recording.profile.len() / 3 * 4 + 4096);
    put_recording(&mut data, "", recording);
    assemble(&single_home(), title, &data, FILE_SCRIPT)
}

/// The page of two recordings, the second against the first; `compared` is what the report says of that, as JSON.
pub fn compared_file(before: Inside<'_>, after: Inside<'_>, compared: &str, title: &str) -> String {
    let bytes = before.profile.len() + after.profile.len();
    let mut data = String::with_capacity(bytes / 3 * 4 + 4096);
    put_recording(&mut data, "", after);
    put_recording(&mut data, "-before", before);
    let names = serde_json::json!([before.name, after.name]).to_string();
    put_json(&mut data, "compared-names", &names);
    put_json(&mut data, "compared-words", compared);
    assemble(&single_home(), title, &data, FILE_SCRIPT)
}

/// The policy of a page that is one file.
fn single_home() -> String {
    let policy =
        format!("{}; base-uri 'none'; form-action 'none'", own_parts(&script(FILE_SCRIPT)));
    format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n")
}

/// `ending` distinguishes two recordings of a page.
fn put_recording(data: &mut String, ending: &str, recording: Inside<'_>) {
    for piece in recording.profile.chunks(PIECE) {
        let _ =
            write!(data, "<script type=\"application/octet-stream\" class=\"recording{ending}\">");
        data.push_str(&BASE64.encode_to_string(piece));
        data.push_str("</script>\n");
    }
    put_json(data, &format!("report-words{ending}"), recording.report);
}

/// No text in it can end the element.
fn put_json(data: &mut String, id: &str, json: &str) {
    let json = json.replace('<', "\\u003c");
    let _ = writeln!(data, "<script type=\"application/json\" id=\"{id}\">{json}</script>");
}

/// The page that asks its server for recordings. Its policy comes with the answer, see [`served_policy`].
pub(crate) fn served_page() -> String {
    // Without an icon Firefox asks for one, and complains that the policy forbids it.
    let home =
        "<meta name=\"nodescope-home\" content=\"served\">\n<link rel=\"icon\" href=\"data:,\">\n";
    assemble(home, "nodescope", "", SERVED_SCRIPT)
}

/// What the served page may do: run its own script, have the icon that it brings, and ask its own server.
pub(crate) fn served_policy() -> String {
    format!(
        "{}; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        own_parts(&script(SERVED_SCRIPT))
    )
}

/// The part of a policy that both kinds of page share.
fn own_parts(script: &str) -> String {
    format!("default-src 'none'; script-src {}; style-src {}", source_of(script), source_of(STYLE))
}

/// The whole script of a page: nothing of it is seen from outside.
fn script(beginning: &str) -> String {
    format!("\"use strict\";\n(() => {{\n{SHARED_SCRIPT}{beginning}}})();\n")
}

fn assemble(home: &str, title: &str, recording: &str, beginning: &str) -> String {
    let script = script(beginning);
    let mut parts = vec![
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        home,
        "<meta name=\"viewport\" content=\"width=device-width\">\n",
        "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"nodescope\">\n<title>",
    ];
    let title = escape(title);
    parts.extend([
        title.as_str(),
        "</title>\n<style>",
        STYLE,
        "</style>\n</head>\n<body>\n<main id=\"page\">Reading the recording …</main>\n",
        HELP,
        "<noscript>This page needs JavaScript; nodescope report shows the same recording as text.</noscript>\n",
        recording,
        "<script>",
        &script,
        "</script>\n</body>\n</html>\n",
    ]);
    parts.concat()
}

/// How a policy names an inline text.
fn source_of(text: &str) -> String {
    format!("'sha256-{}'", BASE64.encode_to_string(Sha256::digest(text.as_bytes())))
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            character if character.is_control() => escaped.push('\u{fffd}'),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn inside(profile: &[u8]) -> Inside<'_> {
        Inside { name: "", profile, report: "null" }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Every file below a folder.
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    /// As `page/build.mjs` computes it.
    #[test]
    fn the_script_is_made_from_the_sources_that_are_here() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../page");
        let mut names: Vec<String> = files(&page.join("src"))
            .iter()
            .map(|path| path.strip_prefix(&page).unwrap().to_str().unwrap().replace('\\', "/"))
            .chain(["build.mjs", "package.json", "tsconfig.json"].map(str::to_owned))
            // A saved picture has the script and the style of the program's.
            .chain(
                ["script.js", "style.css"].map(|name| format!("../crates/formats/src/svg/{name}")),
            )
            .collect();
        names.sort();
        let mut all = Vec::new();
        for name in names {
            all.extend_from_slice(name.as_bytes());
            all.push(0);
            all.extend_from_slice(&fs::read(page.join(&name)).unwrap());
            all.push(0);
        }
        let expected = hex(&Sha256::digest(&all));
        for script in [SHARED_SCRIPT, FILE_SCRIPT, SERVED_SCRIPT] {
            let first = script.lines().next().unwrap_or_default();
            assert!(
                first.ends_with(&expected),
                "page/dist is stale: run npm ci && npm run build in page"
            );
        }
    }

    #[test]
    fn the_script_cannot_end_early() {
        for text in [SHARED_SCRIPT, FILE_SCRIPT, SERVED_SCRIPT, STYLE] {
            let text = text.to_lowercase();
            for end in
                ["</script", "</style", "<!--", "<script", "http:", "https:", "innerhtml", "eval("]
            {
                assert!(!text.contains(end), "{end}");
            }
        }
    }

    #[test]
    fn a_single_file_cannot_even_ask() {
        for way in ["fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "import("]
        {
            assert!(!script(FILE_SCRIPT).contains(way), "{way}");
        }
    }

    #[test]
    fn nothing_from_outside_is_markup() {
        let hostile = Inside {
            name: "</script><b>",
            profile: b"</script><img src=x>",
            report: "[\"</script><!--\"]",
        };
        let page = single_file(hostile, "</title><script>alert(1)</script>\"'\u{1b}&");
        assert_eq!(page.matches("</script").count(), 3);
        assert!(page.contains("id=\"report-words\">[\"\\u003c/script>\\u003c!--\"]</script>"));
        let (head, _) = page.split_once("<style>").unwrap();
        assert_eq!(head.matches("</title").count(), 1);
        assert!(
            page.contains(
                "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;'\u{fffd}&amp;"
            )
        );
        assert!(page.contains("class=\"recording\">PC9zY3JpcHQ+PGltZyBzcmM9eD4=</script>"));
        let both = compared_file(hostile, hostile, "\"</script>\"", "");
        assert_eq!(both.matches("</script").count(), 7);
        assert!(both.contains("id=\"compared-names\">[\"\\u003c/script>"));
        assert!(both.contains("class=\"recording-before\">PC9zY3JpcHQ+"));
    }

    #[test]
    fn a_large_recording_is_in_pieces() {
        let profile: Vec<u8> = (0..2 * PIECE + 5).map(|at| (at % 251) as u8).collect();
        let page = single_file(inside(&profile), "");
        let pieces: Vec<u8> = page
            .split("class=\"recording\">")
            .skip(1)
            .flat_map(|rest| BASE64.decode_to_vec(rest.split_once("</script").unwrap().0).unwrap())
            .collect();
        assert_eq!(page.matches("class=\"recording\"").count(), 3);
        assert!(pieces == profile);
    }

    #[test]
    fn the_policy_allows_this_script_and_this_style_alone() {
        let page = single_file(inside(b""), "");
        let (_, policy) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
        let (policy, _) = policy.split_once('"').unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.matches("sha256-").count() == 2, "{policy}");
        assert!(!policy.contains("connect-src"), "{policy}");
    }

    #[test]
    fn the_served_page_has_no_recording_and_may_ask_its_server_alone() {
        let page = served_page();
        assert!(page.contains("<meta name=\"nodescope-home\" content=\"served\">"));
        assert!(!page.contains("class=\"recording\"") && page.matches("</script").count() == 1);
        let policy = served_policy();
        assert!(
            policy.contains("connect-src 'self'; ") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe") && policy.matches("sha256-").count() == 2, "{policy}");
    }
}
