//! Our own file. The mutator works on what is behind the compression and puts a right checksum around it, so that
//! the decoder is reached; sometimes it damages the file as it is.
#![no_main]

use std::io::{Read, Write};

use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use profile::file;

/// The file's own header, and that of a chunk.
const FILE_HEADER: usize = 16;
const CHUNK_HEADER: usize = 24;
/// What a mutant's payload may have: seeds have a few kilobytes.
const MOST_PAYLOAD: usize = 256 << 10;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(profile) = file::read(bytes) {
        examine::examine(&profile);
        examine::survives_our_file(&profile);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let Some(mut payload) = payload_of(&data[..size]).filter(|_| seed % 8 != 0) else {
        return fuzzer_mutate(data, size, max_size);
    };
    let length = payload.len();
    payload.resize((length + 1024).min(MOST_PAYLOAD.max(length)), 0);
    let room = payload.len();
    let length = fuzzer_mutate(&mut payload, length, room);
    let mutant = recording_of(&payload[..length]);
    if mutant.len() > max_size {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..mutant.len()].copy_from_slice(&mutant);
    mutant.len()
});

fn payload_of(recording: &[u8]) -> Option<Vec<u8>> {
    let stored = recording.get(FILE_HEADER + CHUNK_HEADER..).filter(|_| file::is_ours(recording))?;
    let mut payload = Vec::new();
    ZlibDecoder::new(stored).take(MOST_PAYLOAD as u64).read_to_end(&mut payload).ok()?;
    Some(payload)
}

fn recording_of(payload: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(payload).expect("a Vec takes everything");
    let stored = encoder.finish().expect("a Vec takes everything");
    let mut checksum = Crc::new();
    checksum.update(&stored);
    let mut bytes = file::file_header().to_vec();
    bytes.extend_from_slice(b"PROF");
    bytes.extend_from_slice(&checksum.sum().to_le_bytes());
    bytes.extend_from_slice(&(stored.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&stored);
    bytes
}
