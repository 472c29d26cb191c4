//! What distinguishes a process from others that run the same command: its working folder, its script, and the
//! application that these belong to, by the name in a package.json. Such a file is the process's own and may be
//! anything: it is opened inside of the process's root, must be a regular file of at most 1 MiB, and only its name is
//! taken.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crate::linux::proc::Proc;

/// Where a process runs, and what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The working folder, as the process sees it.
    pub(crate) folder: Option<String>,
    /// The script's whole path.
    pub(crate) script: Option<String>,
    /// The name in the nearest package.json.
    pub(crate) app: Option<String>,
}

/// No package.json that people write is larger.
const MOST_PACKAGE: u64 = 1 << 20;

/// npm takes names of up to 214 characters.
const LONGEST_NAME: usize = 214;

/// How many folders are asked, from the inside out.
const MOST_FOLDERS: usize = 16;

const PACKAGES: &str = "node_modules";

/// Looks at a process that runs `script`, as far as this user may see.
pub(crate) fn identify(proc: &Proc, pid: u32, script: Option<&str>) -> Identity {
    let Some(folder) = working_folder(proc, pid) else { return Identity::default() };
    let script = script.map(|script| plain(&folder.join(script)));
    let root = proc.path(pid, "root");
    let app =
        folders(&folder, script.as_deref()).iter().find_map(|folder| package_name(&root, folder));
    let text = |path: &Path| path.display().to_string();
    Identity { folder: Some(text(&folder)), script: script.as_deref().map(text), app }
}

/// The name in the package.json of a folder of our own, or of the folders around it.
pub fn app_of_folder(folder: &Path) -> Option<String> {
    folder.ancestors().take(MOST_FOLDERS).find_map(|folder| package_name(Path::new("/"), folder))
}

/// The kernel reports the folder of a process in a chroot as seen from our own root.
fn working_folder(proc: &Proc, pid: u32) -> Option<PathBuf> {
    let folder = proc.link_of(pid, "cwd").ok()?;
    let root = proc.link_of(pid, "root").unwrap_or_else(|_| "/".into());
    let inside = folder.strip_prefix(&root).map(|inside| Path::new("/").join(inside));
    Some(inside.unwrap_or(folder)).filter(|folder| folder.is_absolute())
}

/// Where a package.json is looked for, the most specific place first: between the script and the working folder, in
/// that folder, then around the script. A script of a package, such as `next`, has nothing to do with the application.
fn folders(folder: &Path, script: Option<&Path>) -> Vec<PathBuf> {
    let is_own = |script: &&Path| !script.components().any(|part| part.as_os_str() == PACKAGES);
    let around = script.filter(is_own).and_then(Path::parent).into_iter().flat_map(Path::ancestors);
    let (inside, outside): (Vec<&Path>, Vec<&Path>) =
        around.partition(|place| place.starts_with(folder) && *place != folder);
    let places = inside
        .into_iter()
        .chain([folder])
        .chain(outside.into_iter().filter(|place| *place != folder));
    places.take(MOST_FOLDERS).map(Path::to_owned).collect()
}

fn package_name(root: &Path, folder: &Path) -> Option<String> {
    let file = sys::files::open_in(root, &folder.join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_slice(&whole(file).ok()?).ok()?;
    let name = package.get("name")?.as_str()?;
    (!name.is_empty() && name.chars().count() <= LONGEST_NAME).then(|| name.to_owned())
}

fn whole(file: File) -> io::Result<Vec<u8>> {
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MOST_PACKAGE {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(MOST_PACKAGE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A path without `.` and `..`, as Node resolves it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn places(folder: &str, script: Option<&str>) -> Vec<String> {
        let found = folders(Path::new(folder), script.map(Path::new));
        found.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn the_script_comes_before_the_folder_only_inside_of_it() {
        assert_eq!(places("/srv/shop", Some("/srv/shop/server.js")), ["/srv/shop", "/srv", "/"]);
        assert_eq!(
            places("/srv", Some("/srv/packages/api/app.js")),
            ["/srv/packages/api", "/srv/packages", "/srv", "/"]
        );
        assert_eq!(places("/home/ann", Some("/srv/app.js")), ["/home/ann", "/srv", "/"]);
        assert_eq!(places("/srv", Some("/srv/node_modules/next/dist/bin/next")), ["/srv"]);
        assert_eq!(places("/srv", None), ["/srv"]);
        assert_eq!(plain(Path::new("/srv/./a/../b.js")), Path::new("/srv/b.js"));
    }

    #[test]
    fn hostile_packages_are_no_names() {
        let root = std::env::temp_dir().join(format!("nodescope-identity-{}", std::process::id()));
        let make = |name: &str, bytes: &[u8]| {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("package.json"), bytes).unwrap();
        };
        make("good", br#"{"name":"@acme/shop","version":"1.0.0"}"#);
        make("nameless", br#"{"type":"module"}"#);
        make("number", br#"{"name":7}"#);
        make("damaged", b"{\"name\":\"sh");
        make("long", format!("{{\"name\":\"{}\"}}", "x".repeat(LONGEST_NAME + 1)).as_bytes());
        make(
            "large",
            format!("{{\"name\":\"large\",\"x\":\"{}\"}}", "y".repeat(1 << 20)).as_bytes(),
        );
        fs::create_dir_all(root.join("folder/package.json")).unwrap();
        fs::create_dir_all(root.join("outside")).unwrap();
        // A link of the process must not lead to a file of ours.
        let secret =
            std::env::temp_dir().join(format!("nodescope-identity-{}.json", std::process::id()));
        fs::write(&secret, br#"{"name":"secret"}"#).unwrap();
        symlink(&secret, root.join("outside/package.json")).unwrap();
        let name = |folder: &str| package_name(&root, &Path::new("/").join(folder));
        assert_eq!(name("good").as_deref(), Some("@acme/shop"));
        for folder in
            ["nameless", "number", "damaged", "long", "large", "folder", "outside", "missing"]
        {
            assert_eq!(name(folder), None, "{folder}");
        }
        fs::remove_dir_all(&root).unwrap();
        fs::remove_file(&secret).unwrap();
    }
}
