//! Chunks of a growing recording that lie under a right checksum: each is refused with a sentence, and what came before
//! opens.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use profile::Profile;
use profile::file::{self, FileError};
use serde_json::{Value, json};

const GROWING: &[u8] = include_bytes!("sample/growing.nodescope.part");
const FILE_HEADER: usize = 16;
const CHUNK_HEADER: usize = 16;

/// A chunk, in parts.
#[derive(Clone)]
struct Chunk {
    header: Value,
    columns: Vec<u8>,
    /// What is added to the length that it claims.
    claim: i64,
}

impl Chunk {
    fn payload(&self) -> Vec<u8> {
        let json = serde_json::to_vec(&self.header).unwrap();
        [&u32::try_from(json.len()).unwrap().to_le_bytes()[..], &json, &self.columns].concat()
    }

    /// Replaces all tables by one, with these numbers.
    fn only(&mut self, name: &str, rows: usize, columns: &[&str], numbers: &[i64]) {
        self.header["tables"] = json!([{"name": name, "rows": rows, "values": columns}]);
        self.columns = numbers.iter().flat_map(|number| packed(*number)).collect();
    }

    fn again(&mut self, name: &str, columns: &[&str], numbers: &[i64]) {
        self.header["again"]["tables"] = json!([{"name": name, "rows": 1, "values": columns}]);
        self.columns.extend(numbers.iter().flat_map(|number| packed(*number)));
    }
}

fn packed(number: i64) -> Vec<u8> {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// The chunks of a recording, and where each starts.
fn chunks() -> Vec<Chunk> {
    let mut stream = Decompress::new(false);
    let mut at = FILE_HEADER;
    let mut chunks = Vec::new();
    while at < GROWING.len() {
        let number =
            |at: usize| u32::from_le_bytes(GROWING[at..at + 4].try_into().unwrap()) as usize;
        let (stored, becomes) = (number(at + 8), number(at + 12));
        at += CHUNK_HEADER;
        let mut payload = Vec::with_capacity(becomes + 1);
        stream
            .decompress_vec(&GROWING[at..at + stored], &mut payload, FlushDecompress::Sync)
            .unwrap();
        let length = u32::from_le_bytes(payload[..4].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&payload[4..4 + length]).unwrap();
        chunks.push(Chunk { header, columns: payload[4 + length..].to_vec(), claim: 0 });
        at += stored;
    }
    chunks
}

/// Puts chunks together; returns where each starts, too.
fn recording(chunks: &[Chunk]) -> (Vec<u8>, Vec<usize>) {
    let mut stream = Compress::new(Compression::fast(), false);
    let mut bytes = file::file_header().to_vec();
    let mut starts = Vec::new();
    for chunk in chunks {
        starts.push(bytes.len());
        let payload = chunk.payload();
        let mut stored = Vec::with_capacity(payload.len() + 1024);
        stream.compress_vec(&payload, &mut stored, FlushCompress::Sync).unwrap();
        let becomes = u32::try_from(payload.len() as i64 + chunk.claim).unwrap();
        seal(&stored, becomes, &mut bytes);
    }
    (bytes, starts)
}

fn seal(stored: &[u8], becomes: u32, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(b"MORE");
    bytes.extend_from_slice(&crc32fast::hash(stored).to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(stored.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(&becomes.to_le_bytes());
    bytes.extend_from_slice(stored);
}

/// The first three chunks of the recording, with the last of them changed, and where that one starts.
fn edited(edit: impl FnOnce(&mut Chunk)) -> (Vec<u8>, usize) {
    let mut chunks = chunks();
    chunks.truncate(3);
    edit(&mut chunks[2]);
    let (bytes, starts) = recording(&chunks);
    (bytes, starts[2])
}

fn first_two() -> Profile {
    file::read(&recording(&chunks()[..2]).0).unwrap()
}

#[test]
fn what_is_put_together_again_is_the_same() {
    assert!(file::read(&recording(&chunks()).0).unwrap() == file::read(GROWING).unwrap());
}

const SAMPLE: &[&str] = &["time_ns", "thread", "stack", "weight"];
const TURN: &[&str] =
    &["row", "kind", "thread", "start_ns", "end_ns", "run_ns", "ready_ns", "throttled_ns"];

#[test]
fn lies_are_refused_and_what_came_before_opens() {
    type Lie = fn(&mut Chunk);
    let rows: &[(&str, Lie)] = &[
        ("the header is not valid JSON", |chunk| chunk.header = json!("x")),
        ("the header is not valid JSON", |chunk| chunk.header["strings"] = json!("x")),
        ("the header is not valid JSON", |chunk| {
            chunk.header["meta"] = json!({"duration_ns": "x"});
        }),
        ("meta, or a value in it that should be one, is not an object", |chunk| {
            chunk.header["meta"] = json!([1]);
        }),
        ("meta, or a value in it that should be one, is not an object", |chunk| {
            chunk.header["meta"] = json!({"cost": [1]});
        }),
        ("meta, or a value in it that should be one, is not an object", |chunk| {
            let losses = json!([0, 0, null, 0, {}, 0, 0, 0, {}, [], [], 0, 0, {"thread": 99}]);
            chunk.header["meta"] = json!({"losses": losses});
        }),
        ("the header is not valid JSON", |chunk| {
            chunk.header["again"] = json!({"threads": {"x": {}}});
        }),
        ("a growing recording must not have `unclosed`", |chunk| {
            chunk.header["meta"] =
                json!({"losses": {"unclosed": {"thread": 0, "stack": 0, "weight": 1}}});
        }),
        ("a growing recording must not have `unclosed`", |chunk| {
            chunk.header["meta"] = json!({"losses": {"unclosed": [99, 99, 1]}});
        }),
        ("row 0 of sources refers to string 9999", |chunk| {
            chunk.header["sources"] =
                json!([{"path": 9999, "generated": u32::MAX, "text": u32::MAX}]);
        }),
        ("row 0 of threads refers to process 9", |chunk| {
            chunk.header["threads"] = json!([{"process": 9, "tid": 1, "name": 0, "role": "main"}]);
        }),
        ("row 0 of lanes refers to string 9999", |chunk| {
            chunk.header["lanes"] =
                json!([{"name": 9999, "unit": "ns", "timed": true, "counted": true}]);
        }),
        ("the columns are larger than what is there", |chunk| {
            chunk.header["tables"][0]["rows"] = json!(1000);
        }),
        ("the columns are larger than what is there", |chunk| {
            chunk.header["tables"][0]["rows"] = json!(1u64 << 60);
        }),
        ("column lanes.0.weight is missing", |chunk| {
            chunk.only("lanes.0", 1, &SAMPLE[..3], &[1, 0, 0]);
        }),
        ("column lanes.0.thread is missing", |chunk| {
            chunk.only("lanes.0", 1, &["thread", "thread"], &[1, 0]);
        }),
        ("column lanes.x is missing", |chunk| chunk.only("lanes.x", 1, SAMPLE, &[1, 0, 0, 1])),
        ("column lanes.00 is missing", |chunk| chunk.only("lanes.00", 1, SAMPLE, &[1, 0, 0, 1])),
        ("column lanes.+0 is missing", |chunk| chunk.only("lanes.+0", 1, SAMPLE, &[1, 0, 0, 1])),
        ("column lanes.0 is missing", |chunk| {
            chunk.only("lanes.0", 0, &[], &[]);
            let table = chunk.header["tables"][0].clone();
            chunk.header["tables"] = json!([table, table]);
        }),
        ("row 0 of samples refers to lane 7", |chunk| {
            chunk.only("lanes.7", 1, SAMPLE, &[1, 0, 0, 1]);
        }),
        ("row 0 of samples refers to thread 1", |chunk| {
            chunk.only("lanes.0", 1, SAMPLE, &[1, 1, 0, 1]);
        }),
        ("row 0 of samples refers to thread 4294967295", |chunk| {
            chunk.only("lanes.0", 1, SAMPLE, &[1, -1, 0, 1]);
        }),
        ("column lanes.0.thread is missing", |chunk| {
            chunk.only("lanes.0", 1, SAMPLE, &[1, -2, 0, 1]);
        }),
        ("column lanes.0.thread is missing", |chunk| {
            chunk.only("lanes.0", 1, SAMPLE, &[1, 1 << 32, 0, 1]);
        }),
        ("row 0 of samples refers to stack 9999", |chunk| {
            chunk.only("lanes.0", 1, SAMPLE, &[1, 0, 9999, 1]);
        }),
        ("row 0 of stacks refers to frame 9999", |chunk| {
            chunk.only("stacks", 1, &["parent", "frame", "category"], &[0, 9999, 0]);
        }),
        ("column stacks.category is missing", |chunk| {
            chunk.only("stacks", 1, &["parent", "frame", "category"], &[0, 0, 15]);
        }),
        ("stack ", |chunk| {
            chunk.only("stacks", 1, &["parent", "frame", "category"], &[9999, 0, 0]);
        }),
        ("row 0 of frames refers to function 4294967295", |chunk| {
            let columns =
                ["function", "symbol", "line", "column", "category", "tier", "inlined", "address"];
            chunk.only("frames", 1, &columns, &[-1, -1, 0, 0, 0, 0, 0, 0]);
        }),
        ("marker 0 ends before it starts", |chunk| {
            chunk.only(
                "markers",
                1,
                &["kind", "thread", "start_ns", "end_ns", "text"],
                &[1, 0, 9, 8, -1],
            );
        }),
        ("row 0 of threads refers to row 5", |chunk| {
            let row = json!({"process": 0, "tid": 1, "name": 0, "role": "main"});
            chunk.header["again"]["threads"] = json!({"5": row});
        }),
        ("row 0 of threads refers to process 3", |chunk| {
            let row = json!({"process": 3, "tid": 1, "name": 0, "role": "main"});
            chunk.header["again"]["threads"] = json!({"0": row});
        }),
        ("row 0 of processes refers to row 1", |chunk| {
            chunk.header["again"]["processes"] = json!({"1": {}});
        }),
        ("row 0 of long turns refers to row 0", |chunk| {
            chunk.again("long_turns", TURN, &[0, 0, 0, 1, 2, 0, 0, 0]);
        }),
        ("column long_turns.row is missing", |chunk| {
            chunk.again("long_turns", &TURN[1..], &[0, 0, 1, 2, 0, 0, 0]);
        }),
        ("the compressed data has another length than it claims", |chunk| chunk.claim = 1),
        ("the compressed data has another length than it claims", |chunk| chunk.claim = -1),
        ("the compressed data has another length than it claims", |chunk| chunk.claim = 1 << 20),
    ];
    let before = first_two();
    for (sentence, lie) in rows {
        let (bytes, at) = edited(*lie);
        let read = file::read_within(&bytes, 1 << 30).unwrap();
        let damage = read.meta().losses.damage.concat();
        assert!(
            damage.starts_with(&format!("damaged at byte {at}: {sentence}")),
            "{sentence}: got {damage:?}"
        );
        assert!(read.lanes() == before.lanes() && read.stacks() == before.stacks(), "{sentence}");
        assert!(
            read.threads() == before.threads() && read.strings() == before.strings(),
            "{sentence}"
        );
        assert_eq!(read.check(), Ok(()));
    }
}

#[test]
fn what_is_not_known_is_passed_over() {
    let (bytes, _) = edited(|chunk| {
        chunk.header["weather"] = json!("fine");
        chunk.header["meta"]["weather"] = json!({"rain": 0});
        let tables = chunk.header["tables"].as_array_mut().unwrap();
        tables.push(json!({"name": "weather", "rows": 2, "deltas": ["sun"], "values": ["rain"]}));
        chunk.columns.extend([1, 2, 3, 4]);
    });
    assert!(file::read(&bytes).unwrap() == file::read(&edited(|_| {}).0).unwrap());
}

/// Compressed data that is broken, that ends, or that becomes more than it claims.
#[test]
fn the_stream_may_lie_too() {
    let (whole, starts) = recording(&chunks());
    let mut broken = whole[..starts[2]].to_vec();
    seal(&[0xff; 40], 100, &mut broken);
    let damage = file::read(&broken).unwrap().meta().losses.damage.concat();
    assert!(damage.contains("the compressed data is broken"), "{damage}");

    // The stream ends in the third chunk: what follows cannot belong to it.
    let mut ended = whole[..starts[2]].to_vec();
    seal(&[3, 0], 0, &mut ended);
    let damage = file::read(&ended).unwrap().meta().losses.damage.concat();
    assert!(damage.contains("the compressed data has another length than it claims"), "{damage}");

    let mut bomb = file::file_header().to_vec();
    let mut stream = Compress::new(Compression::best(), false);
    let mut stored = Vec::with_capacity(1 << 20);
    stream.compress_vec(&vec![0; 64 << 20], &mut stored, FlushCompress::Sync).unwrap();
    seal(&stored, 64 << 20, &mut bomb);
    let error = file::read_within(&bomb, 1 << 20).unwrap_err().to_string();
    assert_eq!(error, "damaged at byte 16: it grows to more than 1048576 bytes");
    // Without a limit it is a header without a length.
    assert!(matches!(file::read(&bomb), Err(FileError::Damaged { byte: 16, .. })));
}

/// Rows of one byte each become larger ones: that counts, too.
#[test]
fn rows_count_as_what_they_become() {
    let rows = 1 << 20;
    let (bytes, at) = edited(|chunk| chunk.only("lanes.0", rows, SAMPLE, &vec![0; 4 * rows]));
    let read = file::read_within(&bytes, 16 << 20).unwrap();
    let damage = read.meta().losses.damage.concat();
    assert!(
        damage.starts_with(&format!("damaged at byte {at}: it grows to more than")),
        "{damage}"
    );
    assert!(file::read_within(&bytes, 64 << 20).unwrap().meta().losses.damage.is_empty());
}

/// Whatever is kept counts, though each payload has room: the names of keys, and ports.
#[test]
fn what_is_kept_counts() {
    type Kept = fn(usize) -> Value;
    let rows: &[Kept] = &[
        |round| json!({"meta": {"losses": {"unnamed": {format!("{round}{}", "x".repeat(1 << 20)): 1}}}}),
        |_| json!({"processes": [{"ports": vec![80; 1 << 19]}]}),
        |_| json!({"again": {"processes": {"0": {"ports": vec![80; 1 << 19]}}}}),
    ];
    for kept in rows {
        let mut chunks = chunks();
        chunks.truncate(2);
        chunks.extend((0..6).map(|round| Chunk {
            header: kept(round),
            columns: Vec::new(),
            claim: 0,
        }));
        let (bytes, starts) = recording(&chunks);
        let read = |most_bytes| {
            file::read_within(&bytes, most_bytes).unwrap().meta().losses.damage.concat()
        };
        assert_eq!(read(8 << 20), "");
        let damage = read(4 << 20);
        assert!(damage.ends_with("bytes") && damage.contains("it grows to more than"), "{damage}");
        assert!(!damage.contains(&format!("byte {}:", starts[2])), "one has room: {damage}");
    }
}

/// Many patches of the same keys take the room of one, and keys that have no meaning take none.
#[test]
fn meta_counts_once() {
    let mut chunks = chunks();
    let patch = |value: u32| Chunk {
        header: json!({"meta": {"losses": {"lost": value}, "host": format!("{value} {}", "x".repeat(1 << 10)),
            format!("key {value}"): "y".repeat(1 << 10)}}),
        columns: Vec::new(),
        claim: 0,
    };
    chunks.extend((0..2000).map(patch));
    let read = file::read_within(&recording(&chunks).0, 1 << 20).unwrap();
    assert_eq!(
        (read.meta().losses.lost, read.meta().losses.damage.concat()),
        (1999, String::new())
    );
}

#[test]
fn a_file_of_version_1_does_not_grow() {
    let mut bytes = GROWING.to_vec();
    bytes[8] = 1;
    let error = file::read(&bytes).unwrap_err().to_string();
    assert_eq!(error, "damaged at byte 16: a chunk of unknown kind");
}

#[test]
fn a_header_that_is_too_long_is_refused() {
    let (bytes, at) = edited(|chunk| chunk.header["padding"] = json!("x".repeat(9 << 20)));
    let damage = file::read(&bytes).unwrap().meta().losses.damage.concat();
    assert!(damage.starts_with(&format!("damaged at byte {at}: a header of 94")), "{damage}");
}
