//! The program that reads names, as the recorder sees it: how it is started, what it sends, and how it ends.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use capture::Sampler;
use live::proc;

use super::perf::LONGEST_ROUND;
use crate::own_process::LastWords;

/// Tells the reader which rings there are.
pub(super) const RINGS: &str = "NODESCOPE_RINGS";
/// The numbers that the samples of each event carry, that of the first frame, and the threads for which nothing is read,
/// and the number of the journal's file.
pub(super) const NUMBERS: &str = "NODESCOPE_NUMBERS";
/// The processes whose event loops are watched from before the first sample.
pub(super) const WATCHED: &str = "NODESCOPE_WATCHED";

/// A silence that makes us look at the reader: it tells of every round, the empty ones, too.
const SILENCE: Duration = Duration::from_millis(150);
/// How long it may then stand still.
const STANDSTILL: Duration = Duration::from_millis(150);
/// The same while it waits for a disk: a file of its own, or memory of the target that was swapped out.
const SLOW_DISK: Duration = Duration::from_secs(2);
/// How long it may take for its last words, as long as it runs: on a busy machine it may have just begun.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// What a message starts with: its length, how many samples it has, the number of the next frame, the thread for
/// which memory will be read for the first time, and how many records of the rings were handed over with it, in all.
pub(super) const MESSAGE_HEAD: usize = 24;

/// In place of the number of a file.
const NO_FILE: i32 = -1;

/// The program that reads names, as the recorder sees it.
pub(super) struct Reader {
    child: Child,
    /// Its end is the end of the recording.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    last_words: Option<LastWords>,
    /// Whether it has said that it can begin, and whether it was told to.
    pub(super) is_ready: bool,
    pub(super) has_rings: bool,
    pub(super) started: Instant,
    heard: Instant,
    /// When it was last seen to go on without a word, and the kernel's account of its work at the last look.
    moved: Instant,
    account: Option<String>,
    /// The thread for which it began to read last, when it had not done so before.
    pub(super) trying: u32,
    /// How many records of the rings it has handed over.
    pub(super) taken: u64,
    bytes: Vec<u8>,
}

impl Reader {
    /// Starts one that watches the loops of these processes until it is told to begin.
    pub(super) fn spawn(
        sampler: &Sampler,
        next_row: u32,
        shunned: &str,
        journal: Option<i32>,
        watched: &[u32],
    ) -> io::Result<Self> {
        let (rings, events) = sampler.share()?;
        let numbers = format!("{events}:{next_row}:{shunned}:{}", journal.unwrap_or(NO_FILE));
        let watched: Vec<String> = watched.iter().map(u32::to_string).collect();
        let last_words = LastWords::new().ok();
        let stderr = last_words.as_ref().and_then(|words| words.stdio().ok());
        let mut child = Command::new(std::env::current_exe()?)
            .env(RINGS, rings)
            .env(NUMBERS, numbers)
            .env(WATCHED, watched.join(","))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // To find the names of a backtrace takes so long that the crash would be taken for a hang.
            .env("RUST_BACKTRACE", "0")
            .stderr(stderr.unwrap_or_else(Stdio::inherit))
            .spawn()?;
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(gone)?;
        let started = Instant::now();
        let (heard, moved, account, bytes) = (started, started, None, Vec::new());
        let (has_rings, is_ready, taken, trying) = (false, false, 0, 0);
        Ok(Self {
            child,
            stdin,
            stdout,
            last_words,
            has_rings,
            is_ready,
            started,
            heard,
            moved,
            account,
            trying,
            taken,
            bytes,
        })
    }

    /// Tells it what is sampled. One that has ended at once is found out when it is listened to.
    pub(super) fn begin(&mut self, sampler: &Sampler) {
        self.tell(&sampler.raw_head());
        self.started = Instant::now();
        (self.heard, self.moved) = (self.started, self.started);
    }

    /// Waits until it has sent something, or has ended.
    pub(super) fn wait(&self, most: Duration) {
        // What is wrong with it shows when it is read.
        let _ = sys::perf::wait(&[self.stdout.as_raw_fd()], most);
    }

    /// Why it ended by itself.
    pub(super) fn cause(&self, status: Option<ExitStatus>) -> String {
        let cause = self.last_words.as_ref().map(|words| words.cause(status));
        cause.unwrap_or_else(|| "it has ended".to_owned())
    }

    /// From now on it reads the rings; what happened while nobody told it.
    pub(super) fn give_rings(&mut self, meanwhile: &[u8]) {
        self.has_rings = true;
        self.tell(meanwhile);
    }

    fn tell(&mut self, records: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin
                .write_all(&(records.len() as u32).to_ne_bytes())
                .and_then(|()| stdin.write_all(records));
        }
    }

    /// Waits for its last words; whether they came, and if not, whether it hangs.
    pub(super) fn finish(&mut self) -> (bool, bool) {
        self.stdin = None;
        let end = Instant::now() + LAST_WORDS;
        while Instant::now() < end && !self.is_stuck() {
            match self.listen(LONGEST_ROUND) {
                Ok(true) => {}
                Ok(false) => return (self.child.wait().is_ok_and(|status| status.success()), false),
                Err(_) => return (false, false),
            }
        }
        (false, true)
    }

    /// Ends it, unless it has done so, and takes in all that it has sent.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        // It may have ended by itself.
        let _ = self.child.kill();
        let status = self.child.wait().ok();
        // What it has sent is there at once.
        let end = Instant::now() + STANDSTILL;
        while self.listen(LONGEST_ROUND).unwrap_or(false) && Instant::now() < end {}
        status
    }

    /// Takes in what was sent; whether there may be more.
    pub(super) fn listen(&mut self, most: Duration) -> io::Result<bool> {
        if !sys::perf::wait(&[self.stdout.as_raw_fd()], most)? {
            return Ok(true);
        }
        let mut piece = [0; 1 << 16];
        let read = self.stdout.read(&mut piece)?;
        self.bytes.extend_from_slice(&piece[..read]);
        self.heard = Instant::now();
        Ok(read > 0)
    }

    /// Appends the whole messages; tells how many samples they have, and the number of the next frame.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) -> (u64, u32) {
        let (mut at, mut samples, mut next_row) = (0, 0, 0);
        while let Some(head) = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<MESSAGE_HEAD>) {
            let word = |from: usize| {
                u32::from_ne_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]])
            };
            let start = at + MESSAGE_HEAD;
            let Some(body) = self.bytes.get(start..start + word(0) as usize) else { break };
            out.extend_from_slice(body);
            samples += u64::from(word(4));
            next_row = word(8);
            self.trying = word(12);
            self.taken = u64::from(word(16)) | u64::from(word(20)) << 32;
            self.is_ready = true;
            at = start + body.len();
        }
        self.bytes.drain(..at);
        (samples, next_row)
    }

    /// Silent for long, and neither because others have the CPU nor because a disk is slow: then it goes on in between.
    pub(super) fn is_stuck(&mut self) -> bool {
        // One that waits for the rings has nothing to tell.
        if self.heard.elapsed() <= SILENCE || self.is_ready && !self.has_rings {
            self.account = None;
            return false;
        }
        let account = proc::account(self.child.id()).unwrap_or_default();
        let before = self.account.replace(account.clone());
        if before != Some(account) || proc::is_running(self.child.id()) {
            self.moved = Instant::now();
        }
        let patience = if proc::waits_for_disk(self.child.id()) { SLOW_DISK } else { STANDSTILL };
        self.moved.elapsed() > patience
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It has ended, or shall.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
