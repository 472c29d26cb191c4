//! Our own file, finished or growing. The mutator works on what is behind the compression of one chunk and puts a right
//! checksum around it, so that the decoder is reached; sometimes it damages the file as it is.
#![no_main]

use std::io::{Read, Write};

use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use profile::file;

/// The file's own header, that of a whole profile, and that of a part of a growing recording.
const FILE_HEADER: usize = 16;
const CHUNK_HEADER: usize = 24;
const MORE_HEADER: usize = 16;
/// What a mutant's payload may have: seeds have a few kilobytes.
const MOST_PAYLOAD: usize = 256 << 10;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(profile) = file::read(bytes) {
        examine::examine(&profile);
        examine::survives_our_file(&profile);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let Some(mut payloads) = payloads_of(&data[..size]).filter(|_| seed % 8 != 0) else {
        return fuzzer_mutate(data, size, max_size);
    };
    let chosen = seed as usize / 8 % payloads.len();
    let payload = &mut payloads[chosen];
    let length = payload.len();
    payload.resize((length + 1024).min(MOST_PAYLOAD.max(length)), 0);
    let room = payload.len();
    let length = fuzzer_mutate(payload, length, room);
    payload.truncate(length);
    let mutant = match is_growing(&data[..size]) {
        true => growing_of(&payloads),
        false => recording_of(&payloads[0]),
    };
    if mutant.len() > max_size {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..mutant.len()].copy_from_slice(&mutant);
    mutant.len()
});

fn is_growing(recording: &[u8]) -> bool {
    recording.get(FILE_HEADER..).is_some_and(|chunks| chunks.starts_with(b"MORE"))
}

/// What the chunks of a growing recording hold, or the only one of a finished one.
fn payloads_of(recording: &[u8]) -> Option<Vec<Vec<u8>>> {
    if !is_growing(recording) {
        return payload_of(recording).map(|payload| vec![payload]);
    }
    let mut stream = Decompress::new(false);
    let (mut payloads, mut at) = (Vec::new(), FILE_HEADER);
    while let Some(chunk) = recording.get(at..).filter(|chunk| chunk.starts_with(b"MORE")) {
        let number =
            |at: usize| Some(u32::from_le_bytes(chunk.get(at..at + 4)?.try_into().ok()?) as usize);
        let stored = chunk.get(MORE_HEADER..MORE_HEADER.checked_add(number(8)?)?)?;
        let mut payload = Vec::with_capacity(number(12)?.min(MOST_PAYLOAD) + 1);
        stream.decompress_vec(stored, &mut payload, FlushDecompress::Sync).ok()?;
        payloads.push(payload);
        at += MORE_HEADER + stored.len();
    }
    Some(payloads).filter(|payloads| !payloads.is_empty())
}

fn payload_of(recording: &[u8]) -> Option<Vec<u8>> {
    let stored =
        recording.get(FILE_HEADER + CHUNK_HEADER..).filter(|_| file::is_ours(recording))?;
    let mut payload = Vec::new();
    ZlibDecoder::new(stored).take(MOST_PAYLOAD as u64).read_to_end(&mut payload).ok()?;
    Some(payload)
}

fn recording_of(payload: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(payload).expect("a Vec takes everything");
    let stored = encoder.finish().expect("a Vec takes everything");
    let mut bytes = file::file_header().to_vec();
    bytes.extend_from_slice(b"PROF");
    bytes.extend_from_slice(&checksum(&stored));
    bytes.extend_from_slice(&(stored.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&stored);
    bytes
}

fn growing_of(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Compress::new(Compression::fast(), false);
    let mut bytes = file::file_header().to_vec();
    for payload in payloads {
        let mut stored = Vec::with_capacity(payload.len() + payload.len() / 64 + 1024);
        stream
            .compress_vec(payload, &mut stored, FlushCompress::Sync)
            .expect("a Vec takes everything");
        bytes.extend_from_slice(b"MORE");
        bytes.extend_from_slice(&checksum(&stored));
        bytes.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&stored);
    }
    bytes
}

fn checksum(stored: &[u8]) -> [u8; 4] {
    let mut checksum = Crc::new();
    checksum.update(stored);
    checksum.sum().to_le_bytes()
}
