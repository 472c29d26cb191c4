//! The network that a process is in: ours, another that we may enter, or one that only a member of its user namespace
//! may.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use sys::pidfd::Pidfd;

use crate::inspector_port::Refusal;
use crate::linux::proc::Proc;

/// How the network of a process is reached.
#[derive(Debug)]
pub(super) struct Network {
    pid: u32,
    process: Pidfd,
    /// Another than ours.
    other: Option<File>,
}

impl Network {
    pub(super) fn of(proc: &Proc, pid: u32, process: Pidfd) -> Result<Self, Refusal> {
        let unreachable = |error| Refusal::Unreachable { pid, error };
        let is_ours =
            proc.link_of(pid, "ns/net").and_then(|link| Ok(link == proc.own_link("ns/net")?));
        let other = if is_ours.map_err(unreachable)? {
            None
        } else {
            Some(File::open(proc.path(pid, "ns/net")).map_err(unreachable)?)
        };
        Ok(Self { pid, process, other })
    }

    /// A connection that is made inside.
    pub(super) fn connect(&self, to: SocketAddr, limit: Duration) -> io::Result<TcpStream> {
        let connect = || TcpStream::connect_timeout(&to, limit);
        let connected = match &self.other {
            None => connect(),
            Some(network) => match sys::network::within(network, connect) {
                Ok(connected) => connected,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.as_member(to, limit)
                }
                Err(error) => Err(error),
            },
        };
        connected.map_err(explained)
    }

    /// Whether its loopback can be reached, without a packet: what is opened must be closed again from outside.
    /// `unused` is a port where nothing listens.
    pub(super) fn check(&self, unused: u16) -> Result<(), Refusal> {
        let route = || {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect((Ipv4Addr::LOCALHOST, unused))
        };
        let found = match &self.other {
            None => route(),
            Some(network) => match sys::network::within(network, route) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    let tried = self
                        .as_member((Ipv4Addr::LOCALHOST, unused).into(), Duration::from_secs(1));
                    match tried {
                        Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => {
                            Err(error)
                        }
                        _ => Ok(()),
                    }
                }
                Err(error) => Err(error),
            },
        };
        found.map_err(|error| Refusal::Unreachable { pid: self.pid, error: explained(error) })
    }

    fn as_member(&self, to: SocketAddr, limit: Duration) -> io::Result<TcpStream> {
        sys::network::connect_as_member(&self.process, to, limit).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput => io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it has a network of its own, which this user may not enter (needs CAP_SYS_ADMIN)",
            ),
            _ => error,
        })
    }
}

/// A loopback that is down has a sentence of its own: people meet it in containers without a network.
fn explained(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::NetworkUnreachable {
        let why = "its loopback interface is down (ip link set lo up, in that network, changes it)";
        return io::Error::new(error.kind(), why);
    }
    error
}
