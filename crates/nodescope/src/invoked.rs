//! What to type to run nodescope again: the name that worked this time, and the path that works behind sudo, which
//! looks into few folders.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "sudo is advised on Linux only"))]

#[cfg(not(windows))]
mod unix;
#[cfg(windows)]
mod windows;

use std::path::{Path, PathBuf};

#[cfg(not(windows))]
pub(crate) use unix::quoted;
#[cfg(windows)]
pub(crate) use windows::quoted;

/// Where sudo looks by default.
const SUDO_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// As it was typed: `nodescope`, `target/release/nodescope`, or `npx nodescope`, which npm's package passes.
pub(crate) fn name() -> String {
    let typed = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    name_of(&typed, &here)
}

/// `sudo nodescope`, with the path where sudo would not find it.
pub(crate) fn with_sudo() -> String {
    let program = std::env::current_exe().unwrap_or_else(|_| "nodescope".into());
    with_sudo_at(&program)
}

fn name_of(typed: &Path, here: &Path) -> String {
    if let Some(command) = typed.to_str().filter(|text| is_run_by_another(text)) {
        return command.to_owned();
    }
    if typed.components().count() < 2 {
        return "nodescope".to_owned();
    }
    let inside = typed
        .strip_prefix(here)
        .ok()
        .filter(|_| here.parent().is_some())
        .filter(|path| path.components().count() > 1);
    quoted(inside.unwrap_or(typed))
}

/// `npx nodescope` or `pnpm dlx nodescope`: packaging/npm/nodescope/nodescope.js makes this the
/// program's name.
fn is_run_by_another(typed: &str) -> bool {
    let runner = typed.strip_suffix(" nodescope").unwrap_or_default();
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    runner.split(' ').all(is_word)
}

fn with_sudo_at(program: &Path) -> String {
    let is_found = program
        .parent()
        .is_some_and(|folder| SUDO_FOLDERS.iter().any(|known| folder == Path::new(known)));
    if is_found { "sudo nodescope".to_owned() } else { format!("sudo {}", quoted(program)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_works_when_it_is_pasted() {
        let here = Path::new("/srv/src");
        assert_eq!(name_of(Path::new("nodescope"), here), "nodescope");
        assert_eq!(name_of(Path::new("npx nodescope"), here), "npx nodescope");
        assert_eq!(name_of(Path::new("pnpm dlx nodescope"), here), "pnpm dlx nodescope");
        assert_eq!(name_of(Path::new("rm -r nodescope"), here), "nodescope");
        assert_eq!(
            name_of(Path::new("target/release/nodescope"), here),
            "target/release/nodescope"
        );
        assert_eq!(
            name_of(Path::new("/srv/src/target/release/nodescope"), here),
            "target/release/nodescope"
        );
        assert_eq!(name_of(Path::new("/srv/src/nodescope"), here), "/srv/src/nodescope");
        assert_eq!(name_of(Path::new("/opt/bin/nodescope"), Path::new("/")), "/opt/bin/nodescope");
        let spaced = Path::new("/a b/nodescope");
        assert_eq!(name_of(spaced, here), quoted(spaced));
        assert_eq!(with_sudo_at(Path::new("/usr/local/bin/nodescope")), "sudo nodescope");
        assert_eq!(
            with_sudo_at(Path::new("/opt/cargo/bin/nodescope")),
            "sudo /opt/cargo/bin/nodescope"
        );
    }
}
