//! Sockets in the network of another process. A thread of ours that enters it never comes back to work, so the rest
//! of the program stays where it is; what was opened there is handed over.

use std::fs::File;
use std::io;
use std::mem::size_of;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use super::pidfd::Pidfd;

/// Does something as if we were in the network that `namespace` (a /proc/PID/ns/net) is. Needs CAP_SYS_ADMIN.
pub fn within<T: Send>(namespace: &File, action: impl FnOnce() -> T + Send) -> io::Result<T> {
    let enter = || {
        // SAFETY: the descriptor is open through the call. Only this thread is moved, and it ends here.
        let entered = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
        if entered < 0 { Err(io::Error::last_os_error()) } else { Ok(action()) }
    };
    thread::scope(|scope| {
        let thread = scope.spawn(enter);
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread in the other network failed")))
    })
}

/// A connection from inside the user and network namespaces of a process, as in a rootless container: the user who made
/// them may enter both at once, but only from a program with one thread. So a copy of ours goes in, connects, hands the
/// socket back and ends.
pub fn connect_as_member(
    process: &Pidfd,
    to: SocketAddr,
    limit: Duration,
) -> io::Result<TcpStream> {
    let (mut ours, theirs) = UnixStream::pair()?;
    ours.set_read_timeout(Some(limit.saturating_add(Duration::from_millis(500))))?;
    let errand = Errand::new(process, to, limit, theirs.as_raw_fd());
    // SAFETY: the copy calls nothing but system calls on what was prepared here, and ends by _exit.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        errand.run();
    }
    drop(theirs);
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let received = receive(&mut ours);
    // SAFETY: a child of ours that no other code waits for. It has a time limit of its own, or was ended.
    unsafe {
        if received.is_err() {
            libc::kill(pid, libc::SIGKILL);
        }
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
    received.map(TcpStream::from)
}

/// What the copy has to do, with everything that it needs: it must not allocate.
struct Errand<'a> {
    process: BorrowedFd<'a>,
    address: libc::sockaddr_storage,
    length: libc::socklen_t,
    family: libc::c_int,
    limit: libc::timeval,
    answer: RawFd,
}

/// Room for one descriptor beside a message, in words so that it is aligned.
type Beside = [u64; 4];

impl<'a> Errand<'a> {
    fn new(process: &'a Pidfd, to: SocketAddr, limit: Duration, answer: RawFd) -> Self {
        // SAFETY: all zeros is an address of no family.
        let mut address: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let (family, length) = match to {
            SocketAddr::V4(to) => {
                let octets = u32::from_ne_bytes(to.ip().octets());
                let inner = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: to.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: octets },
                    sin_zero: [0; 8],
                };
                // SAFETY: a sockaddr_storage has room for every kind of address, and is aligned for it.
                unsafe { (&raw mut address).cast::<libc::sockaddr_in>().write(inner) };
                (libc::AF_INET, size_of::<libc::sockaddr_in>())
            }
            SocketAddr::V6(to) => {
                let inner = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: to.port().to_be(),
                    sin6_flowinfo: to.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: to.ip().octets() },
                    sin6_scope_id: to.scope_id(),
                };
                // SAFETY: as above.
                unsafe { (&raw mut address).cast::<libc::sockaddr_in6>().write(inner) };
                (libc::AF_INET6, size_of::<libc::sockaddr_in6>())
            }
        };
        let limit =
            libc::timeval { tv_sec: limit.as_secs() as _, tv_usec: limit.subsec_micros().into() };
        Self {
            process: process.as_fd(),
            address,
            length: length as libc::socklen_t,
            family,
            limit,
            answer,
        }
    }

    /// In the copy. Sends zero and a socket, or the number of an error.
    fn run(&self) -> ! {
        // SAFETY: system calls on descriptors and structures that the copy has from its parent; none allocates, takes
        // a lock or returns into code that does.
        unsafe {
            let (socket, error) = match self.connect() {
                Ok(socket) => (socket, 0),
                Err(error) => (-1, error),
            };
            self.send(socket, error);
            libc::_exit(0)
        }
    }

    /// # Safety
    /// Only in the copy: it moves to other namespaces.
    unsafe fn connect(&self) -> Result<libc::c_int, libc::c_int> {
        // SAFETY: each structure is whole and has its size; each descriptor is open.
        unsafe {
            let error = || *libc::__errno_location();
            if libc::setns(self.process.as_raw_fd(), libc::CLONE_NEWUSER | libc::CLONE_NEWNET) < 0 {
                return Err(error());
            }
            let socket = libc::socket(self.family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
            if socket < 0 {
                return Err(error());
            }
            // For Linux this limits connect(2), too.
            let (limit, size) = ((&raw const self.limit).cast(), size_of::<libc::timeval>());
            libc::setsockopt(
                socket,
                libc::SOL_SOCKET,
                libc::SO_SNDTIMEO,
                limit,
                size as libc::socklen_t,
            );
            if libc::connect(socket, (&raw const self.address).cast(), self.length) < 0 {
                return Err(error());
            }
            let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
            let none = (&raw const none).cast();
            libc::setsockopt(
                socket,
                libc::SOL_SOCKET,
                libc::SO_SNDTIMEO,
                none,
                size as libc::socklen_t,
            );
            Ok(socket)
        }
    }

    /// # Safety
    /// Only in the copy. `socket` is open, or negative.
    unsafe fn send(&self, socket: libc::c_int, error: libc::c_int) {
        let mut bytes = error.to_ne_bytes();
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut beside: Beside = [0; 4];
        // SAFETY: the message points to what lives until its end; the room beside it is large enough for one
        // descriptor and its header, and aligned.
        unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            if socket >= 0 {
                message.msg_control = beside.as_mut_ptr().cast();
                message.msg_controllen = libc::CMSG_SPACE(size_of::<libc::c_int>() as u32) as _;
                let header = libc::CMSG_FIRSTHDR(&raw const message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(size_of::<libc::c_int>() as u32) as _;
                libc::CMSG_DATA(header).cast::<libc::c_int>().write_unaligned(socket);
            }
            libc::sendmsg(self.answer, &raw const message, libc::MSG_NOSIGNAL);
        }
    }
}

/// What the copy sent.
fn receive(from: &mut UnixStream) -> io::Result<OwnedFd> {
    let mut bytes = [0; 4];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut beside: Beside = [0; 4];
    // SAFETY: the message points to what lives until its end and has its size; a descriptor that the kernel
    // put there is ours, and has its owner at once.
    let (got, socket) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = beside.as_mut_ptr().cast();
        message.msg_controllen = size_of::<Beside>() as _;
        let got = libc::recvmsg(from.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
        let header =
            if got > 0 { libc::CMSG_FIRSTHDR(&raw const message) } else { std::ptr::null_mut() };
        let has_socket = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS;
        let socket =
            has_socket.then(|| libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned());
        (got, socket.map(|socket| OwnedFd::from_raw_fd(socket)))
    };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    match (socket, i32::from_ne_bytes(bytes)) {
        (Some(socket), _) => Ok(socket),
        (None, 0) => Err(io::ErrorKind::UnexpectedEof.into()),
        (None, error) => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv6Addr, TcpListener};

    #[test]
    fn our_own_network_can_be_entered() {
        let network = File::open("/proc/self/ns/net").expect("/proc is mounted");
        match within(&network, || 7) {
            Ok(seven) => assert_eq!(seven, 7),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EPERM)),
        }
        let wrong = File::open("/proc/self/ns/pid").expect("/proc is mounted");
        assert!(within(&wrong, || 7).is_err());
    }

    /// A copy may not enter the user namespace that it is in already: the answer is an error, and comes at once.
    #[test]
    fn a_refusal_of_the_copy_arrives() {
        let ourselves = Pidfd::open(std::process::id()).expect("we run");
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
        let to = listener.local_addr().expect("it is bound");
        for to in [to, SocketAddr::from((Ipv6Addr::LOCALHOST, to.port()))] {
            let error = connect_as_member(&ourselves, to, Duration::from_secs(1));
            assert_eq!(error.map_err(|error| error.raw_os_error()).err(), Some(Some(libc::EINVAL)));
        }
    }
}
