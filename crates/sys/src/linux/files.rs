//! Files that std does not open: in a root that is not ours, where the kernel itself keeps us inside whatever links
//! they hold; in memory; and those that a program shares with one that it starts.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens a file for reading as a process with that root would see it: links lead to files of that root, and a pipe
/// without a writer does not block. `Unsupported` before Linux 5.6.
pub fn open_in(root: &Path, path: &Path) -> io::Result<File> {
    let root = open_folder(root)?;
    let path = text(path)?;
    // SAFETY: all zeros is an open_how that asks for nothing.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY) as u64;
    how.resolve = libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS;
    // SAFETY: the path ends with a zero, and the structure has its own size; both live through the call.
    let file = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            root.as_raw_fd(),
            path.as_ptr(),
            &raw const how,
            size_of_val(&how),
        )
    };
    own(file)
}

/// A folder that stays what it is, whatever happens to its path.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let path = text(path)?;
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero and lives through the call.
    own(libc::c_long::from(unsafe { libc::open(path.as_ptr(), flags) }))
}

/// The file system of the kernel's trace events, mounted nowhere: only we see it. Needs CAP_SYS_ADMIN.
pub fn open_trace_events() -> io::Result<OwnedFd> {
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: fixed texts and numbers go in, and each descriptor that comes out gets its owner at once.
    unsafe {
        let context: OwnedFd = own(libc::syscall(libc::SYS_fsopen, c"tracefs".as_ptr(), 1))?;
        let made = libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            FSCONFIG_CMD_CREATE,
            none,
            none,
            0,
        );
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        own(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1, 0))
    }
}

/// A file in memory, without a name: it is gone with its last descriptor.
pub fn memory_file() -> io::Result<File> {
    // SAFETY: a fixed text and a number go in.
    own(libc::c_long::from(unsafe { libc::memfd_create(c"nodescope".as_ptr(), libc::MFD_CLOEXEC) }))
}

/// Lets programs that this process starts from now on have a file, under the same number.
pub fn share(file: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: changes a flag of a descriptor that its owner has lent us.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFD, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A file that was shared with this program when it was started. From now on it is this program's alone.
pub fn inherited<T: FromRawFd>(number: i32) -> io::Result<T> {
    // SAFETY: sets a flag of a descriptor by its number, which fails where there is none.
    let result = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    if result < 0 { Err(io::Error::last_os_error()) } else { own(libc::c_long::from(number)) }
}

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// What a system call returned: a descriptor of ours, or an error.
fn own<T: FromRawFd>(result: libc::c_long) -> io::Result<T> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel or our parent process has given us this descriptor, and nothing else owns it.
    Ok(unsafe { T::from_raw_fd(result as libc::c_int) })
}
