//! What is run inside of the target, as JavaScript: little, and marked as ours by its source, so that it can be
//! distinguished from the application in every profile. Each file of `script/` is one function and states what it is
//! for; comments stay here.

use std::time::Duration;

/// The scheme of our scripts' names.
pub(crate) const OURS: &str = "nodescope:";

const IDENTITY: &str = include_str!("script/identity.js");
const GUARD: &str = include_str!("script/guard.js");
const RENEW: &str = include_str!("script/renew.js");
const LEAVE: &str = include_str!("script/leave.js");
const CLOSE: &str = include_str!("script/close.js");
const WINDOW: &str = include_str!("script/window.js");

/// Who the target is.
pub(crate) fn identity() -> String {
    called("identity", IDENTITY, "")
}

/// Sets a timer that closes the inspector, unless it is renewed in time.
pub(crate) fn guard(after: Duration) -> String {
    called("guard", GUARD, &after.as_millis().to_string())
}

/// A function for the guard: it begins to wait anew.
pub(crate) fn renew() -> String {
    declared("renew", RENEW)
}

/// A function for the guard: the inspector closes when we have left.
pub(crate) fn leave() -> String {
    declared("leave", LEAVE)
}

/// Closes the inspector at once.
pub(crate) fn close() -> String {
    called("close", CLOSE, "")
}

/// Begins a window of samples, and ends the one before. Their names are ours: letters, digits and hyphens.
pub(crate) fn window(begin: Option<&str>, end: Option<&str>) -> String {
    let name = |title: Option<&str>| title.map_or("null".to_owned(), |title| format!("'{title}'"));
    called("window", WINDOW, &format!("{}, {}", name(begin), name(end)))
}

/// Time and CPU time in ms.
pub(crate) fn clocks() -> String {
    called("clocks", WINDOW, "")
}

/// A call of a function, for `Runtime.evaluate`.
fn called(name: &str, function: &str, arguments: &str) -> String {
    marked(name, &format!("({})({arguments})", without_comments(function)))
}

/// A function, for `Runtime.callFunctionOn`.
fn declared(name: &str, function: &str) -> String {
    marked(name, &without_comments(function))
}

/// Names a script. The comment ends with its line: V8 puts brackets around a function that it is given, and the comment
/// would hide the closing one.
fn marked(name: &str, text: &str) -> String {
    format!("{text}\n//# sourceURL={OURS}{name}\n")
}

/// A script without its comments, which have lines of their own.
fn without_comments(script: &str) -> String {
    let lines = script.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::print_stdout,
        reason = "a test may panic, and prints what it skips"
    )]

    use super::*;
    use crate::skip::skip;
    use std::path::PathBuf;
    use std::process::Command;

    const FILES: [&str; 6] = [IDENTITY, GUARD, RENEW, LEAVE, CLOSE, WINDOW];

    /// The oldest Node whose inspector we speak to, where scripts/install-test-tools.sh has put it.
    fn oldest_node() -> Option<PathBuf> {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let cache = std::env::var_os("NODESCOPE_CACHE")
            .map_or(home.join(".cache/nodescope"), PathBuf::from);
        let node = cache.join("node-18.20.8/node");
        let found = node.exists().then_some(node);
        if found.is_none() {
            skip("node --check: scripts/install-test-tools.sh fetches Node 18.20.8");
        }
        found
    }

    #[test]
    fn comments_go_and_nothing_else_does() {
        assert_eq!(
            without_comments("// one\nfunction a() {\n  // two\n  b();\n}\n"),
            "function a() {\n  b();\n}"
        );
        for file in FILES {
            let stripped = without_comments(file);
            assert!(
                stripped.starts_with("function nodescope(") && stripped.ends_with('}'),
                "{stripped}"
            );
            // What would be a comment elsewhere, or a text that only looks like one.
            for odd in ["//", "/*", "`"] {
                assert!(!stripped.contains(odd), "{odd} in {stripped}");
            }
        }
    }

    /// As V8 gets them: a function that it calls has brackets around it.
    #[test]
    fn the_oldest_node_takes_every_script() {
        let Some(node) = oldest_node() else { return };
        let guarded = [renew(), leave()].map(|text| format!("({text})"));
        let scripts = [
            identity(),
            guard(Duration::from_secs(15)),
            close(),
            window(Some("nodescope-1-1"), Some("nodescope-1-0")),
            window(None, Some("nodescope-1-0")),
            clocks(),
        ];
        let broken = format!("({})", renew().trim_end());
        let path = std::env::temp_dir().join(format!("nodescope-script-{}.js", std::process::id()));
        let is_taken = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let checked = Command::new(&node).arg("--check").arg(&path).output().unwrap();
            (checked.status.success(), String::from_utf8_lossy(&checked.stderr).into_owned())
        };
        for script in scripts.iter().chain(&guarded) {
            let (is_taken, message) = is_taken(script);
            assert!(is_taken, "{message}");
        }
        assert!(!is_taken(&broken).0, "the comment swallows the bracket");
        std::fs::remove_file(&path).unwrap();
    }
}
