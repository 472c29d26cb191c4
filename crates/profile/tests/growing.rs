//! A recording that is written while it grows: it reads back as if it had been finished at once, and so does every part
//! of it.

use profile::file::{self, Growing};
use profile::{Builder, LongTurn, OffCpuTime, Process, Profile, Role, Thread, TurnKind, UNKNOWN};

use crate::replay::Replay;
use crate::sample;

const SECOND_NS: u64 = 1_000_000_000;

/// A real recording of a service, by perf events: with loops, long turns, waits and counters of the kernel.
fn service() -> Profile {
    file::read(include_bytes!("../../nodescope/src/demo/recording.nodescope")).unwrap()
}

/// A recording written again, in chunks of a second; `times` of it, one behind another.
struct Written {
    bytes: Vec<u8>,
    /// Where each chunk ends.
    ends: Vec<usize>,
}

fn write(from: &Profile, times: u64) -> Written {
    let mut growing = Growing::new();
    let mut replay = Replay::new(from, growing.rows());
    let mut written = Written { bytes: file::file_header().to_vec(), ends: Vec::new() };
    for round in 0..times {
        for second in 0..=from.duration_ns() / SECOND_NS {
            let (start_ns, end_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
            replay.add(growing.rows(), start_ns, end_ns, round * from.duration_ns());
            written.bytes.extend(growing.chunk().unwrap());
            written.ends.push(written.bytes.len());
        }
    }
    written
}

fn build_at_once(from: &Profile, times: u64) -> Profile {
    let mut builder = Builder::new();
    let mut replay = Replay::new(from, &mut builder);
    for round in 0..times {
        for second in 0..=from.duration_ns() / SECOND_NS {
            let (start_ns, end_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
            replay.add(&mut builder, start_ns, end_ns, round * from.duration_ns());
        }
    }
    builder.finish()
}

#[test]
fn what_grew_is_what_was_finished_at_once() {
    for from in [service(), sample::profile()] {
        let written = write(&from, 2);
        let read = file::read(&written.bytes).unwrap();
        assert_eq!(read.check(), Ok(()));
        assert!(read == build_at_once(&from, 2), "what was read differs from what was written");
        assert_eq!(read.lanes()[0].samples.len(), 2 * from.lanes()[0].samples.len());
    }
}

#[test]
fn every_part_opens() {
    let from = service();
    let written = write(&from, 1);
    let mut samples = 0;
    for (chunk, end) in written.ends.iter().enumerate() {
        let part = file::read(&written.bytes[..*end]).unwrap();
        assert_eq!(part.check(), Ok(()));
        assert_eq!(part.meta().losses.damage, Vec::<String>::new());
        let until_ns = (chunk as u64 + 1) * SECOND_NS;
        let expected =
            from.lanes()[0].samples.time_ns.iter().filter(|time_ns| **time_ns < until_ns).count();
        samples = part.lanes()[0].samples.len();
        assert_eq!(samples, expected, "chunk {chunk}");
    }
    assert_eq!(samples, from.lanes()[0].samples.len());
}

#[test]
fn a_part_that_was_cut_off_opens_up_to_its_last_whole_chunk() {
    let written = write(&service(), 1);
    let (before, end) = (written.ends[2], written.ends[3]);
    let whole = file::read(&written.bytes[..before]).unwrap();
    for cut in [before + 1, before + 11, before + 16, (before + end) / 2, end - 1] {
        let part = file::read(&written.bytes[..cut]).unwrap();
        let damage = format!("damaged at byte {before}: the file ends in the middle of a chunk");
        assert_eq!(part.meta().losses.damage, [damage]);
        assert!(part.lanes() == whole.lanes() && part.stacks() == whole.stacks(), "cut at {cut}");
    }
    let mut damaged = written.bytes.clone();
    damaged[before + 40] ^= 1;
    let part = file::read(&damaged).unwrap();
    assert_eq!(
        part.meta().losses.damage,
        [format!("damaged at byte {before}: the checksum does not match")]
    );
    assert!(part.lanes() == whole.lanes());
}

#[test]
fn rows_are_written_again() {
    let mut growing = Growing::new();
    let mut bytes = file::file_header().to_vec();
    let rows = growing.rows();
    let name = rows.string("node");
    let process = rows.process(Process { pid: Some(7), name, ..Process::default() });
    let thread = rows.thread(Thread { process, tid: Some(7), name, role: Role::Other });
    let turn = |end_ns, run_ns| LongTurn {
        kind: TurnKind::Turn,
        thread,
        start_ns: 500,
        end_ns,
        run_ns,
        ready_ns: UNKNOWN,
        throttled_ns: UNKNOWN,
    };
    let wait = |start_ns, length_ns| OffCpuTime { thread, start_ns, length_ns, times: 1 };
    rows.set_origin_ns(100);
    let (first, open) = (rows.long_turn(turn(700, 1)), rows.long_turn(turn(900, UNKNOWN)));
    let (late, early) =
        (rows.off_cpu_time(wait(9100, 50_000)), rows.off_cpu_time(wait(5100, 1000)));
    rows.meta().host = Some("a".into());
    rows.meta().losses.unnamed.insert("why".into(), 3);
    bytes.extend(growing.chunk().unwrap());
    assert!(growing.chunk().unwrap().is_empty(), "nothing is new");

    let rows = growing.rows();
    rows.set_role(thread, Role::MainLoop);
    let app = rows.string("shop");
    rows.change_process(process, Process { pid: Some(7), name, app, ..Process::default() });
    let third = rows.long_turn(turn(3000, 3));
    rows.change_long_turn(open, turn(2100, 9));
    rows.change_long_turn(third, turn(3100, 4));
    rows.meta().losses.unnamed.clear();
    rows.meta().losses.lost = 5;
    bytes.extend(growing.chunk().unwrap());

    let read = file::read(&bytes).unwrap();
    assert_eq!((read.threads().len(), read.threads()[0].role), (1, Role::MainLoop));
    assert_eq!(read.text(read.processes()[0].app), "shop");
    assert_eq!(read.long_turns().end_ns, [600, 2000, 3000]);
    assert_eq!(read.long_turns().run_ns, [1, 9, 4]);
    assert_eq!((first.0, open.0, third.0, late.0, early.0), (0, 1, 2, 0, 1));
    assert_eq!(
        (&*read.off_cpu().start_ns, &*read.off_cpu().length_ns),
        (&[5000, 9000][..], &[1000, 50_000][..])
    );
    let meta = read.meta();
    assert_eq!(
        (meta.host.as_deref(), meta.losses.lost, meta.losses.unnamed.len()),
        (Some("a"), 5, 0)
    );
    assert_eq!(read.duration_ns(), 59_000, "until the end of the last wait");
}

/// Samples may come late, and the reader sorts them.
#[test]
fn late_samples_find_their_place() {
    let from = service();
    let mut growing = Growing::new();
    let mut replay = Replay::new(&from, growing.rows());
    let mut bytes = file::file_header().to_vec();
    let mut seconds: Vec<u64> = (0..from.duration_ns().div_ceil(SECOND_NS)).collect();
    seconds.chunks_mut(3).for_each(<[u64]>::reverse);
    for second in seconds {
        replay.add(growing.rows(), second * SECOND_NS, (second + 1) * SECOND_NS, 0);
        bytes.extend(growing.chunk().unwrap());
    }
    let read = file::read(&bytes).unwrap();
    assert_eq!(read.check(), Ok(()));
    let in_order = build_at_once(&from, 1);
    assert!(read.lanes()[0].samples.time_ns == in_order.lanes()[0].samples.time_ns);
    assert!(read.off_cpu().start_ns == in_order.off_cpu().start_ns);
}

/// How large a growing recording is, beside the finished one that it becomes: 30 seconds, and an hour.
#[test]
fn a_growing_recording_is_no_larger_than_the_finished_one() {
    let from = service();
    for (what, from) in [
        ("perf events, 30 s", build_at_once(&from, 30 * SECOND_NS / from.duration_ns())),
        ("samples only, 30 s", samples_of(&from, 30)),
        ("samples only, an hour", samples_of(&from, 3600)),
    ] {
        let written = write(&from, 1);
        let mut whole = Vec::new();
        file::write(&from, &mut whole).unwrap();
        let share = written.bytes.len() as f64 / whole.len() as f64;
        let chunks = written.ends.len();
        println!(
            "{what}: {} bytes in {chunks} chunks, {} finished: {share:.2}",
            written.bytes.len(),
            whole.len()
        );
        assert!(share < 1.3, "{what}");
    }
}

/// The samples of a recording, so often that they last that long. No two rounds are equal, as no two seconds of a
/// service are.
fn samples_of(from: &Profile, seconds: u64) -> Profile {
    let mut builder = Builder::new();
    let mut replay = Replay::new(from, &mut builder);
    replay.shuffled = Some(1);
    for round in 0..seconds * SECOND_NS / from.duration_ns() {
        replay.add_samples(&mut builder, 0, u64::MAX, round * from.duration_ns());
    }
    builder.finish()
}

/// The writer keeps tables, not samples: what it holds does not grow with the length of a recording.
#[test]
fn samples_go_out_with_their_chunk() {
    let from = service();
    let mut growing = Growing::new();
    let mut replay = Replay::new(&from, growing.rows());
    let mut sizes = Vec::new();
    for round in 0..3 {
        replay.add(growing.rows(), 0, u64::MAX, round * from.duration_ns());
        sizes.push(growing.chunk().unwrap().len());
        let kept = growing.rows().so_far();
        assert!(kept.lanes().iter().all(|lane| lane.samples.is_empty()));
        let marks = kept.off_cpu().len()
            + kept.long_turns().len()
            + kept.seconds().len()
            + kept.markers().len();
        assert_eq!(marks + kept.loops().len() + kept.line_ticks().len(), 0);
        assert!(kept.stacks().len() <= from.stacks().len() && !kept.stacks().is_empty());
    }
    assert!(sizes[1] < sizes[0] * 3 / 4, "the tables are written once: {sizes:?}");
}

/// More new names than one chunk may have.
#[test]
fn very_many_names_make_several_chunks() {
    let mut growing = Growing::new();
    for name in 0..300u32 {
        growing.rows().string(&format!("{name} {}", "\u{1}".repeat(10_000)));
    }
    let chunk = growing.chunk().unwrap();
    let read = file::read(&[&file::file_header()[..], &chunk].concat()).unwrap();
    assert_eq!((read.strings().len(), read.meta().losses.damage.len()), (300, 0));
}

/// A program in a data: URL is its own path.
#[test]
fn a_text_that_is_too_long_is_cut() {
    let mut growing = Growing::new();
    let long = format!("data:text/javascript,{}", "\u{e9}".repeat(5 << 20));
    growing.rows().source(&long);
    growing.rows().string("next");
    let chunk = growing.chunk().unwrap();
    let read = file::read(&[&file::file_header()[..], &chunk].concat()).unwrap();
    assert_eq!(read.meta().losses.damage, Vec::<String>::new());
    let text = read.text(read.sources()[0].path);
    assert!(long.starts_with(text) && text.len() + 1 == 1 << 20, "{} bytes", text.len());
    assert_eq!(read.strings().iter().last(), Some("next"));
}

/// What the reader would refuse is an error at once.
#[test]
fn a_header_that_is_too_long_is_not_written() {
    let mut growing = Growing::new();
    growing.rows().meta().losses.damage = vec!["x".repeat(1 << 20); 9];
    let error = growing.chunk().unwrap_err().to_string();
    assert!(error.starts_with("a header of 94"), "{error}");
    growing.rows().meta().losses.damage.truncate(7);
    let chunk = growing.chunk().unwrap();
    let read = file::read(&[&file::file_header()[..], &chunk].concat()).unwrap();
    assert_eq!(read.meta().losses.damage.len(), 7);
}

#[test]
fn files_of_version_1_are_read() {
    let bytes = include_bytes!("sample/version-1.nodescope");
    assert_eq!(bytes[8], 1);
    let read = file::read(bytes).unwrap();
    assert!(read.lanes()[0].samples.len() > 10 && !read.loops().is_empty());
}

#[test]
fn the_two_kinds_of_chunks_do_not_mix() {
    let written = write(&service(), 1);
    let mut more = written.bytes[..written.ends[0]].to_vec();
    let mut whole = file::file_header().to_vec();
    file::write_chunk(&service(), &mut whole).unwrap();
    let end = whole.len();
    whole.extend(&written.bytes[16..written.ends[0]]);
    let sentence = |at| {
        format!(
            "damaged at byte {at}: a file cannot mix a whole profile and parts of a growing recording"
        )
    };
    assert_eq!(file::read(&whole).unwrap().meta().losses.damage, [sentence(end)]);
    file::write_chunk(&service(), &mut more).unwrap();
    assert_eq!(file::read(&more).unwrap().meta().losses.damage, [sentence(written.ends[0])]);
}
