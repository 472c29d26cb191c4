//! What `netstat -ano` says of listening sockets, on a system that has no /proc. Its words are in the user's language;
//! the numbers are not.

use std::net::SocketAddr;

/// Where a process listens. A socket that waits has no peer.
///
/// `  TCP    127.0.0.1:9229    0.0.0.0:0    LISTENING    4140`
pub(super) fn listeners_in(table: &str, pid: u32) -> Vec<SocketAddr> {
    let listener = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [protocol, local, foreign, .., owner] = words.as_slice() else { return None };
        let is_meant =
            protocol.starts_with("TCP") && foreign.ends_with(":0") && owner.parse() == Ok(pid);
        if is_meant { local.parse().ok() } else { None }
    };
    table.lines().filter_map(listener).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_listeners_count() {
        let table = "\r\nActive Connections\r\n\r\n  Proto  Local Address          Foreign Address        State           PID\r\n\
            \x20 TCP    0.0.0.0:135            0.0.0.0:0              LISTENING       908\r\n\
            \x20 TCP    127.0.0.1:9229         0.0.0.0:0              ABHÖREN         4140\r\n\
            \x20 TCP    127.0.0.1:9229         127.0.0.1:50000        HERGESTELLT     4140\r\n\
            \x20 TCP    [::1]:3000             [::]:0                 LISTENING       4140\r\n\
            \x20 UDP    0.0.0.0:5353           *:*                                    4140\r\n";
        let found = listeners_in(table, 4140);
        assert_eq!(found, [([127, 0, 0, 1], 9229).into(), "[::1]:3000".parse().unwrap()]);
        assert!(listeners_in(table, 1).is_empty() && listeners_in("", 1).is_empty());
    }
}
