//! Which port of a process is its inspector: a listening socket of its own, on a port that inspectors use.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::command::Command;
use crate::inspector_port::USUAL_PORTS;
use crate::linux::proc::Proc;

/// A socket that waits for connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    pub(crate) inode: u64,
}

/// The listening sockets of each network namespace, read once: all processes of a namespace see the same.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    known: HashMap<String, Vec<Listener>>,
}

/// What the process has open may not be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hidden;

/// Services listen on few ports; more mean nothing.
const MOST_PORTS: usize = 16;

/// `TCP_LISTEN` in net/tcp.
const LISTENING: &str = "0A";

impl Listeners {
    /// The inspector's port, if it is open, and the other ports that a process listens on.
    pub(crate) fn ports(
        &mut self,
        proc: &Proc,
        pid: u32,
        command: &Command,
    ) -> (Result<Option<u16>, Hidden>, Vec<u16>) {
        let Ok(sockets) = sockets_of(proc, pid) else { return (Err(Hidden), Vec::new()) };
        let own = self.of(proc, pid).iter().filter(|listener| sockets.contains(&listener.inode));
        let own: Vec<Listener> = own.copied().collect();
        let mut ports: Vec<u16> = own.iter().map(|listener| listener.address.port()).collect();
        ports.sort_unstable();
        ports.dedup();
        let inspector =
            likely_inspectors(own, command).first().map(|listener| listener.address.port());
        ports.retain(|port| Some(*port) != inspector);
        ports.truncate(MOST_PORTS);
        (Ok(inspector), ports)
    }

    fn of(&mut self, proc: &Proc, pid: u32) -> &[Listener] {
        let namespace = proc.link_of(pid, "ns/net").map(|link| link.display().to_string());
        let key = namespace.unwrap_or_else(|_| format!("of {pid}"));
        self.known.entry(key).or_insert_with(|| listeners_beside(proc, pid))
    }
}

/// The listening sockets of a process's network, whichever process has them.
pub(crate) fn listeners_beside(proc: &Proc, pid: u32) -> Vec<Listener> {
    let tables = ["net/tcp", "net/tcp6"].map(|name| proc.table_of(pid, name).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines().filter_map(listener_in)).collect()
}

/// The inodes of the sockets that a process has.
pub(crate) fn sockets_of(proc: &Proc, pid: u32) -> io::Result<HashSet<u64>> {
    let links = proc.links_of(pid, "fd")?;
    Ok(links.iter().filter_map(|link| socket_inode(link.to_str()?)).collect())
}

/// Which of a process's listeners may be its inspector, the likeliest first.
pub(crate) fn likely_inspectors(mut own: Vec<Listener>, command: &Command) -> Vec<Listener> {
    let wanted = command.wanted_port();
    own.retain(|listener| match wanted {
        // Any free port: the inspector listens before the program runs, so its socket is the oldest.
        Some(0) => true,
        Some(port) => listener.address.port() == port,
        None => USUAL_PORTS.contains(&listener.address.port()),
    });
    own.sort_by_key(|listener| listener.inode);
    own
}

/// `socket:[123]` → 123.
fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// `0: 0100007F:240D 00000000:0000 0A … 0 0 INODE …`
fn listener_in(line: &str) -> Option<Listener> {
    let mut fields = line.split_whitespace().skip(1);
    let (address, port) = fields.next()?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let state = fields.nth(1)?;
    let inode = fields.nth(5)?.parse().ok()?;
    let address = SocketAddr::new(address_in(address)?, port);
    (state == LISTENING).then_some(Listener { address, inode })
}

/// The kernel writes words of four bytes, each as the machine has it in memory.
fn address_in(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(hex.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    if hex.len() == 8 {
        return Some(IpAddr::V4(Ipv4Addr::from(word(0)?)));
    }
    let mut bytes = [0; 16];
    for (row, part) in bytes.chunks_exact_mut(4).enumerate() {
        part.copy_from_slice(&word(row * 8)?);
    }
    Some(IpAddr::V6(Ipv6Addr::from(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_count() {
        let line = "   0: 0100007F:240D 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0";
        assert_eq!(
            listener_in(line),
            Some(Listener { address: ([127, 0, 0, 1], 9229).into(), inode: 4711 })
        );
        assert_eq!(listener_in(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(listener_in("  sl  local_address rem_address   st"), None);
        let six = line.replace("0100007F", "00000000000000000000000001000000");
        let six = listener_in(&six).map(|listener| listener.address);
        assert_eq!(six, Some((Ipv6Addr::LOCALHOST, 9229).into()));
        assert_eq!((socket_inode("socket:[12]"), socket_inode("pipe:[12]")), (Some(12), None));
    }
}
