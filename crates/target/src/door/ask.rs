//! Where inspectors listen, and how a port is asked whether it is one. Whoever answers otherwise, late or too much is none.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Where inspectors listen when nobody said otherwise: Node's own choice is the first; cluster workers count on from
/// there.
pub(crate) const USUAL_PORTS: RangeInclusive<u16> = 9229..=9250;

/// An inspector answers from a thread of its own, in a millisecond, unless the machine is busy.
const PATIENCE: Duration = Duration::from_secs(1);

/// Its answer has about 200 bytes.
const MOST_BYTES: u64 = 4 << 10;

/// `"Browser": "node.js/v22.1.0"`.
const MARK: &str = "\"node.js/v";

/// Who listens everywhere is reached at home.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Whether an inspector is at the other end.
pub(super) fn is_inspector(mut stream: TcpStream, address: SocketAddr) -> bool {
    answer(&mut stream, address, PATIENCE).is_ok_and(|answer| answer.contains(MARK))
}

fn answer(stream: &mut TcpStream, address: SocketAddr, patience: Duration) -> io::Result<String> {
    let end = Instant::now() + patience;
    stream.set_write_timeout(Some(patience))?;
    write!(stream, "GET /json/version HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    while answer.len() as u64 <= MOST_BYTES && !is_whole(&answer) {
        let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        match stream.read(&mut piece)? {
            0 => break,
            read => answer.extend_from_slice(&piece[..read]),
        }
    }
    String::from_utf8(answer).map_err(io::Error::other)
}

/// The answer is one JSON object behind the headers, and the connection stays open.
fn is_whole(answer: &[u8]) -> bool {
    let text = answer.trim_ascii_end();
    text.ends_with(b"}") && text.windows(4).any(|part| part == b"\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// What a server that says this is taken for.
    fn taken_for_inspector(says: &'static [u8]) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.write_all(says);
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
            b"HTTP/1.0 200 OK\r\nContent-Length: 60\r\n\r\n{\n  \"Browser\": \"node.js/v22.1.0\",\n \"Protocol-Version\": \"1.1\"\n}\n\n"
        ));
        assert!(!taken_for_inspector(b"HTTP/1.1 404 Not Found\r\n\r\n{}"));
        assert!(!taken_for_inspector(b"SSH-2.0-OpenSSH\r\n"));
        assert!(!taken_for_inspector(b""));
        static ENDLESS: [u8; 1 << 20] = [b'a'; 1 << 20];
        assert!(!taken_for_inspector(&ENDLESS));
    }
}
