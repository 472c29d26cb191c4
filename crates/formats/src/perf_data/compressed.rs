//! Records inside zstd. One frame goes through all compressed records of a file and is never closed; records
//! lie across its pieces.

use ruzstd::decoding::FrameDecoder;

/// How much is taken from the decompressor at once.
const PIECE_BYTES: usize = 256 << 10;
/// An empty block that ends a frame.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];
/// What a decompressor may hold back: perf's own levels need 8 MB at most.
const LARGEST_WINDOW: u64 = 32 << 20;
/// What a file may give in any case, and for each byte that it took.
const FREE_BYTES: u64 = 64 << 20;
const LARGEST_RATIO: u64 = 1000;

#[derive(Default)]
pub(super) struct Compressed {
    decoder: Option<FrameDecoder>,
    /// Bytes of a block that is not there as a whole.
    carry: Vec<u8>,
    /// Decompressed and not yet read.
    plain: Vec<u8>,
    taken: u64,
    given: u64,
}

impl Compressed {
    /// Decompresses one more piece.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<(), String> {
        self.taken += piece.len() as u64;
        self.carry.extend_from_slice(piece);
        self.decode()
    }

    /// What was decompressed and not taken away yet.
    pub(super) fn plain(&mut self) -> &mut Vec<u8> {
        &mut self.plain
    }

    /// What the decompressor held back until now.
    pub(super) fn finish(&mut self) -> &mut Vec<u8> {
        if self.decoder.is_some() {
            self.carry.extend_from_slice(&LAST_BLOCK);
            // A frame that is damaged at its end was damaged before, and that was reported.
            let _ = self.decode();
        }
        &mut self.plain
    }

    /// How much the decompressor may hold back.
    pub(super) fn lag_bytes(&self) -> u64 {
        if self.decoder.is_some() { LARGEST_WINDOW } else { 0 }
    }

    fn decode(&mut self) -> Result<(), String> {
        loop {
            let decoder = self.decoder.get_or_insert_with(|| {
                let mut decoder = FrameDecoder::new();
                decoder.set_max_window_size(LARGEST_WINDOW);
                decoder
            });
            let at = self.plain.len();
            self.plain.resize(at + PIECE_BYTES, 0);
            let result = decoder.decode_from_to(&self.carry, &mut self.plain[at..]);
            let (read, written) = result.as_ref().map_or((0, 0), |counts| *counts);
            self.plain.truncate(at + written);
            self.carry.drain(..read.min(self.carry.len()));
            self.given += written as u64;
            result.map_err(|error| format!("zstd: {error}"))?;
            if self.given > FREE_BYTES.saturating_add(self.taken.saturating_mul(LARGEST_RATIO)) {
                return Err("zstd: it becomes larger than is plausible".to_owned());
            }
            if decoder.is_finished() && decoder.can_collect() == 0 {
                self.decoder = None;
                if self.carry.is_empty() {
                    return Ok(());
                }
            } else if read == 0 && written == 0 {
                return Ok(());
            }
        }
    }
}
