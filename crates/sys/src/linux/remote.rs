//! The memory of another process: process_vm_readv(2), or /proc/PID/mem where that call is unavailable. A read
//! gives every byte that was asked for, or an error.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// A process whose memory can be read.
#[derive(Debug)]
pub struct Process {
    pid: libc::pid_t,
    /// Opened when the system call turns out to be forbidden.
    file: OnceLock<File>,
}

/// A range of the other process, and where its bytes go.
#[derive(Debug)]
pub struct Piece<'a> {
    /// The first address.
    pub address: u64,
    /// As many bytes as are wanted.
    pub out: &'a mut [u8],
}

/// How many ranges one call takes: fewer than the kernel's limit, and few enough for the stack.
const MOST_PIECES: usize = 64;

impl Process {
    /// Sends nothing to the process: whether it is there and may be read shows with the first read.
    pub fn new(pid: u32) -> io::Result<Self> {
        let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(Self { pid, file: OnceLock::new() })
    }

    /// Fills `out` with what stands at an address.
    pub fn read(&self, address: u64, out: &mut [u8]) -> io::Result<()> {
        if let Some(file) = self.file.get() {
            return file.read_exact_at(out, address);
        }
        let wanted = out.len();
        match self.call(&mut [Piece { address, out }]) {
            Ok(got) if got == wanted => Ok(()),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if is_refused(&error) => self.open()?.read_exact_at(out, address),
            Err(error) => Err(error),
        }
    }

    /// Fills several ranges with as few calls as possible. The result shows for each whether it was read as a whole.
    pub fn read_many(&self, pieces: &mut [Piece<'_>]) -> Vec<bool> {
        let mut done = Vec::with_capacity(pieces.len());
        while done.len() < pieces.len() {
            let rest = &mut pieces[done.len()..];
            let most = rest.len().min(MOST_PIECES);
            let whole = self.read_some(&mut rest[..most]);
            done.extend(std::iter::repeat_n(true, whole));
            // The kernel stops at the first range that cannot be read: that one fails, and the rest is asked anew.
            if whole < most {
                let piece = &mut rest[whole];
                done.push(self.read(piece.address, piece.out).is_ok());
            }
        }
        done
    }

    /// How many of the first pieces were read as a whole.
    fn read_some(&self, pieces: &mut [Piece<'_>]) -> usize {
        let mut got = if self.file.get().is_some() { 0 } else { self.call(pieces).unwrap_or(0) };
        let is_whole = |piece: &&Piece<'_>| {
            let whole = piece.out.len() <= got;
            got = got.saturating_sub(piece.out.len());
            whole
        };
        pieces.iter().take_while(is_whole).count()
    }

    fn open(&self) -> io::Result<&File> {
        let file = File::open(format!("/proc/{}/mem", self.pid))?;
        Ok(self.file.get_or_init(|| file))
    }

    fn call(&self, pieces: &mut [Piece<'_>]) -> io::Result<usize> {
        let mut local = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST_PIECES];
        let mut remote = local;
        let count = pieces.len().min(MOST_PIECES);
        for ((piece, local), remote) in pieces.iter_mut().zip(&mut local).zip(&mut remote) {
            *local =
                libc::iovec { iov_base: piece.out.as_mut_ptr().cast(), iov_len: piece.out.len() };
            let address =
                usize::try_from(piece.address).map_err(|_| io::ErrorKind::InvalidInput)?;
            *remote =
                libc::iovec { iov_base: address as *mut libc::c_void, iov_len: piece.out.len() };
        }
        let count = count as libc::c_ulong;
        // SAFETY: each local range is a slice that we hold alone through the call; remote addresses are only the
        // kernel's business, and both lists have `count` filled rows.
        let got = unsafe {
            libc::process_vm_readv(self.pid, local.as_ptr(), count, remote.as_ptr(), count, 0)
        };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }
}

/// Whether the call itself is unavailable, to this user or in this kernel: a filter may forbid it where
/// /proc/PID/mem is open.
fn is_refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn myself() -> Process {
        Process::new(std::process::id()).expect("a pid is a number")
    }

    #[test]
    fn our_own_memory_is_read() {
        let text = *b"what stands here";
        let mut out = [0; 16];
        myself().read(text.as_ptr() as u64, &mut out).expect("it is ours");
        assert_eq!(out, text);
    }

    #[test]
    fn a_hole_fails_alone() {
        let text = [7u8; 32];
        let at = text.as_ptr() as u64;
        let (mut a, mut b, mut c) = ([0u8; 8], [0u8; 8], [0u8; 16]);
        let mut pieces = [
            Piece { address: at, out: &mut a },
            Piece { address: 8, out: &mut b },
            Piece { address: at + 8, out: &mut c },
        ];
        assert_eq!(myself().read_many(&mut pieces), [true, false, true]);
        assert_eq!((a, c), ([7; 8], [7; 16]));
    }

    #[test]
    fn many_pieces_are_all_read() {
        let text: Vec<u8> = (0..200).collect();
        let mut out = [[0u8; 1]; 200];
        let pieces = out.iter_mut().enumerate();
        let mut pieces: Vec<Piece<'_>> = pieces
            .map(|(row, out)| Piece { address: text.as_ptr() as u64 + row as u64, out })
            .collect();
        assert!(myself().read_many(&mut pieces).iter().all(|done| *done));
        assert!(out.iter().flatten().eq(&text));
    }

    #[test]
    fn the_file_gives_the_same() {
        let process = myself();
        process.open().expect("/proc is mounted");
        let text = *b"what stands here";
        let mut out = [0; 16];
        process.read(text.as_ptr() as u64, &mut out).expect("it is ours");
        assert_eq!(out, text);
        let mut out = [0; 4];
        let mut pieces = [Piece { address: text.as_ptr() as u64, out: &mut out }];
        assert_eq!(process.read_many(&mut pieces), [true]);
        assert!(process.read(8, &mut [0; 4]).is_err());
    }

    #[test]
    fn an_end_in_the_middle_is_an_error() {
        assert!(myself().read(u64::MAX - 7, &mut [0; 8]).is_err());
        assert!(Process::new(u32::MAX).is_err());
    }
}
