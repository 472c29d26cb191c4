//! Our own file, .nodescope: a magic number, a version, then chunks, each a profile in itself with a
//! checksum, so that a recording that was cut off opens up to the last whole chunk. docs/file-format.md is
//! the description for others; [`VERSION`] and that page change together.

mod columns;
mod header;
mod off_cpu;

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use thiserror::Error;

use crate::builder::{Builder, Joining};
use crate::check::CheckError;
use crate::model::Profile;

/// The first eight bytes of a file.
pub const MAGIC: &[u8; 8] = b"nodescop";
/// The version of the format that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;

const FILE_HEADER: usize = 16;
const CHUNK_HEADER: usize = 24;
const CHUNK_TAG: &[u8; 4] = b"PROF";
/// Up to here compressing better costs no time that a user notices, and saves a quarter.
const SMALL_PAYLOAD: usize = 4 << 20;
/// What zlib can reach at most; a larger claim is a lie.
const BEST_COMPRESSION: u64 = 1032;

/// Why a file of ours cannot be read.
#[derive(Debug, Error)]
pub enum FileError {
    /// Not our magic number.
    #[error("this is not a .nodescope file")]
    NotOurs,
    /// Written by a newer program.
    #[error(
        "this recording has format version {found}, and this nodescope reads up to {VERSION}; a newer nodescope opens it"
    )]
    Newer {
        /// The version found.
        found: u32,
    },
    /// Nothing whole in it.
    #[error("damaged at byte {byte}: {what}")]
    Damaged {
        /// Where.
        byte: usize,
        /// What is wrong there.
        what: String,
    },
}

/// What is wrong with a chunk.
#[derive(Debug, Error)]
enum ChunkError {
    #[error("the file ends in the middle of a chunk")]
    CutOff,
    #[error("the checksum does not match")]
    Checksum,
    #[error("a chunk of unknown kind")]
    UnknownTag,
    #[error("it swells to more than {0} bytes")]
    Swells(u64),
    #[error("the compressed data is broken ({0})")]
    Compression(#[from] io::Error),
    #[error("the header is not valid JSON ({0})")]
    Header(#[from] serde_json::Error),
    #[error("the columns are larger than what is there")]
    Directory,
    #[error("column {0} is missing, misplaced or of the wrong type")]
    Column(String),
    #[error("{0}")]
    Check(#[from] CheckError),
}

/// Writes a profile as a file of one chunk.
pub fn write(profile: &Profile, mut out: impl Write) -> io::Result<()> {
    out.write_all(&file_header())?;
    write_chunk(profile, &mut out)?;
    out.flush()
}

/// The first bytes of a file, before its chunks.
pub fn file_header() -> [u8; FILE_HEADER] {
    let mut bytes = [0; FILE_HEADER];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Writes a profile as one more chunk.
pub fn write_chunk(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let payload = header::encode(profile)?;
    let level = if payload.len() <= SMALL_PAYLOAD { Compression::default() } else { Compression::fast() };
    let mut encoder = ZlibEncoder::new(Vec::new(), level);
    encoder.write_all(&payload)?;
    let stored = encoder.finish()?;
    out.write_all(CHUNK_TAG)?;
    out.write_all(&crc32fast::hash(&stored).to_le_bytes())?;
    out.write_all(&(stored.len() as u64).to_le_bytes())?;
    out.write_all(&(payload.len() as u64).to_le_bytes())?;
    out.write_all(&stored)
}

/// Whether these first bytes are of a file of ours.
pub fn is_ours(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(MAGIC)
}

/// Reads a file. When a later chunk is damaged, what came before is returned, and the profile's losses say
/// where the damage is.
pub fn read(bytes: &[u8]) -> Result<Profile, FileError> {
    read_within(bytes, u64::MAX)
}

/// Reads a file whose chunks together may swell to that many bytes: for a file that came out of another
/// compression, where its own length proves nothing.
pub fn read_within(bytes: &[u8], most_bytes: u64) -> Result<Profile, FileError> {
    if !is_ours(bytes) {
        return Err(FileError::NotOurs);
    }
    let Some(found) = u32_at(bytes, 8) else {
        return Err(FileError::Damaged { byte: bytes.len(), what: "the file ends in its header".into() });
    };
    if found > VERSION {
        return Err(FileError::Newer { found });
    }
    read_chunks(bytes, most_bytes)
}

fn read_chunks(bytes: &[u8], mut most_bytes: u64) -> Result<Profile, FileError> {
    let mut at = FILE_HEADER;
    let mut whole: Vec<Profile> = Vec::new();
    let mut damage = None;
    while at < bytes.len() {
        match read_chunk(&bytes[at..], &mut most_bytes) {
            Ok((profile, length)) => {
                whole.push(profile);
                at += length;
            }
            Err(error) => {
                damage = Some(error.to_string());
                break;
            }
        }
    }
    if whole.is_empty() {
        let what = damage.unwrap_or_else(|| "there is no recording in it".into());
        return Err(FileError::Damaged { byte: at.min(bytes.len()), what });
    }
    let mut profile = join(whole);
    if let Some(what) = damage {
        profile.meta.losses.damage.push(format!("damaged at byte {at}: {what}"));
    }
    Ok(profile)
}

fn join(mut chunks: Vec<Profile>) -> Profile {
    if chunks.len() == 1 {
        return chunks.remove(0);
    }
    let mut builder = Builder::new();
    for chunk in &chunks {
        builder.append(chunk, Joining::default());
    }
    builder.finish()
}

fn read_chunk(bytes: &[u8], most_bytes: &mut u64) -> Result<(Profile, usize), ChunkError> {
    if !bytes.starts_with(CHUNK_TAG) {
        return Err(if bytes.len() < CHUNK_HEADER { ChunkError::CutOff } else { ChunkError::UnknownTag });
    }
    let checksum = u32_at(bytes, 4).ok_or(ChunkError::CutOff)?;
    let stored_length = u64_at(bytes, 8).ok_or(ChunkError::CutOff)?;
    let payload_length = u64_at(bytes, 16).ok_or(ChunkError::CutOff)?;
    let end = usize::try_from(stored_length).ok().and_then(|length| length.checked_add(CHUNK_HEADER));
    let end = end.filter(|&end| end <= bytes.len()).ok_or(ChunkError::CutOff)?;
    let stored = &bytes[CHUNK_HEADER..end];
    if crc32fast::hash(stored) != checksum {
        return Err(ChunkError::Checksum);
    }
    let limit = payload_length.min(stored_length.saturating_mul(BEST_COMPRESSION));
    *most_bytes = most_bytes.checked_sub(limit).ok_or(ChunkError::Swells(*most_bytes))?;
    let mut payload = Vec::new();
    ZlibDecoder::new(stored).take(limit).read_to_end(&mut payload)?;
    let profile = header::decode(&payload)?;
    profile.check()?;
    Ok((profile, end))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
