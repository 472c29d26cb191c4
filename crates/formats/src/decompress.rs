//! gzip and zstd around any input, with a limit on how far a small file may grow.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use profile::Budget;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// What a stream may give in any case.
const FREE_BYTES: u64 = 64 << 20;
/// What it may give for each byte it took. Real recordings shrink to a fiftieth.
const LARGEST_RATIO: u64 = 1000;

/// The bytes that were taken from an input so far: what everything that grows is measured against, however
/// many compressions stand around each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken(Arc<AtomicU64>);

impl Taken {
    /// An input that is counted, and its count.
    pub(crate) fn count<R: Read>(input: R) -> (Self, impl Read + use<R>) {
        let taken = Self::default();
        (taken.clone(), Counted { input, taken })
    }

    /// The memory that this input may take.
    pub(crate) fn budget(&self) -> Budget {
        Budget::for_input(Arc::clone(&self.0))
    }

    fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// How much may be made of it.
    pub(crate) fn most_bytes(&self) -> u64 {
        FREE_BYTES.saturating_add(self.bytes().saturating_mul(LARGEST_RATIO))
    }
}

/// The compression that a stream's first bytes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    pub(crate) fn of(first_bytes: &[u8]) -> Option<Self> {
        match first_bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The stream behind the compression.
    pub(crate) fn open<'a>(
        self,
        input: Box<dyn Read + Send + 'a>,
        taken: &Taken,
    ) -> Box<dyn Read + Send + 'a> {
        let inner: Box<dyn Read + Send + 'a> = match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(input)),
            Self::Zstd => Box::new(ZstdFrames::new(input)),
        };
        Box::new(Limited { inner, taken: taken.clone(), given: 0 })
    }
}

/// Counts the bytes of the input.
struct Counted<R> {
    input: R,
    taken: Taken,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.taken.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Ends a stream that grows beyond the limit.
struct Limited<R> {
    inner: R,
    taken: Taken,
    given: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given > self.taken.most_bytes() {
            let byte = self.taken.bytes();
            return Err(io::Error::other(format!(
                "it grows more than {LARGEST_RATIO} times near byte {byte}"
            )));
        }
        let count = self.inner.read(buffer).map_err(|error| {
            let byte = self.taken.bytes();
            io::Error::new(
                error.kind(),
                format!("the compressed data is broken near byte {byte} ({error})"),
            )
        })?;
        self.given += count as u64;
        Ok(count)
    }
}

/// Ends a stream when what was made of it fills its memory.
pub(crate) struct Bounded<R> {
    pub(crate) inner: R,
    pub(crate) budget: Budget,
}

/// So little is given at once that not much can be made of it before the next check.
const STEP_BYTES: usize = 64 << 10;

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.budget.is_full() {
            return Err(io::Error::other(self.budget.sentence()));
        }
        let step = buffer.len().min(STEP_BYTES);
        self.inner.read(&mut buffer[..step])
    }
}

/// zstd files may hold several frames, one after another, and frames to skip.
struct ZstdFrames<R> {
    input: BufReader<R>,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: Read> ZstdFrames<R> {
    fn new(input: R) -> Self {
        Self { input: BufReader::new(input), decoder: FrameDecoder::new(), inside: false }
    }

    /// Enters the next frame; `false` at the end of the input.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.inside = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let blocks = self
                    .decoder
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1));
                blocks.map_err(io::Error::other)?;
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            self.inside = false;
        }
    }
}
