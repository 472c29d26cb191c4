//! The only access to the disk. Only regular files are opened: a pipe would block, a device may do anything.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use elsewhere as system;
#[cfg(unix)]
use unix as system;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

pub(crate) use system::path_of;

/// Where files come from: the disk, or what a test makes up.
pub trait Files: Send + Sync {
    /// Opens a file. With a root, the path and its links are those that a process with this root would see.
    fn open(&self, root: Option<&Path>, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    /// Opens a file in a folder where every user may write, such as /tmp: a link there may lead to what only we may
    /// read, so it is refused.
    fn open_unlinked(&self, root: Option<&Path>, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        self.open(root, path)
    }

    /// Where a path's links lead to in the end, for its name alone.
    fn real_path(&self, _root: Option<&Path>, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    /// The code that the kernel maps into every process, `[vdso]`: a file that is on no disk.
    fn vdso(&self) -> io::Result<Box<dyn OpenFile>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// A file that is read from its start, or here and there.
pub trait OpenFile: Read + Seek {
    /// The user that owns it, where there are users.
    fn owner(&self) -> Option<u32> {
        None
    }
}

impl OpenFile for File {
    fn owner(&self) -> Option<u32> {
        system::owner(self)
    }
}

impl<T: AsRef<[u8]>> OpenFile for Cursor<T> {}

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

/// What the kernel allows, too.
const MOST_LINKS: usize = 40;

impl Files for Disk {
    fn open(&self, root: Option<&Path>, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(open_regular(root, path)?))
    }

    fn open_unlinked(&self, root: Option<&Path>, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        // Inside of a root, links lead to files of that root.
        let file = if root.is_some() { open_regular(root, path)? } else { open_itself(path)? };
        Ok(Box::new(file))
    }

    fn real_path(&self, root: Option<&Path>, path: &Path) -> io::Result<PathBuf> {
        root.map_or_else(|| fs::canonicalize(path), |root| inside(root, path))
    }

    fn vdso(&self) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(Cursor::new(own_vdso()?)))
    }
}

/// Opens a regular file that is no link, even if it is exchanged meanwhile.
fn open_itself(path: &Path) -> io::Result<File> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    let seen = fs::symlink_metadata(path)?;
    if !seen.is_file() {
        return Err(refuse());
    }
    let file = File::open(path)?;
    if system::is_same(&seen, &file.metadata()?) { Ok(file) } else { Err(refuse()) }
}

/// What the kernel maps is two pages.
const MOST_VDSO_BYTES: u64 = 1 << 20;

/// Our own copy: all processes of one kernel have the same.
fn own_vdso() -> io::Result<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"));
    let range = line.and_then(|line| line.split(' ').next()?.split_once('-'));
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let range = range.and_then(|(start, end)| Some((number(start)?, number(end)?)));
    let (start, end) = range.ok_or(io::ErrorKind::NotFound)?;
    let mut memory = File::open("/proc/self/mem")?;
    memory.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    memory.take(end.saturating_sub(start).min(MOST_VDSO_BYTES)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_regular(root: Option<&Path>, path: &Path) -> io::Result<File> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    let path = match root {
        None => path,
        // The kernel itself finds the way inside, so that no process can exchange a link meanwhile.
        Some(root) => match sys::files::open_in(root, path) {
            Err(error) if is_refused(&error) => &inside(root, path)?,
            file => {
                return file.and_then(|file| {
                    if file.metadata()?.is_file() { Ok(file) } else { Err(refuse()) }
                });
            }
        },
    };
    // Before it is opened, because opening a pipe waits for its writer.
    if !fs::metadata(path)?.is_file() {
        return Err(refuse());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refuse()) }
}

/// Older kernels do not know the call, and older sandboxes forbid what they do not know.
fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}

/// For kernels that do not: the path that a process with that root means. A link of a container must not lead to a file
/// of ours.
fn inside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut found = PathBuf::new();
    let mut rest = parts_reversed(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            found.pop();
            continue;
        }
        match fs::read_link(root.join(&found).join(&part)) {
            Err(_) => found.push(part),
            Ok(_) if links == MOST_LINKS => return Err(io::Error::other("too many links")),
            Ok(target) => {
                links += 1;
                if target.is_absolute() {
                    found.clear();
                }
                rest.extend(parts_reversed(&target));
            }
        }
    }
    Ok(root.join(found))
}

fn parts_reversed(path: &Path) -> Vec<OsString> {
    let counts = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().rev().filter(counts).map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_inside_their_root() {
        let folder = std::env::temp_dir().join(format!("nodescope-root-{}", std::process::id()));
        let root = folder.join("container");
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        fs::write(root.join("usr/lib/a.so"), "theirs").unwrap();
        fs::write(folder.join("a.so"), "ours").unwrap();
        symlink("/usr/lib", root.join("lib")).unwrap();
        symlink("../../../a.so", root.join("up.so")).unwrap();
        symlink(folder.join("a.so"), root.join("out.so")).unwrap();
        symlink("loop.so", root.join("loop.so")).unwrap();
        let read = |path: &str| {
            let mut bytes = Vec::new();
            Disk.open(Some(&root), Path::new(path)).ok()?.read_to_end(&mut bytes).ok()?;
            Some(bytes)
        };
        assert_eq!(read("/lib/a.so").as_deref(), Some(&b"theirs"[..]));
        assert_eq!(read("/../../usr/lib/../lib/a.so").as_deref(), Some(&b"theirs"[..]));
        assert_eq!(
            [read("/up.so"), read("/out.so"), read("/loop.so"), read("/usr")],
            [None, None, None, None]
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_vdso_is_an_elf_file_in_memory() {
        let bytes = own_vdso().unwrap();
        assert!(bytes.starts_with(b"\x7fELF"), "{:?}", &bytes[..bytes.len().min(16)]);
    }

    #[test]
    fn links_in_a_common_folder_are_not_followed() {
        let folder = std::env::temp_dir().join(format!("nodescope-links-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("secret"), "s").unwrap();
        symlink(folder.join("secret"), folder.join("perf-1.map")).unwrap();
        assert!(Disk.open_unlinked(None, &folder.join("secret")).is_ok());
        assert!(Disk.open(None, &folder.join("perf-1.map")).is_ok());
        assert!(Disk.open_unlinked(None, &folder.join("perf-1.map")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn devices_and_folders_are_not_opened() {
        for path in ["/dev/zero", "/tmp", "/does/not/exist"] {
            assert!(Disk.open(None, Path::new(path)).is_err(), "{path}");
        }
    }
}
