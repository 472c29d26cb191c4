//! Where inspectors listen, and how a port is asked whether it is one. A port that answers otherwise, late or too much
//! is none.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::time::Duration;

use http::{Connection, Limits, Request};

/// Where inspectors listen unless they are configured otherwise: Node's own choice is the first; cluster workers count
/// on from there.
pub(crate) const USUAL_PORTS: RangeInclusive<u16> = 9229..=9250;

/// An inspector answers from a thread of its own, in a millisecond, unless the machine is busy. Its answer has about
/// 200 bytes.
const LIMITS: Limits =
    Limits { time: Duration::from_secs(1), head_bytes: 2 << 10, body_bytes: 2 << 10 };

/// `"Browser": "node.js/v22.1.0"`.
const MARK: &[u8] = b"\"node.js/v";

/// A socket that listens on all addresses is reached by loopback.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Whether an inspector is at the other end.
pub(super) fn is_inspector(stream: TcpStream, address: SocketAddr) -> bool {
    let host = address.to_string();
    let answer = Connection::new(stream).ask(&Request::get("/json/version", &host), &LIMITS);
    answer.is_ok_and(|answer| {
        answer.head.status == 200 && answer.body.windows(MARK.len()).any(|part| part == MARK)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    /// Whether a server that answers this is taken for an inspector.
    fn taken_for_inspector(answer: &'static [u8]) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.write_all(answer);
            // Stays open until the other side has had enough.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let taken = is_inspector(TcpStream::connect(address).unwrap(), address);
        server.join().unwrap();
        taken
    }

    #[test]
    fn only_the_right_answer_counts() {
        assert!(taken_for_inspector(
            b"HTTP/1.0 200 OK\r\nContent-Length: 64\r\n\r\n{\n  \"Browser\": \"node.js/v22.1.0\",\n \"Protocol-Version\": \"1.1\"\n}\n\n"
        ));
        assert!(!taken_for_inspector(b"HTTP/1.1 404 Not Found\r\n\r\n{}"));
        assert!(!taken_for_inspector(b"SSH-2.0-OpenSSH\r\n"));
        assert!(!taken_for_inspector(b""));
        static ENDLESS: [u8; 1 << 20] = [b'a'; 1 << 20];
        assert!(!taken_for_inspector(&ENDLESS));
    }
}
