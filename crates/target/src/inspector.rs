//! Which port of a process is its inspector: a listening socket of its own, on a port that inspectors use.

use std::collections::{HashMap, HashSet};

use crate::command::Command;
use crate::proc::Proc;

/// A socket that waits for connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listener {
    port: u16,
    inode: u64,
}

/// The listening sockets of each network namespace, read once: all processes of a namespace see the same.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    known: HashMap<String, Vec<Listener>>,
}

/// What the process has open may not be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hidden;

/// Node's own choice is the first; cluster workers count on from there.
const USUAL_PORTS: std::ops::RangeInclusive<u16> = 9229..=9250;

/// `TCP_LISTEN` in net/tcp.
const LISTENING: &str = "0A";

impl Listeners {
    /// The inspector's port, if it is open.
    pub(crate) fn inspector_port(
        &mut self,
        proc: &Proc,
        pid: u32,
        command: &Command,
    ) -> Result<Option<u16>, Hidden> {
        let links = proc.links_of(pid, "fd").map_err(|_| Hidden)?;
        let sockets: HashSet<u64> = links.iter().filter_map(|link| socket_inode(link.to_str()?)).collect();
        let mut own: Vec<Listener> = self.of(proc, pid).to_vec();
        own.retain(|listener| sockets.contains(&listener.inode));
        let wanted = wanted_port(command);
        let is_inspector = |listener: &&Listener| match wanted {
            // Any free port: the inspector listens before the program runs, so its socket is the oldest.
            Some(0) => true,
            Some(port) => listener.port == port,
            None => USUAL_PORTS.contains(&listener.port),
        };
        Ok(own
            .iter()
            .filter(is_inspector)
            .min_by_key(|listener| listener.inode)
            .map(|listener| listener.port))
    }

    fn of(&mut self, proc: &Proc, pid: u32) -> &[Listener] {
        let namespace = proc.link_of(pid, "ns/net").map(|link| link.display().to_string());
        let key = namespace.unwrap_or_else(|_| format!("of {pid}"));
        self.known.entry(key).or_insert_with(|| {
            let tables = ["net/tcp", "net/tcp6"].map(|name| proc.table_of(pid, name).unwrap_or_default());
            tables.iter().flat_map(|table| table.lines().filter_map(listener_in)).collect()
        })
    }
}

/// `socket:[123]` → 123.
fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// `0: 0100007F:240D 00000000:0000 0A … 0 0 INODE …`
fn listener_in(line: &str) -> Option<Listener> {
    let mut fields = line.split_whitespace().skip(1);
    let port = u16::from_str_radix(fields.next()?.rsplit_once(':')?.1, 16).ok()?;
    let state = fields.nth(1)?;
    let inode = fields.nth(5)?.parse().ok()?;
    (state == LISTENING).then_some(Listener { port, inode })
}

/// The port that a flag names: `--inspect-port=9300`, `--inspect=0.0.0.0:9300`, `--inspect=9300`.
fn wanted_port(command: &Command) -> Option<u16> {
    let names = ["--inspect-port", "--debug-port", "--inspect", "--inspect-brk", "--inspect-wait"];
    names.iter().find_map(|name| {
        let value = command.flag(name)?;
        value.rsplit(':').next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_count() {
        let line = "   0: 0100007F:240D 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0";
        assert_eq!(listener_in(line), Some(Listener { port: 9229, inode: 4711 }));
        assert_eq!(listener_in(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(listener_in("  sl  local_address rem_address   st"), None);
        let six = line.replace("0100007F", "00000000000000000000000001000000");
        assert_eq!(listener_in(&six).map(|listener| listener.port), Some(9229));
        assert_eq!((socket_inode("socket:[12]"), socket_inode("pipe:[12]")), (Some(12), None));
    }

    #[test]
    fn flags_name_the_port() {
        let wanted =
            |flag: &str| wanted_port(&Command::parse(format!("node\0{flag}\0a.js").as_bytes(), None));
        assert_eq!(wanted("--inspect"), None);
        assert_eq!(wanted("--inspect=9300"), Some(9300));
        assert_eq!(wanted("--inspect-brk=[::1]:9301"), Some(9301));
        assert_eq!(wanted("--inspect=localhost"), None);
        assert_eq!(wanted("--inspect=127.0.0.1:0"), Some(0));
        assert_eq!(wanted("--inspect_port=99999"), None);
    }
}
