//! OUT.part: what was recorded so far, on disk. It opens like any recording, also after `kill -9`, and becomes OUT in
//! the end. What a full disk has no room for stays in memory, within a limit, and an OUT.part that an earlier recording
//! left is kept under another name. What goes to stdout goes there at once.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::progress::clear_line;
use crate::failure::{Failure, alert, warn};
use crate::text::about;
use crate::{invoked, output};

/// How much of a recording stays in memory when the disk is full: half of what a recorder may take, because the
/// finished profile needs the rest.
pub(super) const MOST_IN_MEMORY: u64 = 128 << 20;

/// So many names are tried for the OUT.part of an earlier recording.
const MOST_KEPT: u32 = 10_000;

/// What was recorded so far, on disk.
pub(super) struct Spool {
    path: PathBuf,
    file: File,
    start: Instant,
    /// How long the file is before the first record, and with all whole records.
    opening_bytes: u64,
    file_bytes: u64,
    /// The age of the recording when the file got its last record.
    file_time: Duration,
    /// What came after the file could not be written any more.
    rest: Vec<Vec<u8>>,
    rest_bytes: u64,
    most_in_memory: u64,
    /// Why the file could not be written any more.
    trouble: Option<String>,
    is_file: bool,
    /// Where everything also goes.
    stream: Option<Stream>,
}

impl Spool {
    /// Beside OUT, so that a full disk is noticed there. The opening is what a file of that kind starts with.
    pub(super) fn create(out: &Path, opening: &[u8], most_in_memory: u64) -> Result<Self, Failure> {
        if out == Path::new("-") {
            return Self::create_aside(opening, most_in_memory);
        }
        let mut name = out.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        let file = create_file(&path).map_err(|error| cannot_create(&path, &error))?;
        Self::begin(path, file, opening, most_in_memory)
    }

    /// For stdout. A container's files may be read-only; its shared memory never is.
    fn create_aside(opening: &[u8], most_in_memory: u64) -> Result<Self, Failure> {
        let path = |folder: PathBuf| folder.join(format!("nodescope-{}.part", std::process::id()));
        let (first, second) = (path(std::env::temp_dir()), path(PathBuf::from("/dev/shm")));
        let error = match create_file(&first) {
            Ok(file) => return Self::begin(first, file, opening, most_in_memory),
            Err(error) => error,
        };
        let file = create_file(&second).map_err(|_| {
            Failure::writing(&first.display().to_string(), &error)
                .hint("TMPDIR=/a/folder/that/can/be/written")
        })?;
        Self::begin(second, file, opening, most_in_memory)
    }

    /// A disk that is full already is reported before anything is sampled: the user can still choose another one.
    fn begin(
        path: PathBuf,
        mut file: File,
        opening: &[u8],
        most_in_memory: u64,
    ) -> Result<Self, Failure> {
        if let Err(error) = file.write_all(opening) {
            // It is empty.
            let _ = fs::remove_file(&path);
            return Err(cannot_create(&path, &error));
        }
        let bytes = opening.len() as u64;
        Ok(Self {
            path,
            file,
            start: Instant::now(),
            opening_bytes: bytes,
            file_bytes: bytes,
            file_time: Duration::ZERO,
            rest: Vec::new(),
            rest_bytes: 0,
            most_in_memory,
            trouble: None,
            is_file: false,
            stream: None,
        })
    }

    /// From now on everything goes to stdout, too, as soon as it comes.
    pub(super) fn stream(&mut self, opening: &[u8]) {
        self.stream = Some(Stream::start());
        self.write_stream(opening);
    }

    fn write_stream(&mut self, bytes: &[u8]) {
        let most_bytes = self.most_in_memory;
        if let Some(stream) = &mut self.stream {
            stream.write(bytes, most_bytes);
        }
    }

    /// Whether everything has gone to stdout already.
    pub(super) fn has_streamed(&self) -> bool {
        self.stream.is_some()
    }

    /// Waits until everything has gone to stdout.
    pub(super) fn stream_result(&mut self) -> Result<(), Failure> {
        let ended = self.stream.as_mut().map_or(Ok(()), Stream::finish);
        ended.map_err(|error| Failure::writing("stdout", &error))
    }

    /// Writes the next part of the file, or keeps it in memory where the disk has no room.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.write_stream(bytes);
        if self.trouble.is_none() {
            match self.file.write_all(bytes) {
                Ok(()) => {
                    self.file_bytes = self.file_bytes.saturating_add(bytes.len() as u64);
                    self.file_time = self.start.elapsed();
                    return;
                }
                Err(error) => self.go_on_in_memory(&error),
            }
        }
        let was_full = self.is_full();
        self.rest.push(bytes.to_vec());
        self.rest_bytes = self.rest_bytes.saturating_add(bytes.len() as u64);
        if self.is_full() && !was_full {
            let megabytes = self.most_in_memory >> 20;
            clear_line();
            alert(&format!("{megabytes} MB of memory are full, too: the recording ends here"));
        }
    }

    /// Whether there is no room left for more, neither on disk nor in memory, or nothing reads stdout any more: the
    /// recording has to end.
    pub(super) fn is_full(&self) -> bool {
        self.stream.as_ref().is_some_and(Stream::has_ended)
            || self.rest_bytes > 0 && self.rest_bytes >= self.most_in_memory
    }

    /// Gives what was recorded its name: OUT.part becomes OUT. Where that does not do, because OUT is no plain file or
    /// OUT.part is not whole, nothing happens.
    pub(super) fn become_file(&mut self, out: &Path) {
        let is_place = fs::symlink_metadata(out).map_or(true, |meta| meta.is_file());
        let is_whole = self.trouble.is_none() && output::is_at(&self.file, &self.path);
        self.is_file =
            is_place && is_whole && self.stream.is_none() && fs::rename(&self.path, out).is_ok();
        if self.is_file {
            self.path = out.to_owned();
        }
    }

    /// Whether OUT.part has become OUT.
    pub(super) fn is_file(&self) -> bool {
        self.is_file
    }

    fn go_on_in_memory(&mut self, error: &io::Error) {
        // A record that is there in part would be reported as damage. Shortening a file needs no room.
        let _ = self.file.set_len(self.file_bytes);
        let why = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "the disk is full".to_owned()
            }
            _ => format!("cannot write {}: {error}", self.path.display()),
        };
        clear_line();
        alert(&format!(
            "{why}: {}; the recording goes on in memory, for {} MB at most",
            self.on_disk(),
            self.most_in_memory >> 20
        ));
        self.trouble = Some(why);
    }

    /// What OUT.part has.
    fn on_disk(&self) -> String {
        let path = self.path.display();
        match self.file_bytes > self.opening_bytes {
            true => format!("the first {} are in {path}", about(nanoseconds(self.file_time))),
            false => format!("nothing is in {path}"),
        }
    }

    /// Everything that was recorded: from the disk, and from memory.
    pub(super) fn read(&mut self) -> Result<Recorded<'_>, Failure> {
        // By its descriptor: whatever happened to its name meanwhile, this is our file.
        let found = self.file.seek(SeekFrom::Start(0));
        found.map_err(|error| Failure::failed(error.to_string()).hint(self.hint()))?;
        Ok(Recorded {
            file: (&self.file).take(self.file_bytes),
            rest: self.rest.iter(),
            piece: &[],
        })
    }

    pub(super) fn hint(&self) -> String {
        let time = about(nanoseconds(self.file_time));
        let what = self
            .trouble
            .as_ref()
            .map_or("what was recorded is".into(), |_| format!("the first {time} are"));
        format!("{what} there: {}", self.command("report"))
    }

    /// OUT could not be written: says what is kept of the recording, and where.
    pub(super) fn explain(&self, failure: &Failure) -> Failure {
        let (what, path) = (failure.sentence(), self.path.display());
        if !output::is_at(&self.file, &self.path) {
            return Failure::failed(format!("{what}; {path} has gone, too: nothing of it is kept"))
                .hint("record to another folder: -o FOLDER/NAME.nodescope");
        }
        let Some(why) = &self.trouble else {
            return Failure::failed(format!("{what}; all of it is kept in {path}"))
                .hint(format!("{} -o /another/disk/NAME.nodescope", self.command("export")));
        };
        if self.file_bytes > self.opening_bytes {
            let time = about(nanoseconds(self.file_time));
            return Failure::failed(format!(
                "{what}; {why}: the first {time} are kept in {path}, and the rest is lost"
            ))
            .hint(format!(
                "make room, and record again; to see what is kept: {}",
                self.command("report")
            ));
        }
        self.remove();
        Failure::failed(format!("{what}; {why}: nothing of it is kept"))
            .hint("make room, or record to another disk: -o /another/disk/NAME.nodescope")
    }

    fn command(&self, word: &str) -> String {
        format!("{} {word} {}", invoked::name(), invoked::quoted(&self.path))
    }

    pub(super) fn remove(&self) {
        if output::is_at(&self.file, &self.path) {
            // The file is of no use any more: not worth a message where it cannot be removed.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Stdout, written to on a thread of its own: a reader that stops reading must not stop the recorder.
struct Stream {
    chunks: Option<Sender<Vec<u8>>>,
    waiting_bytes: Arc<AtomicU64>,
    writer: Option<JoinHandle<io::Result<()>>>,
    is_over: bool,
}

impl Stream {
    fn start() -> Self {
        let (chunks, taken) = channel::<Vec<u8>>();
        let waiting_bytes = Arc::new(AtomicU64::new(0));
        let waiting = Arc::clone(&waiting_bytes);
        let writer = std::thread::spawn(move || {
            for chunk in taken {
                let mut out = io::stdout().lock();
                out.write_all(&chunk).and_then(|()| out.flush())?;
                waiting.fetch_sub(chunk.len() as u64, Ordering::Relaxed);
            }
            Ok(())
        });
        Self { chunks: Some(chunks), waiting_bytes, writer: Some(writer), is_over: false }
    }

    /// Hands over the next bytes, as long as not too many wait.
    fn write(&mut self, bytes: &[u8], most_bytes: u64) {
        let waiting = self.waiting_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let sent = self.chunks.as_ref().is_some_and(|chunks| chunks.send(bytes.to_vec()).is_ok());
        self.is_over |= !sent || waiting > most_bytes;
    }

    /// Whether the reader has gone, or takes nothing any more.
    fn has_ended(&self) -> bool {
        self.is_over
    }

    fn finish(&mut self) -> io::Result<()> {
        self.chunks = None;
        let written = self.writer.take().map(JoinHandle::join);
        written
            .map_or(Ok(()), |written| written.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    }
}

/// Everything that was recorded, as a stream.
pub(super) struct Recorded<'a> {
    file: io::Take<&'a File>,
    rest: std::slice::Iter<'a, Vec<u8>>,
    piece: &'a [u8],
}

impl Read for Recorded<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        if count > 0 || out.is_empty() {
            return Ok(count);
        }
        while self.piece.is_empty() {
            let Some(next) = self.rest.next() else { return Ok(0) };
            self.piece = next;
        }
        self.piece.read(out)
    }
}

/// Creates OUT.part. One that is there already is of a recording that was cut off: it gets another name.
fn create_file(path: &Path) -> io::Result<File> {
    let file = match output::create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let kept = keep_older(path)?;
            let (program, quoted) = (invoked::name(), invoked::quoted(&kept));
            warn(&format!(
                "{} was left by a recording that was cut off: it is now {}, and {program} report {quoted} opens it",
                path.display(),
                kept.display()
            ));
            output::create(path)?
        }
        result => result?,
    };
    // Where locks do not work, the recording does.
    let _ = sys::locks::try_lock(&file);
    Ok(file)
}

/// Gives an older OUT.part the first name that is free: a.nodescope.part becomes a.nodescope.1.part.
fn keep_older(path: &Path) -> io::Result<PathBuf> {
    if is_in_use(path) {
        return Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another nodescope may be recording to it",
        ));
    }
    let bare = path.with_extension("");
    for number in 1..=MOST_KEPT {
        let mut name = bare.as_os_str().to_owned();
        name.push(format!(".{number}.part"));
        let kept = PathBuf::from(name);
        // The name is taken first: a rename replaces whatever has it.
        match output::create(&kept) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        }
        return match fs::rename(path, &kept) {
            Ok(()) => Ok(kept),
            Err(error) => {
                let _ = fs::remove_file(&kept);
                Err(error)
            }
        };
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Whether a recorder that runs holds the lock; also where that cannot be found out. A pipe or a link in that place was
/// never ours.
fn is_in_use(path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    // Over a network, only a file that is open for writing can be locked.
    let file = File::options().read(true).write(true).open(path);
    is_file && !file.and_then(|file| sys::locks::try_lock(&file)).unwrap_or(false)
}

fn cannot_create(path: &Path, error: &io::Error) -> Failure {
    Failure::writing(&path.display().to_string(), error)
        .hint("choose another OUT: -o FOLDER/NAME.nodescope")
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    /// A folder that is gone after the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("nodescope-spool-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> =
                entries.map(|name| name.to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn everything(spool: &mut Spool) -> Vec<u8> {
        let mut bytes = Vec::new();
        spool.read().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_earlier_recordings_left_is_kept() {
        let folder = Folder::new("left");
        let out = folder.0.join("a.nodescope");
        for number in 0..3 {
            let mut spool = Spool::create(&out, b"opening ", MOST_IN_MEMORY).unwrap();
            spool.append(format!("recording {number}").as_bytes());
            assert_eq!(everything(&mut spool), format!("opening recording {number}").as_bytes());
        }
        assert_eq!(
            folder.names(),
            ["a.nodescope.1.part", "a.nodescope.2.part", "a.nodescope.part"]
        );
        for (name, number) in
            [("a.nodescope.1.part", 0), ("a.nodescope.2.part", 1), ("a.nodescope.part", 2)]
        {
            let text = fs::read_to_string(folder.0.join(name)).unwrap();
            assert_eq!(text, format!("opening recording {number}"), "{name}");
        }
    }

    #[test]
    fn what_is_written_at_the_moment_stays_where_it_is() {
        let folder = Folder::new("busy");
        let out = folder.0.join("a.nodescope");
        let _first = Spool::create(&out, b"first", MOST_IN_MEMORY).unwrap();
        let refused = Spool::create(&out, b"second", MOST_IN_MEMORY);
        assert!(refused.is_err_and(|failure| {
            failure.sentence().contains("another nodescope may be recording")
        }));
        assert_eq!(folder.names(), ["a.nodescope.part"]);
        // It can be read meanwhile.
        assert_eq!(fs::read(folder.0.join("a.nodescope.part")).unwrap(), b"first");
    }

    #[cfg(unix)]
    #[test]
    fn one_whose_name_has_gone_to_another_file_leaves_that_file_alone() {
        let folder = Folder::new("moved");
        let out = folder.0.join("a.nodescope");
        let first = Spool::create(&out, b"first", MOST_IN_MEMORY).unwrap();
        fs::rename(&first.path, folder.0.join("moved")).unwrap();
        let second = Spool::create(&out, b"second", MOST_IN_MEMORY).unwrap();
        first.remove();
        assert_eq!(folder.names(), ["a.nodescope.part", "moved"]);
        second.remove();
        assert_eq!(folder.names(), ["moved"]);
    }

    /// /dev/full takes nothing, as a disk without room.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_disk_has_no_room_for_stays_in_memory() {
        let folder = Folder::new("full");
        let out = folder.0.join("a.nodescope");
        let mut spool = Spool::create(&out, b"opening ", 20).unwrap();
        spool.append(b"on disk, ");
        let on_disk = std::mem::replace(
            &mut spool.file,
            fs::OpenOptions::new().write(true).open("/dev/full").unwrap(),
        );
        spool.append(b"in memory, ");
        assert!(!spool.is_full());
        spool.append(b"and the last");
        assert!(spool.is_full());
        spool.file = on_disk;
        assert_eq!(everything(&mut spool), b"opening on disk, in memory, and the last");
        let failure = spool.explain(&Failure::failed("cannot write OUT"));
        let sentence = failure.sentence();
        assert!(
            sentence.starts_with("cannot write OUT; the disk is full: the first "),
            "{sentence}"
        );
        assert!(
            sentence.contains("are kept in")
                && sentence.ends_with("a.nodescope.part, and the rest is lost"),
            "{sentence}"
        );
        assert_eq!(fs::read(&spool.path).unwrap(), b"opening on disk, ");
        fs::remove_file(&spool.path).unwrap();
        let failure = spool.explain(&Failure::failed("cannot write OUT"));
        assert!(
            failure.sentence().ends_with("has gone, too: nothing of it is kept"),
            "{failure:?}"
        );
    }
}
