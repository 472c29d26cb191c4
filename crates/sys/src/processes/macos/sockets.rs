//! Listening sockets: the files of a process are listed, and each that is a socket is asked what it is.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{number, pids};
use crate::processes::Listener;

/// `struct socket_fdinfo`: its length, and where its members are.
const INFO_BYTES: usize = 792;
const KIND: usize = 256;
const PORT: usize = 268;
const VERSION: usize = 288;
const ADDRESS: usize = 312;
const STATE: usize = 344;

/// `PROC_PIDFDSOCKETINFO`, `PROX_FDTYPE_SOCKET`, `SOCKINFO_TCP`, `TSI_S_LISTEN`, `INI_IPV4`.
const SOCKET_INFO: libc::c_int = 3;
const SOCKET: u32 = 2;
const TCP: u32 = 2;
const LISTENING: u32 = 1;
const IPV4: u8 = 1;

/// Room for more files than were there when they were counted.
const SPARE_FILES: usize = 64;

/// All sockets that wait for connections, of processes that this user may look at.
pub fn listeners() -> io::Result<Vec<Listener>> {
    let own = |pid: u32| listeners_for(pid).unwrap_or_default();
    Ok(pids()?.into_iter().flat_map(own).collect())
}

/// Those of one process.
pub fn listeners_for(pid: u32) -> io::Result<Vec<Listener>> {
    let id = number(pid)?;
    let found = sockets_of(id)?.into_iter().filter_map(|file| listener(id, file));
    Ok(found.map(|address| Listener { pid: Some(pid), address }).collect())
}

/// The numbers of a process's files that are sockets.
fn sockets_of(pid: libc::pid_t) -> io::Result<Vec<libc::c_int>> {
    let needed = list_files(pid, &mut [])?;
    let row = size_of::<libc::proc_fdinfo>();
    let mut files =
        vec![libc::proc_fdinfo { proc_fd: 0, proc_fdtype: 0 }; needed / row + SPARE_FILES];
    let written = list_files(pid, &mut files)?;
    files.truncate(written / row);
    files.retain(|file| file.proc_fdtype == SOCKET);
    Ok(files.into_iter().map(|file| file.proc_fd).collect())
}

/// How many bytes were written, or would be.
fn list_files(pid: libc::pid_t, files: &mut [libc::proc_fdinfo]) -> io::Result<usize> {
    let out = if files.is_empty() { std::ptr::null_mut() } else { files.as_mut_ptr().cast() };
    let bytes = libc::c_int::try_from(size_of_val(files)).unwrap_or(0);
    // SAFETY: the call writes no more than so many bytes, and nothing without a place to write to.
    let written = unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDLISTFDS, 0, out, bytes) };
    match usize::try_from(written) {
        Ok(written) if written > 0 => Ok(written),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Where a socket listens.
fn listener(pid: libc::pid_t, file: libc::c_int) -> Option<SocketAddr> {
    let mut info = [0_u8; INFO_BYTES];
    let bytes = INFO_BYTES as libc::c_int;
    // SAFETY: the call writes no more than so many bytes.
    let written =
        unsafe { libc::proc_pidfdinfo(pid, file, SOCKET_INFO, info.as_mut_ptr().cast(), bytes) };
    if written == bytes { listener_in(&info) } else { None }
}

fn listener_in(info: &[u8; INFO_BYTES]) -> Option<SocketAddr> {
    let number_at = |offset: usize| {
        info[offset..].first_chunk::<4>().map(|bytes| u32::from_ne_bytes(*bytes)).unwrap_or(0)
    };
    if number_at(KIND) != TCP || number_at(STATE) != LISTENING {
        return None;
    }
    // In the order of the network, in the first two bytes.
    let port = u16::from_be(number_at(PORT) as u16);
    let address = info[ADDRESS..].first_chunk::<16>()?;
    let ip = match info[VERSION] & IPV4 {
        0 => IpAddr::V6(Ipv6Addr::from(*address)),
        // The last four of sixteen bytes.
        _ => IpAddr::V4(Ipv4Addr::new(address[12], address[13], address[14], address[15])),
    };
    Some(SocketAddr::new(ip, port))
}
