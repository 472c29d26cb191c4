//! A process by a descriptor instead of a number: it means the same process for as long as it is held, so a signal
//! cannot reach another one that got the number later.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A process, or what is left of it.
#[derive(Debug)]
pub struct Pidfd(OwnedFd);

impl Pidfd {
    /// Opens a process. `Unsupported` before Linux 5.3; a number that is no pid is `InvalidInput`.
    pub fn open(pid: u32) -> io::Result<Self> {
        // To the kernel, zero and negative numbers are groups, or every process.
        let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0);
        let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: numbers go in, and a descriptor that is ours alone comes out.
        let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(opened as libc::c_int) }))
    }

    /// Another descriptor of the same process.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Sends SIGUSR1, which opens the inspector of a Node that expects it, and ends a program that does not.
    pub fn send_usr1(&self) -> io::Result<()> {
        self.send(libc::SIGUSR1)
    }

    /// Sends SIGTERM, which asks it to end.
    pub fn send_term(&self) -> io::Result<()> {
        self.send(libc::SIGTERM)
    }

    /// Whether we may signal it. Nothing is sent.
    pub fn may_signal(&self) -> io::Result<()> {
        self.send(0)
    }

    /// Whether it has ended, though its parent may still have to wait for it.
    pub fn has_ended(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one whole structure, which lives through the call; it does not wait.
        let ready = unsafe { libc::poll(&raw mut poll, 1, 0) };
        ready > 0 && poll.revents != 0
    }

    fn send(&self, signal: libc::c_int) -> io::Result<()> {
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is ours, and without further information the kernel fills in what kill(2) would.
        let sent = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal, none, 0)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn groups_and_everybody_are_no_process() {
        for pid in [0, u32::MAX, (-2i32).cast_unsigned(), 1 << 31] {
            assert_eq!(
                Pidfd::open(pid).map_err(|error| error.kind()).err(),
                Some(io::ErrorKind::InvalidInput)
            );
        }
    }

    #[test]
    fn an_end_is_seen_and_the_number_is_not_used_again() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("there is cat");
        let process = Pidfd::open(child.id()).expect("it runs");
        assert!(process.may_signal().is_ok() && !process.has_ended());
        drop(child.stdin.take());
        let _ = child.wait();
        assert!(process.has_ended());
        assert_eq!(
            process.send_usr1().map_err(|error| error.raw_os_error()),
            Err(Some(libc::ESRCH))
        );
    }
}
