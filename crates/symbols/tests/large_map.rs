//! A perf map of 131 MB, which the recorder turns into a jitdump of more: its names stay within the memory that a
//! recording may take. A program of its own reads it, so that its memory is measured alone.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use symbols::{ForProcess, Namer, Sources};
use trace::{Address, Context, Event, Measure, Mmap, Sample, Sink};

const MOST_MEMORY_KB: u64 = 512 << 10;
const DUMP: &str = "NODESCOPE_LARGE_DUMP";
/// As many lines as a map of 131 MB has, with names of that length.
const LINES: u64 = 1_700_000;
const CODE: u64 = 0x1000_0000;

fn name(line: u64) -> String {
    format!(
        "JS:*handler{line} file:///srv/service/src/routes/{line}.js:{}:{}",
        line % 997,
        line % 89
    )
}

/// The dump as the recorder writes it: a head, then a piece of code for each line.
fn write_dump(path: &Path) -> u64 {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let mut map_bytes = 0;
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let longs =
        |longs: &[u64]| longs.iter().flat_map(|long| long.to_ne_bytes()).collect::<Vec<u8>>();
    out.write_all(&[words(&[0x4a69_5444, 1, 40, 62, 0, 7]), longs(&[0, 0])].concat()).unwrap();
    for line in 0..LINES {
        let (name, start) = (name(line), CODE + line * 64);
        let length = u32::try_from(16 + 40 + name.len() + 1).unwrap();
        out.write_all(&[words(&[0, length]), longs(&[line]), words(&[7, 7])].concat()).unwrap();
        out.write_all(&longs(&[start, start, 64, line])).unwrap();
        out.write_all(name.as_bytes()).unwrap();
        out.write_all(&[0]).unwrap();
        map_bytes += format!("{start:x} 40 {name}\n").len() as u64;
    }
    out.flush().unwrap();
    map_bytes
}

#[test]
fn read_by_itself() {
    let Some(path) = std::env::var_os(DUMP).map(PathBuf::from) else { return };
    let jitdumps = vec![ForProcess { pid: Some(7), path }];
    let mut namer = Namer::new(Sources { jitdumps, ..Sources::default() }, "perf.data");
    let name = b"cpu-clock";
    namer.event(&Event {
        row: 0,
        name,
        measure: Measure::Ns,
        timed: true,
        has_period: true,
        interval_ns: None,
    });
    let mapping = Mmap {
        time_ns: 0,
        pid: Some(7),
        start: CODE,
        length: LINES * 64,
        offset: 0,
        path: b"//anon",
        build_id: None,
        executable: true,
    };
    namer.mmap(&mapping);
    for line in [0, LINES / 2, LINES - 1] {
        let chain = [Address { value: CODE + line * 64 + 5, context: Context::User }];
        namer.sample(&Sample {
            event: 0,
            time_ns: LINES,
            pid: Some(7),
            tid: Some(7),
            cpu: None,
            period: 1,
            chain: &chain,
            user_registers: None,
            user_stack: &[],
            user_stack_is_full: false,
            awaits: None,
        });
    }
    let profile = namer.finish();
    for line in [0, LINES / 2, LINES - 1] {
        let wanted = format!("handler{line}");
        assert!(profile.functions().name.iter().any(|id| profile.text(*id) == wanted), "{wanted}");
    }
    assert!(profile.meta().losses.damage.is_empty(), "{:?}", profile.meta().losses.damage);
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak:{}", peak.split_whitespace().next().unwrap());
}

#[test]
fn a_large_map_stays_within_memory() {
    let path = std::env::temp_dir().join(format!("nodescope-large-{}.jit", std::process::id()));
    let map_bytes = write_dump(&path);
    assert!(map_bytes >= 131_000_000, "{map_bytes}");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "large_map::read_by_itself", "--nocapture"])
        .env(DUMP, &path)
        .output()
        .unwrap();
    fs::remove_file(&path).unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let peak: u64 =
        printed.lines().find_map(|line| line.strip_prefix("peak:")).unwrap().parse().unwrap();
    println!("a map of {} MB: {} MB of memory", map_bytes >> 20, peak >> 10);
    assert!(peak < MOST_MEMORY_KB, "{peak} KB");
}
