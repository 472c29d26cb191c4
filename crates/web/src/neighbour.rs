//! Which user's program is at the other end of a connection within this machine. The kernel knows, so a code that
//! another user has read from a list of processes is of no use to them.

use std::fs;
use std::net::SocketAddr;

/// Whether a program of another user than ours asks: not of root, who can see everything anyway, and not of the person
/// who called sudo. Where the kernel does not know, the program counts as ours: the code is a secret.
pub(crate) fn is_stranger(theirs: SocketAddr, ours: SocketAddr) -> bool {
    let Some(uid) = user_of(theirs, ours) else { return false };
    let sudo = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    uid != 0 && Some(uid) != own_user() && Some(uid) != sudo
}

/// The user of the socket at the other end.
fn user_of(theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    // A program may use a socket of the newer kind for an address of the older one.
    let lists = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    lists.iter().find_map(|list| user_in(&fs::read_to_string(list).ok()?, theirs, ours))
}

fn user_in(list: &str, theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    let (theirs, ours) = (written(theirs)?, written(ours)?);
    list.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (words.next()?, words.next()?);
        let is_it = local.ends_with(&theirs) && remote.ends_with(&ours);
        is_it.then(|| words.nth(4)?.parse().ok()).flatten()
    })
}

/// `0100007F:1F90`, as /proc/net/tcp has it; the longer addresses of tcp6 end with it.
fn written(address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else { return None };
    Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port()))
}

/// Our own, as the kernel shows it in the same namespace.
fn own_user() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    const LIST: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 3 1 0 20 4 30 10 -1
   3: 0000000000000000FFFF00000100007F:C351 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1002        0 3 1 0 20 4 30 10 -1
";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_kernel_knows_whose_socket_it_is() {
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(user_in(LIST, at(50000), at(8080)), Some(1001));
        assert_eq!(user_in(LIST, at(50001), at(8080)), Some(1002));
        assert_eq!(user_in(LIST, at(50002), at(8080)), None);
        assert_eq!(user_in("", at(50000), at(8080)), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn we_are_no_strangers() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, ours) = (client.local_addr().unwrap(), listener.local_addr().unwrap());
        assert_eq!(user_of(theirs, ours), own_user());
        assert!(own_user().is_some() && !is_stranger(theirs, ours));
    }
}
