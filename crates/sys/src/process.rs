//! Other processes: what is in their memory.

use std::io;

/// Reads the memory of another process, without stopping it. What cannot be read whole is an error.
pub fn read_memory(pid: u32, address: u64, out: &mut [u8]) -> io::Result<()> {
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: out.len() };
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the local range is ours and as long as it says; the remote one is only read, and checked by the kernel.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(read) {
        Ok(read) if read == out.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_memory() {
        let value = 0x1234_5678_9abc_def0u64;
        let (mut bytes, pid) = ([0; 8], std::process::id());
        read_memory(pid, (&raw const value) as u64, &mut bytes).expect("it is ours");
        assert_eq!(u64::from_ne_bytes(bytes), value);
        assert!(read_memory(pid, 8, &mut bytes).is_err());
        assert!(read_memory(u32::MAX, 8, &mut bytes).is_err());
    }
}
