//! Our own file, .nodescope: a magic number, a version, then chunks with a checksum each: whole profiles, or the parts
//! of a recording that was written while it grew ([`Growing`]), so that one that was cut off opens up to the last whole
//! chunk. docs/file-format.md is the description for others; [`VERSION`] and that page change together.

mod columns;
mod growing;
mod header;
mod joined;
mod more;
mod off_cpu;
mod packed;
mod patch;
mod stored;

pub use growing::Growing;

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use thiserror::Error;

use crate::builder::{Builder, Joining};
use crate::check::CheckError;
use crate::model::Profile;
use joined::Joined;

/// The first eight bytes of a file.
pub const MAGIC: &[u8; 8] = b"nodescop";
/// The version of the format that this program writes, and the newest that it reads.
pub const VERSION: u32 = 2;
/// The first version whose files may grow.
const GROWING_VERSION: u32 = 2;

const FILE_HEADER: usize = 16;
/// A whole profile: tag, checksum, two lengths of 8 bytes.
const WHOLE_TAG: &[u8; 4] = b"PROF";
const WHOLE_HEADER: usize = 24;
/// A part of a growing recording: tag, checksum, two lengths of 4 bytes.
const MORE_TAG: &[u8; 4] = b"MORE";
const MORE_HEADER: usize = 16;
/// Up to here compressing better costs no time that a user notices, and saves a quarter.
const SMALL_PAYLOAD: usize = 4 << 20;
/// A whole profile in memory: its columns, and what they were read from.
const COPIES: u64 = 2;
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
    #[error("a file cannot mix a whole profile and parts of a growing recording")]
    Mixed,
    #[error("the compressed data has another length than it claims")]
    Length,
    #[error("a header of {0} bytes")]
    LongHeader(usize),
    #[error("meta, or a value in it that should be one, is not an object")]
    NoObject,
    #[error("a growing recording must not have `unclosed`")]
    Unclosed,
    #[error("it grows to more than {0} bytes")]
    TooLarge(u64),
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
    let level =
        if payload.len() <= SMALL_PAYLOAD { Compression::default() } else { Compression::fast() };
    let mut encoder = ZlibEncoder::new(Vec::new(), level);
    encoder.write_all(&payload)?;
    let stored = encoder.finish()?;
    out.write_all(WHOLE_TAG)?;
    out.write_all(&crc32fast::hash(&stored).to_le_bytes())?;
    out.write_all(&(stored.len() as u64).to_le_bytes())?;
    out.write_all(&(payload.len() as u64).to_le_bytes())?;
    out.write_all(&stored)
}

/// Whether these first bytes are of a file of ours.
pub fn is_ours(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(MAGIC)
}

/// Reads a file. When a later chunk is damaged, what came before is returned, and the profile's losses have
/// where the damage is.
pub fn read(bytes: &[u8]) -> Result<Profile, FileError> {
    read_within(bytes, u64::MAX)
}

/// Reads a file that may take that many bytes of memory: its own length proves nothing. A whole profile counts twice,
/// with the bytes that its columns are read from.
pub fn read_within(bytes: &[u8], most_bytes: u64) -> Result<Profile, FileError> {
    if !is_ours(bytes) {
        return Err(FileError::NotOurs);
    }
    let Some(found) = u32_at(bytes, 8) else {
        return Err(FileError::Damaged {
            byte: bytes.len(),
            what: "the file ends in its header".into(),
        });
    };
    if found > VERSION {
        return Err(FileError::Newer { found });
    }
    read_chunks(bytes, found >= GROWING_VERSION, most_bytes)
}

fn read_chunks(bytes: &[u8], may_grow: bool, mut most_bytes: u64) -> Result<Profile, FileError> {
    let mut at = FILE_HEADER;
    let (mut whole, mut joined) = (Vec::new(), Joined::new());
    let mut damage = None;
    while at < bytes.len() {
        let added = Chunk::first(&bytes[at..], may_grow).and_then(|chunk| {
            add(&chunk, &mut whole, &mut joined, &mut most_bytes)?;
            Ok(chunk.length)
        });
        match added {
            Ok(length) => at += length,
            Err(error) => {
                damage = Some(error.to_string());
                break;
            }
        }
    }
    if whole.is_empty() && joined.is_empty() {
        let what = damage.unwrap_or_else(|| "there is no recording in it".into());
        return Err(FileError::Damaged { byte: at.min(bytes.len()), what });
    }
    let mut profile = if joined.is_empty() {
        join(whole)
    } else {
        let wrong =
            |error: CheckError| FileError::Damaged { byte: FILE_HEADER, what: error.to_string() };
        joined.finish().map_err(wrong)?
    };
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

/// A chunk as it is stored.
struct Chunk<'a> {
    is_whole: bool,
    stored: &'a [u8],
    /// How many bytes it becomes, as it claims.
    becomes: u64,
    /// Its own length, with its header.
    length: usize,
}

impl<'a> Chunk<'a> {
    /// The chunk at the front, if its checksum is right.
    fn first(bytes: &'a [u8], may_grow: bool) -> Result<Self, ChunkError> {
        let is_whole = bytes.starts_with(WHOLE_TAG);
        let is_more = may_grow && bytes.starts_with(MORE_TAG);
        if !is_whole && !is_more {
            return Err(if bytes.len() < MORE_HEADER {
                ChunkError::CutOff
            } else {
                ChunkError::UnknownTag
            });
        }
        let checksum = u32_at(bytes, 4).ok_or(ChunkError::CutOff)?;
        let (lengths, header) = match is_whole {
            true => (u64_at(bytes, 8).zip(u64_at(bytes, 16)), WHOLE_HEADER),
            false => {
                (u32_at(bytes, 8).map(u64::from).zip(u32_at(bytes, 12).map(u64::from)), MORE_HEADER)
            }
        };
        let (stored, becomes) = lengths.ok_or(ChunkError::CutOff)?;
        let end = usize::try_from(stored).ok().and_then(|length| length.checked_add(header));
        let end = end.filter(|&end| end <= bytes.len()).ok_or(ChunkError::CutOff)?;
        let stored = &bytes[header..end];
        if crc32fast::hash(stored) != checksum {
            return Err(ChunkError::Checksum);
        }
        Ok(Self { is_whole, stored, becomes, length: end })
    }
}

/// Adds a chunk to what came before: to whole profiles, or to a growing recording.
fn add(
    chunk: &Chunk<'_>,
    whole: &mut Vec<Profile>,
    joined: &mut Joined,
    most_bytes: &mut u64,
) -> Result<(), ChunkError> {
    match chunk.is_whole {
        true if joined.is_empty() => whole.push(read_whole(chunk, most_bytes)?),
        false if whole.is_empty() => joined.add(chunk.stored, chunk.becomes, most_bytes)?,
        _ => return Err(ChunkError::Mixed),
    }
    Ok(())
}

fn read_whole(chunk: &Chunk<'_>, most_bytes: &mut u64) -> Result<Profile, ChunkError> {
    let limit = chunk.becomes.min((chunk.stored.len() as u64).saturating_mul(BEST_COMPRESSION));
    let taken = limit.saturating_mul(COPIES);
    *most_bytes = most_bytes.checked_sub(taken).ok_or(ChunkError::TooLarge(*most_bytes))?;
    let mut payload = Vec::new();
    ZlibDecoder::new(chunk.stored).take(limit).read_to_end(&mut payload)?;
    let profile = header::decode(&payload)?;
    profile.check()?;
    Ok(profile)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
