//! Damaged inputs: every corpus file cut off at 64 places and with flipped bytes, as it is, behind its
//! compression, and as a recording of our own. Each must be opened or refused, never panic; what opens must
//! be whole, and every view and every writer must take it.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use flate2::write::{GzEncoder, ZlibEncoder};
use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress};
use formats::{cpuprofile, firefox, folded, pprof, speedscope, svg};
use profile::{Profile, file};
use views::{Direction, Grouping, Lens, Selection, TopBy, call_tree, lens_tree, top, weigh};

use crate::cases::{self, Case, cases, import};

/// How often each input is cut off, and how often bytes of it are flipped.
const CUTS: usize = 64;
const FLIPS: usize = 256;
/// Of larger inputs, only so much is damaged: parsers see nothing new behind it.
const TEXT_BYTES: usize = 12 << 10;
/// The samples of a .cpuprofile stand behind its nodes, those of a perf.data behind its mappings.
const DEEP_BYTES: usize = 64 << 10;
const COMPRESSED_BYTES: usize = 16 << 10;
/// One mutant in this many goes through every view and writer.
const EXAMINED: usize = 24;

#[test]
fn damaged_texts_return() {
    for case in cases() {
        let mut text = case.text();
        // JSON that ends early is no JSON: only flips inside a whole one can still open.
        let least = match case.is_json() {
            true if text.len() > DEEP_BYTES => 0,
            true => 2,
            false => CUTS + 1,
        };
        text.truncate(if case.is_text() { TEXT_BYTES } else { DEEP_BYTES });
        let opened = try_mutants(&case.name, &text, |mutant| mutant);
        assert!(opened >= least, "{}: only {opened} mutants opened", case.name);
    }
}

#[test]
fn damaged_compressed_inputs_return() {
    for case in cases().iter().filter(|case| case.is_compressed()) {
        let opened = try_mutants(&case.name, &small_compressed(case), |mutant| mutant);
        assert!(
            opened > 0 || case.is_json(),
            "{}: not one mutant showed what came before the damage",
            case.name
        );
    }
}

/// The checksum no longer matches: nothing behind it may be believed.
#[test]
fn damaged_recordings_return() {
    for case in small_recordings() {
        try_mutants(&case.name, &case.bytes, |mutant| mutant);
    }
}

/// Damage in front of the compression, under a checksum that matches: the header and the columns lie.
#[test]
fn lying_recordings_return() {
    for case in small_recordings() {
        let opened =
            try_mutants(&case.name, &payload_of(&case.bytes), |payload| recording_of(&payload));
        assert!(opened > 0, "{}: not one mutant reached the end of the decoder", case.name);
    }
}

/// The same of a recording that was written while it grew: the damage is in one of its chunks.
#[test]
fn lying_parts_return() {
    let payloads = payloads_of(GROWING);
    for chosen in 0..payloads.len() {
        let dress = |payload: Vec<u8>| {
            let mut payloads = payloads.clone();
            payloads[chosen] = payload;
            growing_of(&payloads)
        };
        let opened = try_mutants(&format!("chunk {chosen}"), &payloads[chosen], dress);
        assert!(opened > 0, "not one mutant of chunk {chosen} opened");
    }
    try_mutants("a growing recording", GROWING, |mutant| mutant);
}

/// An id of 0 in a table that refers to an empty one leads nowhere, as every other id does.
#[test]
fn references_into_empty_tables_are_refused() {
    let profile = import(b"node;main 1\nnode 2\n", 1).unwrap();
    assert!(profile.sources().is_empty() && profile.modules().is_empty());
    let whole = payload_of(&recording(&profile));
    let none = u32::MAX.to_le_bytes().repeat(profile.functions().len());
    let columns = positions(&whole, &none);
    assert!(columns.len() >= 3, "source, module and package of the functions are none");
    for at in columns {
        let mut payload = whole.clone();
        payload[at..at + none.len()].fill(0);
        if let Ok(profile) = file::read(&recording_of(&payload)) {
            assert!(profile.functions().source.iter().all(|id| id.some().is_none()), "sources");
            assert!(profile.functions().module.iter().all(|id| id.some().is_none()), "modules");
        }
    }
}

/// Tries all mutants of an input, made whole again by `dress`; returns how many opened.
fn try_mutants(name: &str, bytes: &[u8], dress: impl Fn(Vec<u8>) -> Vec<u8>) -> usize {
    let mut random = Random::of(name);
    let mut opened = 0;
    for number in 0..CUTS + FLIPS {
        let (mutant, what) = mutant(bytes, number, &mut random);
        let input = dress(mutant);
        let result = catch_unwind(AssertUnwindSafe(|| {
            let Ok(profile) = import(&input, 1) else { return false };
            assert_eq!(profile.check(), Ok(()));
            if number % EXAMINED == 0 {
                examine(&profile);
            }
            true
        }));
        match result {
            Ok(is_open) => opened += usize::from(is_open),
            Err(_) => panic!("{name}, {what}: it panicked, see above"),
        }
    }
    opened
}

/// Cut off at one of [`CUTS`] places, or with one to four bytes flipped.
fn mutant(bytes: &[u8], number: usize, random: &mut Random) -> (Vec<u8>, String) {
    if number < CUTS {
        let end = bytes.len() * number / CUTS + random.below(bytes.len() / CUTS + 1);
        return (bytes[..end.min(bytes.len())].to_vec(), format!("cut off at byte {end}"));
    }
    let mut mutant = bytes.to_vec();
    let mut flips = Vec::new();
    for _ in 0..1 + random.below(4) {
        let at = random.below(mutant.len());
        let byte = if random.below(2) == 0 {
            mutant[at] ^ (1 + random.below(255) as u8)
        } else {
            INTERESTING[random.below(INTERESTING.len())]
        };
        mutant[at] = byte;
        flips.push(format!("byte {at} is {byte:#04x}"));
    }
    (mutant, flips.join(", "))
}

/// Bytes on which the parsers decide, and some that are no text.
const INTERESTING: &[u8] = b"\n\n\r\t  :/.;,()[]{}\"'`+-#@0123459afPJ\0\x7f\x80\xc3\xff";

/// Every view and every writer.
fn examine(profile: &Profile) {
    let selection = Selection::default();
    let weights = weigh(profile, &selection);
    for direction in [Direction::FromRoots, Direction::FromLeaves] {
        let tree = call_tree(profile, &weights, &selection, direction, Grouping::ThreadName);
        assert_eq!(tree.nodes[0].total_weight, weights.total);
    }
    for by in [
        TopBy::Function,
        TopBy::File,
        TopBy::Package,
        TopBy::Category,
        TopBy::Line,
        TopBy::Thread,
        TopBy::Process,
    ] {
        for row in top(profile, &weights, &selection, by) {
            assert!(row.self_weight <= row.total_weight || by == TopBy::Line, "{row:?}");
        }
    }
    let found = views::findings(profile, &selection);
    assert!(found.turns.stalls.iter().all(|stall| stall.start_ns < stall.end_ns));
    views::cores_busy(profile, &selection, &weights);
    let options =
        folded::Options { tid: true, kernel: true, jit: true, addresses: true, pid: true };
    folded::write(profile, &weights, &selection, &options, std::io::sink()).unwrap();
    cpuprofile::write(profile, &selection, std::io::sink()).unwrap();
    speedscope::write(profile, &selection, std::io::sink()).unwrap();
    pprof::write(profile, &selection, std::io::sink()).unwrap();
    firefox::write(profile, &selection, std::io::sink()).unwrap();
    examine_pictures(profile);
    assert_eq!(
        file::read(&recording(profile)).as_ref().ok(),
        Some(profile),
        "as a recording of our own"
    );
}

/// Every lens keeps the whole weight, and each picture is XML.
fn examine_pictures(profile: &Profile) {
    let selection = Selection::of_logical();
    let (weights, entries) = (weigh(profile, &selection), views::entries(profile));
    for lens in Lens::ALL {
        let direction = Direction::FromRoots;
        let tree = lens_tree(profile, &weights, &selection, &entries, lens, direction);
        assert_eq!(tree.nodes[0].total_weight, weights.total);
        folded::write_tree(profile, &tree, std::io::sink()).unwrap();
        let options = svg::Options { lens: Some(lens), ..svg::Options::default() };
        let mut picture = Vec::new();
        match svg::write(profile, &weights, &selection, &options, &mut picture) {
            Ok(()) => {
                let text = String::from_utf8(picture).unwrap();
                roxmltree::Document::parse(&text).unwrap();
            }
            Err(error) => assert_eq!(weights.total, 0, "{error}"),
        }
    }
}

/// A compressed input that is small as it is, or else the start of one, compressed again.
fn small_compressed(case: &Case) -> Vec<u8> {
    if case.bytes.len() <= COMPRESSED_BYTES {
        return case.bytes.clone();
    }
    let mut text = case.text();
    text.truncate(4 * COMPRESSED_BYTES);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&text).unwrap();
    encoder.finish().unwrap()
}

/// Recordings of our own, made from inputs of each format.
fn small_recordings() -> Vec<Case> {
    let names = [
        "perf-records",
        "perf-srcline",
        "folded-odd",
        "dtrace-stacks",
        "bpftrace-kstack-ustack-comm",
        "node24-prof",
        "cpuprofile-head",
        "trace-list",
        "speedscope-evented",
        "pprof-datadog-time",
    ];
    let of = |name: &&str| {
        let case = cases::case(name);
        let mut text = case.text();
        if !case.is_json() {
            text.truncate(TEXT_BYTES);
        }
        let profile = import(&text, 1).unwrap();
        Case { name: format!("{name} as .nodescope"), bytes: recording(&profile) }
    };
    names.iter().map(of).collect()
}

fn recording(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(profile, &mut bytes).unwrap();
    bytes
}

/// Where a recording's only chunk starts, and how long the chunk's own header is.
const CHUNK: usize = 16;
const CHUNK_HEADER: usize = 24;

/// What a recording of one chunk holds behind its compression.
fn payload_of(recording: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    flate2::read::ZlibDecoder::new(&recording[CHUNK + CHUNK_HEADER..])
        .read_to_end(&mut payload)
        .unwrap();
    payload
}

/// A recording by the inspector that ended with kill -9.
const GROWING: &[u8] = include_bytes!("../../profile/tests/sample/growing.nodescope.part");
const MORE_HEADER: usize = 16;

/// What the chunks of a growing recording hold behind their compression.
fn payloads_of(recording: &[u8]) -> Vec<Vec<u8>> {
    let mut stream = Decompress::new(false);
    let (mut payloads, mut at) = (Vec::new(), CHUNK);
    while at < recording.len() {
        let number =
            |at: usize| u32::from_le_bytes(recording[at..at + 4].try_into().unwrap()) as usize;
        let end = at + MORE_HEADER + number(at + 8);
        let mut payload = Vec::with_capacity(number(at + 12) + 1);
        stream
            .decompress_vec(&recording[at + MORE_HEADER..end], &mut payload, FlushDecompress::Sync)
            .unwrap();
        payloads.push(payload);
        at = end;
    }
    payloads
}

/// A growing recording with these payloads and checksums that match.
fn growing_of(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Compress::new(Compression::fast(), false);
    let mut bytes = file::file_header().to_vec();
    for payload in payloads {
        let mut stored = Vec::with_capacity(payload.len() + payload.len() / 64 + 1024);
        stream.compress_vec(payload, &mut stored, FlushCompress::Sync).unwrap();
        let mut checksum = Crc::new();
        checksum.update(&stored);
        bytes.extend_from_slice(b"MORE");
        bytes.extend_from_slice(&checksum.sum().to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(stored.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&stored);
    }
    bytes
}

/// A recording of one chunk with this payload and a checksum that matches.
fn recording_of(payload: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(payload).unwrap();
    let stored = encoder.finish().unwrap();
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

/// Where `part` stands in `whole`, at multiples of 8 as columns do.
fn positions(whole: &[u8], part: &[u8]) -> Vec<usize> {
    (0..whole.len()).step_by(8).filter(|at| whole[*at..].starts_with(part)).collect()
}

/// xorshift64: the same mutants on every run.
struct Random(u64);

impl Random {
    fn of(name: &str) -> Self {
        // FNV-1a: the same on every machine.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}
