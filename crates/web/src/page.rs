//! The page: style and script inside, and a policy that allows nothing else. As one file it has the recording
//! inside, too, and opens from a disk, from a ticket, without a network; served, it asks its server for recordings.

use std::fmt::Write;

use base64_simd::STANDARD as BASE64;
use sha2::{Digest, Sha256};

/// Made from `page/src`, and committed: building nodescope needs no npm.
const SCRIPT: &str = include_str!("../../../page/dist/ui.js");
/// The same page with another beginning: it asks a server for recordings, which a single file never does.
const SERVED_SCRIPT: &str = include_str!("../../../page/dist/served.js");
const STYLE: &str = include_str!("../../../page/style.css");
/// What the keys do, in a dialog that the script opens.
const HELP: &str = include_str!("../../../page/help.html");

/// Browsers take seconds for one text of 100 MB, and no time for a hundred of 1 MB. A multiple of 3: base64 without
/// padding.
const PIECE: usize = 768 * 1024;

/// The page with a recording inside: `profile` is a .nodescope file of one chunk, `said` what the report says of it, as
/// JSON.
pub fn single_file(profile: &[u8], said: &str, title: &str) -> String {
    let policy = format!("{}; base-uri 'none'; form-action 'none'", own_parts(SCRIPT));
    let home = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n");
    let mut recording = String::with_capacity(profile.len() / 3 * 4 + 4096);
    for piece in profile.chunks(PIECE) {
        recording.push_str("<script type=\"application/octet-stream\" class=\"recording\">");
        recording.push_str(&BASE64.encode_to_string(piece));
        recording.push_str("</script>\n");
    }
    // No text in it can end the element.
    let said = said.replace('<', "\\u003c");
    let _ = writeln!(
        recording,
        "<script type=\"application/json\" id=\"report-words\">{said}</script>"
    );
    assemble(&home, title, &recording, SCRIPT)
}

/// The page that asks its server for recordings. Its policy comes with the answer, see [`served_policy`].
pub(crate) fn served_page() -> String {
    assemble("<meta name=\"nodescope-home\" content=\"served\">\n", "nodescope", "", SERVED_SCRIPT)
}

/// What the served page may do: run its own script, and ask its own server.
pub(crate) fn served_policy() -> String {
    format!(
        "{}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        own_parts(SERVED_SCRIPT)
    )
}

/// The part of a policy that both kinds of page share.
fn own_parts(script: &str) -> String {
    format!("default-src 'none'; script-src {}; style-src {}", source_of(script), source_of(STYLE))
}

fn assemble(home: &str, title: &str, recording: &str, script: &str) -> String {
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
        script,
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
        for script in [SCRIPT, SERVED_SCRIPT] {
            let first = script.lines().next().unwrap_or_default();
            assert!(
                first.ends_with(&expected),
                "page/dist is stale: run npm ci && npm run build in page"
            );
        }
    }

    #[test]
    fn the_script_cannot_end_early() {
        for text in [SCRIPT, SERVED_SCRIPT, STYLE] {
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
            assert!(!SCRIPT.contains(way), "{way}");
        }
    }

    #[test]
    fn nothing_from_outside_is_markup() {
        let page = single_file(
            b"</script><img src=x>",
            "[\"</script><!--\"]",
            "</title><script>alert(1)</script>\"'\u{1b}&",
        );
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
    }

    #[test]
    fn a_large_recording_is_in_pieces() {
        let profile: Vec<u8> = (0..2 * PIECE + 5).map(|at| (at % 251) as u8).collect();
        let page = single_file(&profile, "null", "");
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
        let page = single_file(b"", "null", "");
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
