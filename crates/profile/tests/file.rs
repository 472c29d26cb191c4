//! Our own file: what is written is what is read, chunks join, and damage is reported with its place.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use profile::file::{self, FileError};
use profile::{LaneId, Profile};
use serde_json::{Value, json};

use crate::sample;
use crate::sample::second_part;

/// The file's own header, and that of a chunk.
const FILE_HEADER: usize = 16;
const CHUNK_HEADER: usize = 24;

#[test]
fn what_is_written_is_read() {
    let profile = whole_model();
    assert_eq!(profile.check(), Ok(()));
    assert_eq!(file::read(&recording(&profile)).unwrap(), profile);
}

/// The sample profile would prove nothing if it left a table or a field empty.
#[test]
fn the_sample_uses_the_whole_model() {
    let chunk = Chunk::of(&recording(&whole_model()));
    for table in ["strings", "sources", "modules", "processes", "threads", "lanes", "columns"] {
        assert!(chunk.header[table].as_array().unwrap().len() > 1, "{table}");
    }
    for column in chunk.header["columns"].as_array().unwrap() {
        assert!(column["length"].as_u64().unwrap() > 0, "{column}");
    }
    for (key, value) in chunk.header["meta"].as_object().unwrap() {
        assert!(!value.is_null() && value != "" && value != 0, "meta.{key}");
    }
    for (key, value) in chunk.header["meta"]["losses"].as_object().unwrap() {
        assert!(
            !value.is_null() && *value != json!([]) && *value != json!({}) && value != 0,
            "losses.{key}"
        );
    }
    for (table, field) in [("sources", "generated"), ("sources", "text"), ("modules", "build_id")] {
        let none = |row: &Value| row[field] == u32::MAX;
        assert!(!chunk.header[table].as_array().unwrap().iter().all(none), "{table}.{field}");
    }
}

#[test]
fn an_empty_profile_is_a_file_too() {
    let empty = profile::Builder::new().finish();
    assert_eq!(file::read(&recording(&empty)).unwrap(), empty);
}

#[test]
fn chunks_join() {
    let (first, second) = (sample::profile(), second_part());
    let mut bytes = recording(&first);
    file::write_chunk(&second, &mut bytes).unwrap();
    let joined = file::read(&bytes).unwrap();
    assert_eq!(joined.check(), Ok(()));

    let samples = |profile: &Profile, lane: &str| {
        profile.lane_named(lane).map_or(0, |id| profile.lane(id).samples.len())
    };
    for lane in ["cpu-clock", "page-faults", "allocations"] {
        assert_eq!(
            samples(&joined, lane),
            samples(&first, lane) + samples(&second, lane),
            "{lane}"
        );
    }
    assert_eq!(joined.lanes().len(), 3, "lanes of one name and unit are one");
    assert!(joined.lane(LaneId(0)).samples.time_ns.is_sorted());
    assert_eq!(joined.markers().len(), first.markers().len() + second.markers().len());
    assert_eq!(joined.line_ticks().len(), first.line_ticks().len() + second.line_ticks().len());
    assert_eq!(joined.duration_ns(), second.duration_ns());
    assert_eq!(joined.meta().host, first.meta().host);
    let (one, two) = (&first.meta().losses, &second.meta().losses);
    assert_eq!(joined.meta().losses.lost, one.lost + two.lost);
    assert_eq!(joined.meta().losses.unnamed["no symbol in libz.so"], 9 + 4);
    // The second part has the same threads, and one function that the first has not.
    assert_eq!(joined.threads(), first.threads());
    assert_eq!(joined.functions().len(), first.functions().len() + 1);
}

/// Joining a profile with nothing gives the profile, whatever its rows refer to.
#[test]
fn a_chunk_joins_with_an_empty_one_unchanged() {
    let mut profile = whole_model();
    let mut bytes = recording(&profile);
    file::write_chunk(&profile::Builder::new().finish(), &mut bytes).unwrap();
    let joined = file::read(&bytes).unwrap();
    // Which sample nothing closes is only known of a whole text.
    profile =
        edited(&profile, |chunk| chunk.header["meta"]["losses"]["unclosed"] = Value::Null).unwrap();
    assert_eq!(joined, profile);
}

#[test]
fn a_file_that_was_cut_off_opens_up_to_the_last_whole_chunk() {
    let first = whole_model();
    let mut bytes = recording(&first);
    let end_of_first = bytes.len();
    file::write_chunk(&second_part(), &mut bytes).unwrap();
    for end in end_of_first + 1..bytes.len() {
        let profile = file::read(&bytes[..end]).unwrap();
        let damage =
            format!("damaged at byte {end_of_first}: the file ends in the middle of a chunk");
        assert_eq!(profile.meta().losses.damage.last(), Some(&damage), "cut off at byte {end}");
        assert_eq!(profile.lanes(), first.lanes());
    }
}

#[test]
fn a_damaged_chunk_ends_the_file_there() {
    let mut bytes = recording(&whole_model());
    let end_of_first = bytes.len();
    file::write_chunk(&second_part(), &mut bytes).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let profile = file::read(&bytes).unwrap();
    let damage = format!("damaged at byte {end_of_first}: the checksum does not match");
    assert_eq!(profile.meta().losses.damage.last(), Some(&damage));
}

#[test]
fn what_cannot_be_opened_reports_why() {
    let whole = recording(&whole_model());
    let mut newer = whole.clone();
    newer[8] = 7;
    let mut strange = whole.clone();
    strange[FILE_HEADER] = b'X';
    let rows: [(&[u8], &str); 9] = [
        (b"", "this is not a .nodescope file"),
        (b"nodesco", "this is not a .nodescope file"),
        (b"not a recording at all", "this is not a .nodescope file"),
        (b"nodescop", "damaged at byte 8: the file ends in its header"),
        (&whole[..12], "damaged at byte 12: there is no recording in it"),
        (&whole[..16], "damaged at byte 16: there is no recording in it"),
        (&whole[..30], "damaged at byte 16: the file ends in the middle of a chunk"),
        (&strange, "damaged at byte 16: a chunk of unknown kind"),
        (
            &newer,
            "this recording has format version 7, and this nodescope reads up to 2; a newer nodescope opens it",
        ),
    ];
    for (bytes, sentence) in rows {
        assert_eq!(file::read(bytes).unwrap_err().to_string(), sentence);
    }
    assert!(matches!(file::read(&newer), Err(FileError::Newer { found: 7 })));
}

/// The checksum is right and the content is wrong: each kind of lie is found, and named.
#[test]
fn lies_are_refused() {
    type Lie = fn(&mut Chunk);
    let rows: &[(&str, Lie)] = &[
        ("the header is not valid JSON", |chunk| chunk.header = json!([])),
        ("the header is not valid JSON", |chunk| {
            chunk.header.as_object_mut().unwrap().remove("threads");
        }),
        ("column stacks.parent is missing", |chunk| {
            chunk.column("stacks.parent")["name"] = json!("x");
        }),
        ("column stacks.parent is missing", |chunk| {
            chunk.column("stacks.parent")["type"] = json!("u8");
        }),
        ("column stacks.parent is missing", |chunk| {
            chunk.column("stacks.parent")["offset"] = json!(u64::MAX);
        }),
        ("the columns are larger than what is there", |chunk| {
            chunk.column("stacks.parent")["length"] = json!(u64::MAX);
        }),
        ("the columns of stacks differ in length", |chunk| {
            chunk.column("stacks.parent")["length"] = json!(1);
        }),
        ("column frames.category is missing", |chunk| chunk.bytes_of("frames.category")[0] = 15),
        ("column frames.tier is missing", |chunk| chunk.bytes_of("frames.tier")[0] = 8),
        ("column frames.inlined is missing", |chunk| chunk.bytes_of("frames.inlined")[0] = 2),
        ("column markers.kind is missing", |chunk| chunk.bytes_of("markers.kind")[0] = 4),
        ("row 0 of sources refers to string 1000", |chunk| {
            chunk.header["sources"][0]["path"] = json!(1000);
        }),
        ("row 1 of sources refers to string 1000", |chunk| {
            chunk.header["sources"][1]["text"] = json!(1000);
        }),
        ("row 1 of sources refers to source 1000", |chunk| {
            chunk.header["sources"][1]["generated"] = json!(1000);
        }),
        ("row 1 of modules refers to string 1000", |chunk| {
            chunk.header["modules"][1]["build_id"] = json!(1000);
        }),
        ("row 1 of processes refers to string 1000", |chunk| {
            chunk.header["processes"][1]["container"] = json!(1000);
        }),
        ("row 1 of threads refers to string 1000", |chunk| {
            chunk.header["threads"][1]["name"] = json!(1000);
        }),
        ("row 1 of threads refers to process 1000", |chunk| {
            chunk.header["threads"][1]["process"] = json!(1000);
        }),
        ("row 1 of threads refers to process 4294967295", |chunk| {
            chunk.header["threads"][1]["process"] = json!(u32::MAX);
        }),
        ("row 1 of lanes refers to string 1000", |chunk| {
            chunk.header["lanes"][1]["name"] = json!(1000);
        }),
        ("row 1 of functions refers to string 1000", |chunk| {
            chunk.set_u32("functions.name", 1, 1000);
        }),
        ("row 1 of functions refers to string 1000", |chunk| {
            chunk.set_u32("functions.package", 1, 1000);
        }),
        ("row 1 of functions refers to source 1000", |chunk| {
            chunk.set_u32("functions.source", 1, 1000);
        }),
        ("row 1 of functions refers to module 1000", |chunk| {
            chunk.set_u32("functions.module", 1, 1000);
        }),
        ("row 1 of frames refers to function 1000", |chunk| {
            chunk.set_u32("frames.function", 1, 1000);
        }),
        ("row 1 of frames refers to function 4294967295", |chunk| {
            chunk.set_u32("frames.function", 1, u32::MAX);
        }),
        ("row 1 of frames refers to string 1000", |chunk| chunk.set_u32("frames.symbol", 1, 1000)),
        ("row 1 of stacks refers to frame 1000", |chunk| chunk.set_u32("stacks.frame", 1, 1000)),
        ("row 1 of stacks refers to frame 4294967295", |chunk| {
            chunk.set_u32("stacks.frame", 1, u32::MAX);
        }),
        ("stack 1 stands before its parent", |chunk| chunk.set_u32("stacks.parent", 1, 1)),
        ("stack 1 stands before its parent", |chunk| chunk.set_u32("stacks.parent", 1, 1000)),
        ("row 1 of samples refers to thread 1000", |chunk| {
            chunk.set_u32("lanes.0.thread", 1, 1000);
        }),
        ("row 1 of samples refers to thread 4294967295", |chunk| {
            chunk.set_u32("lanes.0.thread", 1, u32::MAX);
        }),
        ("row 1 of samples refers to stack 1000", |chunk| chunk.set_u32("lanes.0.stack", 1, 1000)),
        ("the times of lane 0 go backwards at sample 2", |chunk| {
            chunk.bytes_of("lanes.0.time_ns")[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        }),
        ("row 0 of line ticks refers to stack 1000", |chunk| {
            chunk.set_u32("line_ticks.stack", 0, 1000);
        }),
        ("row 0 of line ticks refers to stack 4294967295", |chunk| {
            chunk.set_u32("line_ticks.stack", 0, u32::MAX);
        }),
        ("row 0 of markers refers to thread 1000", |chunk| {
            chunk.set_u32("markers.thread", 0, 1000);
        }),
        ("row 0 of markers refers to string 1000", |chunk| chunk.set_u32("markers.text", 0, 1000)),
        ("marker 0 ends before it starts", |chunk| {
            chunk.bytes_of("markers.start_ns")[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        }),
        ("row 1 of off-CPU times refers to thread 1000", |chunk| {
            chunk.set_u32("off_cpu.thread", 1, 1000);
        }),
        ("the columns of off-CPU times differ in length", |chunk| {
            chunk.column("off_cpu.length_us")["length"] = json!(1);
        }),
        ("row 0 of losses refers to thread 1000", |chunk| {
            let unclosed = json!({"thread": 1000, "stack": 0, "weight": 1});
            chunk.header["meta"]["losses"]["unclosed"] = unclosed;
        }),
        ("row 0 of losses refers to stack 1000", |chunk| {
            let unclosed = json!({"thread": 0, "stack": 1000, "weight": 1});
            chunk.header["meta"]["losses"]["unclosed"] = unclosed;
        }),
        ("column off_cpu.times is missing", |chunk| {
            chunk.column("off_cpu.times")["name"] = json!("x");
        }),
    ];
    for (sentence, lie) in rows {
        let error =
            edited(&whole_model(), *lie).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            error.starts_with(&format!("damaged at byte 16: {sentence}")),
            "{sentence}: got {error:?}"
        );
    }
}

/// Files of earlier versions have times off the CPU among their markers, in nanoseconds.
#[test]
fn an_old_file_has_its_times_off_the_cpu() {
    let read = edited(&whole_model(), |chunk| {
        let columns = chunk.header["columns"].as_array_mut().unwrap();
        columns.retain(|column| !column["name"].as_str().unwrap().starts_with("off_cpu."));
        chunk.bytes_of("markers.kind")[1] = 2;
        chunk.bytes_of("markers.kind")[2] = 2;
    });
    let read = read.unwrap();
    assert_eq!(read.markers().len(), whole_model().markers().len() - 2);
    let found = read.off_cpu();
    let rows: Vec<_> = found.ids().map(|id| found.row(id)).collect();
    let rows: Vec<_> = rows.iter().map(|row| (row.start_ns, row.length_ns, row.times)).collect();
    assert_eq!(rows, [(12, 3, 1), (25, 15, 1)]);
}

/// Distances that add up to more than a number holds end at the largest one.
#[test]
fn distances_do_not_overflow() {
    let read = edited(&whole_model(), |chunk| {
        chunk.bytes_of("off_cpu.delta_us")[..16].fill(0xff);
        chunk.bytes_of("off_cpu.length_us")[..8].fill(0xff);
    });
    let read = read.unwrap();
    assert_eq!((read.off_cpu().start_ns[1], read.off_cpu().length_ns[0]), (u64::MAX, u64::MAX));
}

/// Id 0 of a table without rows leads nowhere, too.
#[test]
fn empty_tables_have_no_first_row() {
    let plain = sample::without_sources();
    assert!(plain.sources().is_empty() && plain.modules().is_empty());
    for table in ["source", "module"] {
        let lie = |chunk: &mut Chunk| chunk.set_u32(&format!("functions.{table}"), 0, 0);
        let error = edited(&plain, lie).unwrap_err().to_string();
        let sentence = format!("row 0 of functions refers to {table} 0, but there are only 0");
        assert_eq!(error, format!("damaged at byte 16: {sentence}"));
    }
}

/// A key or a column that this version does not know is no damage.
#[test]
fn what_is_not_known_is_passed_over() {
    let profile = whole_model();
    let read = edited(&profile, |chunk| {
        chunk.header["weather"] = json!("fine");
        chunk.header["meta"]["weather"] = json!("fine");
        let column = json!({"name": "stacks.weather", "type": "u8", "offset": 0, "length": 0});
        chunk.header["columns"].as_array_mut().unwrap().push(column);
    });
    assert_eq!(read.unwrap(), profile);
}

/// Columns that share their bytes would let a small file fill any memory.
#[test]
fn columns_do_not_share_bytes() {
    let error = edited(&whole_model(), |chunk| {
        let lane = chunk.header["lanes"][0].clone();
        let columns: Vec<Value> = ["time_ns", "thread", "stack", "weight"]
            .iter()
            .map(|column| chunk.column(&format!("lanes.0.{column}")).clone())
            .collect();
        for number in 3..20_000 {
            chunk.header["lanes"].as_array_mut().unwrap().push(lane.clone());
            for column in &columns {
                let mut column = column.clone();
                let name =
                    column["name"].as_str().unwrap().replace("lanes.0", &format!("lanes.{number}"));
                column["name"] = json!(name);
                chunk.header["columns"].as_array_mut().unwrap().push(column);
            }
        }
    });
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "damaged at byte 16: the columns are larger than what is there");
}

/// The claimed length only ever makes a reader stop earlier.
#[test]
fn a_wrong_length_of_the_payload_is_damage() {
    let whole = recording(&whole_model());
    for claim in [0, 1, 7, 8, 100] {
        let mut bytes = whole.clone();
        bytes[FILE_HEADER + 16..FILE_HEADER + 24].copy_from_slice(&u64::to_le_bytes(claim));
        assert!(matches!(file::read(&bytes), Err(FileError::Damaged { byte: 16, .. })), "{claim}");
    }
    let mut bytes = whole;
    bytes[FILE_HEADER + 16..FILE_HEADER + 24].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(file::read(&bytes).unwrap(), whole_model());
}

/// A profile with every table and every field filled, those that only a source map fills among them.
fn whole_model() -> Profile {
    let with_source_map = |chunk: &mut Chunk| {
        let strings = chunk.header["strings"].as_array_mut().unwrap();
        strings.push(json!("export function render() {}\n"));
        let text = strings.len() - 1;
        chunk.header["sources"][1]["generated"] = json!(0);
        chunk.header["sources"][1]["text"] = json!(text);
    };
    edited(&sample::profile(), with_source_map).unwrap()
}

fn recording(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(profile, &mut bytes).unwrap();
    bytes
}

/// A profile as a recording, taken apart, changed, put together again with a right checksum, and read.
fn edited(profile: &Profile, edit: impl FnOnce(&mut Chunk)) -> Result<Profile, FileError> {
    let mut chunk = Chunk::of(&recording(profile));
    edit(&mut chunk);
    file::read(&chunk.into_recording())
}

/// The only chunk of a recording, in parts.
struct Chunk {
    header: Value,
    columns: Vec<u8>,
}

impl Chunk {
    fn of(recording: &[u8]) -> Self {
        let mut payload = Vec::new();
        ZlibDecoder::new(&recording[FILE_HEADER + CHUNK_HEADER..])
            .read_to_end(&mut payload)
            .unwrap();
        let end =
            8 + usize::try_from(u64::from_le_bytes(payload[..8].try_into().unwrap())).unwrap();
        let header = serde_json::from_slice(&payload[8..end]).unwrap();
        Self { header, columns: payload[end.next_multiple_of(8)..].to_vec() }
    }

    fn into_recording(self) -> Vec<u8> {
        let header = serde_json::to_vec(&self.header).unwrap();
        let mut payload = (header.len() as u64).to_le_bytes().to_vec();
        payload.extend_from_slice(&header);
        payload.resize(payload.len().next_multiple_of(8), b' ');
        payload.extend_from_slice(&self.columns);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&payload).unwrap();
        let stored = encoder.finish().unwrap();
        let mut bytes = file::file_header().to_vec();
        bytes.extend_from_slice(b"PROF");
        bytes.extend_from_slice(&crc32fast::hash(&stored).to_le_bytes());
        bytes.extend_from_slice(&(stored.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&stored);
        bytes
    }

    /// A column's entry in the directory.
    fn column(&mut self, name: &str) -> &mut Value {
        let columns = self.header["columns"].as_array_mut().unwrap();
        columns.iter_mut().find(|column| column["name"] == name).unwrap()
    }

    /// A column's bytes and all behind them.
    fn bytes_of(&mut self, name: &str) -> &mut [u8] {
        let start = usize::try_from(self.column(name)["offset"].as_u64().unwrap()).unwrap();
        &mut self.columns[start..]
    }

    fn set_u32(&mut self, column: &str, row: usize, value: u32) {
        self.bytes_of(column)[row * 4..row * 4 + 4].copy_from_slice(&value.to_le_bytes());
    }
}
