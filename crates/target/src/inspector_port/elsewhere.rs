//! The inspector port on systems where nothing outside a process shows whether SIGUSR1 would kill it: none is opened
//! there. A port that the user opened is reached by its address.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpStream};

use super::{Opening, Refusal};

/// An inspector that listens. There is none here.
#[derive(Debug)]
pub struct InspectorPort(Infallible);

impl InspectorPort {
    /// Which process has which port is not known here.
    pub fn find(pid: u32) -> Result<Option<Self>, Refusal> {
        Err(Refusal::NotHere(pid))
    }

    /// Nothing is sent.
    pub fn open(pid: u32, _: &Opening) -> Result<Self, Refusal> {
        Err(Refusal::NotHere(pid))
    }

    /// Nothing is sent.
    pub fn could_open(pid: u32, _: &Opening) -> Result<(), Refusal> {
        Err(Refusal::NotHere(pid))
    }

    /// A connection to the inspector.
    pub fn connect(&self) -> io::Result<TcpStream> {
        match self.0 {}
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        match self.0 {}
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        match self.0 {}
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        match self.0 {}
    }

    /// Whether the port was closed before, and we have to close it.
    pub fn opened_by_us(&self) -> bool {
        match self.0 {}
    }

    /// Whether nothing listens there any more.
    pub fn is_closed(&self) -> bool {
        match self.0 {}
    }
}
