//! Opens a page in the user's browser. Over SSH there is none: then its path or address is printed.

#[cfg(not(target_os = "macos"))]
mod elsewhere;
#[cfg(target_os = "macos")]
mod macos;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use profile::Profile;

use crate::export::{self, Form};
use crate::failure::{Failure, warn};
#[cfg(not(target_os = "macos"))]
use elsewhere::OPENER;
#[cfg(not(target_os = "macos"))]
pub(crate) use elsewhere::is_here;
#[cfg(target_os = "macos")]
use macos::OPENER;
#[cfg(target_os = "macos")]
pub(crate) use macos::is_here;

/// Writes the page of a recording beside it, unless the recording is the page, and opens it.
pub(crate) fn show(profile: &Profile, form: Form, out: &Path) -> Result<(), Failure> {
    let page = if form == Form::Html { out.to_owned() } else { out.with_extension("html") };
    if form != Form::Html {
        export::write_whole(profile, Form::Html, &page)?;
    }
    if is_here() && open(&page) {
        warn(&format!("opened {}", page.display()));
    } else {
        warn(&format!("open {} in a browser", page.display()));
    }
    Ok(())
}

/// Opens an address, where there is a screen. Over SSH, X11 may lead to a distant screen: then only a browser that
/// `BROWSER` names is started. Editors that work remotely set it.
pub(crate) fn open_address(address: &str) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_far = is_set("SSH_CONNECTION") && !is_set("BROWSER");
    is_here() && !is_far && start(OsStr::new(address))
}

fn open(page: &Path) -> bool {
    let page: PathBuf = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    start(page.as_os_str())
}

/// Starts the browser, and does not wait for it.
fn start(what: &OsStr) -> bool {
    let program = std::env::var_os("BROWSER").filter(|program| !program.is_empty());
    let mut command = Command::new(program.unwrap_or_else(|| OPENER.into()));
    command
        .arg(what)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .is_ok()
}
