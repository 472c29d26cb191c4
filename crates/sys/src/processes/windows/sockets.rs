//! Listening sockets and their owners, which the system keeps in one table for each kind of address.

use std::ffi::c_void;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::processes::Listener;

#[link(name = "iphlpapi")]
unsafe extern "system" {
    fn GetExtendedTcpTable(
        table: *mut c_void,
        bytes: *mut u32,
        sorted: i32,
        family: u32,
        class: i32,
        reserved: u32,
    ) -> u32;
}

const LISTENERS_WITH_OWNERS: i32 = 3;
const ERROR_INSUFFICIENT_BUFFER: u32 = 122;
/// The table may grow between two calls.
const MOST_CALLS: usize = 5;

/// Where the parts of a row are, counted in words of four bytes.
struct Row {
    family: u32,
    words: usize,
    address_words: usize,
    address: usize,
    port: usize,
    owner: usize,
}

/// `MIB_TCPROW_OWNER_PID` and `MIB_TCP6ROW_OWNER_PID`.
const ROWS: [Row; 2] = [
    Row { family: 2, words: 6, address_words: 1, address: 1, port: 2, owner: 5 },
    Row { family: 23, words: 14, address_words: 4, address: 0, port: 5, owner: 13 },
];

/// All sockets that wait for connections.
pub fn listeners() -> io::Result<Vec<Listener>> {
    let mut found = Vec::new();
    for row in &ROWS {
        let table = table(row.family)?;
        let count = table.first().map_or(0, |count| *count as usize);
        let rows = table.get(1..).unwrap_or_default().chunks_exact(row.words).take(count);
        found.extend(rows.map(|words| listener(row, words)));
    }
    Ok(found)
}

/// Those of one process, and those whose owner the system does not report.
pub fn listeners_for(pid: u32) -> io::Result<Vec<Listener>> {
    let mut found = listeners()?;
    found.retain(|listener| listener.pid.is_none_or(|owner| owner == pid));
    Ok(found)
}

fn listener(row: &Row, words: &[u32]) -> Listener {
    let mut bytes = [0; 16];
    let address = &words[row.address..row.address + row.address_words];
    bytes.chunks_exact_mut(4).zip(address).for_each(|(to, word)| {
        to.copy_from_slice(&word.to_ne_bytes());
    });
    let ip = match row.address_words {
        1 => IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])),
        _ => IpAddr::V6(Ipv6Addr::from(bytes)),
    };
    // In the order of the network, in the first two bytes.
    let port = u16::from_be(words[row.port] as u16);
    let pid = Some(words[row.owner]).filter(|pid| *pid != 0);
    Listener { pid, address: SocketAddr::new(ip, port) }
}

fn table(family: u32) -> io::Result<Vec<u32>> {
    let mut table: Vec<u32> = Vec::new();
    for _ in 0..MOST_CALLS {
        let mut bytes = (table.len() * 4) as u32;
        // SAFETY: the call writes at most so many bytes, and returns how many it needs.
        let error = unsafe {
            GetExtendedTcpTable(
                table.as_mut_ptr().cast(),
                &raw mut bytes,
                0,
                family,
                LISTENERS_WITH_OWNERS,
                0,
            )
        };
        match error {
            0 => return Ok(table),
            ERROR_INSUFFICIENT_BUFFER => table.resize(bytes as usize / 4 + 64, 0),
            _ => return Err(io::Error::from_raw_os_error(error as i32)),
        }
    }
    Err(io::Error::other("the table of sockets grows too fast"))
}
